//! The people who share a server: names, roles and tokens, in one file that only its owner can read.
//!
//! The file holds a hash of each token, so it lets nobody in. It is read anew for every request: who is removed is out
//! at once, also if another process removed them.

use std::io::ErrorKind;
use std::path::PathBuf;

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

/// The file of users. Cheap to clone.
#[derive(Clone, Debug)]
pub struct UserFile(PathBuf);

impl UserFile {
    /// The users in this file. It need not exist.
    pub fn at(file: PathBuf) -> Self {
        Self(file)
    }

    /// All users, by name.
    pub fn list(&self) -> Result<Vec<PageUser>, Fault> {
        let bytes = match std::fs::read(&self.0) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Fault::file("read", &self.0, &error)),
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            Fault::failed(format!("{} is not a list of users: {error}", self.0.display()))
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
        let _alone = folders::alone_with(&self.0)?;
        let mut users = self.list()?;
        change(&mut users)?;
        folders::replace_private(&self.0, &serde_json::to_vec_pretty(&users).unwrap_or_default())
    }

    /// The user with a name. A file that cannot be read names nobody.
    pub(crate) fn named(&self, name: &str) -> Option<PageUser> {
        self.known().into_iter().find(|user| user.name == name)
    }

    /// The user with a token.
    pub(crate) fn with_token(&self, shown: &str) -> Option<PageUser> {
        let shown = hash(shown.trim());
        self.known().into_iter().find(|user| user.hash.as_bytes().ct_eq(shown.as_bytes()).into())
    }

    fn known(&self) -> Vec<PageUser> {
        self.list().unwrap_or_else(|fault| {
            tracing::warn!("nobody can sign in: {}", fault.message);
            Vec::new()
        })
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
}
