//! One step in detail: its task, turns, calls, results, diffs, tokens and cost. Each entry is folded until it is wanted.

use std::collections::BTreeMap;

use crossterm::event::KeyCode;
use unicode_width::UnicodeWidthChar as _;
use updraft_run::{EffectAddress, Reply, Step, StepId, StepState, Timestamp, ToolCall, argument_lines};
use updraft_workbench::history::{AnswerEntry, CallEntry, EntryKind, HistoryEntry, RunHistory};

use super::super::diff;
use super::steps::took;
use crate::out::{self, Paint};
use crate::time_format;
use crate::view::{self, CallEnd};

/// The newest entries of a step that are shown.
const SHOWN: usize = 300;
/// Most lines of an entry that is folded, below its first.
const FOLDED: usize = 3;
/// Most lines of one text.
const LONGEST: usize = 4_000;

/// What of the details the user looks at.
#[derive(Default)]
pub(super) struct DetailsPanel {
    /// The entry that Enter unfolds, counted from the end, so that it stays the newest while new ones arrive.
    from_end: usize,
    count: usize,
    /// How many lines the view is moved from where the entry would be shown.
    moved: isize,
    /// The entries that are shown in full, with the prompt of a question to a model.
    unfolded: BTreeMap<u64, Option<String>>,
}

/// The size of the panel, and its colours.
#[derive(Clone, Copy)]
pub(super) struct PanelSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) paint: Paint,
    pub(super) has_keys: bool,
}

/// The entries of a step, or of the run as a whole.
pub(super) fn entries<'a>(history: &'a RunHistory, step: Option<&StepId>) -> Vec<&'a HistoryEntry> {
    let own: Vec<&HistoryEntry> = history.entries().iter().filter(|entry| entry.step.as_ref() == step).collect();
    own[own.len().saturating_sub(SHOWN)..].to_vec()
}

/// Where a model was asked, if the entry is about that.
pub(super) fn asked_at(entry: &HistoryEntry) -> Option<&EffectAddress> {
    match &entry.kind {
        EntryKind::Answer(answer) => Some(&answer.address),
        _ => None,
    }
}

impl DetailsPanel {
    /// The entry that is chosen among so many.
    pub(super) fn entry(&self, count: usize) -> usize {
        count.saturating_sub(self.from_end + 1)
    }

    pub(super) fn key(&mut self, code: KeyCode) {
        let last = self.count.saturating_sub(1);
        match code {
            KeyCode::Up => (self.from_end, self.moved) = ((self.from_end + 1).min(last), 0),
            KeyCode::Down => (self.from_end, self.moved) = (self.from_end.saturating_sub(1), 0),
            KeyCode::PageUp => self.moved -= 10,
            KeyCode::PageDown => self.moved += 10,
            KeyCode::Home => (self.from_end, self.moved) = (last, 0),
            KeyCode::End => (self.from_end, self.moved) = (0, 0),
            _ => {}
        }
    }

    /// Shows an entry in full, or folds it again.
    pub(super) fn toggle(&mut self, position: u64, prompt: Option<String>) {
        self.moved = 0;
        if self.unfolded.remove(&position).is_none() {
            self.unfolded.insert(position, prompt);
        }
    }

    /// The lines that are in view.
    pub(super) fn lines(&mut self, history: &RunHistory, step: Option<&StepId>, size: PanelSize) -> Vec<String> {
        let PanelSize { columns, rows, paint, has_keys } = size;
        let entries = entries(history, step);
        self.count = entries.len();
        let mut lines = match step.and_then(|id| history.run().step(id)) {
            Some(step) => facts(history, step, columns, paint),
            None => run_facts(history, columns, paint),
        };
        let (chosen, mut from, mut until) = (self.entry(entries.len()), 0, 0);
        for (n, entry) in entries.iter().enumerate() {
            let unfolded = self.unfolded.get(&entry.position);
            let block = EntryLines { paint, columns: columns.saturating_sub(2), unfolded }.of(entry);
            let mark = if has_keys && n == chosen { paint.cyan("› ") } else { "  ".to_owned() };
            if n == chosen {
                from = lines.len();
            }
            let marks = std::iter::once(mark).chain(std::iter::repeat("  ".to_owned()));
            lines.extend(marks.zip(block).map(|(mark, line)| format!("{mark}{line}")));
            if n == chosen {
                until = lines.len();
            }
        }
        // The beginning of the chosen entry is in view, and its end if that fits.
        let top = until.saturating_sub(rows).min(from);
        let most = lines.len().saturating_sub(rows);
        let wanted = top.saturating_add_signed(self.moved).min(most);
        self.moved = wanted.cast_signed() - top.cast_signed();
        lines.into_iter().skip(wanted).take(rows).collect()
    }
}

