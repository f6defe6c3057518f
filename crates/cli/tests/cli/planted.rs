//! Facts planted in folders that differ each time: the real binary with `builtin` must find them, quote them word for
//! word by file and line, and say so where there is nothing to find.
//!
//! The folders come from a seed that is printed; `UPDRAFT_PLANTED_SEED` repeats them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test starts processes, reads its environment, and stops when something is broken"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDERS: usize = 20;
/// Facts that must be found; a word search may miss one where words collide by chance.
const FOUND: usize = 18;

/// A sequence of numbers that looks random and can be repeated.
struct Dice(u64);

impl Dice {
    fn from_environment() -> Self {
        let given = std::env::var("UPDRAFT_PLANTED_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
        eprintln!("planted with UPDRAFT_PLANTED_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// Names nobody has, each with another beginning.
    fn names(&mut self, how_many: usize) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        while names.len() < how_many {
            let begin = self.pick(&[
                "Bel", "Dor", "Fen", "Gal", "Hul", "Kes", "Lum", "Mor", "Nav", "Orl", "Pra", "Quin", "Ros", "Tav",
                "Vel", "Zar",
            ]);
            let middle = self.pick(&["a", "e", "i", "o", "u"]);
            let end = self.pick(&[
                "brok", "dwick", "fant", "gryn", "holt", "kvist", "lund", "march", "pell", "thorn", "vanth", "zim",
            ]);
            if !names.iter().any(|name| name.starts_with(begin)) {
                names.push(format!("{begin}{middle}{end}"));
            }
        }
        names
    }
}

/// One folder's fact, and those of others that look like it.
struct Planted {
    file: &'static str,
    /// With `{name}`, `{value}`; several lines where it is wrapped.
    pattern: String,
    /// With `{name}`.
    question: String,
    /// The one that is there, two others that are there, one that is nowhere.
    names: Vec<String>,
    values: Vec<String>,
}

impl Planted {
    fn roll(dice: &mut Dice) -> Self {
        let (month, year) = (dice.pick(&["March", "June", "August", "October"]), 1871 + dice.below(120));
        let thing = dice.pick(&["pump", "turbine", "furnace", "telescope"]);
        let quality = dice.pick(&["nominal flow", "idle speed", "rated output", "mean drift"]);
        let good = dice.pick(&["lamps", "anchors", "saddles", "bolts"]);
        let role = dice.pick(&["curator", "harbourmaster", "treasurer", "stationmaster"]);
        // People are named differently from what is asked about: a word that stands in a file is never denied.
        let mut names = dice.names(7);
        let people = names.split_off(4);
        let (file, pattern, question) = match dice.below(7) {
            0 => (
                "docs/machines.md",
                format!(
                    "The {{name}} {thing} was overhauled in {month}. Its {quality} is {{value}} units, as measured twice."
                ),
                format!("What is the {quality} of the {{name}} {thing}?"),
            ),
            1 => (
                "notes/wrapped.txt",
                format!(
                    "After a long winter the {{name}} {thing} went back to work, and\nits {quality} is {{value}} units since {month}, which surprised everyone."
                ),
                format!("What is the {quality} of the {{name}} {thing}?"),
            ),
            2 => (
                "people.md",
                format!("- {{value}} is the {role} of {{name}} since {year}."),
                format!("Who is the {role} of {{name}}?"),
            ),
            3 => (
                "history/bridges.txt",
                format!("The {{name}} bridge was opened on {{value}} {month} {year} before a small crowd."),
                "When was the {name} bridge opened?".to_owned(),
            ),
            4 => (
                "depots.md",
                format!("* The {{name}} depot stores {{value}} {good} under its roof."),
                format!("How many {good} does the {{name}} depot store?"),
            ),
            5 => (
                "config/limits.toml",
                "{name}_limit = {value} # requests per minute".to_owned(),
                "What is the value of {name}_limit?".to_owned(),
            ),
            _ => (
                "src/ports.py",
                "# The {name} service listens on port {value}.".to_owned(),
                "Which port does the {name} service listen on?".to_owned(),
            ),
        };
        let values = if pattern.contains("{value} is the") {
            people.iter().map(|last| format!("{} {last}", dice.pick(&["Ada", "Boris", "Clara", "Emil"]))).collect()
        } else {
            (0..3).map(|n| (100 * (n + 1) + dice.below(100)).to_string()).collect()
        };
        Self { file, pattern, question, names, values }
    }

    fn sentence(&self, at: usize) -> String {
        self.pattern.replace("{name}", &self.names[at]).replace("{value}", &self.values[at])
    }

    fn asks(&self, at: usize) -> String {
        self.question.replace("{name}", &self.names[at])
    }

    /// Writes the folder, and says on which lines the fact stands.
    fn plant(&self, dice: &mut Dice, folder: &Path) -> (usize, usize) {
        let is_code = self.file.starts_with("config/") || self.file.starts_with("src/");
        let comment = if is_code { "# " } else { "" };
        let filler = |dice: &mut Dice, text: &mut String| {
            for _ in 0..=dice.below(6) {
                let (who, what) = (
                    dice.pick(&["The crew", "A clerk", "The weather", "Nobody"]),
                    dice.pick(&["stayed away", "came back late", "changed twice", "was noted"]),
                );
                writeln!(text, "{comment}{who} {what} that day.").unwrap();
            }
            text.push('\n');
        };
        let place = dice.below(3);
        let order = [[0, 1, 2], [1, 0, 2], [2, 1, 0]][place];
        let mut text = String::new();
        let mut lines = (0, 0);
        for at in order {
            filler(dice, &mut text);
            let first = text.lines().count() + 1;
            text.push_str(&self.sentence(at));
            if at == 0 {
                lines = (first, text.lines().count());
            }
            text.push_str("\n\n");
        }
        filler(dice, &mut text);
        write(folder, self.file, &text);
        for n in 0..=dice.below(5) {
            let mut text = format!("{comment}Log {n}\n\n");
            filler(dice, &mut text);
            write(folder, &format!("log/day_{n}.txt"), &text);
        }
        lines
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn ask(home: &Path, folder: &Path, question: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
    command.args(["run", question, "--model", "builtin", "--quiet", "--workspace"]).arg(folder);
    let ran = command.env_clear().env("UPDRAFT_HOME", home).stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{question}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// `- [1] path:line: "…"` or `- [1] path:first-last (headings): "…"`.
#[derive(Debug)]
struct Quotation {
    text: String,
    path: String,
    first: usize,
    last: usize,
}

/// Every quotation of an answer. A line that begins like one and is none fails the test.
fn quotations(answer: &str) -> Vec<Quotation> {
    let read = |line: &str| {
        let (head, text) = line.split_once("] ")?.1.split_once(": \"")?;
        let place = head.split_once(" (").map_or(head, |(place, _)| place);
        let (path, lines) = place.rsplit_once(':')?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let text = text.strip_suffix('"')?.to_owned();
        Some(Quotation { text, path: path.to_owned(), first: first.parse().ok()?, last: last.parse().ok()? })
    };
    let lines = answer.lines().filter(|line| line.starts_with("- "));
    lines.map(|line| read(line).unwrap_or_else(|| panic!("no citation: {line}"))).collect()
}

fn check_all(quotations: &[Quotation], folder: &Path) {
    for quotation in quotations {
        check(quotation, folder);
    }
}

/// Fails unless the words stand where the quotation says, lines joined by one space.
fn check(quotation: &Quotation, folder: &Path) {
    let Quotation { text, path, first, last } = quotation;
    let file = std::fs::read_to_string(folder.join(path)).unwrap_or_else(|why| panic!("{why}: {quotation:?}"));
    let lines: Vec<&str> = file.lines().collect();
    assert!(*first >= 1 && first <= last && *last <= lines.len(), "no such lines: {quotation:?}");
    let cited: Vec<&str> = lines[first - 1..*last].iter().map(|line| line.trim()).collect();
    // A row of a table is quoted with its header, which stands above.
    let text = text.rsplit_once(" … ").map_or(text.as_str(), |(_, row)| row);
    // Lines of a comment or of a quotation are joined without the marks that begin them.
    let marks = ["///", "//!", "//", "#", ">", "*"];
    let bare = |line: &&str| marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim().to_owned();
    let joined = [cited.join(" "), cited.iter().map(bare).collect::<Vec<_>>().join(" ")];
    assert!(
        joined.iter().any(|joined| joined.contains(text) || joined.replace('|', " ").contains(text)),
        "not word for word: {quotation:?}\nthere: {}",
        joined[0]
    );
}

#[test]
fn planted_facts_are_found_and_absent_ones_are_not_made_up() {
    let mut dice = Dice::from_environment();
    let home = tempfile::tempdir().unwrap();
    let mut missed = Vec::new();
    for _ in 0..FOLDERS {
        let folder = tempfile::tempdir().unwrap();
        let planted = Planted::roll(&mut dice);
        let (first, last) = planted.plant(&mut dice, folder.path());

        let answer = ask(home.path(), folder.path(), &planted.asks(0));
        let quotes = quotations(&answer);
        check_all(&quotes, folder.path());
        let is_it = |quote: &Quotation| {
            let there = quote.path == planted.file && quote.first <= last && quote.last >= first;
            there && quote.text.contains(&planted.values[0])
        };
        if !quotes.iter().any(is_it) {
            missed.push(format!("{}\nis at {}:{first}, but:\n{answer}", planted.asks(0), planted.file));
        }

        let question = planted.asks(3);
        let answer = ask(home.path(), folder.path(), &question);
        let quotes = quotations(&answer);
        check_all(&quotes, folder.path());
        assert!(answer.contains("no evidence") && answer.contains(&planted.names[3]), "{question}\n{answer}");
        let of_another = |quote: &&Quotation| planted.values.iter().any(|value| quote.text.contains(value));
        assert_eq!(quotes.iter().find(of_another).map(|quote| &quote.text), None, "{question}\n{answer}");
    }
    for missed in &missed {
        eprintln!("missed: {missed}");
    }
    assert!(FOLDERS - missed.len() >= FOUND, "{} of {FOLDERS} were missed", missed.len());
}

#[test]
fn the_question_of_our_own_readme_is_answered_with_true_citations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let question = readme.split_once("-- run \"").and_then(|(_, rest)| rest.split_once('"')).unwrap().0;
    let folder = tempfile::tempdir().unwrap();
    let mut todo = vec![root.join("docs"), root.join("agents"), root.join("prompts")];
    todo.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|file| root.join(file)));
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            write(folder.path(), &name, &std::fs::read_to_string(&path).unwrap());
        }
    }

    let answer = ask(&folder.path().join(".home"), folder.path(), question);

    let quotes = quotations(&answer);
    check_all(&quotes, folder.path());
    let says = |word: &str| quotes.iter().any(|quote| quote.text.contains(word));
    assert!(quotes.len() >= 2 && says("goal") && says("crash"), "{answer}");
}
