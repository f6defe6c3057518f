//! The full screen: the steps of a run on the left, the chosen one in detail on the right, the log and the composer below.
//!
//! It reads the run from the journal, so it shows a run of this process, of another, and one that has ended alike.

mod details;
mod frame;
mod steps;

use std::ops::ControlFlow;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use updraft_journal::Journal;
use updraft_run::{RunId, StepId};
use updraft_workbench::history::RunHistory;

use super::row::ScreenRow;
use super::state::ConsoleState;
use crate::folders::AppFolders;
use crate::journal;
use crate::out::Paint;
use details::DetailsPanel;

/// A part of the screen that keys go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Panel {
    Composer,
    Steps,
    Details,
    Log,
}

/// What is to be done after a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FullscreenKey {
    /// It was for the view.
    Taken,
    /// It is for the composer.
    Pass,
    /// The user leaves the full screen.
    Leave,
}

/// The view of one run, and what of it the user looks at.
pub(super) struct FullscreenView {
    paint: Paint,
    folders: AppFolders,
    /// Opened with the first run: before that there may be none.
    journal: Option<Journal>,
    run: Option<RunId>,
    /// The newest news of the run that was taken.
    news: Option<(RunId, u64)>,
    history: RunHistory,
    panel: Panel,
    /// The step that is looked at; `None` is the run as a whole.
    chosen: Option<StepId>,
    /// Until the user chooses a step, it is the one at work.
    is_following: bool,
    details: DetailsPanel,
    /// How many lines of the log are below those that are shown.
    log_back: usize,
    /// There is nobody to write to.
    only_looks: bool,
    had_prompt: bool,
    /// The rows on the terminal.
    shown: Vec<ScreenRow>,
}

impl FullscreenView {
    pub(super) fn new(paint: Paint, folders: AppFolders, only_looks: bool) -> Self {
        Self {
            paint,
            folders,
            journal: None,
            run: None,
            news: None,
            history: RunHistory::default(),
            panel: if only_looks { Panel::Steps } else { Panel::Composer },
            chosen: None,
            is_following: true,
            details: DetailsPanel::default(),
            log_back: 0,
            only_looks,
            had_prompt: false,
            shown: Vec::new(),
        }
    }

    /// Reads what is new about the run that is under way, or was the last.
    pub(super) fn follow(&mut self, news: Option<(RunId, u64)>) {
        if self.news == news {
            return;
        }
        if self.journal.is_none() {
            self.journal = journal::open_if_there(&self.folders).ok().flatten();
        }
        let (Some((id, _)), Some(journal)) = (&news, &self.journal) else { return };
        if self.run.as_ref() != Some(id) {
            (self.run, self.history) = (Some(id.clone()), RunHistory::default());
            (self.chosen, self.is_following, self.details) = (None, true, DetailsPanel::default());
        }
        let known = self.history.position();
        let history = &mut self.history;
        // What cannot be read is reported by those who drive the run.
        let _ = journal.read(id, known + 1, &mut |first, record| {
            if first > history.position() {
                history.add(first, &record, u64::MAX);
            }
            ControlFlow::Continue(())
        });
        self.news = news;
        if self.is_following {
            let at_work = self.history.run().steps().find(|step| matches!(step.status(), "running" | "waiting"));
            if let Some(step) = at_work {
                self.choose(Some(step.spec.id.clone()));
            } else if self.history.run().is_over() {
                self.choose(None);
            }
        }
    }

    /// Whether there is news of the run that was not read yet.
    pub(super) fn is_behind(&self, news: Option<&(RunId, u64)>) -> bool {
        self.news.as_ref() != news
    }

    /// Everything is drawn again with the next frame.
    pub(super) fn forget_drawn(&mut self) {
        self.shown.clear();
    }

    /// A question takes the keys when it appears.
    pub(super) fn notice_prompt(&mut self, has_prompt: bool) {
        if has_prompt && !self.had_prompt {
            self.panel = Panel::Composer;
        }
        self.had_prompt = has_prompt;
    }

