//! Signatures of parts of an answer: stored with their position, and sent back in it to the model that signed them.

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::ModelAnswer;

use super::body::GeminiPart;

/// Replaces a signature if another model wrote the call; Google documents it for this purpose.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The position of a signed part, and its signature.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct SignatureMark<'a> {
    /// The model that signed it.
    of: &'a str,
    /// The kind of the part.
    part: SignedPartKind,
    /// Where its text begins in the answer's text; for a call, the length of the text before it.
    from: usize,
    /// Where its text ends.
    to: usize,
    /// The number of calls before it.
    calls: usize,
    signature: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SignedPartKind {
    Text,
    Call,
}

/// The mark of a signed text: its position in the answer's text, and the number of calls before it.
pub(super) fn signed_text(of: &str, from: usize, to: usize, calls: usize, signature: &str) -> Value {
    json!({ "of": of, "part": "text", "from": from, "to": to, "calls": calls, "signature": signature })
}

/// The mark of a signed call, after this much text and this many calls.
pub(super) fn signed_call(of: &str, text: usize, calls: usize, signature: &str) -> Value {
    json!({ "of": of, "part": "call", "from": text, "to": text, "calls": calls, "signature": signature })
}

/// The parts of an answer as they arrived, each with its signature. If calls must be signed and the first call is not,
/// it gets the replacement; of several parallel calls only the first is signed.
pub(super) fn parts_of<'a>(answer: &'a ModelAnswer, name: &str, wants_signatures: bool) -> Vec<GeminiPart<'a>> {
    let marks =
        answer.opaque.iter().filter_map(|value| SignatureMark::deserialize(value).ok()).filter(|mark| mark.of == name);
    let mut parts = SignedParts { answer, text: 0, calls: 0, list: Vec::new() };
    for mark in marks {
        parts.take(&mark);
    }
    parts.add_text(answer.text.len());
    parts.add_calls(answer.calls.len());
    if wants_signatures
        && let Some(first) = parts.list.iter_mut().find(|part| part.is_call())
        && !first.is_signed()
    {
        first.sign(UNSIGNED);
    }
    parts.list
}

/// The parts so far, and how much of the answer they cover.
struct SignedParts<'a> {
    answer: &'a ModelAnswer,
    text: usize,
    calls: usize,
    list: Vec<GeminiPart<'a>>,
}

impl<'a> SignedParts<'a> {
    /// Adds everything up to a signed part, and that part. A mark that does not fit the answer is ignored.
    fn take(&mut self, mark: &SignatureMark<'a>) {
        let ModelAnswer { text, calls, .. } = self.answer;
        let fits = mark.from >= self.text && mark.calls >= self.calls && text.get(mark.from..mark.to).is_some();
        let has_call = mark.part == SignedPartKind::Text || mark.calls < calls.len();
        if !fits || !has_call || mark.calls > calls.len() {
            return;
        }
        self.add_text(mark.from);
        self.add_calls(mark.calls);
        match mark.part {
            SignedPartKind::Call => self.add_calls(mark.calls + 1),
            SignedPartKind::Text => {
                self.list.push(GeminiPart::text(&text[mark.from..mark.to]));
                self.text = mark.to;
            }
        }
        if let Some(part) = self.list.last_mut() {
            part.sign(mark.signature);
        }
    }

    fn add_text(&mut self, to: usize) {
        if let Some(text) = self.answer.text.get(self.text..to).filter(|text| !text.is_empty()) {
            self.list.push(GeminiPart::text(text));
            self.text = to;
        }
    }

    fn add_calls(&mut self, to: usize) {
        self.list.extend(self.answer.calls[self.calls..to].iter().map(GeminiPart::call));
        self.calls = to;
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::ToolCall;

    use super::*;

    const OWN: &str = "gemini/gemini-3-flash";

    fn answer(opaque: Vec<Value>) -> ModelAnswer {
        let call = |id: &str| ToolCall { id: id.into(), name: "f".into(), args: json!({}), fault: None };
        ModelAnswer { text: "Grüße".into(), calls: vec![call("a"), call("b")], opaque, ..ModelAnswer::default() }
    }

    fn written(opaque: Vec<Value>) -> Value {
        serde_json::to_value(parts_of(&answer(opaque), OWN, true)).unwrap()
    }

    fn call(id: &str) -> Value {
        json!({"functionCall": {"id": id, "name": "f", "args": {}}})
    }

    fn signed(mut part: Value, signature: &str) -> Value {
        part["thoughtSignature"] = json!(signature);
        part
    }

    #[test]
    fn signatures_come_back_in_their_places() {
        let marks = vec![signed_call(OWN, 4, 0, "one"), signed_text(OWN, 7, 7, 2, "two")];
        let end = json!({"text": "", "thoughtSignature": "two"});
        let expected = json!([{"text": "Grü"}, signed(call("a"), "one"), {"text": "ße"}, call("b"), end]);
        assert_eq!(written(marks), expected);
    }

    #[test]
    fn the_first_call_of_another_model_is_marked_so() {
        let expected = json!([{"text": "Grüße"}, signed(call("a"), UNSIGNED), call("b")]);
        assert_eq!(written(Vec::new()), expected);
        assert_eq!(written(vec![signed_call("gemini/other", 7, 0, "foreign"), json!("odd")]), expected);
        let plain = serde_json::to_value(parts_of(&answer(Vec::new()), OWN, false)).unwrap();
        assert_eq!(plain, json!([{"text": "Grüße"}, call("a"), call("b")]));
    }

    #[test]
    fn marks_that_do_not_fit_are_passed_over() {
        let odd = vec![
            signed_text(OWN, 3, 900, 0, "too long"),
            signed_text(OWN, 4, 3, 0, "backwards"),
            signed_call(OWN, 3, 0, "within a letter"),
            signed_call(OWN, 0, 9, "no such call"),
        ];
        assert_eq!(written(odd), json!([{"text": "Grüße"}, signed(call("a"), UNSIGNED), call("b")]));
    }
}
