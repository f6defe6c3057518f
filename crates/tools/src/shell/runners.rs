//! Simple commands that run other commands: which of them are looked into, and which cannot be.

use updraft_run::SimpleCommand;

use super::{DEEPEST, add_parts, unknown};

/// Programs that run the command given after them: the number of their own arguments that come first, and the letters
/// of their options without and with a value. With other options they are not parsed.
const WRAPPERS: [(&str, usize, &str, &str); 11] = [
    ("env", 0, "", ""),
    ("time", 0, "p", ""),
    ("nohup", 0, "", ""),
    ("nice", 0, "", "n"),
    ("ionice", 0, "t", "cn"),
    ("command", 0, "", ""),
    ("builtin", 0, "", ""),
    ("exec", 0, "", ""),
    ("export", 0, "", ""),
    ("timeout", 1, "", ""),
    ("xargs", 0, "0rt", "nLPI"),
];
/// Programs that fetch or look up the program they are told to run, and the subcommands that tell them. They decide
/// which program that is, so the inner command is allowed together with them, but denied by its own name.
const PACKAGED: [(&str, &str); 16] = [
    ("npx", ""),
    ("bunx", ""),
    ("pnpx", ""),
    ("uvx", ""),
    ("npm", "exec"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "run"),
    ("pipx", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("bundle", "exec"),
    ("python", "-m"),
];
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
/// Programs that run others in ways that are not parsed: as another user, elsewhere, later, or from a text.
const RUNNERS: [&str; 33] = [
    "sudo",
    "doas",
    "su",
    "ssh",
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "fish",
    "parallel",
    "watch",
    "setsid",
    "stdbuf",
    "chroot",
    "busybox",
    "script",
    "flock",
    "strace",
    "taskset",
    "unshare",
    "nsenter",
    "let",
    "compgen",
    "mapfile",
    "readarray",
    "hash",
    "enable",
    "unset",
    "read",
    "declare",
    "typeset",
    "local",
];
/// Commands of bash that run what is in the index of a variable that they are given with `-v`: `printf -v 'a[$(…)]'`.
const INDEXERS: [&str; 3] = ["printf", "test", "["];
/// Keywords of the shell that begin something other than a simple command.
const KEYWORDS: [&str; 18] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "coproc", "!", "[[", "{}",
];
/// Interpreters, the letters of their options that are followed by a program text, and of those followed by something
/// else.
const INTERPRETERS: [&str; 10] = ["python", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "Rscript"];
const TEXTS: &str = "ceEpr";
const VALUES: &str = "mMWX";
/// Their options that take a value in the next word.
const VALUED: [&str; 5] = ["-W", "-X", "-I", "--require", "--import"];
/// Variables that make programs run something else: by name, by prefix and by suffix.
const STEERS: [&str; 6] = ["PATH", "ENV", "BASH_ENV", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS"];
const STEERS_BEGIN: [&str; 2] = ["LD_", "GIT_"];
const STEERS_END: [&str; 5] = ["EDITOR", "PAGER", "SHELL", "_COMMAND", "WRAPPER"];

/// Adds one simple command, and the commands that it runs.
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

/// `NAME=value` before a command. If the variable could name a program, it is uncertain what the command runs.
fn assignment(word: String) -> SimpleCommand {
    let name = word.split('=').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let steers = STEERS.contains(&name)
        || STEERS_BEGIN.iter().any(|begin| name.starts_with(begin))
        || STEERS_END.iter().any(|end| name.ends_with(end));
    SimpleCommand { uncertain: !is_name || steers, words: vec![Some(word)], ..SimpleCommand::default() }
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
        || (INDEXERS.contains(&name) && rest.iter().any(|word| word.is_none_or(|word| word.starts_with("-v"))))
        || (name == "find" && rest.iter().any(|word| word.is_none_or(is_action)));
    // `python3.12` is `python`.
    let language = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let hides = INTERPRETERS.contains(&language) && takes_text(&rest);
    let packaged = packaged(language, &words);
    let (wraps, uncertain) =
        (matches!(inner, Inner::Words(_) | Inner::Text(_)), runs || matches!(inner, Inner::Unknown));
    parts.push(SimpleCommand { words, uncertain, hides, wraps, within: false });
    match inner {
        Inner::Words(words) => add(words, depth + 1, parts),
        Inner::Text(text) => add_parts(&text, depth + 1, parts),
        Inner::Nothing | Inner::Unknown => {}
    }
    if let Some(words) = packaged {
        let first = parts.len();
        add(words, depth + 1, parts);
        for part in &mut parts[first..] {
            part.within = true;
        }
    }
}

/// Whether an interpreter gets a program as text: by an option before the first argument, or because it has no
/// arguments at all.
fn takes_text(rest: &[Option<&str>]) -> bool {
    let mut words = rest.iter().copied().peekable();
    while let Some(word) = words.next() {
        let Some(word) = word else { return true };
        let Some(option) = word.strip_prefix('-') else { return word == "eval" };
        let is_text = match option.strip_prefix('-') {
            Some(long) => long.starts_with("eval") || long.starts_with("print"),
            None => option.is_empty() || option.chars().take_while(|c| !VALUES.contains(*c)).any(|c| TEXTS.contains(c)),
        };
        if is_text {
            return true;
        }
        if VALUED.contains(&word) {
            words.next_if(|next| next.is_some_and(|next| !next.starts_with('-')));
        }
    }
    rest.is_empty()
}

/// The command that a package runner runs, if this is one; a single unknown word if options hide it.
fn packaged(name: &str, words: &[Option<String>]) -> Option<Vec<Option<String>>> {
    let second = words.get(1)?.as_deref().unwrap_or_default();
    let is_told = |with: &str| PACKAGED.contains(&(name, with));
    // These run any word that is not one of their own subcommands.
    let runs_others = matches!(name, "pnpm" | "yarn") && !second.starts_with('-');
    let own = if is_told(second) && !second.is_empty() {
        2
    } else if is_told("") || runs_others {
        1
    } else {
        return None;
    };
    let Some((inner, _)) = behind_options(&words[own..], "y", "") else { return Some(vec![None]) };
    let mut inner = inner.to_vec();
    if let Some(Some(program)) = inner.first_mut() {
        // `vercel@latest`, `@scope/name@1`
        program.truncate(program.rfind('@').filter(|at| *at > 0).unwrap_or(program.len()));
    }
    Some(inner)
}

/// The words after options of these letters, and the value of `-I`; `None` if there are other options.
fn behind_options<'w>(
    mut words: &'w [Option<String>],
    plain: &str,
    valued: &str,
) -> Option<(&'w [Option<String>], Option<&'w str>)> {
    let mut stands_for_input = None;
    while let Some((Some(word), behind)) = words.split_first() {
        let Some(letters) = word.strip_prefix('-') else { break };
        words = behind;
        if letters == "-" {
            break;
        }
        let flags = letters.trim_start_matches(|c| plain.contains(c));
        let mut rest = flags.chars();
        match rest.next() {
            None if !letters.is_empty() => {}
            Some(letter) if valued.contains(letter) => {
                let mut value = rest.as_str();
                if value.is_empty() {
                    let (next, behind) = words.split_first()?;
                    (value, words) = (next.as_deref()?, behind);
                }
                stands_for_input = Some(value).filter(|_| letter == 'I').or(stands_for_input);
            }
            _ => return None,
        }
    }
    Some((words, stands_for_input))
}

