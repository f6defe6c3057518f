//! Commands that run others: `env`, `sudo`, `timeout 5`, `xargs`, `sh -c "…"`, `eval`, `find -exec`.

use updraft_run::Part;

use super::Found;
use super::word::is_assignment;
use super::{git, sed, variables};

/// A program that runs the command behind its options.
struct Wrapper {
    name: &'static str,
    /// Options that take the next word, as letters; long ones are written with `=` or taken as unclear.
    takes: &'static str,
    /// Words of its own that stand before the command.
    own: usize,
    /// It changes nothing about what the command may do.
    plain: bool,
}

const fn wrapper(name: &'static str, takes: &'static str, own: usize, plain: bool) -> Wrapper {
    Wrapper { name, takes, own, plain }
}

const WRAPPERS: [Wrapper; 26] = [
    wrapper("env", "uC", 0, true),
    wrapper("nohup", "", 0, true),
    wrapper("time", "fo", 0, true),
    wrapper("timeout", "ks", 1, true),
    wrapper("nice", "n", 0, true),
    wrapper("ionice", "cnp", 0, true),
    wrapper("stdbuf", "ioe", 0, true),
    wrapper("setsid", "", 0, true),
    wrapper("command", "", 0, true),
    wrapper("builtin", "", 0, true),
    wrapper("exec", "a", 0, true),
    wrapper("xargs", "InPLdEsa", 0, true),
    wrapper("busybox", "", 0, false),
    wrapper("toybox", "", 0, false),
    wrapper("sudo", "ugpChDRrTtU", 0, false),
    wrapper("doas", "uC", 0, false),
    wrapper("chroot", "", 1, false),
    wrapper("unshare", "SG", 0, false),
    wrapper("nsenter", "tSG", 0, false),
    wrapper("strace", "eopsuE", 0, false),
    wrapper("ltrace", "eopsu", 0, false),
    wrapper("flock", "wE", 1, false),
    wrapper("watch", "n", 0, false),
    wrapper("runuser", "ugG", 0, false),
    wrapper("chrt", "TPD", 1, true),
    wrapper("taskset", "", 1, true),
];

/// Commands whose words are commands in ways of their own.
const UNCLEAR: [&str; 58] = [
    "trap",
    "su",
    "script",
    "parallel",
    "ssh",
    ".",
    "source",
    "alias",
    "hash",
    "enable",
    "sg",
    "newgrp",
    "fish",
    "csh",
    "tcsh",
    "setpriv",
    "prlimit",
    "setarch",
    "numactl",
    "uclampset",
    "systemd-run",
    "bwrap",
    "firejail",
    "fakeroot",
    "pkexec",
    "unbuffer",
    "expect",
    "xvfb-run",
    "dbus-run-session",
    "tmux",
    "screen",
    "at",
    "batch",
    "entr",
    "valgrind",
    "linux32",
    "linux64",
    "i386",
    "i686",
    "x86_64",
    "uname26",
    "ld.so",
    "gdb",
    "perf",
    "proot",
    "schroot",
    "capsh",
    "rlwrap",
    "start-stop-daemon",
    "run-parts",
    "crontab",
    "socat",
    "faketime",
    "eatmydata",
    "mapfile",
    "readarray",
    "compgen",
    "complete",
];

/// What takes the name of a variable, and with it `a[$(…)]`.
const NAMES: [&str; 11] =
    ["test", "[", "printf", "read", "unset", "let", "declare", "typeset", "local", "export", "readonly"];

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash"];

