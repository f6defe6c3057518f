//! The live tree of steps on a terminal, redrawn in place.

mod branches;
mod lines;
mod row;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use updraft_engine::RunWatcher;
use updraft_models::Delta;
use updraft_run::{Effect, EffectAddress, Event, Record, Run, RunId, RunMode, StepId, Timestamp};

use super::call::{CallEnd, call_words};
use super::fit;
use crate::out::{self, Paint};
pub(crate) use branches::{TreePlace, branches};
use lines::Screen;
use row::StepRow;

/// Often enough to look alive, rarely enough to cost nothing.
const FRAME: Duration = Duration::from_millis(100);
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Most steps of the tree that stays on the screen at the end.
const KEPT: usize = 200;
/// Most steps in the order of the plan that are searched when a new one appears.
const ORDERED: usize = 1_000;

/// Draws the steps and their current state.
pub(crate) struct StepTree {
    paint: Paint,
    drawing: Mutex<Drawing>,
}

impl Default for StepTree {
    fn default() -> Self {
        Self { paint: Paint::for_stderr(), drawing: Mutex::default() }
    }
}

#[derive(Default)]
struct Drawing {
    /// The run and its model.
    title: (String, String),
    order: Vec<StepId>,
    rows: BTreeMap<StepId, StepRow>,
    /// The user's last message during the run.
    told: Option<String>,
    /// One agent answers by itself.
    talks: bool,
    /// The widths of the lines on the screen that will be drawn over.
    drawn: Vec<usize>,
    frame: usize,
    changed: bool,
}

impl RunWatcher for StepTree {
    fn record(&self, id: &RunId, _: u64, record: &Record, run: &Run) {
        let mut drawing = self.lock();
        if drawing.title.0.is_empty() {
            drawing.title = (id.to_string(), run.settings().model.clone());
            drawing.talks = matches!(run.goal().mode, RunMode::Agent(_));
            drawing.take_graph(run);
        }
        for event in &record.events {
            drawing.follow(event, record.at, run);
        }
        drawing.changed = true;
    }

    fn delta(&self, _: &RunId, at: &EffectAddress, delta: Delta<'_>) {
        self.with_row(at, |row| row.hears(delta));
    }

    fn said(&self, _: &RunId, at: &EffectAddress, line: &str) {
        self.with_row(at, |row| row.prints(at, line));
    }

    fn printed(&self, _: &RunId, at: &EffectAddress, line: &str) {
        self.with_row(at, |row| row.prints(at, line));
    }
}

