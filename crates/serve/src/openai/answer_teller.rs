//! An answer told while it is written, in pieces.
//!
//! What was told cannot be taken back. So nothing is told that may turn out to be something else: an object, a call
//! written as text, a remark before a call, a citation that may be marked as false. Pieces depend on the text alone and
//! not on how it arrives, so whoever reads the whole text later cuts it into the same pieces.

use updraft_workbench::service::AnswerDraft;

/// The words of a model that may call tools count as its answer once they have more bytes than these: what it says before a
/// call is shorter.
const LONGEST_REMARK: usize = 1_000;
/// A piece ends after the first space or line when it has so many bytes, or without one when it has the most.
const PIECE: usize = 16;
const LONGEST_PIECE: usize = 160;

/// How far an answer was told.
#[derive(Default)]
pub(super) struct AnswerTeller {
    draft: Option<AnswerDraft>,
    told: String,
}

impl AnswerTeller {
    /// A model begins to write. What was told before belongs to something else.
    pub(super) fn begin(&mut self, draft: &AnswerDraft) {
        *self = Self { draft: Some(draft.clone()), told: String::new() };
    }

    /// What was told.
    pub(super) fn told(&self) -> &str {
        &self.told
    }

    /// The next pieces of a text that is still being written.
    pub(super) fn hear(&mut self, text: &str) -> Vec<String> {
        let Some(draft) = &self.draft else { return Vec::new() };
        // A model that was asked again may write something else.
        let Some(rest) = tellable(draft, text).strip_prefix(self.told.as_str()) else { return Vec::new() };
        let found = whole_pieces(rest);
        self.told.extend(found.iter().copied());
        found.into_iter().map(str::to_owned).collect()
    }

    /// The next pieces of a text that is complete. Later ones follow with the answer.
    pub(super) fn complete(&mut self, text: &str) -> Vec<String> {
        let is_told_whole = self.draft.as_ref().is_some_and(|draft| tellable(draft, text) == text);
        let mut found = self.hear(text);
        self.draft = None;
        if is_told_whole && let Some(last) = text.strip_prefix(self.told.as_str()).filter(|last| !last.is_empty()) {
            found.push(last.to_owned());
            text.clone_into(&mut self.told);
        }
        found
    }

    /// The rest of the answer; `None` if what was told is not its beginning.
    pub(super) fn rest<'a>(&self, answer: &'a str) -> Option<Vec<&'a str>> {
        answer.strip_prefix(self.told.as_str()).map(pieces)
    }
}

/// The beginning of a text that is told before all of it is known.
fn tellable<'a>(draft: &AnswerDraft, text: &'a str) -> &'a str {
    let is_form = text.trim_start().starts_with(['{', '[', '<', '`']);
    if is_form || (draft.may_call && text.len() <= LONGEST_REMARK) {
        return "";
    }
    let end = text.find('[').filter(|_| draft.has_sources).unwrap_or(text.len());
    &text[..end]
}

/// A text in pieces.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let mut found = whole_pieces(text);
    let length: usize = found.iter().map(|piece| piece.len()).sum();
    found.extend(Some(&text[length..]).filter(|last| !last.is_empty()));
    found
}

/// The pieces that stay the same whatever follows.
fn whole_pieces(text: &str) -> Vec<&str> {
    let (mut rest, mut found) = (text, Vec::new());
    while let Some((piece, after)) = first_piece(rest) {
        found.push(piece);
        rest = after;
    }
    found
}

fn first_piece(text: &str) -> Option<(&str, &str)> {
    let mut ends = text.char_indices().map(|(at, letter)| (at + letter.len_utf8(), letter));
    let (end, _) =
        ends.find(|(end, letter)| *end >= LONGEST_PIECE || (*end >= PIECE && matches!(*letter, ' ' | '\n')))?;
    Some(text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(may_call: bool, has_sources: bool) -> AnswerDraft {
        let address = "a/0/0/ask.0".parse().unwrap();
        AnswerDraft { address, attempt: 1, may_call, has_sources }
    }

    /// All pieces of a text that arrives letter by letter.
    fn told(draft: &AnswerDraft, text: &str) -> Vec<String> {
        let mut teller = AnswerTeller::default();
        teller.begin(draft);
        let ends = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
        let mut found: Vec<String> = ends.flat_map(|end| teller.hear(&text[..end])).collect();
        found.extend(teller.complete(text));
        found
    }

    #[test]
    fn pieces_are_the_same_however_a_text_arrives() {
        for text in
            ["", "short", "a\nb", &"word ".repeat(200), &"ä".repeat(500), "One sentence. And another one here.\n\n"]
        {
            let all = pieces(text);
            assert_eq!(
                (all.concat().as_str(), told(&draft(false, false), text)),
                (text, all.iter().map(|p| (*p).to_owned()).collect())
            );
            assert!(all.iter().all(|piece| !piece.is_empty() && piece.len() < LONGEST_PIECE + 4));
        }
    }

    #[test]
    fn nothing_is_told_that_may_become_something_else() {
        let nothing = Vec::<String>::new();
        for form in
            ["{\"error\": \"no such file anywhere\"}", "\n```json\n{}\n```", "<tool_call>x</tool_call> and so on"]
        {
            assert_eq!(told(&draft(false, false), form), nothing, "{form}");
        }
        let remark = "I look at the file first. ".repeat(10);
        assert_eq!(told(&draft(true, false), &remark), nothing);
        let long = "A loom weaves threads into cloth. ".repeat(40);
        assert_eq!(told(&draft(true, false), &long).concat(), long);
        // Citations may be marked later: what follows them comes with the answer.
        let cited = "A loom weaves threads into cloth, as is written [1] here.";
        let mut teller = AnswerTeller::default();
        teller.begin(&draft(false, true));
        assert_eq!(teller.complete(cited).concat(), "A loom weaves threads into cloth, as is ");
        let marked = "A loom weaves threads into cloth, as is written [1: not found] here.";
        assert_eq!(teller.rest(marked).unwrap().concat(), "written [1: not found] here.");
        assert_eq!(teller.rest("Something else."), None);
    }

    #[test]
    fn a_model_that_is_asked_again_and_writes_otherwise_is_not_mixed_up() {
        let mut teller = AnswerTeller::default();
        teller.begin(&draft(false, false));
        assert_eq!(teller.hear("A loom weaves threads "), ["A loom weaves threads "]);
        assert_eq!(teller.hear("Looms weave cloth out of many threads of wool "), Vec::<String>::new());
        assert_eq!(teller.hear("A loom weaves threads into much cloth "), ["into much cloth "]);
    }
}
