//! Long-term memory: short texts that later runs are told again, each with where it came from and how often it was used.
//!
//! A memory is a row of the table `memories` and a document of the [`Index`] in the same file, written in one transaction.
//! So memories are found by the same words, ranking and vectors as passages of files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};
use updraft_reader::{Block, BlockKind, Document, DocumentKind, SourcePlace};

use crate::cancel::Cancel;
use crate::entry::NewDocument;
use crate::error::Error;
use crate::index::{Index, put_one, remove_one};
use crate::search::{DocumentFilter, SearchMethod, SearchRequest};
use crate::vectors::Embedder;

/// `AUTOINCREMENT`: a forgotten memory's number is never given to another. `key` is the call that made it, so that a call
/// that is repeated after a crash makes no second one.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS memories(
    id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, text TEXT NOT NULL, pinned INTEGER NOT NULL,
    run TEXT NOT NULL, step TEXT NOT NULL, origins TEXT NOT NULL, made INTEGER NOT NULL, used INTEGER, uses INTEGER NOT NULL,
    key TEXT UNIQUE
) STRICT;";

const COLUMNS: &str = "id, scope, text, pinned, run, step, origins, made, used, uses";

/// The longest memory, in bytes. What is longer belongs in a file.
pub const LONGEST_MEMORY: usize = 4_000;

/// What the memories made just before and after it in the same run count for a memory, compared with itself: what is
/// remembered together belongs together.
const NEIGHBOUR: f64 = 0.4;
/// How many memories are compared for each that is recalled.
const CANDIDATES: usize = 20;

/// Whom a memory is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// Every run of the user.
    User,
    /// Runs in this folder.
    Workspace(String),
    /// The agent of this name, in every folder.
    Agent(String),
}

impl MemoryScope {
    /// `user`, `workspace` or `agent`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace(_) => "workspace",
            Self::Agent(_) => "agent",
        }
    }

    /// The folder or the agent.
    pub fn name(&self) -> &str {
        match self {
            Self::User => "",
            Self::Workspace(name) | Self::Agent(name) => name,
        }
    }

    /// As it is stored, and as the kind of the document in the index.
    fn key(&self) -> String {
        match self {
            Self::User => self.word().to_owned(),
            Self::Workspace(name) | Self::Agent(name) => format!("{} {name}", self.word()),
        }
    }

    fn of_key(key: &str) -> Self {
        match key.split_once(' ') {
            Some(("workspace", name)) => Self::Workspace(name.to_owned()),
            Some(("agent", name)) => Self::Agent(name.to_owned()),
            _ if key == "user" => Self::User,
            // A scope of a newer version: it fits no folder.
            _ => Self::Workspace(key.to_owned()),
        }
    }
}

/// Something to be remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMemory {
    /// What, in words that stand by themselves.
    pub text: String,
    /// Whom it is for.
    pub scope: MemoryScope,
    /// It is told to every run that it is for, whatever the goal is.
    #[serde(default)]
    pub pinned: bool,
    /// The run and the step that it comes from; empty if a person wrote it.
    #[serde(default)]
    pub run: String,
    /// The step.
    #[serde(default)]
    pub step: String,
    /// Where text from outside came from that the step had read; empty if there was none.
    #[serde(default)]
    pub origins: Vec<String>,
}

/// Something that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Its number.
    pub id: i64,
    /// What, whom it is for, and where it comes from.
    #[serde(flatten)]
    pub content: NewMemory,
    /// When it was made, in seconds since 1970.
    pub made: i64,
    /// When it was last recalled.
    pub used: Option<i64>,
    /// How often it was recalled.
    pub uses: i64,
}

/// What is remembered, in one file. Several processes may use it at once.
pub struct MemoryStore {
    index: Index,
}

impl Memory {
    /// Whether one was made directly after the other in the same run.
    fn is_next_to(&self, other: &Self) -> bool {
        let is_same_run = !self.content.run.is_empty() && self.content.run == other.content.run;
        is_same_run && self.id.abs_diff(other.id) == 1
    }
}

