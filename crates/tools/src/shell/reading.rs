//! Checks whether a command only reads, judged by the names of its programs: `ls`, `git diff`, `rg`. Such commands of one
//! turn run at once. It permits nothing: a command that is taken for one of these by mistake only loses its place in the
//! order.

use updraft_run::SimpleCommand;

/// Programs that only read, whatever their arguments.
const READERS: [&str; 36] = [
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "cut",
    "diff",
    "cmp",
    "file",
    "stat",
    "du",
    "df",
    "pwd",
    "echo",
    "printf",
    "which",
    "type",
    "test",
    "[",
    "true",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "nl",
    "od",
    "strings",
    "md5sum",
    "sha256sum",
    "jq",
    "column",
];

/// Programs that write if they have one of these options.
const READERS_WITHOUT: [(&str, &[&str]); 5] = [
    ("find", &["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("sort", &["-o", "--output"]),
    ("tree", &["-o"]),
    ("date", &["-s", "--set"]),
];

/// Subcommands of git that only read.
const GIT_READERS: [&str; 9] = ["diff", "log", "show", "status", "blame", "grep", "ls-files", "rev-parse", "describe"];

/// Whether every part of a command only reads.
pub(crate) fn only_reads(parts: &[SimpleCommand]) -> bool {
    !parts.is_empty()
        && parts.iter().all(|part| !(part.uncertain || part.hides || part.wraps || part.within) && reads(part))
}

fn reads(part: &SimpleCommand) -> bool {
    let words: Option<Vec<&str>> = part.words.iter().map(Option::as_deref).collect();
    match words.as_deref() {
        Some(["cd", _] | [">", "/dev/null"]) => true,
        Some(["git", verb, rest @ ..]) => {
            GIT_READERS.contains(verb)
                && !rest.iter().any(|word| word.starts_with("--output") || word.starts_with("--ext"))
        }
        // In place, or by a script of its own, it writes; the usual form prints lines.
        Some(["sed", "-n", script, ..]) => {
            script.ends_with('p') && script.chars().all(|c| c.is_ascii_digit() || ",$p".contains(c))
        }
        Some([program, rest @ ..]) => {
            let unless = READERS_WITHOUT.iter().find(|(name, _)| name == program).map(|(_, options)| *options);
            let has = |options: &[&str]| rest.iter().any(|word| options.iter().any(|option| word.starts_with(option)));
            READERS.contains(program) || unless.is_some_and(|options| !has(options))
        }
        Some([]) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::shell::{only_reads, parts};

    #[test]
    fn plain_words_that_only_read_are_known_and_everything_else_may_write() {
        for text in [
            "ls -la",
            "cd src && ls | head -5",
            "git diff HEAD~1 -- src",
            "rg -n 'fn main' src | wc -l",
            "cat a.txt 2>/dev/null; git status --short",
            "find . -name '*.rs' | sort | head",
            "sed -n '10,20p' a.txt",
        ] {
            assert!(only_reads(&parts(text)), "{text}");
        }
        for text in [
            "",
            "ls > files.txt",
            "cat $(touch x)",
            "git commit -m x",
            "git diff --output=x",
            "find . -name x -delete",
            "sort -o a a",
            "sed -i s/a/b/ a.txt",
            "sed -n 'w x' a.txt",
            "pytest -q",
            "ls; rm x",
            "for f in *; do cat $f; done",
            "env ls",
        ] {
            assert!(!only_reads(&parts(text)), "{text}");
        }
    }
}
