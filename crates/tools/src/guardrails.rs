//! Guardrails: checks of what goes into a run, of each call before it is made, and of what agents answer.
//!
//! A check is a rule that a model judges, a function or a program (a hook) of the user's, or built in: secrets, length, words, a schema, citations.
//! Nothing that a guardrail stands before begins until it has answered.

mod secrets;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use updraft_run::{Failure, FailureKind, HOOKS_PASSED, Inquiry, Reply, ToolCall};

use crate::hooks::{Hook, HookAnswer, names_one};
use crate::schema::Schema;
use crate::tool::{CallContext, Consultation, Tool};

pub(crate) use secrets::secrets_in;

/// The most characters of a text that a model is shown: what is longer is checked by its beginning and end.
const SHOWN: usize = 24_000;
/// The most tokens of a verdict.
const VERDICT: u64 = 400;

/// Where a guardrail stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardPoint {
    /// Before the first question to a model: the goal and its files.
    Input,
    /// Before each call.
    Call,
    /// After each answer of a step, before anything uses it.
    Output,
}

/// What happens if a check finds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardAction {
    /// The step fails, and with it what depends on it.
    Stop,
    /// The agent is told why, and tries again.
    Correct,
    /// A person decides.
    Ask,
}

/// What a guardrail checks.
#[derive(Clone)]
pub enum GuardCheck {
    /// A model judges whether this rule is kept.
    Rule(String),
    /// There are no keys, tokens or passwords.
    Secrets,
    /// There are at most this many characters.
    Length(usize),
    /// None of these words occurs, whatever their case.
    Words(Vec<String>),
    /// It is JSON that fits a schema.
    Schema(Arc<Schema>),
    /// What it cites is in the sources that were read. The run has checked that already.
    Citations,
    /// A program of the user's has nothing against a call.
    Hook(Arc<Hook>),
    /// A function of the user's finds nothing.
    Function(Arc<dyn Tool>),
    /// Its file cannot be used for this reason, so nothing passes.
    Unusable(String),
}

/// One guardrail.
#[derive(Clone)]
pub struct Guardrail {
    /// The name of its file.
    pub name: String,
    /// Where it stands.
    pub points: Vec<GuardPoint>,
    /// What happens if it finds something.
    pub action: GuardAction,
    /// What it checks.
    pub check: GuardCheck,
    /// Only calls of these tools; all if empty.
    pub tools: Vec<String>,
}

/// What is checked.
#[derive(Clone, Copy)]
pub(crate) struct GuardSubject<'a> {
    /// The goal, the call or the answer as text.
    pub(crate) text: &'a str,
    /// The call that is really made.
    pub(crate) call: Option<&'a ToolCall>,
    /// The name that the model used for it, which may be that of a tool that passes calls on.
    pub(crate) called: &'a str,
    /// The citations of an answer that do not hold, each with what is wrong.
    pub(crate) false_citations: &'a [String],
}

/// What a guardrail found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuardFinding {
    pub(crate) guardrail: String,
    /// Whether it is a program that is called before calls.
    pub(crate) is_hook: bool,
    pub(crate) action: GuardAction,
    pub(crate) why: String,
}

/// All guardrails of a run. Cheap to clone.
#[derive(Clone, Default)]
pub struct Guardrails(Arc<Vec<Guardrail>>);

impl Guardrails {
    /// These guardrails.
    pub fn new(all: Vec<Guardrail>) -> Self {
        Self(Arc::new(all))
    }

    /// Whether one stands at this point.
    pub fn stand_at(&self, point: GuardPoint) -> bool {
        self.0.iter().any(|one| one.points.contains(&point))
    }

    /// The names of those at a point.
    pub(crate) fn names_at(&self, point: GuardPoint) -> Vec<&str> {
        self.0.iter().filter(|one| one.points.contains(&point)).map(|one| one.name.as_str()).collect()
    }