impl MemoryStore {
    /// Opens the file and creates it if there is none, for its user only.
    pub fn open(file: &Path) -> Result<Self, Error> {
        // SQLite takes an empty file for a new database, and gives the files beside it the same permissions.
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // If that fails, opening it fails too, or it is there already.
            let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
        }
        let index = Index::open(file)?;
        // Unlike passages of files, memories cannot be made again: a power cut must not undo one.
        index.read(|connection| connection.execute_batch(&format!("PRAGMA synchronous = FULL; {TABLE}")))?;
        Ok(Self { index })
    }

    /// Remembers something, and returns its number and whether it is new. The same text for the same scope is kept once,
    /// pinned if it was or is to be, and so is what a call with the same key has remembered before.
    pub fn add(&mut self, new: &NewMemory, key: Option<&str>, now: i64) -> Result<(i64, bool), Error> {
        self.index.write(|batch| {
            let known = "SELECT id FROM memories WHERE (scope = ?1 AND text = ?2) OR key = ?3";
            let scope = new.scope.key();
            let known: Option<i64> =
                batch.prepare_cached(known)?.query_row(params![scope, new.text, key], |row| row.get(0)).optional()?;
            if let Some(id) = known {
                let pin = "UPDATE memories SET pinned = 1 WHERE id = ?1 AND scope = ?2 AND text = ?3";
                if new.pinned {
                    batch.prepare_cached(pin)?.execute(params![id, scope, new.text])?;
                }
                return Ok((id, false));
            }
            let insert = "INSERT INTO memories(scope, text, pinned, run, step, origins, made, uses, key)
                VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)";
            let origins = new.origins.join("\n");
            let values = params![scope, new.text, new.pinned, new.run, new.step, origins, now, key];
            let id = batch.prepare_cached(insert)?.insert(values)?;
            put_one(batch, &document(id, new))?;
            Ok((id, true))
        })
    }

    /// All memories of these scopes, or of all; newest first.
    pub fn list(&self, scopes: &[MemoryScope]) -> Result<Vec<Memory>, Error> {
        let keys: BTreeSet<String> = scopes.iter().map(MemoryScope::key).collect();
        let all: Vec<Memory> = self.index.read(|connection| {
            let mut rows = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM memories ORDER BY id DESC"))?;
            rows.query_map([], of_row)?.collect()
        })?;
        Ok(all.into_iter().filter(|memory| keys.is_empty() || keys.contains(&memory.content.scope.key())).collect())
    }

    /// One memory.
    pub fn get(&self, id: i64) -> Result<Option<Memory>, Error> {
        self.index.read(|connection| {
            let mut rows = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM memories WHERE id = ?1"))?;
            rows.query_row([id], of_row).optional()
        })
    }

    /// The memories of these scopes (or of all) that fit a question best, best first, each with its score. Vectors of
    /// what was added since are made first; if the model fails, words decide.
    pub fn recall(
        &mut self,
        question: &str,
        scopes: &[MemoryScope],
        limit: usize,
        embedder: Option<&dyn Embedder>,
    ) -> Result<Vec<(Memory, f64)>, Error> {
        let embedder =
            embedder.filter(|embedder| self.index.embed(*embedder, &mut |_, _| {}, &Cancel::default()).is_ok());
        let kinds = scopes.iter().map(MemoryScope::key).collect();
        let request = SearchRequest {
            text: question.to_owned(),
            limit: CANDIDATES * limit,
            filter: DocumentFilter { kinds, ..DocumentFilter::default() },
            method: SearchMethod::Hybrid,
        };
        let found = match self.index.search(&request, embedder) {
            Err(Error::Embedder { .. }) => self.index.search(&request, None),
            found => found,
        }?;
        let mut scores: BTreeMap<i64, f64> = BTreeMap::new();
        for passage in found.passages {
            let id = passage.path.strip_prefix(PATH).and_then(|id| id.parse().ok()).unwrap_or_default();
            // A memory of several chunks may be found several times.
            let best = scores.entry(id).or_default();
            *best = best.max(passage.score);
        }
        let mut found = Vec::new();
        for id in scores.keys() {
            found.extend(self.get(*id)?);
        }
        let own = |id: i64| scores.get(&id).copied().unwrap_or_default();
        let mut recalled: Vec<(Memory, f64)> = Vec::new();
        for (at, memory) in found.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| found.get(at));
            let neighbours = before.into_iter().chain(found.get(at + 1)).filter(|other| other.is_next_to(memory));
            let score = own(memory.id) + NEIGHBOUR * neighbours.map(|other| own(other.id)).sum::<f64>();
            recalled.push((memory.clone(), score));
        }
        recalled.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.id.cmp(&b.0.id)));
        recalled.truncate(limit);
        Ok(recalled)
    }

    /// Counts a use of these memories.
    pub fn touch(&mut self, ids: &[i64], now: i64) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        self.index.write(|batch| {
            let mut touch = batch.prepare_cached("UPDATE memories SET used = ?2, uses = uses + 1 WHERE id = ?1")?;
            ids.iter().try_for_each(|id| touch.execute(params![id, now]).map(drop))
        })
    }

    /// Replaces a memory's content, and returns whether there is such a memory.
    pub fn edit(&mut self, id: i64, content: &NewMemory) -> Result<bool, Error> {
        self.index.write(|batch| {
            let update = "UPDATE memories SET scope = ?2, text = ?3, pinned = ?4, run = ?5, step = ?6, origins = ?7
                WHERE id = ?1";
            let NewMemory { text, scope, pinned, run, step, origins } = content;
            let values = params![id, scope.key(), text, pinned, run, step, origins.join("\n")];
            if batch.prepare_cached(update)?.execute(values)? == 0 {
                return Ok(false);
            }
            unlist(batch, id)?;
            put_one(batch, &document(id, content))?;
            Ok(true)
        })
    }

    /// Forgets a memory, and returns whether there was one.
    pub fn forget(&mut self, id: i64) -> Result<bool, Error> {
        self.index.write(|batch| {
            unlist(batch, id)?;
            Ok(batch.prepare_cached("DELETE FROM memories WHERE id = ?1")?.execute([id])? > 0)
        })
    }
}

