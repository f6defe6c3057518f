//! What `git` runs and writes for others: aliases, programs named in its settings and options, commands for each of many
//! commits, and files that it is told to write.

use super::options::{Given, given};

/// Settings that name no program and change none.
const HARMLESS: [&str; 7] =
    ["user.name", "user.email", "color.", "advice.", "init.defaultbranch", "commit.gpgsign", "gc.auto"];

/// Options before the command that take no word.
const FLAGS: [&str; 17] = [
    "-p",
    "-P",
    "-v",
    "-h",
    "--paginate",
    "--no-pager",
    "--bare",
    "--no-replace-objects",
    "--no-optional-locks",
    "--no-lazy-fetch",
    "--no-advice",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--version",
    "--help",
];

/// Commands that run what they are told, or what they are fed.
const RUNNERS: [&str; 21] = [
    "filter-branch",
    "shell",
    "send-email",
    "daemon",
    "remote-ext",
    "remote-fd",
    "for-each-repo",
    "merge-index",
    "instaweb",
    "web--browse",
    "imap-send",
    "upload-pack",
    "receive-pack",
    "upload-archive",
    "http-backend",
    "credential",
    "hook",
    "gui",
    "citool",
    "cvsserver",
    "mergetool--lib",
];

/// What a command's options do: its name, the letters that take a value, those that run something, the long ones that do.
type Command = (&'static str, &'static str, &'static str, &'static [&'static str]);

const COMMANDS: [Command; 22] = [
    ("clone", "objuc", "uc", &["upload-pack", "config", "template"]),
    ("fetch", "jo", "", &["upload-pack"]),
    ("pull", "jsX", "", &["upload-pack"]),
    ("push", "o", "", &["receive-pack", "exec"]),
    ("ls-remote", "o", "", &["upload-pack", "exec"]),
    ("fetch-pack", "", "", &["upload-pack", "exec"]),
    ("send-pack", "", "", &["receive-pack", "exec"]),
    ("archive", "o", "", &["exec"]),
    ("remote", "tm", "", &["upload-pack", "exec"]),
    ("submodule", "bj", "", &["upload-pack"]),
    ("init", "b", "", &["template"]),
    ("grep", "eABCfmO", "O", &["open-files-in-pager"]),
    ("diff", "SGUlO", "", &["ext-diff"]),
    ("log", "nSGLUlO", "", &["ext-diff"]),
    ("show", "nSGLUlO", "", &["ext-diff"]),
    ("stash", "mSGU", "", &["ext-diff"]),
    ("format-patch", "ovn", "", &["ext-diff"]),
    ("shortlog", "", "", &[]),
    ("rebase", "CsXx", "x", &["exec"]),
    ("difftool", "xtSGU", "xt", &["extcmd", "tool"]),
    ("mergetool", "tO", "t", &["tool"]),
    ("bisect", "", "", &[]),
];

/// What a call of `git` does beside what its words say.
#[derive(Default)]
pub(super) struct More {
    /// It may run what one of its words says.
    pub(super) runs: bool,
    /// Files that it is told to write; absent where one is not known.
    pub(super) writes: Vec<Option<String>>,
}

/// Reads a call. `loose`: a word that only running tells may be an option.
pub(super) fn more(words: &[Option<String>], loose: bool) -> More {
    let runs = More { runs: true, ..More::default() };
    let mut at = 1;
    let command = loop {
        let next = |at: usize| words.get(at + 1).and_then(Option::as_deref);
        match words.get(at).map(Option::as_deref) {
            None => return More::default(),
            Some(None) => return runs,
            Some(Some("-c")) if !next(at).is_some_and(is_harmless) => return runs,
            Some(Some("-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace")) => at += 1,
            Some(Some(option)) if option.starts_with("--config-env") || option.starts_with("--exec-path=") => {
                return runs;
            }
            Some(Some(option)) if option.starts_with('-') => {
                if !FLAGS.contains(&option) && !option.contains('=') {
                    return runs;
                }
            }
            Some(Some(command)) => break command,
        }
        at += 1;
    };
    let others = &words[at + 1..];
    let (_, takes, letters, names) = COMMANDS.iter().find(|known| known.0 == command).copied().unwrap_or_default();
    let all = given(others, takes);
    let names_program = |given: &Given<'_>| {
        given.is_letter(letters)
            || names.iter().any(|name| given.may_be(name))
            || matches!(given, Given::Word(word) if word.starts_with("ext::") || word.starts_with("fd::"))
    };
    let has = |wanted: &str| all.contains(&Given::Word(wanted));
    let by_command = match command {
        "config" => {
            let verbs = ["get", "set", "list", "unset", "edit"];
            let is_key = |given: &&Given<'_>| match given {
                Given::Word(word) => !verbs.contains(word),
                Given::Unknown => true,
                Given::Letter(..) | Given::Long(..) => false,
            };
            all.iter().find(is_key).is_some_and(|key| !matches!(key, Given::Word(key) if is_harmless(key)))
        }
        "bisect" => has("run"),
        "submodule" => has("foreach"),
        _ => RUNNERS.contains(&command) || command.starts_with("credential-"),
    };
    // A word that may be an option may be one of these.
    let is_known = COMMANDS.iter().any(|known| known.0 == command);
    let by_unknown = loose && is_known && others.iter().any(Option::is_none);
    More { runs: by_command || by_unknown || all.iter().any(names_program), writes: written(command, &all) }
}

fn written(command: &str, all: &[Given<'_>]) -> Vec<Option<String>> {
    let one = |given: &Given<'_>| match given {
        Given::Letter('o', value) if ["archive", "format-patch"].contains(&command) => Some(value.map(str::to_owned)),
        Given::Long("output" | "output-directory", value) => Some(value.map(str::to_owned)),
        Given::Long(name, value) if name.len() > 2 && "output".starts_with(name) => Some(value.map(str::to_owned)),
        _ => None,
    };
    all.iter().filter_map(one).collect()
}

fn is_harmless(setting: &str) -> bool {
    let setting = setting.to_lowercase();
    HARMLESS.iter().any(|name| setting.starts_with(name))
}
