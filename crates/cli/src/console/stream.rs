//! An answer while it arrives: finished blocks of Markdown are given away, the open one is kept.

/// More lines of an open code block than this are not kept: its lines never change, so they can be given away one by one.
const MOST_CODE: usize = 12;

/// The part of an answer that has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkdownStream {
    /// What was not given away yet.
    text: String,
    /// All of it, to compare with the answer at the end.
    whole: String,
    /// The open text follows the last block without an empty line.
    is_joined: bool,
}

/// One or more finished blocks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FinishedBlocks {
    pub(super) text: String,
    /// They follow what came before without an empty line.
    pub(super) is_joined: bool,
}

impl MarkdownStream {
    pub(super) fn push(&mut self, text: &str) {
        let text = text.replace('\r', "");
        self.text.push_str(&text);
        self.whole.push_str(&text);
    }

    /// All that has arrived.
    pub(super) fn whole(&self) -> &str {
        &self.whole
    }

    /// Whether the open block follows the last one without an empty line.
    pub(super) fn is_joined(&self) -> bool {
        self.is_joined
    }

    /// The open block.
    pub(super) fn open(&self) -> &str {
        &self.text
    }

    /// Takes the blocks that can no longer change.
    pub(super) fn take_finished(&mut self) -> Option<FinishedBlocks> {
        let Some(cut) = last_boundary(&self.text) else { return self.take_code() };
        let rest = self.text.split_off(cut.at);
        let text = std::mem::replace(&mut self.text, rest);
        let is_joined = std::mem::replace(&mut self.is_joined, cut.is_item);
        Some(FinishedBlocks { text, is_joined })
    }

    /// Takes what is left.
    pub(super) fn finish(&mut self) -> Option<FinishedBlocks> {
        let text = std::mem::take(&mut self.text);
        let is_joined = std::mem::take(&mut self.is_joined);
        (!text.trim().is_empty()).then_some(FinishedBlocks { text, is_joined })
    }

    /// Takes the whole lines of a long code block that is still open.
    fn take_code(&mut self) -> Option<FinishedBlocks> {
        let end = self.text.rfind('\n')?;
        let mut lines = self.text[..end].lines();
        let fence = lines.by_ref().find(|line| !line.trim().is_empty())?;
        let mark = fence_mark(fence)?;
        let (count, is_closed) = (lines.clone().count(), lines.any(|line| closes(line, &mark)));
        if count <= MOST_CODE || is_closed {
            return None;
        }
        let rest = format!("{mark}\n{}", &self.text[end + 1..]);
        self.text.truncate(end + 1);
        let text = std::mem::replace(&mut self.text, rest) + &mark;
        let is_joined = std::mem::replace(&mut self.is_joined, true);
        Some(FinishedBlocks { text, is_joined })
    }
}

/// A place where one block ends and another begins.
struct BlockBoundary {
    at: usize,
    /// Both are items of one list.
    is_item: bool,
}

/// The last place before which nothing can change any more.
fn last_boundary(text: &str) -> Option<BlockBoundary> {
    let (mut at, mut found) = (0, None);
    let (mut fence, mut was_blank, mut is_list): (Option<String>, bool, bool) = (None, false, false);
    for line in text.split_inclusive('\n') {
        let is_whole = line.ends_with('\n');
        if let Some(mark) = &fence {
            if is_whole && closes(line, mark) {
                fence = None;
                is_list = false;
            }
        } else {
            let is_item = starts_item(line);
            let begins = at > 0 && line.starts_with(|c: char| !c.is_whitespace());
            if begins && (was_blank || is_item && is_list) {
                found = Some(BlockBoundary { at, is_item: is_item && is_list && !was_blank });
            }
            is_list = is_item || is_list && !(was_blank && begins);
            fence = fence_mark(line);
            was_blank = is_whole && line.trim().is_empty();
        }
        at += line.len();
    }
    found
}

/// The marks that open a code block, if the line does.
fn fence_mark(line: &str) -> Option<String> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    (count >= 3).then(|| mark.to_string().repeat(count))
}

fn closes(line: &str, mark: &str) -> bool {
    let line = line.trim();
    line.starts_with(mark) && line.chars().all(|c| mark.starts_with(c))
}

/// Whether a line begins an item of an outermost list.
fn starts_item(line: &str) -> bool {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = &line[digits..];
    let marks: &[&str] = if digits > 0 { &[". ", ") "] } else { &["- ", "* ", "+ "] };
    marks.iter().any(|mark| rest.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks in the order they are given away, if the text arrives in parts of this size.
    fn blocks(text: &str, size: usize) -> Vec<(String, bool)> {
        let (mut stream, mut blocks) = (MarkdownStream::default(), Vec::new());
        for part in text.chars().collect::<Vec<_>>().chunks(size) {
            stream.push(&part.iter().collect::<String>());
            while let Some(block) = stream.take_finished() {
                blocks.push((block.text, block.is_joined));
            }
        }
        blocks.extend(stream.finish().map(|block| (block.text, block.is_joined)));
        assert_eq!(stream.whole(), text);
        blocks
    }

    #[test]
    fn blocks_are_given_away_when_the_next_begins() {
        let text = "First.\n\nSecond\nline.\n\n```rust\nfn a() {}\n\nfn b() {}\n```\n\n- one\n- two\n  more\n\nEnd";
        let expected = [
            ("First.\n\n", false),
            ("Second\nline.\n\n", false),
            ("```rust\nfn a() {}\n\nfn b() {}\n```\n\n", false),
            ("- one\n", false),
            ("- two\n  more\n\n", true),
            ("End", false),
        ];
        for size in 1..4 {
            let found = blocks(text, size);
            let found: Vec<(&str, bool)> = found.iter().map(|(text, joined)| (text.as_str(), *joined)).collect();
            assert_eq!(found, expected, "in parts of {size}");
        }
    }

    #[test]
    fn a_long_code_block_is_given_away_by_lines() {
        let code: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
        let found = blocks(&format!("```sh\n{}\n```\n", code.join("\n")), 3);
        assert!(found.len() > 2 && found[0].0.starts_with("```sh\nline 0\n") && found[0].0.ends_with("\n```"));
        assert!(found[1..].iter().all(|(text, joined)| *joined && text.starts_with("```\n")), "{found:?}");
        let lines: Vec<&str> = found.iter().flat_map(|(text, _)| text.lines()).collect();
        assert_eq!(lines.iter().filter(|line| line.starts_with("line ")).count(), 40);
    }
}
