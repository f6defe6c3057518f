//! `updraft tools`: lists every tool with its schema, checks drop-in tools, and calls one tool through the same
//! dispatcher as agents do.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use updraft_run::{Reply, ToolCall, ToolCallOutcome as Ended, outcome_words};
use updraft_tools::{CacheUse, CallContext, CallLog, Dispatcher, ListedFile, Place, Severity, Workspace};
use updraft_workbench::Flags;

use crate::args::{self, ToolsArgs, ToolsCommand};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::WorkspaceSettings;
use crate::{dropins, journal, runtime, servers, tools};

pub(crate) fn run(folders: &AppFolders, args: ToolsArgs) -> CliResult {
    match args.command {
        Some(ToolsCommand::Call(call)) => runtime::block_on(make(folders, *call)),
        Some(ToolsCommand::Check(place)) => runtime::block_on(check(folders, place)),
        None => runtime::block_on(async {
            let workspace = folders::workspace(args.place.workspace.as_deref())?;
            let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
            let servers::ServerTools { dispatcher, servers, remarks } =
                servers::dispatcher(folders, &settings, &workspace, servers::WantedTools::All, &out::tell()).await?;
            for remark in remarks {
                out::note(&out::harmless(&remark));
            }
            list(&dispatcher, args.place.json);
            servers.close().await;
            Ok(CliExitCode::Done)
        }),
    }
}

fn list(dispatcher: &Dispatcher, as_json: bool) {
    let paint = Paint::for_stdout();
    let mut text = String::new();
    for tool in dispatcher.registry().iter() {
        let (spec, traits) = (tool.spec(), tool.traits());
        if as_json {
            let line = json!({ "name": spec.name, "description": spec.description, "parameters": spec.parameters,
                               "output": tool.output(), "group": traits.group, "class": traits.class,
                               "sends": traits.sends, "destroys": traits.destroys,
                               "source": tool.source().to_string() });
            let _ = writeln!(text, "{line}");
        } else {
            let _ = writeln!(
                text,
                "{}  {}",
                paint.bold(&spec.name),
                paint.dim(&format!("group {}, {}", traits.group, tool.source()))
            );
            let description = out::harmless(&spec.description);
            let _ = writeln!(text, "  {description}\n  {}\n", out::harmless(&parameters(&spec.parameters)));
        }
    }
    out::print(&text);
}

/// Checks every drop-in file as it is now, and prints its tools and problems.
async fn check(folders: &AppFolders, args: args::WorkspaceFlags) -> CliResult {
    let workspace = folders::workspace(args.workspace.as_deref())?;
    let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
    let (dispatcher, listing) = tools::with_listing(folders, &workspace, &settings, CacheUse::Anew).await?;
    let paint = Paint::for_stdout();
    let mut text = String::new();
    for file in &listing.files {
        if args.json {
            let line = json!({ "file": file.file, "tools": file.tools, "problems": file.problems });
            let _ = writeln!(text, "{line}");
            continue;
        }
        let _ = writeln!(text, "{}", paint.bold(&out::harmless(&file.file)));
        for name in &file.tools {
            let known = dispatcher.registry().get(name).map(|tool| parameters(&tool.spec().parameters));
            let _ = writeln!(text, "  {}  {name}{}", paint.green("tool   "), known.unwrap_or_default());
        }
        for problem in &file.problems {
            let word = match problem.severity {
                Severity::Note => paint.dim("note   "),
                Severity::Warning => paint.yellow("warning"),
                Severity::Error => paint.red("error  "),
            };
            let _ = writeln!(text, "  {word}  {}", out::harmless(&dropins::line(file, problem)));
        }
    }
    out::print(&text);
    if listing.files.is_empty() && !args.json {
        let looked_in = settings.effective.tools.folders.value.join(", ");
        out::note(&format!(
            "no tools of your own here; looked in {looked_in} and `{}`",
            folders.config.join("tools").display()
        ));
    }
    let is_faulty = |file: &ListedFile| file.problems.iter().any(|problem| problem.severity == Severity::Error);
    Ok(if listing.files.iter().any(is_faulty) { CliExitCode::Failed } else { CliExitCode::Done })
}

