//! Replay: runs of all kinds give every event and every prompt again, and whatever was altered is named.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken test should stop")]

mod support;

use std::sync::{Arc, Mutex};

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::stamps::{Outside, ScriptedHands, Wrong, begin, look_at, to_the_end};
use support::{World, by, calls, goal, says, settings, specs, start, step, turn};
use tokio::sync::Notify;
use updraft_engine::{Agent, Agents, Differs, Engine, NewRun, Options, Prompts, Replayed, Watch, prompts_of, replay};
use updraft_models::{Asking, Delta, Draft, Hear, Model, Price, Prompt};
use updraft_run::{
    Address, Answer, Budget, Effect, Event, ForkChange, Graph, Input, Kind, Limit, Message, Phase, Record, Reply, Run,
    RunId, Usage,
};

fn id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

fn events(engine: &Engine, run: &str) -> Vec<Event> {
    engine.journal().load(&id(run)).unwrap().into_iter().flat_map(|record| record.events).collect()
}

/// A replay that gives everything again: all events, and a prompt for every question that began.
fn gives_everything_again(engine: &Engine, run: &str) -> Replayed {
    let replayed = replay(engine.journal(), &id(run)).unwrap();
    assert_eq!(replayed.differences, [], "{run}");
    let events = events(engine, run);
    assert_eq!(replayed.events + replayed.copied, events.len() as u64, "{run}");
    let asked = events.iter().filter(|event| matches!(event, Event::Begun { facts, .. } if facts.prompt.is_some()));
    let asked = asked.count() as u64;
    assert_eq!(replayed.prompts, asked, "{run}");
    let mut told = 0;
    prompts_of(engine.journal(), &id(run), &mut |_| told += 1).unwrap();
    assert_eq!(told, asked, "{run}");
    replayed
}

fn has(engine: &Engine, run: &str, wanted: fn(&Event) -> bool) -> bool {
    events(engine, run).iter().any(wanted)
}

/// The script of the crash tests; with `acts`, the process ends after so many acts and another goes on.
async fn stamped(world: &World, run: &str, acts: Option<u32>) -> Engine {
    let outside: Arc<Mutex<Outside>> = Arc::default();
    look_at(&outside).acts = acts;
    let engine = |outside: &Arc<Mutex<Outside>>| {
        Engine::new(world.journal(), Arc::new(ScriptedHands::new(outside, Wrong::Nothing)), Options::default())
    };
    let first = engine(&outside);
    let handle = begin(&first, &id(run), &world.workspace()).await;
    let lived = futures_util::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(to_the_end(&first, handle))).await;
    assert_eq!(lived.is_err(), acts.is_some());
    if lived.is_ok() {
        return first;
    }
    first.journal().clone().close().await;
    let second = engine(&outside);
    let handle = second.open(&id(run)).await.unwrap();
    to_the_end(&second, handle).await;
    second
}

#[tokio::test]
async fn a_graph_with_a_new_plan_and_a_question_is_given_again() {
    let world = World::quick();
    let engine = stamped(&world, "graph", None).await;
    let replayed = gives_everything_again(&engine, "graph");
    assert!(replayed.events > 50 && replayed.prompts > 8, "{replayed:?}");
    assert!(has(&engine, "graph", |event| matches!(event, Event::Wanted { effect: Effect::Question { .. }, .. })));
}

#[tokio::test]
async fn a_run_with_a_doubtful_call_is_given_again() {
    let world = World::quick();
    for acts in 0..6 {
        let run = format!("doubt-{acts}");
        let engine = stamped(&world, &run, Some(acts)).await;
        gives_everything_again(&engine, &run);
        let doubtful = |event: &Event| matches!(event, Event::Replied { reply: Reply::InDoubt { .. }, .. });
        let again = |event: &Event| matches!(event, Event::Interrupted { .. });
        assert!(has(&engine, &run, doubtful) || has(&engine, &run, again));
        engine.journal().clone().close().await;
    }
}

