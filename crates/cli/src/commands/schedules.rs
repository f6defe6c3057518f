//! `updraft schedule` and `updraft schedules`: goals and recipes that begin by themselves.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use updraft_journal::Journal;
use updraft_workbench::schedules::{
    self, DueRun, MissedPolicy, NewSchedule, OverlapPolicy, Schedule, ScheduleNote, ScheduleWork,
};
use updraft_workbench::{Flags, RunCallbacks, Workbench};

use crate::args::{MissedWord, OverlapWord, ScheduleArgs, ScheduleName, SchedulesArgs, SchedulesCommand};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::{journal, runtime, time_format};

/// How long `run-now` waits for a server to begin the run.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many of the next times are shown.
const SHOWN: usize = 3;

/// Makes a schedule.
pub(crate) fn add(folders: &AppFolders, args: ScheduleArgs) -> CliResult {
    let folder = folders::workspace(args.workspace.as_deref())?;
    let (cron, words) = match (args.every, args.words.split_first()) {
        (None, Some((cron, words))) => (Some(cron.clone()), words),
        _ => (None, args.words.as_slice()),
    };
    let goal_text = words.join(" ");
    if args.recipe.is_some() != goal_text.trim().is_empty() {
        let what = if args.recipe.is_some() { "a recipe has its own goal" } else { "the goal is missing" };
        return Err(CliError::usage(what).hint("updraft schedule \"0 7 * * *\" \"What changed since yesterday?\""));
    }
    let recipe = args.recipe.map(|name| absolute(&name));
    let ScheduleArgs { parameters, agent, model, .. } = args;
    let work = ScheduleWork { goal: goal_text, recipe, parameters, agent, model };
    let missed = if args.missed == MissedWord::Skip { MissedPolicy::Skip } else { MissedPolicy::RunOnce };
    let overlap = if args.overlap == OverlapWord::Queue { OverlapPolicy::Queue } else { OverlapPolicy::Skip };
    work.new_goal(&Workbench::open(folders, &folder, Flags::default(), RunCallbacks::default())?)?;
    let new = NewSchedule { name: args.name, cron, every: args.every, zone: args.timezone, work, missed, overlap };
    let schedule = Schedule::new(new, time_format::now())?;
    let journal = journal::open(folders)?;
    let added = runtime::block_on(async {
        let added = schedules::add(&journal, &folder, schedule).await;
        journal.close().await;
        Ok(added?)
    })?;
    if args.json {
        out::json(&as_json(&added, &folder.display().to_string()));
    } else {
        out::line(&added.name);
        let next = added.next.map(|next| format!("first at {}", added.local(next))).unwrap_or_default();
        out::note(&format!(
            "{next}\n  hint: `updraft serve` in this folder carries it out; `updraft schedules` lists it"
        ));
    }
    Ok(CliExitCode::Done)
}

/// Lists and changes schedules.
pub(crate) fn run(folders: &AppFolders, args: &SchedulesArgs) -> CliResult {
    let own = args.place.workspace.as_deref();
    let of = |name: &ScheduleName| folders::workspace(name.workspace.as_deref().or(own));
    let Some(journal) = journal::open_if_there(folders)? else {
        return if args.command.is_some() {
            Err(CliError::usage("there are no schedules yet"))
        } else {
            say_none(args.place.json);
            Ok(CliExitCode::Done)
        };
    };
    runtime::block_on(async {
        let done = match &args.command {
            None => list(&journal, args),
            Some(SchedulesCommand::Pause(name)) => pause(&journal, &of(name)?, &name.name, true).await,
            Some(SchedulesCommand::Resume(name)) => pause(&journal, &of(name)?, &name.name, false).await,
            Some(SchedulesCommand::Rm(name)) => {
                schedules::remove(&journal, &of(name)?, &name.name).await?;
                out::note(&format!("removed {}", name.name));
                Ok(CliExitCode::Done)
            }
            Some(SchedulesCommand::RunNow(name)) => run_now(&journal, &of(name)?, &name.name).await,
        };
        journal.close().await;
        done
    })
}

