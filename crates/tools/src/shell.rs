//! Reads a shell command for the simple commands in it, as far as these are plain words.
//!
//! Sequences and pipes are split: `cd a && cargo test 2>&1 | tail`. The rest of the shell's language (substitutions, loops,
//! functions, here-documents) is not read: what holds some of it has a part that is uncertain, which no pattern allows and
//! every pattern that denies or asks may mean. The reader may find more commands than would run, and never fewer.

mod installs;
mod read;
mod runners;

#[cfg(test)]
mod tests;

use updraft_run::SimpleCommand;

pub(crate) use installs::only_installs;

/// Parts of one command. Nobody writes more by hand.
const MOST_PARTS: usize = 500;
/// Bytes of one command that are read.
const LONGEST: usize = 64 << 10;
/// Commands within commands: `env timeout 5 sh -c "…"`.
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

fn add_parts(text: &str, depth: usize, parts: &mut Vec<SimpleCommand>) {
    if text.len() > LONGEST || depth > DEEPEST {
        parts.push(unknown());
        return;
    }
    let (commands, is_whole) = read::commands(text);
    for command in commands {
        let written = command.written.into_iter().map(|file| vec![Some(">".to_owned()), file]);
        parts.extend(written.map(|words| SimpleCommand { words, ..SimpleCommand::default() }));
        runners::add(command.words, depth, parts);
    }
    if !is_whole {
        parts.push(unknown());
    }
}

/// Something that is not read.
fn unknown() -> SimpleCommand {
    SimpleCommand { uncertain: true, ..SimpleCommand::default() }
}
