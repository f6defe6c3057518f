//! A plan that waits for approval: shown, edited in the user's editor, approved, or sent back to the planner.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use updraft_run::{Graph, Input, Run, RunId, Verdict};
use updraft_workbench::{WaitingPlan, Workbench, plan_file};

use super::goal::{self, PlanFile};
use super::plan_table;
use crate::fault::{CliError, CliExitCode};
use crate::signals::Signals;
use crate::view::{self, RunDisplay};
use crate::{folders, journal, out};

/// What is to be done about a plan.
pub(super) enum PlanDecision {
    /// No plan waits.
    None,
    /// The run is sent this.
    Send {
        /// The approval, the edited plan, or the refusal.
        input: Input,
        /// Whether the steps of the plan begin with it.
        approves: bool,
    },
    /// The run keeps waiting.
    Stop(CliExitCode),
}

/// Decides about the plan of a run, if it waits for approval: by a file, by asking at the terminal, or without a terminal
/// because the user resumes this very run (`is_named`).
pub(super) async fn decide(
    bench: &Workbench,
    id: &RunId,
    file: Option<&Path>,
    is_named: bool,
    face: &RunDisplay,
    signals: &mut Signals,
) -> Result<PlanDecision, CliError> {
    let run = journal::load(bench.journal()?, id)?;
    if run.plan_approval().is_none() {
        return match file {
            None => Ok(PlanDecision::None),
            Some(_) => Err(CliError::usage(format!("the plan of run {id} does not wait for approval"))
                .hint("`--plan` is for runs that were started with --plan-first, before their first step")),
        };
    }
    // Somebody has decided already, with `updraft approve` or `updraft deny`.
    let is_about_plan = |input: &Input| input.question().is_some() && input.question() == run.plan_approval();
    if let Some(known) = bench.journal()?.inbox(id)?.into_iter().map(|mail| mail.input).find(is_about_plan) {
        if file.is_some() {
            return Err(CliError::usage(format!("the plan of run {id} has already been approved or refused"))
                .hint(format!("`updraft resume {id}` without --plan goes on with that")));
        }
        let approves = matches!(&known, Input::Verdict { verdict, .. } if verdict.allow);
        return Ok(PlanDecision::Send { input: known, approves });
    }
    if let Some(file) = file {
        let plan = goal::plan(file)?;
        let faults = faults_of(bench, &run, &plan);
        if !faults.is_empty() {
            return Err(updraft_engine::Error::Plan(faults).into());
        }
        return Ok(edited(bench, plan));
    }
    if !face.can_ask {
        return Ok(if is_named { approve(&run) } else { PlanDecision::None });
    }
    face.make_way();
    let plan = WaitingPlan::of(&run).map(|plan| plan.graph).unwrap_or_default();
    let outlook = bench.outlook(&plan).await?;
    out::note(&format!("\nthe plan of run {id}:\n"));
    let table = plan_table::lines(&plan, &outlook, Some(view::size().1));
    for line in table.iter().chain(&plan_table::required(&run.proof().requirements)) {
        out::note(line);
    }
    if let Some(why) = run.planned_instead() {
        out::note(&format!("\none step instead of a plan: {}", out::harmless(why)));
    }
    let asked = tokio::task::spawn_blocking(view::ask_about_plan);
    let said = tokio::select! {
        said = asked => said.unwrap_or(view::PlanAnswer::Stop),
        _ = signals.first() => view::PlanAnswer::Stop,
    };
    match said {
        view::PlanAnswer::Go => Ok(approve(&run)),
        view::PlanAnswer::Edit => edit(bench, id, &run, &plan, face),
        view::PlanAnswer::Refuse(because) => {
            let verdict = Verdict { allow: false, by: "the terminal".into(), because, ..Verdict::default() };
            let input = Input::Verdict { id: run.plan_approval().cloned(), verdict };
            Ok(PlanDecision::Send { input, approves: false })
        }
        view::PlanAnswer::Stop => Ok(stopped(id)),
    }
}

fn stopped(id: &RunId) -> PlanDecision {
    out::note(&format!(
        "nothing was done; the plan waits\n  hint: `updraft resume {id}` asks again, `updraft cancel {id}` ends the run"
    ));
    PlanDecision::Stop(CliExitCode::NeedsPerson)
}

fn approve(run: &Run) -> PlanDecision {
    let verdict = Verdict { allow: true, by: "the command line".into(), ..Verdict::default() };
    PlanDecision::Send { input: Input::Verdict { id: run.plan_approval().cloned(), verdict }, approves: true }
}

fn edited(bench: &Workbench, plan: PlanFile) -> PlanDecision {
    let (models, requirements) = (bench.named_in_full(&plan.graph), plan.requirements);
    let input = Input::EditPlan { graph: Arc::new(plan.graph), models, requirements, by: "the command line".into() };
    PlanDecision::Send { input, approves: true }
}

fn faults_of(bench: &Workbench, run: &Run, plan: &PlanFile) -> Vec<String> {
    let models: BTreeMap<String, String> = bench.named_in_full(&plan.graph);
    let wrong = run.edit_faults(&plan.graph, &models).into_iter().map(|fault| fault.text);
    plan.faults.iter().cloned().chain(wrong).collect()
}

/// Lets the user edit the plan as a file until it has no faults, or they give up.
fn edit(bench: &Workbench, id: &RunId, run: &Run, plan: &Graph, face: &RunDisplay) -> Result<PlanDecision, CliError> {
    let file = bench.folders.state.join(format!("plan-{id}.json"));
    let cannot = |error: &std::io::Error| CliError::file("write", &file, error);
    let text = serde_json::to_string_pretty(&plan_file(plan, &run.proof().requirements)).unwrap_or_default() + "\n";
    let mut how = std::fs::OpenOptions::new();
    let mut written = folders::private_file(&file, how.write(true).truncate(true)).map_err(|error| cannot(&error))?;
    written.write_all(text.as_bytes()).map_err(|error| cannot(&error))?;
    drop(written);
    loop {
        match &face.console {
            Some(console) => console.aside(|| open_editor(&file))?,
            None => open_editor(&file)?,
        }
        let faults = match goal::plan(&file) {
            Ok(plan) => {
                let faults = faults_of(bench, run, &plan);
                if faults.is_empty() {
                    // Only a copy of what the run is sent.
                    let _ = std::fs::remove_file(&file);
                    return Ok(edited(bench, plan));
                }
                faults
            }
            Err(fault) => vec![fault.message],
        };
        out::note("the edited plan cannot be used:");
        faults.iter().take(20).for_each(|fault| out::note(&format!("  - {}", out::harmless(fault))));
        if !view::confirm("edit it again?") {
            let file = file.display();
            out::note(&format!("your plan is in {file}; `updraft resume {id} --plan {file}` uses it"));
            return Ok(PlanDecision::Stop(CliExitCode::NeedsPerson));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the user's own editor, on a file that they asked to edit")]
fn open_editor(file: &Path) -> Result<(), CliError> {
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| folders::set(name)).unwrap_or_else(|| "vi".to_owned());
    // An editor's name may come with arguments, such as `code --wait`.
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CliError::failed(format!("the editor `{editor}` ended with {status}"))
            .hint("set EDITOR to the one you use")),
        Err(error) => Err(CliError::failed(format!("the editor `{editor}` could not be started: {error}"))),
    }
}
