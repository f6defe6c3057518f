//! `pause`, `cancel`, `tell`, `answer`, `approve`, `deny`: how people control a run from another process.
//!
//! If a process is driving the run, or if it is kept elsewhere, the input goes through the inbox. Otherwise pause and cancel are
//! carried out here; messages, answers and verdicts are stored, and `resume` uses them.

use std::time::Duration;

use updraft_engine::{PersonResponse, ResponseStatus, outlives_its_process, waiting_for};
use updraft_journal::{Journal, RunSummary};
use updraft_run::{ApprovalScope, Effect, EffectAddress, EffectKind, Input, Run, RunId, RunPhase, StepId, Verdict};
use updraft_workbench::{Flags, RunCallbacks, StoredRun, Workbench};

use super::runs;
use crate::args;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::{journal, log, out, runtime, settings, time_format};

/// How long to wait for the effect.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait for a process that rests on a question: it takes what is sent, although it holds no lease meanwhile.
const REST: Duration = Duration::from_millis(300);
/// The same for the worker of a run that is kept elsewhere, which leaves what is sent alone for a second.
const AT_HOME: Duration = Duration::from_secs(4);
/// How often to check while nothing is written.
const LOOK: Duration = Duration::from_millis(250);

pub(crate) fn pause(folders: &AppFolders, args: &args::RunName) -> CliResult {
    control(folders, &args.run, |_| Ok(Input::Pause))
}

pub(crate) fn cancel(folders: &AppFolders, args: &args::CancelArgs) -> CliResult {
    let step = args.step.as_deref().map(StepId::parse).transpose().map_err(|bad| CliError::usage(bad.to_string()))?;
    control(folders, &args.run.run, |run| {
        if let Some(step) = step.as_ref().filter(|step| run.step(step).is_none()) {
            let steps: Vec<&str> = run.steps().map(|step| step.spec.id.as_str()).collect();
            let close = updraft_run::close_to(step.as_str(), &steps);
            return Err(CliError::usage(format!("the run has no step `{step}`")).hint(format!("available: {close}")));
        }
        Ok(Input::Cancel { by: who(), step: step.clone() })
    })
}

pub(crate) fn tell(folders: &AppFolders, args: &args::TellArgs) -> CliResult {
    if args.text.trim().is_empty() {
        return Err(CliError::usage("the message is empty; write what the agents should know or do"));
    }
    control(folders, &args.run.run, |_| Ok(Input::Tell { message: args.text.clone() }))
}

pub(crate) fn answer(folders: &AppFolders, args: &args::AnswerArgs) -> CliResult {
    let id = args.id.as_deref().map(address).transpose()?;
    let declines = args.decline || args.dismiss;
    if args.text.trim().is_empty() && !declines {
        return Err(CliError::usage("the answer is empty"));
    }
    control(folders, &args.run.run, |run| {
        let open = asked(run, |effect| matches!(effect, Effect::Question { .. }), id.as_ref());
        match open.as_slice() {
            [one] if declines => Ok(Input::Decline { id: Some(one.clone()), by: who(), dismissed: args.dismiss }),
            [one] => {
                if let Some(Effect::Question { inquiry: Some(inquiry), .. }) = run.open().get(one).map(|o| &o.effect) {
                    inquiry.read(&args.text).map_err(|why| {
                        CliError::usage(format!("the answer does not fit: {why}")).hint(out::harmless(&inquiry.words()))
                    })?;
                }
                Ok(Input::Answer { id: Some(one.clone()), text: args.text.clone() })
            }
            [] => Err(not_waiting(run, "a question", id.as_ref())),
            several => Err(CliError::usage("several questions are open; choose one with --id").hint(listed(several))),
        }
    })
}

pub(crate) fn approve(folders: &AppFolders, args: &args::ApproveArgs) -> CliResult {
    let always = args.always.map(ApprovalScope::from);
    let verdict_of = Verdict { allow: true, by: who(), always, ..Verdict::default() };
    verdict(folders, &args.run.run, args.id.as_deref(), &verdict_of)
}

pub(crate) fn deny(folders: &AppFolders, args: args::DenyArgs) -> CliResult {
    let verdict_of = Verdict { allow: false, by: who(), because: args.because, ..Verdict::default() };
    verdict(folders, &args.run.run, args.id.as_deref(), &verdict_of)
}

