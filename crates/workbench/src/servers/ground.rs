//! What was looked at in a workspace for all of its servers together: each folder and each file once, by where it really
//! lies, and no more in sum than takes a moment. Whoever wrote the workspace may be a stranger.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::rc::Rc;

use super::code::{self, Code, Reading};
use super::families::{ENTRANCES, LEFT_OUT};

/// How deep folders are that are looked into.
pub(super) const DEEPEST: usize = 16;
/// Entries of one folder that are looked at.
const ENTRIES: usize = 5_000;
/// Bytes of code that are read for all servers.
const LONGEST: usize = 64 << 20;
/// Entries, names and words that are compared for all servers.
const STEPS: usize = 20_000_000;
/// How many of those a question to the file system is worth.
pub(super) const QUESTION: usize = 10;

pub(super) struct Ground<'a> {
    pub(super) workspace: &'a Path,
    /// By where they really lie.
    folders: HashMap<Rc<Path>, Rc<Folder>>,
    codes: HashMap<Rc<Path>, Reading>,
    /// What files name where: by folder and file.
    named: HashMap<(Rc<Path>, Rc<Path>), Rc<Named>>,
    read: usize,
    steps: usize,
}

/// What lies in a folder, also by the names that code is named by.
pub(super) struct Folder {
    pub(super) real: Rc<Path>,
    pub(super) entries: Vec<Entry>,
    by_name: HashMap<u64, Vec<usize>>,
    /// There is no more in it than was looked at.
    pub(super) is_whole: bool,
}

pub(super) struct Entry {
    /// Where it really lies if that is in the workspace, otherwise where it was found.
    pub(super) path: Rc<Path>,
    pub(super) real: Rc<Path>,
    pub(super) is_folder: bool,
    pub(super) is_code: bool,
    /// A file without an ending.
    is_plain: bool,
    pub(super) is_left_out: bool,
}

/// The files that words name in a folder.
#[derive(Default)]
pub(super) struct Named {
    pub(super) files: Vec<Rc<Path>>,
    /// Nothing was left out for being too much.
    pub(super) is_whole: bool,
}

impl<'a> Ground<'a> {
    pub(super) fn new(workspace: &'a Path) -> Self {
        let (folders, codes, named) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { workspace, folders, codes, named, read: 0, steps: 0 }
    }

