//! What has changed on a page between two positions, as JSON for the script of the page.
//!
//! ```json
//! {"position": 42,
//!  "replace": {"ELEMENT ID": "<li id=…>…</li>"},
//!  "append": {"CONTAINER ID": "<li id=…>…</li>"},
//!  "steps": {"STEP": "running"}}
//! ```
//!
//! `replace` holds whole elements for those with the same id, if the page has them; `append` what comes at the end of a
//! container; `steps` the statuses of steps that have changed, for every element with such a `data-step`. Like the page,
//! a patch is a function of the run and positions, so it is made once for all who watch.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use updraft_drawing::{GraphNode, draw_nodes};
use updraft_run::{RunId, StepId};
use updraft_workbench::Fault;
use updraft_workbench::history::{EntryKind, RunHistory};
use updraft_workbench::service::{LiveRuns, RunFeed};

use super::patch_cache::{FramedPatch, PatchCache, PatchKey, WatchedPart};
use super::run_page::{RunScene, RunTab, SceneCache};
use super::run_source::RunSource;
use super::{chat, events, inspector, layout, pictures, run_page, steps};

/// A page that is more events behind, or for which a patch would be larger, is loaded again.
const FARTHEST: u64 = 1_000;
const MOST_BYTES: usize = 2 << 20;
/// How soon a browser tries again, in milliseconds.
const RETRY: u32 = 1_000;
/// Most steps whose rows are replaced one by one.
const ROWS: usize = 200;

/// A patch as it is sent.
#[derive(Default, Serialize)]
struct Patch {
    position: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reload: bool,
    replace: BTreeMap<String, String>,
    append: BTreeMap<&'static str, String>,
    steps: BTreeMap<StepId, &'static str>,
}

impl PatchCache {
    /// The patch from a position to the present.
    pub(super) async fn patch(
        &self,
        runs: &LiveRuns,
        feed: &Arc<RunFeed>,
        (after, until): (u64, u64),
        part: &WatchedPart,
    ) -> Result<Arc<FramedPatch>, Fault> {
        let key = PatchKey { run: feed.id().clone(), after, until, part: part.clone() };
        let (runs, feed, part) = (runs.clone(), Arc::clone(feed), part.clone());
        let make = async || {
            let read = move || feed.read(|history| make(&runs, feed.id(), history, after, &part))?;
            let made = tokio::task::spawn_blocking(read).await.map_err(|error| Fault::failed(error.to_string()))??;
            Ok(Arc::new(made))
        };
        self.get_or_make(&key, make).await
    }
}

fn make(
    runs: &LiveRuns,
    id: &RunId,
    history: &RunHistory,
    after: u64,
    part: &WatchedPart,
) -> Result<FramedPatch, Fault> {
    let scene = RunScene {
        source: RunSource::Served(runs),
        id,
        history,
        is_now: true,
        tab: part.tab,
        step: part.step.clone(),
        prompt: None,
        from: None,
        before: None,
        newest: history.position(),
        cache: SceneCache::default(),
    };
    let mut patch = Patch { position: history.position(), ..Patch::default() };
    let is_near = after > 0 && after <= patch.position && patch.position - after <= FARTHEST;
    if is_near && after < patch.position {
        fill(&mut patch, &scene, after)?;
    }
    let position = patch.position;
    if !is_near || patch.bytes() > MOST_BYTES {
        patch = Patch { position, reload: true, ..Patch::default() };
    }
    let data = serde_json::to_string(&patch).map_err(|error| Fault::failed(error.to_string()))?;
    let frame = format!("event: patch\nid: {position}\nretry: {RETRY}\ndata: {data}\n\n").into();
    Ok(FramedPatch { position, frame })
}

impl Patch {
    /// How many bytes of HTML it brings.
    fn bytes(&self) -> usize {
        self.append.values().chain(self.replace.values()).map(String::len).sum()
    }
}

fn fill(patch: &mut Patch, scene: &RunScene<'_>, after: u64) -> Result<(), Fault> {
    let history = scene.history;
    patch.replace.insert("run-head".into(), run_page::head(scene).0);
    patch.replace.insert("time-bar".into(), run_page::time_bar(scene).0);
    patch.replace.insert("inbox-count".into(), layout::inbox_count(scene.source.waiting()).0);
    let mut has_new_plan = false;
    let mut is_over = false;
    for entry in history.entries().iter().filter(|entry| entry.changed > after) {
        if patch.bytes() > MOST_BYTES {
            return Ok(());
        }
        let made = chat::item(scene, entry).0;
        if entry.position > after {
            patch.append.entry("chat").or_default().push_str(&made);
        } else {
            patch.replace.insert(chat::id_of(entry), made);
        }
        has_new_plan |= matches!(entry.kind, EntryKind::Planned(_)) && entry.position > after;
        is_over |= matches!(entry.kind, EntryKind::Finished { .. });
    }
    if is_over {
        patch.replace.insert("composer".into(), run_page::composer(scene).0);
    }
    let touched: Vec<_> = history.run().steps().filter(|step| history.touched(&step.spec.id) > after).collect();
    patch.steps = touched.iter().map(|step| (step.spec.id.clone(), step.status())).collect();
    match scene.tab {
        // At the end, the sums over several steps are shown as they are now.
        RunTab::Graph if !has_new_plan && !is_over && touched.len() <= ROWS => {
            let rows = touched.iter().map(|step| (steps::row_id(&step.spec.id), steps::row(scene, step).0));
            patch.replace.extend(rows);
            // Another step may be on the critical path now, or no longer.
            let critical = pictures::critical(scene, after);
            let is_touched = |node: &GraphNode| {
                touched.iter().any(|step| step.spec.id.as_str() == node.id)
                    || node.critical != critical.iter().any(|step| step.as_str() == node.id)
            };
            patch.replace.extend(draw_nodes(&pictures::step_graph(scene), is_touched));
        }
        RunTab::Events => {
            let new = scene.source.events(scene.id, after + 1, (patch.position - after) as usize)?;
            let rows = new.iter().map(|event| events::row(scene, event).0);
            patch.append.insert("events", rows.collect());
        }
        RunTab::Graph | RunTab::Timeline => {
            patch.replace.insert("view-body".into(), run_page::view_body(scene)?.0);
        }
    }
    if scene.step.as_ref().is_some_and(|step| is_over || history.touched(step) > after) {
        patch.replace.insert("inspector".into(), inspector::pane(scene)?.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_as_large_as_what_it_replaces_and_what_it_adds() {
        let mut patch = Patch::default();
        patch.replace.insert("inspector".to_owned(), "x".repeat(30));
        patch.replace.insert("view-body".to_owned(), "x".repeat(200));
        patch.append.insert("chat", "x".repeat(1_000));
        assert_eq!(patch.bytes(), 1_230);
    }
}
