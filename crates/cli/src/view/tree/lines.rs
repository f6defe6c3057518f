//! The layout of the tree: a line for each step, and details below the steps at work.

use std::collections::BTreeMap;

use updraft_run::StepId;

use super::super::call::CallEnd;
use super::super::describe::{count, symbol};
use super::super::fit::{self, column, cut};
use super::branches::TreePlace;
use super::row::{ModelActivity, StepRow};
use super::{Drawing, SPINNER};
use crate::out::Paint;
use crate::time_format;

/// With fewer columns than this the agent is left out, so that the description has room.
const WIDE: usize = 76;
/// Most lines below a step: more would hide more than they show.
const DETAILS: usize = 8;
/// Columns before the lines below a step.
const INDENT: usize = 6;

/// The size of the screen, and whether the tree is still live.
#[derive(Clone, Copy)]
pub(super) struct Screen {
    pub(super) paint: Paint,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) is_live: bool,
}

/// The widths of the columns that all steps share.
struct ColumnWidths {
    /// Names with the space before them.
    name: usize,
    agent: usize,
    time: usize,
    /// How far each step is to the right of the one above it in the tree.
    indent: usize,
}

impl Drawing {
    /// The whole tree: no line wider than the screen and, while it is live, no more lines than fit.
    pub(super) fn lines(&self, screen: Screen) -> Vec<String> {
        let Screen { paint, rows, columns, .. } = screen;
        let mut lines = vec![self.title(paint, columns), String::new()];
        let (order, places) = self.branches();
        let chosen = self.choose(&order, rows.saturating_sub(lines.len() + 1));
        let chosen: Vec<(&StepId, &StepRow)> =
            chosen.into_iter().filter_map(|step| Some((step, self.rows.get(step)?))).collect();
        let widths = ColumnWidths::of(&chosen, &places, columns);
        let at_work = chosen.iter().filter(|(_, row)| row.status == "running").count().max(1);
        let left = rows.saturating_sub(lines.len() + chosen.len() + 1);
        let details = if screen.is_live { (left / at_work).clamp(1, DETAILS) } else { DETAILS };
        let mut left = if screen.is_live { left } else { usize::MAX };
        for (step, row) in &chosen {
            lines.push(self.head((step, row), &places, &widths, screen));
            let below = below(row, details.min(left), screen);
            left = left.saturating_sub(below.len());
            lines.extend(below);
        }
        let hidden = self.order.len().saturating_sub(chosen.len());
        if hidden > 0 {
            let done = self.rows.values().filter(|row| row.status == "completed").count();
            let more = count(hidden as u64, "more step");
            let text = format!("… {more}; {done} of {} done", self.order.len());
            lines.push(format!("  {}", paint.dim(&cut(&text, columns.saturating_sub(2)))));
        }
        if let Some(said) = self.told.as_ref().filter(|_| screen.is_live) {
            lines.push(format!("  {}", paint.dim(&cut(&format!("you said: {said}"), columns.saturating_sub(2)))));
        }
        lines
    }

    /// The calls under way with the last lines they printed, and what the model is doing unless it is speaking.
    pub(super) fn under_way(&self, screen: Screen) -> Vec<String> {
        let Screen { paint, rows, columns, .. } = screen;
        let room = columns.saturating_sub(3).max(10);
        let mut lines = Vec::new();
        for row in self.rows.values().filter(|row| matches!(row.status, "running" | "waiting")) {
            for call in row.calls.iter().filter(|call| call.end.is_none()) {
                lines.push(format!("  {}", paint.cyan(&cut(&call.words, room))));
                lines.extend(
                    call.printed.iter().map(|line| format!("  {}", paint.dim(&cut(&format!("│ {line}"), room)))),
                );
            }
            if !row.note.is_empty() {
                lines.push(format!("  {}", paint.yellow(&cut(&row.note, room))));
            }
            if let Some(thought) = row.thought() {
                let mut thought = fit::wrap(thought, room);
                thought.retain(|line| !line.is_empty());
                let last = thought.iter().skip(thought.len().saturating_sub(3));
                lines.extend(last.map(|line| format!("  {}", paint.dim(line))));
            }
        }
        lines.drain(..lines.len().saturating_sub(rows));
        lines
    }

