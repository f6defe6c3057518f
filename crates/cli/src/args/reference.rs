//! docs/reference/commands.md and settings.md, from the definitions: the test fails if they say something else, and writes them
//! with `UPDRAFT_WRITE_REFERENCE=1` (`cargo xtask reference --write`).

use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory;

use super::CliArgs;

const COMMANDS: &str = "\
# Commands

<!-- Written by `cargo xtask reference --write` from crates/cli/src/args: edit those files. -->

What `updraft COMMAND --help` says, of every command. `RUN` is a run's id, any unique prefix of it, or `last`; where it is optional, the
default is the newest run of this folder.

Exit codes: 0 done, 1 failed, 2 usage, 3 needs a person, 4 a limit was reached, 5 configuration, 130 and 143 interrupted.
";

const SETTINGS: &str = "\
# Settings

<!-- Written by `cargo xtask reference --write` from crates/cli/src/commands/init/config.toml and the defaults: edit those. -->

Settings are read from `config.toml` in your configuration folder, then from `.updraft/config.toml` of the workspace (which can only
tighten what you allow, until you have run `updraft trust`), then from the environment, then from flags; what comes later wins. `updraft
config show --origin` shows every value and where it came from, and names the folders. `updraft init` writes a file with all of them,
commented out. A name that is not a setting is an error that names the line.
";

/// The file that `updraft init` writes: every setting with a value and what it means.
const SAMPLE: &str = include_str!("../commands/init/config.toml");

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever writes the pages anew says so by a variable")]
fn docs_reference_says_what_the_program_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let mut command = CliArgs::command();
    command.build();
    let mut commands = COMMANDS.to_owned();
    describe(&command, "updraft", &mut commands);
    for (file, text) in [("commands.md", commands), ("settings.md", settings())] {
        let path = folder.join(file);
        if std::env::var("UPDRAFT_WRITE_REFERENCE").is_ok() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "docs/reference/{file} is out of date: run `cargo xtask reference --write`");
    }
}

/// A command and those below it.
fn describe(command: &clap::Command, name: &str, text: &mut String) {
    if name != "updraft" {
        let level = if name.split(' ').count() > 2 { "###" } else { "##" };
        let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string);
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ");
        let about = about.unwrap_or_default();
        let _ = write!(text, "\n{level} `{name}`\n\n{}.\n\n```text\n{usage}\n```\n", about.trim_end_matches('.'));
        let listed = |arg: &&clap::Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
        let args: Vec<String> = command.get_arguments().filter(listed).map(row).collect();
        if !args.is_empty() {
            let _ = write!(text, "\n| argument | means |\n|---|---|\n{}", args.concat());
        }
        if let Some(after) = command.get_after_help() {
            let after = after.to_string();
            let (words, examples) = after.split_once("Example").unwrap_or((after.as_str(), ""));
            if !words.trim().is_empty() {
                let _ = write!(text, "\n{}\n", words.trim());
            }
            if let Some((_, examples)) = examples.split_once('\n') {
                let lines: Vec<&str> = examples.lines().map(str::trim).collect();
                let _ = write!(text, "\n```sh\n{}\n```\n", lines.join("\n").trim());
            }
        }
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        describe(sub, &format!("{name} {}", sub.get_name()), text);
    }
}

fn row(arg: &clap::Arg) -> String {
    let values: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let takes = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let name = format!("{} {takes}", names.join(", "));
    let mut about = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let possible: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !possible.is_empty() && arg.get_action().takes_values() {
        about = format!("{about}: {}", possible.join(", "));
    }
    let defaults = arg.get_default_values().iter().map(|value| value.display().to_string());
    let defaults: Vec<String> = defaults.filter(|value| !value.is_empty()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        about = format!("{about} (default: `{}`)", defaults.join(", "));
    }
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let cell = |text: &str| text.trim().replace('|', "\\|");
    format!("| `{}` | {} |\n", cell(&name), cell(&about))
}

/// Every setting of the sample, with its default. A setting that the sample leaves out fails the test.
fn settings() -> String {
    let defaults = updraft_workbench::settings::EffectiveSettings::default().list();
    let default = |name: &str| match name {
        // `approvals` is listed in its place, and calls this `ask`.
        "mode" => Some("\"workspace\"".to_owned()),
        _ => defaults.iter().find(|(one, ..)| one == name).map(|(_, value, _)| value.clone()),
    };
    let mut text = SETTINGS.to_owned();
    text += "\n## Without a table\n\n| setting | default | means |\n|---|---|---|\n";
    let (mut table, mut named) = (String::new(), Vec::new());
    for line in SAMPLE.lines().filter_map(|line| line.strip_prefix("# ")) {
        let (line, about) = line.split_once(" # ").unwrap_or((line, ""));
        let (line, about) = (line.trim(), about.trim().replace('|', "\\|"));
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = format!("{name}.");
            let about = if about.is_empty() { String::new() } else { format!("{about}.\n\n") };
            let about =
                about.chars().take(1).flat_map(char::to_uppercase).chain(about.chars().skip(1)).collect::<String>();
            let _ = write!(text, "\n## `[{name}]`\n\n{about}| setting | default | means |\n|---|---|---|\n");
        } else if let Some((name, value)) = line.split_once(" = ") {
            let whole = format!("{table}{name}");
            let given = default(&whole).unwrap_or_default();
            let sample = if given == value { String::new() } else { format!("for example `{value}`") };
            let given = if given.is_empty() { given } else { format!("`{given}`") };
            let parts: Vec<&str> = [about.as_str(), &sample].into_iter().filter(|part| !part.is_empty()).collect();
            let _ = writeln!(text, "| `{name}` | {given} | {} |", parts.join("; "));
            named.push(whole);
        }
    }
    // `mode` sets the same.
    let left_out = |(name, ..): &&(String, String, String)| !named.contains(name) && name != "approvals";
    let left_out: Vec<&str> = defaults.iter().filter(left_out).map(|(name, ..)| name.as_str()).collect();
    assert!(left_out.iter().all(|name| name.starts_with("step_budget.")), "not in init/config.toml: {left_out:?}");
    text
}
