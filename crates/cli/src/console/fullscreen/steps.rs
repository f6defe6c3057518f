//! The steps of a run as a tree, one line each.

use std::collections::BTreeMap;

use updraft_run::{Run, StepId};
use updraft_workbench::history::RunHistory;

use crate::out::Paint;
use crate::time_format;
use crate::view::{self, TreePlace};

/// With fewer columns than this, steps are shown without their descriptions.
const WITH_DESCRIPTIONS: usize = 50;

/// The steps in the order of the tree, each with its place.
pub(super) fn order(run: &Run) -> Vec<(StepId, TreePlace)> {
    let order: Vec<StepId> = run.steps().map(|step| step.spec.id.clone()).collect();
    let before = |step| run.before(step).map(|before| before.spec.id.clone()).collect();
    let after: BTreeMap<StepId, Vec<StepId>> = run.steps().map(|step| (step.spec.id.clone(), before(step))).collect();
    let (order, mut places) = view::branches(&order, |step| after.get(step).map_or(&[], Vec::as_slice));
    order.into_iter().map(|step| (step.clone(), places.remove(&step).unwrap_or_default())).collect()
}

/// The lines of the panel, at most this many, around the chosen one.
pub(super) fn lines(
    history: &RunHistory,
    chosen: Option<&StepId>,
    (columns, rows): (usize, usize),
    paint: Paint,
) -> Vec<String> {
    let run = history.run();
    let status = match run.status_word() {
        "done" => "completed",
        other => other,
    };
    let mut lines = vec![line(chosen.is_none(), "", &view::symbol(status, paint), "the run", columns, paint)];
    let mut at = 0;
    for (step, place) in order(run) {
        let is_chosen = chosen == Some(&step);
        if is_chosen {
            at = lines.len();
        }
        let Some(found) = run.step(&step) else { continue };
        let sign = view::symbol(found.status(), paint);
        let also = place.also.iter().map(StepId::as_str).collect::<Vec<_>>().join(", ");
        let also = if also.is_empty() { also } else { format!(" (also after {also})") };
        let took = took(history, &step).map(|took| format!("  {took}")).unwrap_or_default();
        let words = format!("{step}{took}{also}");
        let mut text = line(is_chosen, &" ".repeat(place.depth), &sign, &words, columns, paint);
        let room = columns.saturating_sub(place.depth + view::width(&words) + 5);
        if columns >= WITH_DESCRIPTIONS {
            text.push_str(&paint.dim(&format!("  {}", view::cut(&found.spec.description, room))));
        }
        lines.push(text);
    }
    let from =
        (at + 1).saturating_sub(rows.max(1)).max(at.saturating_sub(rows / 2)).min(lines.len().saturating_sub(rows));
    lines.into_iter().skip(from).take(rows).collect()
}

fn line(is_chosen: bool, indent: &str, sign: &str, words: &str, columns: usize, paint: Paint) -> String {
    let words = view::cut(words, columns.saturating_sub(4 + indent.len()));
    let words = if is_chosen { paint.bold(&words) } else { words };
    let mark = if is_chosen { paint.cyan("›") } else { " ".to_owned() };
    format!("{mark}{indent}{sign} {words}")
}

/// How long a step has worked so far.
pub(super) fn took(history: &RunHistory, step: &StepId) -> Option<String> {
    let times = history.times(step)?;
    let until =
        times.ended.unwrap_or_else(|| if history.run().is_over() { history.last() } else { time_format::now() });
    Some(time_format::length(until.since(times.began()?)))
}