    /// Does so much more; false if that is too much in all.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        self.steps <= STEPS
    }

    /// Where a path really lies if that is in the workspace, otherwise the path.
    pub(super) fn place(&self, path: &Path) -> (Rc<Path>, Rc<Path>) {
        let real: Rc<Path> = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into();
        let shown = if real.starts_with(self.workspace) { Rc::clone(&real) } else { path.into() };
        (shown, real)
    }

    /// Whether something of the workspace can lie there.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        path.starts_with(self.workspace) || self.workspace.starts_with(path)
    }

    pub(super) fn folder_at(&mut self, path: &Path) -> Rc<Folder> {
        let (shown, real) = self.place(path);
        self.folder(&shown, &real)
    }

    pub(super) fn folder(&mut self, shown: &Path, real: &Rc<Path>) -> Rc<Folder> {
        if let Some(known) = self.folders.get(real) {
            return Rc::clone(known);
        }
        let listed: Vec<_> = std::fs::read_dir(real).into_iter().flatten().flatten().take(ENTRIES + 1).collect();
        let is_whole = listed.len() <= ENTRIES && self.spend(listed.len());
        let mut names: Vec<_> = listed.iter().filter(|_| is_whole).map(std::fs::DirEntry::file_name).collect();
        names.sort();
        let mut read = Folder { real: Rc::clone(real), entries: Vec::new(), by_name: HashMap::new(), is_whole };
        for name in names.iter().map(Path::new) {
            let Some(entry) = self.entry(shown, real, name) else { continue };
            for key in code::names_of(name) {
                read.by_name.entry(key).or_default().push(read.entries.len());
            }
            read.entries.push(entry);
        }
        let read = Rc::new(read);
        self.folders.insert(Rc::clone(real), Rc::clone(&read));
        read
    }

    /// What is neither a folder nor a file is none of ours; a link is what it leads to.
    fn entry(&self, shown: &Path, folder: &Path, name: &Path) -> Option<Entry> {
        let found = folder.join(name);
        let is_link = found.symlink_metadata().ok()?.is_symlink();
        let about = found.metadata().ok()?;
        if !about.is_dir() && !about.is_file() {
            return None;
        }
        let real = if is_link { found.canonicalize().ok()? } else { found.clone() };
        let path = if real.starts_with(self.workspace) { real.clone() } else { shown.join(name) };
        Some(Entry {
            path: path.into(),
            real: real.into(),
            is_folder: about.is_dir(),
            is_code: about.is_file() && code::is_code(name, &about),
            is_plain: about.is_file() && name.extension().is_none(),
            is_left_out: LEFT_OUT.iter().any(|left| name.as_os_str() == *left),
        })
    }

    /// The code in a folder whose name is among the words; in folders so named also what those are entered by. Each folder
    /// is looked at once, whatever links lead to it.
    pub(super) fn named_in(&mut self, place: &Path, words: &[u64]) -> Named {
        let mut found = Named { files: Vec::new(), is_whole: true };
        let mut seen: HashSet<Rc<Path>> = HashSet::new();
        let mut waiting = VecDeque::from([(self.folder_at(place), 0)]);
        while let Some((folder, depth)) = waiting.pop_front() {
            found.is_whole &= folder.is_whole && self.spend(1 + words.len().min(folder.by_name.len()));
            if !found.is_whole {
                break;
            }
            for entry in folder.matching(words, depth > 0) {
                if !self.spend(1) {
                    found.is_whole = false;
                    break;
                }
                if !entry.is_folder {
                    found.files.extend((entry.is_code || entry.is_plain).then(|| Rc::clone(&entry.path)));
                } else if !entry.is_left_out && self.concerns(&entry.path) && seen.insert(Rc::clone(&entry.real)) {
                    found.is_whole &= depth < DEEPEST;
                    waiting.push_back((self.folder(&entry.path, &entry.real), depth + 1));
                }
            }
        }
        found.files.sort();
        found.files.dedup();
        found
    }

    /// What a file's code names in a folder.
    pub(super) fn named_by(&mut self, place: &Rc<Path>, file: &Rc<Path>, code: &Code) -> Rc<Named> {
        let key = (Rc::clone(place), Rc::clone(file));
        if let Some(known) = self.named.get(&key).map(Rc::clone) {
            let is_whole = self.spend(1 + known.files.len());
            return if is_whole { known } else { Rc::default() };
        }
        let named = Rc::new(self.named_in(place, &code.words));
        self.named.insert(key, Rc::clone(&named));
        named
    }

    /// What the code of a file says.
    pub(super) fn code(&mut self, file: &Rc<Path>) -> Reading {
        if let Some(known) = self.codes.get(file) {
            return known.clone();
        }
        let read = code::read(file, LONGEST.saturating_sub(self.read));
        if let Reading::Code(code) = &read {
            self.read += code.length;
        }
        self.codes.insert(Rc::clone(file), read.clone());
        read
    }
}

impl Folder {
    /// The entries whose names are among the words, and those that a folder is entered by.
    fn matching<'b>(&'b self, words: &'b [u64], with_entrances: bool) -> Vec<&'b Entry> {
        let mut found: BTreeSet<usize> = BTreeSet::new();
        let is_short = words.len() < self.by_name.len();
        if is_short {
            found.extend(words.iter().filter_map(|word| self.by_name.get(word)).flatten());
        } else {
            let named = self.by_name.iter().filter(|(name, _)| words.binary_search(name).is_ok());
            found.extend(named.flat_map(|(_, entries)| entries));
        }
        if with_entrances {
            found.extend(self.entrances());
        }
        found.into_iter().map(|at| &self.entries[at]).collect()
    }

    fn entrances(&self) -> impl Iterator<Item = usize> {
        ENTRANCES.iter().filter_map(|name| self.by_name.get(&code::key(name))).flatten().copied()
    }

    /// The code that a folder is entered by.
    pub(super) fn entered_by(&self) -> impl Iterator<Item = &Entry> {
        self.entrances().map(|at| &self.entries[at]).filter(|entry| entry.is_code)
    }
}
