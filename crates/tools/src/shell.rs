//! Reads a shell command for the simple commands in it, wherever they are hidden. Pure, linear, and never sure where it
//! cannot be: what is known only when the command runs is marked as uncertain.
//!
//! It is no shell: it may find more commands than would run (both branches of an `if`), and must never find fewer.

mod awk;
mod git;
mod installs;
mod interpreters;
mod options;
mod programs;
mod read;
mod sed;
mod unclear;
mod variables;
mod word;
mod wrapped;

#[cfg(test)]
mod tests;

use updraft_run::Part;

pub(crate) use installs::only_installs;

/// Parts of one command. Nobody writes more by hand.
const MOST_PARTS: usize = 500;
/// Bytes of one command that are read, and bytes of words that are kept.
const LONGEST: usize = 64 << 10;
/// Commands within commands, and brackets within brackets.
const DEEPEST: usize = 40;
/// Bytes that are read in all: texts within texts are read once more for each.
const MOST_WORK: usize = 16 * LONGEST;

/// The simple commands of a text for `sh -c`.
pub(crate) fn parts(text: &str) -> Vec<Part> {
    let mut found = Found::default();
    if text.len() > LONGEST {
        found.doubt();
    } else {
        found.read(text, 0);
    }
    found.parts
}

/// What was found so far.
#[derive(Default)]
struct Found {
    parts: Vec<Part>,
    bytes: usize,
    work: usize,
    doubted: bool,
    /// Of the command at hand, a word that only running tells may be an option, or several words.
    loose: bool,
}

impl Found {
    /// Reads a whole text.
    fn read(&mut self, text: &str, depth: usize) {
        self.work += text.len() + 1;
        if depth > DEEPEST || self.work > MOST_WORK {
            self.doubt();
            return;
        }
        if text.contains('\r') {
            // A blank to some readers, a part of a word to every shell.
            self.doubt();
        }
        read::Reader::new(text, depth, self).all();
    }

    fn add(&mut self, part: Part) {
        self.bytes += part.words.iter().flatten().map(|word| word.len() + 8).sum::<usize>();
        if self.parts.len() < MOST_PARTS && self.bytes <= LONGEST {
            self.parts.push(part);
        } else {
            self.doubt();
        }
    }

    /// Something that cannot be read for certain.
    fn doubt(&mut self) {
        if !std::mem::replace(&mut self.doubted, true) {
            self.parts.push(Part { uncertain: true, ..Part::default() });
        }
    }
}
