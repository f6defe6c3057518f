//! Interpreters of other languages: whether a call of one runs a file, or a text that is in the command or fed to it.

use super::options::{Given, given, is_fed};

/// One of them: its names without version, letters that take a value, those and the long options that are given a text, and
/// long options that take nothing.
struct Interpreter {
    names: &'static [&'static str],
    takes: &'static str,
    runs: &'static str,
    long: &'static [&'static str],
    flags: &'static [&'static str],
}

const fn one(
    names: &'static [&'static str],
    takes: &'static str,
    runs: &'static str,
    long: &'static [&'static str],
    flags: &'static [&'static str],
) -> Interpreter {
    Interpreter { names, takes, runs, long, flags }
}

const NODE_FLAGS: &[&str] = &[
    "test",
    "watch",
    "check",
    "no-warnings",
    "enable-source-maps",
    "experimental-strip-types",
    "experimental-vm-modules",
    "trace-warnings",
    "trace-uncaught",
    "expose-gc",
    "inspect",
    "inspect-brk",
];

const INTERPRETERS: &[Interpreter] = &[
    one(&["python", "pypy", "micropython", "jython"], "WXQm", "c", &[], &[]),
    one(&["ipython", "bpython", "ptpython", "irb", "pry", "jshell", "ghci", "iex"], "", "", &[], &[]),
    one(&["perl"], "I", "eEMmdF", &[], &[]),
    one(&["ruby", "jruby", "truffleruby"], "CEIr", "e", &[], &["yjit", "jit"]),
    one(
        &["node", "nodejs", "electron"],
        "rC",
        "epi",
        &["eval", "print", "import", "loader", "experimental-loader", "interactive"],
        NODE_FLAGS,
    ),
    one(&["php"], "cdfzt", "rBRaEFd", &["run", "process-code", "process-begin", "process-end", "interactive"], &[]),
    one(&["lua", "luajit", "texlua"], "l", "ei", &[], &[]),
    one(&["tclsh", "wish", "jimsh", "expect"], "", "c", &[], &[]),
    one(&["Rscript", "littler", "r"], "", "e", &[], &["vanilla", "verbose", "no-save"]),
    one(&["R"], "", "ef", &["file"], &[]),
    one(&["julia"], "CJHptO", "eEL", &["eval", "print", "load"], &[]),
    one(&["osascript"], "ls", "ei", &[], &[]),
    one(
        &[
            "groovy",
            "kotlin",
            "jrunscript",
            "ghc",
            "scala",
            "raku",
            "perl6",
            "elixir",
            "racket",
            "ocaml",
            "dart",
            "crystal",
        ],
        "",
        "eMI",
        &["eval"],
        &[],
    ),
    one(&["guile", "gosh", "chibi-scheme", "csi", "gsi", "scheme"], "Ll", "ceqpbs", &[], &[]),
    one(
        &["sbcl", "clisp", "ecl", "erl", "escript", "clojure", "clj", "bb", "janet", "octave", "gforth"],
        "",
        "eMxlr",
        &["eval", "load"],
        &[],
    ),
];

/// Settings of PHP that load nothing.
const PHP_SETTINGS: [&str; 6] =
    ["memory_limit", "error_reporting", "display_errors", "xdebug.mode", "zend.assertions", "max_execution_time"];

/// Modules of Python that run a text they are given.
const MODULES: [&str; 9] = ["timeit", "pdb", "code", "trace", "profile", "cProfile", "asyncio", "idlelib", "runpy"];

/// Whether a letter is known to take no word. Behind any other, a word may be the letter's, and the text still follow.
fn takes_nothing(name: &str, letter: char) -> bool {
    let letters = match name {
        "python" | "pypy" => "bBdEhiIOPqsSuvVx",
        "perl" => "acCfghilnpsStTuUvwWX",
        "ruby" | "jruby" => "acdhlnpsSvwWyU",
        "node" | "nodejs" => "chv",
        "php" => "lnqsvw",
        "lua" | "luajit" => "vEW",
        _ => "",
    };
    letters.contains(letter)
}

/// Whether a program is such an interpreter, and this call runs a text instead of a file.
pub(super) fn runs_text(name: &str, words: &[Option<String>]) -> bool {
    let words = &words[1..];
    if ["deno", "bun"].contains(&name) {
        return words.first().is_none_or(|word| {
            word.as_deref().is_none_or(|word| ["eval", "repl", "-", "-e", "-p", "--eval", "--print"].contains(&word))
        }) || (matches!(words, [Some(run), file, ..] if run == "run" && is_fed(file.as_deref())));
    }
    // Without a version, and what follows it.
    let plain = name.split(|c: char| c.is_ascii_digit()).next().unwrap_or(name);
    let Some(of) = INTERPRETERS.iter().find(|one| one.names.contains(&name) || one.names.contains(&plain)) else {
        return false;
    };
    if let [Some(only)] = words
        && ["--version", "--help", "-V", "-v", "-h", "-version"].contains(&only.as_str())
    {
        return false;
    }
    let mut before = None;
    let mut looks_for_tests = false;
    let mut is_strange = false;
    for option in given(words, of.takes) {
        match option {
            Given::Unknown => return true,
            // The file, or the value of an option that is not known here.
            Given::Word(word) => return is_strange || before == Some(word) || is_fed(Some(word)),
            Given::Letter('m', module) if of.takes.contains('m') => {
                return module.is_none_or(|module| MODULES.contains(&module));
            }
            Given::Letter('f', file) if of.takes.contains('f') => return is_fed(file),
            Given::Letter('d', Some(setting)) if PHP_SETTINGS.iter().any(|known| setting.starts_with(known)) => {}
            Given::Letter(letter, _) if of.runs.contains(letter) => return true,
            Given::Letter(letter, _) => {
                before = None;
                is_strange |= !of.takes.contains(letter) && !letter.is_ascii_digit() && !takes_nothing(plain, letter);
            }
            Given::Long("test", _) if of.flags.contains(&"test") => looks_for_tests = true,
            Given::Long(..) if of.long.iter().any(|long| option.may_be(long)) => return true,
            Given::Long(name, _) if of.flags.contains(&name) => before = None,
            Given::Long(_, value) => before = value,
        }
    }
    // No file: it reads what it is fed.
    !looks_for_tests
}
