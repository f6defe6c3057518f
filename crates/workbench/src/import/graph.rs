//! Turns node-link data into a run that can be listed, shown, exported and resumed.
//!
//! Its records are made by the same rules as for every run: a start with the file's goal and graph, then the result of
//! each step as its model's answer. Unfinished steps stay open, and the run is paused.

use std::collections::BTreeSet;
use std::sync::Arc;

use updraft_engine::RosterTexts;
use updraft_journal::{Blob, Export, Journal, RunHeader, Status};
use updraft_models::choose;
use updraft_run::{AgentCard, Budget, Input, Record, ReflectionMode, Reply, Roster, Run, RunId, RunStart, Timestamp};

use super::session::{ImportedRun, ImportedStatus};
use super::{ImportNext, ImportOrder, ImportReport, keep};
use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::fork::UNKNOWN_MODEL;
use crate::settings::WorkspaceSettings;
use crate::{agents, journal, model_access, time_format, tools};

pub(super) async fn import(
    folders: &AppFolders,
    journal: &Journal,
    order: &ImportOrder,
    text: &str,
) -> Result<ImportReport, Fault> {
    let workspace = &order.folder;
    let settings = WorkspaceSettings::load(folders, workspace, &order.flags)?;
    let (agents, prompts) = agents::load(folders, workspace, &settings)?;
    let session = ImportedRun::read(text, &order.shown, &agents)?;
    let mut rules = settings.effective.run_settings();
    session.check(&agents, rules.max_steps)?;
    let spec = model_access::model_spec(&settings.effective.model.value);
    let access = model_access::access(folders, &settings, workspace);
    rules.model = match spec.as_str() {
        _ if !session.is_open() => UNKNOWN_MODEL.to_owned(),
        named => choose(named, &access).await?.spec,
    };
    rules.workspace = workspace.display().to_string();
    // The file's results are accepted as they are: no new plan, no second visit, no waiting for a free slot.
    (rules.replans, rules.revisits) = (session.replans(), 0);
    rules.parallel += session.open_steps() as u32;

    let dispatcher = tools::dispatcher(folders, workspace, &settings).await?;
    let (mut roster, words) = RosterTexts::gather(
        agents.iter(),
        &prompts,
        &|wanted: &[String]| dispatcher.registry().specs_for(wanted),
        &|name: &str| tools::only_reads(&dispatcher, name),
    );
    for card in &mut roster.agents {
        card.model = card.model.take().and_then(|own| model_access::agents_model(&own, &spec, &rules.model, &access));
    }
    let words = Blob::new(serde_json::to_vec(&words).unwrap_or_default());
    let roster = Roster { words: Some(words.hash()), ..roster };
    let (goal, plan) = session.start();
    let created = session.created().unwrap_or_else(time_format::now);
    let start = RunStart {
        earlier: updraft_run::EarlierRuns::default(),
        goal,
        roster: Arc::new(taking_all(&roster, &session)),
        settings: Arc::new(rules),
        budget: Budget::default(),
        plan: plan.map(Arc::new),
    };
    let mut notes = Vec::new();
    let head = RunHeader {
        workspace: start.settings.workspace.clone(),
        model: start.settings.model.clone(),
        ..RunHeader::new(id_for(journal, order, &session, &mut notes)?, start.goal.text.clone(), created)
    };
    let (run, records) = replay_results(&session, start, roster, created);
    if let [first, rest @ ..] = session.missing_in(&run).as_slice() {
        let and = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        return Err(Fault::usage(format!("the step `{first}`{and} cannot be placed where the file has it"))
            .hint(format!("`updraft run --plan {} \"GOAL\"` runs the graph from the start", order.shown)));
    }
    let head = RunHeader { status: Status::from_word(run.status_word()), ..head };
    notes.extend(differences(&session, &run));
    let next = if run.is_over() { ImportNext::Nothing } else { ImportNext::Resume { model: head.model.clone() } };
    let id = keep(journal, Export { head, records, blobs: vec![words] }).await?;
    Ok(ImportReport { id, next, notes })
}