/// What is known about a step apart from what it did.
fn facts(history: &RunHistory, step: &Step, columns: usize, paint: Paint) -> Vec<String> {
    let (spec, ledger, run) = (&step.spec, &step.ledger, history.run());
    let mut lines = view::wrap(&spec.description, columns);
    let usage = &ledger.usage;
    let mut about = vec![step.status().to_owned(), spec.agent.clone()];
    about.extend(Some(run.model_for(spec)).filter(|model| *model != run.settings().model).map(str::to_owned));
    about.extend(took(history, &spec.id));
    about.push(view::count(ledger.requests(), "turn"));
    about.push(view::count(ledger.calls, "call"));
    if usage.input + usage.output > 0 {
        about.push(format!("{} tokens in, {} out", usage.input, usage.output));
    }
    about.push(view::cost(ledger));
    lines.extend(view::wrap(&about.join(" · "), columns).iter().map(|line| paint.dim(line)));
    let before = run.before(step).map(|before| before.spec.id.to_string()).collect::<Vec<_>>();
    for (word, names) in [("after", &before), ("reads", &spec.reads), ("writes", &spec.writes)] {
        if !names.is_empty() {
            lines.push(paint.dim(&view::cut(&format!("{word} {}", names.join(", ")), columns)));
        }
    }
    let why = match &step.state {
        StepState::Failed(why) => Some(&why.message),
        _ => step.halted.as_ref().map(|why| &why.message),
    };
    lines.extend(why.iter().flat_map(|why| view::wrap(why, columns)).map(|line| paint.red(&line)));
    lines.push(String::new());
    lines
}

fn run_facts(history: &RunHistory, columns: usize, paint: Paint) -> Vec<String> {
    let run = history.run();
    let about = format!("{} · {} · {}", run.status_word(), run.settings().model, view::figures(run));
    let mut lines: Vec<String> = view::wrap(&about, columns).iter().map(|line| paint.dim(line)).collect();
    lines.push(String::new());
    lines
}

/// Writes one entry as lines.
struct EntryLines<'a> {
    paint: Paint,
    columns: usize,
    /// It is shown in full; with the prompt if it is a question to a model.
    unfolded: Option<&'a Option<String>>,
}