    /// The first thing that a guardrail finds in a goal or an answer.
    pub(crate) async fn judge(
        &self,
        point: GuardPoint,
        subject: &GuardSubject<'_>,
        cx: &CallContext,
    ) -> Option<GuardFinding> {
        self.first(point, subject, cx, false).await
    }

    /// The failure of a call that a guardrail does not let pass. `called` is the name that the model used.
    pub(crate) async fn before_call(&self, call: &ToolCall, called: &str, cx: &CallContext) -> Option<Failure> {
        if !self.stand_at(GuardPoint::Call) {
            return None;
        }
        // What an earlier attempt at this call was told by hooks is in the journal.
        let passed = format!("{HOOKS_PASSED}{}", call.id);
        let is_known = |handle: &String| *handle == passed || !handle.starts_with(HOOKS_PASSED);
        let known = cx.around.handle.as_ref().is_some_and(is_known);
        let text = format!("{} {}", call.name, call.args);
        let subject = GuardSubject { text: &text, call: Some(call), called, false_citations: &[] };
        let Some(found) = self.first(GuardPoint::Call, &subject, cx, known).await else {
            let is_asked = |one: &Guardrail| matches!(one.check, GuardCheck::Hook(_)) && one.concerns(&subject);
            let has_asked = self.0.iter().any(is_asked);
            if let Some(caller) = cx.around.caller.as_ref().filter(|_| has_asked && !known) {
                caller.note(passed).await;
            }
            return None;
        };
        let kind = if found.action == GuardAction::Stop { FailureKind::Guardrail } else { FailureKind::Security };
        Some(Failure::new(kind, format!("{} does not allow this call: {}", found.who(), found.why)))
    }

    /// The first thing that is found; hooks are not called if what they said is known.
    async fn first(
        &self,
        point: GuardPoint,
        subject: &GuardSubject<'_>,
        cx: &CallContext,
        hooks_known: bool,
    ) -> Option<GuardFinding> {
        let concerns = |one: &&Guardrail| {
            let is_known = hooks_known && matches!(one.check, GuardCheck::Hook(_));
            one.points.contains(&point) && one.concerns(subject) && !is_known
        };
        for one in self.0.iter().filter(concerns) {
            let (action, why) = match one.finding(point, subject, cx).await {
                Ok(None) => continue,
                Ok(Some((action, why))) => (action.unwrap_or(one.action), why),
                // A guardrail that cannot answer lets nothing pass.
                Err(why) => (one.action, format!("it could not be checked: {why}")),
            };
            let is_hook = matches!(one.check, GuardCheck::Hook(_));
            let found = GuardFinding { guardrail: one.name.clone(), is_hook, action, why };
            // About goals and answers the run asks, and waits without a process.
            if action == GuardAction::Ask && point == GuardPoint::Call && found.is_let_pass(cx).await {
                continue;
            }
            return Some(found);
        }
        None
    }
}

/// What a check found: another action than the guardrail's usual one, and why.
type Finding = Option<(Option<GuardAction>, String)>;

impl Guardrail {
    /// Whether it is about this call, by the tool that is called or the one that passes it on; or about no call at all.
    fn concerns(&self, subject: &GuardSubject<'_>) -> bool {
        let names = |call: &ToolCall| names_one(&self.tools, &call.name, subject.called);
        subject.call.is_none_or(names)
    }