/// The parameters in one line; optional ones have a question mark.
fn parameters(schema: &Value) -> String {
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let words = properties.map(|(name, schema)| {
        let kind = schema["type"].as_str().unwrap_or("any");
        format!("{name}{}: {kind}", if required(name) { "" } else { "?" })
    });
    format!("({})", words.collect::<Vec<_>>().join(", "))
}

async fn make(folders: &AppFolders, args: args::ToolCallArgs) -> CliResult {
    let workspace = folders::workspace(args.workspace.as_deref())?;
    let settings = WorkspaceSettings::load(folders, &workspace, &args.confine.flags().alone())?;
    let (own, listing) = tools::with_listing(folders, &workspace, &settings, CacheUse::Kept).await?;
    if own.registry().get(&args.name).is_some() {
        let called = call(&own, &workspace, args, Vec::new()).await;
        own.release(None).await;
        return called;
    }
    // Servers are started only if none of our tools has this name, and only those that may have it.
    let wanted = [args.name.clone()];
    let wanted = servers::WantedTools::Of(&wanted);
    let servers::ServerTools { dispatcher, servers, mut remarks } =
        servers::dispatcher(folders, &settings, &workspace, wanted, &out::tell()).await?;
    // Problems of other files are shown only if they may be the reason that the tool is missing.
    remarks.retain(|remark| !dropins::remarks(&listing).contains(remark));
    remarks.extend(dropins::remarks_on(&listing, &args.name));
    let name = servers.resolve(&args.name).unwrap_or(args.name);
    let called = call(&dispatcher, &workspace, args::ToolCallArgs { name, ..args }, remarks).await;
    servers.close().await;
    called
}

async fn call(dispatcher: &Dispatcher, workspace: &Path, args: args::ToolCallArgs, hints: Vec<String>) -> CliResult {
    let given: Value = serde_json::from_str(&args.args).map_err(|error| {
        CliError::usage(format!("the arguments are not JSON: {error}")).hint("for instance '{\"path\": \"README.md\"}'")
    })?;
    let registry = dispatcher.registry();
    let Some(tool) = registry.get(&args.name) else {
        let close = registry.close_names(&args.name).join(", ");
        let hint =
            if close.is_empty() { "`updraft tools` lists them".to_owned() } else { format!("did you mean {close}?") };
        let fault = CliError::usage(format!("there is no tool named `{}`", args.name)).hint(hint);
        return Err(hints.into_iter().fold(fault, CliError::hint));
    };
    if tool.spec().name == updraft_run::ASK_USER {
        return Err(CliError::usage(format!(
            "`{}` asks the user during a run; it cannot be called on its own",
            args.name
        )));
    }
    let place = Place { workspace: Workspace::open(workspace)? };
    let call = ToolCall { id: "1".into(), name: args.name, args: given, fault: None };
    let mut context = CallContext::new(place, journal::new_id()?.to_string());
    context.log = CallLog::to(|line| out::note(&out::harmless(line)));
    // By typing the call, the user has allowed it.
    context.around.reaches_outside = true;
    context.around.by_code = true;
    let called = dispatcher.call(&call, &context).await;
    let is_good = matches!(&called.reply, Reply::Output(output) if !output.is_error);
    if args.json {
        out::json(&json!({ "ok": is_good, "reply": called.reply }));
    } else if is_good {
        out::answer(&outcome_words(&Ended::Replied(called.reply)));
    } else {
        out::note(&format!("error: {}", out::harmless(&outcome_words(&Ended::Replied(called.reply)))));
    }
    Ok(if is_good { CliExitCode::Done } else { CliExitCode::Failed })
}
