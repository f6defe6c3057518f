//! Commands that run others: `env`, `sudo`, `timeout 5`, `xargs`, `sh -c "…"`, `eval`, `find -exec`.

use updraft_run::Part;

use super::Found;
use super::unclear::is_unclear;
use super::word::is_assignment;
use super::{awk, git, interpreters, options, programs, sed, variables};

/// A program that runs the command behind its options.
struct Wrapper {
    name: &'static str,
    /// Options that take the next word, as letters; long ones are written with `=` or taken as unclear.
    takes: &'static str,
    /// Options that take none; every other letter makes it unclear.
    flags: &'static str,
    /// Words of its own that stand before the command.
    own: usize,
    /// It changes nothing about what the command may do.
    plain: bool,
}

const fn wrapper(name: &'static str, takes: &'static str, flags: &'static str, own: usize, plain: bool) -> Wrapper {
    Wrapper { name, takes, flags, own, plain }
}

const WRAPPERS: [Wrapper; 26] = [
    wrapper("env", "uCaP", "iv0", 0, true),
    wrapper("nohup", "", "", 0, true),
    wrapper("time", "fo", "pvaqV", 0, true),
    wrapper("timeout", "ks", "fpv", 1, true),
    wrapper("nice", "n", "", 0, true),
    wrapper("ionice", "cnp", "t", 0, true),
    wrapper("stdbuf", "ioe", "", 0, true),
    wrapper("setsid", "", "cfw", 0, true),
    wrapper("command", "", "pvV", 0, true),
    wrapper("builtin", "", "", 0, true),
    wrapper("exec", "a", "cl", 0, true),
    wrapper("xargs", "InPLdEsaJRS", "0rtxpoile", 0, true),
    wrapper("busybox", "", "", 0, false),
    wrapper("toybox", "", "", 0, false),
    wrapper("sudo", "ugpChDRrTtUac", "AbEeHiKklNnPSsVv", 0, false),
    wrapper("doas", "uC", "Lns", 0, false),
    wrapper("chroot", "", "", 1, false),
    wrapper("unshare", "SG", "UmuinpfrcTC", 0, false),
    wrapper("nsenter", "tSG", "amuinpCUTFrwe", 0, false),
    wrapper("strace", "abeEIoOpPsSuUX", "fFcCtTrvyqixdkwzZYn", 0, false),
    wrapper("ltrace", "aADeFlnopsuwx", "fcCrStTLiVb", 0, false),
    wrapper("flock", "wE", "sxeunoFv", 1, false),
    wrapper("watch", "nqs", "bcdegptxwr", 0, false),
    wrapper("runuser", "ugG", "lmpPf", 0, false),
    wrapper("chrt", "TPD", "abdfiormpRv", 1, true),
    wrapper("taskset", "", "acp", 1, true),
];

/// What takes the name of a variable, and with it `a[$(…)]`.
const NAMES: [&str; 6] = ["test", "[", "printf", "read", "let", "getopts"];

/// What sets variables, or hands them to the programs that follow.
const DECLARERS: [&str; 6] = ["export", "readonly", "declare", "typeset", "local", "unset"];

const SHELLS: [&str; 14] =
    ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "lksh", "pdksh", "oksh", "yash", "posh", "osh"];

/// Options of shells that take no word.
const LONG_FLAGS: [&str; 8] =
    ["--norc", "--noprofile", "--login", "--posix", "--verbose", "--restricted", "--version", "--help"];

/// Whether a command sets the variables that it names.
pub(super) fn declares(name: &str) -> bool {
    DECLARERS.contains(&name)
}

