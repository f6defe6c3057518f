//! Simple commands that run others: which of them are looked into, and which cannot be.

use updraft_run::SimpleCommand;

use super::{DEEPEST, add_parts, unknown};

/// Programs that run the words behind them, and how many words of their own come first. With options they are not read.
const WRAPPERS: [(&str, usize); 10] = [
    ("env", 0),
    ("time", 0),
    ("nohup", 0),
    ("nice", 0),
    ("command", 0),
    ("builtin", 0),
    ("exec", 0),
    ("export", 0),
    ("timeout", 1),
    ("xargs", 0),
];
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
/// What runs others in ways that are not read: as somebody else, elsewhere, later, or from a text.
const RUNNERS: [&str; 17] = [
    "sudo", "doas", "su", "ssh", "eval", "source", ".", "trap", "alias", "fish", "parallel", "watch", "setsid",
    "stdbuf", "chroot", "busybox", "script",
];
/// Words of the shell's language with which something else than a simple command begins.
const KEYWORDS: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "coproc", "!", "[[",
];
/// Languages, and the options that a program in them follows.
const INTERPRETERS: [&str; 10] = ["python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "Rscript"];
const TEXTS: [&str; 9] = ["-", "-c", "-e", "-E", "-p", "-r", "--eval", "--print", "eval"];

/// Adds one simple command, and what it runs.
pub(super) fn add(words: Vec<Option<String>>, depth: usize, parts: &mut Vec<SimpleCommand>) {
    let mut words = words.into_iter().peekable();
    while let Some(Some(word)) = words.next_if(|word| word.as_deref().is_some_and(|word| word.contains('='))) {
        parts.push(assignment(word));
    }
    let words: Vec<Option<String>> = words.collect();
    if !words.is_empty() {
        program(words, depth, parts);
    }
}

/// `NAME=value` before a command. A value that could name a program, a place or a command makes the rest uncertain.
fn assignment(word: String) -> SimpleCommand {
    let (name, value) = word.split_once('=').unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-,=".contains(&b));
    SimpleCommand {
        uncertain: !is_name || !is_plain || name.ends_with("PATH"),
        words: vec![Some(word)],
        ..SimpleCommand::default()
    }
}

fn program(words: Vec<Option<String>>, depth: usize, parts: &mut Vec<SimpleCommand>) {
    let Some(Some(first)) = words.first().filter(|_| depth <= DEEPEST) else {
        parts.push(SimpleCommand { words, ..unknown() });
        return;
    };
    let name = first.rsplit('/').next().unwrap_or(first);
    let rest: Vec<Option<&str>> = words[1..].iter().map(Option::as_deref).collect();
    let inner = if SHELLS.contains(&name) { script(&rest) } else { wrapped(name, &words) };
    let runs = RUNNERS.contains(&name)
        || KEYWORDS.contains(&name)
        || (name == "find" && rest.iter().any(|word| word.is_none_or(is_action)));
    let is_text = |word: Option<&str>| word.is_none_or(|word| TEXTS.contains(&word));
    let hides = INTERPRETERS.contains(&name) && (rest.is_empty() || rest.iter().copied().any(is_text));
    let (wraps, uncertain) =
        (matches!(inner, Inner::Words(_) | Inner::Text(_)), runs || matches!(inner, Inner::Unknown));
    parts.push(SimpleCommand { words, uncertain, hides, wraps });
    match inner {
        Inner::Words(words) => add(words, depth + 1, parts),
        Inner::Text(text) => add_parts(&text, depth + 1, parts),
        Inner::Nothing | Inner::Unknown => {}
    }
}

/// What a command runs beside itself.
enum Inner {
    Nothing,
    Words(Vec<Option<String>>),
    Text(String),
    Unknown,
}

/// Of a shell: the text behind `-c`. A script's file is not looked into, and what is fed to it is not known.
fn script(rest: &[Option<&str>]) -> Inner {
    let is_option = |word: &str| word.starts_with(['-', '+']);
    let is_stream = |word: &str| word.starts_with("/dev/") || word.starts_with("/proc/");
    match rest {
        [Some("-c" | "-lc" | "-ec" | "-euc" | "-xc"), Some(text), ..] if !is_option(text) => {
            Inner::Text((*text).to_owned())
        }
        [Some(file), ..] if !is_option(file) && !is_stream(file) => Inner::Nothing,
        _ => Inner::Unknown,
    }
}

fn wrapped(name: &str, words: &[Option<String>]) -> Inner {
    let Some((_, own)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) else { return Inner::Nothing };
    let is_option = |word: &Option<String>| word.as_ref().is_none_or(|word| word.starts_with('-'));
    if name == "command" && words.get(1).is_some_and(|word| matches!(word.as_deref(), Some("-v" | "-V"))) {
        return Inner::Nothing;
    }
    if words.iter().skip(1).take(own + 1).any(is_option) {
        return Inner::Unknown;
    }
    let mut inner: Vec<Option<String>> = words.iter().skip(1 + own).cloned().collect();
    if name == "xargs" {
        // What it is fed.
        inner.push(None);
    }
    if inner.is_empty() { Inner::Nothing } else { Inner::Words(inner) }
}

/// Whether a word of `find` runs or removes something.
fn is_action(word: &str) -> bool {
    ["-exec", "-ok", "-delete"].iter().any(|action| word.starts_with(action))
}
