//! `updraft show`: prints a run's graph, summary and costs; every prompt it sent; the sources it cites; its proof; or the
//! messages between its agents.

use std::collections::BTreeMap;
use std::path::Path;

use updraft_engine::{RunReport, SentPrompt, command_to_go_on, context_of, prompts_of, waiting_for, why_stopped};
use updraft_journal::Journal;
use updraft_run::{FailureKind, Ledger, Level, RunId};
use updraft_workbench::repositories::RunBranch;

use super::{bus, context, proof, runs, sources};
use crate::args::ShowArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out::{self, Paint};
use crate::view::{self, RunEnding, count, figures, graph_lines};
use crate::{journal, time_format};

pub(crate) fn run(folders: &AppFolders, args: &ShowArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let id = journal::find_run_here(&journal, args.run.run.as_deref())?;
    if args.prompts {
        return prompts(&journal, &id, args.out.as_deref());
    }
    if args.bus {
        bus::print(&journal, &id, args.json)?;
        return Ok(CliExitCode::Done);
    }
    let report = RunReport::of(&journal, &id)?;
    if args.sources {
        sources::print(&report, args.json);
        return Ok(CliExitCode::Done);
    }
    if args.proof {
        return proof::print(&journal, &report, args.json);
    }
    if args.context {
        context::print(&context_of(&journal, &id)?, args.json);
        return Ok(CliExitCode::Done);
    }
    if args.json {
        let mut whole = report.to_json();
        whole["status"] = runs::word(&report.head).into();
        whole["context"] = report.context(&journal)?;
        whole["messages"] = updraft_engine::messages(&journal, &id)?.into();
        if let Some(branch) = RunBranch::of(&journal, &id)? {
            whole["git"] = serde_json::to_value(branch).unwrap_or_default();
        }
        out::pretty(&whole);
    } else {
        let branch = RunBranch::of(&journal, &id)?;
        out::print(&in_words(&report, &RunEnding::of(&journal, &id, &report.run), branch.as_ref()));
        for one in updraft_workbench::aside::kept(folders).into_iter().filter(|one| one.moved.run == id.as_str()) {
            out::line(&format!(
                "\nmoved aside: {} ({})\n  `updraft aside restore {}` puts it back",
                one.moved.path.display(),
                one.moved.why,
                one.name
            ));
        }
    }
    Ok(CliExitCode::Done)
}

fn in_words(report: &RunReport, ending: &RunEnding, branch: Option<&RunBranch>) -> String {
    let paint = Paint::for_stdout();
    let head = &report.head;
    let mut lines = vec![
        format!("{}  {}", paint.bold(head.id.as_str()), runs::in_words(head)),
        format!("  goal       {}", out::short(report.run.goal().own_words(), 200)),
        format!("  model      {}", report.run.settings().model),
        format!("  workspace  {}", head.workspace),
        format!(
            "  begun      {}   last event {}",
            time_format::date_time(head.created),
            time_format::date_time(report.ended)
        ),
        format!("  used       {} · {} events", figures(&report.run), report.run.events()),
    ];
    if let Some(branch) = branch {
        lines.insert(4, format!("  branch     {}", out::harmless(&branch.in_words())));
    }
    let level = report.run.settings().sandbox;
    if level != Level::Unknown {
        lines.push(format!("  sandbox    {level}"));
    }
    if let Some(repeated) = &report.run.earlier_runs().repeated {
        lines.push(format!("  repeats    {}", repeated.of));
    }
    if let Some(due) = &report.run.goal().due {
        lines.push(format!("  schedule   {}, due at {}", due.schedule, time_format::date_time(due.at)));
    }
    if let Some(why) = report.run.planned_instead() {
        lines.push(format!("  planned    one step instead of a plan: {}", out::short(why, 300)));
    }
    if let Some(parent) = &head.parent {
        lines.push(format!("  forked     from {parent}"));
    }
    if let Some(owner) = head.owner.filter(|owner| owner.alive) {
        lines.push(format!("  process    {}", owner.pid));
    }
    lines.push(String::new());
    lines.extend(graph_lines(&report.steps, &report.run, paint).into_iter().map(|line| format!("  {line}")));
    lines.extend(per_agent(report));
    let changed = ending.lines_without_costs(view::size().1.saturating_sub(2), paint);
    if !changed.is_empty() {
        lines.push(String::new());
        lines.extend(changed.iter().map(|line| format!("  {line}")));
    }
    let columns = view::size().1.saturating_sub(2);
    let mut proved = view::assumption_lines(&report.run, columns, paint);
    proved.extend(view::proof_lines(&report.run, columns, paint));
    if !proved.is_empty() {
        lines.push(String::new());
        lines.extend(proved.iter().map(|line| format!("  {line}")));
    }
    for wait in waiting_for(&report.run) {
        let text = |key: &str| wait[key].as_str().unwrap_or_default().to_owned();
        lines.push(format!("\n{} {}: {}", paint.yellow("waits for"), text("kind"), out::harmless(&text("text"))));
        let arguments = wait["arguments"].as_array().into_iter().flatten().filter_map(|line| line.as_str());
        lines.extend(arguments.map(|line| format!("  {}", out::harmless(line))));
        lines.push(format!("  id {}", text("id")));
    }
    for omitted in report.run.omitted() {
        lines.push(format!("\nleft out: {}", out::harmless(omitted)));
    }
    if let Some(why) = updraft_engine::failure_of(&report.run) {
        let word = if why.kind == FailureKind::NotDone { "not done" } else { "failed" };
        lines.push(format!("\n{}: {} ({})", paint.red(word), out::harmless(&why.message), why.kind.name()));
    }
    if let Some(why) = why_stopped(&report.run) {
        lines.push(format!("\n{}: {}", paint.yellow("not done"), out::harmless(&why)));
        lines.push(format!("  `{}` continues where it stopped", command_to_go_on(&head.id, &report.run)));
    }
    let answer = report.answer();
    if !answer.trim().is_empty() {
        let title = if report.run.is_over() { "answer" } else { "so far, unfinished" };
        lines.push(format!("\n{}\n{}", paint.bold(title), out::page(&answer)));
    }
    lines.join("\n") + "\n"
}

