//! What is known of programs that run other code: which files they look for by themselves, and how code is recognised.

use std::path::Path;

/// What a folder is entered by.
pub(super) const ENTRANCES: [&str; 5] = ["__init__", "__main__", "index", "package", "mod"];
/// Programs that take code from a folder which they are given.
pub(super) const RUN_FOLDERS: [&str; 12] =
    ["python", "pypy", "node", "bun", "deno", "tsx", "ts-node", "ruby", "perl", "php", "lua", "java"];
/// Programs that build what they run of all that lies around.
pub(super) const BUILDERS: [&str; 9] = ["cargo", "go", "dotnet", "gradle", "gradlew", "mvn", "mvnw", "swift", "zig"];
/// What comes before a file that a script takes, and before one that it starts.
pub(super) const TAKEN_BY: [&str; 16] = [
    ".", "source", "exec", "sh", "bash", "zsh", "dash", "ksh", "-f", "include", "-include", "python", "node", "ruby",
    "perl", "env",
];
/// Folders of what is made of other files, and of other people's packages.
pub(super) const LEFT_OUT: [&str; 5] = [".git", "__pycache__", "node_modules", ".venv", "target"];
/// Endings of Python's modules that may be a program's first.
pub(super) const PYTHON: [&str; 3] = ["py", "pyw", "pyc"];
/// Endings of scripts that take others by their paths.
pub(super) const SHELL: [&str; 8] = ["sh", "bash", "zsh", "ksh", "dash", "fish", "mk", "json"];
/// Endings of code.
pub(super) const CODE: [&str; 64] = [
    "py", "pyw", "pyc", "pyo", "pyd", "pyx", "pth", "egg", "whl", "zip", "js", "mjs", "cjs", "ts", "mts", "cts", "tsx",
    "jsx", "vue", "sh", "bash", "zsh", "ksh", "dash", "fish", "rb", "pl", "pm", "ph", "php", "phar", "lua", "luac",
    "tcl", "awk", "r", "R", "jl", "ex", "exs", "beam", "erl", "go", "rs", "c", "h", "cc", "cpp", "hpp", "zig", "swift",
    "cs", "kt", "kts", "scala", "groovy", "gradle", "java", "class", "jar", "so", "dylib", "node", "wasm",
];
/// Those of them that are made of other code, or packed: they name nothing that can be read.
pub(super) const COMPILED: [&str; 15] =
    ["pyc", "pyo", "pyd", "egg", "whl", "zip", "phar", "luac", "beam", "class", "jar", "so", "dylib", "node", "wasm"];
/// Files that programs look for which nobody names.
const FAMILIES: [(&[&str], &[&str]); 9] = [
    (
        &["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "corepack"],
        &[
            "package.json",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnp.cjs",
            ".pnp.loader.mjs",
            ".pnpmfile.cjs",
            "pnpm-workspace.yaml",
            "bunfig.toml",
            "package-lock.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
            "bun.lockb",
        ],
    ),
    (&["deno"], &["deno.json", "deno.jsonc", "deno.lock", "import_map.json", "package.json"]),
    (&["bun", "tsx", "ts-node"], &["bunfig.toml", "tsconfig.json", "package.json"]),
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile", "JUSTFILE"]),
    (
        &["uv", "uvx", "poetry", "pdm", "hatch", "rye", "pipx", "pipenv", "tox", "nox"],
        &[
            "pyproject.toml",
            "uv.toml",
            "uv.lock",
            "poetry.toml",
            "poetry.lock",
            "pdm.toml",
            "pdm.lock",
            "hatch.toml",
            "Pipfile",
            "Pipfile.lock",
            "tox.ini",
            "noxfile.py",
            "setup.py",
            "setup.cfg",
        ],
    ),
    (&["python", "pypy", "uv", "uvx", "pyenv"], &[".python-version", "pyvenv.cfg"]),
    (
        &["cargo", "go", "dotnet", "gradle", "gradlew", "mvn", "mvnw"],
        &[
            "Cargo.toml",
            "Cargo.lock",
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain",
            "rust-toolchain.toml",
            "go.mod",
            "go.work",
            "pom.xml",
            ".mvn/jvm.config",
            ".mvn/extensions.xml",
            "gradle.properties",
        ],
    ),
    (
        &["ruby", "bundle", "rake", "docker", "podman", "mise", "asdf", "direnv", "nix", "nix-shell"],
        &[
            "Gemfile",
            "Gemfile.lock",
            ".bundle/config",
            ".ruby-version",
            "Rakefile",
            "Dockerfile",
            "Containerfile",
            "compose.yaml",
            "compose.yml",
            "docker-compose.yml",
            "docker-compose.yaml",
            ".env",
            "mise.toml",
            ".mise.toml",
            ".tool-versions",
            ".envrc",
            "flake.nix",
            "flake.lock",
            "shell.nix",
            "default.nix",
        ],
    ),
];

/// The program that a word of a command line means, without its version and where it lies.
pub(super) fn program_of(word: &str) -> &str {
    let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
    let short = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if short.is_empty() { word } else { short }
}

/// The files that a program looks for by itself.
pub(super) fn family_files(program: &str) -> impl Iterator<Item = &'static str> {
    FAMILIES
        .iter()
        .filter(move |(programs, _)| programs.contains(&program))
        .flat_map(|(_, files)| files.iter().copied())
}

/// Programs that fetch what they run, each with the word that makes it do so, where not every one does.
const FETCHING: [(&str, &[&str]); 14] = [
    ("npx", &[]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("uvx", &[]),
    ("docker", &[]),
    ("podman", &[]),
    ("nix", &[]),
    ("pipx", &["run"]),
    ("uv", &["run", "tool", "x"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx", "exec"]),
    ("yarn", &["dlx"]),
    ("bun", &["x"]),
    ("deno", &["run"]),
];
/// What may stand before the program that is meant.
const BEFORE: [&str; 8] = ["env", "sh", "bash", "zsh", "exec", "nice", "timeout", "cmd"];

/// The program of a command line that fetches what it runs.
pub(super) fn fetching<'a>(line: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut words = line.flat_map(str::split_whitespace).skip_while(|word| {
        word.starts_with('-')
            || *word == "/c"
            || word.contains('=')
            || BEFORE.contains(&program_of(word))
            || word.chars().all(|c| c.is_ascii_digit())
    });
    let program = program_of(words.next()?);
    let (_, only_with) = FETCHING.iter().find(|(name, _)| *name == program)?;
    let after = words.find(|word| !word.starts_with('-'));
    (only_with.is_empty() || after.is_some_and(|after| only_with.contains(&after))).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_fetch_what_they_run_are_known_behind_others() {
        let of = |line: &'static str| fetching(line.split(' '));
        for (line, program) in [
            ("uvx mcp-server-time", "uvx"),
            ("/usr/local/bin/npx -y @scope/server .", "npx"),
            ("env A=1 npx server", "npx"),
            ("sh -c npx server", "npx"),
            ("cmd /c npx server", "npx"),
            ("pipx run server", "pipx"),
            ("npm -y exec server", "npm"),
            ("uv tool run server", "uv"),
            ("docker run -i --rm mcp/time", "docker"),
        ] {
            assert_eq!(of(line), Some(program), "{line}");
        }
        for line in
            ["mcp-server-git --repository .", "node npx.js", "python3 -m uvx", "npm start", "uv --version", "sh"]
        {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