fn verdict(folders: &AppFolders, name: &str, id: Option<&str>, verdict: &Verdict) -> CliResult {
    let id = id.map(address).transpose()?.map(|id| id.sibling(EffectKind::Approve, id.n));
    control(folders, name, |run| {
        let open = asked(run, |effect| matches!(effect, Effect::Approval { .. }), id.as_ref());
        if open.is_empty() {
            return Err(not_waiting(run, "an approval", id.as_ref()));
        }
        // The verdict is for the call that the person has seen, not for one that asks by the time it arrives.
        let [seen] = open.as_slice() else {
            return Err(CliError::usage("several calls wait for approval; name one of them")
                .hint(format!("they are: {}", listed(&open))));
        };
        if verdict.always.is_some() && remembered(run, seen, verdict.always).is_empty() {
            let fault = CliError::usage("this call needs approval each time; no rule can be remembered for it");
            let in_run = !remembered(run, seen, Some(ApprovalScope::Run)).is_empty();
            let way =
                if in_run { "`--always run` allows such calls in this run" } else { "omit --always to allow it once" };
            return Err(fault.hint(way));
        }
        Ok(Input::Verdict { id: Some(seen.clone()), verdict: verdict.clone() })
    })
}

/// The rules that "always" would store for a call. If the run has read text from outside, they apply to this run only.
fn remembered(run: &Run, id: &EffectAddress, scope: Option<ApprovalScope>) -> Vec<String> {
    match run.open().get(id).map(|open| &open.effect) {
        Some(Effect::Approval { like: Some(like), .. }) if scope == Some(ApprovalScope::Run) => vec![like.to_string()],
        Some(Effect::Approval { always, .. }) => always.clone(),
        _ => Vec::new(),
    }
}

fn asked(run: &Run, wanted: impl Fn(&Effect) -> bool, id: Option<&EffectAddress>) -> Vec<EffectAddress> {
    let open = run.open().iter().filter(|(at, open)| wanted(&open.effect) && id.is_none_or(|id| id == *at));
    open.map(|(at, _)| at.clone()).collect()
}

fn not_waiting(run: &Run, what: &str, id: Option<&EffectAddress>) -> CliError {
    let which = id.map(|id| format!(" `{id}`")).unwrap_or_default();
    let fault = CliError::failed(format!("the run is not waiting for {what}{which}; it is {}", run.status()));
    let waits: Vec<String> = waiting_for(run)
        .iter()
        .filter_map(|wait| Some(format!("{} {}", wait["kind"].as_str()?, wait["id"].as_str()?)))
        .collect();
    if waits.is_empty() { fault } else { fault.hint(format!("it is waiting for: {}", waits.join(", "))) }
}

fn listed(several: &[EffectAddress]) -> String {
    several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn address(text: &str) -> Result<EffectAddress, CliError> {
    text.parse()
        .map_err(|bad: updraft_run::BadId| CliError::usage(bad.to_string()).hint("`updraft show RUN` shows the ids"))
}

pub(super) fn who() -> String {
    folders::set("USER").unwrap_or_else(|| "the command line".into())
}

/// Finds the run, makes the input from it, and delivers it.
fn control(folders: &AppFolders, name: &str, input: impl Fn(&Run) -> Result<Input, CliError>) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let id = journal::find_run(&journal, name)?;
    let run = fold(&journal, &id)?;
    if run.is_over() {
        return Err(CliError::failed(format!("run {id} has already ended ({})", run.status()))
            .hint(format!("`updraft show {id}` shows its result")));
    }
    let input = input(&run)?;
    runtime::block_on(async {
        let ended = match input.question().cloned() {
            Some(at) => {
                let response = PersonResponse { journal: &journal, id: &id, seen: &run, at: &at, input: &input };
                let ended = respond(&response).await;
                ended.and_then(|code| remember(folders, &run, &input).map(|()| code))
            }
            None => deliver(folders, &journal, &id, input).await,
        };
        journal.close().await;
        ended
    })
}

