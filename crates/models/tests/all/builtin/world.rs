//! A folder, the real tools over it, and a machine just large enough to run a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use futures_util::FutureExt;
use regex::Regex;
use serde_json::Value;
use updraft_knowledge::read_here;
use updraft_models::{BuiltinModel, Model, Prompt, RequestDraft, TaskBrief};
use updraft_run::{AgentRole, Graph, Message, ModelAnswer, ReadRules, Reply, StepSpec, ToolCall, ToolResult, ToolSpec};
use updraft_tools::{CallContext, Dispatcher, IndexConfig, Place, Registry, ToolLimits, Workspace, WorkspaceIndex};

pub(crate) struct World {
    folder: tempfile::TempDir,
    dispatcher: Dispatcher,
    runtime: tokio::runtime::Runtime,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let config = IndexConfig {
            file: folder.path().join("knowledge/one.db"),
            own: Vec::new(),
            rules: ReadRules::default(),
            read: Arc::new(read_here),
            embedder: None,
        };
        let limits = ToolLimits::default();
        let registry = Registry::standard(&limits).with_index(&Arc::new(WorkspaceIndex::new(config)), &limits);
        let dispatcher = Dispatcher::new(registry, ToolLimits::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { folder, dispatcher, runtime }
    }

    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join("work").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Plans a goal and runs the plan; the last step's answer.
    pub(crate) fn answer(&self, goal: &str) -> String {
        let brief =
            TaskBrief { agent: "planner".into(), role: AgentRole::Planner, goal: goal.into(), ..TaskBrief::default() };
        let plan: Graph = serde_json::from_str(&ask(&brief, &[], &[]).text).unwrap();
        let mut variables: BTreeMap<String, Arc<Value>> = BTreeMap::new();
        let mut last = String::new();
        for step in &plan.steps {
            last = self.step(goal, step, &variables);
            for name in &step.writes {
                variables.insert(name.clone(), Arc::new(written(name, &last)));
            }
        }
        last
    }

    fn step(&self, goal: &str, step: &StepSpec, variables: &BTreeMap<String, Arc<Value>>) -> String {
        let inputs = step.reads.iter().map(|name| (name.clone(), variables[name].clone())).collect();
        let brief = TaskBrief {
            agent: step.agent.clone(),
            goal: goal.into(),
            step: step.id.to_string(),
            task: step.prompt.clone(),
            inputs,
            writes: step.writes.clone(),
            ..TaskBrief::default()
        };
        self.converse(&brief)
    }

    /// One step: asks, calls and asks again until there is an answer.
    pub(crate) fn converse(&self, brief: &TaskBrief) -> String {
        let tools = self.dispatcher.registry().specs_for(&["files".to_owned(), "rag".to_owned()]);
        let tools = if matches!(brief.agent.as_str(), "summarizer" | "thinker") { &[][..] } else { &tools };
        let mut messages = vec![Message::User("Do the step.".into())];
        for _ in 0..6 {
            let answer = ask(brief, &messages, tools);
            if answer.calls.is_empty() {
                return answer.text;
            }
            let ids: BTreeSet<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids.len(), answer.calls.len(), "call ids are unique");
            let results = answer.calls.iter().map(|call| self.call(call)).collect();
            messages.push(Message::Assistant(Arc::new(answer)));
            messages.push(Message::Results(results));
        }
        panic!("no answer after six turns of {}", brief.step);
    }

    fn call(&self, call: &ToolCall) -> ToolResult {
        let place = Place { workspace: Workspace::open(&self.folder.path().join("work")).unwrap() };
        let context = CallContext::new(place, "run/step/0/0/call.0");
        let reply = self.runtime.block_on(self.dispatcher.call(call, &context)).reply;
        let (text, is_error) = match reply {
            Reply::Output(output) => (output.text.clone(), output.is_error),
            other => (format!("{other:?}"), true),
        };
        ToolResult { call: call.id.clone(), name: call.name.clone(), text, is_error }
    }

    /// The quotations of an answer, each checked against its file and lines.
    pub(crate) fn quotes(&self, answer: &str) -> Vec<String> {
        let form = Regex::new(r#"^- \[(\d+)\] (.+?):(\d+)(?:-(\d+))?(?: \(.*?\))?: "(.*)"$"#).unwrap();
        let mut quotes = Vec::new();
        for line in answer.lines().filter(|line| line.starts_with("- ")) {
            let Some(found) = form.captures(line) else { panic!("not a citation: {line}") };
            assert_eq!(found[1].parse(), Ok(quotes.len() + 1), "{answer}");
            let content = fs::read_to_string(self.folder.path().join("work").join(&found[2])).unwrap();
            let first: usize = found[3].parse().unwrap();
            let last: usize = found.get(4).map_or(first, |last| last.as_str().parse().unwrap());
            let plain = |text: &str| -> String {
                let marks = ["///", "//!", "//", "# "];
                let text = marks.iter().find_map(|mark| text.trim().strip_prefix(mark)).unwrap_or(text);
                text.replace(['|', ','], " ").split_whitespace().collect::<Vec<_>>().join(" ")
            };
            let cited = content.lines().skip(first - 1).take(last - first + 1).map(plain).collect::<Vec<_>>().join(" ");
            // The header of a table stands above its row.
            let words = found[5].rsplit_once(" … ").map_or(&found[5], |(_, row)| row);
            assert!(cited.contains(&plain(words)), "not in {}:{first}-{last}: {words}\n{cited}", &found[2]);
            quotes.push(found[5].to_owned());
        }
        quotes
    }
}

/// What a machine keeps of a step's answer: the variable's own value, or the text.
fn written(name: &str, text: &str) -> Value {
    let parsed = serde_json::from_str::<Value>(text).ok();
    parsed.and_then(|value| value.get(name).cloned()).unwrap_or_else(|| Value::String(text.to_owned()))
}

pub(crate) fn ask(brief: &TaskBrief, messages: &[Message], tools: &[ToolSpec]) -> ModelAnswer {
    let prompt = Prompt { tools, messages, max_output: 8_192, ..Prompt::empty(brief) };
    let mut draft = RequestDraft::default();
    let first = BuiltinModel.ask(&prompt, &mut draft, &mut |_| {}).now_or_never().unwrap().unwrap();
    let second = BuiltinModel.ask(&prompt, &mut draft, &mut |_| {}).now_or_never().unwrap().unwrap();
    assert_eq!(first, second, "the same prompt has the same answer");
    first
}

/// The tools of an agent that retrieves.
pub(crate) fn tools() -> Vec<ToolSpec> {
    let world = World::new();
    world.dispatcher.registry().specs_for(&["files".to_owned(), "rag".to_owned()])
}
