//! Follows a run that another process has gone on with, for instance the server where its question was answered, until it can be opened here.

use std::time::Duration;

use updraft_engine::{Engine, RunHandle};
use updraft_journal::Journal;
use updraft_run::{Input, Run, RunId};

use super::asking::RunQuestions;
use crate::fault::{CliError, CliExitCode};
use crate::journal;
use crate::signals::Signals;
use crate::time_format;
use crate::view::RunDisplay;

/// How often to check whether the process that drives the run still exists: it may end without writing anything.
const LOOK: Duration = Duration::from_millis(500);

/// Who goes on with a run.
pub(super) enum NextDriver {
    /// This process.
    Here(Box<RunHandle>),
    /// Another one; the user does not want to follow it any longer.
    Other(CliExitCode),
}

/// Opens a run that rested, with what was said meanwhile. While another process drives it, nothing is asked any more, and what happens is
/// shown.
pub(super) async fn reopen(
    engine: &Engine,
    (id, mut run): (&RunId, Run),
    mut inputs: Vec<Input>,
    questions: &mut RunQuestions<'_>,
    face: &RunDisplay,
    signals: &mut Signals,
) -> Result<NextDriver, CliError> {
    loop {
        match engine.open(id).await {
            Ok(mut handle) => {
                for input in inputs {
                    handle.send(input);
                }
                return Ok(NextDriver::Here(Box::new(handle)));
            }
            Err(updraft_engine::Error::Journal(updraft_journal::Error::Owned { .. })) => {
                for input in inputs.drain(..) {
                    let key = journal::new_id()?;
                    engine.journal().send(id, key.as_str(), &input, time_format::now()).await?;
                }
                questions.withdraw();
                if let Some(code) = follow(engine.journal(), id, &mut run, face, signals).await? {
                    return Ok(NextDriver::Other(code));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Shows what another process does with the run until it lets go of it; a code if the user leaves.
async fn follow(
    journal: &Journal,
    id: &RunId,
    run: &mut Run,
    face: &RunDisplay,
    signals: &mut Signals,
) -> Result<Option<CliExitCode>, CliError> {
    let mut tail = journal.tail(id, run.events() + 1);
    loop {
        let head = journal.head(id)?;
        if !head.is_owned() && run.events() >= head.events {
            return Ok(None);
        }
        tokio::select! {
            next = tokio::time::timeout(LOOK, tail.next()) => {
                let Ok(next) = next else { continue };
                let gone = || CliError::failed(format!("run {id} was deleted while it was followed"));
                let (first, record) = next?.ok_or_else(gone)?;
                if first > run.events() {
                    run.record(&record);
                    face.watch.record(id, first, &record, run);
                }
            }
            code = signals.first() => {
                face.say(&format!("no longer following; run {id} continues elsewhere"));
                return Ok(Some(code));
            }
            never = face.animate() => match never {},
        }
    }
}
