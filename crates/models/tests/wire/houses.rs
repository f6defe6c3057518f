//! The dialects as the tests of faults see them: how each says a text. A new one is one entry.

/// How one dialect says a text, as bytes of an answer.
pub(crate) struct House {
    pub(crate) spec: &'static str,
    pub(crate) content_type: &'static str,
    /// One part of an answer, with its end; `TEXT` stands for what is said.
    pub(crate) part: &'static str,
    /// What ends an answer.
    pub(crate) end: &'static str,
    /// An answer that is no answer: a server that has too much to do.
    pub(crate) error: &'static str,
}

pub(crate) const HOUSES: &[House] = &[
    House {
        spec: crate::talk::CHAT,
        content_type: "text/event-stream",
        part: "data: {\"choices\":[{\"delta\":{\"content\":\"TEXT\"}}]}\n\n",
        end: "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        error: r#"{"error":{"message":"overloaded","code":503}}"#,
    },
    House {
        spec: "ollama/test",
        content_type: "application/x-ndjson",
        part: "{\"message\":{\"role\":\"assistant\",\"content\":\"TEXT\"},\"done\":false}\n",
        end: "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
        error: r#"{"error":"overloaded"}"#,
    },
];

impl House {
    /// One part that says this.
    pub(crate) fn part(&self, text: &str) -> String {
        self.part.replace("TEXT", text)
    }

    /// A whole answer that says this.
    pub(crate) fn answer(&self, text: &str) -> String {
        self.part(text) + self.end
    }

    /// An error as a part of a stream.
    pub(crate) fn error_part(&self) -> String {
        let is_events = self.content_type == "text/event-stream";
        if is_events { format!("data: {}\n\n", self.error) } else { format!("{}\n", self.error) }
    }
}
