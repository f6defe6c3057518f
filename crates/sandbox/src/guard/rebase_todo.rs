//! Checks the todo list of a rebase: lines for git, some of which run programs.
//!
//! The file must stay writable, since every step of a rebase rewrites it. So it is judged by which programs it newly
//! runs.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::harmless;

/// Commands that git carries out itself, by long and short name. All others may run a program.
const OWN: [&str; 24] = [
    "pick",
    "p",
    "revert",
    "edit",
    "e",
    "reword",
    "r",
    "fixup",
    "f",
    "squash",
    "s",
    "break",
    "b",
    "label",
    "l",
    "reset",
    "t",
    "merge",
    "m",
    "drop",
    "d",
    "update-ref",
    "u",
    "noop",
];

/// Most bytes of a todo list; real ones are not longer.
const LONGEST: u64 = 16 << 20;

/// Reads a list. Commit subjects in it may be in any encoding; git only uses the commit ids.
pub(super) fn read(root: &OwnedFd, path: &Path) -> Option<String> {
    harmless::bytes(root, path, LONGEST).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether any line runs something that no line ran before.
pub(super) fn runs_more(before: &str, now: &str) -> bool {
    let known = running(before);
    running(now).iter().any(|line| !known.contains(line))
}

/// The list without the lines that newly run something.
pub(super) fn without_new(before: &str, now: &str) -> String {
    let known = running(before);
    let kept = now.lines().filter(|line| !runs(line) || known.contains(line.trim()));
    kept.flat_map(|line| [line, "\n"]).collect()
}

fn running(text: &str) -> BTreeSet<&str> {
    text.lines().filter(|line| runs(line)).map(str::trim).collect()
}

fn runs(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    // Comments begin with a character that is not a letter; which one can be configured.
    word.starts_with(|letter: char| letter.is_alphabetic()) && !OWN.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_told_from_what_git_does_itself() {
        let plain = "pick 12 one\n# exec in words\n\nbreak\nfixup -C 34\nupdate-ref refs/heads/x\n; x\n";
        assert!(!runs_more("", plain));
        for line in ["exec evil", "x evil", "  x\tevil", "\texec evil", "run evil", "exec"] {
            assert!(runs_more(plain, &format!("{plain}{line}\n")), "{line}");
        }
        assert!(!runs_more("exec make\npick 12\n", "exec make\n"));
        assert_eq!(without_new("exec make\n", "pick 1\nexec make\nx evil\n"), "pick 1\nexec make\n");
    }
}
