//! Finds the id of a request in a text that cannot be parsed, because it is too large or not JSON. The client waits for
//! an answer with that id.

use rmcp::model::RequestId;

/// Maximum bytes of an id, and of a name at the top level of a message.
const LONGEST: usize = 256;

/// The state of the scan: what the outermost object contains of a request.
#[derive(Default)]
pub(super) struct RequestScanner {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// The name or value at the top level that is being read; empty in between.
    part: Vec<u8>,
    /// The name whose value is being read.
    name: Vec<u8>,
    id: Option<RequestId>,
    has_method: bool,
}

impl RequestScanner {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.keep(byte);
                self.in_text = true;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.end_of_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_of_value(),
            b':' if self.depth == 1 => self.name = std::mem::take(&mut self.part),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.part.len() < LONGEST {
            self.part.push(byte);
        }
    }

    fn end_of_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        let value = std::mem::take(&mut self.part);
        match std::mem::take(&mut self.name).as_slice() {
            b"\"id\"" => self.id = serde_json::from_slice(&value).ok(),
            b"\"method\"" => self.has_method = true,
            _ => {}
        }
    }

    /// The id, if this was a request: an answer from the client must not be answered.
    pub(super) fn request(self) -> Option<RequestId> {
        self.id.filter(|_| self.has_method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Option<RequestId> {
        let mut line = RequestScanner::default();
        // In small pieces, as a pipe delivers them.
        for (n, piece) in text.as_bytes().chunks(3).enumerate() {
            let (one, other) = piece.split_at(n % piece.len());
            line.feed(one);
            line.feed(other);
        }
        line.request()
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_stands() {
        let number = Some(RequestId::Number(7));
        assert_eq!(request(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8}}"#), number);
        assert_eq!(
            request(r#"{"params":{"id":8,"x":["id",{"id":9}],"t":"\"id\": 1, {[\\"},"method":"m", "id" : 7 }"#),
            number
        );
        assert_eq!(request(r#"{"method":"m","id":"a\"b","params":null}"#), Some(RequestId::String("a\"b".into())));
    }

    #[test]
    fn notifications_answers_batches_and_garbage_have_none() {
        for text in [
            r#"{"method":"m","params":{"id":8}}"#,
            r#"{"id":8,"result":{"method":"m"}}"#,
            r#"[{"id":8,"method":"m"}]"#,
            r#"{"id":{"id":8},"method":"m"}"#,
            "}}}]],,::8",
        ] {
            assert_eq!(request(text), None, "{text}");
        }
    }
}
