//! Works out what a patch makes of the files of a workspace, without changing anything.

use std::collections::BTreeMap;

use updraft_run::{Failure, FailureKind};
use updraft_workspace::{PathContent, Place, WorkspacePath, text};

use super::super::change_set::{ChangeSet, FileWrite};
use super::super::failed;
use super::hunks;
use super::parse::{Patch, Section, SectionChange};

/// The files that a patch reads and writes.
pub(super) struct PlannedPaths {
    /// If a hunk does not fit, the error quotes the file, so an update also counts as reading it.
    pub(super) reads: Vec<WorkspacePath>,
    pub(super) writes: Vec<WorkspacePath>,
}

impl PlannedPaths {
    pub(super) fn of(patch: &Patch, place: &Place) -> Result<Self, Failure> {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let add = |list: &mut Vec<WorkspacePath>, path: &WorkspacePath| {
            if !list.contains(path) {
                list.push(path.clone());
            }
        };
        for section in &patch.sections {
            let path = place.workspace.locate_for_writing(&section.path)?;
            if let SectionChange::Update { moved_to, .. } = &section.change {
                add(&mut reads, &path);
                if let Some(target) = moved_to {
                    add(&mut writes, &place.workspace.locate_for_writing(target)?);
                }
            }
            add(&mut writes, &path);
        }
        Ok(Self { reads, writes })
    }
}

/// Plans the changes of a patch.
pub(super) struct PatchPlanner<'a> {
    pub(super) place: &'a Place,
    /// Most bytes of a file.
    pub(super) most: usize,
}

/// The files as the sections so far leave them.
type PlannedFiles = BTreeMap<WorkspacePath, FileWrite>;

impl PatchPlanner<'_> {
    /// The changes of the sections whose file still is as the patch expects it.
    pub(super) fn plan(&self, patch: &Patch, is_left: impl Fn(&WorkspacePath) -> bool) -> Result<ChangeSet, Failure> {
        let mut files = PlannedFiles::new();
        for section in &patch.sections {
            let path = self.place.workspace.locate_for_writing(&section.path)?;
            if is_left(&path) {
                self.take(section, &path, &mut files)?;
            }
        }
        Ok(ChangeSet { writes: files.into_values().collect() })
    }

    /// Adds what a section makes of its file.
    fn take(&self, section: &Section, path: &WorkspacePath, files: &mut PlannedFiles) -> Result<(), Failure> {
        let existing = self.file(path, files)?;
        let (moved_to, hunks) = match &section.change {
            SectionChange::Add { content } => {
                let old = existing.after.as_deref().filter(|old| !old.is_empty());
                let content =
                    old.map_or_else(|| content.as_bytes().to_vec(), |old| text::with_style_of(old, content).0);
                return self.put(path, content, None, files);
            }
            SectionChange::Delete => {
                existing.after.take().map(drop).ok_or_else(|| missing(path))?;
                return Ok(());
            }
            SectionChange::Update { moved_to, hunks } => (moved_to, hunks),
        };
        let Some(bytes) = &existing.after else { return Err(missing(path)) };
        let Some((content, encoding)) = text::decode(bytes) else {
            return failed(format!("`{path}` is not text: expected UTF-8, or UTF-16 with a byte order mark"));
        };
        let changed = if hunks.is_empty() {
            bytes.clone()
        } else {
            let changed = hunks::apply(&content, hunks)
                .map_err(|why| Failure::new(FailureKind::Tool, format!("in `{path}`, {why}")))?;
            encoding.encode(&changed)
        };
        let Some(target) = moved_to else { return self.put(path, changed, None, files) };
        let target = self.place.workspace.locate_for_writing(target)?;
        if target == *path {
            return self.put(path, changed, None, files);
        }
        let mode = existing.before.as_ref().map(|before| before.stamp.mode & 0o777);
        self.put(&target, changed, mode, files)?;
        self.file(path, files)?.after = None;
        Ok(())
    }

    fn put(
        &self,
        path: &WorkspacePath,
        content: Vec<u8>,
        mode: Option<u32>,
        files: &mut PlannedFiles,
    ) -> Result<(), Failure> {
        if content.len() > self.most {
            return failed(format!("`{path}` would have more than {} bytes", self.most));
        }
        let file = self.file(path, files)?;
        (file.after, file.mode) = (Some(content), mode.filter(|_| file.before.is_none()));
        Ok(())
    }

    /// A file as the sections so far leave it; read from the workspace the first time.
    fn file<'f>(&self, path: &WorkspacePath, files: &'f mut PlannedFiles) -> Result<&'f mut FileWrite, Failure> {
        if !files.contains_key(path) {
            let before = self.place.workspace.existing(path, self.most)?;
            if let Some(PathContent { stamp, bytes: None, .. }) = &before {
                let message = format!("`{path}` has {} bytes; at most {} can be patched", stamp.len, self.most);
                return failed(message);
            }
            let after = before.as_ref().and_then(|existing| existing.bytes.clone());
            files.insert(path.clone(), FileWrite { path: path.clone(), before, after, mode: None });
        }
        files.get_mut(path).ok_or_else(|| missing(path))
    }
}

fn missing(path: &WorkspacePath) -> Failure {
    Failure::new(FailureKind::Tool, format!("there is no `{path}` in the workspace"))
}
