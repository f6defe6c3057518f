//! The files of a workspace that its own MCP servers run: what their command lines name, and the code that those name in
//! turn. Whoever trusts a server trusts these as they are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use updraft_mcp::config::{Link, Secret, ServerConfig};

use crate::plain::read_text;

/// Files that are followed, and how deep folders are.
const MOST: usize = 500;
const DEEPEST: usize = 8;
/// Entries of one folder that are looked at.
const ENTRIES: usize = 5_000;
/// What a folder is entered by.
const ENTRANCES: [&str; 4] = ["__init__", "__main__", "index", "package"];
/// Programs that run a folder which they are given.
const RUN_FOLDERS: [&str; 6] = ["python", "python3", "node", "bun", "deno", "tsx"];
/// Programs that look for what to run in a file that nobody names.
const RUN_BY_FILE: [(&str, &str); 9] = [
    ("npm", "package.json"),
    ("npx", "package.json"),
    ("pnpm", "package.json"),
    ("yarn", "package.json"),
    ("bun", "package.json"),
    ("make", "Makefile"),
    ("uv", "pyproject.toml"),
    ("poetry", "pyproject.toml"),
    ("just", "justfile"),
];
/// Folders of what is made of other files, and of other people's packages.
const LEFT_OUT: [&str; 4] = [".git", "__pycache__", "node_modules", ".venv"];
/// Endings of code.
const CODE: [&str; 24] = [
    "py", "pyw", "js", "mjs", "cjs", "ts", "mts", "tsx", "jsx", "sh", "bash", "zsh", "rb", "pl", "php", "lua", "go",
    "rs", "java", "jar", "so", "node", "wasm", "mk",
];

/// The files that these servers run, as far as they lie in the workspace.
pub(crate) fn of(workspace: &Path, servers: &[ServerConfig]) -> BTreeSet<PathBuf> {
    let mut found = Found { workspace, files: BTreeSet::new(), waiting: Vec::new() };
    for server in servers {
        let Link::Stdio { command, args, cwd, .. } = &server.link else { continue };
        let folder = cwd.as_ref().map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd));
        let program = Path::new(command).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let runs_folders = RUN_FOLDERS.contains(&program);
        for text in std::iter::once(command.as_str()).chain(args.iter().map(Secret::reveal)) {
            found.on_command_line(&folder, text, runs_folders);
        }
        for (_, file) in RUN_BY_FILE.iter().filter(|(name, _)| *name == program) {
            found.take_if_there(&folder.join(file));
        }
        while let Some(file) = found.waiting.pop() {
            found.follow(&folder, &file);
        }
    }
    found.files
}

struct Found<'a> {
    workspace: &'a Path,
    files: BTreeSet<PathBuf>,
    waiting: Vec<PathBuf>,
}

impl Found<'_> {
    /// What stands on a command line counts whatever it is: a program, a script, its settings, a module.
    fn on_command_line(&mut self, folder: &Path, text: &str, runs_folders: bool) {
        let parts = text.split(|c: char| c.is_whitespace() || "'\"=,;()|&<>".contains(c)).chain([text]);
        for part in parts.filter(|part| !part.is_empty()) {
            let path = folder.join(part);
            self.take_if_there(&path);
            if runs_folders && path.is_dir() {
                self.named_in(&path, &BTreeSet::new(), 1);
            }
        }
        self.named_in(folder, &words(text), 0);
    }

    fn take_if_there(&mut self, path: &Path) {
        if path.is_file() {
            self.take(path);
        }
    }

    /// What the code of a file names, beside itself and where the server is started.
    fn follow(&mut self, folder: &Path, file: &Path) {
        let Ok(text) = read_text(file) else { return };
        let words = words(&text);
        if let Some(beside) = file.parent().filter(|beside| *beside != folder) {
            self.named_in(beside, &words, 0);
        }
        self.named_in(folder, &words, 0);
    }

    /// The code in a folder whose name is among the words; below the first, also what folders are entered by.
    fn named_in(&mut self, folder: &Path, words: &BTreeSet<String>, depth: usize) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES) {
            let path = entry.path();
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let is_entrance = depth > 0 && ENTRANCES.contains(&stem.as_str());
            let is_named = words.contains(&stem) && !LEFT_OUT.contains(&stem.as_str());
            if !is_named && !is_entrance {
                continue;
            }
            if path.is_dir() {
                if depth < DEEPEST {
                    self.named_in(&path, words, depth + 1);
                }
            } else if is_code(&path) {
                self.take(&path);
            }
        }
    }

    fn take(&mut self, path: &Path) {
        let path =
            path.canonicalize().ok().filter(|real| real.starts_with(self.workspace)).unwrap_or_else(|| path.to_owned());
        if path.starts_with(self.workspace) && self.files.len() < MOST && self.files.insert(path.clone()) {
            self.waiting.push(path);
        }
    }
}

/// The words of a text that could be names of files.
fn words(text: &str) -> BTreeSet<String> {
    let split = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    split.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn is_code(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let name = path.file_name().unwrap_or_default();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some(ending) => CODE.contains(&ending) || name == "package.json",
        None => name == "Makefile" || path.metadata().is_ok_and(|about| about.permissions().mode() & 0o111 != 0),
    }
}