    fn title(&self, paint: Paint, columns: usize) -> String {
        let (run, model) = &self.title;
        let room = columns.saturating_sub(fit::width(run) + 6);
        if room < 4 { cut(run, columns) } else { format!("run {}  {}", paint.bold(run), paint.dim(&cut(model, room))) }
    }

    /// The steps that fit on the screen: those at work first, then the latest that ended; in the order of the plan.
    fn choose<'a>(&self, order: &'a [StepId], most: usize) -> Vec<&'a StepId> {
        if order.len() <= most {
            return order.iter().collect();
        }
        let rank = |step: &StepId| match self.rows.get(step).map(|row| row.status) {
            Some("waiting") => 0,
            Some("running") => 1,
            Some("failed") => 2,
            Some("ready") => 3,
            Some("completed") => 4,
            _ => 5,
        };
        let mut folders: Vec<usize> = (0..order.len()).collect();
        folders.sort_by_key(|at| (rank(&order[*at]), std::cmp::Reverse(*at)));
        folders.truncate(most.saturating_sub(1));
        folders.sort_unstable();
        folders.into_iter().map(|at| &order[at]).collect()
    }

    /// The line of a step: status, name, agent, time, and description.
    fn head(
        &self,
        (step, row): (&StepId, &StepRow),
        places: &BTreeMap<StepId, TreePlace>,
        widths: &ColumnWidths,
        screen: Screen,
    ) -> String {
        let Screen { paint, columns, .. } = screen;
        let place = places.get(step).cloned().unwrap_or_default();
        let indent = " ".repeat(widths.indent * place.depth);
        let sign = match row.status {
            "running" if screen.is_live => paint.cyan(SPINNER[self.frame % SPINNER.len()]),
            status => symbol(status, paint),
        };
        let mut line = format!("  {indent}{sign} {}", column(step.as_str(), widths.name.saturating_sub(indent.len())));
        let mut used = 4 + widths.name;
        if widths.agent > 0 {
            line.push_str(&paint.dim(&format!("  {}", column(&row.agent, widths.agent))));
            used += 2 + widths.agent;
        }
        if widths.time > 0 {
            line.push_str(&paint.dim(&format!("  {}", column(&time(row), widths.time))));
            used += 2 + widths.time;
        }
        let room = columns.saturating_sub(used + 2);
        let also = place.also.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let also = if also.is_empty() { also } else { format!(" (also after {also})") };
        let text = cut(&format!("{}{also}", row.description), room);
        let rest = room.saturating_sub(fit::width(&text));
        line.extend(["  ", &text]);
        let figures = [figures(row), self.with_below(step, places).unwrap_or_default()];
        let figures = figures.into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" · ");
        let is_at_work = screen.is_live && row.status == "running";
        if !figures.is_empty() && !is_at_work && fit::width(&figures) + 2 <= rest {
            line.push_str(&paint.dim(&format!("  {figures}")));
        }
        line.trim_end().to_owned()
    }
}

impl ColumnWidths {
    fn of(chosen: &[(&StepId, &StepRow)], places: &BTreeMap<StepId, TreePlace>, columns: usize) -> Self {
        let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or_default();
        let indent = if columns < WIDE { 1 } else { 2 };
        let depth = |step: &StepId| places.get(step).map_or(0, |place| place.depth * indent);
        let name = widest(&mut chosen.iter().map(|(step, _)| fit::width(step.as_str()) + depth(step)));
        let agent = widest(&mut chosen.iter().map(|(_, row)| fit::width(&row.agent)));
        let time = widest(&mut chosen.iter().map(|(_, row)| fit::width(&time(row))));
        let (name, agent) = if columns < WIDE { (name.min(16), 0) } else { (name.min(32), agent.min(13)) };
        Self { name: name.min(columns / 3), agent, time, indent }
    }
}

fn time(row: &StepRow) -> String {
    let length = |began| time_format::length(row.ended.unwrap_or_else(time_format::now).since(began));
    row.began.map(length).unwrap_or_default()
}

