//! A folder, the three tools over it, and a machine just large enough to run a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use regex::Regex;
use serde_json::{Value, json};
use updraft_models::{BuiltinModel, Model, Prompt, RequestDraft, TaskBrief};
use updraft_run::{AgentRole, Graph, Message, ModelAnswer, StepSpec, ToolCall, ToolResult, ToolSpec};

/// What `read_file` gives at most.
const READ: usize = 100_000;
/// What `search_files` gives at most.
const FOUND: usize = 200;

pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
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
        let tools = tools();
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
        let text = match call.name.as_str() {
            "list_files" => self.paths().iter().fold(String::new(), |text, path| text + path + "\n"),
            "search_files" => self.search(call.args["pattern"].as_str().unwrap()),
            "read_file" => self.read(&call.args),
            "ask_user" => "blue".to_owned(),
            other => panic!("no tool {other}"),
        };
        ToolResult { call: call.id.clone(), name: call.name.clone(), text, is_error: false }
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        walk(self.folder.path(), self.folder.path(), &mut paths);
        paths.sort();
        paths
    }

    fn search(&self, pattern: &str) -> String {
        let regex = Regex::new(pattern).unwrap();
        let mut text = String::new();
        let mut found = 0;
        for path in self.paths() {
            let Ok(content) = fs::read_to_string(self.folder.path().join(&path)) else { continue };
            for (line, number) in content.lines().zip(1..).filter(|(line, _)| regex.is_match(line)) {
                if found == FOUND {
                    return text + "[there is more; narrow the pattern or the path]\n";
                }
                found += 1;
                writeln!(text, "{path}:{number}: {}", line.chars().take(300).collect::<String>()).unwrap();
            }
        }
        if found == 0 { "[no line matches]\n".to_owned() } else { text }
    }

    fn read(&self, args: &Value) -> String {
        let path = args["path"].as_str().unwrap();
        let start = args["start_line"].as_u64().unwrap_or(1) as usize;
        let end = args["end_line"].as_u64().unwrap_or(u64::MAX) as usize;
        let content = fs::read_to_string(self.folder.path().join(path)).unwrap();
        let mut text = String::new();
        for (line, number) in
            content.split_inclusive('\n').zip(1..).filter(|(_, number)| (start..=end).contains(number))
        {
            if text.len() + line.len() > READ {
                return format!("{text}[lines {start} to {} of many; read on with start_line {number}]\n", number - 1);
            }
            text += line;
        }
        text
    }

    /// The quotations of an answer, each checked against its file and line.
    pub(crate) fn quotes(&self, answer: &str) -> Vec<String> {
        let form = Regex::new(r#""(.*?)" \(([^()"]+?):(\d+)(?:-(\d+))?\)"#).unwrap();
        let mut quotes = Vec::new();
        for line in answer.lines().filter(|line| line.starts_with("- ")) {
            let mut covered = 2;
            for found in form.captures_iter(line) {
                let content = fs::read_to_string(self.folder.path().join(&found[2])).unwrap();
                let first: usize = found[3].parse().unwrap();
                let last: usize = found.get(4).map_or(first, |last| last.as_str().parse().unwrap());
                let joined =
                    content.lines().skip(first - 1).take(last - first + 1).map(str::trim).collect::<Vec<_>>().join(" ");
                assert!(joined.contains(&found[1]), "not in {}:{first}-{last}: {}\n{joined}", &found[2], &found[1]);
                covered += found[0].len();
                quotes.push(found[1].to_owned());
            }
            assert!(line.len() - covered <= 2, "something stands outside quotations: {line}");
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

pub(crate) fn tools() -> Vec<ToolSpec> {
    let number = json!({ "type": "integer", "minimum": 1 });
    let text = json!({ "type": "string" });
    let tool = |name: &str, properties: Value| ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": properties, "additionalProperties": false }),
    };
    vec![
        tool("list_files", json!({ "path": text, "recursive": { "type": "boolean" }, "limit": number })),
        tool(
            "search_files",
            json!({ "pattern": text, "path": text, "ignore_case": { "type": "boolean" }, "limit": number }),
        ),
        tool("read_file", json!({ "path": text, "start_line": number, "end_line": number, "max_bytes": number })),
    ]
}

fn walk(root: &Path, folder: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            walk(root, &entry.path(), paths);
        } else {
            paths.push(entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned());
        }
    }
}
