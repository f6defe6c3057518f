//! Collects what is found in a workspace or in the user's home, and decides what becomes of it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use updraft_mcp::config::known_key_in;
use updraft_run::paths_meet;

use super::{ImportContent, ImportFate, ImportItem, ImportKind, ImportScope};
use crate::folders::AppFolders;
use crate::servers::own_file;
use crate::{tools, untrusted};

/// Most bytes of a file that is read. Claude keeps much else in the file that names its servers.
const LARGEST: u64 = 16 << 20;
/// Most bytes of a text that is taken over.
const LARGEST_TEXT: usize = 256 << 10;
/// How deep a folder of files is looked through, and most files in one.
const DEEPEST: usize = 4;
const MOST: usize = 500;

/// A workspace or the user's home: where things are found, and where they go.
pub(super) struct ImportPlace {
    pub(super) scope: ImportScope,
    /// The real path of the workspace or the home folder. Nothing outside of it is read.
    pub(super) root: PathBuf,
    /// Where documents go that agents follow; the user has none for all workspaces.
    pub(super) documents: Option<PathBuf>,
    /// Where skills, commands and agents go.
    pub(super) own: PathBuf,
    /// The file of servers.
    pub(super) servers: PathBuf,
    /// The user's own file of servers, which counts in all folders.
    pub(super) own_servers: PathBuf,
    /// The workspace.
    pub(super) workspace: PathBuf,
    /// The files of the workspace that runs have written text from outside to.
    marked: Vec<String>,
}

impl ImportPlace {
    pub(super) fn of_workspace(app: &AppFolders, workspace: &Path) -> Self {
        let marks = tools::marks(app).book(&workspace.display().to_string()).all().unwrap_or_default();
        Self {
            scope: ImportScope::Workspace,
            root: workspace.to_owned(),
            documents: Some(workspace.join(".context")),
            own: workspace.join(".updraft"),
            servers: workspace.join(".updraft/mcp.json"),
            own_servers: own_file(app),
            workspace: workspace.to_owned(),
            marked: marks.into_iter().map(|mark| mark.path).collect(),
        }
    }

    /// What the user's home has for this workspace alone.
    pub(super) fn of_project(app: &AppFolders, home: &Path, workspace: &Path) -> Self {
        Self { root: home.to_owned(), documents: None, marked: Vec::new(), ..Self::of_workspace(app, workspace) }
    }

    pub(super) fn of_user(app: &AppFolders, home: &Path, workspace: &Path) -> Self {
        Self {
            scope: ImportScope::User,
            root: home.to_owned(),
            documents: None,
            own: app.config.clone(),
            servers: own_file(app),
            own_servers: own_file(app),
            workspace: workspace.to_owned(),
            marked: Vec::new(),
        }
    }

    /// Why a file or folder that exists must not be read: it is elsewhere, or contains text from outside.
    pub(super) fn objection(&self, path: &Path) -> Option<String> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let Ok(inside) = real.strip_prefix(&self.root) else {
            return Some("it is a link to a place outside of this folder".to_owned());
        };
        let names = [Some(inside), path.strip_prefix(&self.root).ok()];
        let mut names = names.into_iter().flatten().map(|name| name.display().to_string());
        let is_marked = |name: String| self.marked.iter().any(|mark| paths_meet(mark, &name));
        let why = "a run has written text from outside to it (`updraft permissions` lists such files)";
        names.any(is_marked).then(|| why.to_owned())
    }

    /// Why nothing can be written to a place: a link would lead elsewhere.
    fn obstacle(&self, to: &Path) -> Option<String> {
        if self.scope == ImportScope::User { None } else { link_on_the_way(&self.workspace, to) }
    }
}

/// Whether a link is on the way from a folder to a place inside of it, in words.
pub(super) fn link_on_the_way(root: &Path, to: &Path) -> Option<String> {
    let inside = to.strip_prefix(root).ok()?;
    let mut path = root.to_owned();
    for part in inside.components().filter(|part| matches!(part, Component::Normal(_))) {
        path.push(part);
        if path.is_symlink() {
            return Some(format!("`{}` is a link", path.display()));
        }
    }
    None
}

/// What was found so far.
pub(super) struct ImportCollector {
    pub(super) place: ImportPlace,
    pub(super) items: Vec<ImportItem>,
    tool: &'static str,
    /// What is written by this plan, by its place; entries of a file of servers also by their name.
    claimed: BTreeMap<(PathBuf, String), ImportContent>,
}

impl ImportCollector {
    pub(super) fn new(place: ImportPlace) -> Self {
        Self { place, items: Vec::new(), tool: "", claimed: BTreeMap::new() }
    }

    /// Goes on with another place. What was claimed stays claimed.
    pub(super) fn in_place(self, place: ImportPlace) -> Self {
        Self { place, ..self }
    }

    /// From now on everything is this tool's.
    pub(super) fn look_at(&mut self, tool: &'static str) {
        self.tool = tool;
    }

