//! What a model is told besides its task: earlier messages of the conversation, the results of its calls, and notes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use updraft_run::{
    EarlierConversation, Message, ModelAnswer, Note, PictureRef, Reply, ShownPart, ToolCall, ToolCallOutcome,
    ToolOutput, ToolResult, TurnResults, outcome_words, output_name,
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
pub(crate) fn results(
    answer: Option<&ModelAnswer>,
    ended: &TurnResults,
    parts: &BTreeMap<u32, ShownPart>,
    kit: &PromptKit,
) -> Message {
    let said = |(n, outcome): (u32, &ToolCallOutcome)| said(outcome, n, parts.get(&n).copied(), kit);
    let calls = answer.map(|answer| answer.calls.as_slice()).unwrap_or_default();
    if calls.is_empty() {
        let lines: Vec<String> = ended
            .numbered()
            .map(|outcome| {
                let previous = answer.map(|answer| answer.text.as_str()).unwrap_or_default();
                let result = said(outcome);
                json!({ "iteration_context": { "tool_result": result }, "previous_output": previous }).to_string()
            })
            .collect();
        return Message::User(lines.join("\n").into());
    }
    let paired = calls.iter().zip(ended.numbered()).map(|(call, (n, outcome))| ToolResult {
        call: call.id.clone(),
        name: call.name.clone(),
        text: said((n, outcome)),
        is_error: !outcome.is_good(),
    });
    Message::Results(paired.collect())
}

/// The results of calls that are not made, because only a summary was asked for.
pub(crate) fn not_made(answer: &ModelAnswer) -> Message {
    let result = |call: &ToolCall| ToolResult {
        call: call.id.clone(),
        name: call.name.clone(),
        text: "not called".to_owned(),
        is_error: true,
    };
    Message::Results(answer.calls.iter().map(result).collect())
}

fn said(outcome: &ToolCallOutcome, n: u32, part: Option<ShownPart>, kit: &PromptKit) -> String {
    match outcome {
        ToolCallOutcome::Replied(Reply::InDoubt { evidence }) => kit.say("in-doubt", &[("evidence", evidence)]),
        ToolCallOutcome::Replied(Reply::Output(output)) => {
            let shown = shown_text(output, n, part);
            let text = match output.changes_in_words() {
                None => shown.into_owned(),
                Some(changes) if shown.trim_end_matches('\n').is_empty() => changes,
                Some(changes) => format!("{}\n{changes}", shown.trim_end_matches('\n')),
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

/// The text of an output as far as it is shown, with the name under which the whole can be read again.
fn shown_text(output: &ToolOutput, n: u32, part: Option<ShownPart>) -> Cow<'_, str> {
    let (name, text) = (output_name(n), output.text.as_str());
    let bytes = output.whole.map_or(text.len() as u64, |whole| whole.len);
    let Some(part) = part else {
        let Some(whole) = output.whole else { return Cow::Borrowed(text) };
        return Cow::Owned(format!(
            "{}\n[the whole output, {} bytes, is `{name}`: read or search it]\n",
            text.trim_end(),
            whole.len
        ));
    };
    if let Some((head, tail)) = part.ends_of(text) {
        return Cow::Owned(format!(
            "{}\n[… {} bytes left out here; the whole output, {bytes} bytes, is `{name}`: read or search it …]\n{tail}",
            head.trim_end(),
            text.len() - head.len() - tail.len(),
        ));
    }
    let first = text.lines().next().unwrap_or_default();
    let first = &first[..first.floor_char_boundary(MAX_FIRST_LINE_BYTES)];
    Cow::Owned(format!("{first}\n[no longer shown: this output of {bytes} bytes is `{name}`: read or search it]\n"))
}

/// How much of its first line is shown of an output that is not shown any more.
const MAX_FIRST_LINE_BYTES: usize = 80;

pub(crate) fn note_in_words(note: &Note, kit: &PromptKit) -> String {
    match note {
        Note::LastTurn => kit.say("last-turn", &[]),
        Note::MoreTurns => kit.say("more-turns", &[]),
        Note::MissingOutput { names } => kit.say("missing-output", &[("names", &names.join(", "))]),
        Note::Unfinished { what } => what.clone(),
        Note::Unfit { what } => kit.say("unfit", &[("what", what)]),
        Note::AllToolsFailed => kit.say("all-tools-failed", &[]),
        Note::CutOff => kit.say("cut-off", &[]),
        Note::RepeatedCall { name, times, returned } => {
            kit.say("repeated-call", &[("call", name), ("times", &times.to_string()), ("returned", returned)])
        }
        Note::PlanFaults { faults } => {
            let list: Vec<String> = faults.iter().map(|fault| format!("- {fault}")).collect();
            kit.say("plan-faults", &[("faults", &list.join("\n"))])
        }
        Note::FalseCitations { faults } => {
            let list: Vec<String> = faults.iter().map(|fault| format!("- {fault}")).collect();
            kit.say("false-citations", &[("faults", &list.join("\n"))])
        }
        Note::BackgroundEnded { names } => kit.say("background-ended", &[("names", &names.join(", "))]),
        Note::Told { message } => kit.say("told", &[("message", message)]),
        _ => String::new(),
    }
}