    async fn finding(
        &self,
        point: GuardPoint,
        subject: &GuardSubject<'_>,
        cx: &CallContext,
    ) -> Result<Finding, String> {
        let GuardSubject { text, call, false_citations, .. } = *subject;
        let plain = |why: String| Ok(Some((None, why)));
        match &self.check {
            GuardCheck::Rule(rule) => by_model(&self.name, rule, text, cx).await,
            GuardCheck::Secrets => match secrets_in(text).as_slice() {
                [] => Ok(None),
                found => plain(format!("it contains a secret: {}", found.join(", "))),
            },
            GuardCheck::Length(most) => match text.chars().count() {
                own if own > *most => plain(format!("it has {own} characters; at most {most} are allowed")),
                _ => Ok(None),
            },
            GuardCheck::Words(words) => {
                let lower = text.to_lowercase();
                let found = words.iter().find(|word| lower.contains(&word.to_lowercase()));
                found.map_or(Ok(None), |word| plain(format!("it contains \"{word}\"")))
            }
            GuardCheck::Schema(schema) => match serde_json::from_str::<Value>(text.trim()) {
                Ok(value) => schema.judge(&value).err().map_or(Ok(None), |mismatch| plain(mismatch.to_string())),
                Err(error) => plain(format!("it is not JSON: {error}")),
            },
            GuardCheck::Citations => match false_citations {
                [] => Ok(None),
                faults => plain(format!("it cites what was not read: {}", faults.join("; "))),
            },
            GuardCheck::Unusable(why) => Err(why.clone()),
            GuardCheck::Hook(hook) => match call {
                Some(call) => Box::pin(hook.judge(call, cx)).await.map(|answer| match answer {
                    HookAnswer::Pass => None,
                    HookAnswer::Deny(why) => Some((None, why)),
                    HookAnswer::Ask(why) => Some((Some(GuardAction::Ask), why)),
                }),
                None => Ok(None),
            },
            GuardCheck::Function(tool) => by_function(tool.as_ref(), point, text, call, cx).await,
        }
    }
}

impl GuardFinding {
    /// Who found it, in words.
    fn who(&self) -> String {
        format!("the {} `{}`", if self.is_hook { "hook" } else { "guardrail" }, self.guardrail)
    }

    /// Asks a person whether a call may be made.
    async fn is_let_pass(&self, cx: &CallContext) -> bool {
        let Some(caller) = &cx.around.caller else { return false };
        let inquiry = Inquiry {
            from: self.who(),
            text: format!("{}. Make this call all the same?", self.why),
            key: Some(format!("{}:{}", self.guardrail, self.why)),
            ..Inquiry::default()
        };
        matches!(caller.inquire(inquiry).await, Reply::Said(_))
    }
}

/// Asks a model whether a rule is kept.
async fn by_model(name: &str, rule: &str, text: &str, cx: &CallContext) -> Result<Finding, String> {
    let Some(caller) = &cx.around.caller else { return Err("no model can be asked here".to_owned()) };
    let shown = crate::truncate::head_and_tail(text, SHOWN).unwrap_or_else(|| text.to_owned());
    let consultation = Consultation {
        from: format!("the guardrail `{name}`"),
        model: None,
        system: include_str!("guardrails/judge.md").replace("{{rule}}", rule.trim()),
        messages: vec![("user".to_owned(), format!("<<<\n{shown}\n>>>"))],
        max_tokens: VERDICT,
    };
    let said = match caller.consult(consultation).await {
        Reply::Output(output) if !output.is_error => output.text.clone(),
        Reply::Failed(why) => return Err(why.message),
        _ => return Err("the model that was asked gave no answer".to_owned()),
    };
    let start = said.find('{').unwrap_or_default();
    let end = said.rfind('}').map_or(said.len(), |end| end + 1);
    let verdict: Map<String, Value> =
        said.get(start..end).and_then(|object| serde_json::from_str(object).ok()).ok_or_else(|| {
            format!("the model that was asked gave no verdict, but said: {}", crate::truncate::line(&said, 200))
        })?;
    match verdict.get("ok").and_then(Value::as_bool) {
        Some(true) => Ok(None),
        Some(false) => {
            let why = verdict.get("why").and_then(Value::as_str).unwrap_or("it breaks the rule").to_owned();
            Ok(Some((None, why)))
        }
        None => Err("the model that was asked gave no verdict".to_owned()),
    }
}