    /// The text of a file; `None` if there is none, or if it is left out.
    pub(super) fn text(&mut self, kind: ImportKind, from: &Path) -> Option<String> {
        let refused = match untrusted::read(from, LARGEST) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
            Err(error) => format!("it cannot be read: {error}"),
            Ok(bytes) => match (self.place.objection(from), String::from_utf8(bytes)) {
                (Some(why), _) => why,
                (None, Err(_)) => "it is not UTF-8 text".to_owned(),
                (None, Ok(text)) => return Some(text.trim_start_matches('\u{feff}').replace("\r\n", "\n")),
            },
        };
        self.leave_out(kind, &stem(from), from, refused);
        None
    }

    /// The files below a folder whose names end like this, in path order, without those behind links to folders.
    pub(super) fn files(&self, folder: &str, endings: &[&str]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        files_below(&self.place.root.join(folder), endings, DEEPEST, &mut found);
        found
    }

    /// Takes a text over, unless it is there already or must not be.
    pub(super) fn take_text(
        &mut self,
        kind: ImportKind,
        name: &str,
        from: &Path,
        to: PathBuf,
        text: String,
    ) -> &mut ImportItem {
        if text.len() > LARGEST_TEXT {
            let why = format!("it is larger than {} KB", LARGEST_TEXT >> 10);
            return self.leave_out(kind, name, from, why);
        }
        if let Some(line) = text.lines().position(|line| known_key_in(line).is_some()) {
            return self.leave_out(kind, name, from, format!("line {} of it contains what looks like a key", line + 1));
        }
        let there = untrusted::read(&to, LARGEST_TEXT as u64);
        let fate = match there {
            Ok(bytes) if bytes == text.as_bytes() => Some(ImportFate::Present(to.clone())),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            _ => Some(occupied(&to)),
        };
        self.take(kind, name, from, to, ImportContent::Text(text), fate)
    }

    /// Takes something over, unless its fate is decided or its place is taken.
    pub(super) fn take(
        &mut self,
        kind: ImportKind,
        name: &str,
        from: &Path,
        to: PathBuf,
        content: ImportContent,
        fate: Option<ImportFate>,
    ) -> &mut ImportItem {
        let entry = if kind == ImportKind::Server { name } else { "" };
        // A skill is its folder, whether it is copied or made from a rule.
        let is_file_of_skill = kind == ImportKind::Skill && matches!(content, ImportContent::Text(_));
        let claim = to.parent().filter(|_| is_file_of_skill).unwrap_or(&to).to_owned();
        let key = (claim, entry.to_owned());
        let is_same = self.claimed.get(&key).map(|other| *other == content);
        let fate = match (fate, self.place.obstacle(&to), is_same) {
            (Some(fate), _, _) => fate,
            (None, Some(why), _) => ImportFate::LeftOut(format!("it cannot be written: {why}")),
            (None, None, Some(true)) => ImportFate::Present(to),
            (None, None, Some(false)) => ImportFate::LeftOut("another of this name is imported before it".to_owned()),
            (None, None, None) => {
                self.claimed.insert(key, content.clone());
                ImportFate::New { to, content }
            }
        };
        self.add(kind, name, from, fate)
    }

    pub(super) fn leave_out(
        &mut self,
        kind: ImportKind,
        name: &str,
        from: &Path,
        why: impl Into<String>,
    ) -> &mut ImportItem {
        self.add(kind, name, from, ImportFate::LeftOut(why.into()))
    }

    pub(super) fn add(&mut self, kind: ImportKind, name: &str, from: &Path, fate: ImportFate) -> &mut ImportItem {
        let (tool, scope) = (self.tool, self.place.scope);
        let item =
            ImportItem { tool, scope, kind, name: name.to_owned(), from: from.to_owned(), fate, remarks: Vec::new() };
        self.items.push(item);
        let last = self.items.len() - 1;
        &mut self.items[last]
    }
}

/// What becomes of something whose place is taken by something else.
pub(super) fn occupied(to: &Path) -> ImportFate {
    ImportFate::LeftOut(format!("`{}` exists and is different; remove it to import this one", to.display()))
}

/// The name of a file without its endings.
pub(super) fn stem(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let endings = [".instructions.md", ".prompt.md", ".mdc", ".md", ".toml", ".json", ".yaml"];
    endings.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

/// The name for a file in a folder: small letters, digits and `-`, with the names of folders before it.
pub(super) fn name_within(folder: &Path, file: &Path) -> String {
    let above =
        file.parent().and_then(|parent| parent.strip_prefix(folder).ok()).map(Path::to_path_buf).unwrap_or_default();
    let whole = above.join(stem(file)).display().to_string().to_lowercase();
    let mut name = String::new();
    for c in whole.chars() {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    let name: String = name.trim_end_matches('-').chars().take(64).collect();
    if name.starts_with(|c: char| c.is_ascii_lowercase()) { name } else { format!("x-{name}") }
}

fn files_below(folder: &Path, endings: &[&str], depth: usize, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if found.len() >= MOST || name.starts_with('.') {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth > 0 {
                files_below(&entry.path(), endings, depth - 1, found);
            }
        } else if endings.iter().any(|end| name.ends_with(end)) {
            found.push(entry.path());
        }
    }
}
