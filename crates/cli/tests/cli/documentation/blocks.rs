//! The fenced blocks of a page of Markdown, with the notes on them: comments right before a block.

/// A fenced block.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The page and the line of its fence: `docs/plans.md:44`.
    pub(crate) place: String,
    /// The first word after the fence: `sh`, `toml`.
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) notes: BlockNotes,
}

/// What comments before a block say about it: `<!-- file: tools/words.py -->`.
#[derive(Debug, Default)]
pub(crate) struct BlockNotes {
    /// Why it is not run.
    pub(crate) not_run: Option<String>,
    /// The file that it is, in the page's scratch folder; `~` is the home folder there.
    pub(crate) file: Option<String>,
    /// The file of the repository that it is a part of.
    pub(crate) same_as: Option<String>,
    /// What it is parsed as: an `as_…` function of `functions.sh`.
    pub(crate) form: Option<String>,
    /// Commands that come first.
    pub(crate) before: String,
    /// Commands that come last; they check what the block did.
    pub(crate) after: String,
    /// The exit codes that `updraft` may have in it.
    pub(crate) exits: Option<String>,
}

/// The blocks of a page, or what is wrong with its fences and notes.
pub(crate) fn in_page(page: &str, text: &str) -> Result<Vec<Block>, Vec<String>> {
    let (mut blocks, mut faults) = (Vec::new(), Vec::new());
    let mut comments = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let place = format!("{page}:{number}");
        if let Some(after) = line.trim_start().strip_prefix("```") {
            let indent = line.len() - line.trim_start().len();
            let inside = lines.by_ref().take_while(|(line, _)| line.trim() != "```");
            let inside = inside.map(|(line, _)| format!("{}\n", line.get(indent..).unwrap_or_default()));
            let (kind, text) = (after.split_whitespace().next().unwrap_or_default().to_owned(), inside.collect());
            match notes(std::mem::take(&mut comments)) {
                Ok(notes) => blocks.push(Block { place, kind, text, notes }),
                Err(why) => faults.push(format!("{place}: {why}")),
            }
        } else if let Some(start) = line.trim_start().strip_prefix("<!--") {
            let mut comment = start.to_owned();
            while !comment.contains("-->") {
                let Some((line, _)) = lines.next() else { break };
                comment = format!("{comment}\n{line}");
            }
            comments.push(comment.split("-->").next().unwrap_or_default().trim().to_owned());
        } else if !line.trim().is_empty() {
            comments.clear();
        }
    }
    if faults.is_empty() { Ok(blocks) } else { Err(faults) }
}

/// Reads the comments before one block. Comments without a colon are not for us.
fn notes(comments: Vec<String>) -> Result<BlockNotes, String> {
    let mut notes = BlockNotes::default();
    for comment in comments {
        let Some((name, value)) = comment.split_once(':') else { continue };
        let value = value.trim().to_owned();
        match name.trim() {
            "not run" if value.is_empty() => return Err("`not run` without a reason".to_owned()),
            "not run" => notes.not_run = Some(value),
            "file" => notes.file = Some(value),
            "same as" => notes.same_as = Some(value),
            "as" => notes.form = Some(value),
            "before" => notes.before = value,
            "after" => notes.after = value,
            "exits" => notes.exits = Some(value),
            other => {
                let known = "`not run`, `file`, `same as`, `as`, `before`, `after` and `exits` are";
                return Err(format!("`{other}` is not a note on a block; {known}"));
            }
        }
    }
    Ok(notes)
}
