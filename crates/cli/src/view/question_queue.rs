//! Asks the user what a run waits for, one question after another, while the rest of the run goes on.

use std::collections::{BTreeSet, VecDeque};

use tokio::task::JoinHandle;
use updraft_run::{EffectAddress, Input};

use super::ask::PersonQuestion;
use crate::console::ConsoleLink;
use crate::folders::AppFolders;
use crate::out;

/// Questions that wait to be asked, and the one that is being asked.
#[derive(Default)]
pub(crate) struct QuestionQueue {
    waiting: VecDeque<PersonQuestion>,
    /// Everything that was ever asked: what the user leaves open is not asked again.
    known: BTreeSet<EffectAddress>,
    has_asked: bool,
    asking: Option<OpenQuestion>,
}

/// The question that is on the screen.
struct OpenQuestion {
    at: EffectAddress,
    /// Somebody else has answered it.
    is_withdrawn: bool,
    answer: JoinHandle<Option<(Input, PersonQuestion)>>,
}

/// What became of a question.
pub(crate) enum QuestionOutcome {
    /// The user has answered.
    Said(Input),
    /// The user leaves it open.
    LeftOpen,
    /// It was answered elsewhere, as was said already.
    Withdrawn,
}

impl QuestionQueue {
    /// Adds a question, unless it is known.
    pub(crate) fn add(&mut self, question: PersonQuestion) {
        if self.known.insert(question.at.clone()) {
            self.has_asked = true;
            self.waiting.push_back(question);
        }
    }

    /// A question is asked in another way.
    pub(crate) fn leave_out(&mut self, at: EffectAddress) {
        self.known.insert(at);
    }

    /// Whether anything was asked here so far.
    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// Whether nothing is being asked, nor waits to be.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.asking.is_none()
    }

    /// Removes every question that is no longer open, takes it from the screen, and says so.
    pub(crate) fn keep_open(&mut self, is_open: impl Fn(&EffectAddress) -> bool, console: Option<&ConsoleLink>) {
        self.waiting.retain(|question| is_open(&question.at));
        if let (Some(asking), Some(console)) = (&mut self.asking, console)
            && !asking.is_withdrawn
            && !asking.answer.is_finished()
            && !is_open(&asking.at)
        {
            asking.is_withdrawn = true;
            console.withdraw();
            out::note("answered elsewhere");
        }
    }

    /// Asks the next question, and waits for what becomes of it; for ever if there is none. The future may be dropped and
    /// called again.
    pub(crate) async fn next(&mut self) -> QuestionOutcome {
        if self.asking.is_none()
            && let Some(question) = self.waiting.pop_front()
        {
            let at = question.at.clone();
            let answer = tokio::task::spawn_blocking(move || question.ask().map(|input| (input, question)));
            self.asking = Some(OpenQuestion { at, is_withdrawn: false, answer });
        }
        let Some(asking) = &mut self.asking else { std::future::pending().await };
        let said = (&mut asking.answer).await.unwrap_or_default();
        let is_withdrawn = asking.is_withdrawn;
        self.asking = None;
        match said {
            // Somebody else was faster.
            Some(_) if is_withdrawn => QuestionOutcome::Withdrawn,
            Some((input, question)) => {
                remember(&question, &input);
                QuestionOutcome::Said(input)
            }
            None if is_withdrawn => QuestionOutcome::Withdrawn,
            None => QuestionOutcome::LeftOpen,
        }
    }
}

/// Keeps what is to be allowed always in this workspace. The approval applies to this run in any case.
fn remember(question: &PersonQuestion, input: &Input) {
    let kept = AppFolders::find().and_then(|folders| question.keep_always(&folders, input));
    if let Err(fault) = kept {
        out::note(&format!("not remembered for the workspace: {}", out::harmless(&fault.message)));
    }
}
