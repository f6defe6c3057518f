//! How agents' child processes are confined: one policy made of settings and flags, and the sandbox level it runs at.

use std::path::{Path, PathBuf};

use serde::Serialize;
use updraft_run::{ApprovalMode, CommandGrants, Denial, GrantFlags, Level};
use updraft_sandbox::{HiddenProgram, Network, SandboxLevel as Offered, SandboxSupport};
use updraft_tools::{ChangeWitness, Confinement, DocumentReader};

use crate::Confine;
use crate::fault::{Fault, Kind};
use crate::folders::{self, AppFolders};
use crate::sandbox_probe::{self, LAUNCHER};
use crate::settings::{SandboxSettings, WorkspaceSettings};

/// How every child process of a run is confined: commands, Python, drop-in tools, MCP servers.
pub fn confinement(folders: &AppFolders, settings: &WorkspaceSettings) -> Confinement {
    let meant = &settings.effective.sandbox;
    let mut confinement = Confinement::new(LAUNCHER, meant.policy(folders));
    confinement.offered = sandbox_probe::slot(folders);
    confinement.level = meant.level.value;
    confinement.environment = folders::all();
    confinement.read_only = settings.effective.run_settings().approvals == ApprovalMode::ReadOnly;
    confinement.staged = settings.effective.undo_commands.value.then(|| folders.state.join("staged"));
    confinement
}

/// Programs that people often have in their home folder.
const USUAL_PROGRAMS: [&str; 20] = [
    "bun", "cargo", "deno", "go", "java", "mvn", "node", "npm", "npx", "php", "pip", "pnpm", "pytest", "python",
    "python3", "ruby", "rustc", "tsc", "uv", "yarn",
];

