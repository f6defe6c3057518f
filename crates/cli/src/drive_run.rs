//! Drives a run until it rests, asks the user what it needs, and reports how it ended.

mod asking;
mod elsewhere;

use std::convert::Infallible;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use updraft_engine::{DriveResult, Engine, RunHandle, command_to_go_on, waiting_for, why_stopped};
use updraft_journal::Journal;
use updraft_run::{BudgetLimit, FailureKind, Input, Run, RunId, RunPhase, Status};

use crate::args::{PermissionFlags, SpendingFlags};
use crate::console;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::out::{self, Paint};
use crate::signals::Signals;
use crate::view::{self, RunDisplay, RunEnding};
use asking::{RestOutcome, RunQuestions};
use elsewhere::NextDriver;

/// A stop that takes longer than this is announced.
const STOP_NOTICE_DELAY: Duration = Duration::from_millis(300);

/// How driving a run ended.
pub(crate) enum DriveOutcome {
    /// Nothing more can be done for it here; this has been reported.
    Ended(CliExitCode),
    /// Its plan waits for approval.
    PlanWaits(Box<DriveResult>),
}

/// Drives a run until it is over, or until nothing can be done for it here.
pub(crate) async fn drive_and_ask(
    engine: &Engine,
    handle: RunHandle,
    face: &RunDisplay,
    signals: &mut Signals,
) -> CliResult {
    match drive_until_plan(engine, handle, face, signals).await? {
        DriveOutcome::Ended(code) => Ok(code),
        DriveOutcome::PlanWaits(rested) => Ok(conclude(&rested, engine.journal(), face, signals)),
    }
}

/// The same, but a plan that waits for approval is left to the caller.
pub(crate) async fn drive_until_plan(
    engine: &Engine,
    mut handle: RunHandle,
    face: &RunDisplay,
    signals: &mut Signals,
) -> Result<DriveOutcome, CliError> {
    let mut questions = RunQuestions::new(face);
    loop {
        let (id, sender, noticed) = (handle.id().clone(), handle.sender(), signals.noticed());
        let driven = tokio::select! {
            rested = handle.drive() => rested,
            code = signals.second() => {
                console::abandon();
                std::process::exit(code as i32)
            }
            never = Box::pin(questions.attend(&id, &sender)) => match never {},
            never = announce_stop(noticed, face) => match never {},
        };
        let rested = match driven {
            Ok(rested) => rested,
            Err(error) => {
                questions.close();
                face.finish_drawing();
                return Err(in_words(error, &id));
            }
        };
        if !rested.was_stopped && rested.run.plan_approval().is_some() {
            questions.close();
            face.finish_drawing();
            return Ok(DriveOutcome::PlanWaits(Box::new(rested)));
        }
        let asks = !rested.was_stopped && face.can_ask && is_waiting(&rested.run);
        if !asks {
            questions.close();
            face.finish_drawing();
            return Ok(DriveOutcome::Ended(conclude(&rested, engine.journal(), face, signals)));
        }
        let said = Box::pin(questions.ask_at_rest(&rested, engine.journal(), signals)).await;
        match said {
            RestOutcome::GoesOn(inputs) => {
                let rested = (&id, rested.run);
                let reopened = elsewhere::reopen(engine, rested, inputs, &mut questions, face, signals);
                let reopened = Box::pin(reopened).await;
                match reopened.inspect_err(|_| questions.close())? {
                    NextDriver::Here(opened) => handle = *opened,
                    NextDriver::Other(code) => {
                        questions.close();
                        face.finish_drawing();
                        return Ok(DriveOutcome::Ended(code));
                    }
                }
            }
            RestOutcome::LeftOpen => {
                questions.close();
                face.finish_drawing();
                return Ok(DriveOutcome::Ended(conclude(&rested, engine.journal(), face, signals)));
            }
            RestOutcome::Stopped => {
                questions.close();
                face.finish_drawing();
                let stopped = DriveResult { was_stopped: true, ..rested };
                return Ok(DriveOutcome::Ended(conclude(&stopped, engine.journal(), face, signals)));
            }
        }
    }
}

/// Says that Ctrl-C was noticed, if what is under way takes a moment to end. The console has a sign of its own. Never returns.
async fn announce_stop(noticed: CancellationToken, face: &RunDisplay) -> Infallible {
    noticed.cancelled().await;
    tokio::time::sleep(STOP_NOTICE_DELAY).await;
    if face.console.is_none() && !face.quiet {
        face.make_way();
        out::note(&Paint::for_stderr().dim("stopping; Ctrl-C again stops at once"));
    }
    std::future::pending().await
}

/// Whether the run needs a person.
pub(crate) fn is_waiting(run: &Run) -> bool {
    *run.phase() == RunPhase::Running && run.is_at_rest()
}

