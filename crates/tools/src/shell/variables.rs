//! Variables that make a later program run something: where programs are found, what is loaded into them, and commands that
//! they take from the environment.

/// Each names a program, a command, a file of commands, or a place where programs and settings are looked for.
const RUN_SOMETHING: &str = "PATH HOME ENV IFS PS0 PS1 PS2 PS4 SHELL SHELLOPTS BASHOPTS CDPATH ZDOTDIR INPUTRC FCEDIT EDITOR \
    VISUAL PAGER BROWSER LESS LESSOPEN LESSCLOSE MANOPT MAKEFLAGS GNUMAKEFLAGS MAKEFILES MFLAGS CC CXX LD AR RUSTC RUSTDOC \
    RUSTFLAGS RUSTDOCFLAGS GOFLAGS RUBYOPT RUBYLIB PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_PATH LUA_CPATH R_PROFILE \
    R_PROFILE_USER AWKPATH AWKLIBPATH TAR_OPTIONS RSYNC_RSH CVS_RSH RSH VIMINIT EXINIT GCONV_PATH OPENSSL_CONF \
    GCC_EXEC_PREFIX COMPILER_PATH PSQLRC XDG_CONFIG_HOME RIPGREP_CONFIG_PATH EMACSLOADPATH TCLLIBPATH ZIPOPT _JAVA_OPTIONS \
    PYTEST_ADDOPTS PYTEST_PLUGINS ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN";

/// Families of such variables.
const FAMILIES: [&str; 14] = [
    "LD_",
    "DYLD_",
    "GIT_",
    "BASH_",
    "PERL5",
    "PYTHON",
    "NODE_",
    "JAVA_",
    "JDK_",
    "npm_config_",
    "NPM_CONFIG_",
    "LUA_INIT",
    "CARGO_ALIAS_",
    "CARGO_BUILD_RUST",
];

/// How their names end, whatever they belong to.
const ENDINGS: [&str; 8] = ["_COMMAND", "_WRAPPER", "_EDITOR", "PAGER", "_RUNNER", "_LINKER", "_OPTS", "_ASKPASS"];

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
    let by_name = RUN_SOMETHING.split_whitespace().any(|known| known == name)
        || FAMILIES.iter().any(|family| name.starts_with(family))
        || ENDINGS.iter().any(|ending| name.ends_with(ending));
    (by_name && !HARMLESS.contains(&name)) || holds_subscript(value)
}

/// Whether a text, taken for a number or a variable's name, runs a command: `a[$(…)]`.
pub(super) fn holds_subscript(text: &str) -> bool {
    text.contains('[') && (text.contains("$(") || text.contains("${") || text.contains('`'))
}
