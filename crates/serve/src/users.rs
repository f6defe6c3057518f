//! The people who share a server: names, roles and tokens, in one file that only its owner can read.
//!
//! The file holds a hash of each token, so it lets nobody in. Every request looks whether it has changed: who is removed
//! is out at once, also if another process removed them.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use updraft_run::Timestamp;
use updraft_workbench::{Fault, folders, time_format};

use crate::page::words;

/// What somebody may do. Each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserRole {
    /// Look at runs, knowledge, memories and tools.
    See,
    /// Start runs, answer, approve, send messages, stop, fork, and change memories.
    Steer,
    /// See the settings, call tools, and add users.
    Administer,
}

impl UserRole {
    /// All roles.
    pub const ALL: [UserRole; 3] = [UserRole::See, UserRole::Steer, UserRole::Administer];

    /// The role as users write it.
    pub fn word(self) -> &'static str {
        match self {
            UserRole::See => "see",
            UserRole::Steer => "steer",
            UserRole::Administer => "administer",
        }
    }
}

/// Somebody who may use the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageUser {
    /// The name, which the journal holds for what this user decides.
    pub name: String,
    /// What this user may do.
    pub role: UserRole,
    /// When the user was added.
    pub since: Timestamp,
    /// The hash of the token, in hexadecimal.
    hash: String,
}

impl PageUser {
    /// What the visits of this user are bound to. It changes with the token.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }
}

/// A file that is younger is read each time: two changes of it may have the same time.
const YOUNG: Duration = Duration::from_secs(1);

/// The file of users. Cheap to clone.
#[derive(Clone, Debug)]
pub struct UserFile {
    file: PathBuf,
    /// What was read last, and what the file looked like then.
    last: Arc<Mutex<Option<ReadUsers>>>,
}

/// What the file looked like when it was read, and what was in it.
type ReadUsers = (FileStamp, Arc<[PageUser]>);

/// What changes whenever a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: SystemTime,
    bytes: u64,
}

impl UserFile {
    /// The users in this file. It need not exist.
    pub fn at(file: PathBuf) -> Self {
        Self { file, last: Arc::default() }
    }

    /// All users, by name.
    pub fn list(&self) -> Result<Vec<PageUser>, Fault> {
        let bytes = match std::fs::read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Fault::file("read", &self.file, &error)),
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            Fault::failed(format!("{} is not a list of users: {error}", self.file.display()))
                .hint("delete it, and add the users again")
        })
    }

    /// Adds a user, and gives the token, which is stored nowhere.
    pub fn add(&self, name: &str, role: UserRole) -> Result<String, Fault> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if name.is_empty() || name.len() > 40 || !name.chars().all(is_plain) {
            return Err(Fault::usage(format!("`{name}` is no name for a user"))
                .hint("a name has 1 to 40 letters from a to z, digits, `-` or `_`"));
        }
        let token = folders::unguessable(32).map_err(Fault::failed)?;
        let user = PageUser { name: name.to_owned(), role, since: time_format::now(), hash: hash(&token) };
        self.change(|users| {
            if users.iter().any(|known| known.name.eq_ignore_ascii_case(name)) {
                return Err(Fault::usage(format!("there is a user `{name}` already"))
                    .hint(format!("`updraft serve user remove {name}` first, for another role or a new token")));
            }
            users.push(user);
            users.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(())
        })?;
        Ok(token)
    }

    /// Removes a user: the token and all visits end.
    pub fn remove(&self, name: &str) -> Result<(), Fault> {
        self.change(|users| {
            let before = users.len();
            users.retain(|known| known.name != name);
            if users.len() < before {
                return Ok(());
            }
            Err(Fault::usage(format!("there is no user `{name}`")).hint("`updraft serve user list` shows all"))
        })
    }

    fn change(&self, change: impl FnOnce(&mut Vec<PageUser>) -> Result<(), Fault>) -> Result<(), Fault> {
        let _alone = folders::alone_with(&self.file)?;
        let mut users = self.list()?;
        change(&mut users)?;
        folders::replace_private(&self.file, &serde_json::to_vec_pretty(&users).unwrap_or_default())
    }

    /// The user with a name.
    pub(crate) fn named(&self, name: &str) -> Option<PageUser> {
        self.known().iter().find(|user| user.name == name).cloned()
    }

    /// The user with a token.
    pub(crate) fn with_token(&self, shown: &str) -> Option<PageUser> {
        let shown = hash(shown.trim());
        self.known().iter().find(|user| user.hash.as_bytes().ct_eq(shown.as_bytes()).into()).cloned()
    }

    /// All users; the file is only read if it has changed. A file that cannot be read names nobody.
    fn known(&self) -> Arc<[PageUser]> {
        let stamp = std::fs::metadata(&self.file).ok().and_then(|about| {
            let stamp = FileStamp { modified: about.modified().ok()?, bytes: about.len() };
            stamp.modified.elapsed().is_ok_and(|age| age > YOUNG).then_some(stamp)
        });
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(now), Some((then, users))) = (stamp, &*last)
            && now == *then
        {
            return Arc::clone(users);
        }
        let users: Arc<[PageUser]> = match self.list() {
            Ok(users) => users.into(),
            Err(fault) => {
                tracing::warn!("nobody can sign in: {}", fault.message);
                return Arc::default();
            }
        };
        *last = stamp.map(|stamp| (stamp, Arc::clone(&users)));
        users
    }
}