impl Found {
    /// Takes one simple command, and what it runs.
    pub(super) fn unwrap(&mut self, words: Vec<Option<String>>, depth: usize) {
        let Some(Some(first)) = words.first() else {
            self.add(Part { words, uncertain: true, ..Part::default() });
            return;
        };
        let name = first.rsplit('/').next().unwrap_or(first);
        // Where the system has its own, those of GNU have a letter before their names.
        let known = |name: &&str| {
            ["find", "sort", "shuf"].contains(name) || WRAPPERS.iter().any(|wrapper| wrapper.name == *name)
        };
        let name = name.strip_prefix('g').filter(known).unwrap_or(name).to_owned();
        if depth > super::DEEPEST {
            self.add(Part { words, uncertain: true, ..Part::default() });
        } else if SHELLS.contains(&name.as_str()) {
            self.shell(words, depth);
        } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            self.wrapper(wrapper, words, depth);
        } else {
            self.program(&name, words, depth);
        }
    }

    /// A program that does its own work, and perhaps more.
    fn program(&mut self, name: &str, words: Vec<Option<String>>, depth: usize) {
        let loose = self.loose && words.iter().any(Option::is_none);
        match name {
            "eval" => self.eval(words, depth),
            "find" => self.find(words, depth),
            "git" => {
                let more = git::more(&words, self.loose);
                self.write(more.writes);
                if more.runs { self.unclear(words, depth) } else { self.add(Part { words, ..Part::default() }) }
            }
            "sed" | "gsed" | "ssed" if loose || sed::call_does_more(&words) => self.unclear(words, depth),
            "awk" | "gawk" | "mawk" | "nawk" | "original-awk" | "goawk" if awk::call_does_more(&words) => {
                self.unclear(words, depth);
            }
            _ if is_unclear(name) => self.unclear(words, depth),
            _ if declares(name) => self.declare(words, depth),
            _ if NAMES.contains(&name) && names_others(name, &words) => self.unclear(words, depth),
            _ if interpreters::runs_text(name, &words) => self.add(Part { words, hides: true, ..Part::default() }),
            _ => {
                if let Some((inner, certain)) = programs::run_by(name, &words) {
                    self.add(Part { words, uncertain: !certain, ..Part::default() });
                    self.heard(|found| found.run(inner, certain, depth));
                    return;
                }
                if let Some(command) = name.strip_prefix("git-").map(str::to_owned) {
                    let own = ["git".to_owned(), command].map(Some);
                    let inner = own.into_iter().chain(words[1..].iter().cloned()).collect();
                    self.add(Part { words, ..Part::default() });
                    self.unwrap(inner, depth + 1);
                    return;
                }
                let more = programs::more(name, &words, self.loose);
                self.write(more.writes);
                self.add(Part { words, uncertain: more.runs, ..Part::default() });
                self.heard(|found| more.texts.iter().for_each(|text| found.read(text, depth + 1)));
            }
        }
    }

    /// What a runner runs: known words are a command, and where they are not certain, each may be the first.
    fn run(&mut self, inner: Vec<Option<String>>, certain: bool, depth: usize) {
        let mut words = inner.into_iter().peekable();
        while let Some(Some(word)) = words.next_if(|word| word.as_deref().is_some_and(is_assignment)) {
            self.assign(word, depth);
        }
        let words: Vec<Option<String>> = words.collect();
        if !certain {
            self.joined(&words, depth);
        }
        if !words.is_empty() {
            self.unwrap(words, depth + 1);
        }
    }

    /// Parts that count for what forbids: what allows the call has said so by the words around them.
    fn heard(&mut self, read: impl FnOnce(&mut Self)) {
        let from = self.parts.len();
        read(self);
        self.parts.iter_mut().skip(from).for_each(|part| part.wraps = true);
    }

    /// Files that are written without a `>`.
    fn write(&mut self, files: Vec<Option<String>>) {
        for file in files {
            self.add(Part { words: vec![Some(">".to_owned()), file], ..Part::default() });
        }
    }

    /// `export A=b` and its like.
    fn declare(&mut self, words: Vec<Option<String>>, depth: usize) {
        let known: Vec<String> = words[1..].iter().flatten().cloned().collect();
        let refers = known
            .iter()
            .any(|word| word.starts_with('-') && word.contains('n') && words[0].as_deref() != Some("export"));
        let meant = |word: &&String| !word.starts_with('-') && variables::runs_others(word);
        let texts: Vec<String> = known.iter().filter(meant).cloned().collect();
        let subscript = known.iter().any(|word| variables::holds_subscript(word));
        let uncertain = refers || subscript || !texts.is_empty() || known.len() + 1 < words.len();
        self.add(Part { words, uncertain, ..Part::default() });
        for text in texts {
            let value = text.split_once('=').map_or("", |(_, value)| value);
            self.read(value.trim_start_matches('!'), depth + 1);
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
                        // Another may take the next word.
                        is_fed |= !LONG_FLAGS.contains(&option);
                        continue;
                    }
                    // With a `+`, too.
                    runs_text |= option.contains('c');
                    is_fed |= option.contains('s');
                    // Each takes a word, wherever among the letters it stands.
                    for _ in option.matches(['o', 'O']) {
                        is_fed |= matches!(rest.next(), Some(None));
                    }
                }
                Some(text) => {
                    script = Some(text.to_owned());
                    is_file = !runs_text && !options::is_fed(Some(text));
                    break;
                }
            }
        }
        let script = script.filter(|_| runs_text);
        let uncertain = (script.is_none() && !is_file) || is_fed;
        self.add(Part { wraps: script.is_some(), words, uncertain, ..Part::default() });
        if let Some(script) = script {
            self.read(&script, depth + 1);
        }
    }

    fn wrapper(&mut self, wrapper: &Wrapper, words: Vec<Option<String>>, depth: usize) {
        let mut at = 1;
        let mut own = wrapper.own;
        let mut options = true;
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
            if word == "--" && (options || own == 0) {
                options = false;
                at += 1;
                continue;
            }
            let is_option = options || (word == "-c" && own == 0 && wrapper.name == "flock");
            // `env` takes names that no shell does, and a shell takes some of these for functions.
            let assigns = is_assignment(word)
                || (["env", "sudo", "doas"].contains(&wrapper.name) && word.contains('=') && !word.starts_with('-'));
            if own == 0 && assigns {
                assigned.push(word.to_owned());
            } else if word == "-" && wrapper.name == "env" {
                // With nothing of the environment.
            } else if is_option && word.len() > 1 && word.starts_with('-') {
                unclear |= has_other_letters(wrapper, word);
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
        let before = &words[1..at.min(words.len())];
        if wrapper.name == "xargs" && !inner.is_empty() {
            feed(&mut inner, before);
        }
        let runs = !inner.is_empty() && !looks_up;
        if wrapper.name == "time" {
            // What it measures may go to a file.
            self.write(options::written(&options::given(before, wrapper.takes), 'o', "output"));
        }
        self.add(Part { wraps: wrapper.plain && runs, uncertain: unclear, words, ..Part::default() });
        for word in assigned {
            self.assign(word, depth);
        }
        for text in texts {
            self.read(&text, depth + 1);
        }
        if runs {
            self.wrapped_by(wrapper, inner, depth);
        }
    }

    fn wrapped_by(&mut self, wrapper: &Wrapper, inner: Vec<Option<String>>, depth: usize) {
        if wrapper.name == "watch" {
            // It gives its words to a shell.
            self.joined(&inner, depth);
            return;
        }
        // What is fed to `xargs` may be options.
        let loose = self.loose;
        self.loose |= wrapper.name == "xargs";
        self.unwrap(inner, depth + 1);
        self.loose = loose;
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
        self.add(Part { wraps: known, uncertain: !known, words, ..Part::default() });
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
        // A word that is not known could be `-exec`.
        let uncertain = self.loose && words.iter().any(Option::is_none);
        self.add(Part { words, uncertain, ..Part::default() });
        for mut command in commands {
            let loose = self.loose;
            self.loose |= command.iter().flatten().any(|word| word.starts_with('-') && word.contains("{}"));
            for word in command.iter_mut().filter(|word| word.as_deref().is_some_and(|word| word.contains("{}"))) {
                *word = None;
            }
            if !command.is_empty() {
                self.unwrap(command, depth + 1);
            }
            self.loose = loose;
        }
    }
}

