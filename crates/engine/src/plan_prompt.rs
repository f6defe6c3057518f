//! Builds what a planner is told: the goal with everything the plan may rely on, or a short question for a small model.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{AgentCard, AgentRole, Graph, Judgement, Note, RepeatedRun, Run, Step, StepState};

use crate::prompt_texts::PromptKit;

/// How many characters of a goal, and of each fault, a small model is shown.
const SHORT_TEXT: usize = 1_200;
/// How many faults of its plan a small model is told.
const FEW_FAULTS: usize = 5;
/// How many names of files or variables a small model is shown.
const FEW_NAMES: usize = 10;

/// The schema of a planner's answer.
pub(crate) fn schema(run: &Run) -> Arc<Value> {
    let names = |is_one: fn(AgentRole) -> bool| -> Vec<&str> {
        let cards = run.roster().agents.iter().filter(|card| is_one(card.role()));
        cards.map(|card| card.name.as_str()).collect()
    };
    if run.settings().has_small_window() {
        return Arc::new(Graph::sequence_schema(&names(works_in_sequence)));
    }
    let models: Vec<&str> = models_to_choose(run).map(|(name, _)| name).collect();
    Arc::new(Graph::schema(&names(carries_out_steps), &models))
}

/// Whether agents of a role carry out steps of plans.
pub(crate) fn carries_out_steps(role: AgentRole) -> bool {
    match role {
        AgentRole::Work | AgentRole::Judge | AgentRole::Thinker | AgentRole::Generalist => true,
        AgentRole::Planner | AgentRole::Router | AgentRole::Distiller | AgentRole::Chooser => false,
    }
}

/// Whether a small model may plan with agents of a role. A verdict at the end of a sequence would be taken for its result.
pub(crate) fn works_in_sequence(role: AgentRole) -> bool {
    carries_out_steps(role) && role != AgentRole::Judge
}

/// The models that a planner may choose from; none if all names mean the same.
fn models_to_choose(run: &Run) -> impl Iterator<Item = (&str, &str)> {
    let models = &run.settings().models;
    let is_choice = models.values().any(|model| Some(model) != models.values().next());
    models.iter().filter(move |_| is_choice).map(|(name, model)| (name.as_str(), model.as_str()))
}

/// The models as a planner is told about them.
pub(crate) fn models_in_words(run: &Run) -> String {
    let lines: Vec<String> = models_to_choose(run).map(|(name, model)| format!("- `{name}`: {model}")).collect();
    if lines.is_empty() { "There is no choice: leave `model` out.".to_owned() } else { lines.join("\n") }
}

/// How agents did in earlier runs.
pub(crate) fn record_in_words(run: &Run) -> String {
    let known = |card: &AgentCard| {
        run.earlier_runs().agent_stats.get(&card.name).map(|line| format!("- `{}`: {line}", card.name))
    };
    let lines: Vec<String> = run.roster().agents.iter().filter_map(known).collect();
    if lines.is_empty() { "Nothing is known yet.".to_owned() } else { lines.join("\n") }
}

/// What is added for a planner that changes the plan of an earlier run.
pub(crate) fn repeated_in_words(kit: &PromptKit, repeated: &RepeatedRun) -> String {
    let plan = serde_json::to_string_pretty(&*repeated.plan).unwrap_or_default();
    kit.say("plan-changed", &[("goal", &repeated.goal), ("plan", &plan)])
}