fn in_words(error: updraft_engine::Error, id: &RunId) -> CliError {
    match error {
        updraft_engine::Error::Journal(updraft_journal::Error::Deleted(_)) => {
            CliError::failed(format!("run {id} was deleted while it ran; it has stopped"))
        }
        updraft_engine::Error::Journal(updraft_journal::Error::Fenced(_)) => {
            CliError::failed(format!("another process has taken over run {id}; this one has stopped"))
                .hint(format!("`updraft events {id} --follow` follows it"))
        }
        other => CliError::from(other)
            .hint(format!("everything recorded so far is safe; `updraft resume {id}` continues it")),
    }
}

/// Reports how a run rests, prints its answer, and returns the exit code.
pub(crate) fn conclude(rested: &DriveResult, journal: &Journal, face: &RunDisplay, signals: &Signals) -> CliExitCode {
    let DriveResult { id, run, was_stopped } = rested;
    if let Some(console) = &face.console {
        // What was being said comes before what is reported about it.
        console.answer("");
    }
    if face.json {
        view::json_at_rest(id, run, *was_stopped);
    }
    if let Some(why) = run.planned_instead().filter(|_| !face.logs_events()) {
        face.say(&format!("planned one step instead of a plan: {}", out::harmless(why)));
    }
    for omitted in run.omitted() {
        face.say(&format!("left out: {}", out::harmless(omitted)));
    }
    let code = match run.phase() {
        RunPhase::Over { answer, failed } => over((id, run, journal), answer, failed.as_ref(), face),
        _ if *was_stopped => {
            out::note(&format!("stopped; nothing is lost\n  hint: `updraft resume {id}` continues it"));
            signals.code()
        }
        RunPhase::Exhausted(_) => exhausted(id, run, journal, face),
        RunPhase::Paused => {
            out::note(&format!("paused\n  hint: `updraft resume {id}` continues it"));
            CliExitCode::Interrupted
        }
        RunPhase::New | RunPhase::Running | RunPhase::Cancelling { .. } => needs_person(id, run),
    };
    face.finish_drawing();
    code
}

/// What to print besides the answer; empty if nobody reads it.
fn ending(id: &RunId, run: &Run, journal: &Journal, face: &RunDisplay) -> RunEnding {
    if face.quiet || face.json { RunEnding::default() } else { RunEnding::of(journal, id, run) }
}

/// Prints what was changed, refused and spent, and how to undo the changes.
fn say_ending(id: &RunId, run: &Run, ending: &RunEnding, face: &RunDisplay) {
    ending.lines(run, view::size().1, Paint::for_stderr()).iter().for_each(|line| face.say(line));
    if ending.has_changes() {
        let command = if face.console.is_some() { "/undo".to_owned() } else { format!("updraft undo {id}") };
        face.say_dim(&format!("undo with `{command}`"));
    }
}

/// Prints what was assumed, what was required, and what was found about it.
fn say_proof(run: &Run, face: &RunDisplay) {
    for line in view::assumption_lines(run, view::size().1, Paint::for_stderr()) {
        face.say(&line);
    }
    for line in view::proof_lines(run, view::size().1, Paint::for_stderr()) {
        face.say(&line);
    }
}

fn over(
    (id, run, journal): (&RunId, &Run, &Journal),
    answer: &str,
    failed: Option<&updraft_run::Failure>,
    face: &RunDisplay,
) -> CliExitCode {
    let paint = Paint::for_stderr();
    let ending = ending(id, run, journal, face);
    if !face.json && !answer.trim().is_empty() {
        face.answer(answer);
    }
    if failed.is_none() && !run.unapproved().is_empty() {
        say_ending(id, run, &ending.without_refusals(), face);
        return unapproved(id, run);
    }
    let Some(why) = failed else {
        say_ending(id, run, &ending, face);
        say_proof(run, face);
        if run.status() == Status::Unproved {
            out::note(&format!("{} in {}", Paint::for_stderr().yellow("done, unproved,"), view::figures(run)));
            out::note(&format!("  hint: `updraft show {id} --proof` shows what is missing"));
            return CliExitCode::Done;
        }
        if face.console.is_some() {
            face.say_dim(&view::figures(run));
            return CliExitCode::Done;
        }
        face.say_dim(&format!("done in {}", view::figures(run)));
        face.say_dim(&format!("see more with `updraft show {id}`"));
        return CliExitCode::Done;
    };
    let word = match why.kind {
        FailureKind::Cancelled => "was cancelled",
        FailureKind::NotDone => "is not done",
        _ => "failed",
    };
    out::note(&format!("{}: run {id} {word}: {}", paint.red("error"), out::harmless(&why.message)));
    say_ending(id, run, &ending, face);
    say_proof(run, face);
    face.say_dim(&format!("after {}", view::figures(run)));
    if why.kind == FailureKind::NotDone {
        out::note(&format!("  hint: `updraft show {id} --proof` shows the evidence"));
        return CliExitCode::Failed;
    }
    out::note(&format!("  hint: `updraft show {id}` shows which step failed, `updraft events {id}` what happened"));
    // A run that could not even start has a configuration problem, not a failure of the model.
    if why.kind == FailureKind::Config { CliExitCode::Config } else { CliExitCode::Failed }
}