/// `4 turns, 6 calls, 1 failed`.
fn figures(row: &StepRow) -> String {
    let mut words = Vec::new();
    if row.turns > 1 {
        words.push(count(row.turns, "turn"));
    }
    if row.made > 0 {
        words.push(count(u64::from(row.made), "call"));
    }
    if row.failed > 0 {
        words.push(format!("{} failed", row.failed));
    }
    if row.visits > 1 {
        words.push(format!("{} visits", row.visits));
    }
    if !row.cost.is_empty() {
        words.push(row.cost.clone());
    }
    words.join(", ")
}

/// The lines below a step: its calls and words while it is at work, why it failed, or that no call of it succeeded.
fn below(row: &StepRow, most: usize, screen: Screen) -> Vec<String> {
    let Screen { paint, columns, .. } = screen;
    let room = columns.saturating_sub(INDENT).max(10);
    let indented = |text: String| format!("{}{text}", " ".repeat(INDENT));
    let mut lines = Vec::new();
    match row.status {
        "failed" => {
            lines.extend(few(fit::wrap(&row.why, room), 3, room).into_iter().map(|line| indented(paint.red(&line))));
            match &row.replanned {
                Some(why) if !why.contains(&row.why) => {
                    let why = few(fit::wrap(&format!("↻ new plan: {why}"), room), 2, room);
                    lines.extend(why.into_iter().map(|line| indented(paint.yellow(&line))));
                }
                Some(_) => lines.push(indented(paint.yellow("↻ so there is a new plan"))),
                None => {}
            }
            lines.truncate(most);
        }
        _ if !row.halted.is_empty() => {
            let why = few(fit::wrap(&row.halted, room), 3, room);
            lines.extend(why.into_iter().take(most).map(|line| indented(paint.yellow(&line))));
        }
        "completed" if row.made > 0 && row.failed >= row.made => {
            lines.extend(row.last_failure().map(|why| indented(paint.yellow(&cut(&why, room)))));
            lines.truncate(most);
        }
        "running" | "waiting" if screen.is_live => {
            lines = at_work(row, most, room, paint).into_iter().map(indented).collect();
        }
        _ => {}
    }
    lines
}

/// The latest ended calls, the running ones with their last output, then what the model says.
fn at_work(row: &StepRow, most: usize, room: usize, paint: Paint) -> Vec<String> {
    let mut now = Vec::new();
    for call in row.calls.iter().filter(|call| call.end.is_none()) {
        now.push(paint.cyan(&cut(&call.words, room)));
        now.extend(call.printed.iter().map(|line| paint.dim(&cut(&format!("│ {line}"), room))));
    }
    if !row.note.is_empty() {
        now.push(paint.yellow(&cut(&row.note, room)));
    }
    match row.speech() {
        Some(ModelActivity::About(text)) if row.note.is_empty() => now.push(paint.dim(&cut(&text, room))),
        Some(ModelActivity::Own(text)) => {
            let mut said = fit::wrap(text, room);
            said.retain(|line| !line.is_empty());
            let last = said.iter().skip(said.len().saturating_sub(most.saturating_sub(1).max(1)));
            now.extend(last.map(|line| paint.dim(line)));
        }
        Some(ModelActivity::About(_)) | None => {}
    }
    now.truncate(most);
    let ended = row.calls.iter().rev().filter_map(|call| Some((call, call.end.as_ref()?)));
    let mut before: Vec<String> = ended
        .take((most - now.len()).min(3))
        .map(|(call, end)| match end {
            CallEnd::Good => format!("{} {}", paint.green("✓"), paint.dim(&cut(&call.words, room.saturating_sub(2)))),
            CallEnd::Bad(why) => {
                let why = cut(why, room / 2);
                let words = cut(&call.words, room.saturating_sub(4 + fit::width(&why)));
                format!("{} {}  {}", paint.red("✗"), paint.dim(&words), paint.red(&why))
            }
        })
        .collect();
    before.reverse();
    before.extend(now);
    before
}

/// The first lines, with a mark if more were left out.
fn few(mut lines: Vec<String>, most: usize, room: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = format!("{}…", cut(last, room.saturating_sub(1)).trim_end_matches('…'));
        }
    }
    lines
}
