//! The picture of a run's timeline: a row for each step, with its waits and attempts.

use std::fmt::Write as _;

pub use crate::axis::duration;
use crate::axis::marks;
use crate::icon;
use crate::markup::{attribute, cut, escape, text};

const WIDTH: f64 = 1_000.0;
/// Where labels end and bars begin.
const LABELS: f64 = 230.0;
const RIGHT_MARGIN: f64 = 24.0;
const AXIS_HEIGHT: f64 = 32.0;
const ROW_HEIGHT: f64 = 32.0;
const BAR_HEIGHT: f64 = 14.0;
/// Shorter bars are drawn this wide, so that they are seen.
const THINNEST: f64 = 3.0;
const LABEL_LETTERS: usize = 24;
const MOST_MARKS: u64 = 8;

/// A run's time as it is shown. Times are milliseconds of any clock, the same for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// What a screen reader calls it: "Timeline of 6 steps, 47 s".
    pub title: String,
    /// When the run began.
    pub from: u64,
    /// Its end, or now.
    pub to: u64,
    /// A row for each step.
    pub rows: Vec<TimelineRow>,
    /// The step that is looked at.
    pub selected: Option<String>,
}

/// A step's time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineRow {
    /// The step's id.
    pub id: String,
    /// Its name: "T031 retriever".
    pub label: String,
    /// Its state in one word.
    pub state: String,
    /// Where the link leads.
    pub link: String,
    /// Whether the run could not have been shorter without it.
    pub critical: bool,
    /// What it did, in any order.
    pub spans: Vec<TimelineSpan>,
}

/// A piece of a step's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineSpan {
    /// What it is.
    pub kind: SpanKind,
    /// When it began.
    pub from: u64,
    /// When it ended, or now.
    pub to: u64,
}

/// What a step does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// It may begin, and waits for its turn.
    Waiting,
    /// It waits for a person.
    Asking,
    /// It waits for its model: a rate limit, or a server that is not available.
    HeldUp,
    /// It works: the attempt's number, the first being 1.
    Attempt(u32),
    /// An attempt that did not succeed.
    FailedAttempt(u32),
}

impl SpanKind {
    fn class(self) -> &'static str {
        match self {
            SpanKind::Waiting => "waiting",
            SpanKind::Asking => "asking",
            SpanKind::HeldUp => "held-up",
            SpanKind::Attempt(_) => "working",
            SpanKind::FailedAttempt(_) => "working failed",
        }
    }

    fn is_wait(self) -> bool {
        match self {
            SpanKind::Waiting | SpanKind::Asking | SpanKind::HeldUp => true,
            SpanKind::Attempt(_) | SpanKind::FailedAttempt(_) => false,
        }
    }

    fn in_words(self) -> String {
        match self {
            SpanKind::Waiting => "waited for its turn".to_owned(),
            SpanKind::Asking => "waited for a person".to_owned(),
            SpanKind::HeldUp => "waited for its model".to_owned(),
            SpanKind::Attempt(1) => "worked".to_owned(),
            SpanKind::Attempt(number) => format!("worked, attempt {number}"),
            SpanKind::FailedAttempt(number) => format!("attempt {number} failed after"),
        }
    }
}

/// Draws a timeline.
///
/// | class | on |
/// |---|---|
/// | `timeline` | the `svg` |
/// | `axis`, with `mark` and `time` | the axis |
/// | `track`, with `state-…`, `critical`, `selected` | the link of a step; `data-step` |
/// | `span`, with `waiting`, `asking`, `held-up`, `working`, `failed` | a bar; `cross` marks the end of an attempt that failed |
pub fn draw_timeline(timeline: &Timeline) -> String {
    let height = AXIS_HEIGHT + ROW_HEIGHT * timeline.rows.len() as f64 + 8.0;
    let mut out = String::with_capacity(800 * timeline.rows.len() + 2_000);
    let _ = write!(
        out,
        "<svg class=\"timeline\" role=\"group\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\""
    );
    attribute(&mut out, "aria-label", &timeline.title);
    out.push('>');
    axis(&mut out, timeline, height);
    for (number, row) in timeline.rows.iter().enumerate() {
        step(&mut out, timeline, row, AXIS_HEIGHT + ROW_HEIGHT * number as f64);
    }
    out.push_str("</svg>");
    out
}

