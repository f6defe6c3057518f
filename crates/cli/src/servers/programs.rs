//! The files of a workspace that its own MCP servers run: what their command lines and variables name, what lies where their
//! programs look for code, and the code that those name in turn. Whoever trusts a server trusts these as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use updraft_mcp::config::{Link, Secret, ServerConfig};

use super::families::{
    BUILDERS, CODE, ENTRANCES, LEFT_OUT, PYTHON, RUN_FOLDERS, SHELL, TAKEN_BY, family_files, program_of,
};
use crate::plain::read_text;

/// Files that are followed, and how deep folders are.
const MOST: usize = 2_000;
const DEEPEST: usize = 16;
/// Bytes of code that are read for what it names, and places where that is looked for.
const LONGEST: usize = 16 << 20;
const PLACES: usize = 64;
/// Entries of one folder that are looked at.
const ENTRIES: usize = 5_000;

/// The files that a server runs, as far as they lie in the workspace; none where there are too many to look after. Such a
/// server is never started: nobody would notice what becomes of its code.
pub(crate) fn of(workspace: &Path, server: &ServerConfig) -> Option<BTreeSet<PathBuf>> {
    let Link::Stdio { command, args, env, cwd } = &server.link else { return Some(BTreeSet::new()) };
    let folder = cwd.as_ref().map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd));
    let line: Vec<&str> = std::iter::once(command.as_str()).chain(args.iter().map(Secret::reveal)).collect();
    let mut found = Found {
        workspace,
        files: BTreeSet::new(),
        waiting: Vec::new(),
        places: Vec::new(),
        folders: BTreeMap::new(),
        read: 0,
        is_whole: true,
    };
    found.server(&folder, &line, env.values().map(Secret::reveal));
    found.is_whole.then_some(found.files)
}

/// What lies in a folder, also by the names that code is named by.
#[derive(Default)]
struct Folder {
    paths: Vec<PathBuf>,
    by_name: BTreeMap<String, Vec<PathBuf>>,
}

struct Found<'a> {
    workspace: &'a Path,
    files: BTreeSet<PathBuf>,
    waiting: Vec<PathBuf>,
    /// Where code that is named may lie, beside where it is named.
    places: Vec<PathBuf>,
    /// Folders that were looked at.
    folders: BTreeMap<PathBuf, Rc<Folder>>,
    /// Bytes of code that were read.
    read: usize,
    /// Nothing was left out for being too much.
    is_whole: bool,
}

