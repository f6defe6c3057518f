//! The process ends at every moment it can: before a commit, after one, after acting. Each time the run is opened again
//! and must come to the same answer, with the world in the same state and no finished effect performed twice.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a broken test should stop, and say why")]

mod support;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use serde_json::json;
use support::{World, calls, goal, says, settings, step, turn};
use tokio_util::sync::CancellationToken;
use updraft_engine::{Agent, Agents, Doing, Engine, NewRun, Options, Perform, Prompts, Watch, replay};
use updraft_models::{Delta, Model, Prompt, Scripted};
use updraft_run::{
    Address, Answer, Budget, Class, Facts, Found, Graph, Input, Message, Output, Prepared, Record, Reply, Run, RunId,
    Timestamp, ToolCall, ToolSpec,
};
use updraft_tools::Called;

/// Where the process ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crash {
    Never,
    /// While deciding the n-th input: nothing of it is on disk.
    BeforeCommit(u32),
    /// The n-th record is on disk, and nobody has been told.
    AfterCommit(u32),
    /// The n-th effect has touched the world, and its reply is lost.
    AfterActing(u32),
}

/// How the hands are wrong, to show that the test notices.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// They act before the beginning is on disk.
    ActFirst,
    /// They call a stamp repeatable, so its beginning is not written down.
    NoBegun,
}

thread_local! {
    /// Inputs until the process ends while deciding; none if it does not.
    static DECISIONS: Cell<Option<u32>> = const { Cell::new(None) };
}

fn clock() -> Timestamp {
    DECISIONS.with(|left| match left.get() {
        Some(0) => panic!("crash before the commit"),
        Some(n) => left.set(Some(n - 1)),
        None => {}
    });
    Timestamp(1_000)
}

/// The outside world: stamps that were made, and how often each effect touched it.
#[derive(Default)]
struct Outside {
    stamps: Vec<String>,
    touched: BTreeMap<String, u32>,
    /// Effects until the process ends after acting.
    acts: Option<u32>,
}

struct ScriptedHands {
    outside: Arc<Mutex<Outside>>,
    model: Arc<dyn Model>,
    wrong: Wrong,
}

impl ScriptedHands {
    fn act(&self, call: &ToolCall, key: &str) -> Reply {
        let mut outside = self.outside.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A look may be made again under the same address; a stamp never is.
        if call.name == "stamp" {
            *outside.touched.entry(key.to_owned()).or_default() += 1;
        }
        let name = call.args["name"].as_str().unwrap().to_owned();
        let text = match call.name.as_str() {
            "stamp" => {
                outside.stamps.push(name);
                "stamped".to_owned()
            }
            "check" => if outside.stamps.contains(&name) { "present" } else { "absent" }.to_owned(),
            _ => format!("looked at {name}"),
        };
        if let Some(left) = outside.acts.as_mut() {
            if *left == 0 {
                outside.acts = None;
                drop(outside);
                panic!("crash after acting");
            }
            *left -= 1;
        }
        Reply::Output(Arc::new(Output { text, ..Output::default() }))
    }
}

impl Perform for ScriptedHands {
    fn model(&self, _: &str) -> Result<Arc<dyn Model>, updraft_models::Error> {
        Ok(self.model.clone())
    }

    fn prepare(&self, _: &str, call: &ToolCall) -> Prepared {
        let opaque = call.name == "stamp" && self.wrong != Wrong::NoBegun;
        Prepared { class: if opaque { Class::Opaque } else { Class::Pure }, ..Prepared::default() }
    }

    fn facts<'a>(&'a self, _: &'a str, call: &'a ToolCall) -> Doing<'a, Facts> {
        Box::pin(async move {
            if self.wrong == Wrong::ActFirst && call.name == "stamp" {
                self.act(call, "before its time");
            }
            Facts::default()
        })
    }

    fn call<'a>(&'a self, _: &'a str, call: &'a ToolCall, key: String, _: CancellationToken) -> Doing<'a, Called> {
        Box::pin(async move {
            if self.wrong == Wrong::ActFirst && call.name == "stamp" {
                let reply = Reply::Output(Arc::new(Output { text: "stamped".into(), ..Output::default() }));
                return Called { reply, overflow: None };
            }
            Called { reply: self.act(call, &key), overflow: None }
        })
    }

    fn reconcile<'a>(&'a self, _: &'a str, _: &'a ToolCall, _: &'a Facts) -> Doing<'a, Found> {
        Box::pin(async { Found::CannotTell("EVIDENCE: the stamp had begun".into()) })
    }
}

/// Ends the process when a record is on disk.
struct Watcher(Mutex<Option<u32>>);

