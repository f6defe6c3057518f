//! Folders in the home folder that compilers and interpreters need to run, without any that hold keys.
//!
//! They are read-only. So caches that programs must write are not included: without one, a program creates its own in
//! the private home. Package stores that can be used without writing are included, since without a network there is
//! no other source.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A toolchain that people install into their home folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// rustup and cargo. Not `~/.cargo` itself, which holds the tokens of registries.
    Rust,
    /// nvm, fnm, volta, bun, pnpm and global packages. Not `~/.npmrc`, which holds tokens.
    Node,
    /// pyenv, uv's interpreters and tools, pipx and user packages.
    Python,
    /// Go's modules and its installed toolchains.
    Go,
    /// sdkman and Maven's repository. Not their settings, which hold passwords.
    Java,
}

impl Toolchain {
    /// All known toolchains.
    pub const ALL: [Toolchain; 5] =
        [Toolchain::Rust, Toolchain::Node, Toolchain::Python, Toolchain::Go, Toolchain::Java];

    /// The paths to grant for reading, as far as they exist. If the policy's `home` is the same folder, the tools
    /// find everything at its usual place, and other files that they write go to the private home.
    pub fn read(self, home: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for folder in self.folders() {
            grant(home, Path::new(folder), &mut found);
        }
        found
    }

    fn folders(self) -> &'static [&'static str] {
        match self {
            // Cargo locks its own folder, not the registry, and reads existing crates without writing.
            Toolchain::Rust => &[".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup"],
            Toolchain::Node => {
                &[".nvm", ".fnm", ".local/share/fnm", ".volta", ".npm-global", ".local/share/pnpm", ".bun"]
            }
            Toolchain::Python => &[
                ".pyenv",
                ".local/share/uv/python",
                ".local/share/uv/tools",
                ".local/bin",
                ".local/lib",
                ".local/share/pipx",
            ],
            // Existing modules are only read.
            Toolchain::Go => &["go/pkg", "go/bin", "sdk"],
            // Maven writes to it only what it downloads or is told to install.
            Toolchain::Java => &[".sdkman", ".m2/repository"],
        }
    }
}

/// Parts of these folders that their programs must be able to write: they create their own in the private home.
const WRITTEN: [&str; 2] = [".local/share/pnpm/store", ".bun/install/cache"];

/// Adds a folder; or, if something in it must be writable, everything beside that.
fn grant(home: &Path, within: &Path, found: &mut Vec<PathBuf>) {
    let whole = home.join(within);
    if !WRITTEN.iter().any(|written| Path::new(written).starts_with(within)) {
        found.extend(whole.exists().then_some(whole));
    } else if !WRITTEN.iter().any(|written| Path::new(written) == within) {
        let entries = std::fs::read_dir(&whole).into_iter().flatten().flatten();
        let names: BTreeSet<_> = entries.map(|entry| entry.file_name()).collect();
        for name in names {
            grant(home, &within.join(name), found);
        }
    }
}

/// A name that is not a toolchain.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a toolchain; expected `rust`, `node`, `python`, `go` or `java`")]
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

    #[test]
    fn what_its_program_must_write_is_left_out_and_all_beside_it_granted() {
        let home = tempfile::tempdir().unwrap();
        let caches = [
            ".npm/_cacache",
            ".cache/pip",
            ".cache/uv",
            ".cache/go-build",
            ".gradle/caches",
            ".gradle/wrapper",
            ".local/share/uv/credentials",
            ".local/share/pnpm/store/v10",
            ".bun/install/cache",
        ];
        let others = [".bun/bin", ".bun/install/global", ".local/share/pnpm/global", ".local/share/uv/python"];
        for folder in caches.iter().chain(&others) {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let granted: BTreeSet<PathBuf> = Toolchain::ALL.iter().flat_map(|one| one.read(home.path())).collect();
        assert_eq!(granted, others.iter().map(|folder| home.path().join(folder)).collect());
    }
}