/// Where a time is. Times outside of the run are at its ends.
fn place(timeline: &Timeline, time: u64) -> f64 {
    let length = timeline.to.saturating_sub(timeline.from).max(1) as f64;
    let share = time.saturating_sub(timeline.from) as f64 / length;
    tenth(LABELS + share.min(1.0) * (WIDTH - LABELS - RIGHT_MARGIN))
}

fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn axis(out: &mut String, timeline: &Timeline, height: f64) {
    out.push_str("<g class=\"axis\" aria-hidden=\"true\">");
    for time in marks(timeline.to.saturating_sub(timeline.from), MOST_MARKS) {
        let x = place(timeline, timeline.from.saturating_add(time));
        let _ = write!(out, "<path class=\"mark\" d=\"M{x} {}V{}\"/>", AXIS_HEIGHT - 8.0, height - 8.0);
        text(out, "time", (x, AXIS_HEIGHT - 14.0), &duration(time));
    }
    out.push_str("</g>");
}

fn step(out: &mut String, timeline: &Timeline, row: &TimelineRow, y: f64) {
    let is_selected = timeline.selected.as_ref() == Some(&row.id);
    let _ = write!(out, "<a class=\"track {}", icon::state_class(&row.state));
    out.push_str(if row.critical { " critical" } else { "" });
    out.push_str(if is_selected { " selected\" aria-current=\"true\"" } else { "\"" });
    attribute(out, "href", &row.link);
    attribute(out, "data-step", &row.id);
    attribute(out, "aria-label", &name(row));
    let _ = write!(out, "><rect class=\"band\" x=\"0\" y=\"{y}\" width=\"{WIDTH}\" height=\"{ROW_HEIGHT}\"/>");
    let _ = write!(out, "<path class=\"sign\" d=\"M10 {}{}\"/>", y + 8.0, icon::sign(&row.state));
    text(out, "label", (36.0, y + 20.5), &cut(&row.label, LABEL_LETTERS));
    if row.critical {
        let _ = write!(out, "<path class=\"diamond\" d=\"M{} {}l5 5l-5 5l-5 -5z\"/>", LABELS - 14.0, y + 11.0);
    }
    let mut spans: Vec<&TimelineSpan> = row.spans.iter().collect();
    // A wait that begins with an attempt is drawn over it.
    spans.sort_by_key(|span| (span.from, span.kind.is_wait()));
    for one in spans {
        span(out, timeline, one, y);
    }
    out.push_str("</a>");
}

fn span(out: &mut String, timeline: &Timeline, span: &TimelineSpan, y: f64) {
    let from = place(timeline, span.from);
    let width = tenth((place(timeline, span.to) - from).max(THINNEST));
    let (top, height) = match span.kind {
        SpanKind::Waiting => (y + 14.0, 4.0),
        SpanKind::Asking | SpanKind::HeldUp | SpanKind::Attempt(_) | SpanKind::FailedAttempt(_) => {
            (y + 9.0, BAR_HEIGHT)
        }
    };
    let class = span.kind.class();
    let _ = write!(
        out,
        "<rect class=\"span {class}\" x=\"{from}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"2\"><title>"
    );
    escape(out, &in_words(span));
    out.push_str("</title></rect>");
    if let SpanKind::FailedAttempt(_) = span.kind {
        let _ = write!(out, "<path class=\"cross\" d=\"M{} {}l6 6m0 -6l-6 6\"/>", tenth(from + width - 3.0), y + 13.0);
    }
}

/// "T031 retriever, done, on the critical path: waited for its turn 3 s, worked 12 s".
fn name(row: &TimelineRow) -> String {
    let mut name = format!("{}, {}", row.label, row.state);
    if row.critical {
        name.push_str(", on the critical path");
    }
    let spans: Vec<String> = row.spans.iter().map(in_words).collect();
    if !spans.is_empty() {
        let _ = write!(name, ": {}", spans.join(", "));
    }
    name
}

fn in_words(span: &TimelineSpan) -> String {
    format!("{} {}", span.kind.in_words(), duration(span.to.saturating_sub(span.from)))
}