/// The usual programs that are first on the user's `PATH`, but that children do not see.
pub fn hidden_programs(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> Vec<HiddenProgram> {
    let confinement = confinement(folders, settings);
    if confinement.level == Some(Offered::None) {
        return Vec::new();
    }
    let path = folders::set("PATH").unwrap_or_default();
    confinement.policy_for(workspace).hidden_programs(USUAL_PROGRAMS, &path)
}

/// Reads files of every kind for this workspace, in children that are confined like commands.
pub fn document_reader(folders: &AppFolders, settings: &WorkspaceSettings) -> DocumentReader {
    DocumentReader::new(confinement(folders, settings), settings.effective.reading.limits())
}

/// Detects what child processes change by themselves. Earlier contents are kept in the same place as for commands'
/// changes.
pub(crate) fn witness(folders: &AppFolders, settings: &WorkspaceSettings) -> ChangeWitness {
    ChangeWitness::new(settings.effective.undo_commands.value.then(|| folders.state.join("staged")))
}

/// What child processes are granted, in the recorded form, and which part of it these flags grant.
pub(crate) fn grants(settings: &WorkspaceSettings, args: &Confine) -> CommandGrants {
    let meant = &settings.effective.sandbox;
    let all = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    CommandGrants {
        network: meant.network.value.to_string(),
        read: all(&meant.read.value),
        write: all(&meant.write.value),
        flags: args.recorded(),
    }
}

/// Adds the flags that a run began with, unless other flags are given. Returns messages that say which.
pub(crate) fn keep(began: &GrantFlags, flags: &mut Confine) -> Vec<String> {
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    if let Some(network) = began.network.as_ref().filter(|_| flags.network.is_none()) {
        flags.network = network.parse().ok();
        kept.push(format!("--network {network}"));
    }
    let is_level = |level: &&Level| matches!(level, Level::None | Level::Landlock | Level::Full);
    if let Some(level) = began.level.as_ref().filter(is_level).filter(|_| flags.level.is_none()) {
        flags.level = Some(*level);
        kept.push(format!("--level {level}"));
    }
    let lists = [("--read", &began.read, &mut flags.readable), ("--write", &began.write, &mut flags.writable)];
    for (flag, paths, list) in lists {
        for path in paths.iter().map(PathBuf::from).filter(|path| !list.contains(path)).collect::<Vec<_>>() {
            let shown = format!("{flag} {}", path.display());
            if path.exists() {
                list.push(path);
                kept.push(shown);
            } else {
                gone.push(format!("the run began with {shown}, which no longer exists; continuing without it"));
            }
        }
    }
    if !kept.is_empty() {
        gone.insert(0, format!("keeping what the run was started with: {}", kept.join(" ")));
    }
    gone
}

/// Removes from the settings what the run was not granted when it began, unless a flag grants it now. Returns messages
/// that say what was removed.
pub(crate) fn hold_to(began: &CommandGrants, meant: &mut SandboxSettings, flags: &Confine) -> Vec<String> {
    let mut taken = Vec::new();
    let (now, was) = (&meant.network.value, began.network.parse().unwrap_or(Network::None));
    let both = both(now, &was);
    if flags.network.is_none() && both != *now {
        taken.push(format!(
            "the run began with the network {was}, and the settings now say {now}; continuing with {both} (`--network {now}` \
             grants it)"
        ));
        meant.network.value = both;
    }
    let said = |paths: &[PathBuf]| paths.iter().filter_map(|path| path.canonicalize().ok()).collect::<Vec<_>>();
    let lists = [
        ("read", &mut meant.read.value, &began.read, said(&flags.readable)),
        ("write", &mut meant.write.value, &began.write, said(&flags.writable)),
    ];
    for (what, now, was, said) in lists {
        now.retain(|path| {
            let shown = path.display().to_string();
            let stays = was.contains(&shown) || said.contains(path);
            if !stays {
                taken.push(format!(
                    "the run began without the right to {what} `{shown}` (`--{what} {shown}` grants it)"
                ));
            }
            stays
        });
    }
    taken
}

/// Messages about rights that the settings granted when the run began and no longer grant, unless a flag does.
pub(crate) fn lost(began: &CommandGrants, meant: &SandboxSettings, flags: &Confine) -> Vec<String> {
    let mut lost = Vec::new();
    let was = began.network.parse().unwrap_or(Network::None);
    let now = &meant.network.value;
    if flags.network.is_none() && both(now, &was) != was {
        lost.push(format!(
            "the run began with the network {was}, and the settings now say {now} (`--network {was}` grants it again)"
        ));
    }
    for (what, now, was) in [("read", &meant.read.value, &began.read), ("write", &meant.write.value, &began.write)] {
        for path in was.iter().filter(|path| !now.iter().any(|own| own.display().to_string() == **path)) {
            lost.push(format!(
                "the run began with the right to {what} `{path}`, which the settings no longer grant (`--{what} {path}` \
                 grants it again)"
            ));
        }
    }
    lost
}

/// What two network settings both allow.
fn both(one: &Network, other: &Network) -> Network {
    match (one, other) {
        (Network::None, _) | (_, Network::None) => Network::None,
        (Network::Host, less) | (less, Network::Host) => less.clone(),
        (Network::Allow(one), Network::Allow(other)) => {
            let common: Vec<_> = one.iter().filter(|host| other.contains(host)).cloned().collect();
            if common.is_empty() { Network::None } else { Network::Allow(common) }
        }
    }
}

/// The sandbox level that commands will run at.
pub(crate) async fn level_of(folders: &AppFolders, settings: &WorkspaceSettings) -> Result<Level, Fault> {
    match settings.effective.sandbox.level.value {
        Some(Offered::None) => Ok(Level::None),
        wanted => level_at(wanted, &sandbox_probe::probe(folders).await?),
    }
}

/// The sandbox level that commands run at on a machine with this support. Fails if a higher level is wanted.
pub fn level_at(wanted: Option<Offered>, probe: &SandboxSupport) -> Result<Level, Fault> {
    match wanted {
        Some(wanted) if wanted > probe.level => Err(level_unavailable(recorded(wanted), probe)),
        Some(wanted) => Ok(recorded(wanted)),
        None if probe.level == Offered::None => Ok(Level::Unavailable),
        None => Ok(recorded(probe.level)),
    }
}

/// A sandbox level in the form that is recorded with runs.
fn recorded(level: Offered) -> Level {
    match level {
        Offered::None => Level::None,
        Offered::Landlock => Level::Landlock,
        Offered::Full => Level::Full,
    }
}

/// The error that says why a run cannot continue at this level.
pub(crate) async fn denied(folders: &AppFolders, denial: Denial, here: Level, is_shared: bool) -> Result<Fault, Fault> {
    Ok(match denial {
        Denial::Unconfined => never_run(),
        Denial::LessConfined { began } if is_shared => Fault::usage(format!(
            "it began at the sandbox level {began}, and commands here run at {here}; `updraft resume` shows how it can continue"
        )),
        Denial::LessConfined { began } => level_unavailable(began, &sandbox_probe::probe(folders).await?)
            .hint(format!("the run began at level {began}; `--level landlock` or `--no-sandbox` continues with less")),
        Denial::MayWrite => Fault::usage("it is read-only, and tools may write here; `updraft resume` continues it"),
        Denial::MoreGranted(more) => Fault::usage(format!(
            "commands here may do more than it was granted ({}); `updraft resume` continues with what it began with",
            in_words(&more)
        )),
    })
}

fn in_words(grants: &CommandGrants) -> String {
    let network = Some(&grants.network).filter(|network| !network.is_empty());
    let network = network.map(|network| format!("the network {network}"));
    let read = grants.read.iter().map(|path| format!("to read `{path}`"));
    let write = grants.write.iter().map(|path| format!("to write `{path}`"));
    network.into_iter().chain(read).chain(write).collect::<Vec<_>>().join(", ")
}

fn never_run() -> Fault {
    let message = "the run began on a machine without a sandbox, so it has run no commands; the settings now say to run them \
                   without a sandbox";
    let fault = Fault { kind: Kind::NoSandbox, ..Fault::failed(message) };
    fault.hint("`--no-sandbox` allows that; `--level landlock` confines them, if the machine supports it")
}

fn level_unavailable(level: Level, probe: &SandboxSupport) -> Fault {
    let why =
        probe.missing.first().map_or_else(String::new, |missing| format!(": {} ({})", missing.cause, missing.remedy));
    let message = format!("the sandbox level {level} is not available on this machine{why}");
    Fault { kind: Kind::NoSandbox, ..Fault::failed(message) }.hint("`updraft sandbox probe` shows what is missing")
}

/// A right or limit of a run, and where it is set.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyRow {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it is set.
    #[serde(rename = "origin")]
    pub from: String,
}

/// Everything that the commands of a run get, with the level that works here.
pub fn given_to_a_run(settings: &WorkspaceSettings, offered: &SandboxSupport) -> Vec<PolicyRow> {
    let meant = &settings.effective.sandbox;
    let level = match meant.level.value {
        Some(Offered::None) => "none: commands can do whatever you can".to_owned(),
        wanted => match level_at(wanted, offered) {
            Ok(level) => level.to_string(),
            Err(fault) => fault.message,
        },
    };
    let rows = meant.list().into_iter().map(|(name, value, from)| {
        let name = name.trim_start_matches("sandbox.").to_owned();
        match name.as_str() {
            "level" => PolicyRow { name, value: level.clone(), from },
            _ => PolicyRow { name, value: value.trim_matches('"').to_owned(), from },
        }
    });
    let mut rows: Vec<PolicyRow> = rows.collect();
    if meant.time.value.is_none() {
        let usual = format!("{} s", updraft_tools::USUAL_TIME);
        rows.push(PolicyRow { name: "time".to_owned(), value: usual, from: meant.time.from.clone() });
    }
    rows
}
