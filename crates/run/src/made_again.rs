//! Tells by its path what builds, package managers and git make again by themselves. Nobody needs to hear of each such file;
//! they are recorded all the same.

/// Folders whose content is made again, wherever they are.
const FOLDERS: [&str; 12] = [
    "__pycache__",
    "node_modules",
    ".venv",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
];
/// What Cargo has in `target`.
const OF_CARGO: [&str; 8] =
    ["debug", "release", "doc", "tmp", "package", "CACHEDIR.TAG", ".rustc_info.json", ".rustdoc_fingerprint.json"];
/// What git changes in `.git` beside branches, hooks and settings.
const OF_GIT: [&str; 8] =
    ["objects", "index", "logs", "COMMIT_EDITMSG", "ORIG_HEAD", "AUTO_MERGE", "FETCH_HEAD", "MERGE_MSG"];

/// Whether the file or folder at a path is made again. Of a folder that is new as a whole, the folder itself is not.
pub fn is_made_again(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let is_below = |pair: &[&str]| match pair {
        [folder, _] if FOLDERS.contains(folder) => true,
        ["target", part] => OF_CARGO.contains(part),
        [".git", part] => OF_GIT.contains(part),
        _ => false,
    };
    parts.windows(2).any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_builds_are_known_by_their_folders() {
        for path in [
            "a/__pycache__/b.pyc",
            "target/debug/deps/x",
            "node_modules/left-pad/index.js",
            ".git/objects/84/1f",
            ".git/index",
        ] {
            assert!(is_made_again(path), "{path}");
        }
        for path in [
            ".venv",
            "target/notes.md",
            "src/target.rs",
            ".git/hooks/pre-commit",
            ".git/refs/heads/main",
            ".env",
            "build/a.txt",
        ] {
            assert!(!is_made_again(path), "{path}");
        }
    }
}
