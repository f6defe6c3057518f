//! The files of a workspace that its own MCP servers run: what their command lines and variables name, what lies where their
//! programs look for code, and the code that those name in turn. Whoever trusts a server trusts these as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use updraft_mcp::config::{Link, Secret, ServerConfig, program_of};

use super::code::{Reading, is_of, words};
use super::families::{BUILDERS, LEFT_OUT, PYTHON, RUN_FOLDERS, family_files};
use super::ground::{DEEPEST, Folder, Ground, QUESTION};

/// Files of one server that are followed.
const MOST: usize = 2_000;
/// Bytes of its code that are read for what it names, and places where that is looked for.
const LONGEST: usize = 16 << 20;
const PLACES: usize = 64;
/// Words of its command line and variables.
const PARTS: usize = 10_000;

/// The files that a server runs, as far as they lie in the workspace; none where there are too many to look after. Such a
/// server is never started: nobody would notice what becomes of its code.
type Run = Option<Rc<BTreeSet<Rc<Path>>>>;

/// What the servers of a workspace run.
pub(crate) struct Programs<'a> {
    ground: Ground<'a>,
    /// By the servers' fingerprints.
    known: BTreeMap<String, Run>,
}

impl<'a> Programs<'a> {
    pub(crate) fn new(workspace: &'a Path) -> Self {
        Self { ground: Ground::new(workspace), known: BTreeMap::new() }
    }

    pub(crate) fn of(&mut self, server: &ServerConfig) -> Run {
        if let Some(known) = self.known.get(&server.fingerprint) {
            return known.clone();
        }
        let run = self.looked_up(server);
        self.known.insert(server.fingerprint.clone(), run.clone());
        run
    }

    fn looked_up(&mut self, server: &ServerConfig) -> Run {
        let Link::Stdio { command, args, env, cwd } = &server.link else { return Some(Rc::default()) };
        let workspace = self.ground.workspace;
        let folder = cwd.as_ref().map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd));
        let line: Vec<&str> = std::iter::once(command.as_str()).chain(args.iter().map(Secret::reveal)).collect();
        let mut found = Found {
            ground: &mut self.ground,
            files: BTreeSet::new(),
            waiting: Vec::new(),
            places: BTreeSet::new(),
            lain: BTreeSet::new(),
            parts: 0,
            read: 0,
            is_whole: true,
        };
        found.server(&folder, &line, env.values().map(Secret::reveal));
        found.is_whole.then(|| Rc::new(found.files))
    }
}

struct Found<'g, 'a> {
    ground: &'g mut Ground<'a>,
    files: BTreeSet<Rc<Path>>,
    waiting: Vec<Rc<Path>>,
    /// Where code that is named may lie, beside where it is named.
    places: BTreeSet<Rc<Path>>,
    /// Folders of which all code was taken.
    lain: BTreeSet<Rc<Path>>,
    /// Words of people that were looked at.
    parts: usize,
    /// Bytes of code that were read.
    read: usize,
    /// Nothing was left out for being too much.
    is_whole: bool,
}

