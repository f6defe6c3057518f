//! The context window to request: Ollama's default is small, and it silently truncates what does not fit.
//!
//! Another size makes it load the model again. So the size grows in steps and never shrinks, because conversations of
//! one run alternate on the same model.

use std::sync::atomic::{AtomicU64, Ordering};

use updraft_run::Message;

use crate::Prompt;

const SMALLEST: u64 = 4_096;
/// No model accepts more.
const LARGEST: u64 = 1 << 24;

/// The largest window requested so far.
#[derive(Debug, Default)]
pub(super) struct ContextWindow(AtomicU64);

impl ContextWindow {
    /// The window for a prompt and its answer, limited to what the model supports.
    pub(super) fn for_prompt(&self, prompt: &Prompt<'_>, cap: u64, most: Option<u64>) -> u64 {
        let needed = tokens_of(prompt).saturating_add(cap).clamp(SMALLEST, LARGEST);
        let window = needed.next_power_of_two().min(most.unwrap_or(LARGEST));
        self.0.fetch_max(window, Ordering::Relaxed).max(window)
    }
}

/// Estimated with three bytes per token: unused room costs memory, but a truncated prompt costs the answer.
fn tokens_of(prompt: &Prompt<'_>) -> u64 {
    let thoughts: usize = prompt.messages.iter().map(thought_of).sum();
    // The estimate assumes two bytes per token, and leaves out thoughts.
    (prompt.estimated_tokens() * 2 + thoughts as u64) / 3
}

fn thought_of(message: &Message) -> usize {
    match message {
        Message::Assistant(answer) => answer.reasoning.len(),
        Message::User(_) | Message::Results(_) | Message::Pictures(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskBrief;

    fn asked(window: &ContextWindow, letters: usize, cap: u64, most: Option<u64>) -> u64 {
        let brief = TaskBrief::default();
        let messages = [Message::User("x".repeat(letters).into())];
        window.for_prompt(&Prompt { messages: &messages, ..Prompt::empty(&brief) }, cap, most)
    }

    #[test]
    fn it_grows_in_steps_never_shrinks_and_ends_where_the_model_does() {
        let window = ContextWindow::default();
        assert_eq!(asked(&window, 10, 100, None), 4_096);
        assert_eq!(asked(&window, 9_000, 1_000, None), 4_096);
        assert_eq!(asked(&window, 9_000, 1_200, None), 8_192);
        assert_eq!(asked(&window, 10, 100, None), 8_192);
        assert_eq!(asked(&window, 90_000, 8_192, Some(32_768)), 32_768);
        assert_eq!(asked(&window, 900_000, 8_192, Some(40_960)), 40_960);
        assert_eq!(asked(&ContextWindow::default(), 10, u64::MAX, None), LARGEST);
        assert_eq!(asked(&ContextWindow::default(), 10, 100, Some(2_048)), 2_048);
    }
}