impl Watch for Watcher {
    fn record(&self, _: &RunId, _: u64, _: &Record, _: &Run) {
        let mut left = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match *left {
            Some(0) => {
                *left = None;
                drop(left);
                panic!("crash after the commit");
            }
            Some(n) => *left = Some(n - 1),
            None => {}
        }
    }

    fn delta(&self, _: &RunId, _: &Address, _: Delta<'_>) {}
}

/// Two stampers at work at once, one of them with two calls in a turn; a step that fails and is planned around; a
/// question; and a last step that puts it together.
fn answer(prompt: &Prompt<'_>) -> Answer {
    let brief = prompt.brief;
    let last = prompt.messages.last();
    let results: Vec<String> = match last {
        Some(Message::Results(results)) => results.iter().map(|result| result.text.clone()).collect(),
        _ => Vec::new(),
    };
    let doubtful = results.iter().any(|text| text.contains("EVIDENCE"));
    let stamp = |name: &str| calls(&[("stamp", json!({ "name": name })), ("look", json!({ "name": name }))]);
    let is_replan =
        prompt.messages.iter().any(|message| matches!(message, Message::User(text) if text.contains("met a failure")));
    match brief.agent.as_str() {
        "planner" if is_replan => {
            let steps = vec![
                step("around", "stamper", &[], &["around"]),
                step("sum", "thinker", &["one", "two", "around", "said"], &["sum"]),
            ];
            says(serde_json::to_string(&Graph { steps }).unwrap())
        }
        "planner" => {
            let mut bad = step("bad", "thinker", &["one"], &["bad"]);
            bad.after = vec![];
            let steps = vec![
                step("one", "stamper", &[], &["one"]),
                step("two", "stamper", &[], &["two"]),
                step("ask", "asker", &[], &["said"]),
                bad,
                step("rest", "thinker", &["bad"], &["rest"]),
            ];
            says(serde_json::to_string(&Graph { steps }).unwrap())
        }
        "stamper" if doubtful => calls(&[("check", json!({ "name": brief.step }))]),
        "stamper" if results.iter().any(|text| text == "absent") => stamp(&brief.step),
        "stamper" if turn(prompt) == 0 => stamp(&brief.step),
        "asker" if turn(prompt) == 0 => calls(&[("ask_user", json!({ "question": "which?" }))]),
        "asker" => says(results.join(" ")),
        _ if brief.step == "bad" => says(r#"{"status": "failed", "error": "it cannot be done"}"#),
        "thinker" => {
            let inputs: Vec<String> = brief.inputs.values().map(|value| value.as_str().unwrap().to_owned()).collect();
            says(inputs.join("+"))
        }
        _ => says(format!("{} is done", brief.step)),
    }
}

fn agents() -> Agents {
    let mut agents = Agents::compiled_in().unwrap();
    let tools = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let agent = |name: &str, own: &[&str]| Agent {
        name: name.into(),
        purpose: "test".into(),
        tools: tools(own),
        prompt: "Work.".into(),
        ..Agent::default()
    };
    agents.insert(agent("stamper", &["stamp", "look", "check"]));
    agents.insert(agent("asker", &["ask_user"]));
    agents
}

fn specs(names: &[String]) -> Vec<ToolSpec> {
    let known = ["ask_user", "check", "look", "stamp"];
    let named = known.iter().filter(|known| names.iter().any(|name| name == **known));
    named
        .map(|name| ToolSpec {
            name: (*name).into(),
            description: String::new(),
            parameters: json!({ "type": "object" }),
        })
        .collect()
}

/// What a run came to, and what it did to the world.
#[derive(Debug, PartialEq)]
struct Came {
    answer: String,
    stamps: Vec<String>,
    /// The most often any one stamp touched the world.
    most_touched: u32,
}

/// Runs to the end through at most one crash; `None` if the crash was never reached.
async fn runs(crash: Crash, wrong: Wrong) -> Option<Came> {
    let world = World::new();
    let outside: Arc<Mutex<Outside>> = Arc::default();
    let id = RunId::parse("crash").unwrap();
    let mut crashed = crash == Crash::Never;
    let mut started = false;
    for life in 0..12 {
        let first = life == 0;
        DECISIONS.with(|left| {
            left.set(match crash {
                Crash::BeforeCommit(n) if first => Some(n),
                _ => None,
            });
        });
        outside.lock().unwrap_or_else(std::sync::PoisonError::into_inner).acts = match crash {
            Crash::AfterActing(n) if first => Some(n),
            _ => None,
        };
        let watch = Watcher(Mutex::new(match crash {
            Crash::AfterCommit(n) if first => Some(n),
            _ => None,
        }));
        let hands = ScriptedHands {
            outside: outside.clone(),
            model: Arc::new(Scripted::from_fn("scripted/test", answer)),
            wrong,
        };
        let options = Options { watch: Arc::new(watch), clock, ..Options::default() };
        let engine = Engine::new(world.journal(), Arc::new(hands), options);
        let lived = AssertUnwindSafe(live(&engine, &id, &world, &mut started)).catch_unwind().await;
        DECISIONS.with(|left| left.set(None));
        if lived.is_err() {
            crashed = true;
        }
        started |= engine.journal().head(&id).is_ok();
        let over = started && engine.load(&id).unwrap().is_over();
        if over {
            let run = engine.load(&id).unwrap();
            assert_eq!(replay(engine.journal(), &id).unwrap().differences, [], "{crash:?}");
            assert_eq!(run.status(), "done", "{crash:?} {:?}", run.phase());
            let (mut stamps, most_touched) = {
                let outside = outside.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                (outside.stamps.clone(), outside.touched.values().copied().max().unwrap_or(0))
            };
            stamps.sort();
            engine.journal().clone().close().await;
            return crashed.then_some(Came { answer: run.answer(), stamps, most_touched });
        }
        engine.journal().clone().close().await;
    }
    panic!("{crash:?} did not come to an end");
}

/// One life of the process: starts the run or opens it again, and answers the question when it is asked.
async fn live(engine: &Engine, id: &RunId, world: &World, started: &mut bool) {
    let mut handle = if *started {
        engine.open(id).await.unwrap()
    } else {
        let (agents, prompts) = (agents(), Prompts::compiled_in());
        let new = NewRun {
            goal: goal("stamp everything"),
            settings: settings(&world.workspace()),
            budget: Budget::default(),
            plan: None,
            agents: &agents,
            prompts: &prompts,
            tools: &specs,
        };
        engine.start(id.clone(), new).await.unwrap()
    };
    loop {
        let rested = handle.drive().await.unwrap();
        if rested.run.is_over() {
            return;
        }
        handle = engine.open(id).await.unwrap();
        handle.send(Input::Answer { id: None, text: "the blue one".into() });
    }
}

/// Tries every crash of a kind until it is no longer reached; returns how many there were.
async fn every(kind: impl Fn(u32) -> Crash, expected: &Came, wrong: Wrong) -> Result<u32, String> {
    for n in 0..500 {
        match runs(kind(n), wrong).await {
            None => return Ok(n),
            Some(came) if came == *expected => {}
            Some(came) => return Err(format!("{:?}: {came:?}", kind(n))),
        }
    }
    Err("the crashes have no end".into())
}

fn quietly() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.payload().downcast_ref::<&str>().copied().unwrap_or_default();
        if !text.starts_with("crash ") {
            eprintln!("{info}");
        }
    }));
}

