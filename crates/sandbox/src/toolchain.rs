//! Folders of the home folder that compilers and interpreters need to run, and none that hold keys.

use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A toolchain that people install into their home folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// rustup and cargo. Not `~/.cargo` itself, which holds the tokens of registries.
    Rust,
    /// nvm, fnm, volta, npm's cache and global packages. Not `~/.npmrc`, which holds tokens.
    Node,
    /// pyenv, uv, pipx, user packages and pip's cache.
    Python,
    /// Go's modules and its installed toolchains.
    Go,
    /// sdkman, Maven's and Gradle's caches. Not their settings, which hold passwords.
    Java,
}

impl Toolchain {
    /// All that are known.
    pub const ALL: [Toolchain; 5] =
        [Toolchain::Rust, Toolchain::Node, Toolchain::Python, Toolchain::Go, Toolchain::Java];

    /// What to grant for reading, as far as it exists. With the policy's `home` set to the same folder, the tools find
    /// everything in its place, and what they write beside it goes to the private home.
    pub fn read(self, home: &Path) -> Vec<PathBuf> {
        let paths = self.folders().iter().map(|folder| home.join(folder));
        paths.filter(|path| path.exists()).collect()
    }

    fn folders(self) -> &'static [&'static str] {
        match self {
            Toolchain::Rust => &[".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup"],
            Toolchain::Node => {
                &[".nvm", ".fnm", ".local/share/fnm", ".volta", ".npm", ".npm-global", ".local/share/pnpm", ".bun"]
            }
            Toolchain::Python => &[
                ".pyenv",
                ".local/share/uv",
                ".local/bin",
                ".local/lib",
                ".local/share/pipx",
                ".cache/pip",
                ".cache/uv",
            ],
            Toolchain::Go => &["go/pkg", "go/bin", "sdk", ".cache/go-build"],
            Toolchain::Java => &[".sdkman", ".m2/repository", ".gradle/caches", ".gradle/wrapper"],
        }
    }
}

/// A name that is no toolchain.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no toolchain; expected `rust`, `node`, `python`, `go` or `java`")]
pub struct NotAToolchain(String);

impl FromStr for Toolchain {
    type Err = NotAToolchain;

    fn from_str(text: &str) -> Result<Self, NotAToolchain> {
        match text {
            "rust" => Ok(Toolchain::Rust),
            "node" => Ok(Toolchain::Node),
            "python" => Ok(Toolchain::Python),
            "go" => Ok(Toolchain::Go),
            "java" => Ok(Toolchain::Java),
            other => Err(NotAToolchain(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_exist_are_granted_and_keys_never() {
        let home = tempfile::tempdir().unwrap();
        for folder in [".cargo/bin", ".rustup", ".ssh", ".m2/repository"] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let keys =
            [".cargo/credentials.toml", ".npmrc", ".m2/settings.xml", ".gradle/gradle.properties", ".ssh/id_ed25519"];
        let granted: Vec<PathBuf> = Toolchain::ALL.iter().flat_map(|one| one.read(home.path())).collect();
        assert_eq!(granted, [".cargo/bin", ".rustup", ".m2/repository"].map(|folder| home.path().join(folder)));
        let all: Vec<&str> = Toolchain::ALL.iter().flat_map(|one| one.folders()).copied().collect();
        assert!(keys.iter().all(|key| !all.iter().any(|folder| Path::new(key).starts_with(folder))));
    }
}
