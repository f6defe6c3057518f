//! `updraft doctor`: what works here, what doesn't, and what to do about it.

use std::path::Path;

use serde_json::json;
use updraft_knowledge::MemoryStore;
use updraft_mcp::config::TransportConfig;
use updraft_models::{ModelAccess, choose, providers};
use updraft_run::RunId;
use updraft_sandbox::SandboxLevel;
use updraft_tools::Workspace;
use updraft_workbench::Flags;

use super::sandbox;
use crate::args::WorkspaceFlags;
use crate::fault::{CliError, CliExitCode};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::servers::configured;
use crate::settings::{TrustState, WorkspaceSettings};
use crate::{agents, confinement, journal, model_access, runtime, sandbox_probe, tools};

/// Less free space than this is worth a warning.
const LITTLE_ROOM: u64 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckStatus {
    Ok,
    Warn,
    Fail,
}

/// The result of one check.
struct DoctorCheck {
    health: CheckStatus,
    what: &'static str,
    found: String,
    advice: String,
}

fn check(health: CheckStatus, what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> DoctorCheck {
    DoctorCheck { health, what, found: found.into(), advice: advice.into() }
}

fn ok(what: &'static str, found: impl Into<String>) -> DoctorCheck {
    check(CheckStatus::Ok, what, found, "")
}

fn failed(what: &'static str, fault: impl Into<CliError>) -> DoctorCheck {
    let fault = fault.into();
    check(CheckStatus::Fail, what, fault.message, fault.hints.join("; "))
}

pub(crate) fn run(folders: &AppFolders, args: &WorkspaceFlags) -> CliExitCode {
    let mut checks = vec![ok("version", format!("updraft {}", env!("CARGO_PKG_VERSION")))];
    checks.push(journal(folders));
    checks.extend(memory(folders));
    checks.push(room(folders));
    checks.extend(system());
    match folders::workspace(args.workspace.as_deref()) {
        Ok(workspace) => checks.extend(in_workspace(folders, &workspace)),
        Err(fault) => checks.extend([failed("workspace", fault), confinement(folders, None)]),
    }
    print(&checks, args.json);
    if checks.iter().any(|check| check.health == CheckStatus::Fail) { CliExitCode::Failed } else { CliExitCode::Done }
}

fn print(checks: &[DoctorCheck], as_json: bool) {
    let paint = Paint::for_stdout();
    for DoctorCheck { health, what, found, advice } in checks {
        let word = match health {
            CheckStatus::Ok => "ok",
            CheckStatus::Warn => "warn",
            CheckStatus::Fail => "fail",
        };
        if as_json {
            out::json(&json!({ "status": word, "check": what, "found": found, "advice": advice }));
            continue;
        }
        let shown = format!("{word:4}");
        let shown = match health {
            CheckStatus::Ok => paint.green(&shown),
            CheckStatus::Warn => paint.yellow(&shown),
            CheckStatus::Fail => paint.red(&shown),
        };
        out::line(&format!("{shown}  {what:10}  {found}"));
        if !advice.is_empty() {
            out::line(&format!("      {:10}  → {advice}", ""));
        }
    }
}

/// Opens the journal and asks for a lease on a run that does not exist, to see that the writer answers.
fn journal(folders: &AppFolders) -> DoctorCheck {
    let tried = journal::open(folders).map_err(CliError::from).and_then(|journal| {
        let probe = RunId::parse("doctor").map_err(|bad| CliError::failed(bad.to_string()))?;
        let count = journal.list(&updraft_journal::RunFilter::default())?.len();
        runtime::block_on(async {
            let asked = journal.acquire(&probe).await;
            journal.close().await;
            match asked {
                Ok(_) | Err(updraft_journal::Error::UnknownRun { .. }) => Ok(count),
                Err(other) => Err(other.into()),
            }
        })
    });
    match tried {
        Ok(count) => ok("journal", format!("{} can be written; {count} runs", folders.journal().display())),
        Err(fault) => failed("journal", fault),
    }
}

/// Whether the long-term memory can be read, if there is one.
fn memory(folders: &AppFolders) -> Option<DoctorCheck> {
    let file = folders.memory();
    if !file.exists() {
        return None;
    }
    let counted = MemoryStore::open(&file).and_then(|store| Ok(store.list(&[])?.len()));
    Some(match counted {
        Ok(count) => ok("memory", format!("{count} remembered in {}", file.display())),
        Err(error) => check(
            CheckStatus::Fail,
            "memory",
            updraft_run::error_chain(&error),
            "runs begin without memories; restore the file, or move it away to begin anew",
        ),
    })
}

fn room(folders: &AppFolders) -> DoctorCheck {
    let folder = folders.data.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    match free_in(folder) {
        Ok(free) => {
            let found = format!("{:.1} GiB free in {}", free as f64 / (1_u64 << 30) as f64, folder.display());
            if free < LITTLE_ROOM {
                check(
                    CheckStatus::Warn,
                    "disk",
                    found,
                    "free some space; `updraft prune --older-than 30d` removes old runs",
                )
            } else {
                ok("disk", found)
            }
        }
        Err(error) => check(CheckStatus::Warn, "disk", error.to_string(), ""),
    }
}

/// Free bytes on the disk of a folder.
#[cfg(unix)]
fn free_in(folder: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_in(_: &Path) -> std::io::Result<u64> {
    Err(std::io::Error::other("free disk space is not checked on this system"))
}

/// The system features that Updraft needs. Other systems than Linux are untested.
fn system() -> Vec<DoctorCheck> {
    if !cfg!(target_os = "linux") {
        let found = format!("Updraft is untested on {}", std::env::consts::OS);
        let files = if cfg!(windows) {
            "file tools check a path before they use it, and another process could change it in between"
        } else {
            "file tools resolve paths one part at a time, without the kernel's help"
        };
        return vec![check(CheckStatus::Warn, "system", found, format!("{files}; see docs/sandbox.md"))];
    }
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let mut checks = Vec::new();
    if let Some(release) = read("/proc/sys/kernel/osrelease") {
        let mut parts = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0_u32));
        let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        checks.push(if version >= (5, 6) {
            ok("kernel", format!("Linux {release}"))
        } else {
            check(CheckStatus::Fail, "kernel", format!("Linux {release}"), "tools need openat2: Linux 5.6 or newer")
        });
    }
    if read("/proc/sys/kernel/random/boot_id").is_none() {
        checks.push(check(
            CheckStatus::Warn,
            "process",
            "/proc does not show which processes are alive",
            "runs of ended processes are noticed 15 s later",
        ));
    }
    checks
}