/// What each agent used, if there are several.
fn per_agent(report: &RunReport) -> Vec<String> {
    let mut agents: BTreeMap<&str, (u64, u64, u64, Option<u64>, bool)> = BTreeMap::new();
    for step in &report.steps {
        let Ledger { usage, turns, calls, unpriced, .. } = &step.step.ledger;
        let sum = agents.entry(&step.step.spec.agent).or_insert((0, 0, 0, Some(0), false));
        let cost = (*unpriced == 0).then(|| usage.cost.unwrap_or_default().0);
        let cost = sum.3.zip(cost).map(|(before, own)| before + own);
        *sum = (sum.0 + turns, sum.1 + calls, sum.2 + usage.tokens(), cost, sum.4 || usage.estimated);
    }
    agents.retain(|_, (turns, ..)| *turns > 0);
    if agents.len() < 2 {
        return Vec::new();
    }
    let width = agents.keys().map(|name| name.len()).max().unwrap_or_default();
    let line = |(name, (turns, calls, tokens, cost, estimated)): (&str, (u64, u64, u64, Option<u64>, bool))| {
        let about = if estimated && cost.is_some_and(|cost| cost > 0) { "about " } else { "" };
        let cost = cost.map_or_else(|| "cost unknown".to_owned(), |cost| format!("{about}{}", updraft_run::Cost(cost)));
        let (turns, calls, tokens) = (count(turns, "turn"), count(calls, "call"), count(tokens, "token"));
        format!("  {name:width$}  {turns:>9}  {calls:>9}  {tokens:>12}  {cost}")
    };
    std::iter::once(String::new()).chain(agents.into_iter().map(line)).collect()
}

/// Prints every prompt, rebuilt from the journal; or writes each to a file of its own.
fn prompts(journal: &Journal, id: &RunId, folder: Option<&Path>) -> CliResult {
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(|error| CliError::file("make", folder, &error))?;
    }
    let mut failure = None;
    let mut count = 0_u32;
    prompts_of(journal, id, &mut |SentPrompt { id, agent, at, prompt }| {
        count += 1;
        let Some(folder) = folder else {
            out::line(&format!(
                "===== {count}. {id} · {agent} · {} =====\n{}\n",
                time_format::date_time(at),
                out::harmless(&prompt)
            ));
            return;
        };
        let name = format!("{count:04}-{}.md", id.to_string().replace('/', "-"));
        let file = folder.join(name);
        if let Err(error) = std::fs::write(&file, prompt) {
            failure.get_or_insert_with(|| CliError::file("write", &file, &error));
        }
    })?;
    if let Some(folder) = folder {
        out::note(&format!("{count} prompts in {}", folder.display()));
    }
    failure.map_or(Ok(CliExitCode::Done), Err)
}
