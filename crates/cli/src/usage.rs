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
            if typed.first() == Some(&word) {
                let meant = nearest(&word, command_names());
                let goal = typed.join(" ");
                if let Some(meant) = meant {
                    error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(meant));
                } else if goal.contains(' ') && !typed.iter().any(|word| word.starts_with('-')) {
                    error.remove(ContextKind::SuggestedSubcommand);
                    advise(&mut error, format!("a goal is given with `run`: updraft run \"{goal}\""));
                }
            }
        }
        ErrorKind::UnknownArgument if typed.first().is_some_and(|first| TAKE_TEXT.contains(&first.as_str())) => {
            let word = invalid(&error, ContextKind::InvalidArg);
            if let Some(text) = unquoted(typed, &word) {
                advise(&mut error, format!("put a text of several words in quotes: \"{text}\""));
            } else {
                prefer_nearest_flag(&mut error, typed, &word);
            }
        }
        ErrorKind::MissingRequiredArgument => match typed.first().map(String::as_str) {
            Some("fork") => advise(&mut error, "`updraft events RUN` shows the numbers of its events".to_owned()),
            Some("diff") => {
                advise(
                    &mut error,
                    "two runs are compared; `updraft undo RUN --dry-run` shows what one changed".to_owned(),
                );
            }
            _ => {}
        },
        _ => {}
    }
    error
}

/// Adds advice to an error.
fn advise(error: &mut clap::Error, advice: String) {
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
}

/// Suggests the flag with the most similar name: of two, clap suggests the shorter one, `--mode` for `--modle`.
fn prefer_nearest_flag(error: &mut clap::Error, typed: &[String], word: &str) {
    let mut commands = CliArgs::command();
    commands.build();
    let Some(command) = typed.first().and_then(|name| commands.find_subcommand_mut(name)) else { return };
    let flags = command.get_arguments().filter(|one| !one.is_hide_set()).filter_map(clap::Arg::get_long);
    let Some(meant) = nearest(word, flags.map(|flag| format!("--{flag}")).collect()) else { return };
    error.insert(ContextKind::SuggestedArg, ContextValue::String(meant));
    error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
}

fn command_names() -> Vec<String> {
    let command = CliArgs::command();
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    shown.map(|one| one.get_name().to_owned()).collect()
}

/// The most similar of these names; of two that are equally far, the one of the same length.
fn nearest(word: &str, names: Vec<String>) -> Option<String> {
    let near =
        names.into_iter().map(|name| (strsim::damerau_levenshtein(word, &name), name.len().abs_diff(word.len()), name));
    near.filter(|(away, ..)| *away <= 2).min().map(|(.., name)| name)
}

/// The words that were probably meant as one text: from the one before the first unexpected word.
fn unquoted(typed: &[String], invalid: &str) -> Option<String> {
    let at = typed.iter().position(|word| word == invalid).filter(|at| *at >= 2 && !invalid.starts_with('-'))?;
    let words = typed[at - 1..].iter().take_while(|word| !word.starts_with('-'));
    Some(words.map(String::as_str).collect::<Vec<_>>().join(" "))
}
