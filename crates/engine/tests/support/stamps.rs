//! The script that crash tests share: stampers, code that stamps, a question, a step that fails and is planned around; and hands that
//! note what they did to the world.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use updraft_engine::{
    Agent, Agents, CallEnvironment, EffectFuture, EffectPerformer, Engine, NewRun, Prompts, RunHandle,
};
use updraft_models::{Model, Prompt, ScriptedModel};
use updraft_run::{
    Budget, EffectClass, EffectFacts, Graph, Input, Message, ModelAnswer, PreparedCall, RecoveryOutcome, Reply, RunId,
    ToolCall, ToolOutput, ToolSpec,
};
use updraft_tools::CallResult;

use super::{calls, goal, says, settings, step, turn};

/// How the hands are wrong, to show that the test notices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wrong {
    Nothing,
    /// They act before the beginning is on disk.
    ActFirst,
    /// They call a stamp repeatable, so its beginning is not written down.
    NoBegun,
}

/// The outside world: everything that was done to it, in order.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) performed: Vec<Performed>,
    /// How often a model was asked.
    pub(crate) asks: usize,
    /// Effects until the process ends after acting.
    pub(crate) acts: Option<u32>,
    /// What moment it is, for those who play moments back.
    pub(crate) moment: Option<Box<dyn Fn() -> usize + Send>>,
}

/// One call as the world saw it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Performed {
    pub(crate) moment: usize,
    pub(crate) key: String,
    pub(crate) tool: String,
    pub(crate) name: String,
}

impl Outside {
    /// The stamps there are, in name order.
    pub(crate) fn stamps(&self) -> Vec<String> {
        let stamps = self.performed.iter().filter(|done| done.tool == "stamp");
        let mut names: Vec<String> = stamps.map(|done| done.name.clone()).collect();
        names.sort();
        names
    }

    /// The most often any one stamp touched the world. A look may be made again under the same address; a stamp never is.
    pub(crate) fn most_touched(&self) -> u32 {
        let mut touched: BTreeMap<&str, u32> = BTreeMap::new();
        for done in self.performed.iter().filter(|done| done.tool == "stamp") {
            *touched.entry(&done.key).or_default() += 1;
        }
        touched.into_values().max().unwrap_or(0)
    }
}

/// What a model of some name says to a prompt.
pub(crate) type Says = dyn Fn(&str, &Prompt<'_>) -> ModelAnswer + Send + Sync;

/// Hands that stamp, look and check.
pub(crate) struct ScriptedHands {
    pub(crate) outside: Arc<Mutex<Outside>>,
    pub(crate) says: Arc<Says>,
    pub(crate) wrong: Wrong,
    /// Calls take a while, each another, so that they end one by one.
    pub(crate) dawdle: bool,
}

impl ScriptedHands {
    pub(crate) fn new(outside: &Arc<Mutex<Outside>>, wrong: Wrong) -> Self {
        Self { wrong, ..Self::saying(outside, |_, prompt| answer(prompt)) }
    }

    /// The same hands, with models that follow another script.
    pub(crate) fn saying(
        outside: &Arc<Mutex<Outside>>,
        says: impl Fn(&str, &Prompt<'_>) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        Self { outside: Arc::clone(outside), says: Arc::new(says), wrong: Wrong::Nothing, dawdle: false }
    }

    fn act(&self, call: &ToolCall, key: &str) -> Reply {
        let mut outside = look_at(&self.outside);
        let name = call.args["name"].as_str().unwrap().to_owned();
        let moment = outside.moment.as_ref().map_or(0, |moment| moment());
        let text = match call.name.as_str() {
            "stamp" => "stamped".to_owned(),
            "check" => if outside.stamps().contains(&name) { "present" } else { "absent" }.to_owned(),
            _ => format!("looked at {name}"),
        };
        outside.performed.push(Performed { moment, key: key.to_owned(), tool: call.name.clone(), name });
        if let Some(left) = outside.acts.as_mut() {
            if *left == 0 {
                outside.acts = None;
                drop(outside);
                panic!("crash after acting");
            }
            *left -= 1;
        }
        Reply::Output(Arc::new(ToolOutput { text, ..ToolOutput::default() }))
    }
}

/// The outside world, also after someone panicked while looking.
pub(crate) fn look_at(outside: &Mutex<Outside>) -> MutexGuard<'_, Outside> {
    outside.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EffectPerformer for ScriptedHands {
    fn model(&self, name: &str) -> Result<Arc<dyn Model>, updraft_models::Error> {
        let (called, says, outside) = (name.to_owned(), self.says.clone(), self.outside.clone());
        Ok(Arc::new(ScriptedModel::from_fn(name, move |prompt| {
            look_at(&outside).asks += 1;
            says(&called, prompt)
        })))
    }

    fn prepare(&self, _: &str, call: &ToolCall) -> PreparedCall {
        if call.name == "consult" {
            return PreparedCall { model: Some("scripted/other".into()), ..PreparedCall::default() };
        }
        let opaque = call.name == "code" || call.name == "stamp" && self.wrong != Wrong::NoBegun;
        PreparedCall { class: if opaque { EffectClass::Opaque } else { EffectClass::Pure }, ..PreparedCall::default() }
    }

    fn facts<'a>(&'a self, _: &'a str, call: &'a ToolCall) -> EffectFuture<'a, EffectFacts> {
        Box::pin(async move {
            if self.wrong == Wrong::ActFirst && call.name == "stamp" {
                self.act(call, &format!("{} before its time", call.args["name"]));
            }
            EffectFacts::default()
        })
    }

    fn call<'a>(&'a self, _: &'a str, call: &'a ToolCall, given: CallEnvironment) -> EffectFuture<'a, CallResult> {
        Box::pin(async move {
            if self.wrong == Wrong::ActFirst && call.name == "stamp" {
                let reply = Reply::Output(Arc::new(ToolOutput { text: "stamped".into(), ..ToolOutput::default() }));
                return CallResult::of(reply);
            }
            if self.dawdle {
                for _ in 0..3 * call.args["name"].as_str().unwrap().len() + call.name.len() {
                    tokio::task::yield_now().await;
                }
            }
            if call.name == "code" {
                stamp_from_code(call, &given).await;
            }
            CallResult::of(self.act(call, &given.key))
        })
    }

    fn reconcile<'a>(&'a self, _: &'a str, _: &'a ToolCall, _: &'a EffectFacts) -> EffectFuture<'a, RecoveryOutcome> {
        Box::pin(async { RecoveryOutcome::CannotTell("EVIDENCE: the stamp had begun".into()) })
    }
}