/// Finds the texts that fit a question best, best first: the place of each in the list, and the passage of it that fits.
/// For texts that are searched once.
pub fn rank(texts: &[String], question: &str, limit: usize) -> Result<Vec<(usize, String)>, Error> {
    let mut index = Index::open(Path::new(":memory:"))?;
    let documents: Vec<NewDocument> = texts.iter().enumerate().map(|(at, text)| plain(&at.to_string(), text)).collect();
    index.put(&documents)?;
    let request = SearchRequest { text: question.to_owned(), limit, ..SearchRequest::default() };
    let found = index.search(&request, None)?.passages.into_iter();
    Ok(found.filter_map(|passage| Some((passage.path.parse().ok()?, passage.text))).take(limit).collect())
}

/// What the path of a memory in the index begins with.
const PATH: &str = "memory/";

fn document(id: i64, new: &NewMemory) -> NewDocument {
    NewDocument { kind: new.scope.key(), ..plain(&format!("{PATH}{id}"), &new.text) }
}

fn plain(path: &str, text: &str) -> NewDocument {
    let block = Block { place: SourcePlace::default(), kind: BlockKind::Paragraph, text: text.to_owned() };
    let document = Document { kind: DocumentKind::Text, title: None, blocks: vec![block], warnings: Vec::new() };
    NewDocument::new(path, text.as_bytes(), &document)
}

/// Removes a memory from the index.
fn unlist(batch: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
    let mut find = batch.prepare_cached("SELECT id FROM documents WHERE path = ?1")?;
    let listed: Option<i64> = find.query_row([format!("{PATH}{id}")], |row| row.get(0)).optional()?;
    listed.map_or(Ok(()), |id| remove_one(batch, id).map(drop))
}

