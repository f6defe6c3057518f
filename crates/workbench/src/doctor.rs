//! What works in a folder, what does not, and what to do about it.

use std::collections::BTreeSet;
use std::path::Path;

use futures_util::future::BoxFuture;
use serde::Serialize;
use updraft_journal::Journal;
use updraft_knowledge::MemoryStore;
use updraft_mcp::config::TransportConfig;
use updraft_models::{ModelAccess, choose, providers};
use updraft_run::RunId;
use updraft_sandbox::SandboxLevel;
use updraft_tools::Workspace;

use crate::confinement::{self, PolicyRow};
use crate::fault::Fault;
use crate::flags::Flags;
use crate::folders::{self, AppFolders};
use crate::servers::configured;
use crate::settings::{TrustState, WorkspaceSettings};
use crate::untrusted::harmless;
use crate::{agents, journal, model_access, sandbox_probe, tools};

/// Less free space than this is worth a warning.
const LITTLE_ROOM: u64 = 1 << 30;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Nothing is to be done.
    Ok,
    /// Something is missing, and most things work.
    Warn,
    /// Something important does not work.
    Fail,
}

impl CheckStatus {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            CheckStatus::Ok => "ok",
            CheckStatus::Warn => "warn",
            CheckStatus::Fail => "fail",
        }
    }
}

/// The result of one check.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorCheck {
    /// How it ended.
    pub status: CheckStatus,
    /// What was checked.
    #[serde(rename = "check")]
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What to do about it; empty if there is nothing to do.
    pub advice: String,
}

fn check(status: CheckStatus, what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> DoctorCheck {
    DoctorCheck { status, what, found: found.into(), advice: advice.into() }
}

fn ok(what: &'static str, found: impl Into<String>) -> DoctorCheck {
    check(CheckStatus::Ok, what, found, "")
}

fn failed(what: &'static str, fault: impl Into<Fault>) -> DoctorCheck {
    let fault = fault.into();
    check(CheckStatus::Fail, what, fault.message, fault.hints.join("; "))
}

/// Checks everything that runs in a folder need. A journal that is already open is used as it is.
pub fn examine<'a>(
    folders: &'a AppFolders,
    workspace: Result<&'a Path, &'a Fault>,
    journal: Option<&'a Journal>,
) -> BoxFuture<'a, Vec<DoctorCheck>> {
    Box::pin(async move {
        let mut checks = vec![ok("version", format!("updraft {}", env!("CARGO_PKG_VERSION")))];
        checks.push(journal_state(folders, journal).await);
        checks.extend(memory(folders));
        checks.push(room(folders));
        checks.extend(system());
        match workspace {
            Ok(workspace) => checks.extend(in_workspace(folders, workspace).await),
            Err(fault) => checks.extend([failed("workspace", fault.clone()), confinement(folders, None).await]),
        }
        checks
    })
}

/// Asks for a lease on a run that does not exist, to see that the writer of the journal answers.
async fn journal_state(folders: &AppFolders, open: Option<&Journal>) -> DoctorCheck {
    let count = match open {
        Some(journal) => tried(journal).await,
        None => match journal::open(folders) {
            Ok(journal) => {
                let count = tried(&journal).await;
                journal.close().await;
                count
            }
            Err(fault) => Err(fault),
        },
    };
    match count {
        Ok(count) => ok("journal", format!("{} can be written; {count} runs", folders.journal().display())),
        Err(fault) => failed("journal", fault),
    }
}

