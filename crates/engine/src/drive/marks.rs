//! Exchanges marks between runs: text from outside that other runs wrote is reported to this run before it matters, and
//! files that this run writes are marked before they are written.

use std::collections::{BTreeMap, BTreeSet};

use updraft_run::{Event, Input, Origins, Record, Reply, Run};

use super::{QueuedInput, RunDriver};
use crate::Error;
use crate::marks::{FolderSnapshot, MarkStore, RoamingState, Stamp, WorkspaceMarks};

/// The marks of a run's workspace, as far as the run knows them.
pub(crate) struct KnownMarks {
    marks: MarkStore,
    workspace: String,
    book: WorkspaceMarks,
    /// The marks of this workspace have not been read for this run yet.
    is_unopened: bool,
    /// The state of the marks file that the run knows.
    heard: Option<Box<Stamp>>,
    /// The files this run has marked.
    kept: BTreeMap<String, Origins>,
    /// Whether it has marked everything because what it changes is not listed.
    is_open: bool,
    /// The folders that existed when the run first might have changed any file. For some commands it turns out only at
    /// the end that they cannot list what they changed.
    folders: Option<FolderSnapshot>,
    /// The state of the marks file when this run last wrote it.
    written: Option<Box<Stamp>>,
    /// Which marks were in it then: a person may have cleared some since, or undone the run.
    standing: BTreeSet<String>,
}

impl KnownMarks {
    /// Starts with a run in its current state. If it may change any file from here on, that is marked again.
    pub(crate) fn of(marks: &MarkStore, run: &Run) -> Self {
        let (workspace, mut kept) = (run.settings().workspace.clone(), run.tainted().clone());
        kept.remove(".");
        let (book, standing) = (marks.book(&workspace), BTreeSet::new());
        Self {
            marks: marks.clone(),
            workspace,
            book,
            is_unopened: true,
            heard: None,
            kept,
            is_open: false,
            folders: None,
            written: None,
            standing,
        }
    }
}

impl RunDriver {
    /// The marks other runs have added since this run last looked.
    pub(super) fn news_of_marks(&mut self) -> Result<Option<QueuedInput>, Error> {
        let Some(known) = &mut self.marks else { return Ok(None) };
        let workspace = &self.run.settings().workspace;
        if known.workspace != *workspace {
            // The workspace changed, because an imported run was adopted in another folder.
            (known.book, known.heard, known.is_unopened) = (known.marks.book(workspace), None, true);
            known.folders = None;
            known.workspace.clone_from(workspace);
        }
        if std::mem::take(&mut known.is_unopened) && known.book.stamp().is_some() {
            let journal = &self.engine.journal;
            let is_at_work = |run: &_| *run == self.id || journal.head(run).is_ok_and(|head| head.is_owned());
            known.book.look(is_at_work)?;
        }
        let stamp = known.book.stamp();
        if known.heard == stamp {
            return Ok(None);
        }
        known.heard = stamp;
        let mut files = known.book.by_others(&self.id)?;
        // Only marks that are new to the run are reported; otherwise every journal would repeat all marks.
        files.retain(|path, origins| self.run.is_news(path, origins));
        Ok((!files.is_empty()).then(|| Input::Mark { files }.into()))
    }

    /// Marks the files this run is about to write, before anything is written.
    pub(super) fn keep_marks(&mut self, records: &[Record]) -> Result<(), Error> {
        let Some(known) = self.marks.as_mut() else { return Ok(()) };
        let mut tainted = self.run.tainted().clone();
        let under_way = self.run.unlisted_origins();
        let is_open = tainted.contains_key(".");
        if !under_way.is_empty() {
            tainted.entry(".".to_owned()).or_default().merge(&under_way);
        }
        let written = written(&self.run, records);
        if known.kept == tainted && known.is_open == is_open && written.is_empty() {
            return Ok(());
        }
        let stamp = known.book.stamp();
        if known.written != stamp {
            (known.written, known.standing) = (stamp, BTreeSet::new());
        }
        let is_news = |path: &String, origins: &Origins| {
            let is_new = known.kept.get(path).is_none_or(|kept| !origins.are_within(kept.names()));
            let is_other = path == "." && known.is_open != is_open;
            is_new || is_other || (written.contains(path) && !known.standing.contains(path))
        };
        let news = tainted.iter().filter(|(path, origins)| is_news(path, origins));
        let news: BTreeMap<_, _> = news.map(|(path, origins)| (path.clone(), origins.clone())).collect();
        let has_ended = !tainted.contains_key(".") && known.kept.contains_key(".");
        if news.is_empty() && !has_ended {
            return Ok(());
        }
        let state = match (news.contains_key("."), is_open) {
            (false, _) => has_ended.then_some(RoamingState::Ended),
            (true, is_open) => {
                let folders = known.folders.get_or_insert_with(|| known.book.folders());
                Some(if is_open { RoamingState::Open(folders) } else { RoamingState::Listed })
            }
        };
        let (before, after) = known.book.update(&self.id, &news, state, self.engine.now())?;
        if known.heard == before {
            // No other run has written since, and a run need not be told about its own marks.
            known.heard.clone_from(&after);
        }
        if known.written != before {
            known.standing.clear();
        }
        known.written = after;
        if has_ended {
            known.kept.remove(".");
            known.standing.remove(".");
        }
        known.standing.extend(news.keys().cloned());
        known.kept.extend(news);
        known.is_open = is_open;
        Ok(())
    }

    /// Nothing of this run is running any more, so it is now known what it changed.
    pub(super) async fn settle_marks(&mut self) {
        let Some(known) = self.marks.take().filter(|known| !known.kept.is_empty()) else { return };
        let (book, id) = (known.book, self.id.clone());
        let settled = tokio::task::spawn_blocking(move || book.settle(&id)).await;
        // If this fails, the mark on every file stays, which is too strict but safe.
        if let Ok(Err(error)) = settled {
            tracing::warn!(%error, "marks were not settled");
        }
    }
}

/// The paths written by calls that begin or end with these records; `.` for calls that may write anywhere.
fn written(run: &Run, records: &[Record]) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for event in records.iter().flat_map(|record| &record.events) {
        let (Event::Begun { id, .. } | Event::Replied { id, .. }) = event else { continue };
        let Some(prepared) = run.prepared(id).filter(|prepared| prepared.changes()) else { continue };
        paths.extend(prepared.writes.iter().cloned());
        if prepared.may_touch_any_file() {
            paths.insert(".".to_owned());
        }
        if let Event::Replied { reply: Reply::Output(output), .. } = event {
            paths.extend(output.changes.iter().map(|change| change.path.clone()));
        }
    }
    paths
}