/// Gives the response to a question to the run. If several people respond at once, only one is told that theirs counts.
async fn respond(response: &PersonResponse<'_>) -> CliResult {
    let PersonResponse { journal, id, input, .. } = *response;
    let overtaken = |stands: &str| {
        let what = format!("run {id} already has a response: {} was {}", response.at, out::harmless(stands));
        CliError::failed(format!("{what}; your response is ignored"))
    };
    if !journal.head(id)?.is_owned() && !outlives_its_process(response.seen, response.at) {
        let why =
            "the call that asked this was interrupted with its process, and is not made again; no answer is needed";
        let hint = format!(
            "`updraft resume {id}` continues it, and the agent is told that the outcome of its call is unknown"
        );
        return Err(CliError::failed(why).hint(hint));
    }
    if let Some((stands, is_same)) = response.send(time_format::now()).await? {
        if !is_same {
            return Err(overtaken(&stands).hint(format!("`updraft resume {id}` continues with the first response")));
        }
        out::note(&format!("already {}\n  hint: `updraft resume {id}` continues it", out::harmless(&stands)));
        return Ok(CliExitCode::Done);
    }
    let home = updraft_engine::home_of(journal, id)?;
    let head = taken_within(journal, id, input, rest(home.as_deref())).await?;
    match response.status()? {
        ResponseStatus::Counts => Ok(say(&fold(journal, id)?, &head, input)),
        ResponseStatus::Overtaken(stands) => Err(overtaken(&stands)),
        ResponseStatus::Unwanted => {
            Err(CliError::failed(format!("run {id} is no longer waiting for this; it is {}", runs::word(&head))))
        }
        ResponseStatus::Waits => {
            let what =
                if matches!(input, Input::Verdict { .. }) { "the decision is saved" } else { "the answer is saved" };
            match head.owner.filter(|owner| owner.alive) {
                Some(owner) => out::note(&format!("sent to process {}; it has not read it yet", owner.pid)),
                None => keep_note(what, id, home.as_deref()),
            }
            Ok(CliExitCode::Done)
        }
    }
}

fn keep_note(what: &str, id: &RunId, home: Option<&str>) {
    out::note(&match home {
        None => format!("{what}; no process is working on run {id}\n  hint: `updraft resume {id}` continues it"),
        Some(place) => format!(
            "{what}; run {id} is kept by {place}, and its worker has not read it yet\n  hint: it does so as soon as it runs: \
             `updraft worker`, or `updraft serve --engine restate`, in the same folder"
        ),
    });
}

/// How long to wait for whoever rests on a question.
fn rest(home: Option<&str>) -> Duration {
    if home.is_some() { AT_HOME } else { REST }
}

/// Stores the rules that a verdict with "always" asks for: only now, when it is known to count.
fn remember(folders: &AppFolders, run: &Run, input: &Input) -> Result<(), CliError> {
    let Input::Verdict { id: Some(at), verdict: Verdict { always: always @ Some(_), .. } } = input else {
        return Ok(());
    };
    settings::keep_always(folders, run, input)?;
    out::note(&format!("always allowed from now on: {}", remembered(run, at, *always).join(", ")));
    Ok(())
}

fn fold(journal: &Journal, id: &RunId) -> Result<Run, CliError> {
    Ok(Run::fold(journal.load(id)?))
}