async fn undisturbed() -> Came {
    let came = runs(Crash::Never, Wrong::Nothing).await.unwrap();
    assert_eq!(came.stamps, ["around", "one", "two"]);
    assert_eq!(came.answer, "around is done+one is done+the blue one+two is done");
    came
}

#[tokio::test]
async fn a_crash_before_any_commit_changes_nothing_in_the_end() {
    quietly();
    let expected = undisturbed().await;
    let crashes = every(Crash::BeforeCommit, &expected, Wrong::Nothing).await.unwrap();
    assert!(crashes > 20, "{crashes}");
}

#[tokio::test]
async fn a_crash_after_any_commit_changes_nothing_in_the_end() {
    quietly();
    let expected = undisturbed().await;
    let crashes = every(Crash::AfterCommit, &expected, Wrong::Nothing).await.unwrap();
    assert!(crashes > 20, "{crashes}");
}

#[tokio::test]
async fn a_crash_after_any_act_leaves_the_world_as_it_should_be() {
    quietly();
    let expected = undisturbed().await;
    let crashes = every(Crash::AfterActing, &expected, Wrong::Nothing).await.unwrap();
    assert!(crashes >= 6, "{crashes}");
}

#[tokio::test]
async fn acting_before_the_beginning_is_on_disk_is_noticed() {
    quietly();
    let expected = undisturbed().await;
    let expected = Came { most_touched: 1, ..expected };
    let mut noticed = false;
    for kind in [Crash::BeforeCommit as fn(u32) -> Crash, Crash::AfterCommit] {
        noticed |= every(kind, &expected, Wrong::ActFirst).await.is_err();
    }
    assert!(noticed);
}

#[tokio::test]
async fn leaving_the_beginning_out_is_noticed() {
    quietly();
    let expected = undisturbed().await;
    let mut noticed = false;
    for n in 0..20 {
        if let Some(came) = runs(Crash::AfterActing(n), Wrong::NoBegun).await {
            noticed |= came.stamps != expected.stamps;
        }
    }
    assert!(noticed);
}