/// How commands can be confined here, and what the settings say.
fn confinement(folders: &AppFolders, settings: Option<&WorkspaceSettings>) -> DoctorCheck {
    let probe = match runtime::block_on(async { Ok(sandbox_probe::anew(folders).await?) }) {
        Ok(probe) => probe,
        Err(fault) => return failed("sandbox", fault),
    };
    let lacks = probe.missing.iter().map(|missing| format!("{}: {}", missing.what, missing.remedy));
    let lacks = lacks.collect::<Vec<_>>().join("; ");
    let Some(settings) = settings else {
        return match probe.level {
            SandboxLevel::Full => check(CheckStatus::Ok, "sandbox", "level full", lacks),
            SandboxLevel::Landlock => check(CheckStatus::Warn, "sandbox", "level landlock", lacks),
            SandboxLevel::None => check(CheckStatus::Fail, "sandbox", "agents cannot run commands here", lacks),
        };
    };
    let wanted = settings.effective.sandbox.level.value;
    let found = in_words(&sandbox::given_to_a_run(settings, &probe));
    match (wanted, confinement::level_at(wanted, &probe)) {
        (_, Err(fault)) => failed("sandbox", fault),
        (Some(SandboxLevel::None), Ok(_)) => {
            check(CheckStatus::Warn, "sandbox", found, "`level = \"full\"` confines them")
        }
        (None, Ok(_)) if probe.level == SandboxLevel::None => check(
            CheckStatus::Fail,
            "sandbox",
            "agents cannot run commands here, unless you choose the level `none`",
            lacks,
        ),
        (_, Ok(_)) if probe.level == SandboxLevel::Full => check(CheckStatus::Ok, "sandbox", found, lacks),
        (_, Ok(_)) => check(CheckStatus::Warn, "sandbox", found, lacks),
    }
}

