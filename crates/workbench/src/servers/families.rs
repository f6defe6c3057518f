//! What is known of programs that run other code: which files they look for by themselves, and how code is recognised.

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

/// The files that a program looks for by itself.
pub(super) fn family_files(program: &str) -> impl Iterator<Item = &'static str> {
    FAMILIES
        .iter()
        .filter(move |(programs, _)| programs.contains(&program))
        .flat_map(|(_, files)| files.iter().copied())
}