impl EntryLines<'_> {
    fn of(&self, entry: &HistoryEntry) -> Vec<String> {
        let (paint, columns) = (self.paint, self.columns);
        let head = |words: &str| view::cut(words, columns);
        match &entry.kind {
            EntryKind::Goal { text, .. } => self.titled("goal", text),
            EntryKind::Told { text } => self.titled("you said", text),
            EntryKind::Forked { from, at } => vec![head(&format!("a copy of the first {at} events of {from}"))],
            EntryKind::Planned(plan) => {
                let steps: Vec<String> = plan.steps.iter().map(|(step, agent)| format!("{step} ({agent})")).collect();
                self.titled(if plan.is_opening { "begins with" } else { "plan" }, &steps.join(", "))
            }
            EntryKind::Answer(answer) => self.answer(answer),
            EntryKind::Call(call) => self.call(call),
            EntryKind::Question(question) => {
                let mut lines = self.titled("asked", &question.text);
                if let Some(reply) = &question.reply {
                    let said = match reply {
                        Reply::Said(text) => text.clone(),
                        Reply::Verdict(verdict) if verdict.allow => "allowed".to_owned(),
                        Reply::Verdict(verdict) => format!("refused {}", verdict.because),
                        _ => "no answer".to_owned(),
                    };
                    lines.push(paint.cyan(&head(&format!("→ {said}"))));
                }
                lines
            }
            EntryKind::StepEnded { status, why } => {
                let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                vec![format!(
                    "{} {}",
                    view::symbol(status, paint),
                    view::cut(&format!("{status}{why}"), columns.saturating_sub(2))
                )]
            }
            EntryKind::Note { text, is_bad } => {
                let text = head(text);
                vec![if *is_bad { paint.yellow(&text) } else { paint.dim(&text) }]
            }
            EntryKind::Finished { answer, failed } => match failed {
                Some(why) => self.titled("failed", why),
                None => self.titled("answer", answer),
            },
        }
    }

    fn answer(&self, entry: &AnswerEntry) -> Vec<String> {
        let paint = self.paint;
        let mut head = vec![format!("turn {}", entry.address.turn + 1)];
        head.extend((entry.attempts > 1).then(|| format!("attempt {}", entry.attempts)));
        head.extend(length(entry.begun, entry.ended));
        if let Some(answer) = &entry.answer {
            let usage = &answer.usage;
            head.extend((usage.input + usage.output > 0).then(|| format!("{} in, {} out", usage.input, usage.output)));
            head.extend(answer.usage.cost.filter(|cost| cost.0 > 0).map(|cost| cost.to_string()));
        } else if entry.failed.is_none() {
            head.push("…".to_owned());
        }
        let mut lines = vec![paint.bold(&view::cut(&head.join(" · "), self.columns))];
        if let Some(Some(prompt)) = self.unfolded {
            lines.extend(self.part("prompt as sent", prompt));
        }
        if let Some(answer) = &entry.answer {
            if self.unfolded.is_some() && !answer.reasoning.trim().is_empty() {
                lines.extend(self.part("reasoning", &answer.reasoning));
            }
            lines.extend(self.text(&answer.text));
        }
        lines.extend(entry.failed.iter().map(|why| paint.red(&view::cut(why, self.columns))));
        lines
    }

    fn call(&self, entry: &CallEntry) -> Vec<String> {
        let paint = self.paint;
        let (name, args) = (entry.name.clone(), entry.args.clone());
        let words = view::call_words(&ToolCall { id: String::new(), name, args, fault: None });
        let time = length(entry.begun.or(Some(entry.wanted)), entry.ended).map(|time| format!("  {time}"));
        let room = self.columns.saturating_sub(2 + time.as_deref().map_or(0, view::width));
        let end = match (&entry.reply, &entry.rejected) {
            (Some(reply), _) => Some(CallEnd::of(reply)),
            (None, Some(why)) => Some(CallEnd::rejected(why)),
            (None, None) => None,
        };
        let sign = match &end {
            Some(CallEnd::Good) => paint.green("✓"),
            Some(CallEnd::Bad(_)) => paint.red("✗"),
            None => paint.cyan("●"),
        };
        let mut lines = vec![format!("{sign} {}{}", view::cut(&words, room), paint.dim(&time.unwrap_or_default()))];
        if let Some(CallEnd::Bad(why)) = &end {
            lines.push(paint.red(&view::cut(why, self.columns)));
        }
        let changes = match &entry.reply {
            Some(Reply::Output(output)) => output.value.as_ref().and_then(|value| value["diff"].as_str()),
            _ => None,
        };
        if self.unfolded.is_some() {
            lines.extend(self.part("arguments", &argument_lines(&entry.args).join("\n")));
            lines.extend(entry.result().iter().flat_map(|text| self.part("result", text)));
        }
        if let Some(changes) = changes {
            let shown = diff::lines(changes, self.columns, paint);
            let most = if self.unfolded.is_some() { LONGEST } else { 2 * FOLDED };
            let more = shown.len().saturating_sub(most);
            lines.extend(shown.into_iter().take(most));
            lines.extend((more > 0).then(|| self.more(more)));
        }
        lines
    }

    /// A text behind a word that says what it is.
    fn titled(&self, title: &str, text: &str) -> Vec<String> {
        let mut lines = vec![self.paint.bold(title)];
        lines.extend(self.text(text));
        lines
    }

    /// A text for people: its first lines, or all of them.
    fn text(&self, text: &str) -> Vec<String> {
        let mut lines = view::wrap(text.trim(), self.columns);
        let most = if self.unfolded.is_some() { LONGEST } else { FOLDED };
        let more = lines.len().saturating_sub(most);
        lines.truncate(most);
        lines.extend((more > 0).then(|| self.more(more)));
        lines
    }

    /// A text for programs, line by line as it is.
    fn part(&self, title: &str, text: &str) -> Vec<String> {
        let mut lines = vec![self.paint.dim(&view::cut(&format!("── {title}"), self.columns))];
        let text = out::harmless(text.trim_end()).replace('\t', "    ");
        let broken: Vec<String> = text.lines().flat_map(|line| broken(line, self.columns)).take(LONGEST).collect();
        lines.extend(broken);
        lines
    }

    fn more(&self, lines: usize) -> String {
        self.paint.dim(&view::cut(&format!("… {}", view::count(lines as u64, "more line")), self.columns))
    }
}

fn length(from: Option<Timestamp>, until: Option<Timestamp>) -> Option<String> {
    Some(time_format::length(until?.since(from?)))
}

/// A line in pieces of at most this many columns, broken at spaces where there are any.
fn broken(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let (mut pieces, mut rest) = (Vec::new(), line);
    loop {
        let (mut used, mut end, mut space) = (0, rest.len(), None);
        for (at, c) in rest.char_indices() {
            // Spaces at the beginning are the indentation.
            if c == ' ' && !rest[..at].trim().is_empty() {
                space = Some(at + 1);
            }
            used += c.width().unwrap_or_default();
            if used > columns {
                end = space.unwrap_or(at);
                break;
            }
        }
        pieces.push(rest[..end].trim_end().to_owned());
        rest = &rest[end..];
        if rest.is_empty() {
            return pieces;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_at_spaces_and_long_words_where_they_must() {
        assert_eq!(broken("  one two three", 9), ["  one two", "three"]);
        assert_eq!(broken("0123456789", 4), ["0123", "4567", "89"]);
        assert_eq!(broken("日本語", 3), ["日", "本", "語"]);
        assert_eq!(broken("", 4), [""]);
    }
}