/// Whether a command is given a variable's name that runs something: `read PATH`, `printf -v PATH`, `test -v 'a[$(…)]'`.
fn names_others(name: &str, words: &[Option<String>]) -> bool {
    let known = || words[1..].iter().flatten();
    let sets = match name {
        "read" | "getopts" => {
            words.contains(&None) || known().any(|word| !word.starts_with('-') && variables::runs_others(word))
        }
        "printf" => match words.get(1) {
            Some(Some(option)) if option.starts_with("-v") => {
                let apart = words.get(2).and_then(Option::as_deref);
                let named = Some(&option[2..]).filter(|name| !name.is_empty()).or(apart);
                named.is_none_or(variables::runs_others)
            }
            _ => false,
        },
        _ => false,
    };
    sets || known().any(|word| variables::holds_subscript(word))
}

/// Puts what `xargs` is fed into the command that it runs.
fn feed(command: &mut Vec<Option<String>>, options: &[Option<String>]) {
    let mark = replaced(options);
    let is_marked = |word: &str| mark.as_ref().is_some_and(|mark| word.contains(mark.as_str()));
    command.iter_mut().filter(|word| word.as_deref().is_some_and(is_marked)).for_each(|word| *word = None);
    command.push(None);
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

/// Whether an option has letters that nothing is known of: the next word may be theirs.
fn has_other_letters(wrapper: &Wrapper, option: &str) -> bool {
    let letters = option.trim_start_matches('-').chars().take_while(|c| !wrapper.takes.contains(*c));
    !option.starts_with("--") && letters.into_iter().any(|c| !c.is_ascii_digit() && !wrapper.flags.contains(c))
}