impl Found<'_> {
    fn server<'b>(&mut self, folder: &Path, line: &[&str], env: impl Iterator<Item = &'b str>) {
        self.places = vec![folder.to_owned()];
        let parts: Vec<&str> = line.iter().flat_map(|text| text.split([' ', '=', ';', '&', '|', '\'', '"'])).collect();
        let programs: BTreeSet<&str> = parts.iter().map(|part| program_of(part)).collect();
        let runs = |list: &[&str]| programs.iter().any(|program| list.contains(program));
        // The value of an option is no program: `--language=go`.
        let words = line.iter().flat_map(|text| text.split([' ', ';', '&', '|', '\'', '"']));
        let builds = words.map(program_of).any(|program| BUILDERS.contains(&program));
        for text in line {
            self.named_by_people(folder, text, runs(&RUN_FOLDERS));
        }
        for text in env {
            self.named_by_people(folder, text, true);
        }
        for file in programs.iter().flat_map(|program| family_files(program)) {
            let workspace = self.workspace;
            for above in folder.ancestors().take_while(|above| above.starts_with(workspace)) {
                self.take_if_there(&above.join(file));
            }
        }
        let beside = parents_of_python(&self.waiting);
        if runs(&["python", "pypy"]) && beside.is_empty() {
            self.lying_in(folder);
        }
        if builds {
            self.beneath(folder, 0);
        }
        for folder in &beside {
            self.lying_in(folder);
        }
        while let Some(file) = self.waiting.pop().filter(|_| self.is_whole) {
            self.follow(folder, &file);
        }
    }

    /// What stands on a command line or in a variable counts whatever it is: a program, a script, its settings, a module. Of
    /// folders all code counts where it is looked for there.
    fn named_by_people(&mut self, folder: &Path, text: &str, takes_folders: bool) {
        let split = text.split(|c: char| c.is_whitespace() || "'\"=,;:()|&<>@".contains(c)).chain([text]);
        // A value may follow the letter of its option at once: `-I./lib`, `-mserver`.
        let short =
            |part: &'_ str| part.strip_prefix('-').and_then(|rest| rest.char_indices().nth(1)).map(|(at, _)| at);
        let parts: Vec<&str> = split.flat_map(|part| [part, short(part).map_or("", |at| &part[at + 1..])]).collect();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            let path = folder.join(part);
            self.take_if_there(&path);
            if takes_folders && path.is_dir() {
                let real = path.canonicalize().unwrap_or(path);
                let is_theirs = real.components().any(|part| LEFT_OUT.iter().any(|name| part.as_os_str() == *name));
                if self.workspace.starts_with(&real) || folder.starts_with(&real) || is_theirs {
                    self.lying_in(&real);
                } else if real.starts_with(self.workspace) {
                    self.beneath(&real, 0);
                }
                self.places.push(real);
            }
        }
        self.named_in(folder, &words(text), 0);
        for part in parts {
            self.named_in(folder, &words(part), 0);
        }
    }

    fn take_if_there(&mut self, path: &Path) {
        if path.is_file() {
            self.take(path);
        }
    }

    /// What the code of a file names, beside itself and where code is looked for.
    fn follow(&mut self, folder: &Path, file: &Path) {
        let Ok(text) = read_text(file) else { return };
        self.read += text.len();
        self.is_whole &= self.read <= LONGEST && self.places.len() <= PLACES;
        if !self.is_whole {
            return;
        }
        let words = words(&text);
        let beside = file.parent().unwrap_or(folder).to_owned();
        let before = self.waiting.len();
        let mut places = self.places.clone();
        places.push(beside.clone());
        places.sort();
        places.dedup();
        for place in &places {
            self.named_in(place, &words, 0);
        }
        if !is_of(file, &PYTHON) {
            // A script that another program starts looks for modules beside itself.
            for folder in &parents_of_python(&self.waiting[before..]) {
                self.lying_in(folder);
            }
        }
        if is_of(file, &SHELL) || file.extension().is_none() {
            let parts: Vec<&str> = text.split(|c: char| c.is_whitespace() || "'\";()|&<>".contains(c)).collect();
            for pair in parts.windows(2).filter(|pair| TAKEN_BY.contains(&program_of(pair[0]))) {
                self.take_if_there(&folder.join(pair[1]));
                self.take_if_there(&beside.join(pair[1]));
            }
        }
    }

    /// All code that lies in a folder, and what the folders in it are entered by: a module that nobody named may be put before
    /// one of the language's own.
    fn lying_in(&mut self, folder: &Path) {
        for path in &self.folder(folder).paths {
            if path.is_dir() && !is_left_out(path) {
                let inside = self.folder(path);
                let entrances = ENTRANCES.iter().filter_map(|name| inside.by_name.get(*name)).flatten();
                entrances.filter(|file| file.is_file() && is_code(file)).for_each(|file| self.take(file));
            } else if path.is_file() && is_code(path) {
                self.take(path);
            }
        }
    }

    /// All code in a folder and in those beneath it.
    fn beneath(&mut self, folder: &Path, depth: usize) {
        for path in &self.folder(folder).paths {
            if path.is_dir() {
                if is_left_out(path) || path.is_symlink() || !self.is_whole {
                    continue;
                }
                if depth >= DEEPEST {
                    self.is_whole = false;
                    return;
                }
                self.beneath(path, depth + 1);
            } else if is_code(path) {
                self.take(path);
            }
        }
    }

    /// The code in a folder whose name is among the words; below the first, also what folders are entered by.
    fn named_in(&mut self, folder: &Path, words: &BTreeSet<String>, depth: usize) {
        let inside = self.folder(folder);
        let entrances = ENTRANCES.iter().filter(|_| depth > 0).filter_map(|name| inside.by_name.get(*name));
        for path in words.iter().filter_map(|word| inside.by_name.get(word)).chain(entrances).flatten() {
            if path.is_dir() {
                if depth < DEEPEST && !is_left_out(path) {
                    self.named_in(path, words, depth + 1);
                }
            } else if is_code(path) || path.extension().is_none() {
                self.take(path);
            }
        }
    }

    /// What lies in a folder. It is read once.
    fn folder(&mut self, folder: &Path) -> Rc<Folder> {
        if let Some(known) = self.folders.get(folder) {
            return Rc::clone(known);
        }
        let mut read = Folder::default();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES + 1) {
            let path = entry.path();
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            for name in BTreeSet::from([name_of(&path), stem]) {
                read.by_name.entry(name).or_default().push(path.clone());
            }
            read.paths.push(path);
        }
        self.is_whole &= read.paths.len() <= ENTRIES;
        let read = Rc::new(read);
        self.folders.insert(folder.to_owned(), Rc::clone(&read));
        read
    }

    fn take(&mut self, path: &Path) {
        let path =
            path.canonicalize().ok().filter(|real| real.starts_with(self.workspace)).unwrap_or_else(|| path.to_owned());
        if !path.starts_with(self.workspace) || self.files.contains(&path) {
            return;
        }
        if self.files.len() >= MOST {
            self.is_whole = false;
            return;
        }
        self.files.insert(path.clone());
        self.waiting.push(path);
    }
}

/// The folders of Python's modules among files.
fn parents_of_python(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let modules = files.iter().filter(|file| is_of(file, &PYTHON));
    modules.filter_map(|module| module.parent().map(Path::to_owned)).collect()
}

/// The words of a text that could be names of files.
fn words(text: &str) -> BTreeSet<String> {
    let split = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    split.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A file's name up to its first dot: that of a module, whichever form it has.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.trim_start_matches('.').split('.').next().unwrap_or_default().to_owned()
}

fn is_left_out(path: &Path) -> bool {
    LEFT_OUT.iter().any(|name| path.file_name().is_some_and(|of| of == *name))
}

fn is_of(path: &Path, endings: &[&str]) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending))
}

fn is_code(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let name = path.file_name().unwrap_or_default();
    match path.extension() {
        Some(_) => is_of(path, &CODE) || name == "package.json",
        None => path.metadata().is_ok_and(|about| about.permissions().mode() & 0o111 != 0),
    }
}