impl Found<'_, '_> {
    fn server<'b>(&mut self, folder: &Path, line: &[&str], env: impl Iterator<Item = &'b str>) {
        self.places.insert(self.ground.place(folder).0);
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
            let workspace = self.ground.workspace;
            for above in folder.ancestors().take_while(|above| above.starts_with(workspace)) {
                self.take_if_there(&above.join(file));
            }
        }
        let beside = parents_of_python(&self.waiting);
        if runs(&["python", "pypy"]) && beside.is_empty() {
            self.lying_in(folder);
        }
        if builds {
            self.beneath(folder);
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
        let parts = split.flat_map(|part| [part, short(part).map_or("", |at| &part[at + 1..])]);
        for part in parts.filter(|part| !part.is_empty()) {
            self.parts += 1;
            self.is_whole &= self.parts <= PARTS;
            if !self.is_whole {
                return;
            }
            let path = folder.join(part);
            self.take_if_there(&path);
            if takes_folders && path.is_dir() {
                self.folder_of_people(folder, &path);
            }
            self.named_in(folder, &words(part));
        }
    }

    fn folder_of_people(&mut self, folder: &Path, path: &Path) {
        let (_, real) = self.ground.place(path);
        let is_theirs = real.components().any(|part| LEFT_OUT.iter().any(|name| part.as_os_str() == *name));
        let is_around = self.ground.workspace.starts_with(&real) || folder.starts_with(&real);
        if is_around || (is_theirs && self.ground.concerns(&real)) {
            self.lying_in(&real);
        } else if real.starts_with(self.ground.workspace) {
            self.beneath(&real);
        }
        // Elsewhere nothing is the workspace's.
        if self.ground.concerns(&real) {
            self.places.insert(real);
            self.is_whole &= self.places.len() <= PLACES;
        }
    }

    fn take_if_there(&mut self, path: &Path) {
        self.is_whole &= self.ground.spend(QUESTION);
        if self.is_whole && path.is_file() {
            let (shown, _) = self.ground.place(path);
            self.take(&shown);
        }
    }

    /// What the code of a file names, beside itself and where code is looked for.
    fn follow(&mut self, folder: &Path, file: &Rc<Path>) {
        let code = match self.ground.code(file) {
            Reading::Code(code) => code,
            Reading::Data => return,
            Reading::TooLong => {
                self.is_whole = false;
                return;
            }
        };
        self.read += code.length;
        self.is_whole &= self.read <= LONGEST;
        let beside: Rc<Path> = file.parent().unwrap_or(folder).into();
        let before = self.waiting.len();
        let mut places = self.places.clone();
        places.insert(Rc::clone(&beside));
        for place in &places {
            if !self.is_whole {
                return;
            }
            let named = self.ground.named_by(place, file, &code);
            self.is_whole &= named.is_whole;
            named.files.iter().for_each(|file| self.take(file));
        }
        if !is_of(file, &PYTHON) {
            // A script that another program starts looks for modules beside itself.
            for folder in &parents_of_python(&self.waiting[before..]) {
                self.lying_in(folder);
            }
        }
        for path in &code.takes {
            self.take_if_there(&folder.join(path));
            self.take_if_there(&beside.join(path));
        }
    }

    /// All code that lies in a folder, and what the folders in it are entered by: a module that nobody named may be put before
    /// one of the language's own.
    fn lying_in(&mut self, folder: &Path) {
        let folder = self.looked_at(folder);
        if !self.lain.insert(Rc::clone(&folder.real)) {
            return;
        }
        for entry in &folder.entries {
            if !self.is_whole {
                return;
            }
            if entry.is_folder && !entry.is_left_out && self.ground.concerns(&entry.path) {
                let inside = self.ground.folder(&entry.path, &entry.real);
                self.is_whole &= inside.is_whole && self.ground.spend(1);
                inside.entered_by().for_each(|file| self.take(&file.path));
            } else if entry.is_code {
                self.take(&entry.path);
            }
        }
    }

    /// All code in a folder and in those beneath it. Agents cannot change what links lead to outside of the workspace.
    fn beneath(&mut self, folder: &Path) {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(self.looked_at(folder), 0)];
        while let Some((folder, depth)) = waiting.pop().filter(|_| self.is_whole) {
            for entry in &folder.entries {
                let is_inside = entry.real.starts_with(self.ground.workspace);
                if entry.is_code {
                    self.take(&entry.path);
                } else if entry.is_folder && !entry.is_left_out && is_inside && seen.insert(Rc::clone(&entry.real)) {
                    self.is_whole &= depth < DEEPEST;
                    if !self.is_whole {
                        return;
                    }
                    waiting.push((self.looked_at(&entry.path), depth + 1));
                }
            }
        }
    }

    fn looked_at(&mut self, folder: &Path) -> Rc<Folder> {
        let folder = self.ground.folder_at(folder);
        self.is_whole &= folder.is_whole && self.ground.spend(folder.entries.len());
        folder
    }

    fn named_in(&mut self, place: &Path, words: &[u64]) {
        let named = self.ground.named_in(place, words);
        self.is_whole &= named.is_whole;
        named.files.iter().for_each(|file| self.take(file));
    }

    fn take(&mut self, path: &Rc<Path>) {
        if !path.starts_with(self.ground.workspace) || self.files.contains(path) {
            return;
        }
        if self.files.len() >= MOST {
            self.is_whole = false;
            return;
        }
        self.files.insert(Rc::clone(path));
        self.waiting.push(Rc::clone(path));
    }
}

/// The folders of Python's modules among files.
fn parents_of_python(files: &[Rc<Path>]) -> BTreeSet<Rc<Path>> {
    let modules = files.iter().filter(|file| is_of(file, &PYTHON));
    modules.filter_map(|module| module.parent().map(Rc::from)).collect()
}
