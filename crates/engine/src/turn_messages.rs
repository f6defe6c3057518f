//! What a model is told besides its task: earlier messages of the conversation, the results of its calls, and notes.

use std::sync::Arc;

use serde_json::json;
use updraft_run::{
    EarlierConversation, Message, ModelAnswer, Note, PictureRef, Reply, ToolCallOutcome, ToolResult, outcome_words,
};

use crate::prompt_texts::PromptKit;

/// What was said in the conversation before the goal, as messages. The summary of what came before them is part of the
/// first.
pub(crate) fn earlier_messages(earlier: &EarlierConversation, kit: &PromptKit) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut history = earlier.history.iter().filter(|message| !message.content.trim().is_empty()).peekable();
    // Providers expect that the user speaks first.
    let begins_with_answer = history.peek().is_some_and(|first| first.is_answer());
    if !earlier.summary.is_empty() || !earlier.pinned.is_empty() || begins_with_answer {
        let pinned = earlier.pinned.iter().map(|fact| format!("- {fact}")).collect::<Vec<_>>();
        let text = kit.say("earlier", &[("summary", &earlier.summary), ("pinned", &list_or_none(&pinned))]);
        messages.push(Message::User(text.into()));
    }
    messages.extend(history.map(|message| {
        if message.is_answer() {
            let answer = ModelAnswer { text: message.content.clone(), ..ModelAnswer::default() };
            return Message::Assistant(Arc::new(answer));
        }
        Message::User(message.content.as_str().into())
    }));
    messages
}

pub(crate) fn list_or_none(lines: &[String]) -> String {
    if lines.is_empty() { "none".to_owned() } else { lines.join("\n") }
}

/// An answer with its calls, for people.
pub(crate) fn answer_in_words(answer: &ModelAnswer) -> String {
    let calls = answer.calls.iter().map(|call| format!("calls {}({})", call.name, call.args));
    let text = Some(answer.text.clone()).filter(|text| !text.is_empty());
    text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

/// The pictures that a result shows.
pub(crate) fn pictures_of(outcome: &ToolCallOutcome) -> &[PictureRef] {
    match outcome {
        ToolCallOutcome::Replied(Reply::Output(output)) => &output.pictures,
        ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => &[],
    }
}

/// The results of an answer's calls: in the provider's form, or as text if the calls were text.
pub(crate) fn results(answer: Option<&ModelAnswer>, outcomes: &[ToolCallOutcome], kit: &PromptKit) -> Message {
    let calls = answer.map(|answer| answer.calls.as_slice()).unwrap_or_default();
    if calls.is_empty() {
        let lines: Vec<String> = outcomes
            .iter()
            .map(|outcome| {
                let previous = answer.map(|answer| answer.text.as_str()).unwrap_or_default();
                let result = said(outcome, kit);
                json!({ "iteration_context": { "tool_result": result }, "previous_output": previous }).to_string()
            })
            .collect();
        return Message::User(lines.join("\n").into());
    }
    let paired = calls.iter().zip(outcomes).map(|(call, outcome)| ToolResult {
        call: call.id.clone(),
        name: call.name.clone(),
        text: said(outcome, kit),
        is_error: !outcome.is_good(),
    });
    Message::Results(paired.collect())
}

fn said(outcome: &ToolCallOutcome, kit: &PromptKit) -> String {
    match outcome {
        ToolCallOutcome::Replied(Reply::InDoubt { evidence }) => kit.say("in-doubt", &[("evidence", evidence)]),
        ToolCallOutcome::Replied(Reply::Output(output)) => {
            let text = match output.changes_in_words() {
                None => output.text.clone(),
                Some(changes) if output.text.trim_end_matches('\n').is_empty() => changes,
                Some(changes) => format!("{}\n{changes}", output.text.trim_end_matches('\n')),
            };
            if output.attached.is_empty() {
                return text;
            }
            let documents = output.attached.iter().map(|one| format!("--- {} ---\n\n{}", one.path, one.text.trim()));
            let documents = documents.collect::<Vec<_>>().join("\n\n");
            format!("{}\n\n{}", text.trim_end_matches('\n'), kit.say("attached", &[("documents", &documents)]))
        }
        ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => outcome_words(outcome).into_owned(),
    }
}

pub(crate) fn note_in_words(note: &Note, kit: &PromptKit) -> String {
    match note {
        Note::LastTurn => kit.say("last-turn", &[]),
        Note::MoreTurns => kit.say("more-turns", &[]),
        Note::MissingOutput { names } => kit.say("missing-output", &[("names", &names.join(", "))]),
        Note::Unfit { what } => kit.say("unfit", &[("what", what)]),
        Note::AllToolsFailed => kit.say("all-tools-failed", &[]),
        Note::CutOff => kit.say("cut-off", &[]),
        Note::RepeatedCall { name } => kit.say("repeated-call", &[("call", name)]),
        Note::PlanFaults { faults } => {
            let list: Vec<String> = faults.iter().map(|fault| format!("- {fault}")).collect();
            kit.say("plan-faults", &[("faults", &list.join("\n"))])
        }
        Note::FalseCitations { faults } => {
            let list: Vec<String> = faults.iter().map(|fault| format!("- {fault}")).collect();
            kit.say("false-citations", &[("faults", &list.join("\n"))])
        }
        Note::Told { message } => kit.say("told", &[("message", message)]),
        _ => String::new(),
    }
}
