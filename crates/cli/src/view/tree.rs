//! The live tree of steps on a terminal, redrawn in place.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use updraft_engine::{Used, Watch};
use updraft_models::Delta;
use updraft_run::{Address, Effect, Event, Record, Run, RunId, StepId, Timestamp};

use super::words::{self, symbol};
use crate::out::{self, Paint};
use crate::{moment, places};

/// Often enough to look alive, seldom enough to cost nothing.
const FRAME: Duration = Duration::from_millis(100);
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Draws the steps as they stand.
pub(super) struct Tree {
    paint: Paint,
    drawing: Mutex<Drawing>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { paint: Paint::for_stderr(), drawing: Mutex::default() }
    }
}

#[derive(Default)]
struct Drawing {
    /// Which run it is.
    title: String,
    order: Vec<StepId>,
    rows: BTreeMap<StepId, Row>,
    /// Lines that stand on the screen and will be drawn over.
    drawn: usize,
    frame: usize,
    changed: bool,
}

#[derive(Default)]
struct Row {
    agent: String,
    status: &'static str,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
    turns: u64,
    /// How often each tool was called, in the order of the first calls.
    tools: Vec<Used>,
    /// What it is at: a call, or the end of what the model is saying.
    now: String,
}

impl Watch for Tree {
    fn record(&self, id: &RunId, _: u64, record: &Record, run: &Run) {
        let mut drawing = self.lock();
        if drawing.title.is_empty() {
            drawing.title = format!("run {}  {}", self.paint.bold(id.as_str()), self.paint.dim(&run.settings().model));
            drawing.take_graph(run);
        }
        for event in &record.events {
            drawing.follow(event, record.at, run);
        }
        drawing.changed = true;
    }

    fn delta(&self, _: &RunId, at: &Address, delta: Delta<'_>) {
        let mut drawing = self.lock();
        let Some(row) = drawing.rows.get_mut(&at.step) else { return };
        match delta {
            Delta::Text(text) | Delta::Reasoning(text) => {
                row.now.push_str(text);
                if row.now.len() > 400 {
                    let keep: String = row.now.chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
                    row.now = keep;
                }
            }
            Delta::Call(name) => row.now = format!("{name}(…)"),
            Delta::Again(why) | Delta::Waiting(why) => why.clone_into(&mut row.now),
            _ => {}
        }
        drawing.changed = true;
    }

    fn said(&self, _: &RunId, at: &Address, line: &str) {
        let mut drawing = self.lock();
        let Some(row) = drawing.rows.get_mut(&at.step) else { return };
        line.clone_into(&mut row.now);
        drawing.changed = true;
    }
}