/// Tokens are random and long, so a plain hash cannot be reversed by guessing.
fn hash(token: &str) -> String {
    words::hex(&Sha256::digest(format!("page user\0{token}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_known_by_the_token_until_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("users");
        let users = UserFile::at(file.clone());
        assert!(users.list().unwrap().is_empty() && users.with_token("").is_none());
        let ann = users.add("ann", UserRole::Steer).unwrap();
        let bob = users.add("bob", UserRole::See).unwrap();
        assert_eq!(users.with_token(&format!(" {ann}\n")).unwrap().name, "ann");
        assert_eq!(users.with_token(&bob).unwrap().role, UserRole::See);
        assert!(users.with_token(&ann[1..]).is_none());
        let stored = std::fs::read_to_string(&file).unwrap();
        assert!(!stored.contains(&ann) && !stored.contains(&bob));
        assert!(users.add("Ann", UserRole::See).is_err(), "names differ by more than case");
        for name in ["", "a b", "a.b", "a/b", "ä", &"a".repeat(41)] {
            assert!(users.add(name, UserRole::See).is_err(), "{name}");
        }
        users.remove("ann").unwrap();
        assert!(users.remove("ann").is_err() && users.with_token(&ann).is_none() && users.named("bob").is_some());
        std::fs::write(&file, "{").unwrap();
        assert!(users.with_token(&bob).is_none() && users.add("eve", UserRole::See).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{", "what cannot be read is not overwritten");
    }

    #[test]
    fn the_file_is_read_again_only_when_it_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("users");
        let users = UserFile::at(file.clone());
        users.add("ann", UserRole::Steer).unwrap();
        let written = std::fs::read_to_string(&file).unwrap();
        let set = |text: &str, age: u64| {
            std::fs::write(&file, text).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 - age);
            std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
            time
        };
        let time = set(&written, 100);
        assert!(users.named("ann").is_some());
        // The same time and size: it is not looked into.
        std::fs::write(&file, written.replace("ann", "bob")).unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        assert!(users.named("ann").is_some() && users.named("bob").is_none());
        // Another time, or another size, or a file that was written just now.
        set(&written.replace("ann", "bob"), 50);
        assert!(users.named("ann").is_none() && users.named("bob").is_some());
        set(&written.replace("ann", "cleo"), 50);
        assert!(users.named("bob").is_none() && users.named("cleo").is_some());
        std::fs::write(&file, written.replace("ann", "dora")).unwrap();
        assert!(users.named("dora").is_some());
        std::fs::write(&file, written.replace("ann", "emil")).unwrap();
        assert!(users.named("dora").is_none() && users.named("emil").is_some());
        std::fs::remove_file(&file).unwrap();
        assert!(users.named("emil").is_none());
    }
}
