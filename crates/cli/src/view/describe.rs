//! Describes events, graphs and figures in words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use updraft_engine::{Statistics, StepReport, ToolCallCount};
use updraft_run::{
    Effect, Event, Graph, Judgement, Ledger, Note, Origins, PlanReason, ProofFinding, ProofState, Reply, Requirement,
    Rules, Run, ToolCallOutcome, outcome_words,
};

use crate::out::{Paint, short};
use crate::time_format;

/// `1 turn`, `2 turns`.
pub(crate) fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The arguments of a call, as short as possible.
pub(super) fn arguments(args: &Value) -> String {
    match args {
        Value::Object(map) => {
            let pairs = map.iter().map(|(name, value)| match value {
                Value::String(text) => format!("{name}: {}", short(text, 60)),
                other => format!("{name}: {}", short(&other.to_string(), 60)),
            });
            pairs.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// `$0.12`; `about $0.12` if a provider reported no figures; `cost unknown` if a price is missing.
pub(crate) fn cost(ledger: &Ledger) -> String {
    let cost = ledger.at_most();
    match (ledger.unpriced, ledger.usage.estimated && cost.0 > 0) {
        (0, true) => format!("about {cost}"),
        (0, false) => cost.to_string(),
        _ => "cost unknown".into(),
    }
}

/// `done in 0.4 s · 5 turns · 5 tool calls · $0.00`.
pub(crate) fn figures(run: &Run) -> String {
    let all = Statistics::of(run);
    let mut words = vec![count(all.turns, "turn"), count(all.tool_calls, "tool call")];
    if all.input_tokens + all.output_tokens > 0 {
        let about = if all.estimated { "about " } else { "" };
        words.push(format!("{about}{} tokens", all.input_tokens + all.output_tokens));
    }
    words.push(match all.cost {
        Some(_) if all.doubtful > 0.0 => {
            let doubtful = run.ledger().outstanding().cost.unwrap_or_default();
            let calls = count(all.doubtful_calls, "call");
            format!("{}, of which {doubtful} may have been billed for {calls} without an answer", cost(run.ledger()))
        }
        _ => cost(run.ledger()),
    });
    format!("{} · {}", time_format::length(run.worked()), words.join(" · "))
}

/// The sign for a step's status.
pub(crate) fn symbol(status: &str, paint: Paint) -> String {
    match status {
        "completed" => paint.green("✓"),
        "failed" => paint.red("✗"),
        "running" => paint.cyan("●"),
        "waiting" => paint.yellow("?"),
        "ready" => "○".into(),
        "skipped" | "cancelled" => paint.dim("-"),
        _ => paint.dim("·"),
    }
}

/// The graph as a tree: each step under the last of the steps it waits for.
pub(crate) fn graph_lines(steps: &[StepReport], run: &Run, paint: Paint) -> Vec<String> {
    let depths = depths(steps, run);
    let width = steps.iter().zip(&depths).map(|(step, depth)| step.step.spec.id.as_str().len() + 2 * depth).max();
    let width = width.unwrap_or_default().min(48);
    let agents = steps.iter().map(|step| step.step.spec.agent.len()).max().unwrap_or_default().min(20);
    let line = |step: &StepReport, depth: usize| {
        let spec = &step.step.spec;
        let name = format!("{}{}", "  ".repeat(depth), spec.id);
        let mut text = format!("{} {name:width$}  {:agents$}", symbol(step.step.status(), paint), spec.agent);
        let _ = write!(text, "  {:9}", step.step.status());
        if let Some(began) = step.began {
            let until = step.ended.map_or_else(|| "…".into(), |ended| time_format::length(ended.since(began)));
            let ledger = &step.step.ledger;
            let _ = write!(
                text,
                "  {until:>11}  {:>8}  {:>8}",
                count(ledger.requests(), "turn"),
                count(ledger.calls, "call")
            );
            if ledger.usage.tokens() > 0 {
                let about = if ledger.usage.estimated { "about " } else { "" };
                let _ = write!(text, "  {about}{} tokens", ledger.usage.tokens());
            }
            if ledger.usage.cached > 0 {
                let (cached, hits, answers) = (ledger.usage.cached, ledger.cache_hits, ledger.answers);
                let _ = write!(text, " ({cached} cached, {hits} of {answers} answers)");
            }
            if ledger.unpriced > 0 || ledger.at_most().0 > 0 {
                let _ = write!(text, "  {}", cost(ledger));
            }
        }
        let model = run.model_for(spec);
        if model != run.settings().model {
            let _ = write!(text, "  {}", short(model, 60));
        }
        if run.is_kept(&spec.id) {
            text.push_str("  kept");
        }
        let indent = "  ".repeat(depth);
        if !step.tools.is_empty() {
            let tools = short(&ToolCallCount::in_words(&step.tools), 160);
            let _ = write!(text, "\n    {indent}{}", paint.dim(&format!("tools: {tools}")));
        }
        if let Some(error) = step.error() {
            let _ = write!(text, "\n    {indent}{}", paint.red(&short(&error, 160)));
        }
        text
    };
    steps.iter().zip(depths.iter()).map(|(step, depth)| line(step, (*depth).min(12)).trim_end().to_owned()).collect()
}

/// The depth of each step: one more than the deepest it waits for.
fn depths(steps: &[StepReport], run: &Run) -> Vec<usize> {
    let place: std::collections::BTreeMap<_, _> =
        steps.iter().enumerate().map(|(at, step)| (&step.step.spec.id, at)).collect();
    let next: Vec<Vec<usize>> = steps
        .iter()
        .map(|step| run.dependants(&step.step).filter_map(|later| place.get(&later.spec.id).copied()).collect())
        .collect();
    let mut waits = vec![0; steps.len()];
    next.iter().flatten().for_each(|later| waits[*later] += 1);
    let mut depth = vec![0; steps.len()];
    let mut ready: Vec<usize> = (0..steps.len()).filter(|at| waits[*at] == 0).collect();
    while let Some(at) = ready.pop() {
        for later in &next[at] {
            depth[*later] = depth[*later].max(depth[at] + 1);
            waits[*later] -= 1;
            if waits[*later] == 0 {
                ready.push(*later);
            }
        }
    }
    depth
}

/// An event in one line, without its name.
pub(crate) fn event_words(event: &Event) -> String {
    match event {
        Event::Started(start) => {
            format!("{} · model {} · {}", short(&start.goal.text, 100), start.settings.model, start.settings.workspace)
        }
        Event::Forked { from, at, .. } => format!("from {from}, first {at} events"),
        Event::Told { message } => short(message, 160),
        Event::Profiled { files } => short(&files.to_string(), 160),
        Event::Planned { graph, because, instead } => plan_words(graph, because, instead.as_deref()),
        Event::Required { requirements } => requirement_words(requirements),
        Event::Wanted { id, effect } => match effect {
            Effect::Prepare => format!("{id}  a look at its own calls"),
            Effect::Ask => format!("{id}  a model's answer"),
            Effect::Call => format!("{id}  a tool call"),
            Effect::Question { text, .. } => format!("{id}  a person's answer: {}", short(text, 120)),
            Effect::Approval { why, .. } => format!("{id}  a person's approval: {}", short(why, 120)),
            Effect::Timer { until } => format!("{id}  the moment {}", time_format::date_time(*until)),
        },
        Event::Reserved { id, ceiling } | Event::Held { id, ceiling } => {
            format!("{id}  up to {} tokens", ceiling.tokens)
        }
        Event::Begun { id, attempt, epoch, .. } => format!("{id}  attempt {attempt}, process {epoch}"),
        Event::Noted { id, handle } => format!("{id}  {handle}"),
        Event::Replied { id, reply, .. } => format!("{id}  {}", reply_words(reply)),
        Event::Awaited { id } => format!("{id}  asked again, and still waits"),
        Event::Interrupted { id, attempt } => format!("{id}  attempt {attempt} was interrupted"),
        Event::Wished { id, prepared, .. } if prepared.inquiry.is_some() => {
            let from = prepared.inquiry.as_ref().map(|inquiry| inquiry.from.as_str()).unwrap_or_default();
            format!("{id}  {} has a question", short(from, 80))
        }
        Event::Wished { id, call, prepared } if prepared.on_behalf_of.is_some() => {
            let from = prepared.on_behalf_of.as_deref().unwrap_or_default();
            let question = call.args["question"].as_str().unwrap_or_default();
            format!("{id}  {} asks a model: {}", short(from, 80), short(question, 120))
        }
        Event::Wished { id, call, .. } => {
            format!("{id}  code asks for {}({})", call.name, short(&arguments(&call.args), 120))
        }
        Event::Rejected { id, why } => format!("{id}  {}", short(&why.message, 160)),
        Event::Advised { step, note } => format!("{step}  {}", note_words(note)),
        Event::Wrote { step, name, value, .. } => format!("{step}  {name} = {}", short(&value.to_string(), 120)),
        Event::Cited { step, citations } => format!("{step}  {}", citation_words(citations)),
        Event::Judged { step, verdict } => format!("{step}  {}", verdict_words(verdict)),
        Event::Proved { findings, .. } => finding_words(findings),
        Event::StepDone { step, kept_from: Some(run), .. } => format!("{step}  kept from {run}"),
        Event::StepDone { step, best_effort, .. } => {
            format!("{step}{}", if *best_effort { "  as far as it came" } else { "" })
        }
        Event::StepFailed { step, why } | Event::Halted { step, why, .. } => {
            format!("{step}  {}", short(&why.message, 160))
        }
        Event::StepSkipped { step, because } => format!("{step}  because of {because}"),
        Event::StepCancelled { step } => step.to_string(),
        Event::Shortened { step, outputs, .. } => format!("{step}  {}", count(outputs.len() as u64, "output")),
        Event::WindowLearnt { model, tokens, .. } => format!("{model}  {tokens} tokens"),
        Event::Compacted { step, upto, .. } => format!("{step}  {}", count(u64::from(*upto), "message")),
        Event::Paused => String::new(),
        Event::Resumed { model: Some(chosen), .. } => format!("with {}", chosen.model),
        Event::Resumed { budget, approvals, model: None } => match (budget, approvals) {
            (None, None) => String::new(),
            (budget, approvals) => serde_json::json!({ "budget": budget, "approvals": approvals }).to_string(),
        },
        Event::Marked { files } => marked(files),
        Event::Confined { level, .. } => format!("sandbox level {level}"),
        Event::Tightened { rules, deny, distrusts } => tightened(rules, deny, *distrusts),
        Event::Reloaded { roster, .. } => count(roster.agents.len() as u64, "agent"),
        Event::Imported => String::new(),
        Event::Adopted { settings } => format!("in {}, with {}", settings.workspace, settings.model),
        Event::Cancelled { by } => format!("by {by}"),
        Event::Named { models } => models.keys().cloned().collect::<Vec<_>>().join(", "),
        Event::Exhausted { which } => format!("the limit on {}", which.flag().0),
        Event::Finished { answer, failed } => match failed {
            Some(why) => format!("failed: {}", short(&why.message, 160)),
            None => short(answer, 160),
        },
    }
}

fn plan_words(graph: &Graph, because: &PlanReason, instead: Option<&str>) -> String {
    let why = match (because, instead) {
        (_, Some(why)) => format!(" instead of a plan: {}", short(why, 160)),
        (PlanReason::Failed(step), None) => format!(" because `{step}` failed"),
        (PlanReason::Revised, None) => " as a person wants it".to_owned(),
        (PlanReason::Proof, None) => " to check the requirements".to_owned(),
        (_, None) => String::new(),
    };
    let names: Vec<&str> = graph.steps.iter().take(12).map(|step| step.id.as_str()).collect();
    format!("{}{why}: {}", count(graph.steps.len() as u64, "step"), names.join(", "))
}

fn requirement_words(requirements: &[Requirement]) -> String {
    requirements.iter().map(|one| short(&one.text, 80)).collect::<Vec<_>>().join("; ")
}

fn finding_words(findings: &[ProofFinding]) -> String {
    let proved = findings.iter().filter(|found| found.state == ProofState::Proved).count();
    format!("{proved} of {}", count(findings.len() as u64, "requirement"))
}

/// Files in which other runs left text from outside.
pub(crate) fn marked(files: &BTreeMap<String, Origins>) -> String {
    let mut origins = Origins::default();
    for more in files.values() {
        origins.merge(more);
    }
    let which = if files.contains_key(".") { "the workspace".into() } else { count(files.len() as u64, "file") };
    format!("{which} with text from {}", short(&origins.in_words(), 160))
}

/// The rules that ask or deny from here on.
pub(crate) fn tightened(rules: &Rules, deny: &[String], distrusts: bool) -> String {
    let denied = rules.deny.iter().map(|rule| format!("denied: {rule}"));
    let asked = rules.ask.iter().map(|rule| format!("asked about: {rule}"));
    let tools = deny.iter().map(|name| format!("denied: {name}"));
    let trust = distrusts.then(|| "the workspace is no longer trusted".to_owned());
    short(&denied.chain(asked).chain(tools).chain(trust).collect::<Vec<_>>().join("; "), 160)
}

fn reply_words(reply: &Reply) -> String {
    match reply {
        Reply::Answer(answer) => {
            let calls: Vec<String> = answer
                .calls
                .iter()
                .map(|call| format!("{}({})", call.name, short(&arguments(&call.args), 80)))
                .collect();
            match (calls.is_empty(), answer.text.trim().is_empty()) {
                (false, _) => format!("calls {}", calls.join(", ")),
                (true, false) => format!("says {}", short(&answer.text, 140)),
                (true, true) => "says nothing".into(),
            }
        }
        Reply::Said(text) => format!("a person says {}", short(text, 140)),
        Reply::Verdict(verdict) => {
            format!("{} by {}", if verdict.allow { "allowed" } else { "refused" }, verdict.by)
        }
        Reply::Output(output) => {
            let lines = output.text.lines().count();
            let more = if lines > 1 { format!(" (and {} more lines)", lines - 1) } else { String::new() };
            format!("gives {}{more}", short(&output.text, 120).trim_end_matches('…'))
        }
        other => short(&outcome_words(&ToolCallOutcome::Replied(other.clone())), 160),
    }
}

fn note_words(note: &Note) -> String {
    match note {
        Note::LastTurn => "the next answer is the last".into(),
        Note::MoreTurns => "it has more turns".into(),
        Note::MissingOutput { names } => format!("missing: {}", names.join(", ")),
        Note::Unfinished { what } => format!("not done: {}", short(what.lines().next().unwrap_or_default(), 120)),
        Note::Unfit { what } => format!("does not fit: {}", short(what, 120)),
        Note::AllToolsFailed => "all tools failed".into(),
        Note::CutOff => "the answer was cut off at the limit on output; it is asked to continue".into(),
        Note::RepeatedCall { name, times, .. } => {
            format!("the same call of {name} with the same result, {times} times")
        }
        Note::PlanFaults { faults } => format!("faults of the plan: {}", short(&faults.join("; "), 140)),
        Note::FalseCitations { faults } => format!("citations do not hold: {}", short(&faults.join("; "), 140)),
        Note::BackgroundEnded { names } => format!("ended with the program: {}", names.join(", ")),
        Note::Told { message } => format!("the user said: {}", short(message, 120)),
        _ => String::new(),
    }
}

fn citation_words(citations: &[updraft_run::Citation]) -> String {
    let faults = citations.iter().filter_map(|one| Some(format!("[{}] {}", one.n, one.finding.fault()?)));
    let faults: Vec<String> = faults.collect();
    let all = if faults.is_empty() { "no fault found".to_owned() } else { short(&faults.join("; "), 140) };
    format!("{}: {all}", count(citations.len() as u64, "citation"))
}

fn verdict_words(verdict: &Judgement) -> String {
    match verdict {
        Judgement::Accept => "accepted".into(),
        Judgement::Retry { feedback } => format!("again: {}", short(feedback, 140)),
        Judgement::Pivot { feedback } => format!("another way: {}", short(feedback, 140)),
        Judgement::Again { instruction } => format!("runs again: {}", short(instruction, 140)),
        Judgement::GiveUp => "given up".into(),
        Judgement::Reject { by, why } => format!("rejected by the review `{by}`: {}", short(why, 140)),
        Judgement::Renewed { by } => format!("again, with the new result of `{by}`"),
        Judgement::Replan { why } => format!("a new plan: {}", short(why, 140)),
        _ => String::new(),
    }
}
