//! How one model of one server calls tools, as its answers show it.

use std::sync::atomic::{AtomicBool, Ordering};

use updraft_run::ModelAnswer;

use crate::features::ToolCallStyle;
use crate::written_calls::written_calls;
use crate::{Endpoint, Prompt};

/// How one model of one server calls tools.
#[derive(Debug)]
pub(crate) struct ObservedStyle {
    /// The model and its server.
    key: String,
    /// Whether its server has answered with a native call.
    has_called: AtomicBool,
}

impl ObservedStyle {
    pub(crate) fn new(key: String) -> Self {
        Self { key, has_called: AtomicBool::new(false) }
    }

    /// The style that was set, or learnt.
    pub(crate) fn settled(&self, endpoint: &Endpoint) -> Option<ToolCallStyle> {
        endpoint.tuning.tools.or_else(|| endpoint.styles.of(&self.key))
    }

    pub(crate) fn learn(&self, endpoint: &Endpoint, style: ToolCallStyle) {
        endpoint.styles.learn(&self.key, style);
    }

    /// The answer to a request with native tools, with the calls that its text is. A model that has never made a native call
    /// and writes one as text is told of its tools in text from then on.
    pub(crate) fn heard(
        &self,
        endpoint: &Endpoint,
        is_local: bool,
        mut answer: ModelAnswer,
        prompt: &Prompt<'_>,
    ) -> ModelAnswer {
        if prompt.tools.is_empty() {
            return answer;
        }
        if !answer.calls.is_empty() {
            self.has_called.store(true, Ordering::Relaxed);
            // A provider's models need no remembering: they are known to have native calls.
            if is_local {
                self.learn(endpoint, ToolCallStyle::Native);
            }
            return answer;
        }
        let learnt = endpoint.styles.of(&self.key);
        let calls_natively = self.has_called.load(Ordering::Relaxed) || learnt == Some(ToolCallStyle::Native);
        let calls = if calls_natively { Vec::new() } else { written_calls(&answer, prompt) };
        if calls.is_empty() {
            return answer;
        }
        if endpoint.tuning.tools.is_none() {
            tracing::info!(model = self.key, "it writes calls as text, and is told of its tools in text from now on");
            self.learn(endpoint, ToolCallStyle::Text);
        }
        (answer.calls, answer.text) = (calls, String::new());
        answer
    }
}
