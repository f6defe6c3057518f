//! `updraft diff`: shows where two runs differ, step by step.

use updraft_engine::{StepDiff, diff};

use crate::args::DiffArgs;
use crate::fault::{CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::{journal, out};

pub(crate) fn run(folders: &AppFolders, args: &DiffArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let (one, other) = (journal::find_run(&journal, &args.one)?, journal::find_run(&journal, &args.other)?);
    let found = diff(&journal, &one, &other)?;
    if args.json {
        out::pretty(&serde_json::to_value(&found).unwrap_or_default());
        return Ok(CliExitCode::Done);
    }
    let mut lines = vec![match (found.parts_at, &found.first_step) {
        (None, _) => "they do not differ, but for times and the order of steps that ran at the same time".to_owned(),
        (Some(at), Some(step)) => format!("they differ from event {at}; the first step that differs is `{step}`"),
        (Some(at), None) => format!("they differ from event {at}"),
    }];
    lines.extend(found.steps.iter().map(in_words));
    if found.parts_at.is_some() {
        lines.push(format!("their answers are {}", if found.same_answer { "the same" } else { "different" }));
    }
    out::line(&lines.join("\n"));
    Ok(CliExitCode::Done)
}

fn in_words(step: &StepDiff) -> String {
    let side = |status: &Option<String>, output: &Option<String>| match (status, output) {
        (None, _) => "not there".to_owned(),
        (Some(status), Some(output)) => format!("{status}: {}", out::short(output, 120)),
        (Some(status), None) => status.clone(),
    };
    format!("{}\n  - {}\n  + {}", step.step, side(&step.left, &step.left_output), side(&step.right, &step.right_output))
}
