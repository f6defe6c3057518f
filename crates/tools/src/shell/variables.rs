//! Variables that make a later program run something: where programs are found, what is loaded into them, and commands that
//! they take from the environment.

/// Each names a program, a command, a file of commands, or a place where programs are looked for.
const RUN_SOMETHING: [&str; 26] = [
    "PATH",
    "ENV",
    "IFS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESS",
    "LESSOPEN",
    "LESSCLOSE",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "CC",
    "CXX",
    "RUSTC",
    "RUSTDOC",
    "RUBYOPT",
    "TAR_OPTIONS",
];

/// Families of such variables.
const FAMILIES: [&str; 9] = ["LD_", "DYLD_", "GIT_", "BASH_", "PERL5", "PYTHON", "NODE_", "JAVA_", "npm_config_"];

/// How their names end, whatever they belong to.
const ENDINGS: [&str; 7] = ["_COMMAND", "_WRAPPER", "_EDITOR", "PAGER", "_RUNNER", "_LINKER", "_OPTS"];

/// Of the families, what names nobody's program.
const HARMLESS: [&str; 14] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "NODE_ENV",
];

/// Whether an assignment, `NAME=value`, can make a program run something else than its words say.
pub(super) fn runs_others(assignment: &str) -> bool {
    let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    let name = name.trim_end_matches('+');
    let by_name = RUN_SOMETHING.contains(&name)
        || FAMILIES.iter().any(|family| name.starts_with(family))
        || ENDINGS.iter().any(|ending| name.ends_with(ending));
    (by_name && !HARMLESS.contains(&name)) || holds_subscript(value)
}

/// Whether a text, taken for a number or a variable's name, runs a command: `a[$(…)]`.
pub(super) fn holds_subscript(text: &str) -> bool {
    text.contains('[') && (text.contains("$(") || text.contains("${") || text.contains('`'))
}