/// What a run gets, in one line: level and network, and other settings.
fn in_words(rows: &[sandbox::PolicyRow]) -> String {
    let is_shown =
        |row: &&sandbox::PolicyRow| ["level", "network"].contains(&row.name.as_str()) || row.from != "default";
    let words = rows.iter().filter(is_shown).map(|row| match row.from.as_str() {
        "default" => format!("{} {}", row.name, row.value),
        from => format!("{} {} ({from})", row.name, row.value),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn in_workspace(folders: &AppFolders, workspace: &Path) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    checks.push(match Workspace::open(workspace) {
        Ok(_) => ok("workspace", workspace.display().to_string()),
        Err(error) => failed("workspace", error),
    });
    let settings = match WorkspaceSettings::load(folders, workspace, &Flags::default()) {
        Ok(settings) => settings,
        Err(fault) => {
            checks.extend([failed("settings", fault), confinement(folders, None)]);
            return checks;
        }
    };
    let file = folders.settings();
    let settled = if file.exists() { "" } else { "the defaults; there is no file " };
    checks.push(ok("settings", format!("{settled}{}", file.display())));
    checks.push(confinement(folders, Some(&settings)));
    let fits = confinement::confinement(folders, &settings).policy_for(workspace).check();
    if let Err(error) = &fits {
        let found = format!("agents cannot run commands in this folder: {error}");
        checks.push(check(
            CheckStatus::Warn,
            "workspace",
            found,
            "work in a project folder, or choose one with `--workspace`",
        ));
    }
    checks.push(match &settings.trust_state {
        TrustState::Trusted => ok("trust", "the workspace is trusted"),
        TrustState::Changed => check(
            CheckStatus::Warn,
            "trust",
            "the workspace has changed since it was trusted",
            "`updraft trust` shows its files again",
        ),
        TrustState::Stranger(files) if files.is_empty() => ok("trust", "the workspace has no settings of its own"),
        TrustState::Stranger(files) => check(
            CheckStatus::Warn,
            "trust",
            format!(
                "the workspace is not trusted, so these files are not fully used: {}",
                out::harmless(&files.iter().take(3).cloned().collect::<Vec<_>>().join(", "))
            ),
            "`updraft trust` shows all of it",
        ),
    });
    checks.push(match runtime::block_on(async { Ok(agents::usable(folders, workspace, &settings).await?) }) {
        Ok(agents) if agents.left_out().next().is_some() => {
            let why: Vec<String> = agents.left_out().map(|(name, why)| format!("`{name}`: {why}")).collect();
            check(
                CheckStatus::Warn,
                "agents",
                format!("left out: {}", out::harmless(&why.join("; "))),
                "correct the files",
            )
        }
        Ok(agents) => ok("agents", format!("{} agents", agents.iter().count())),
        Err(fault) => failed("agents", fault),
    });
    checks.extend(fits.is_ok().then(|| python(folders, &settings, workspace)));
    checks.push(browser(folders, &settings));
    checks.extend(servers(folders, &settings, workspace));
    checks.extend(models(folders, &settings, workspace));
    checks
}

/// Whether agents can run Python here.
fn python(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> DoctorCheck {
    let confinement = confinement::confinement(folders, settings);
    let found = runtime::block_on(async { Ok(tools::python(settings).find(&confinement, workspace).await) });
    match found {
        Ok(Ok(found)) => {
            let (major, minor, patch) = found.version;
            ok("python", format!("{} is Python {major}.{minor}.{patch}", found.program))
        }
        Ok(Err(failure)) => check(CheckStatus::Warn, "python", "agents cannot run Python here", failure.message),
        Err(fault) => failed("python", fault),
    }
}

/// Which browser agents can use. It is not started.
fn browser(folders: &AppFolders, settings: &WorkspaceSettings) -> DoctorCheck {
    match tools::browser(folders, settings).find() {
        Ok(program) => ok("browser", program.display().to_string()),
        Err(why) => check(
            CheckStatus::Warn,
            "browser",
            "agents cannot use pages here, only fetch them",
            format!("{why}: `program` under `[browser]` in the settings, or UPDRAFT_BROWSER"),
        ),
    }
}

/// What is known about the MCP servers, without starting any.
fn servers(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> Vec<DoctorCheck> {
    let found = configured(folders, settings, workspace);
    let known = match runtime::block_on(async { Ok(found.servers(folders, settings, workspace).await?) }) {
        Ok(servers) => servers,
        Err(fault) => return vec![failed("servers", fault)],
    };
    let words = found.servers.iter().map(|(server, _)| {
        let known = known.get(&server.name).ok().and_then(|server| server.manifest());
        let state = match known {
            _ if !server.enabled => "disabled".to_owned(),
            Some(known) => format!("{} tools when it was last started", known.tools.len()),
            None => "not started yet".to_owned(),
        };
        format!("{} ({state})", out::harmless(&server.name))
    });
    let words = words.collect::<Vec<_>>().join(", ");
    let mut checks = vec![if words.is_empty() {
        ok("servers", "no MCP servers are configured")
    } else {
        ok("servers", format!("MCP: {words}; `updraft mcp check` tests them"))
    }];
    checks.extend(found.faults.iter().map(|fault| {
        check(CheckStatus::Warn, "servers", out::harmless(&fault.to_string()), "the other servers are still used")
    }));
    for (server, _) in found.servers.iter().filter(|(server, _)| server.enabled) {
        let TransportConfig::Stdio { command, .. } = &server.link else { continue };
        if !command.contains('/') && folders::on_path(command).is_none() {
            let found =
                format!("`{}` of `{}` is not installed here", out::harmless(command), out::harmless(&server.name));
            checks.push(check(CheckStatus::Warn, "servers", found, "install it, or give the full path of its program"));
        }
    }
    checks
}

fn models(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> Vec<DoctorCheck> {
    let access: ModelAccess = model_access::access(folders, settings, workspace);
    let with_key = providers().into_iter().map(|provider| provider.name).filter(|name| access.key(name).is_some());
    let with_key: Vec<&str> = with_key.collect();
    let keys = if with_key.is_empty() { "none set".to_owned() } else { format!("set for {}", with_key.join(", ")) };
    let spec = settings.effective.model.value.clone();
    let chosen = runtime::block_on(async { Ok(choose(&spec, &access).await?) });
    vec![
        ok("keys", keys),
        match chosen {
            Ok(chosen) if chosen.model.name() == "builtin" => check(
                CheckStatus::Warn,
                "model",
                chosen.why,
                "set GEMINI_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama or llama.cpp; see `updraft models`",
            ),
            Ok(chosen) => ok("model", format!("{}; `updraft models --check` tests it", chosen.why)),
            Err(fault) => failed("model", fault),
        },
    ]
}
