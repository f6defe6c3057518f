//! Asks a person questions and approvals at the terminal.

use std::io::IsTerminal as _;
use std::path::Path;

use updraft_run::{
    ApprovalScope, CallMatcher, Effect, EffectAddress, EffectKind, Input, Inquiry, Run, Verdict, argument_lines,
};
use updraft_workbench::Fault;

use super::fit;
use crate::folders::AppFolders;
use crate::out::{self, Paint};
use crate::settings::RememberedRules;

/// The result of asking.
pub(crate) enum AskResult {
    /// The person's answers, as inputs for the run.
    Said(Vec<Input>),
    /// The input ended without an answer.
    Nothing,
}

/// Asks everything the run waits for, one after another. Blocks until the person answers.
pub(crate) fn ask(run: &Run) -> AskResult {
    let said: Option<Vec<Input>> = PersonQuestion::all(run).iter().map(PersonQuestion::ask).collect();
    said.map_or(AskResult::Nothing, AskResult::Said)
}

/// A question or an approval that a run waits for, with all that is shown about it.
#[derive(Clone, Debug)]
pub(crate) struct PersonQuestion {
    pub(crate) at: EffectAddress,
    effect: Effect,
    /// What the step that asks is for.
    description: String,
    /// The arguments of the call that is to be approved.
    arguments: Vec<String>,
    workspace: String,
}

impl PersonQuestion {
    /// All that the run waits for.
    pub(crate) fn all(run: &Run) -> Vec<Self> {
        run.open().iter().filter_map(|(at, open)| Self::of(run, at, &open.effect)).collect()
    }

    /// An effect of the run, if a person is needed for it.
    pub(crate) fn of(run: &Run, at: &EffectAddress, effect: &Effect) -> Option<Self> {
        let arguments = match effect {
            Effect::Question { .. } => Vec::new(),
            Effect::Approval { .. } => {
                let call = run.call_at(&at.sibling(EffectKind::Call, at.n));
                call.map(|call| argument_lines(&call.args)).unwrap_or_default()
            }
            _ => return None,
        };
        let description = run.step(&at.step).map(|step| step.spec.description.clone()).unwrap_or_default();
        let workspace = run.settings().workspace.clone();
        Some(Self { at: at.clone(), effect: effect.clone(), description, arguments, workspace })
    }

    /// Whether an MCP server asks, while its call is under way.
    pub(crate) fn is_inquiry(&self) -> bool {
        matches!(self.effect, Effect::Question { inquiry: Some(_), .. })
    }

    /// The folder that the run works in.
    pub(crate) fn workspace(&self) -> &Path {
        self.workspace.as_ref()
    }

    /// What is asked.
    pub(crate) fn text(&self) -> &str {
        match &self.effect {
            Effect::Question { text, .. } => text,
            Effect::Approval { why, .. } => why,
            _ => "",
        }
    }

    /// Asks it; `None` if the person does not answer.
    pub(crate) fn ask(&self) -> Option<Input> {
        self.tell_step();
        let (at, step) = (&self.at, self.at.step.as_str());
        match &self.effect {
            Effect::Question { text, inquiry: Some(inquiry), .. } => inquire(at, text, inquiry),
            Effect::Question { text, options, .. } => {
                question(step, text, options).map(|text| Input::Answer { id: Some(at.clone()), text })
            }
            Effect::Approval { why, always, like, .. } => {
                let offered = AlwaysOffer { always, like: like.as_deref() };
                let verdict = approval(step, why, &self.arguments, &offered)?;
                Some(Input::Verdict { id: Some(at.clone()), verdict })
            }
            _ => None,
        }
    }

    /// Remembers what was allowed for the whole workspace, if the input is such an approval.
    pub(crate) fn keep_always(&self, folders: &AppFolders, input: &Input) -> Result<(), Fault> {
        match (&self.effect, input) {
            (Effect::Approval { always, .. }, Input::Verdict { verdict, .. })
                if verdict.allow && verdict.always == Some(ApprovalScope::Workspace) =>
            {
                RememberedRules::add(folders, &self.workspace, always)
            }
            _ => Ok(()),
        }
    }

    /// Prints what the step that asks is for.
    fn tell_step(&self) {
        if !self.description.trim().is_empty() {
            out::draw(&format!("\n{}", Paint::for_stderr().dim(&fit::cut(&self.description, fit::size().1))));
        }
    }
}

/// Asks the question of an MCP server: one line for each field, or one for consent.
fn inquire(id: &EffectAddress, text: &str, inquiry: &Inquiry) -> Option<Input> {
    let paint = Paint::for_stderr();
    put(&paint.cyan(&format!("{}:", id.step)), text);
    out::note("  `no` declines, an empty line dismisses it");
    let fields = inquiry.fields();
    let no = |dismissed| Some(Input::Decline { id: Some(id.clone()), by: "the terminal".into(), dismissed });
    let mut given = serde_json::Map::new();
    let mut at = 0;
    loop {
        let field = fields.get(at);
        let prompt = field.map_or_else(|| "> ".to_owned(), |field| format!("{}> ", out::harmless(&field.name)));
        let line = out::ask_line(&prompt)?;
        let said = line.trim();
        let is_yes_or_no = field.is_some_and(|field| field.wants == "yes or no");
        let read = match (said, field) {
            ("no", _) if !is_yes_or_no => return no(false),
            ("", Some(field)) if field.default.is_some() || !field.is_needed => Ok(()),
            ("", _) => return no(true),
            (said, Some(field)) => field.read(said).map(|value| drop(given.insert(field.name.clone(), value))),
            (said, None) => inquiry.read(said).map(drop),
        };
        match read {
            Err(why) => out::note(&format!("  {}", out::harmless(&why))),
            Ok(()) if at + 1 < fields.len() => at += 1,
            Ok(()) => break,
        }
    }
    let text = if fields.is_empty() { "{}".into() } else { serde_json::Value::Object(given).to_string() };
    Some(Input::Answer { id: Some(id.clone()), text })
}

