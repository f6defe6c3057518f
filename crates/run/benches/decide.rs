//! How long the pure machine takes, and whether the time for a step stays the same however many steps there are.
#![allow(
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark reads the clock, prints, and may stop at the first surprise"
)]

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use updraft_run::{
    AgentCard, Event, Goal, Graph, Input, ModelAnswer, PreparedCall, Record, Reply, Roster, Run, RunMode, RunSettings,
    RunStart, Step, StepId, StepSpec, Timestamp, ToolCall, ToolOutput,
};

fn main() {
    println!("size of a step: {} bytes, of a run: {} bytes", size_of::<Step>(), size_of::<Run>());
    a_long_step();
    let shapes: [(&str, Shape); 3] = [("wide", wide), ("chain", chain), ("layers of 100", layers)];
    for (name, shape) in shapes {
        let mut first = None;
        for n in [1_000, 10_000, 100_000] {
            let took = a_graph(name, n, shape);
            let ratio = took / *first.get_or_insert(took);
            println!("    {ratio:.2} times the time per step of 1,000 steps");
        }
    }
    let mut first = None;
    for n in [1_000, 10_000, 100_000] {
        let took = failures(n);
        println!("    {:.2} times the time per step of 1,000 steps", took / *first.get_or_insert(took));
    }
}

fn start(plan: Graph) -> RunStart {
    let agent =
        AgentCard { name: "thinker".into(), tools: vec!["read".into()], turns: Some(1_000), ..AgentCard::default() };
    RunStart {
        goal: Goal { text: "the goal".into(), mode: RunMode::Given, ..Goal::default() },
        roster: Arc::new(Roster { agents: vec![agent], ..Roster::default() }),
        settings: Arc::new(RunSettings::default()),
        budget: updraft_run::Budget::default(),
        plan: Some(Arc::new(plan)),
        earlier: updraft_run::EarlierRuns::default(),
    }
}

fn step(n: usize, after: &[usize]) -> StepSpec {
    let id = |n: usize| StepId::parse(&format!("s{n}")).unwrap();
    StepSpec { after: after.iter().map(|n| id(*n)).collect(), ..StepSpec::new(id(n), "thinker") }
}

/// The steps that the n-th waits for.
type Shape = fn(usize) -> Vec<usize>;

fn wide(_: usize) -> Vec<usize> {
    Vec::new()
}

fn chain(n: usize) -> Vec<usize> {
    n.checked_sub(1).into_iter().collect()
}

fn layers(n: usize) -> Vec<usize> {
    if n < 100 { Vec::new() } else { vec![n - 100, n - n % 100 - 100] }
}

fn text(words: &str) -> Reply {
    Reply::Answer(Arc::new(ModelAnswer { text: words.into(), ..ModelAnswer::default() }))
}

/// Answers every open question until the run is over.
fn drive(run: &mut Run, records: &mut Vec<Record>, reply: &Reply) {
    while let Some((id, open)) = run.open().iter().next() {
        let input =
            Input::Replied { id: id.clone(), attempt: open.attempt, reply: reply.clone(), prepared: Vec::new() };
        records.push(run.advance(input, Timestamp(records.len() as i64)));
    }
    assert!(run.is_over());
}

fn a_graph(name: &str, n: usize, shape: Shape) -> f64 {
    let graph = Graph { steps: (0..n).map(|at| step(at, &shape(at))).collect() };
    let around =
        updraft_run::GraphContext { agents: vec!["thinker"], max_steps: n, ..updraft_run::GraphContext::default() };
    let checked = Instant::now();
    assert!(graph.faults(&around).is_empty());
    let check = nanos(checked) / n as f64;

    let mut run = Run::default();
    let mut records = Vec::with_capacity(n + 1);
    let start = start(graph);
    let before = resident();
    let begun = Instant::now();
    let record = run.advance(Input::Start(Box::new(start)), Timestamp(0));
    let plan = nanos(begun) / n as f64;
    let memory = resident().saturating_sub(before) / n as u64;
    records.push(record);

    let begun = Instant::now();
    drive(&mut run, &mut records, &text("done"));
    let decide = nanos(begun) / n as f64;
    let fold = folded(&records, &run) / n as f64;
    println!(
        "{name}, {n} steps, per step: check {check:.0} ns, plan {plan:.0} ns, decide and apply {decide:.0} ns, fold {fold:.0} ns, \
         about {memory} bytes when planned"
    );
    decide
}

