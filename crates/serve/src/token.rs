//! The token that other programs must show: generated once, and stored in a file that only its owner can read.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write as _};
use std::path::Path;

use subtle::ConstantTimeEq;
use updraft_workbench::folders::unguessable;

/// A token. Its `Debug` output does not show it.
#[derive(Clone)]
pub struct ServeToken(String);

impl ServeToken {
    /// A token from a text; `None` if it is empty.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Reads the token in a file, and creates it if there is none. A file that others can read is refused, because they
    /// may have read it.
    pub fn keep(file: &Path) -> std::io::Result<Self> {
        if file.symlink_metadata().is_ok() {
            return Self::read(file);
        }
        let text = unguessable(32).map_err(std::io::Error::other)?;
        let draft = file.with_extension(format!("{}.tmp", unguessable(8).map_err(std::io::Error::other)?));
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut made = options.write(true).create_new(true).open(&draft)?;
        made.write_all(format!("{text}\n").as_bytes())?;
        made.sync_all()?;
        // A hard link is created atomically, so another process that starts now never finds an empty file.
        let linked = std::fs::hard_link(&draft, file);
        std::fs::remove_file(&draft)?;
        match linked {
            Ok(()) => Ok(Self(text)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Self::read(file),
            Err(error) => Err(error),
        }
    }

    /// Reads the token in an existing file.
    pub fn read(file: &Path) -> std::io::Result<Self> {
        let opened = std::fs::File::open(file)?;
        let wrong = |what: &str| std::io::Error::new(ErrorKind::InvalidData, what.to_owned());
        if is_open_to_others(&opened.metadata()?) {
            return Err(wrong("others can read this file; delete it to get a new token, or `chmod 600` it"));
        }
        let mut text = String::new();
        opened.take(4096).read_to_string(&mut text)?;
        Self::new(&text).ok_or_else(|| wrong("the file is empty; delete it to get a new token"))
    }

    /// Whether this is the token. The comparison takes constant time.
    pub fn is(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.trim().as_bytes()).into()
    }

    /// The token itself, to be sent or shown to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A key derived from the token, for another secret purpose.
    pub fn key(&self, purpose: &str) -> Vec<u8> {
        use sha2::Digest;
        sha2::Sha256::digest(format!("{purpose}\0{}", self.0)).to_vec()
    }
}

impl fmt::Debug for ServeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Whether users other than its owner can read a file.
#[cfg(unix)]
fn is_open_to_others(about: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0
}

/// Not checked on Windows: a file in the user's own folders belongs to the user there. Untested.
#[cfg(not(unix))]
fn is_open_to_others(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn processes_that_start_at_once_have_one_token() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let keep = || ServeToken::keep(&file).unwrap().reveal().to_owned();
        let kept: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(keep)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(kept.iter().all(|token| *token == kept[0]), "{} tokens", kept.len());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_token_is_made_once_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let made = ServeToken::keep(&file).unwrap();
        assert_eq!(made.reveal().len(), 64);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(ServeToken::keep(&file).unwrap().reveal(), made.reveal());
        assert!(made.is(made.reveal()) && !made.is("x") && !made.is(""));
        assert_eq!(format!("{made:?}"), "Token(..)");
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "secret").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(ServeToken::keep(&file).unwrap_err().to_string().contains("others can read"));
    }
}