/// Reports a run that ended without calls that nobody could approve.
fn unapproved(id: &RunId, run: &Run) -> CliExitCode {
    let refused = run.unapproved();
    let calls = view::count(refused.len() as u64, "call");
    let were = if refused.len() == 1 { "was" } else { "were" };
    out::note(&format!("ended, but {calls} {were} refused because nobody could be asked ({}):", view::figures(run)));
    for (step, what) in refused.iter().take(10) {
        out::note(&format!("  {step}: {}", out::short(what, 200)));
    }
    if refused.len() > 10 {
        out::note(&format!("  … and {} more: `updraft events {id}`", refused.len() - 10));
    }
    out::note("  hint: run it at a terminal, with `--yes`, or with rules that allow it (docs/permissions.md)");
    CliExitCode::NeedsPerson
}

fn exhausted(id: &RunId, run: &Run, journal: &Journal, face: &RunDisplay) -> CliExitCode {
    let so_far = run.answer();
    let has_words = !so_far.trim().is_empty();
    if !face.json && has_words {
        face.answer(&so_far);
    }
    say_ending(id, run, &ending(id, run, journal, face), face);
    let result = if has_words { "this is the unfinished result so far" } else { "there is no result yet" };
    out::note(&format!(
        "{}: {}",
        Paint::for_stderr().yellow("stopped"),
        out::harmless(&why_stopped(run).unwrap_or_default())
    ));
    out::note(&format!("not done; {result} ({})", view::figures(run)));
    let command = command_to_go_on(id, run);
    if *run.phase() == RunPhase::Exhausted(BudgetLimit::Model) {
        out::note(&format!(
            "  hint: `{command} --model PROVIDER/NAME` continues with another; `updraft models` lists them"
        ));
    }
    out::note(&format!("  hint: `{command}` continues where it stopped"));
    CliExitCode::Exhausted
}

fn needs_person(id: &RunId, run: &Run) -> CliExitCode {
    let waits = waiting_for(run);
    let text = |value: &serde_json::Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let several = waits.len() > 1;
    for wait in &waits {
        let (kind, at) = (text(wait, "kind"), text(wait, "id"));
        out::note(&format!("{kind}: {}", out::harmless(&text(wait, "text"))));
        for option in wait["options"].as_array().into_iter().flatten().filter_map(|option| option.as_str()) {
            out::note(&format!("  - {}", out::harmless(option)));
        }
        for argument in wait["arguments"].as_array().into_iter().flatten().filter_map(|line| line.as_str()) {
            out::note(&format!("  {}", out::harmless(argument)));
        }
        if run.plan_approval().is_some_and(|id| at == id.to_string()) {
            out::note(&format!(
                "  hint: `updraft resume {id}` carries it out, `updraft resume {id} --plan FILE` another one; \
                 `updraft deny {id} --because WHY` asks for a better one, `updraft cancel {id}` ends the run"
            ));
        } else if kind == "question" {
            let which = if several { format!(" --id {at}") } else { String::new() };
            out::note(&format!("  hint: `updraft answer {id} \"…\"{which}`, then `updraft resume {id}`"));
        } else {
            let rules = wait["always"].as_array().into_iter().flatten().filter_map(|rule| rule.as_str());
            let rules = rules.collect::<Vec<_>>().join(", ");
            let always = if rules.is_empty() { rules } else { format!(" (`--always run` remembers {rules})") };
            out::note(&format!(
                "  hint: `updraft approve {id} {at}`{} or `updraft deny {id} {at}`, then `updraft resume {id}`",
                out::harmless(&always)
            ));
        }
    }
    out::note(&format!("run {id} is waiting for an answer or an approval"));
    CliExitCode::NeedsPerson
}

/// The input of `resume` with the limits and approvals of its flags; `Workbench::resume` sends the other terms.
pub(crate) fn resume_input(permission: &PermissionFlags, spending: &SpendingFlags) -> Input {
    let budget = Some(spending.budget()).filter(|budget| !budget.is_unlimited());
    Input::Resume { budget, approvals: permission.approvals() }
}
