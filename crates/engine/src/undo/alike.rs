//! Files that are about to be removed, found by what they hold: each may be what another path is to become again.

use std::collections::{BTreeMap, BTreeSet};

use updraft_run::{FormKind, Hash};

use super::plan::Move;
use super::side::Side;

/// What two files have in common that hold the same. Where one was never read, its length and time stand in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Content(Hash),
    Time(u64, i64),
}

/// The files, by what they hold, then by name and path.
#[derive(Default)]
pub(super) struct Alike {
    files: BTreeMap<Key, BTreeSet<(String, String)>>,
    keys: BTreeMap<String, Vec<Key>>,
}

impl Alike {
    pub(super) fn of<'a>(moves: impl Iterator<Item = &'a Move>) -> Self {
        let mut alike = Alike::default();
        for (one, from) in moves.filter_map(|one| Some((one, removed(one)?))) {
            let time = from.form.modified.map(|time| Key::Time(from.form.len, time));
            let keys: Vec<Key> = from.hash.map(Key::Content).into_iter().chain(time).collect();
            for key in &keys {
                alike.files.entry(*key).or_default().insert(entry(&one.path));
            }
            alike.keys.insert(one.path.clone(), keys);
        }
        alike
    }

    /// Takes out a file that holds this; of several, the one that has the name.
    pub(super) fn take(&mut self, wanted: &Side, path: &str) -> Option<String> {
        let time = || wanted.form.modified.map(|time| Key::Time(wanted.form.len, time));
        let key = wanted.hash.map(Key::Content).or_else(time)?;
        let files = self.files.get(&key)?;
        let (name, _) = entry(path);
        let named = files.range((name.clone(), String::new())..).next().filter(|file| file.0 == name);
        let (_, found) = named.or_else(|| files.first())?.clone();
        for key in self.keys.remove(&found).unwrap_or_default() {
            self.files.entry(key).or_default().remove(&entry(&found));
        }
        Some(found)
    }
}

/// What a move only removes, if it is a file.
fn removed(one: &Move) -> Option<Side> {
    one.from.filter(|side| side.form.kind == FormKind::File && one.to.is_none())
}

fn entry(path: &str) -> (String, String) {
    (path.rsplit('/').next().unwrap_or(path).to_owned(), path.to_owned())
}

#[cfg(test)]
mod tests {
    use updraft_run::Form;

    use super::*;

    fn side(content: Option<&str>, len: u64, time: i64) -> Side {
        let form = Form { kind: FormKind::File, mode: 0o644, len, modified: Some(time) };
        Side { form, hash: content.map(|text| updraft_journal::hash_of(text.as_bytes())), entries: None }
    }

    fn removal(path: &str, from: Side) -> Move {
        let (path, from) = (path.to_owned(), Some(from));
        Move { path, from, to: None, calls: Vec::new(), taken_from: None, later: Vec::new() }
    }

    #[test]
    fn each_file_is_given_once_and_first_to_its_own_name() {
        let moves = [
            removal("new/a", side(Some("x"), 1, 5)),
            removal("new/b", side(Some("x"), 1, 6)),
            removal("new/c", side(Some("y"), 1, 7)),
        ];
        let mut alike = Alike::of(moves.iter());
        assert_eq!(alike.take(&side(Some("x"), 1, 0), "old/b").as_deref(), Some("new/b"));
        assert_eq!(alike.take(&side(None, 1, 6), "old/b"), None, "it is given away, by whatever it was found");
        assert_eq!(alike.take(&side(Some("x"), 1, 0), "old/z").as_deref(), Some("new/a"));
        assert_eq!(alike.take(&side(Some("x"), 1, 0), "old/a"), None);
        assert_eq!(alike.take(&side(None, 2, 7), "old/c"), None, "another length");
        assert_eq!(alike.take(&side(None, 1, 7), "old/c").as_deref(), Some("new/c"), "one that was never read");
    }
}