/// Calls a function: no result, `true` or an empty text lets it pass; a text says why not; an object may name the action.
async fn by_function(
    tool: &dyn Tool,
    point: GuardPoint,
    text: &str,
    call: Option<&ToolCall>,
    cx: &CallContext,
) -> Result<Finding, String> {
    let known = [
        ("text", json!(text)),
        ("when", json!(point_name(point))),
        ("tool", json!(call.map(|call| &call.name))),
        ("arguments", json!(call.map(|call| &call.args))),
    ];
    let taken = tool.spec().parameters["properties"].as_object().cloned().unwrap_or_default();
    let args: Map<String, Value> = known
        .into_iter()
        .filter(|(name, _)| taken.contains_key(*name))
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let output = match tool.call(Value::Object(args), cx).await {
        Reply::Output(output) if output.is_error => return Err(output.text.trim().to_owned()),
        Reply::Output(output) => output,
        Reply::Failed(why) => return Err(why.message),
        Reply::TimedOut { limit } => return Err(format!("it took longer than {} s", limit.0.div_ceil(1000))),
        _ => return Err("it did not end".to_owned()),
    };
    Ok(match output.value.clone().unwrap_or_default() {
        Value::Null | Value::Bool(true) => None,
        Value::Bool(false) => Some((None, "the check did not accept it".to_owned())),
        Value::String(why) if why.trim().is_empty() => None,
        Value::String(why) => Some((None, why)),
        Value::Object(own) if own.get("ok") == Some(&Value::Bool(true)) => None,
        Value::Object(own) => {
            let why = own.get("why").and_then(Value::as_str).unwrap_or("the check did not accept it").to_owned();
            Some((own.get("action").and_then(Value::as_str).and_then(GuardAction::parse), why))
        }
        other => return Err(format!("it returned {other}; expected nothing, a text, or an object with `why`")),
    })
}

impl GuardAction {
    /// Parses its name in a file.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "stop" => Some(Self::Stop),
            "correct" => Some(Self::Correct),
            "ask" => Some(Self::Ask),
            _ => None,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Correct => "correct",
            Self::Ask => "ask",
        }
    }
}

impl GuardPoint {
    /// Parses its name in a file.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Input, Self::Call, Self::Output].into_iter().find(|point| point_name(*point) == word)
    }
}

fn point_name(point: GuardPoint) -> &'static str {
    match point {
        GuardPoint::Input => "input",
        GuardPoint::Call => "call",
        GuardPoint::Output => "output",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use updraft_sandbox::Policy;
    use updraft_workspace::{Place, Workspace};

    use super::*;
    use crate::Confinement;
    use crate::hooks::HookEvent;

    /// A hook that cannot be started, so that it lets nothing pass if it is called.
    fn broken() -> Guardrails {
        let hook = Hook {
            name: "broken".to_owned(),
            event: HookEvent::BeforeCall,
            command: Vec::new(),
            tools: Vec::new(),
            time: Duration::from_secs(1),
            lets_pass_on_failure: false,
            confinement: Confinement::new("none", Policy::strict("none")),
        };
        Guardrails::new(vec![Guardrail {
            name: "broken".to_owned(),
            points: vec![GuardPoint::Call],
            action: GuardAction::Correct,
            check: GuardCheck::Hook(Arc::new(hook)),
            tools: Vec::new(),
        }])
    }

    #[tokio::test]
    async fn a_hook_whose_answer_is_in_the_journal_is_not_called_again() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { workspace: Workspace::open(folder.path()).unwrap() };
        let call = ToolCall { id: "c1".into(), name: "read_file".into(), args: json!({}), fault: None };
        let is_asked = async |handle: Option<&str>| {
            let mut cx = CallContext::new(place.clone(), "key");
            cx.around.handle = handle.map(str::to_owned);
            broken().before_call(&call, &call.name, &cx).await.is_some()
        };
        assert!(is_asked(None).await, "a hook that fails lets nothing pass");
        assert!(!is_asked(Some("hooks passed: c1")).await);
        assert!(is_asked(Some("hooks passed: check")).await, "the handle is of another call");
        assert!(!is_asked(Some("task-7")).await, "a tool that has begun was let pass");
    }
}
