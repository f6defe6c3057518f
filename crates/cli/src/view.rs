//! The display of a run while it proceeds, for people and scripts.

mod ask;
mod call;
mod describe;
mod fit;
mod json;
mod log;
mod markdown;
mod progress;
mod proof;
mod question_news;
mod question_queue;
mod summary;
mod tree;

use std::sync::Arc;

use updraft_engine::{NoWatcher, RunWatcher};
use updraft_workbench::{Notice, Tell};

pub(crate) use ask::{AskResult, PersonQuestion, PlanAnswer, ask, ask_about_plan, confirm};
pub(crate) use call::{CallEnd, call_words};
pub(crate) use describe::{cost, count, event_words, figures, graph_lines, symbol};
pub(crate) use fit::{column, cut, size, width, wrap, wrap_painted};
pub(crate) use json::{SCHEMA, at_rest as json_at_rest, error as json_error};
pub(crate) use log::{ProgressPrinter, is_reported_at_once};
pub(crate) use markdown::render;
pub(crate) use progress::{ProgressLine, WorkProgress, bytes};
pub(crate) use proof::{assumption_lines, evidence_words, proof_lines};
pub(crate) use question_news::QuestionNews;
pub(crate) use question_queue::{QuestionOutcome, QuestionQueue};
pub(crate) use summary::RunEnding;
pub(crate) use tree::{StepTree, TreePlace, branches};

use tokio_util::sync::CancellationToken;

use crate::args::OutputFlags;
use crate::console::ConsoleLink;
use crate::out;

/// The width of lines if the terminal's width is unknown.
const LONGEST: usize = 300;

/// How a run is shown.
pub(crate) struct RunDisplay {
    /// Receives all events of the run.
    pub(crate) watch: Arc<dyn RunWatcher>,
    tree: Option<Arc<tree::StepTree>>,
    /// The console that the run is shown in, if there is one.
    pub(crate) console: Option<ConsoleLink>,
    /// Stops the run when it is cancelled.
    pub(crate) stop: CancellationToken,
    /// Whether to print one JSON event per line.
    pub(crate) json: bool,
    /// Whether to print no progress.
    pub(crate) quiet: bool,
    /// Whether a person can be asked.
    pub(crate) can_ask: bool,
    /// What the run needs from a person, as it arrives.
    pub(crate) questions: question_news::QuestionReceiver,
}

impl RunDisplay {
    /// Chooses the display for the flags and the terminal.
    pub(crate) fn of(output: &OutputFlags) -> Self {
        let OutputFlags { json, quiet, console } = output.clone();
        let is_redrawn = !json && !quiet && console.is_none() && out::can_redraw();
        let tree = is_redrawn.then(|| Arc::new(tree::StepTree::default()));
        let watch: Arc<dyn RunWatcher> = match (&console, &tree) {
            (Some(console), _) => console.watcher(),
            (None, Some(tree)) => Arc::clone(tree) as Arc<dyn RunWatcher>,
            (None, None) if json => Arc::new(json::JsonPrinter::default()),
            (None, None) if quiet => Arc::new(NoWatcher),
            (None, None) => Arc::new(log::ProgressPrinter::default()),
        };
        let (watch, questions) = question_news::overhear(watch);
        let (can_ask, stop) = (out::can_ask() && !json, CancellationToken::new());
        Self { watch, tree, console, stop, json, quiet, can_ask, questions }
    }

    /// Keeps the display updated. Never returns.
    pub(crate) async fn animate(&self) -> std::convert::Infallible {
        match &self.tree {
            Some(tree) => tree.animate().await,
            None => std::future::pending().await,
        }
    }

    /// Whether the terminal lets somebody be asked while the tree goes on, although there is no console.
    pub(crate) fn asks_in_place(&self) -> bool {
        self.console.is_none() && self.can_ask && out::can_redraw()
    }

    /// The tree, if it is drawn.
    pub(crate) fn tree(&self) -> Option<Arc<StepTree>> {
        self.tree.clone()
    }

    /// Leaves the display as it is, so that other text can follow.
    pub(crate) fn finish_drawing(&self) {
        if let Some(tree) = &self.tree {
            tree.finish_drawing();
        }
    }

    /// Removes the display, so that a question can take its place.
    pub(crate) fn make_way(&self) {
        if let Some(tree) = &self.tree {
            tree.make_way();
        }
    }

    /// Prints an empty line between the display and the answer.
    pub(crate) fn space(&self) {
        if self.tree.is_some() {
            out::note("");
        }
    }

    /// Whether people see it on a terminal that is drawn on.
    pub(crate) fn is_drawn(&self) -> bool {
        self.tree.is_some() || self.console.is_some()
    }

    /// Whether each event is told in a line when it happens, as in the console and in plain output.
    pub(crate) fn logs_events(&self) -> bool {
        self.console.is_some() || (self.tree.is_none() && !self.json)
    }

    /// Shows the result of the run, apart from what surrounds it.
    pub(crate) fn answer(&self, text: &str) {
        if let Some(console) = &self.console {
            return console.answer(text);
        }
        self.space();
        out::answer(text);
        self.space();
    }

    /// Prints a text for people, wrapped at words.
    pub(crate) fn say_dim(&self, text: &str) {
        let paint = out::Paint::for_stderr();
        let lines = if self.is_drawn() { fit::wrap(text, fit::size().1) } else { vec![text.to_owned()] };
        for line in &lines {
            self.say(&paint.dim(line));
        }
    }

    /// Prints a line for people, unless they want none.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.finish_drawing();
            out::note(&out::readable(text));
        }
    }

    /// Prints the notices of the workbench. The model is in the title of the tree already, so it is printed only with a
    /// reason.
    pub(crate) fn tell(&self) -> Tell {
        let (quiet, tree, is_drawn) = (self.quiet, self.tree.clone(), self.is_drawn());
        let console = self.console.clone();
        Arc::new(move |notice| {
            let text = out::harmless(&notice.to_string());
            let columns = if is_drawn { fit::size().1 } else { LONGEST };
            let text = match &notice {
                Notice::Model { why: None, .. } if is_drawn => return,
                // The console has said so at its beginning.
                Notice::Model { name, .. } if console.is_some() && name == "builtin" => return,
                Notice::Model { .. } => fit::cut(&text, columns),
                Notice::Waiting(_) => return out::note(&text),
                _ => text,
            };
            let is_news = console.as_ref().is_none_or(|console| console.is_news(&text));
            if !quiet && is_news {
                if let Some(tree) = &tree {
                    tree.finish_drawing();
                }
                out::note(&text);
            }
        })
    }
}
