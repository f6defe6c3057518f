//! Changes the user's own list of servers. Keys are never written to it, only the variables that hold them.

use std::collections::BTreeMap;
use std::path::Path;

use updraft_mcp::config::{ConfigFault as Wrong, ServerFile as Theirs, WrittenGrants, WrittenServer};

use crate::args::McpAdd;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out;
use crate::servers::{SecretFiles, ServerListFile, cut_off, forget_fetched, own_file, unset_variables, written_in};

pub(super) fn add(folders: &AppFolders, args: McpAdd) -> CliResult {
    let mut words = args.command.into_iter();
    let grants = WrittenGrants { network: args.network, read: args.read, write: args.write };
    let server = WrittenServer {
        kind: args.transport,
        command: words.next(),
        args: words.collect(),
        env: pairs(&args.env, '=', "--env NAME=VALUE")?,
        cwd: args.cwd,
        url: args.url,
        headers: pairs(&args.headers, ':', "--header 'NAME: VALUE'")?,
        enabled: true,
        trust: args.trust_hints,
        sandbox: (grants != WrittenGrants::default()).then_some(grants),
        ..WrittenServer::default()
    };
    // Whether a variable is set matters only when it is used.
    server.mean(&args.name, &|_| Some("x".to_owned())).map_err(|(field, what)| {
        CliError::usage(format!("`{field}`: {what}")).hint("`updraft mcp add --help` shows examples")
    })?;
    let file = own_file(folders);
    let mut own = ServerListFile::read(&file)?;
    if own.has(&args.name) {
        return Err(CliError::usage(format!("there is already a server named `{}`", args.name))
            .hint(format!("`updraft mcp remove {}` first", args.name)));
    }
    own.insert(&args.name, &server);
    own.save(&file)?;
    out::note(&format!(
        "added `{}` to {}\n  hint: `updraft mcp check {}` tests it",
        args.name,
        file.display(),
        args.name
    ));
    let reaches = server.sandbox.iter().any(|grants| grants.network.as_deref().is_some_and(|word| word != "none"));
    if let Some(advice) = cut_off(server.command.iter().chain(&server.args).map(String::as_str)).filter(|_| !reaches) {
        out::note(&format!("  hint: {advice}; `updraft mcp remove {}` first", args.name));
    }
    Ok(CliExitCode::Done)
}

pub(super) fn remove(folders: &AppFolders, name: &str) -> CliResult {
    let file = own_file(folders);
    let mut own = ServerListFile::read(&file)?;
    if !own.remove(name) {
        return Err(CliError::usage(format!("there is no server named `{name}` in {}", file.display()))
            .hint("`updraft mcp list` says where each is configured"));
    }
    own.save(&file)?;
    forget_fetched(folders, name);
    let forgot =
        SecretFiles::new(folders).forget(name).map_err(|error| CliError::file("forget the login in", &file, &error))?;
    let login = if forgot { ", and its login" } else { "" };
    out::note(&format!("removed `{name}` from {}{login}", file.display()));
    Ok(CliExitCode::Done)
}

pub(super) fn import(folders: &AppFolders, from: &Path) -> CliResult {
    if !from.is_file() {
        return Err(CliError::usage(format!("there is no file `{}`", from.display())));
    }
    let file = own_file(folders);
    let mut own = ServerListFile::read(&file)?;
    let Theirs { servers: found, mut faults, left: strange } = written_in(from)?;
    let found = found.into_iter().map(|(name, server)| (name, server.without_inputs()));
    let (found, unfit): (Vec<_>, Vec<_>) = found.partition(|(name, server)| server.fault(name).is_none());
    for (name, server) in unfit {
        let (field, what) = server.fault(&name).unwrap_or_default();
        faults.push(Wrong { file: from.display().to_string(), server: Some(name), field: Some(field), what });
    }
    for fault in &faults {
        out::note(&format!("left out: {}", out::harmless(&fault.to_string())));
    }
    if found.is_empty() && !faults.is_empty() {
        return Err(CliError::config(format!("nothing could be imported from `{}`", from.display())));
    }
    let (mut taken, mut left, mut off, mut asks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (name, server) in found {
        if own.has(&name) {
            left.push(name);
            continue;
        }
        let (server, keys) = server.without_keys(&name);
        if !keys.is_empty() {
            out::note(&format!("`{name}`: its keys are not copied; they are read from {}", keys.join(", ")));
        }
        asks.extend(unset_variables(&server));
        if let Some(other) = &server.env_file {
            out::note(&format!("`{name}`: its `envFile` {other} is not read; write its variables into `env`"));
        }
        if let Some((_, fields)) = strange.iter().find(|(of, _)| *of == name) {
            out::note(&out::harmless(&format!("`{name}`: not imported: {}", fields.join(", "))));
        }
        off.extend((!server.enabled).then(|| name.clone()));
        own.insert(&name, &server);
        taken.push(name);
    }
    own.save(&file)?;
    out::note(&format!("imported {} into {}", named(&taken), file.display()));
    if !off.is_empty() {
        out::note(&format!("disabled, as in that file: {}", named(&off)));
    }
    if !left.is_empty() {
        out::note(&format!("not imported, because you have servers of the same name: {}", named(&left)));
    }
    asks.sort();
    asks.dedup();
    if !asks.is_empty() {
        out::note(&format!("  hint: these variables must be set: {}", asks.join(", ")));
    }
    Ok(CliExitCode::Done)
}

fn named(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn pairs(list: &[String], between: char, form: &str) -> Result<BTreeMap<String, String>, CliError> {
    let pair = |text: &String| match text.split_once(between) {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(CliError::usage(format!("`{text}` is not of the form {form}"))),
    };
    list.iter().map(pair).collect()
}
