//! Arguments that several commands share, and the parsers of their values.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use updraft_run::{Budget, Cost, Millis};

use crate::time_format;

// What a run may spend.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SpendingFlags {
    /// Spend at most this many dollars
    #[arg(long, allow_negative_numbers = true, value_name = "USD", value_parser = dollars)]
    pub(crate) budget: Option<Cost>,
    /// Use at most this many tokens, input and output together
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Work at most this long, e.g. 90s, 10m, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = time_format::duration)]
    pub(crate) max_time: Option<Duration>,
    /// Make at most this many model requests, in the run and in each step (default: 15 for a step, 50 with `--agent`)
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u64>,
    /// Make at most this many tool calls
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<u64>,
}

impl SpendingFlags {
    /// The flags as a budget.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            cost: self.budget,
            tokens: self.max_tokens,
            time: self.max_time.map(|time| Millis(time.as_millis() as u64)),
            turns: self.max_turns,
            calls: self.max_calls,
        }
    }
}

// What is printed while a run proceeds.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OutputFlags {
    /// Print one JSON event per line on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the answer, no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The console that the run is shown in.
    #[arg(skip)]
    pub(crate) console: Option<crate::console::ConsoleLink>,
}

// A run by its name.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunName {
    /// The run's id, any unique prefix of it, or `last`
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) run: String,
}

// A run by its name, or the newest of the current folder.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunOrNewest {
    /// The run's id, any unique prefix of it, or `last` (default: the newest run of this folder)
    #[arg(value_name = "RUN", add = crate::complete::runs())]
    pub(crate) run: Option<String>,
}

// A workspace, and the output format.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceFlags {
    /// The workspace (default: the current folder)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses `NAME=JSON`. A value that does not look like JSON is taken as text.
pub(super) fn variable(text: &str) -> Result<(String, serde_json::Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=JSON, for instance count=3")?;
    if name.trim().is_empty() {
        return Err("the name is missing; expected NAME=JSON, for instance count=3".into());
    }
    let value = match serde_json::from_str(value) {
        Ok(value) => value,
        Err(why) if value.trim_start().starts_with(['{', '[', '"']) => {
            return Err(format!("the value of `{name}` is not JSON: {why}"));
        }
        Err(_) => serde_json::Value::String(value.to_owned()),
    };
    Ok((name.trim().to_owned(), value))
}

/// Parses `NAME=VALUE`, which stays text.
pub(super) fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, for instance days=7")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

fn dollars(text: &str) -> Result<Cost, String> {
    let number = text.trim().trim_start_matches('$').parse::<f64>();
    let amount = number.ok().filter(|amount| amount.is_finite() && (0.0..=1e9).contains(amount));
    let amount = amount.ok_or_else(|| format!("`{text}` is not an amount of dollars; expected for instance 0.50"))?;
    Ok(Cost((amount * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_json_or_else_text() {
        assert_eq!(variable("n=3").unwrap(), ("n".into(), 3.into()));
        assert_eq!(variable("who=Bob B.").unwrap(), ("who".into(), "Bob B.".into()));
        assert!(variable("list=[1,").is_err() && variable("=1").is_err() && variable("alone").is_err());
    }
}
