//! `updraft memory`: lists, finds, changes and forgets what is remembered between runs.

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use updraft_knowledge::{Memory, MemoryScope, NewMemory};
use updraft_run::Timestamp;
use updraft_tools::{MemoryAccess, seconds_now};
use updraft_workbench::{Flags, memory};

use crate::args::{MemoryArgs, MemoryCommand, MemoryScopeWord};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::WorkspaceSettings;
use crate::time_format;

/// A file to import with more bytes is refused.
const LONGEST_IMPORT: u64 = 64 << 20;

pub(crate) fn run(folders: &AppFolders, args: &MemoryArgs) -> CliResult {
    let folder = folders::workspace(args.workspace.as_deref())?;
    let settings = WorkspaceSettings::load(folders, &folder, &Flags::default())?;
    let memory = memory::access(folders, &folder, &settings);
    match args.command.as_ref().unwrap_or(&MemoryCommand::List) {
        MemoryCommand::List => list(&memory, args, &folder),
        MemoryCommand::Search { query, limit } => {
            let scopes = scopes(&memory, args, &folder)?;
            let found = memory.find(&query.join(" "), &scopes, *limit as usize).map_err(failed)?;
            print(&found, args.json);
            if found.is_empty() && !args.json {
                out::note("nothing that is remembered fits");
            }
            Ok(CliExitCode::Done)
        }
        MemoryCommand::Show { id } => {
            let found = find(&memory, *id)?;
            if args.json {
                out::json(&in_json(&found));
            } else {
                out::print(&in_full(&found));
            }
            Ok(CliExitCode::Done)
        }
        MemoryCommand::Add { text, scope, agent, pinned } => {
            let scope = match scope {
                MemoryScopeWord::User => MemoryScope::User,
                MemoryScopeWord::Workspace => MemoryScope::Workspace(folder.display().to_string()),
                MemoryScopeWord::Agent => MemoryScope::Agent(agent.clone().unwrap_or_default()),
            };
            let new = own(text, scope, *pinned)?;
            let (id, is_new) = memory.with(|store| store.add(&new, None, seconds_now())).map_err(failed)?;
            let words = if is_new { format!("remembered as {id}") } else { format!("known already, as {id}") };
            report(args.json, &json!({ "id": id, "new": is_new }), &words);
            Ok(CliExitCode::Done)
        }
        MemoryCommand::Edit { id, text, pinned } => {
            let before = find(&memory, *id)?.content;
            let pinned = pinned.unwrap_or(before.pinned);
            // What a person has read and written down again is theirs, wherever it came from.
            let content = match text {
                Some(text) => NewMemory { run: before.run, step: before.step, ..own(text, before.scope, pinned)? },
                None => NewMemory { pinned, ..before },
            };
            memory.with(|store| store.edit(*id, &content)).map_err(failed)?;
            report(args.json, &json!({ "id": id, "changed": true }), &format!("{id} changed"));
            Ok(CliExitCode::Done)
        }
        MemoryCommand::Forget { ids } => {
            for id in ids {
                find(&memory, *id)?;
                memory.with(|store| store.forget(*id)).map_err(failed)?;
                report(args.json, &json!({ "id": id, "forgotten": true }), &format!("{id} forgotten"));
            }
            Ok(CliExitCode::Done)
        }
        MemoryCommand::Export => {
            for memory in stored(&memory, &[])?.iter().rev() {
                out::json(&in_json(memory));
            }
            Ok(CliExitCode::Done)
        }
        MemoryCommand::Import { file } => import(&memory, file, args.json),
    }
}

/// Says what was done, in words or as JSON.
fn report(is_json: bool, value: &Value, words: &str) {
    if is_json {
        out::json(value);
    } else {
        out::note(words);
    }
}

/// The memories of these scopes; none if nothing was ever remembered.
fn stored(memory: &MemoryAccess, scopes: &[MemoryScope]) -> Result<Vec<Memory>, CliError> {
    if !memory.file().exists() {
        return Ok(Vec::new());
    }
    memory.with(|store| store.list(scopes)).map_err(failed)
}

/// The scopes that count here: the user's, the folder's, and those of all agents. None means all.
fn scopes(memory: &MemoryAccess, args: &MemoryArgs, folder: &Path) -> Result<Vec<MemoryScope>, CliError> {
    if args.all {
        return Ok(Vec::new());
    }
    let here = MemoryScope::Workspace(folder.display().to_string());
    let agents = stored(memory, &[])?.into_iter().map(|memory| memory.content.scope);
    let agents = agents.filter(|scope| matches!(scope, MemoryScope::Agent(_)));
    Ok([MemoryScope::User, here].into_iter().chain(agents).collect())
}

fn list(memory: &MemoryAccess, args: &MemoryArgs, folder: &Path) -> CliResult {
    let found = stored(memory, &scopes(memory, args, folder)?)?;
    print(&found, args.json);
    if found.is_empty() && !args.json {
        out::note(
            "nothing is remembered here\n  hint: `updraft memory add \"…\"`, or agents do it with the tool `remember`",
        );
    }
    Ok(CliExitCode::Done)
}