    /// Takes what the terminal reports.
    pub(super) fn event(&mut self, event: &Event, state: &ConsoleState) -> FullscreenKey {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key, state),
            Event::Paste(_) if self.panel != Panel::Composer => FullscreenKey::Taken,
            _ => FullscreenKey::Pass,
        }
    }

    fn key(&mut self, key: KeyEvent, state: &ConsoleState) -> FullscreenKey {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('g') if control => return FullscreenKey::Leave,
            KeyCode::Tab if state.completion.is_none() => self.next_panel(),
            KeyCode::BackTab => self.previous_panel(),
            _ if control || self.panel == Panel::Composer => return FullscreenKey::Pass,
            KeyCode::Char('q') | KeyCode::Esc => return FullscreenKey::Leave,
            _ => match self.panel {
                Panel::Steps => self.steps_key(key.code),
                Panel::Details => self.details_key(key.code),
                Panel::Log => self.log_key(key.code),
                Panel::Composer => return FullscreenKey::Pass,
            },
        }
        FullscreenKey::Taken
    }

    fn panels(&self) -> &'static [Panel] {
        let all = &[Panel::Composer, Panel::Steps, Panel::Details, Panel::Log];
        if self.only_looks { &all[1..3] } else { all }
    }

    fn next_panel(&mut self) {
        let panels = self.panels();
        let at = panels.iter().position(|panel| *panel == self.panel).unwrap_or_default();
        self.panel = panels[(at + 1) % panels.len()];
    }

    fn previous_panel(&mut self) {
        let panels = self.panels();
        let at = panels.iter().position(|panel| *panel == self.panel).unwrap_or_default();
        self.panel = panels[(at + panels.len() - 1) % panels.len()];
    }

    fn steps_key(&mut self, code: KeyCode) {
        let order = steps::order(self.history.run());
        // The run itself comes first.
        let at = self.chosen.as_ref().and_then(|chosen| order.iter().position(|(step, _)| step == chosen));
        let at = at.map_or(0, |at| at + 1);
        let to = match code {
            KeyCode::Up => at.saturating_sub(1),
            KeyCode::Down => (at + 1).min(order.len()),
            KeyCode::PageUp => at.saturating_sub(10),
            KeyCode::PageDown => (at + 10).min(order.len()),
            KeyCode::Home => 0,
            KeyCode::End => order.len(),
            KeyCode::Enter | KeyCode::Right => {
                self.is_following = false;
                self.panel = Panel::Details;
                return;
            }
            _ => return,
        };
        self.is_following = false;
        self.choose(to.checked_sub(1).and_then(|at| order.get(at)).map(|(step, _)| step.clone()));
    }

    fn choose(&mut self, step: Option<StepId>) {
        if self.chosen != step {
            self.chosen = step;
            self.details = DetailsPanel::default();
        }
    }

    fn details_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Left => self.panel = Panel::Steps,
            KeyCode::Enter => self.unfold(),
            code => self.details.key(code),
        }
    }

    /// Shows an entry in full, or no longer. The prompt of a question to a model is built again from the journal.
    fn unfold(&mut self) {
        self.is_following = false;
        let entries = details::entries(&self.history, self.chosen.as_ref());
        let Some(entry) = entries.get(self.details.entry(entries.len())) else { return };
        let address = details::asked_at(entry);
        let prompt = || {
            let (journal, run) = (self.journal.as_ref()?, self.run.as_ref()?);
            Some(updraft_engine::prompt_at(journal, run, address?).ok()??.prompt)
        };
        let (position, prompt) = (entry.position, prompt());
        self.details.toggle(position, prompt);
    }

    fn log_key(&mut self, code: KeyCode) {
        self.log_back = match code {
            KeyCode::Up => self.log_back + 1,
            KeyCode::Down => self.log_back.saturating_sub(1),
            KeyCode::PageUp => self.log_back + 10,
            KeyCode::PageDown => self.log_back.saturating_sub(10),
            KeyCode::End => 0,
            _ => self.log_back,
        };
    }
}