/// What the code does: two stamps, and a look after each.
async fn stamp_from_code(code: &ToolCall, given: &CallEnvironment) {
    let caller = given.context.caller.clone().unwrap();
    for n in ["1", "2"] {
        for tool in ["stamp", "look"] {
            let args = json!({ "name": format!("{}-{n}", code.args["name"].as_str().unwrap()) });
            let call = ToolCall { id: String::new(), name: tool.into(), args, fault: None };
            assert!(matches!(caller.call(call).await, Reply::Output(_)), "{tool}");
        }
    }
}

/// Two stampers at work at once, one of them with two calls in a turn; a step that fails and is planned around; a
/// question; and a last step that puts it together.
pub(crate) fn answer(prompt: &Prompt<'_>) -> ModelAnswer {
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
                step("sum", "thinker", &["one", "two", "around", "said", "code"], &["sum"]),
            ];
            says(serde_json::to_string(&Graph { steps }).unwrap())
        }
        "planner" => {
            let mut bad = step("bad", "thinker", &["one"], &["bad"]);
            bad.after = vec![];
            let steps = vec![
                step("one", "stamper", &[], &["one"]),
                step("two", "stamper", &[], &["two"]),
                step("code", "coder", &[], &["code"]),
                step("ask", "asker", &[], &["said"]),
                bad,
                step("rest", "thinker", &["bad"], &["rest"]),
            ];
            says(serde_json::to_string(&Graph { steps }).unwrap())
        }
        "stamper" if doubtful => calls(&[("check", json!({ "name": brief.step }))]),
        "stamper" if results.iter().any(|text| text == "absent") => stamp(&brief.step),
        "stamper" if turn(prompt) == 0 => stamp(&brief.step),
        "coder" if turn(prompt) == 0 => calls(&[("code", json!({ "name": "code" }))]),
        "coder" if doubtful => calls(&[("check", json!({ "name": "code-1" })), ("check", json!({ "name": "code-2" }))]),
        "coder" if results.iter().any(|text| text == "absent") => {
            let absent = ["code-1", "code-2"].into_iter().zip(&results).filter(|(_, text)| *text == "absent");
            calls(&absent.map(|(name, _)| ("stamp", json!({ "name": name }))).collect::<Vec<_>>())
        }
        "asker" if turn(prompt) == 0 => calls(&[("ask_user", json!({ "question": "which?" }))]),
        // Another model is asked what to say.
        "asker" if turn(prompt) == 1 => calls(&[("consult", json!({ "question": results.join(" ") }))]),
        "asker" => says(results.join(" ")),
        updraft_tools::ASK_MODEL => says(brief.task.clone()),
        _ if brief.step == "bad" => says(r#"{"status": "failed", "error": "it cannot be done"}"#),
        "thinker" => {
            let inputs: Vec<String> = brief.inputs.values().map(|value| value.as_str().unwrap().to_owned()).collect();
            says(inputs.join("+"))
        }
        _ => says(format!("{} is done", brief.step)),
    }
}

pub(crate) fn agents() -> Agents {
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
    agents.insert(agent("coder", &["code", "stamp", "look", "check"]));
    agents.insert(agent("asker", &["ask_user", "consult"]));
    agents
}

pub(crate) fn specs(names: &[String]) -> Vec<ToolSpec> {
    let known = ["ask_user", "check", "code", "consult", "look", "stamp"];
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
pub(crate) struct Came {
    pub(crate) answer: String,
    pub(crate) stamps: Vec<String>,
    /// The most often any one stamp touched the world.
    pub(crate) most_touched: u32,
}

impl Came {
    /// What comes of it if nothing is cut off.
    pub(crate) fn undisturbed() -> Self {
        Self {
            answer: "around is done+code is done+one is done+the blue one+two is done".into(),
            stamps: ["around", "code-1", "code-2", "one", "two"].map(str::to_owned).into(),
            most_touched: 1,
        }
    }
}

/// Starts the script's run.
pub(crate) async fn begin(engine: &Engine, id: &RunId, workspace: &Path) -> RunHandle {
    let (agents, prompts) = (agents(), Prompts::compiled_in());
    let new = NewRun {
        goal: goal("stamp everything"),
        settings: settings(workspace),
        budget: Budget::default(),
        plan: None,
        agents: &agents,
        prompts: &prompts,
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    engine.start(id.clone(), new).await.unwrap()
}

/// Drives the run to its end, and answers the question whenever it is asked.
pub(crate) async fn to_the_end(engine: &Engine, mut handle: RunHandle) {
    let id = handle.id().clone();
    loop {
        let rested = handle.drive().await.unwrap();
        if rested.run.is_over() {
            return;
        }
        handle = engine.open(&id).await.unwrap();
        handle.send(Input::Answer { id: None, text: "the blue one".into() });
    }
}