fn print(found: &[Memory], is_json: bool) {
    let paint = Paint::for_stdout();
    for memory in found {
        if is_json {
            out::json(&in_json(memory));
            continue;
        }
        let content = &memory.content;
        let pinned = if content.pinned { ", pinned" } else { "" };
        let outside = if content.origins.is_empty() { "" } else { ", from outside" };
        let about = format!("[{}{pinned}{outside}, {}]", whom(&content.scope), date(memory.made));
        out::line(&format!("{:>4}  {}  {}", memory.id, out::short(&content.text, 200), paint.dim(&about)));
    }
}

/// `user`, `workspace`, or `agent NAME`.
fn whom(scope: &MemoryScope) -> String {
    match scope {
        MemoryScope::User | MemoryScope::Workspace(_) => scope.word().to_owned(),
        MemoryScope::Agent(name) => format!("agent {}", out::on_one_line(name)),
    }
}

fn in_full(memory: &Memory) -> String {
    let content = &memory.content;
    let source = match content.run.as_str() {
        "" => "you".to_owned(),
        run => format!("run {run}, step {}", content.step),
    };
    let mut lines = vec![
        format!("{}\n", out::harmless(&content.text)),
        format!("  number   {}", memory.id),
        format!("  for      {} {}", content.scope.word(), out::on_one_line(content.scope.name())),
        format!("  pinned   {}", if content.pinned { "yes" } else { "no" }),
        format!("  source   {}", out::on_one_line(&source)),
        format!("  made     {}", date(memory.made)),
        format!("  used     {} times, last {}", memory.uses, memory.used.map_or_else(|| "never".to_owned(), date)),
    ];
    if !content.origins.is_empty() {
        lines.push(format!("  outside  {}", out::on_one_line(&content.origins.join(", "))));
        lines.push(
            "           not told on its own; `updraft memory edit` with your own words makes it yours".to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

fn date(seconds: i64) -> String {
    time_format::date_time(Timestamp(seconds.saturating_mul(1_000)))
}

fn in_json(found: &Memory) -> Value {
    let mut value = memory::in_json(found);
    let content = &found.content;
    (value["run"], value["step"], value["origins"]) = (json!(content.run), json!(content.step), json!(content.origins));
    (value["used"], value["uses"]) = (json!(found.used), json!(found.uses));
    value
}

/// Reads one memory a line, as `export` prints them: all, or none if a line is wrong.
fn import(memory: &MemoryAccess, file: &Path, is_json: bool) -> CliResult {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(LONGEST_IMPORT).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|open| open.take(LONGEST_IMPORT).read_to_string(&mut text))
    };
    read.map_err(|error| CliError::file("read", file, &error))?;
    let mut read = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| CliError::usage(format!("{}:{}: {why}", file.display(), at + 1));
        let value: Value = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let scope = match field("scope").as_str() {
            "user" => MemoryScope::User,
            "workspace" => MemoryScope::Workspace(field("name")),
            "agent" => MemoryScope::Agent(field("name")),
            other => return Err(wrong(format!("`scope` is `{other}`; expected user, workspace or agent"))),
        };
        let origins = value["origins"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let pinned = value["pinned"].as_bool().unwrap_or_default();
        let new = own(&field("text"), scope, pinned).map_err(|fault| wrong(fault.message))?;
        let new = NewMemory { run: field("run"), step: field("step"), origins: origins.collect(), ..new };
        read.push((new, value["made"].as_i64().unwrap_or_else(seconds_now)));
    }
    let (mut added, mut known) = (0, 0);
    for (new, made) in read {
        let (_, is_new) = memory.with(|store| store.add(&new, None, made)).map_err(failed)?;
        *(if is_new { &mut added } else { &mut known }) += 1;
    }
    let words = format!("{added} remembered, {known} known already");
    report(is_json, &json!({ "added": added, "known": known }), &words);
    Ok(CliExitCode::Done)
}

/// Something that a person wants remembered.
fn own(text: &str, scope: MemoryScope, pinned: bool) -> Result<NewMemory, CliError> {
    let text = text.trim().to_owned();
    if text.is_empty() || text.len() > updraft_knowledge::LONGEST_MEMORY {
        let most = updraft_knowledge::LONGEST_MEMORY;
        return Err(CliError::usage(format!("the text has {} bytes; expected from 1 to {most}", text.len())));
    }
    if scope != MemoryScope::User && scope.name().is_empty() {
        return Err(CliError::usage(format!("the {} that it is for has no name", scope.word())));
    }
    Ok(NewMemory { text, scope, pinned, run: String::new(), step: String::new(), origins: Vec::new() })
}

fn find(memory: &MemoryAccess, id: i64) -> Result<Memory, CliError> {
    let found = if memory.file().exists() { memory.with(|store| store.get(id)).map_err(failed)? } else { None };
    found.ok_or_else(|| CliError::usage(format!("there is no memory {id}")).hint("`updraft memory --all` lists them"))
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of `map_err`")]
fn failed(error: updraft_knowledge::Error) -> CliError {
    CliError::failed(updraft_run::error_chain(&error))
}
