//! `updraft stats`: prints how agents and models did in the newest runs.

use updraft_engine::{AgentStats, AgentTally};

use crate::args::StatsArgs;
use crate::fault::{CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::{journal, out, runtime, view};

pub(crate) fn run(folders: &AppFolders, args: &StatsArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let stats = runtime::block_on(async {
        let stats = AgentStats::load_or_count(&journal).await;
        journal.close().await;
        Ok(stats?)
    })?;
    if args.json {
        for tally in stats.tallies() {
            out::line(&serde_json::to_string(&tally).unwrap_or_default());
        }
        return Ok(CliExitCode::Done);
    }
    let tallies = stats.tallies();
    if tallies.is_empty() {
        out::note("no run has ended yet");
        return Ok(CliExitCode::Done);
    }
    let head = ["agent", "model", "steps", "done", "failed", "retries", "turns", "tokens", "cost"].map(str::to_owned);
    let rows: Vec<[String; 9]> = std::iter::once(head).chain(tallies.iter().map(row)).collect();
    for line in &lines(&rows) {
        out::line(line);
    }
    out::note(&format!("counted over the newest {}", view::count(stats.runs() as u64, "run")));
    Ok(CliExitCode::Done)
}

/// The rows with aligned columns: names to the left, numbers to the right.
fn lines(rows: &[[String; 9]]) -> Vec<String> {
    let widths: Vec<usize> =
        (0..9).map(|n| rows.iter().map(|row| view::width(&row[n])).max().unwrap_or_default()).collect();
    let cell = |n: usize, text: &String| match n {
        0 | 1 => view::column(text, widths[n]),
        _ => format!("{text:>wide$}", wide = widths[n]),
    };
    let line = |row: &[String; 9]| {
        let cells: Vec<String> = row.iter().enumerate().map(|(n, text)| cell(n, text)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn row(tally: &AgentTally) -> [String; 9] {
    let AgentTally { agent, model, steps, done, failed, retries, turns, tokens, cost } = tally;
    let numbers = [steps, done, failed, retries, turns, tokens].map(ToString::to_string);
    let [steps, done, failed, retries, turns, tokens] = numbers;
    let cost = cost.map_or_else(|| "?".to_owned(), |cost| cost.to_string());
    let model = out::short(model, 60);
    [agent.clone(), model, steps, done, failed, retries, turns, tokens, cost]
}