/// A recipe's file by its absolute path, since the server may work elsewhere; a name as it is.
fn absolute(name: &str) -> String {
    let is_path = name.contains(['/', '\\']) || PathBuf::from(name).extension().is_some();
    let real = Path::new(name).canonicalize().ok().filter(|_| is_path);
    real.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

async fn pause(journal: &Journal, folder: &Path, name: &str, paused: bool) -> CliResult {
    let now = time_format::now();
    let next = schedules::change_one(journal, folder, name, move |one| {
        one.pause(paused, now);
        one.next.map(|next| one.local(next))
    });
    match next.await? {
        Some(next) if !paused => out::note(&format!("{name} goes on; next at {next}")),
        _ => out::note(&format!("{name} is paused\n  hint: `updraft schedules resume {name}` lets it go on")),
    }
    Ok(CliExitCode::Done)
}

async fn run_now(journal: &Journal, folder: &Path, name: &str) -> CliResult {
    let now = time_format::now();
    let mut changes = journal.changes();
    let added = schedules::change_one(journal, folder, name, move |one| one.run_now(now)).await?;
    let due = added.ok_or_else(|| {
        CliError::failed(format!("too many runs of `{name}` wait already"))
            .hint("`updraft serve` in this folder begins them; `updraft schedules` lists them")
    })?;
    out::line(due.run.as_str());
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while journal.head(&due.run).is_err() {
        if tokio::time::timeout_at(deadline, changes.next()).await.is_err() {
            out::note("no server has begun it yet\n  hint: `updraft serve` in this folder does; the run keeps this id");
            break;
        }
    }
    Ok(CliExitCode::Done)
}

fn list(journal: &Journal, args: &SchedulesArgs) -> CliResult {
    let places = if args.all {
        schedules::workspaces(journal)?
    } else {
        vec![folders::workspace(args.place.workspace.as_deref())?.display().to_string()]
    };
    let mut is_empty = true;
    for place in places {
        for one in schedules::list(journal, Path::new(&place))? {
            is_empty = false;
            if args.place.json {
                out::json(&as_json(&one, &place));
            } else {
                print(&one, args.all.then_some(&place), journal);
            }
        }
    }
    if is_empty {
        say_none(args.place.json);
    }
    Ok(CliExitCode::Done)
}

fn say_none(is_json: bool) {
    if !is_json {
        out::note("no schedules\n  hint: updraft schedule \"0 7 * * *\" \"What changed since yesterday?\"");
    }
}

fn print(one: &Schedule, place: Option<&String>, journal: &Journal) {
    let paint = Paint::for_stdout();
    let paused = if one.paused { "  paused" } else { "" };
    out::line(&format!(
        "{}  {}{}",
        paint.bold(&one.name),
        out::on_one_line(&one.timing.in_words()),
        paint.yellow(paused)
    ));
    out::line(&format!("  {}", out::short(&one.work.in_words(), 200)));
    if let Some(place) = place {
        out::line(&format!("  {}", paint.dim(&out::on_one_line(place))));
    }
    let next: Vec<String> = one.next_times(SHOWN).into_iter().map(|at| one.local(at)).collect();
    if !next.is_empty() {
        out::line(&format!("  next  {}", next.join(", ")));
    }
    for due in &one.waiting {
        out::line(&format!("  waits {}, due at {}", due.run, one.local(due.due)));
    }
    if let Some(last) = &one.last {
        let state = journal.head(&last.run).map_or("removed", |head| head.status.as_str());
        out::line(&format!("  last  {}, due at {}: {state}", last.run, one.local(last.due)));
    }
    for ScheduleNote { text, .. } in one.notes.iter().rev().take(SHOWN) {
        out::line(&format!("  {}", paint.dim(&out::short(text, 300))));
    }
}

fn as_json(one: &Schedule, workspace: &str) -> Value {
    let due = |due: &DueRun| json!({ "run": due.run, "due": time_format::iso(due.due) });
    let note = |note: &ScheduleNote| json!({ "at": time_format::iso(note.at), "text": note.text });
    json!({
        "name": one.name, "workspace": workspace, "timing": one.timing, "zone": one.zone, "work": one.work,
        "missed": one.missed, "overlap": one.overlap, "paused": one.paused,
        "next": one.next_times(SHOWN).into_iter().map(time_format::iso).collect::<Vec<_>>(),
        "waiting": one.waiting.iter().map(due).collect::<Vec<_>>(), "last": one.last.as_ref().map(due),
        "notes": one.notes.iter().map(note).collect::<Vec<_>>(),
    })
}