fn of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Memory> {
    let origins: String = row.get(6)?;
    Ok(Memory {
        id: row.get(0)?,
        content: NewMemory {
            scope: MemoryScope::of_key(&row.get::<_, String>(1)?),
            text: row.get(2)?,
            pinned: row.get(3)?,
            run: row.get(4)?,
            step: row.get(5)?,
            origins: origins.lines().map(str::to_owned).collect(),
        },
        made: row.get(7)?,
        used: row.get(8)?,
        uses: row.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(text: &str, scope: MemoryScope) -> NewMemory {
        NewMemory { text: text.into(), scope, pinned: false, run: "r1".into(), step: "s".into(), origins: Vec::new() }
    }

    fn texts(found: &[(Memory, f64)]) -> Vec<&str> {
        found.iter().map(|(memory, _)| memory.content.text.as_str()).collect()
    }

    #[test]
    fn what_is_remembered_is_recalled_by_its_words_in_its_scope_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.db");
        let mut store = MemoryStore::open(&file).unwrap();
        let here = MemoryScope::Workspace("/here".into());
        let (dog, _) = store.add(&new("Anna's dog is called Archie.", MemoryScope::User), None, 10).unwrap();
        store.add(&new("The release branch is called stable.", here.clone()), None, 11).unwrap();
        store.add(&new("Call the tests with nextest.", MemoryScope::Agent("coder".into())), None, 12).unwrap();
        drop(store);
        let mut store = MemoryStore::open(&file).unwrap();
        let found = store.recall("what is my dog called?", &[MemoryScope::User, here.clone()], 5, None).unwrap();
        assert_eq!(texts(&found), ["Anna's dog is called Archie.", "The release branch is called stable."]);
        store.touch(&[dog], 20).unwrap();
        let known = store.get(dog).unwrap().unwrap();
        assert_eq!((known.made, known.used, known.uses), (10, Some(20), 1));
        assert!(store.edit(dog, &new("Anna's cat is called Mia.", MemoryScope::User)).unwrap());
        assert_eq!(texts(&store.recall("dog", &[], 5, None).unwrap()), [""; 0]);
        assert_eq!(texts(&store.recall("the cat", &[], 5, None).unwrap()), ["Anna's cat is called Mia."]);
        assert!(store.forget(dog).unwrap() && !store.forget(dog).unwrap() && store.get(dog).unwrap().is_none());
        assert_eq!((store.list(&[here]).unwrap().len(), store.list(&[]).unwrap().len()), (1, 2));
        store.index.check().unwrap();
        #[cfg(unix)]
        for file in std::fs::read_dir(folder.path()).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn of_memories_that_fit_equally_the_one_made_next_to_a_better_one_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = MemoryStore::open(&folder.path().join("memory.db")).unwrap();
        let mut add = |text: &str, run: &str| {
            let memory = NewMemory { run: run.into(), ..new(text, MemoryScope::User) };
            store.add(&memory, None, 1).unwrap();
        };
        add("The machine has a scratch.", "r1");
        add("An espresso machine was ordered for the kitchen.", "r2");
        add("The machine has a bent part.", "r2");
        add("The machine has a new owner.", "r3");
        let found = store.recall("Which part of the espresso machine in the kitchen is broken?", &[], 3, None).unwrap();
        let (espresso, bent) = ("An espresso machine was ordered for the kitchen.", "The machine has a bent part.");
        assert_eq!(texts(&found)[..2], [espresso, bent]);
        let found = store.recall("espresso machine", &[], 3, None).unwrap();
        assert_eq!(texts(&found)[..2], [espresso, bent]);
    }

    #[test]
    fn a_repeated_call_and_a_repeated_text_make_no_second_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = MemoryStore::open(&folder.path().join("memory.db")).unwrap();
        let first = store.add(&new("one", MemoryScope::User), Some("run/call.0"), 1).unwrap();
        assert_eq!(
            store.add(&new("one, reworded", MemoryScope::User), Some("run/call.0"), 2).unwrap(),
            (first.0, false)
        );
        let pinned = NewMemory { pinned: true, ..new("one", MemoryScope::User) };
        assert_eq!(store.add(&pinned, None, 3).unwrap(), (first.0, false));
        assert_eq!(store.add(&new("one", MemoryScope::User), None, 3).unwrap(), (first.0, false));
        assert!(store.get(first.0).unwrap().unwrap().content.pinned);
        assert!(store.add(&new("one", MemoryScope::Agent("coder".into())), None, 4).unwrap().1);
    }

    #[test]
    fn scopes_are_told_apart_by_every_character_and_an_unknown_one_is_nobodys() {
        let scopes = [
            MemoryScope::User,
            MemoryScope::Workspace("/x/other".into()),
            MemoryScope::Workspace("/x/other ".into()),
            MemoryScope::Workspace(String::new()),
            MemoryScope::Agent(String::new()),
        ];
        let keys: BTreeSet<String> = scopes.iter().map(MemoryScope::key).collect();
        assert_eq!(keys.len(), scopes.len());
        for scope in scopes {
            assert_eq!(MemoryScope::of_key(&scope.key()), scope);
        }
        assert_ne!(MemoryScope::of_key("team"), MemoryScope::User);
    }

    #[test]
    fn texts_of_the_moment_are_ranked_without_a_file() {
        let texts = ["a harbour at noon".to_owned(), "the sluice opens".to_owned(), "ships in harbours".to_owned()];
        let found: Vec<usize> = rank(&texts, "harbour", 5).unwrap().into_iter().map(|(at, _)| at).collect();
        assert_eq!(found, [0, 2]);
    }
}