/// Every second step fails and takes one with it: nothing may be looked for among all steps.
fn failures(n: usize) -> f64 {
    // Pairs: the second of each waits for the first, and is skipped with it.
    let second = |at: usize| if at % 2 == 1 { vec![at - 1] } else { Vec::new() };
    let pairs = Graph { steps: (0..n).map(|at| step(at, &second(at))).collect() };
    let mut run = Run::default();
    let mut records = vec![run.advance(Input::Start(Box::new(start(pairs))), Timestamp(0))];
    let begun = Instant::now();
    let failed = Reply::Failed(updraft_run::Failure::new(updraft_run::FailureKind::Model, "gone"));
    drive(&mut run, &mut records, &failed);
    let took = nanos(begun) / n as f64;
    println!("failing, {n} steps, per step: decide and apply {took:.0} ns");
    took
}

fn a_long_step() {
    let mut run = Run::default();
    let mut records =
        vec![run.advance(Input::Start(Box::new(start(Graph { steps: vec![step(0, &[])] }))), Timestamp(0))];
    let begun = Instant::now();
    for turn in 0..100 {
        let args = json!({ "path": format!("file{turn}.txt") });
        let call = ToolCall { id: format!("c{turn}"), name: "read".into(), args, fault: None };
        let answer = Reply::Answer(Arc::new(ModelAnswer { calls: vec![call], ..ModelAnswer::default() }));
        let output = Reply::Output(Arc::new(ToolOutput { text: "some lines of text".into(), ..ToolOutput::default() }));
        for (reply, prepared) in [(answer, vec![PreparedCall::default()]), (output, Vec::new())] {
            let id = run.open().keys().next().unwrap().clone();
            records.push(run.advance(Input::Replied { id, attempt: 1, reply, prepared }, Timestamp(turn)));
        }
    }
    let events: usize = records.iter().map(|record| record.events.len()).sum();
    println!("a step of 100 turns: {:.0} ns per turn, {events} events", nanos(begun) / 100.0);

    let json: Vec<Vec<u8>> = records.iter().map(|record| record.to_json().unwrap()).collect();
    let bytes: usize = json.iter().map(Vec::len).sum();
    let begun = Instant::now();
    let read: Vec<Record> = json.iter().map(|json| Record::from_json(Timestamp(0), json).unwrap()).collect();
    println!("reading: {:.0} ns per record of {} bytes", nanos(begun) / read.len() as f64, bytes / read.len());
    println!("folding: {:.0} ns per event", folded(&records, &run) / events as f64);
    let applied: Vec<&Event> = records.iter().flat_map(|record| &record.events).collect();
    let begun = Instant::now();
    let mut again = Run::default();
    for event in &applied {
        again.apply(event);
    }
    println!("applying: {:.0} ns per event", nanos(begun) / applied.len() as f64);
    let id = run.open().keys().next().unwrap().clone();
    let input = Input::Replied { id, attempt: 1, reply: text("done"), prepared: Vec::new() };
    let begun = Instant::now();
    for _ in 0..1_000 {
        std::hint::black_box(run.decide(std::hint::black_box(&input)));
    }
    println!("deciding: {:.0} ns", nanos(begun) / 1_000.0);
}

fn folded(records: &[Record], run: &Run) -> f64 {
    let begun = Instant::now();
    let mut folded = Run::default();
    for record in records {
        folded.record(record);
    }
    let took = nanos(begun);
    assert!(folded == *run);
    took
}

fn nanos(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64
}

/// Bytes of memory that this process holds, where the system tells.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or_default() * 4096
}
