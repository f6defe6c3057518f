//! Parses a shell command into the simple commands in it, as far as these consist of plain words.
//!
//! Sequences and pipes are split: `cd a && cargo test 2>&1 | tail`. The rest of the shell's language (substitutions,
//! loops, functions, here-documents) is not parsed. A command that contains any of it gets an uncertain part: no
//! pattern can allow that part, and every pattern that denies or asks may match it. The parser may find more commands
//! than would run, but never fewer.

mod installs;
mod parser;
mod reading;
mod runners;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::LazyLock;

use updraft_run::SimpleCommand;

pub(crate) use installs::only_installs;
pub(crate) use reading::only_reads;

/// Most parts of one command. Nobody writes more by hand.
const MOST_PARTS: usize = 500;
/// Most bytes of one command that are parsed.
const LONGEST: usize = 64 << 10;
/// Deepest nesting of commands within commands: `env timeout 5 sh -c "…"`.
const DEEPEST: usize = 8;

/// The simple commands of a text for `sh -c`.
pub(crate) fn parts(text: &str) -> Vec<SimpleCommand> {
    let mut parts = Vec::new();
    add_parts(text, 0, &mut parts);
    if parts.len() > MOST_PARTS {
        parts.truncate(MOST_PARTS);
        parts.push(unknown());
    }
    parts
}

/// The shell that runs commands: what models write is for bash.
pub(crate) fn program() -> &'static str {
    static PROGRAM: LazyLock<&str> = LazyLock::new(|| if Path::new("/bin/bash").exists() { "bash" } else { "sh" });
    *PROGRAM
}

/// A word as a shell takes it, whatever is in it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn add_parts(text: &str, depth: usize, parts: &mut Vec<SimpleCommand>) {
    if text.len() > LONGEST || depth > DEEPEST {
        parts.push(unknown());
        return;
    }
    let (commands, is_whole) = parser::commands(text);
    for command in commands {
        let written = command.written.into_iter().map(|file| vec![Some(">".to_owned()), file]);
        parts.extend(written.map(|words| SimpleCommand { words, ..SimpleCommand::default() }));
        runners::add(command.words, depth, parts);
    }
    if !is_whole {
        parts.push(unknown());
    }
}

/// A part that cannot be parsed.
fn unknown() -> SimpleCommand {
    SimpleCommand { uncertain: true, ..SimpleCommand::default() }
}