async fn deliver(folders: &AppFolders, journal: &Journal, id: &RunId, input: Input) -> CliResult {
    let mut head = journal.head(id)?;
    let was_owned = head.is_owned();
    if was_owned {
        send(journal, id, &input).await?;
        head = taken(journal, id, &input).await?;
        if journal.inbox(id)?.iter().all(|waiting| waiting.input != input) {
            return Ok(say(&fold(journal, id)?, &head, &input));
        }
        if head.is_owned() {
            out::note(&format!("sent to process {}; it has not read it yet", head.owner.map_or(0, |owner| owner.pid)));
            return Ok(CliExitCode::Done);
        }
        // Its process has ended meanwhile, so this process takes over and reads the inbox.
    }
    // A run that is kept elsewhere is not opened here: its worker reads the inbox.
    let home = updraft_engine::home_of(journal, id)?;
    if home.is_some() || matches!(input, Input::Tell { .. }) {
        if !was_owned {
            send(journal, id, &input).await?;
            head = taken_within(journal, id, &input, rest(home.as_deref())).await?;
        }
        if journal.inbox(id)?.iter().all(|waiting| waiting.input != input) {
            return Ok(say(&fold(journal, id)?, &head, &input));
        }
        let what = if matches!(input, Input::Tell { .. }) { "the message is saved" } else { "it is saved" };
        keep_note(what, id, home.as_deref());
        return Ok(CliExitCode::Done);
    }
    let run = journal::load(journal, id)?;
    let stored = StoredRun::new(&run, journal)?;
    let bench = Workbench::open_for(&stored, folders, Flags::default(), RunCallbacks::default())?;
    log::begin(folders, &bench.settings.effective.log.value);
    // If only a step is cancelled, the others continue, under the rights that the run began with. A whole run can
    // always be stopped.
    let goes_on = matches!(input, Input::Cancel { step: Some(_), .. });
    let terms = if goes_on { bench.resume_terms_input(&run).await? } else { None };
    let mut handle = match bench.engine_without_servers().await?.open(id).await {
        Ok(handle) => handle,
        Err(updraft_engine::Error::Journal(updraft_journal::Error::Owned { .. })) => {
            send(journal, id, &input).await?;
            let head = taken(journal, id, &input).await?;
            return Ok(say(&fold(journal, id)?, &head, &input));
        }
        Err(other) => return Err(other.into()),
    };
    if let Some(terms) = terms {
        handle.send(terms);
    }
    handle.send(input.clone());
    let rested = Box::pin(handle.drive()).await?;
    Ok(say(&rested.run, &journal.head(id)?, &input))
}

pub(super) async fn send(journal: &Journal, id: &RunId, input: &Input) -> Result<(), CliError> {
    let key = journal::new_id()?;
    journal.send(id, key.as_str(), input, time_format::now()).await?;
    Ok(())
}

/// Waits until the input was read and shows its effect, the process ended, or the time is up.
async fn taken(journal: &Journal, id: &RunId, input: &Input) -> Result<RunSummary, CliError> {
    taken_within(journal, id, input, REST).await
}

/// The same, and waits this long while no process drives the run.
async fn taken_within(journal: &Journal, id: &RunId, input: &Input, rest: Duration) -> Result<RunSummary, CliError> {
    let begun = tokio::time::Instant::now();
    let mut changes = journal.changes();
    loop {
        let waits = journal.inbox(id)?.iter().any(|waiting| waiting.input == *input);
        let head = journal.head(id)?;
        let shows = !waits && has_effect(&fold(journal, id)?, input);
        let patience = if head.is_owned() { PATIENCE.max(rest) } else { rest };
        if shows || begun.elapsed() >= patience {
            return Ok(head);
        }
        let _ = tokio::time::timeout(LOOK.min(patience), changes.next()).await;
    }
}

fn has_effect(run: &Run, input: &Input) -> bool {
    match input {
        Input::Pause => !matches!(run.phase(), RunPhase::Running),
        Input::Cancel { step: None, .. } => run.is_over(),
        Input::Cancel { step: Some(step), .. } => run.step(step).is_none_or(updraft_run::Step::has_ended),
        _ => true,
    }
}

/// Reports the result of the input.
fn say(run: &Run, head: &RunSummary, input: &Input) -> CliExitCode {
    let id = &head.id;
    let status = run.status_word();
    let text = match input {
        Input::Pause if status == "paused" => format!("run {id} is paused\n  hint: `updraft resume {id}` continues it"),
        Input::Pause => format!("run {id} is {status}"),
        Input::Cancel { step: Some(step), .. } => format!("step `{step}` of run {id} is cancelled"),
        Input::Cancel { .. } if run.is_over() => format!("run {id} is {status}"),
        Input::Cancel { .. } => format!("run {id} is {status}; calls in progress are being stopped"),
        Input::Answer { .. } | Input::Decline { .. } => format!("answer recorded; run {id} is {}", runs::word(head)),
        Input::Tell { .. } => format!("message sent; run {id} is {}", runs::word(head)),
        _ => format!("decision recorded; run {id} is {}", runs::word(head)),
    };
    out::note(&text);
    CliExitCode::Done
}
