//! Programs with options that run a command or write a file, and programs that do nothing but run others.

use super::options::{Given, given, is_fed, written};
use super::variables;

/// A program that does its own work, unless an option says otherwise.
struct Program {
    names: &'static [&'static str],
    /// Letters that take a value.
    takes: &'static str,
    /// Letters and long options that run something.
    runs: &'static str,
    long: &'static [&'static str],
    /// A letter and a long option that write a file.
    writes: Option<(char, &'static str)>,
}

const fn runs(
    names: &'static [&'static str],
    takes: &'static str,
    runs: &'static str,
    long: &'static [&'static str],
) -> Program {
    Program { names, takes, runs, long, writes: None }
}

const PROGRAMS: &[Program] = &[
    Program { writes: Some(('o', "output")), ..runs(&["sort"], "kStTo", "", &["compress-program"]) },
    Program { writes: Some(('o', "output")), ..runs(&["shuf"], "ino", "", &[]) },
    Program { writes: Some(('o', "output")), ..runs(&["tree"], "LPIHTo", "", &[]) },
    runs(
        &["tar", "gtar", "bsdtar"],
        "fCbgHKLNTVX",
        "IF",
        &[
            "checkpoint-action",
            "use-compress-program",
            "to-command",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
        ],
    ),
    runs(&["cpio"], "EFHIMOR", "", &["rsh-command"]),
    runs(&["split", "gsplit"], "abClnt", "", &["filter"]),
    runs(&["rsync"], "fTBM", "eM", &["rsh", "rsync-path", "remote-option"]),
    runs(&["scp", "sftp", "sshfs"], "cFiJlPXSoDbB", "SoDFb", &[]),
    runs(&["man"], "CRLmMsSeEp", "PHX", &["pager", "html", "gxditview"]),
    runs(&["less", "more", "most"], "", "k", &["lesskey-file", "lesskey-src", "lesskey-content"]),
    runs(&["nc", "ncat", "netcat"], "pswixXqgG", "ec", &["exec", "sh-exec", "lua-exec"]),
    runs(&["wget"], "aeioOPtTwQUDARIBX", "e", &["use-askpass", "execute"]),
    runs(&["rg"], "ABCMTefgjmrtE", "", &["pre", "hostname-bin"]),
    runs(&["fd", "fdfind"], "dteESoc", "xX", &["exec", "exec-batch"]),
    runs(&["ag", "ack", "bat", "batcat", "delta"], "", "", &["pager"]),
    runs(&["fzf", "sk"], "", "", &["preview", "bind", "listen"]),
    runs(&["tcpdump"], "wriCGs", "z", &["postrotate-command"]),
    runs(&["sdiff"], "", "", &["diff-program"]),
    runs(&["install"], "gmotS", "", &["strip-program"]),
    runs(&["gpg", "gpg2"], "", "", &["photo-viewer", "agent-program", "dirmngr-program", "keyserver-options"]),
    runs(&["nodemon", "watchexec", "chokidar", "onchange", "ts-node-dev"], "", "xec", &["exec", "command"]),
    runs(&["ts-node", "tsx", "esno"], "rPO", "ep", &["eval", "print"]),
    runs(&["rake"], "fICGRr", "eEp", &["execute", "execute-print", "execute-continue"]),
    runs(&["ninja", "samu", "scons", "just"], "Cj", "f", &["file", "justfile", "shell"]),
    runs(&["cmake"], "SBGDTAU", "EP", &[]),
    runs(&["apt", "apt-get", "dpkg"], "t", "oc", &["option", "config-file", "pre-invoke", "post-invoke"]),
];

/// What a call does beside what its words say.
#[derive(Default)]
pub(super) struct More {
    /// It may run something else.
    pub(super) runs: bool,
    /// Texts of it that may be commands.
    pub(super) texts: Vec<String>,
    /// Files that it is told to write; absent where one is not known.
    pub(super) writes: Vec<Option<String>>,
}

