//! Errors in the arguments: clap's messages, with better advice for likely mistakes.

use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use crate::args::CliArgs;
use crate::fault::CliExitCode;
use crate::{console, out};

/// Commands whose last argument is a text with several words.
const TAKE_TEXT: [&str; 3] = ["run", "answer", "tell"];

/// Parses the arguments. If they are wrong or ask for help, prints that and returns the exit code.
pub(crate) fn arguments() -> Result<CliArgs, ExitCode> {
    let typed: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if typed.is_empty() && console::is_possible() {
        return CliArgs::try_parse_from(["updraft", "chat"]).map_err(|error| error.exit());
    }
    CliArgs::try_parse().map_err(|error| {
        let error = advised(error, &typed);
        match error.print() {
            Err(why) if !error.use_stderr() && why.kind() != std::io::ErrorKind::BrokenPipe => {
                out::note(&format!("error: standard output could not be written: {why}"));
                CliExitCode::Failed.into()
            }
            _ => u8::try_from(error.exit_code()).map_or(CliExitCode::Usage.into(), ExitCode::from),
        }
    })
}

/// The error with advice that fits the arguments.
fn advised(mut error: clap::Error, typed: &[String]) -> clap::Error {
    let invalid = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand if typed.first().is_some_and(|first| !first.starts_with('-')) => {
            let word = invalid(&error, ContextKind::InvalidSubcommand);
            // Of two similar names clap suggests the longer one: `runs` for `rnu`.
            if typed.first() == Some(&word)
                && let Some(meant) = nearest(&word)
            {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(meant));
            }
        }
        ErrorKind::UnknownArgument if typed.first().is_some_and(|first| TAKE_TEXT.contains(&first.as_str())) => {
            if let Some(text) = unquoted(typed, &invalid(&error, ContextKind::InvalidArg)) {
                let advice = StyledStr::from(format!("put a text of several words in quotes: \"{text}\""));
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice]));
            }
        }
        _ => {}
    }
    error
}

/// The command with the most similar name.
fn nearest(word: &str) -> Option<String> {
    let command = CliArgs::command();
    let names = command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name);
    let near = names.map(|name| (strsim::damerau_levenshtein(word, name), name.len().abs_diff(word.len()), name));
    near.filter(|(away, ..)| *away <= 2).min().map(|(.., name)| name.to_owned())
}

/// The words that were probably meant as one text: from the one before the first unexpected word.
fn unquoted(typed: &[String], invalid: &str) -> Option<String> {
    let at = typed.iter().position(|word| word == invalid).filter(|at| *at >= 2 && !invalid.starts_with('-'))?;
    let words = typed[at - 1..].iter().take_while(|word| !word.starts_with('-'));
    Some(words.map(String::as_str).collect::<Vec<_>>().join(" "))
}
