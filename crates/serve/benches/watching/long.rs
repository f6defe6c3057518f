//! A run of 100,000 events, beside one of 1,000 in the same journal: how soon its pages are there.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use updraft_journal::{Batch, Journal, RunHeader};
use updraft_run::{
    AgentCard, Budget, EarlierRuns, Goal, Graph, Input, ModelAnswer, PreparedCall, Record, Reply, Roster, Run, RunId,
    RunMode, RunSettings, RunStart, Status, StepId, StepSpec, Timestamp, ToolCall, ToolOutput,
};
use updraft_workbench::history::RunHistory;

use crate::process::{ServerProcess, script};
use crate::watch;

/// Steps of a run of 100,000 events; a shorter one has fewer.
const STEPS: usize = 1_000;

fn step(n: usize) -> StepSpec {
    let id = |n: usize| StepId::parse(&format!("s{n}")).unwrap();
    let after = if n < 25 { Vec::new() } else { vec![id(n - 25), id(n - n % 25 - 25)] };
    StepSpec { after, description: format!("Part {n} of the work"), ..StepSpec::new(id(n), "reader") }
}

/// A run that reads files in many steps until it has so many events.
fn make(events: usize) -> Vec<Record> {
    let steps = (STEPS * events / 100_000).max(10);
    let agent = AgentCard {
        name: "reader".into(),
        tools: vec!["read_file".into()],
        turns: Some(1_000),
        ..AgentCard::default()
    };
    let start = RunStart {
        goal: Goal { text: format!("A run of {events} events"), mode: RunMode::Given, ..Goal::default() },
        roster: Arc::new(Roster { agents: vec![agent], ..Roster::default() }),
        settings: Arc::new(RunSettings::default()),
        budget: Budget::default(),
        plan: Some(Arc::new(Graph { steps: (0..steps).map(step).collect() })),
        earlier: EarlierRuns::default(),
    };
    let mut run = Run::default();
    let mut records = vec![run.advance(Input::Start(Box::new(start)), Timestamp(0))];
    let mut clock = 0;
    while let Some((id, open)) = run.open().iter().next() {
        clock += 7;
        let is_call = id.kind == updraft_run::EffectKind::Call;
        let reply = if is_call {
            Reply::Output(Arc::new(ToolOutput { text: "some lines of text\n".repeat(20), ..ToolOutput::default() }))
        } else if (id.turn as usize) < 24 {
            let args = json!({ "path": format!("folder/file{}.txt", id.turn) });
            let call = ToolCall { id: format!("c{}", id.turn), name: "read_file".into(), args, fault: None };
            Reply::Answer(Arc::new(ModelAnswer {
                text: "I read on.".into(),
                calls: vec![call],
                ..ModelAnswer::default()
            }))
        } else {
            Reply::Answer(Arc::new(ModelAnswer { text: "I have **read** all of it.".into(), ..ModelAnswer::default() }))
        };
        let prepared = if is_call { Vec::new() } else { vec![PreparedCall::default()] };
        let input = Input::Replied { id: id.clone(), attempt: open.attempt, reply, prepared };
        records.push(run.advance(input, Timestamp(clock)));
        if run.events() >= events as u64 {
            break;
        }
    }
    records
}

/// Writes a run to the journal.
async fn write(journal: &Journal, name: u8, workspace: String, events: usize) -> RunId {
    let id = RunId::from_bits([name; 10]);
    let head = RunHeader {
        workspace,
        status: Status::Done,
        ..RunHeader::new(id.clone(), format!("{events} events"), Timestamp(0))
    };
    let mut records = make(events);
    let rest = records.split_off(1);
    let lease = journal.create(head, Batch::of(records)).await.unwrap();
    for part in rest.chunks(5_000) {
        journal.append(&lease, Batch::of(part.to_vec())).await.unwrap();
    }
    journal.release(lease).await.unwrap();
    id
}

/// Where the time goes: reading, deciding what the run is, and what people read.
fn fold(journal: &Journal, id: &RunId) {
    let timed = |visit: &mut dyn FnMut(u64, Record)| {
        let began = Instant::now();
        let read = journal.read(id, 0, &mut |first, record| {
            visit(first, record);
            ControlFlow::Continue(())
        });
        read.unwrap();
        began.elapsed().as_secs_f64() * 1_000.0
    };
    let read = timed(&mut |_, _| {});
    let mut run = Run::default();
    let folded = timed(&mut |_, record| run.record(&record));
    let mut history = RunHistory::default();
    let told = timed(&mut |first, record| history.add(first, &record, u64::MAX));
    let began = Instant::now();
    let copy = history.clone();
    let copied = began.elapsed().as_secs_f64() * 1_000.0;
    assert_eq!(copy.position(), run.events());
    println!(
        "{:>9} events: read {read:.0} ms, run {:.0} ms more, history {:.0} ms more; a copy {copied:.1} ms, about {} MB",
        run.events(),
        folded - read,
        told - folded,
        history.bytes() >> 20
    );
}

pub(crate) async fn measure(events: usize) {
    let server = ServerProcess::start(&script(1, 0, 0));
    let journal = server.journal();
    let few = write(&journal, 1, server.workspace(), events / 100).await;
    let many = write(&journal, 2, server.workspace(), events).await;
    println!("\na run of {events} events beside one of {}", events / 100);
    fold(&journal, &few);
    fold(&journal, &many);
    println!("{:>34} {:>24} {:>30} {:>6}", "", "few: first, last byte", "many: first, last byte, KB", "ratio");
    let row = |name: &str, few: (f64, f64, usize), many: (f64, f64, usize)| {
        println!(
            "{name:>34} {:>12.1} {:>8.1} ms {:>12.1} {:>8.1} ms {:>5} {:>6.1}",
            few.0,
            few.1,
            many.0,
            many.1,
            many.2 >> 10,
            many.1 / few.1
        );
    };
    let place = &server.place;
    row("the list of runs", watch::load(place, "/").await, watch::load(place, "/").await);
    let pages = [
        ("first look", String::new()),
        ("graph", "?view=graph".into()),
        ("timeline", "?view=timeline".into()),
        ("events", "?view=events".into()),
        ("first events", "?view=events&from=1".into()),
        ("a step", "?view=graph&step=s5".into()),
        ("earlier in the chat", "?before=500".into()),
    ];
    for (name, query) in pages {
        let path = |id: &RunId| format!("/runs/{id}{query}");
        row(name, watch::load(place, &path(&few)).await, watch::load(place, &path(&many)).await);
    }
    for share in [1, 10, 50, 51, 90, 99, 50, 10] {
        let path = |id: &RunId, events: usize| format!("/runs/{id}?at={}", (events * share / 100).max(1));
        let (one, other) = (path(&few, events / 100), path(&many, events));
        row(&format!("the past at {share} %"), watch::load(place, &one).await, watch::load(place, &other).await);
    }
    row("the list of runs again", watch::load(place, "/").await, watch::load(place, "/").await);
    println!("memory of the server: {:.0} MB, at most {:.0}", server.memory().0, server.memory().1);
}
