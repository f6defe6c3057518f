//! Hooks: programs of the user's that are called at events, in the sandbox. They get JSON on standard input; before a call they
//! may refuse it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};
use updraft_run::{Reply, ToolCall};
use updraft_sandbox::{CaptureOptions, ChildResult, Command, OutputMode, StdinMode};

use crate::confinement::Confinement;
use crate::tool::CallContext;
use crate::truncate;

/// How much of a program's output is read, in bytes.
const KEPT: usize = 64 << 10;
/// How much of a result a hook is told, in bytes.
const TOLD: usize = 64 << 10;
/// How much of what a program says is passed on, in bytes.
const SHOWN: usize = 2_000;
/// The exit code that refuses a call.
const REFUSES: i32 = 2;

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// A run has begun, and its goal is on disk.
    RunStarted,
    /// A run is over.
    RunEnded,
    /// A step is done, has failed or was skipped.
    StepEnded,
    /// A summary has replaced the older turns of a step.
    Compacted,
    /// A run waits for an answer or an approval.
    NeedsPerson,
    /// A call is allowed by the rules and is about to be made.
    BeforeCall,
    /// A call has ended.
    AfterCall,
}

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::RunStarted,
        Self::RunEnded,
        Self::StepEnded,
        Self::Compacted,
        Self::NeedsPerson,
        Self::BeforeCall,
        Self::AfterCall,
    ];

    /// Its name in settings and in what hooks are told.
    pub fn word(self) -> &'static str {
        match self {
            Self::RunStarted => "run_started",
            Self::RunEnded => "run_ended",
            Self::StepEnded => "step_ended",
            Self::Compacted => "compacted",
            Self::NeedsPerson => "needs_person",
            Self::BeforeCall => "before_call",
            Self::AfterCall => "after_call",
        }
    }
}

/// A program that is called at an event.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Its name.
    pub name: String,
    /// When it is called.
    pub event: HookEvent,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Only calls of these tools; all if empty.
    pub tools: Vec<String>,
    /// How long it may take.
    pub time: Duration,
    /// Whether a call is made if the hook fails or does not end.
    pub lets_pass_on_failure: bool,
    /// How it is confined.
    pub confinement: Confinement,
}

/// What a hook said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    /// Nothing against it; the rules decide.
    Pass,
    /// The call must not be made, and why.
    Deny(String),
    /// A person decides, and why.
    Ask(String),
}

impl Hook {
    /// Calls the program. Fails if it does not start, does not end in time, or ends with an error.
    pub async fn call(&self, about: &Value, workspace: &Path) -> Result<HookAnswer, String> {
        let Some((program, args)) = self.command.split_first() else { return Err("it has no command".to_owned()) };
        let confinement = &self.confinement;
        let sandbox = confinement.sandbox().await.map_err(|failure| failure.message)?;
        let empty = confinement.only_reads().then(tempfile::tempdir).transpose();
        let empty = empty.map_err(|error| format!("could not create a temporary folder: {error}"))?;
        let mut policy = match &empty {
            Some(empty) => confinement.policy_for_looking(workspace, empty.path()),
            None => confinement.policy_for(workspace),
        };
        policy.limits.time = Some(self.time);
        let is_path = program.contains('/') || program.contains('\\');
        let program = if is_path { workspace.join(program).display().to_string() } else { program.clone() };
        // The program and files that it is started with may be outside of the workspace, where nothing else is granted.
        let named = std::iter::once(&program).chain(args).map(Path::new);
        policy.read.extend(named.filter(|path| path.is_absolute() && path.is_file()).map(Path::to_owned));
        let captured = CaptureOptions { head: KEPT, tail: KEPT, ..CaptureOptions::default() };
        let command = Command {
            args: args.to_vec(),
            env: confinement.environment.clone(),
            cwd: Some(workspace.to_owned()),
            stdin: StdinMode::Pipe,
            output: OutputMode::Capture(captured),
            ..Command::new(program)
        };
        let input = format!("{about}\n");
        let ended = sandbox.run(&policy, command, input.as_bytes()).await.map_err(|error| error.to_string())?;
        if let Some(run) = about["run"].as_str() {
            confinement.remember(&ended.moved_aside, run);
        }
        answer(&ended, self.time)
    }

    /// Asks whether a call may be made.
    pub(crate) async fn judge(&self, call: &ToolCall, cx: &CallContext) -> Result<HookAnswer, String> {
        let asked = self.call(&about(self.event, call, cx), cx.place.workspace.root()).await;
        match asked {
            Err(why) if self.lets_pass_on_failure => {
                let said = format!("the hook `{}` failed, and the call is made all the same: {why}", self.name);
                tracing::warn!(hook = self.name, why, "a hook failed");
                cx.log.line(&said);
                Ok(HookAnswer::Pass)
            }
            other => other,
        }
    }
}

/// Whether a list of tools names a call, by the tool that is called or the one that passes it on. An empty list names all.
pub(crate) fn names_one(tools: &[String], tool: &str, called: &str) -> bool {
    tools.is_empty() || tools.iter().any(|own| own == tool || own == called)
}

/// Tells hooks about calls that have ended. `called` is the name that the model used.
pub(crate) async fn after_call(hooks: &[Hook], call: &ToolCall, called: &str, reply: &Reply, cx: &CallContext) {
    let is_told = |hook: &&Hook| hook.event == HookEvent::AfterCall && names_one(&hook.tools, &call.name, called);
    for hook in hooks.iter().filter(is_told) {
        let mut about = about(hook.event, call, cx);
        about["result"] = result(reply);
        if let Err(why) = hook.call(&about, cx.place.workspace.root()).await {
            tracing::warn!(hook = hook.name, why, "a hook failed");
            cx.log.line(&format!("the hook `{}` failed: {why}", hook.name));
        }
    }
}