async fn tried(journal: &Journal) -> Result<usize, Fault> {
    let probe = RunId::parse("doctor").map_err(|bad| Fault::failed(bad.to_string()))?;
    let count = journal.list(&updraft_journal::RunFilter::default())?.len();
    match journal.acquire(&probe).await {
        Ok(_) | Err(updraft_journal::Error::UnknownRun { .. }) => Ok(count),
        Err(other) => Err(other.into()),
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
/// Programs of the user that agents' commands do not see, so that others run in their place.
fn hidden_programs(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> Option<DoctorCheck> {
    let hidden = confinement::hidden_programs(folders, settings, workspace);
    let shown: BTreeSet<String> = hidden.iter().map(|program| format!("--read {}", program.folder.display())).collect();
    let found: Vec<String> = hidden.iter().map(ToString::to_string).collect();
    let advice = format!("`{}` shows them", shown.into_iter().collect::<Vec<_>>().join(" "));
    (!found.is_empty()).then(|| check(CheckStatus::Warn, "programs", harmless(&found.join("; ")), advice))
}

async fn confinement(folders: &AppFolders, settings: Option<&WorkspaceSettings>) -> DoctorCheck {
    let probe = match sandbox_probe::anew(folders).await {
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
    let found = in_words(&confinement::given_to_a_run(settings, &probe));
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
fn in_words(rows: &[PolicyRow]) -> String {
    let is_shown = |row: &&PolicyRow| ["level", "network"].contains(&row.name.as_str()) || row.from != "default";
    let words = rows.iter().filter(is_shown).map(|row| match row.from.as_str() {
        "default" => format!("{} {}", row.name, row.value),
        from => format!("{} {} ({from})", row.name, row.value),
    });
    words.collect::<Vec<_>>().join(", ")
}

async fn in_workspace(folders: &AppFolders, workspace: &Path) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    checks.push(match Workspace::open(workspace) {
        Ok(_) => ok("workspace", workspace.display().to_string()),
        Err(error) => failed("workspace", error),
    });
    let settings = match WorkspaceSettings::load(folders, workspace, &Flags::default()) {
        Ok(settings) => settings,
        Err(fault) => {
            checks.extend([failed("settings", fault), confinement(folders, None).await]);
            return checks;
        }
    };
    let file = folders.settings();
    let settled = if file.exists() { "" } else { "the defaults; there is no file " };
    checks.push(ok("settings", format!("{settled}{}", file.display())));
    checks.push(confinement(folders, Some(&settings)).await);
    checks.extend(hidden_programs(folders, &settings, workspace));
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
                harmless(&files.iter().take(3).cloned().collect::<Vec<_>>().join(", "))
            ),
            "`updraft trust` shows all of it",
        ),
    });
    checks.push(match agents::usable(folders, workspace, &settings).await {
        Ok(agents) if agents.left_out().next().is_some() => {
            let why: Vec<String> = agents.left_out().map(|(name, why)| format!("`{name}`: {why}")).collect();
            check(CheckStatus::Warn, "agents", format!("left out: {}", harmless(&why.join("; "))), "correct the files")
        }
        Ok(agents) => ok("agents", format!("{} agents", agents.iter().count())),
        Err(fault) => failed("agents", fault),
    });
    if fits.is_ok() {
        checks.push(python(folders, &settings, workspace).await);
    }
    checks.push(browser(folders, &settings));
    checks.extend(servers(folders, &settings, workspace).await);
    checks.extend(models(folders, &settings, workspace).await);
    checks
}

/// Whether agents can run Python here.
async fn python(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> DoctorCheck {
    let confinement = confinement::confinement(folders, settings);
    let found = tools::python(settings).find(&confinement, workspace).await;
    match found {
        Ok(found) => {
            let (major, minor, patch) = found.version;
            ok("python", format!("{} is Python {major}.{minor}.{patch}", found.program))
        }
        Err(failure) => check(CheckStatus::Warn, "python", "agents cannot run Python here", failure.message),
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
async fn servers(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> Vec<DoctorCheck> {
    let found = configured(folders, settings, workspace);
    let known = match found.servers(folders, settings, workspace).await {
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
        format!("{} ({state})", harmless(&server.name))
    });
    let words = words.collect::<Vec<_>>().join(", ");
    let mut checks = vec![if words.is_empty() {
        ok("servers", "no MCP servers are configured")
    } else {
        ok("servers", format!("MCP: {words}; `updraft mcp check` tests them"))
    }];
    checks.extend(found.faults.iter().map(|fault| {
        check(CheckStatus::Warn, "servers", harmless(&fault.to_string()), "the other servers are still used")
    }));
    for (server, _) in found.servers.iter().filter(|(server, _)| server.enabled) {
        let TransportConfig::Stdio { command, .. } = &server.link else { continue };
        if !command.contains('/') && folders::on_path(command).is_none() {
            let found = format!("`{}` of `{}` is not installed here", harmless(command), harmless(&server.name));
            checks.push(check(CheckStatus::Warn, "servers", found, "install it, or give the full path of its program"));
        }
    }
    checks
}

async fn models(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> Vec<DoctorCheck> {
    let access: ModelAccess = model_access::access(folders, settings, workspace);
    let with_key = providers().into_iter().map(|provider| provider.name).filter(|name| access.key(name).is_some());
    let with_key: Vec<&str> = with_key.collect();
    let keys = if with_key.is_empty() { "none set".to_owned() } else { format!("set for {}", with_key.join(", ")) };
    let spec = settings.effective.model.value.clone();
    let chosen = choose(&spec, &access).await;
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
