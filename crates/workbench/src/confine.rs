//! How agents' child processes are confined: one policy from settings and flags, and the level it runs at.

use std::path::PathBuf;

use updraft_run::{Approvals, GrantFlags, Grants};
use updraft_sandbox::{Level, Network, Probe};
use updraft_tools::{Confinement, Witness};

use crate::Confine;
use crate::fault::{Fault, Kind};
use crate::offered::{self, LAUNCHER};
use crate::places::{self, Places};
use crate::settings::{Confined, Settings};

/// Recorded where commands are not confined.
pub(crate) const NONE: &str = "none";
/// Recorded where no command can be run at all.
const UNAVAILABLE: &str = "unavailable";

/// How every child process of a run is confined: commands, Python, drop-in tools, MCP servers.
pub fn confinement(places: &Places, settings: &Settings) -> Confinement {
    let meant = &settings.meant.sandbox;
    let mut confinement = Confinement::new(LAUNCHER, meant.policy(places));
    confinement.offered = offered::slot(places);
    confinement.level = meant.level.value;
    confinement.environment = places::all();
    confinement.read_only = settings.meant.rules().approvals == Approvals::ReadOnly;
    confinement.staged = settings.meant.undo_commands.value.then(|| places.state.join("staged"));
    confinement
}

/// Sees what children change by themselves. What was there before is kept where commands' changes are.
pub(crate) fn witness(places: &Places, settings: &Settings) -> Witness {
    Witness::new(settings.meant.undo_commands.value.then(|| places.state.join("staged")))
}

/// What children are granted, as it is recorded, with what of it these flags say.
pub(crate) fn grants(settings: &Settings, args: &Confine) -> Grants {
    let meant = &settings.meant.sandbox;
    let all = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    Grants {
        network: meant.network.value.to_string(),
        read: all(&meant.read.value),
        write: all(&meant.write.value),
        flags: args.recorded(),
    }
}

/// Adds the flags that a run began with where no others are said. Says which those are.
pub(crate) fn keep(began: &GrantFlags, flags: &mut Confine) -> Vec<String> {
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    if let Some(network) = began.network.as_ref().filter(|_| flags.network.is_none()) {
        flags.network = network.parse().ok();
        kept.push(format!("--network {network}"));
    }
    if let Some(level) = began.level.as_ref().filter(|_| flags.level.is_none()) {
        flags.level = Some(level.clone());
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
                gone.push(format!("the run began with {shown}, which is not there any more; going on without it"));
            }
        }
    }
    if !kept.is_empty() {
        gone.insert(0, format!("keeping what the run was started with: {}", kept.join(" ")));
    }
    gone
}

/// Takes from the settings what a run was not granted when it began and no flag says now. Says what was taken.
pub(crate) fn hold_to(began: &Grants, meant: &mut Confined, flags: &Confine) -> Vec<String> {
    let mut taken = Vec::new();
    let (now, was) = (&meant.network.value, began.network.parse().unwrap_or(Network::None));
    let both = both(now, &was);
    if flags.network.is_none() && both != *now {
        taken.push(format!(
            "the run began with the network {was}, and the settings now say {now}; going on with {both} (`--network {now}` \
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

/// What the settings no longer grant of what they granted when a run began, where no flag says otherwise.
pub(crate) fn lost(began: &Grants, meant: &Confined, flags: &Confine) -> Vec<String> {
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

/// What two networks have in common.
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

/// The level that commands will run at, as it is recorded.
pub(crate) async fn level_of(places: &Places, settings: &Settings) -> Result<String, Fault> {
    match settings.meant.sandbox.level.value {
        Some(Level::None) => Ok(Level::None.to_string()),
        wanted => level_at(wanted, &offered::probe(places).await?),
    }
}

/// The level that commands run at where so much is offered; refused where more is wanted.
pub fn level_at(wanted: Option<Level>, probe: &Probe) -> Result<String, Fault> {
    match wanted {
        Some(wanted) if wanted > probe.level => Err(level_unavailable(&wanted.to_string(), probe)),
        Some(wanted) => Ok(wanted.to_string()),
        None if probe.level == Level::None => Ok(UNAVAILABLE.to_owned()),
        None => Ok(probe.level.to_string()),
    }
}

/// The level that a run is told which goes on; nothing if it keeps the one it has. Refused where that is less than it began
/// with and nobody has agreed.
pub(crate) async fn going_on(
    places: &Places,
    began: &str,
    level: &str,
    is_agreed: bool,
) -> Result<Option<String>, Fault> {
    // What cannot be run needs no level: the run keeps the one it has, and is held to that once there is one again.
    if began == level || level == UNAVAILABLE {
        return Ok(None);
    }
    if is_lower(level, began) && !is_agreed {
        if began == UNAVAILABLE {
            return Err(never_run());
        }
        return Err(level_unavailable(began, &offered::probe(places).await?)
            .hint(format!("the run began at level {began}; `--level landlock` or `--no-sandbox` goes on with less")));
    }
    Ok(Some(level.to_owned()))
}

/// Whether commands would be confined less at one level than at another.
fn is_lower(level: &str, than: &str) -> bool {
    rank(level) < rank(than)
}

/// More is safer. Whoever began where nothing could be confined was promised nothing but that nothing runs unconfined.
fn rank(level: &str) -> u8 {
    match level {
        "none" => 1,
        "landlock" | UNAVAILABLE => 2,
        "full" => 3,
        _ => 0,
    }
}

fn never_run() -> Fault {
    let message = "the run began where nothing could be confined, so it has run no commands; the settings now say to run them \
                   without a sandbox";
    let fault = Fault { kind: Kind::NoSandbox, ..Fault::failed(message) };
    fault.hint("`--no-sandbox` agrees to that; `--level landlock` confines them, where the machine can")
}

fn level_unavailable(level: &str, probe: &Probe) -> Fault {
    let why =
        probe.missing.first().map_or_else(String::new, |missing| format!(": {} ({})", missing.cause, missing.remedy));
    let message = format!("the sandbox level {level} is not available on this machine{why}");
    Fault { kind: Kind::NoSandbox, ..Fault::failed(message) }.hint("`updraft sandbox probe` says what is missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The level that a run which began at one is told, going on at another.
    async fn goes_on(began: &str, level: &str, is_agreed: bool) -> Result<Option<String>, Fault> {
        let folder = tempfile::tempdir().unwrap();
        going_on(&Places::under(folder.path()), began, level, is_agreed).await
    }

    #[tokio::test]
    async fn a_run_that_began_where_nothing_could_be_confined_goes_on_wherever_something_can() {
        for level in ["landlock", "full"] {
            assert_eq!(goes_on(UNAVAILABLE, level, false).await.ok().flatten().as_deref(), Some(level));
        }
        let refused = goes_on(UNAVAILABLE, "none", false).await.err();
        assert!(refused.is_some_and(|fault| fault.message.contains("has run no commands")));
        assert_eq!(goes_on(UNAVAILABLE, "none", true).await.ok().flatten().as_deref(), Some("none"));
    }

    #[tokio::test]
    async fn where_nothing_can_be_confined_any_more_the_run_is_still_held_to_the_level_it_began_at() {
        assert_eq!(goes_on("full", UNAVAILABLE, false).await.ok(), Some(None));
        assert_eq!(goes_on(UNAVAILABLE, UNAVAILABLE, false).await.ok(), Some(None));
    }
}