/// The roster without reviews and output schemas, and with every agent that the file names.
fn taking_all(roster: &Roster, session: &ImportedRun) -> Roster {
    let mut all = roster.clone();
    for card in &mut all.agents {
        (card.reflect, card.schema) = (ReflectionMode::Rule, None);
    }
    let strangers: BTreeSet<&str> = session.agents().filter(|name| roster.agent(name).is_none()).collect();
    all.agents.extend(strangers.into_iter().map(|name| AgentCard { name: name.to_owned(), ..AgentCard::default() }));
    all.agents.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The id that was chosen, the file's own id if it is free, or a new one.
fn id_for(
    journal: &Journal,
    order: &ImportOrder,
    session: &ImportedRun,
    notes: &mut Vec<String>,
) -> Result<RunId, Fault> {
    if let Some(id) = &order.id {
        return Ok(id.clone());
    }
    match session.name().and_then(|name| RunId::parse(name).ok()) {
        Some(own) if journal.head(&own).is_err() => Ok(own),
        Some(taken) => {
            notes.push(format!("a run named `{taken}` already exists; this one gets a new name"));
            journal::new_id()
        }
        None => journal::new_id(),
    }
}

/// Replays the run with the file's results, in the order of their times.
fn replay_results(session: &ImportedRun, start: RunStart, roster: Roster, created: Timestamp) -> (Run, Vec<Record>) {
    let (mut run, mut records, mut now) = (Run::default(), Vec::new(), created);
    records.push(run.advance(Input::Start(Box::new(start)), now));
    loop {
        let over = run.open().iter().filter(|(id, _)| session.is_answered(id));
        let next = over.min_by_key(|(id, _)| session.ended(&id.step));
        let Some((id, attempt)) = next.map(|(id, open)| (id.clone(), open.attempt)) else { break };
        let Some(reply) = run.step(&id.step).and_then(|step| session.reply(&step.spec, id.visit)) else { break };
        now = now.max(session.ended(&id.step).unwrap_or(now));
        records.push(run.advance(Input::Replied { id, attempt, reply, prepared: Vec::new() }, now));
    }
    // A run that is over ignores further inputs, so these are not recorded.
    let last = final_inputs(session, &run, roster).into_iter().map(|input| run.advance(input, now));
    records.extend(last.filter(|record| !record.events.is_empty()));
    (run, records)
}

/// The inputs after all results: cancels what was cancelled, and pauses if anything is open.
fn final_inputs(session: &ImportedRun, run: &Run, roster: Roster) -> Vec<Input> {
    let cancel = |step| Input::Cancel { by: "the imported file".into(), step };
    if session.was_cancelled() {
        let stopped = run.open().iter().map(|(id, open)| {
            let (id, reply) = (id.clone(), Reply::Cancelled);
            Input::Replied { id, attempt: open.attempt, reply, prepared: Vec::new() }
        });
        return std::iter::once(cancel(None)).chain(stopped).collect();
    }
    let stopped = run.steps().filter(|step| session.stands(&step.spec.id) == ImportedStatus::Stopped);
    let stopped = stopped.map(|step| cancel(Some(step.spec.id.clone())));
    stopped.chain([Input::Reload { roster: Arc::new(roster), strange: None }, Input::Pause]).collect()
}

/// The steps that are not as the file has them.
fn differences(session: &ImportedRun, run: &Run) -> Vec<String> {
    let differs = |step: &&updraft_run::Step| match session.stands(&step.spec.id) {
        ImportedStatus::Done => step.status() != "completed",
        ImportedStatus::Failed => step.status() != "failed",
        ImportedStatus::Stopped => !matches!(step.status(), "cancelled" | "skipped"),
        ImportedStatus::Open => step.has_ended(),
    };
    let note = |step: &updraft_run::Step| {
        let id = &step.spec.id;
        format!("step `{id}` is {} here and {} in the file", step.status(), session.word(id))
    };
    run.steps().filter(differs).take(20).map(note).collect()
}