fn question(step: &str, text: &str, options: &[String]) -> Option<String> {
    let paint = Paint::for_stderr();
    put(&paint.cyan(&format!("{step} asks:")), text);
    for (n, option) in options.iter().enumerate() {
        indented(&paint.bold(&format!("{}.", n + 1)), option);
    }
    loop {
        let line = out::ask_line("> ")?;
        let chosen = line.trim().parse::<usize>().ok().and_then(|n| options.get(n.checked_sub(1)?));
        match (chosen, line.trim()) {
            (Some(option), _) => return Some(option.clone()),
            (None, "") => {}
            (None, said) => return Some(said.to_owned()),
        }
    }
}

/// What "always" would allow: rules, or such calls in this run.
struct AlwaysOffer<'a> {
    always: &'a [String],
    like: Option<&'a CallMatcher>,
}

fn approval(step: &str, why: &str, arguments: &[String], offered: &AlwaysOffer<'_>) -> Option<Verdict> {
    forget_typed_ahead();
    let paint = Paint::for_stderr();
    put(&paint.yellow(&format!("{step} needs your approval:")), why);
    for argument in arguments {
        wrapped(argument);
    }
    let AlwaysOffer { always, like } = offered;
    let choices = if !always.is_empty() {
        let rules = out::harmless(&always.join(", "));
        format!("[y/n, a: always {rules} in this run, w: in this workspace, or n and a reason]")
    } else if let Some(like) = like {
        format!("[y/n, a: always {} in this run, or n and a reason]", out::harmless(&like.to_string()))
    } else {
        "[y/n, or n and a reason]".to_owned()
    };
    loop {
        let line = out::ask_line(&format!("allow it? {choices} "))?;
        let line = line.trim();
        let (word, because) = line.split_once(' ').unwrap_or((line, ""));
        let (allow, always) = match word.to_lowercase().as_str() {
            "y" | "yes" => (true, None),
            "a" if !always.is_empty() || like.is_some() => (true, Some(ApprovalScope::Run)),
            "w" if !always.is_empty() => (true, Some(ApprovalScope::Workspace)),
            "n" | "no" => (false, None),
            "" => continue,
            _ => {
                say_what_decides();
                continue;
            }
        };
        // The rest of a sentence that was meant for the agents allows nothing.
        if allow && !because.trim().is_empty() {
            say_what_decides();
            continue;
        }
        return Some(Verdict {
            allow,
            by: "the terminal".into(),
            because: because.trim().to_owned(),
            always,
            ..Verdict::default()
        });
    }
}

/// Said when something else was typed than a decision.
fn say_what_decides() {
    let tells = if out::has_console() { "; /tell TEXT tells the agents something" } else { "" };
    wrapped(&format!("nothing is decided by that: answer with one of the letters, or with n and a reason{tells}"));
}

/// What the user says about a plan.
pub(crate) enum PlanAnswer {
    Go,
    Edit,
    /// Another plan is wanted, for this reason.
    Refuse(String),
    Stop,
}

/// Asks the user about a plan that was just shown.
pub(crate) fn ask_about_plan() -> PlanAnswer {
    forget_typed_ahead();
    out::note("");
    loop {
        let prompt = "carry it out? [g: go, e: edit it in your editor, s: stop, or n and what to change] ";
        let Some(line) = out::ask_line(prompt) else { return PlanAnswer::Stop };
        let line = line.trim();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word.to_lowercase().as_str() {
            "g" | "go" | "y" | "yes" => return PlanAnswer::Go,
            "e" | "edit" => return PlanAnswer::Edit,
            "s" | "stop" | "q" => return PlanAnswer::Stop,
            "n" | "no" => return PlanAnswer::Refuse(rest.trim().to_owned()),
            _ => {}
        }
    }
}

/// A yes-or-no question. No answer means no.
pub(crate) fn confirm(text: &str) -> bool {
    out::ask_line(&format!("{text} [y/N] "))
        .is_some_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Prints a question after the name of who asks; on lines of its own if it does not fit.
fn put(who: &str, text: &str) {
    let columns = fit::size().1;
    let room = columns.saturating_sub(fit::width(&out::without_colours(who)) + 1);
    match fit::wrap(text, columns.saturating_sub(2)).as_slice() {
        [only] if fit::width(only) <= room => out::note(&format!("\n{who} {only}")),
        _ => {
            out::note(&format!("\n{who}"));
            wrapped(text);
        }
    }
}

/// Prints a text below the name, wrapped at words.
fn wrapped(text: &str) {
    for line in fit::wrap(text, fit::size().1.saturating_sub(2)) {
        out::note(&format!("  {line}"));
    }
}

/// Prints one of several answers, wrapped and indented after its mark.
fn indented(mark: &str, text: &str) {
    let lines = fit::wrap(text, fit::size().1.saturating_sub(5));
    out::note(&format!("  {mark} {}", lines.first().map_or("", String::as_str)));
    lines.iter().skip(1).for_each(|line| out::note(&format!("     {line}")));
}

/// Discards input typed before the question was shown: a second `y` must not allow something unseen.
fn forget_typed_ahead() {
    // A console begins every question with an empty line of its own.
    if std::io::stdin().is_terminal() && !out::has_console() {
        // If the terminal does not support it, the answer is read as usual.
        let _unsupported = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}