impl StepTree {
    pub(super) async fn animate(&self) -> std::convert::Infallible {
        let mut beat = tokio::time::interval(FRAME);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            self.redraw();
        }
    }

    fn redraw(&self) {
        // It is drawn by the console meanwhile.
        if out::has_console() {
            return;
        }
        let mut drawing = self.lock();
        let busy = drawing.rows.values().any(|row| row.status == "running");
        if !drawing.changed && !busy {
            return;
        }
        drawing.changed = false;
        drawing.frame += 1;
        let (height, columns) = fit::size();
        let rows = height.saturating_sub(2).max(4);
        let lines = drawing.lines(Screen { paint: self.paint, rows, columns, is_live: true });
        let text = drawing.over(columns) + &in_place(&lines);
        drawing.drawn = lines.iter().map(|line| fit::width(&out::without_colours(line))).collect();
        out::draw(&text);
    }

    /// Draws a last time, with every step, and leaves the lines on the screen.
    pub(super) fn finish_drawing(&self) {
        let mut drawing = self.lock();
        if out::has_console() || drawing.drawn.is_empty() && !drawing.changed {
            return;
        }
        let (_, columns) = fit::size();
        let lines = drawing.lines(Screen { paint: self.paint, rows: KEPT, columns, is_live: false });
        let text = drawing.over(columns) + &in_place(&lines);
        drawing.drawn.clear();
        drawing.changed = false;
        out::draw(&text);
    }

    /// Removes the drawing, so that a question can take its place. The next frame draws it again.
    pub(super) fn make_way(&self) {
        let mut drawing = self.lock();
        if !drawing.drawn.is_empty() && !out::has_console() {
            let over = drawing.over(fit::size().1);
            let blank = vec![String::new(); drawing.drawn.len()];
            out::draw(&format!("{over}{}{over}", in_place(&blank)));
            drawing.drawn.clear();
        }
        drawing.changed = true;
    }

    /// Whether one agent answers by itself.
    pub(crate) fn is_talk(&self) -> bool {
        self.lock().talks
    }

    /// The tree as rows that somebody else draws.
    pub(crate) fn live_lines(&self, rows: usize, columns: usize) -> Vec<String> {
        let mut drawing = self.lock();
        drawing.frame += 1;
        drawing.lines(Screen { paint: self.paint, rows, columns, is_live: true })
    }

    /// The steps at work on one line, while the user is asked about another; `None` if there are none.
    pub(crate) fn busy_line(&self, columns: usize) -> Option<String> {
        let mut drawing = self.lock();
        drawing.frame += 1;
        let busy = drawing.rows.iter().filter(|(_, row)| row.status == "running" && row.note.is_empty());
        let names: Vec<&str> = busy.map(|(step, _)| step.as_str()).collect();
        let text = fit::cut(&format!("at work meanwhile: {}", names.join(", ")), columns.saturating_sub(4));
        let mark = SPINNER[drawing.frame % SPINNER.len()];
        (!names.is_empty()).then(|| format!("{} {}", self.paint.cyan(mark), self.paint.dim(&text)))
    }

    /// What is under way in a run of one agent, apart from what it says.
    pub(crate) fn talk_lines(&self, rows: usize, columns: usize) -> Vec<String> {
        self.lock().under_way(Screen { paint: self.paint, rows, columns, is_live: true })
    }

    /// Begins anew, for another run.
    pub(crate) fn forget(&self) {
        *self.lock() = Drawing::default();
    }

    fn with_row(&self, at: &EffectAddress, tell: impl FnOnce(&mut StepRow)) {
        let mut drawing = self.lock();
        if let Some(row) = drawing.rows.get_mut(&at.step) {
            tell(row);
            drawing.changed = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Drawing> {
        self.drawing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drawing {
    fn follow(&mut self, event: &Event, at: Timestamp, run: &Run) {
        let step = match event {
            Event::Started(_) | Event::Planned { .. } | Event::Forked { .. } => {
                self.take_graph(run);
                return;
            }
            Event::Told { message } => {
                self.told = Some(message.clone());
                return;
            }
            Event::Wanted { id, effect } => {
                let row = self.rows.entry(id.step.clone()).or_default();
                match effect {
                    Effect::Ask | Effect::Prepare => row.asks(id, at),
                    Effect::Call => row.calls(id, words_of(run, id)),
                    Effect::Question { text, .. } => row.note = format!("? {text}"),
                    Effect::Approval { why, .. } => row.note = format!("? {why}"),
                    Effect::Timer { .. } => {}
                }
                &id.step
            }
            Event::Replied { id, reply, .. } => {
                self.rows.entry(id.step.clone()).or_default().replied(id, &CallEnd::of(reply));
                &id.step
            }
            Event::Rejected { id, why } => {
                let row = self.rows.entry(id.step.clone()).or_default();
                row.calls(id, words_of(run, id));
                row.replied(id, &CallEnd::rejected(why));
                &id.step
            }
            Event::StepDone { step, .. }
            | Event::StepFailed { step, .. }
            | Event::StepSkipped { step, .. }
            | Event::StepCancelled { step } => {
                self.rows.entry(step.clone()).or_default().ended = Some(at);
                step
            }
            Event::Judged { step, verdict } => {
                let row = self.rows.entry(step.clone()).or_default();
                row.judged(verdict);
                row.ended.get_or_insert(at);
                step
            }
            Event::Wrote { step, .. } | Event::Advised { step, .. } | Event::Halted { step, .. } => step,
            _ => return,
        };
        self.look(&step.clone(), run);
    }

    /// Adds rows for the steps of a new graph, in their order; known steps keep their state.
    fn take_graph(&mut self, run: &Run) {
        self.order = run.steps().map(|step| step.spec.id.clone()).collect();
        for step in self.order.clone() {
            self.look(&step, run);
        }
    }

    fn look(&mut self, step: &StepId, run: &Run) {
        let Some(found) = run.step(step) else { return };
        if !self.rows.contains_key(step) || !self.order.contains(step) && self.order.len() < ORDERED {
            self.order.retain(|known| known != step);
            self.order.push(step.clone());
        }
        let row = self.rows.entry(step.clone()).or_default();
        row.look(found);
        row.after = run.before(found).map(|step| step.spec.id.clone()).collect();
    }

    /// Moves the cursor back over the drawing. If the terminal has become narrower, a line may take several rows.
    fn over(&self, columns: usize) -> String {
        let rows: usize = self.drawn.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r") }
    }
}

/// Lines drawn over others. Each is cleared separately: some terminals keep a copy of what is cleared at once.
fn in_place(lines: &[String]) -> String {
    let lines = lines.iter().flat_map(|line| [line.as_str(), "\x1b[K\n"]).collect::<String>();
    lines + "\x1b[J"
}

/// The call at an address in words, with the call whose code made it.
fn words_of(run: &Run, id: &EffectAddress) -> String {
    let words = run.call_at(id).map(|call| call_words(&call)).unwrap_or_default();
    if id.outer().is_some() { format!("↳ {words}") } else { words }
}
