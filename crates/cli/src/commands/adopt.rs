//! Taking over a run that came from a file: under the rules of whoever is here, not under the file's.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use updraft_journal::Journal;
use updraft_mcp::Servers;
use updraft_models::choose;
use updraft_run::{Event, Input, Run, RunId, Settings as Rules};
use updraft_tools::Dispatcher;

use crate::args::Resume;
use crate::fault::Fault;
use crate::places::Places;
use crate::settings::{Consent, Settings, Written, said};
use crate::view::{self, Face};
use crate::{confine, out, reach, wire};

/// A run as the journal has it.
pub(super) fn load(journal: &Journal, id: &RunId) -> Result<Run, Fault> {
    let mut run = Run::default();
    journal.read(id, 0, &mut |_, record| {
        run.record(&record);
        ControlFlow::Continue(())
    })?;
    Ok(run)
}

/// The folder a run works in: where it began, or where it was taken over. The folder that a file names is none: until
/// somebody has said where, it is the current one.
pub(super) fn workspace_of(run: &Run) -> Result<PathBuf, Fault> {
    if run.is_imported() { wire::workspace(None) } else { Ok(PathBuf::from(&run.settings().workspace)) }
}

/// What an imported run is told before it goes on, and the folder it then works in; nothing for any other run.
pub(super) async fn adopt(
    places: &Places,
    journal: &Journal,
    id: &RunId,
    args: &Resume,
    face: &Face,
) -> Result<Option<(PathBuf, Input)>, Fault> {
    let run = load(journal, id)?;
    if !run.is_imported() || run.is_over() {
        if args.workspace.is_some() {
            return Err(Fault::usage(format!("run {id} works in `{}` already", run.settings().workspace))
                .hint("`--workspace` is for runs that were imported and not resumed yet"));
        }
        return Ok(None);
    }
    let workspace = wire::workspace(args.workspace.as_deref())?;
    let approvals = said(args.permission.mode().map(Consent::from));
    let was_said = args.workspace.is_some() && approvals.is_some();
    let flags = Written { approvals, sandbox: confine::flags(&args.confine)?, ..Written::default() };
    let settings = Settings::load(places, &workspace, flags)?;
    let access = reach::access(places, &settings, &workspace);
    let model = choose(&reach::settled(places, &wire::model_spec(&settings.meant.model.value))?, &access).await?.spec;
    let rules = settings.meant.rules();
    if !was_said {
        confirm(id, &run, &workspace.display().to_string(), &model, face)?;
    }
    let level = confine::level_of(places, &settings).await?;
    let rules = Rules {
        model,
        same_model: true,
        workspace: workspace.display().to_string(),
        workspace_trusted: settings.standing.is_trusted(),
        context: run.settings().context,
        sandbox: level,
        grants: Some(confine::grants(&settings, &args.confine)),
        ..rules
    };
    Ok(Some((workspace, Input::Adopt { settings: Arc::new(rules) })))
}

/// The same with what is known of the tools: rules name them in full, and which definitions are words from outside.
pub(super) fn with_tools(input: Input, dispatcher: &Dispatcher, servers: &Servers) -> Input {
    let Input::Adopt { mut settings } = input else { return input };
    let rules = Arc::make_mut(&mut settings);
    wire::name_in_full(dispatcher, servers, rules);
    rules.strange_tools = dispatcher.registry().strange();
    Input::Adopt { settings }
}

/// Asks whoever is there.
fn confirm(id: &RunId, run: &Run, workspace: &str, model: &str, face: &Face) -> Result<(), Fault> {
    let about = format!("run {id} was imported, and nobody here has said yet where it may go on");
    let refused = || {
        Fault::usage(about.clone())
            .hint(format!("`updraft resume {id} --workspace DIR --mode workspace` goes on with it in that folder"))
    };
    if !face.can_ask {
        return Err(refused());
    }
    let theirs = out::harmless(&run.settings().workspace);
    out::note(&format!("{about}\n  goal: {}\n  it came from `{theirs}`", out::short(&run.goal().text, 200)));
    if view::confirm(&format!("go on in `{workspace}`, with {model} and your settings?")) {
        Ok(())
    } else {
        Err(refused())
    }
}

/// Refuses to take back what a run from a file says it changed: it did so elsewhere, if at all.
pub(super) fn was_at_work_here(run: &Run, id: &RunId) -> Result<(), Fault> {
    if run.is_imported() {
        return Err(Fault::usage(format!("run {id} was imported: what it changed, it changed elsewhere"))
            .hint(format!("`updraft audit {id}` says what that was")));
    }
    Ok(())
}

/// Refuses a cut before the place where a run from a file was taken over: there the file's word would count.
pub(super) fn may_be_cut(journal: &Journal, id: &RunId, at: u64) -> Result<(), Fault> {
    let (mut run, mut first_ours) = (Run::default(), 0);
    journal.read(id, 0, &mut |first, record| {
        if record.events.iter().any(|event| matches!(event, Event::Adopted { .. })) {
            first_ours = first + record.events.len() as u64 - 1;
        }
        run.record(&record);
        ControlFlow::Continue(())
    })?;
    if run.is_imported() && !run.is_over() {
        return Err(Fault::usage(format!("run {id} was imported, and nobody here has taken it over yet"))
            .hint(format!("`updraft resume {id} --workspace DIR --mode workspace` does")));
    }
    if at < first_ours {
        let why = format!("run {id} was imported, and taken over here up to event {first_ours}");
        return Err(Fault::usage(why).hint(format!("cut it there or later: `--at {first_ours}`")));
    }
    Ok(())
}