impl Tree {
    pub(super) async fn animate(&self) -> std::convert::Infallible {
        let mut beat = tokio::time::interval(FRAME);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            self.redraw();
        }
    }

    fn redraw(&self) {
        let mut drawing = self.lock();
        let busy = drawing.rows.values().any(|row| row.status == "running");
        if !drawing.changed && !busy {
            return;
        }
        drawing.changed = false;
        drawing.frame += 1;
        let (height, width) = size();
        let lines = drawing.lines(self.paint, height.saturating_sub(4).max(3), width);
        let mut text = drawing.over();
        for line in &lines {
            text.push_str(line);
            text.push_str("\x1b[K\n");
        }
        text.push_str("\x1b[J");
        drawing.drawn = lines.len();
        out::draw(&text);
    }

    /// Draws a last time, with every step, and lets go of the lines.
    pub(super) fn settle(&self) {
        let mut drawing = self.lock();
        if drawing.drawn == 0 && !drawing.changed {
            return;
        }
        let (_, width) = size();
        let lines = drawing.lines(self.paint, 200, width);
        let mut text = drawing.over();
        text.push_str("\x1b[J");
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
        drawing.drawn = 0;
        drawing.changed = false;
        out::draw(&text);
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
            Event::Wanted { id, effect } => {
                let row = self.rows.entry(id.step.clone()).or_default();
                match effect {
                    Effect::Ask => {
                        row.began.get_or_insert(at);
                        row.now.clear();
                    }
                    Effect::Call => {
                        if let Some(call) = run.call_at(id) {
                            let by = id.outer().and_then(|outer| run.call_at(&outer));
                            let by = by.map(|outer| format!("{} › ", outer.name)).unwrap_or_default();
                            row.now = format!("{by}{}({})", call.name, words::arguments(&call.args));
                            Used::count(&mut row.tools, run, id);
                        }
                    }
                    Effect::Question { text, .. } => row.now = format!("asks: {text}"),
                    Effect::Approval { why, .. } => row.now = format!("needs approval: {why}"),
                    _ => {}
                }
                &id.step
            }
            Event::Replied { id, .. } | Event::Rejected { id, .. } => &id.step,
            Event::StepDone { step, .. }
            | Event::StepFailed { step, .. }
            | Event::StepSkipped { step, .. }
            | Event::StepCancelled { step } => {
                self.rows.entry(step.clone()).or_default().ended = Some(at);
                step
            }
            Event::Wrote { step, .. }
            | Event::Judged { step, .. }
            | Event::Advised { step, .. }
            | Event::Halted { step, .. } => step,
            _ => return,
        };
        self.look(&step.clone(), run);
    }

    /// A new graph: rows for its steps, in their order; those known keep what they know.
    fn take_graph(&mut self, run: &Run) {
        self.order = run.steps().map(|step| step.spec.id.clone()).collect();
        for step in self.order.clone() {
            self.look(&step, run);
        }
    }

    fn look(&mut self, step: &StepId, run: &Run) {
        let Some(found) = run.step(step) else { return };
        if !self.rows.contains_key(step) || !self.order.contains(step) && self.order.len() < 1000 {
            self.order.retain(|known| known != step);
            self.order.push(step.clone());
        }
        let row = self.rows.entry(step.clone()).or_default();
        if row.agent.is_empty() {
            row.agent.clone_from(&found.spec.agent);
        }
        row.status = found.status();
        row.turns = found.ledger.turns;
        if let Some(why) = &found.halted {
            row.now.clone_from(&why.message);
        }
        if found.has_ended() {
            row.now.clear();
            if let Some(error) = error_of(found) {
                row.now = error;
            }
        }
    }

    /// Moves the cursor back over what was drawn.
    fn over(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\x1b[{}A\r", self.drawn) }
    }

    fn lines(&self, paint: Paint, most: usize, width: usize) -> Vec<String> {
        let chosen = self.choose(most);
        let names = chosen.iter().map(|step| step.as_str().chars().count()).max().unwrap_or_default().min(28);
        let agents = chosen.iter().filter_map(|step| self.rows.get(*step)).map(|row| row.agent.len()).max();
        let agents = agents.unwrap_or_default().min(16);
        let mut lines: Vec<String> = Vec::with_capacity(chosen.len() + 3);
        lines.extend([self.title.clone(), String::new()]);
        for step in &chosen {
            if let Some(row) = self.rows.get(*step) {
                lines.push(self.line(step, row, paint, (names, agents, width)));
            }
        }
        let hidden = self.order.len() - chosen.len();
        if hidden > 0 {
            let done = self.rows.values().filter(|row| row.status == "completed").count();
            lines.push(paint.dim(&format!("  … {hidden} more steps; {done} of {} done", self.order.len())));
        }
        lines
    }

    /// Which steps fit on the screen: those at work first, then the latest that ended, in the order of the plan.
    fn choose(&self, most: usize) -> Vec<&StepId> {
        if self.order.len() <= most {
            return self.order.iter().collect();
        }
        let rank = |step: &StepId| match self.rows.get(step).map(|row| row.status) {
            Some("waiting") => 0,
            Some("running") => 1,
            Some("failed") => 2,
            Some("ready") => 3,
            Some("completed") => 4,
            _ => 5,
        };
        let mut places: Vec<usize> = (0..self.order.len()).collect();
        places.sort_by_key(|at| (rank(&self.order[*at]), std::cmp::Reverse(*at)));
        places.truncate(most.saturating_sub(1));
        places.sort_unstable();
        places.into_iter().map(|at| &self.order[at]).collect()
    }

    fn line(&self, step: &StepId, row: &Row, paint: Paint, (names, agents, width): (usize, usize, usize)) -> String {
        let sign = match row.status {
            "running" => paint.cyan(SPINNER[self.frame % SPINNER.len()]),
            status => symbol(status, paint),
        };
        let name = format!("{:names$}", out::short(step.as_str(), names.max(4)));
        let agent = format!("{:agents$}", out::short(&row.agent, agents.max(4)));
        let turns = if row.turns > 0 { words::count(row.turns, "turn") } else { String::new() };
        let time = row
            .began
            .map(|began| moment::length(row.ended.unwrap_or_else(moment::now).since(began)))
            .unwrap_or_default();
        let mut rest = format!("{turns:<9} {time:<7}");
        if row.now.is_empty() {
            let _ = write!(rest, " {}", Used::in_words(&row.tools));
        } else {
            let shown = row.now.trim().lines().next_back().unwrap_or_default();
            let _ = write!(rest, " {shown}");
        }
        let room = width.saturating_sub(names + agents + 9).max(10);
        let rest = out::short(rest.trim_end(), room);
        let rest = if row.status == "failed" { paint.red(&rest) } else { paint.dim(&rest) };
        format!("  {sign} {name}  {agent}  {rest}").trim_end().to_owned()
    }
}

fn error_of(step: &updraft_run::Step) -> Option<String> {
    match &step.state {
        updraft_run::State::Failed(why) => Some(why.message.clone()),
        _ => None,
    }
}

/// Rows and columns of the terminal.
fn size() -> (usize, usize) {
    let columns = || places::set("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(80);
    told_size().filter(|(rows, columns)| *rows > 0 && *columns > 0).unwrap_or_else(|| (24, columns()))
}

#[cfg(unix)]
fn told_size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some((size.ws_row.into(), size.ws_col.into()))
}

/// Not asked for on Windows.
#[cfg(not(unix))]
fn told_size() -> Option<(usize, usize)> {
    None
}