/// The worked examples for a small model, as earlier questions and answers: a model that finds them in its instructions
/// repeats them as its own plan. Examples with agents that this run does not have are left out.
pub(crate) fn examples(run: &Run, kit: &PromptKit) -> Vec<(String, String)> {
    let text = kit.say("plan-small-examples", &[]);
    let is_known = |plan: &&str| {
        let plan: Value = serde_json::from_str(plan).unwrap_or_default();
        let mut steps = plan["steps"].as_array().into_iter().flatten();
        steps.all(|step| step["agent"].as_str().is_some_and(|name| run.roster().agent(name).is_some()))
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let pairs = lines.chunks_exact(2).filter_map(|pair| Some((pair[0].strip_prefix("Goal:")?.trim(), pair[1])));
    pairs
        .filter(|(_, plan)| is_known(plan))
        .map(|(goal, plan)| (question(kit, goal, &[], &[]), plan.to_owned()))
        .collect()
}

fn question(kit: &PromptKit, goal: &str, files: &[&str], variables: &[&str]) -> String {
    let listed = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    kit.say("plan-small", &[("goal", goal), ("files", &listed(files)), ("variables", &listed(variables))])
}

/// The whole question for a small model.
pub(crate) fn short_question(run: &Run, step: &Step, kit: &PromptKit, memories: &str) -> String {
    let files: Vec<&str> = run.goal().files.iter().map(String::as_str).take(FEW_NAMES).collect();
    let known: Vec<&str> = run.variables().keys().map(String::as_str).take(FEW_NAMES).collect();
    let mut text = question(kit, &short(&run.goal().text), &files, &known);
    let said = last_said(run);
    if !said.is_empty() || !memories.is_empty() {
        let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
        let (said, memories) = (or_none(said), or_none(short(memories)));
        let words = kit.say("plan-small-earlier", &[("said", &said), ("memories", &memories)]);
        // The templates of an older run have no text for this.
        if !words.is_empty() {
            text.push_str("\n\n");
            text.push_str(&words);
        }
    }
    let faults = step.conversation.iter().rev().find_map(|entry| match entry {
        updraft_run::ConversationEntry::Note(Note::PlanFaults { faults }) => Some(faults),
        _ => None,
    });
    if let Some(faults) = faults {
        let lines: Vec<String> = faults.iter().take(FEW_FAULTS).map(|fault| format!("- {}", short(fault))).collect();
        text.push_str("\n\n");
        text.push_str(&kit.say("plan-small-faults", &[("faults", &lines.join("\n"))]));
    }
    let why = step.carried.as_ref().and_then(|carried| match &carried.judgement {
        Judgement::Replan { why } => Some(why),
        Judgement::Pivot { feedback } | Judgement::Retry { feedback } => Some(feedback),
        _ => None,
    });
    if let Some(why) = why {
        text.push_str("\n\n");
        text.push_str(&kit.say("plan-small-again", &[("why", &short(why))]));
    }
    text
}

/// The last question of the conversation and its answer, cut short.
fn last_said(run: &Run) -> String {
    let history = &run.goal().earlier.history;
    let from = history.iter().rposition(updraft_run::EarlierMessage::is_users).unwrap_or(history.len());
    let line = |message: &updraft_run::EarlierMessage| {
        let who = if message.is_users() { "User" } else { "Answer" };
        format!("{who}: {}", short(&message.content))
    };
    history[from..].iter().take(2).map(line).collect::<Vec<_>>().join("\n")
}

/// The beginning of a text.
fn short(text: &str) -> String {
    let end = text.floor_char_boundary(SHORT_TEXT);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

/// How many bytes of an earlier result a planner is shown.
const MOST_OF_A_RESULT: usize = 2_000;

/// A step of the plan in one line.
pub(crate) fn planned_in_words(step: &Step) -> String {
    let spec = &step.spec;
    format!("- `{}` ({}): {}; writes {}", spec.id, spec.agent, spec.description, spec.writes.join(", "))
}

/// A step with its task, so that it can be planned again unchanged.
pub(crate) fn task_in_words(step: &Step) -> String {
    let spec = &step.spec;
    let after: Vec<&str> = spec.after.iter().map(updraft_run::StepId::as_str).collect();
    let task = json!({ "prompt": spec.prompt, "reads": spec.reads, "after": after });
    format!("{}\n  {task}", planned_in_words(step))
}

/// A step that failed: its task, why it failed, and its output so far.
pub(crate) fn failed_in_words(step: &Step) -> String {
    let mut words = task_in_words(step);
    if let StepState::Failed(why) = &step.state {
        let _ = write!(words, "\n  failed: {why}");
    }
    if let Some(output) = step.output.as_deref().filter(|output| !output.is_empty()) {
        let end = output.floor_char_boundary(MOST_OF_A_RESULT);
        let cut = if end < output.len() { " (cut)" } else { "" };
        let _ = write!(words, "\n  its result{cut}: {}", Value::String(output[..end].to_owned()));
    }
    words
}
