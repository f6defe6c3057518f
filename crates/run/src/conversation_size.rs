//! How long the conversation of a step is: in bytes as its model is shown it, and from that in tokens.

use crate::message::{FinishReason, ModelAnswer, TokenUsage};
use crate::reply::{PictureRef, Reply, ToolOutput};
use crate::shown::ShownPart;
use crate::step::{ConversationEntry, Step, ToolCallOutcome, TurnResults};

/// What a picture counts, in bytes of text: providers bill about 1,500 tokens for one.
pub const BYTES_OF_A_PICTURE: u64 = 5_000;
/// What the line with the name of an output takes.
const BYTES_OF_A_NAME: u64 = 120;
/// Tokens of a thousand bytes, as long as no provider has counted: English text has about 250, dense code 350.
const USUAL_RATIO: u64 = 300;

/// No text has fewer tokens in a thousand bytes.
const MIN_RATIO: u64 = 150;
/// Servers count at most so many tokens for an answer of nothing.
const MAX_UNWRITTEN_TOKENS: u64 = 16;

/// The length of a conversation when its model last answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationSize {
    /// Tokens of the prompt and of the answer, as the provider counted them.
    pub tokens: u64,
    /// Tokens of the prompt alone; 0 if the provider did not count them all.
    pub input: u64,
    /// Bytes of the conversation behind its first message, the answer included.
    pub bytes: u64,
    /// Tokens of a thousand bytes in this conversation.
    pub ratio: u64,
}

impl ConversationSize {
    /// From what the provider counted for a prompt of so many bytes (0 if that is unknown).
    pub(crate) fn counted(usage: &TokenUsage, prompt_bytes: u64, bytes: u64) -> Self {
        let usual = Self::default();
        let is_counted = prompt_bytes > 0 && usage.input > 0 && !usage.estimated;
        match is_counted.then(|| usage.input.saturating_mul(1_000) / prompt_bytes) {
            None => Self { tokens: usage.tokens(), bytes, ..usual },
            // The server leaves out what it had in its cache.
            Some(ratio) if ratio < MIN_RATIO => {
                Self { tokens: usual.in_tokens(prompt_bytes) + usage.output, bytes, ..usual }
            }
            Some(ratio) => Self { tokens: usage.tokens(), input: usage.input, bytes, ratio: ratio.min(1_000) },
        }
    }

    /// So many tokens in bytes.
    pub(crate) fn in_bytes(self, tokens: u64) -> u64 {
        tokens.saturating_mul(1_000) / self.ratio.max(1)
    }

    pub(crate) fn in_tokens(self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.ratio) / 1_000
    }
}

impl Default for ConversationSize {
    /// Nothing was counted yet.
    fn default() -> Self {
        Self { tokens: 0, input: 0, bytes: 0, ratio: USUAL_RATIO }
    }
}

impl Step {
    /// Bytes of its conversation behind the first message, as its model is shown them.
    pub(crate) fn conversation_bytes(&self) -> u64 {
        self.conversation.iter().map(|entry| self.bytes_of(entry)).sum()
    }

    /// Tokens that its next question will have, as far as that can be told; `None` before the first answer.
    pub(crate) fn expected_tokens(&self) -> Option<u64> {
        let last = self.size?;
        let now = self.conversation_bytes();
        let more = last.in_tokens(now.saturating_sub(last.bytes));
        let less = last.in_tokens(last.bytes.saturating_sub(now));
        Some(last.tokens.saturating_add(more).saturating_sub(less))
    }

    /// How its bytes and tokens compare.
    pub(crate) fn scale(&self) -> ConversationSize {
        self.size.unwrap_or_default()
    }

    pub(crate) fn bytes_of(&self, entry: &ConversationEntry) -> u64 {
        match entry {
            ConversationEntry::Answer(answer) => answer.bytes(),
            ConversationEntry::Results(results) => {
                results.numbered().map(|(n, outcome)| bytes_shown(outcome, self.shown.get(&n).copied())).sum()
            }
            ConversationEntry::Note(note) => serde_json::to_vec(note).map_or(0, |json| json.len() as u64),
            ConversationEntry::Summary(summary) => summary.len() as u64,
        }
    }
}

impl TurnResults {
    /// The outcomes with the numbers of their calls.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &ToolCallOutcome)> {
        self.outcomes.iter().enumerate().map(|(at, outcome)| (self.first + at as u32, outcome))
    }
}

/// Bytes of a call's result as its model is shown it.
pub(crate) fn bytes_shown(outcome: &ToolCallOutcome, part: Option<ShownPart>) -> u64 {
    match (outcome, part) {
        (ToolCallOutcome::Replied(Reply::Output(output)), None) => {
            output.text.len() as u64 + bytes_beside(output) + bytes_of_pictures(&output.pictures)
        }
        (ToolCallOutcome::Replied(Reply::Output(output)), Some(ShownPart::NAME)) => {
            BYTES_OF_A_NAME + bytes_beside(output)
        }
        (ToolCallOutcome::Replied(Reply::Output(output)), Some(part)) => {
            part.bytes() + BYTES_OF_A_NAME + bytes_beside(output) + bytes_of_pictures(&output.pictures)
        }
        (ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_), _) => {
            crate::answer_calls::outcome_words(outcome).len() as u64
        }
    }
}

/// Bytes of what is shown with an output and is never shortened: the files it changed, instructions of folders.
fn bytes_beside(output: &ToolOutput) -> u64 {
    let changes = output.changes_in_words().map_or(0, |words| words.len());
    let attached: usize = output.attached.iter().map(|one| one.text.len() + one.path.len()).sum();
    (changes + attached) as u64
}

fn bytes_of_pictures(pictures: &[PictureRef]) -> u64 {
    pictures.len() as u64 * BYTES_OF_A_PICTURE
}

impl ModelAnswer {
    /// Bytes of it in a later prompt.
    pub fn bytes(&self) -> u64 {
        let calls: usize = self.calls.iter().map(|call| call.name.len() + call.args.to_string().len()).sum();
        let opaque: usize = self.opaque.iter().map(|part| part.to_string().len()).sum();
        (self.text.len() + calls + opaque) as u64
    }

    /// Whether nothing at all was written because the output limit, and with it the window, was reached at once.
    pub fn is_shut_out(&self) -> bool {
        // A model that does not show its thoughts may have spent all on them.
        let has_thought =
            !self.opaque.is_empty() || self.usage.reasoning > 0 || self.usage.output > MAX_UNWRITTEN_TOKENS;
        let is_empty = self.text.is_empty() && self.calls.is_empty() && self.reasoning.is_empty() && !has_thought;
        is_empty && self.finish == FinishReason::Length
    }
}