/// The command that a command runs besides itself.
enum Inner {
    Nothing,
    Words(Vec<Option<String>>),
    Text(String),
    Unknown,
}

/// For a shell: the text after `-c`. Script files are not looked into, and its standard input is not known.
fn script(mut rest: &[Option<&str>]) -> Inner {
    let is_option = |word: &str| word.starts_with(['-', '+']);
    let is_stream = |word: &str| word.starts_with("/dev/") || word.starts_with("/proc/");
    let mut has_text = false;
    while let [Some(word), behind @ ..] = rest {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
        rest = match (letters.matches('o').count(), behind) {
            _ if !letters.bytes().all(|letter| b"celouvx".contains(&letter)) => return Inner::Unknown,
            (0, _) => behind,
            // `-o pipefail`
            (1, [Some(name), behind @ ..]) if name.bytes().all(|b| b.is_ascii_lowercase()) => behind,
            _ => return Inner::Unknown,
        };
        has_text |= letters.contains('c');
    }
    match rest {
        [Some(text), ..] if has_text && !is_option(text) => Inner::Text((*text).to_owned()),
        [Some(file), ..] if !has_text && !is_option(file) && !is_stream(file) => Inner::Nothing,
        _ => Inner::Unknown,
    }
}

fn wrapped(name: &str, words: &[Option<String>]) -> Inner {
    let Some((_, own, plain, valued)) = WRAPPERS.iter().find(|wrapper| wrapper.0 == name) else {
        return Inner::Nothing;
    };
    if name == "command" && words.get(1).is_some_and(|word| matches!(word.as_deref(), Some("-v" | "-V"))) {
        return Inner::Nothing;
    }
    let is_option = |word: &Option<String>| word.as_ref().is_none_or(|word| word.starts_with('-'));
    let behind = behind_options(&words[1..], plain, valued);
    let Some((words, input)) = behind.filter(|(words, _)| !words.iter().take(own + 1).any(is_option)) else {
        return Inner::Unknown;
    };
    let mut inner: Vec<Option<String>> = words.iter().skip(*own).cloned().collect();
    if name == "xargs" {
        // `xargs` puts its input after the words, or into them.
        let is_fed = |word: &String| input.is_some_and(|input| word.contains(input));
        for word in &mut inner {
            *word = word.take().filter(|word| !is_fed(word));
        }
        inner.push(None);
    }
    if inner.is_empty() { Inner::Nothing } else { Inner::Words(inner) }
}

/// Whether an argument of `find` runs or removes something.
fn is_action(word: &str) -> bool {
    ["-exec", "-ok", "-delete"].iter().any(|action| word.starts_with(action))
}