fn about(event: HookEvent, call: &ToolCall, cx: &CallContext) -> Value {
    let around = &cx.around;
    json!({ "event": event.word(), "run": around.run, "step": around.step, "agent": around.agent,
            "workspace": cx.place.workspace.root().display().to_string(), "tool": call.name, "arguments": call.args })
}

fn result(reply: &Reply) -> Value {
    let cut = |text: &str| truncate::head_and_tail(text, TOLD).unwrap_or_else(|| text.to_owned());
    match reply {
        Reply::Output(output) => json!({ "ok": !output.is_error, "text": cut(&output.text) }),
        Reply::Failed(why) => json!({ "ok": false, "text": cut(&why.message) }),
        Reply::TimedOut { .. } => json!({ "ok": false, "text": "it took too long" }),
        _ => json!({ "ok": false, "text": "it did not end" }),
    }
}

/// Reads what a program said: by its exit code, or as JSON.
fn answer(ended: &ChildResult, time: Duration) -> Result<HookAnswer, String> {
    if ended.timed_out() {
        return Err(format!("it took longer than {} s", time.as_secs_f64()));
    }
    let (said, complaint) = (ended.stdout.text(), ended.stderr.text());
    let shown = |text: &str| truncate::head_and_tail(text.trim(), SHOWN).unwrap_or_else(|| text.trim().to_owned());
    let reason = |text: &str| if text.trim().is_empty() { "the hook gave no reason".to_owned() } else { shown(text) };
    match ended.exit_code() {
        0 => {}
        REFUSES => return Ok(HookAnswer::Deny(reason(if complaint.trim().is_empty() { &said } else { &complaint }))),
        code => {
            let refused = ended.refused.iter().fold(String::new(), |all, refusal| format!("{all} [{refusal}]"));
            return Err(format!("it ended with exit code {code}{refused}: {}", reason(&complaint)));
        }
    }
    match decision(said.trim()) {
        Ok(None) => Ok(HookAnswer::Pass),
        Ok(Some((word, why))) => match word.as_str() {
            "pass" | "allow" | "approve" | "defer" => Ok(HookAnswer::Pass),
            "deny" | "block" => Ok(HookAnswer::Deny(reason(&why))),
            "ask" => Ok(HookAnswer::Ask(reason(&why))),
            other => Err(format!("its `decision` is \"{}\"; expected pass, deny or ask", shown(other))),
        },
        Err(why) => Err(format!("{why}: {}", shown(&said))),
    }
}

/// The decision in what a program printed, and its reason. What looks like a decision and cannot be read is a failure, so that
/// no refusal passes for consent.
fn decision(said: &str) -> Result<Option<(String, String)>, &'static str> {
    // Programs may print other lines before it.
    let last = said.lines().next_back().unwrap_or_default().trim();
    let told: Map<String, Value> = match (serde_json::from_str(said), serde_json::from_str(last)) {
        (Ok(told), _) | (Err(_), Ok(told)) => told,
        _ if said.starts_with('{') => return Err("it printed what begins like JSON and is none"),
        _ => return Ok(None),
    };
    let nested = told.get("hookSpecificOutput");
    let field = |name: &str| told.get(name).or_else(|| nested?.get(name));
    let text = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let because = [text("reason"), text("permissionDecisionReason"), text("stopReason")];
    let because = because.into_iter().find(|why| !why.is_empty()).unwrap_or_default();
    match field("decision").or_else(|| field("permissionDecision")) {
        Some(Value::String(word)) => Ok(Some((word.clone(), because))),
        Some(Value::Null) | None if field("continue") == Some(&Value::Bool(false)) => {
            Ok(Some(("deny".to_owned(), because)))
        }
        Some(Value::Null) | None => Ok(None),
        Some(_) => Err("its `decision` is not a text; expected pass, deny or ask"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_understood_and_never_taken_for_consent() {
        let word = |said: &str| decision(said).map(|found| found.map(|(word, _)| word));
        let is = |word: &str| Ok(Some(word.to_owned()));
        assert_eq!(word(""), Ok(None));
        assert_eq!(word("all fine\n{braces}"), Ok(None));
        assert_eq!(word(r#"{"suppressOutput": true}"#), Ok(None));
        assert_eq!(word(r#"{"decision": null}"#), Ok(None));
        assert_eq!(word(r#"{"decision": "deny", "reason": "no"}"#), is("deny"));
        assert_eq!(word("checking…\n{\"decision\": \"deny\"}\n"), is("deny"), "lines before it");
        assert_eq!(word("{\n  \"decision\": \"deny\"\n}"), is("deny"), "over several lines");
        assert_eq!(word(r#"{"hookSpecificOutput": {"permissionDecision": "ask"}}"#), is("ask"));
        assert_eq!(word(r#"{"continue": false, "stopReason": "no"}"#), is("deny"));
        assert!(word("{'decision': 'deny'}").is_err(), "a dictionary of Python's");
        assert!(word(r#"{"decision": "den"#).is_err(), "cut off");
        assert!(word(r#"{"decision": false}"#).is_err());
    }

    #[test]
    fn a_call_is_named_by_its_tool_or_by_the_one_that_passes_it_on() {
        let tools = ["mcp_a_echo".to_owned()];
        assert!(names_one(&tools, "mcp_a_echo", "call_mcp_tool") && names_one(&tools, "mcp_a_echo", "mcp_a_echo"));
        assert!(names_one(&["call_mcp_tool".to_owned()], "mcp_a_echo", "call_mcp_tool") && names_one(&[], "x", "x"));
        assert!(!names_one(&tools, "mcp_a_other", "call_mcp_tool"));
    }
}