/// Reads a call of one of these programs. `loose`: a word that only running tells may be an option.
pub(super) fn more(name: &str, words: &[Option<String>], loose: bool) -> More {
    let mut more = More::default();
    let words = &words[1..];
    let known = words.iter().flatten();
    match name {
        "make" | "gmake" | "bmake" | "remake" => return made(words, loose),
        "cargo" => more.runs = known.clone().any(|word| word.starts_with("--config")) || is_first(words, "watch"),
        "npm" | "pnpm" | "yarn" => {
            let options = ["--script-shell", "--node-options", "--shell", "--editor", "--viewer"];
            let is_meant = |word: &String| options.iter().any(|option| word.starts_with(option));
            let runs_env = words.windows(2).any(|pair| pair[1].as_deref() == Some("env"));
            let first = ["explore", "node", "edit"].iter().any(|command| is_first(words, command));
            more.runs = first || runs_env || known.clone().any(is_meant);
        }
        "go" => {
            let option = |word: &str| word.starts_with('-').then(|| word.trim_start_matches('-').to_owned());
            let is_meant =
                |o: String| ["exec", "toolexec", "vettool", "overlay"].iter().any(|meant| o.starts_with(meant));
            more.runs = known.clone().any(|word| option(word).is_some_and(is_meant));
        }
        "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" => {
            more.runs = known
                .clone()
                .any(|w| ["-wrapper", "-fplugin", "-specs", "--specs", "@"].iter().any(|o| w.starts_with(o)));
        }
        // Its second file is written.
        "uniq" => {
            let files = given(words, "fsw").into_iter().filter_map(|given| match given {
                Given::Word(file) => Some(Some(file.to_owned())),
                Given::Unknown => Some(None),
                Given::Letter(..) | Given::Long(..) => None,
            });
            more.writes.extend(files.skip(1));
        }
        "zip" => more.runs = known.clone().any(|word| word.contains("TT") || word.starts_with("--u")),
        "ip" => more.runs = known.clone().any(|word| word == "exec"),
        "less" | "more" | "most" => more.runs = known.clone().any(|word| word.starts_with('+')),
        // Its first word may be a bundle without a dash.
        "tar" | "gtar" | "bsdtar" => {
            more.runs = matches!(words, [Some(first), ..] if !first.starts_with('-') && first.contains(['I', 'F']));
        }
        _ => {}
    }
    let Some(program) = PROGRAMS.iter().find(|program| program.names.contains(&name)) else { return more };
    more.runs |= loose && words.iter().any(Option::is_none);
    let takes = format!("{}{}", program.takes, program.runs);
    let all = given(words, &takes);
    if let Some((letter, long)) = program.writes {
        more.writes.extend(written(&all, letter, long));
    }
    for option in all {
        let (Given::Letter(_, value) | Given::Long(_, value)) = option else { continue };
        if option.is_letter(program.runs) || program.long.iter().any(|long| option.may_be(long)) {
            more.runs = true;
            more.texts.extend(value.map(|text| text.strip_prefix("exec=").unwrap_or(text).to_owned()));
        }
    }
    more
}

/// `make`: rules that it is given as text, or fed, and variables that name programs.
fn made(words: &[Option<String>], loose: bool) -> More {
    let mut more = More { runs: loose && words.iter().any(Option::is_none), ..More::default() };
    for option in given(words, "fCIoWE") {
        match option {
            Given::Letter('f', file) => more.runs |= is_fed(file),
            Given::Letter('E', text) => {
                more.runs = true;
                more.texts.extend(text.map(str::to_owned));
            }
            Given::Long(_, value) => {
                more.runs |=
                    option.may_be("eval") || ((option.may_be("file") || option.may_be("makefile")) && is_fed(value));
            }
            Given::Word(word) => {
                let Some((_, value)) = word.split_once('=') else { continue };
                more.runs |= variables::runs_others(word) || value.contains(['$', '`', ';', '|', '&', '\n']);
                more.texts.push(value.to_owned());
            }
            Given::Letter(..) | Given::Unknown => {}
        }
    }
    more
}

fn is_first(words: &[Option<String>], wanted: &str) -> bool {
    words.iter().flatten().find(|word| !word.starts_with(['-', '+'])).is_some_and(|word| word == wanted)
}

/// Programs that run a command behind a word of their own, in a place where it finds more: packages, a language's tools.
/// Whoever allows such a call allows it by the words that it begins with.
const RUNNERS: &[(&str, &[&str])] = &[
    ("npx", &[]),
    ("pnpx", &[]),
    ("bunx", &[]),
    ("uvx", &[]),
    ("cross-env", &[]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("bun", &["x"]),
    ("poetry", &["run"]),
    ("uv", &["run"]),
    ("pipenv", &["run"]),
    ("pipx", &["run"]),
    ("hatch", &["run"]),
    ("pdm", &["run"]),
    ("rye", &["run"]),
    ("bundle", &["exec"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("asdf", &["exec"]),
    ("opam", &["exec"]),
    ("stack", &["exec"]),
    ("cabal", &["exec"]),
    ("composer", &["exec"]),
];

/// Options of runners that take no word.
const RUNNER_FLAGS: [&str; 12] = [
    "-y",
    "--yes",
    "--no",
    "-q",
    "--quiet",
    "-s",
    "--silent",
    "--no-install",
    "--frozen",
    "--locked",
    "--no-sync",
    "-v",
];

/// The command that a runner runs, and whether that is certain; nothing where it runs none.
pub(super) fn run_by(name: &str, words: &[Option<String>]) -> Option<(Vec<Option<String>>, bool)> {
    let (_, commands) = RUNNERS.iter().find(|(runner, _)| *runner == name)?;
    let mut at = 1;
    let mut certain = true;
    let mut is_inside = commands.is_empty();
    while let Some(word) = words.get(at) {
        match word.as_deref() {
            None => return Some((words[at..].to_vec(), false)),
            Some("--") if is_inside => {
                at += 1;
                break;
            }
            Some("-p" | "--package" | "--with" | "--from" | "--python") if is_inside => at += 1,
            Some(option) if option.starts_with('-') => {
                // Some take a word, some a command; `-c` is one of these.
                certain &= RUNNER_FLAGS.contains(&option) || option.starts_with("--package=");
            }
            Some(_) if is_inside => break,
            Some(command) if commands.contains(&command) => is_inside = true,
            Some(_) if certain => return None,
            Some(_) => {}
        }
        at += 1;
    }
    is_inside.then(|| (words.get(at..).unwrap_or_default().to_vec(), certain))
}