#[tokio::test]
async fn a_fork_is_given_again_wherever_it_was_cut() {
    let world = World::quick();
    let engine = stamped(&world, "origin", None).await;
    for at in (1..=events(&engine, "origin").len() as u64).step_by(7) {
        let run = format!("fork-{at}");
        let change = ForkChange { goal: Some("stamp them again".into()), ..ForkChange::default() };
        let handle = engine.fork(&id("origin"), at, id(&run), change).await.unwrap();
        to_the_end(&engine, handle).await;
        let replayed = gives_everything_again(&engine, &run);
        assert!(replayed.copied >= at);
    }
}

#[tokio::test]
async fn a_run_that_used_up_its_budget_and_went_on_is_given_again() {
    let world = World::quick();
    let engine = world.engine(|prompt| {
        let said = if turn(prompt) < 3 {
            calls(&[("list_files", json!({ "limit": turn(prompt) + 1 }))])
        } else {
            says("done")
        };
        Answer { usage: Usage { input: prompt.estimated_tokens(), output: 50, ..Usage::default() }, ..said }
    });
    let (agents, prompts) = (Agents::compiled_in().unwrap(), Prompts::compiled_in());
    let new = NewRun {
        goal: by("retriever", "list"),
        settings: settings(&world.workspace()),
        budget: Budget { tokens: Some(9_500), ..Budget::default() },
        plan: None,
        agents: &agents,
        prompts: &prompts,
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let mut rested = engine.start(id("capped"), new).await.unwrap().drive().await.unwrap();
    let mut tokens = 9_500;
    while !rested.run.is_over() {
        assert_eq!(*rested.run.phase(), Phase::Exhausted(Limit::Tokens));
        tokens += 2_000;
        let mut handle = engine.open(&id("capped")).await.unwrap();
        let budget = Budget { tokens: Some(tokens), ..Budget::default() };
        handle.send(Input::Resume { budget: Some(budget), approvals: None });
        rested = handle.drive().await.unwrap();
    }
    assert!(has(&engine, "capped", |event| matches!(event, Event::Held { .. })));
    gives_everything_again(&engine, "capped");
}

/// Compacts, is judged by a model, is corrected, told, paused and cancelled.
#[tokio::test]
async fn a_run_that_was_judged_told_paused_and_cancelled_is_given_again() {
    let world = World::quick();
    let engine = world.engine(|prompt| {
        let judging = prompt.tools.is_empty()
            && matches!(prompt.messages.last(), Some(Message::User(text)) if text.contains("verdict"));
        match (judging, prompt.brief.step.as_str(), turn(prompt)) {
            (true, _, _) if words(prompt).contains("better") => says(r#"{"verdict": "accept"}"#),
            (true, _, _) => says(r#"{"verdict": "retry", "feedback": "do it better"}"#),
            (false, "ask", 0) => calls(&[("ask_user", json!({ "question": "which?" }))]),
            (false, _, _) if words(prompt).contains("do it better") => says("a better one"),
            (false, _, _) => says("a first one"),
        }
    });
    let mut agents = Agents::compiled_in().unwrap();
    let judged = Agent { reflect_by_model: true, ..agents.get("thinker").unwrap().clone() };
    agents.insert(judged);
    let plan =
        Graph { steps: vec![step("think", "thinker", &[], &["x"]), step("ask", "clarification", &["x"], &["y"])] };
    let new = NewRun {
        goal: goal("think"),
        settings: settings(&world.workspace()),
        budget: Budget::default(),
        plan: Some(plan),
        agents: &agents,
        prompts: &Prompts::compiled_in(),
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let mut handle = engine.start(id("steered"), new).await.unwrap();
    handle.send(Input::Tell { message: "mind the gap".into() });
    assert_eq!(handle.drive().await.unwrap().run.status(), "waiting");
    for input in
        [Input::Pause, Input::Resume { budget: None, approvals: None }, Input::Cancel { by: "me".into(), step: None }]
    {
        let mut handle = engine.open(&id("steered")).await.unwrap();
        handle.send(input);
        handle.drive().await.unwrap();
    }
    assert_eq!(engine.load(&id("steered")).unwrap().status(), "cancelled");
    assert!(has(&engine, "steered", |event| matches!(event, Event::Judged { .. })));
    gives_everything_again(&engine, "steered");
}

fn words(prompt: &Prompt<'_>) -> String {
    let users = prompt.messages.iter().filter_map(|message| match message {
        Message::User(text) => Some(&**text),
        _ => None,
    });
    users.collect::<Vec<_>>().join("\n")
}

/// A model that never answers.
struct Silent;

impl Model for Silent {
    fn name(&self) -> &'static str {
        "scripted/test"
    }

    fn price(&self) -> Option<Price> {
        None
    }

    fn ask<'a>(&'a self, _: &'a Prompt<'a>, _: &'a mut Draft, _: Hear<'a>) -> Asking<'a> {
        Box::pin(std::future::pending())
    }
}

/// Says when a question's beginning is on disk.
#[derive(Default)]
struct Begins(Notify);

impl Watch for Begins {
    fn record(&self, _: &RunId, _: u64, record: &Record, _: &Run) {
        if record.events.iter().any(|event| matches!(event, Event::Begun { .. })) {
            self.0.notify_one();
        }
    }

    fn delta(&self, _: &RunId, _: &Address, _: Delta<'_>) {}
}

#[tokio::test]
async fn a_question_that_was_cut_off_and_asked_again_in_an_earlier_workspace_is_given_again() {
    let world = World::quick();
    let first = world.engine_with(Arc::new(Silent), Options::default());
    drop(start(&first, "back", by("thinker", "think"), settings(&world.workspace()), None).await);
    first.journal().clone().close().await;

    // The question begins in a workspace with one file more, and is cut off.
    std::fs::write(world.workspace().join("more.txt"), "more").unwrap();
    let begins: Arc<Begins> = Arc::default();
    let options = Options { watch: begins.clone(), ..Options::default() };
    let second = world.engine_with(Arc::new(Silent), options);
    let handle = second.open(&id("back")).await.unwrap();
    handle.sender().send(Input::Tell { message: "begin".into() });
    tokio::select! {
        biased;
        () = begins.0.notified() => {}
        _ = handle.drive() => panic!("it has no end"),
    }
    second.journal().clone().close().await;

    std::fs::remove_file(world.workspace().join("more.txt")).unwrap();
    let third = world.engine(|prompt| says(if words(prompt).contains("more.txt") { "more" } else { "none" }));
    let rested = third.open(&id("back")).await.unwrap().drive().await.unwrap();
    assert_eq!(rested.run.answer(), "none");
    gives_everything_again(&third, "back");
}

#[tokio::test]
async fn a_question_that_waited_for_money_while_the_workspace_changed_is_given_again() {
    let world = World::quick();
    let outside: Arc<Mutex<Outside>> = Arc::default();
    let folder = world.workspace();
    let hands = ScriptedHands::saying(&outside, move |_, prompt| match (prompt.brief.step.as_str(), turn(prompt)) {
        ("a", 0) => {
            std::fs::write(folder.join("new.txt"), "new").unwrap();
            calls(&[("stamp", json!({ "name": "a" }))])
        }
        (step, _) => says(format!("{step} {}", if words(prompt).contains("new.txt") { "saw it" } else { "did not" })),
    });
    let engine = Engine::new(world.journal(), Arc::new(hands), Options::default());
    let steps = vec![
        step("a", "stamper", &[], &["a"]),
        step("b", "thinker", &[], &["b"]),
        step("bb", "thinker", &[], &["bb"]),
        step("c", "thinker", &["b"], &["c"]),
        step("z", "thinker", &[], &["z"]),
    ];
    let (agents, prompts) = (support::stamps::agents(), Prompts::compiled_in());
    let new = NewRun {
        goal: goal("look around"),
        settings: settings(&world.workspace()),
        // Enough for one question at a time.
        budget: Budget { tokens: Some(12_000), ..Budget::default() },
        plan: Some(Graph { steps }),
        agents: &agents,
        prompts: &prompts,
        tools: &support::stamps::specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let rested = engine.start(id("held"), new).await.unwrap().drive().await.unwrap();
    assert_eq!(rested.run.status(), "done", "{:?}", rested.run.phase());
    assert!(rested.run.answer().contains("c saw it"), "{}", rested.run.answer());
    gives_everything_again(&engine, "held");
}

/// Starts a run of one thinking step, with these agents.
async fn thinks(engine: &Engine, run: &str, world: &World, agents: &Agents) -> updraft_engine::Handle {
    let new = NewRun {
        goal: goal("think"),
        settings: settings(&world.workspace()),
        budget: Budget::default(),
        plan: Some(Graph { steps: vec![step("one", "worker", &[], &["x"])] }),
        agents,
        prompts: &Prompts::compiled_in(),
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    engine.start(id(run), new).await.unwrap()
}

/// A worker with these tools, and others who have all of them.
fn worker_with(tools: &[&str]) -> Agents {
    let mut agents = Agents::compiled_in().unwrap();
    let tools = tools.iter().map(|name| (*name).to_owned()).collect();
    agents.insert(Agent {
        name: "worker".into(),
        purpose: "test".into(),
        tools,
        prompt: "Work.".into(),
        ..Agent::default()
    });
    agents
}

#[tokio::test]
async fn runs_whose_agents_differ_only_in_their_tools_are_each_shown_their_own() {
    let world = World::quick();
    let engine = world.engine(|prompt| {
        let tools: Vec<&str> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
        says(tools.join(" "))
    });
    let both = thinks(&engine, "both", &world, &worker_with(&["list_files", "read_file"])).await;
    assert_eq!(both.drive().await.unwrap().run.answer(), "list_files read_file");
    let one = thinks(&engine, "one", &world, &worker_with(&["read_file"])).await;
    assert_eq!(one.drive().await.unwrap().run.answer(), "read_file");
    gives_everything_again(&engine, "both");
    gives_everything_again(&engine, "one");
}

#[tokio::test]
async fn a_run_that_takes_its_agents_anew_goes_on_with_them_at_once() {
    let world = World::quick();
    let engine = world.engine(|prompt| match (prompt.system, turn(prompt)) {
        ("Work.", 0) => calls(&[("ask_user", json!({ "question": "which?" }))]),
        (system, _) => says(system),
    });
    let handle = thinks(&engine, "anew", &world, &worker_with(&["ask_user"])).await;
    assert_eq!(handle.drive().await.unwrap().run.status(), "waiting");
    let mut agents = worker_with(&["ask_user"]);
    let other = Agent { prompt: "Work otherwise.".into(), ..agents.get("worker").unwrap().clone() };
    agents.insert(other);
    let (roster, words) = updraft_engine::Words::gather(agents.iter(), &Prompts::compiled_in(), &specs, &|_| true);
    let blob = updraft_journal::Blob::new(serde_json::to_vec(&words).unwrap());
    let roster = Arc::new(updraft_run::Roster { words: Some(blob.hash()), ..roster });
    engine.journal().put_blobs(&id("anew"), vec![blob]).await.unwrap();
    let mut handle = engine.open(&id("anew")).await.unwrap();
    handle.send(Input::Reload { roster });
    handle.send(Input::Answer { id: None, text: "blue".into() });
    assert_eq!(handle.drive().await.unwrap().run.answer(), "Work otherwise.");
    gives_everything_again(&engine, "anew");
}

/// The journal as a file, to be altered behind the engine's back.
struct Tampering {
    world: World,
    run: &'static str,
}

impl Tampering {
    /// A run of the script, at rest on disk.
    async fn with_the_script() -> Self {
        let world = World::quick();
        let engine = stamped(&world, "altered", None).await;
        gives_everything_again(&engine, "altered");
        engine.journal().clone().close().await;
        Self { world, run: "altered" }
    }

    fn file(&self) -> Connection {
        Connection::open(self.world.folder.path().join("journal.db")).unwrap()
    }

    /// The records: their key, the number of their first event, and their text.
    fn records(&self) -> Vec<(i64, u64, Value)> {
        let file = self.file();
        let mut rows = file
            .prepare("SELECT r.id, r.seq, r.body FROM records r JOIN runs ON runs.id = r.run WHERE runs.name = ?1 ORDER BY r.id")
            .unwrap();
        let found = rows
            .query_map([self.run], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get::<_, Vec<u8>>(2)?)))
            .unwrap();
        found
            .map(|row| row.unwrap())
            .map(|(key, seq, body)| (key, seq, serde_json::from_slice(&body).unwrap()))
            .collect()
    }

    fn write(&self, key: i64, body: &Value) {
        let text = serde_json::to_vec(body).unwrap();
        assert_eq!(self.file().execute("UPDATE records SET body = ?2 WHERE id = ?1", params![key, text]).unwrap(), 1);
    }

    /// Alters the first event that `alter` says it altered, and tells its number.
    fn alter(&self, mut alter: impl FnMut(&str, &mut Value) -> bool) -> u64 {
        for (key, seq, mut body) in self.records() {
            for (n, event) in body["e"].as_array_mut().unwrap().iter_mut().enumerate() {
                let Some((name, inside)) = event.as_object_mut().and_then(|event| event.iter_mut().next()) else {
                    continue;
                };
                if alter(name, inside) {
                    self.write(key, &body);
                    return seq + n as u64;
                }
            }
        }
        panic!("there is no such event");
    }

    fn replay(&self) -> Result<Replayed, updraft_engine::Error> {
        replay(&self.world.journal(), &id(self.run))
    }

    /// The first difference: its number, and the event as it was decided now, or the question whose prompt differs.
    fn first_difference(&self) -> (u64, String) {
        let first = self.replay().unwrap().differences.into_iter().next().unwrap();
        let what = match first.what {
            Differs::Event { decided, .. } => decided.unwrap_or_default(),
            Differs::Prompt { id, .. } => format!("prompt of {id}"),
        };
        (first.event, what)
    }
}

/// Changes something in an event; false for those that have nothing to change.
fn spoil(name: &str, event: &mut Value) -> bool {
    let longer = |value: &mut Value| *value = json!(format!("{}x", value.as_str().unwrap()));
    match name {
        "planned" => event["graph"]["steps"][0]["prompt"] = json!("something else"),
        "finished" => longer(&mut event["answer"]),
        "exhausted" => event["which"] = json!("calls"),
        "cancelled" => longer(&mut event["by"]),
        "profiled" => event["files"] = json!("others"),
        _ if event.get("id").is_some() => {
            let mut at: Address = event["id"].as_str().unwrap().parse().unwrap();
            at.turn += 7;
            event["id"] = json!(at.to_string());
        }
        _ if event.get("step").is_some() => longer(&mut event["step"]),
        _ => return false,
    }
    true
}

#[tokio::test]
async fn any_one_decision_that_was_altered_is_named() {
    let tampering = Tampering::with_the_script().await;
    let mut kinds = std::collections::BTreeSet::new();
    for (key, seq, body) in tampering.records() {
        // What stands first and tells the input itself is no decision.
        let first = usize::from(body.get("i").is_none());
        for n in first..body["e"].as_array().unwrap().len() {
            let mut altered = body.clone();
            let Some((name, inside)) = altered["e"][n].as_object_mut().and_then(|event| event.iter_mut().next()) else {
                continue;
            };
            let name = name.clone();
            if !spoil(&name, inside) {
                continue;
            }
            tampering.write(key, &altered);
            let (event, _) = tampering.first_difference();
            assert_eq!(event, seq + n as u64, "{name} in {altered}");
            kinds.insert(name);
            tampering.write(key, &body);
        }
    }
    assert_eq!(tampering.replay().unwrap().differences, []);
    assert!(kinds.len() >= 6, "{kinds:?}");
}

#[tokio::test]
async fn an_answer_that_was_altered_is_named_where_it_was_used() {
    let tampering = Tampering::with_the_script().await;
    let replied = tampering.alter(|name, event| {
        let text = &mut event["reply"]["answer"]["text"];
        let is_it = name == "replied" && text == "one is done";
        if is_it {
            *text = json!("one is gone");
        }
        is_it
    });
    let (event, decided) = tampering.first_difference();
    assert!(event > replied && event < replied + 3, "{event} after {replied}");
    assert!(decided.contains("wrote") && decided.contains("one is gone"), "{decided}");
}

#[tokio::test]
async fn a_result_that_was_altered_is_named_by_the_prompt_that_holds_it() {
    let tampering = Tampering::with_the_script().await;
    let replied = tampering.alter(|name, event| {
        let text = &mut event["reply"]["output"]["text"];
        let is_it = name == "replied" && text == "looked at two";
        if is_it {
            *text = json!("looked away");
        }
        is_it
    });
    let (event, what) = tampering.first_difference();
    assert!(event > replied);
    assert_eq!(what, "prompt of two/0/1/ask.0");
}

#[tokio::test]
async fn a_prompt_hash_that_was_altered_is_named() {
    let tampering = Tampering::with_the_script().await;
    let begun = tampering.alter(|name, event| {
        let is_it = name == "begun" && event["facts"]["prompt"].is_string();
        if is_it {
            event["facts"]["prompt"] = json!("0".repeat(64));
        }
        is_it
    });
    assert_eq!(tampering.first_difference(), (begun, "prompt of plan/0/0/ask.0".to_owned()));
    assert_eq!(tampering.replay().unwrap().differences.len(), 1);
}

#[tokio::test]
async fn rules_that_decide_otherwise_are_named_by_the_first_event_that_differs() {
    let tampering = Tampering::with_the_script().await;
    tampering.alter(|name, event| {
        let is_it = name == "started";
        if is_it {
            assert_eq!(event["settings"]["turns"], 15);
            event["settings"]["turns"] = json!(2);
        }
        is_it
    });
    let (event, decided) = tampering.first_difference();
    assert!(decided.contains("last_turn"), "{decided}");
    // Until then the rules are the same: the events before it are all there.
    let before = tampering.records().into_iter().filter(|(_, seq, _)| *seq <= event);
    let before: Vec<Value> = before.flat_map(|(_, _, body)| body["e"].as_array().unwrap().clone()).collect();
    let wanted = &before[event as usize - 1];
    let at: Address = wanted["wanted"]["id"].as_str().unwrap().parse().unwrap();
    assert_eq!((at.turn, at.kind), (1, Kind::Ask), "{wanted}");
}

#[tokio::test]
async fn words_that_were_altered_are_named_by_the_first_prompt_made_of_them() {
    let tampering = Tampering::with_the_script().await;
    let file = tampering.file();
    let (_, _, first) = tampering.records().remove(0);
    let old = first["e"][0]["started"]["roster"]["words"].as_str().unwrap().to_owned();
    let old: updraft_run::Hash = old.parse().unwrap();
    let bytes: Vec<u8> = file.query_row("SELECT body FROM blobs WHERE hash = ?1", [old.0], |row| row.get(0)).unwrap();
    let mut words: Value = serde_json::from_slice(&bytes).unwrap();
    words["agents"]["stamper"]["prompt"] = json!("Do not work.");
    let bytes = serde_json::to_vec(&words).unwrap();
    let hash: [u8; 32] = Sha256::digest(&bytes).into();

    // In its old place the blob is refused: its content has another hash.
    file.execute("UPDATE blobs SET body = ?2 WHERE hash = ?1", params![old.0, bytes]).unwrap();
    let refused = tampering.replay().unwrap_err().to_string();
    assert!(refused.contains("damaged"), "{refused}");

    file.execute("INSERT INTO blobs(hash, len, body) VALUES(?1, ?2, ?3)", params![hash, bytes.len() as i64, bytes])
        .unwrap();
    tampering.alter(|name, event| {
        let is_it = name == "started";
        if is_it {
            event["roster"]["words"] = json!(updraft_run::Hash(hash).to_string());
        }
        is_it
    });
    let (_, what) = tampering.first_difference();
    assert_eq!(what, "prompt of one/0/0/ask.0");
    let all = tampering.replay().unwrap().differences;
    let stampers = |what: &Differs| matches!(what, Differs::Prompt { id, .. } if ["one", "two", "around"].contains(&id.step.as_str()));
    assert!(all.len() >= 6 && all.iter().all(|difference| stampers(&difference.what)), "{all:?}");
}