impl Found {
    /// Takes one simple command, and what it runs.
    pub(super) fn unwrap(&mut self, words: Vec<Option<String>>, depth: usize) {
        let Some(Some(first)) = words.first() else {
            self.add(Part { words, uncertain: true, ..Part::default() });
            return;
        };
        let name = first.rsplit('/').next().unwrap_or(first).to_owned();
        if depth > super::DEEPEST {
            self.add(Part { words, uncertain: true, ..Part::default() });
        } else if SHELLS.contains(&name.as_str()) {
            self.shell(words, depth);
        } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            self.wrapper(wrapper, words, depth);
        } else {
            match name.as_str() {
                "eval" => self.eval(words, depth),
                "git" if git::runs_others(&words) => self.unclear(words, depth),
                name if UNCLEAR.contains(&name) || is_loader(name) => self.unclear(words, depth),
                name if NAMES.contains(&name)
                    && words.iter().flatten().any(|word| variables::holds_subscript(word)) =>
                {
                    self.unclear(words, depth);
                }
                "find" => self.find(words, depth),
                "sed" | "gsed"
                    if words[1..].iter().flatten().any(|word| sed::does_more(word.trim_start_matches("-e"))) =>
                {
                    self.unclear(words, depth);
                }
                _ => self.add(Part { words, ..Part::default() }),
            }
        }
    }

    /// `sh -c "…"` runs a text; without it a file, or what it is fed.
    fn shell(&mut self, words: Vec<Option<String>>, depth: usize) {
        let mut rest = words[1..].iter();
        let mut runs_text = false;
        let mut script = None;
        let mut is_file = false;
        let mut is_fed = false;
        let mut no_more_options = false;
        while let Some(word) = rest.next() {
            match word.as_deref() {
                None => break,
                Some("--rcfile" | "--init-file") if !no_more_options => is_fed |= matches!(rest.next(), Some(None)),
                Some("--" | "-") if !no_more_options => no_more_options = true,
                Some(option) if !no_more_options && option.len() > 1 && option.starts_with(['-', '+']) => {
                    if option.starts_with("--") {
                        continue;
                    }
                    runs_text |= option.starts_with('-') && option.contains('c');
                    is_fed |= option.contains('s');
                    // Each takes a word, wherever among the letters it stands.
                    for _ in option.matches(['o', 'O']) {
                        is_fed |= matches!(rest.next(), Some(None));
                    }
                }
                Some(text) => {
                    script = Some(text.to_owned());
                    is_file = !runs_text && !["/dev/", "/proc/"].iter().any(|place| text.starts_with(place));
                    break;
                }
            }
        }
        let script = script.filter(|_| runs_text);
        let uncertain = (script.is_none() && !is_file) || is_fed;
        self.add(Part { wraps: script.is_some(), words, uncertain });
        if let Some(script) = script {
            self.read(&script, depth + 1);
        }
    }

    fn wrapper(&mut self, wrapper: &Wrapper, words: Vec<Option<String>>, depth: usize) {
        let mut at = 1;
        let mut own = wrapper.own;
        let mut unclear = false;
        let mut texts = Vec::new();
        let mut assigned = Vec::new();
        while let Some(word) = words.get(at) {
            let Some(word) = word.as_deref() else {
                // An option, or a command: nobody can tell.
                unclear |= own == 0;
                own = own.saturating_sub(1);
                if own == 0 && unclear {
                    break;
                }
                at += 1;
                continue;
            };
            if word == "--" {
                at += 1;
                break;
            }
            if own == 0 && is_assignment(word) {
                assigned.push(word.to_owned());
            } else if word == "-" && wrapper.name == "env" {
                // With nothing of the environment.
            } else if word.len() > 1 && word.starts_with('-') {
                at += usize::from(takes_next(wrapper, word));
                unclear |= word.starts_with("--") && !word.contains('=');
                // Texts that are commands: `env -S "…"`, `env -iS "…"`, `flock file -c "…"`.
                let split = (!word.starts_with("--")).then(|| word.split_once('S')).flatten();
                if split.is_some() || word.starts_with("--s") || word == "-c" {
                    unclear = true;
                    texts.extend(words.get(at + 1).cloned().flatten());
                    texts.extend(split.map(|(_, text)| text.to_owned()));
                    texts.extend(word.split_once('=').map(|(_, text)| text.to_owned()));
                }
            } else if own > 0 {
                own -= 1;
            } else {
                break;
            }
            at += 1;
        }
        let looks_up = wrapper.name == "command" && matches!(words.get(1), Some(Some(o)) if o == "-v" || o == "-V");
        let mut inner: Vec<Option<String>> = words.get(at..).unwrap_or_default().to_vec();
        if wrapper.name == "xargs" && !inner.is_empty() {
            let mark = replaced(&words[1..at.min(words.len())]);
            let is_marked = |word: &str| mark.as_ref().is_some_and(|mark| word.contains(mark.as_str()));
            inner.iter_mut().filter(|word| word.as_deref().is_some_and(is_marked)).for_each(|word| *word = None);
            inner.push(None);
        }
        let runs = !inner.is_empty() && !looks_up;
        self.add(Part { wraps: wrapper.plain && runs, uncertain: unclear, words });
        for word in assigned {
            self.assign(word, depth);
        }
        for text in texts {
            self.read(&text, depth + 1);
        }
        if runs && wrapper.name == "watch" {
            // It gives its words to a shell.
            self.joined(&inner, depth);
        } else if runs {
            self.unwrap(inner, depth + 1);
        }
    }

    /// A variable that is set. What it makes others run is read, and nothing is sure.
    pub(super) fn assign(&mut self, assignment: String, depth: usize) {
        let uncertain = variables::runs_others(&assignment);
        let text = assignment.split_once('=').map(|(_, value)| value.to_owned()).filter(|_| uncertain);
        self.add(Part { words: vec![Some(assignment)], uncertain, ..Part::default() });
        if let Some(text) = text {
            self.read(text.trim_start_matches('!'), depth + 1);
        }
    }

    fn eval(&mut self, words: Vec<Option<String>>, depth: usize) {
        let rest = words[1..].to_vec();
        let known = rest.iter().all(Option::is_some);
        self.add(Part { wraps: known, uncertain: !known, words });
        self.joined(&rest, depth);
    }

    /// Words that are put together and read as a command; what is not known among them makes it unclear.
    fn joined(&mut self, words: &[Option<String>], depth: usize) {
        if words.iter().any(Option::is_none) {
            self.doubt();
        }
        let text: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
        self.read(&text.join(" "), depth + 1);
    }

    /// A command whose words are texts for a shell in ways of its own: each is read, and nothing is sure.
    fn unclear(&mut self, words: Vec<Option<String>>, depth: usize) {
        let texts: Vec<String> = words[1..].iter().flatten().filter(|word| !word.starts_with('-')).cloned().collect();
        self.add(Part { words, uncertain: true, ..Part::default() });
        for text in texts.iter().take(8) {
            self.read(text, depth + 1);
        }
        self.read(&texts.join(" "), depth + 1);
    }

    /// `find … -exec command … ;`
    fn find(&mut self, words: Vec<Option<String>>, depth: usize) {
        let is_exec = |word: &Option<String>| matches!(word.as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
        let mut commands = Vec::new();
        let mut rest = words.as_slice();
        while let Some(at) = rest.iter().position(is_exec) {
            rest = &rest[at + 1..];
            let ends = |word: &Option<String>| matches!(word.as_deref(), Some(";" | "+"));
            let end = rest.iter().position(ends).unwrap_or(rest.len());
            commands.push(rest[..end].to_vec());
            rest = &rest[end..];
        }
        let writes =
            |word: &&[Option<String>]| matches!(word[0].as_deref(), Some("-fprint" | "-fprint0" | "-fprintf" | "-fls"));
        for pair in words.windows(2).filter(writes) {
            self.add(Part { words: vec![Some(">".to_owned()), pair[1].clone()], ..Part::default() });
        }
        let unknown = words.iter().skip(1).any(Option::is_none);
        // A word that is not known could be `-exec`, but it is nearly always a folder or a name.
        self.add(Part { words, uncertain: unknown && !commands.is_empty(), ..Part::default() });
        for mut command in commands {
            for word in command.iter_mut().filter(|word| word.as_deref().is_some_and(|word| word.contains("{}"))) {
                *word = None;
            }
            if !command.is_empty() {
                self.unwrap(command, depth + 1);
            }
        }
    }
}

/// The program that loads others, which can be called by hand.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld64")
}

/// What `xargs` puts its input in place of, if it does.
fn replaced(options: &[Option<String>]) -> Option<String> {
    let at = options.iter().flatten().position(|word| ["-I", "-i", "--replace"].iter().any(|o| word.starts_with(o)))?;
    let known: Vec<&String> = options.iter().flatten().collect();
    let after = known[at].trim_start_matches("--replace").trim_start_matches("-I").trim_start_matches("-i");
    match after.trim_start_matches('=') {
        "" if known[at] == "-I" => known.get(at + 1).map(|&mark| mark.clone()),
        "" => Some("{}".to_owned()),
        mark => Some(mark.to_owned()),
    }
}

/// Whether the value of an option is the next word.
fn takes_next(wrapper: &Wrapper, option: &str) -> bool {
    let mut letters = option.trim_start_matches('-').chars();
    match (option.starts_with("--"), letters.next_back()) {
        (false, Some(last)) => {
            wrapper.takes.contains(last) && letters.as_str().chars().all(|c| !wrapper.takes.contains(c))
        }
        (true, _) | (false, None) => false,
    }
}
