//! How agents' child processes are confined: one policy from settings and flags, and the level it runs at.

use std::path::PathBuf;

use updraft_run::{Approvals, GrantFlags, Grants, Input, Run};
use updraft_sandbox::{Level, Network, Probe};
use updraft_tools::{Confinement, Witness};

use crate::args::{Bounds, Confine};
use crate::fault::{Code, Fault};
use crate::offered::{self, LAUNCHER};
use crate::places::{self, Places};
use crate::settings::{Confined, Settings, WrittenNetwork, WrittenSandbox, said};
use crate::view::Face;

/// Recorded where no command can be run at all.
const UNAVAILABLE: &str = "unavailable";

/// Said each time that commands are not confined.
pub(crate) const UNCONFINED: &str = "sandbox: none; agents' commands can do whatever you can";

/// How every child process of a run is confined: commands, Python, drop-in tools, MCP servers.
pub(crate) fn confinement(places: &Places, settings: &Settings) -> Confinement {
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

/// The flags as settings, their paths written out.
pub(crate) fn flags(args: &Confine) -> Result<WrittenSandbox, Fault> {
    let network = args.network.as_ref().map(|network| match network {
        Network::Allow(hosts) => WrittenNetwork::Hosts(hosts.iter().map(ToString::to_string).collect()),
        Network::None | Network::Host => WrittenNetwork::Word(network.to_string()),
    });
    let real = |path: &PathBuf| {
        let real = path.canonicalize();
        let real = real.map_err(|error| Fault::usage(format!("`{}` cannot be granted: {error}", path.display())))?;
        Ok(real.display().to_string())
    };
    let all = |paths: &[PathBuf]| paths.iter().map(real).collect::<Result<Vec<_>, Fault>>();
    let level = if args.no_sandbox { Some("none".to_owned()) } else { args.level.clone() };
    Ok(WrittenSandbox {
        network: said(network),
        read: said(Some(all(&args.readable)?)),
        write: said(Some(all(&args.writable)?)),
        level: said(level),
        ..WrittenSandbox::default()
    })
}

/// The same, with what can be set for one command only.
pub(crate) fn bounded(args: &Confine, bounds: &Bounds) -> Result<WrittenSandbox, Fault> {
    Ok(WrittenSandbox {
        environment: said(Some(bounds.env.clone())),
        toolchains: said((!bounds.toolchains.is_empty()).then(|| bounds.toolchains.clone())),
        time: said(bounds.time.map(|time| format!("{}ms", time.as_millis()))),
        memory: said(bounds.memory.clone()),
        processes: said(bounds.processes),
        disk: said(bounds.disk.clone()),
        ..flags(args)?
    })
}

/// What children are granted, as it is recorded, with what of it these flags say.
pub(crate) fn grants(settings: &Settings, args: &Confine) -> Grants {
    let meant = &settings.meant.sandbox;
    let all = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    Grants {
        network: meant.network.value.to_string(),
        read: all(&meant.read.value),
        write: all(&meant.write.value),
        flags: grant_flags(args),
    }
}

/// The flags as they are recorded.
pub(crate) fn grant_flags(args: &Confine) -> GrantFlags {
    let real = |paths: &[PathBuf]| {
        let real = paths.iter().filter_map(|path| path.canonicalize().ok());
        real.map(|path| path.display().to_string()).collect()
    };
    GrantFlags {
        network: args.network.as_ref().map(ToString::to_string),
        read: real(&args.readable),
        write: real(&args.writable),
        level: if args.no_sandbox { Some("none".to_owned()) } else { args.level.clone() },
    }
}

/// What a run is told that goes on with flags which were said now: whoever resumes it next keeps them.
pub(crate) fn remembering(run: &Run, confined: Option<Input>, flags: GrantFlags) -> Input {
    let level = match confined {
        Some(Input::Confine { level, .. }) => level,
        _ => run.settings().sandbox.clone(),
    };
    Input::Confine { level, flags: Some(flags) }
}

/// The flags that a run goes on with: those that are said now, and else those that it began with. Says which those are.
pub(crate) fn kept(began: &GrantFlags, said: &Confine) -> (Confine, Vec<String>) {
    let mut all = said.clone();
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    if let Some(network) = began.network.as_ref().filter(|_| said.network.is_none()) {
        all.network = network.parse().ok();
        kept.push(format!("--network {network}"));
    }
    if let Some(level) = began.level.as_ref().filter(|_| said.level.is_none() && !said.no_sandbox) {
        all.level = Some(level.clone());
        kept.push(format!("--level {level}"));
    }
    let lists = [("--read", &began.read, &mut all.readable), ("--write", &began.write, &mut all.writable)];
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
    (all, gone)
}

/// Takes from the settings what a run was not granted when it began and no flag says now. Says what was taken.
pub(crate) fn hold_to(began: &Grants, meant: &mut Confined, args: Option<&Confine>) -> Vec<String> {
    let mut taken = Vec::new();
    let (now, was) = (&meant.network.value, began.network.parse().unwrap_or(Network::None));
    let both = both(now, &was);
    if args.is_none_or(|args| args.network.is_none()) && both != *now {
        taken.push(format!(
            "the run began with the network {was}, and the settings now say {now}; going on with {both} (`--network {now}` \
             grants it)"
        ));
        meant.network.value = both;
    }
    let said = |paths: &[PathBuf]| paths.iter().filter_map(|path| path.canonicalize().ok()).collect::<Vec<_>>();
    let flags = args.map(|args| (said(&args.readable), said(&args.writable))).unwrap_or_default();
    let lists = [
        ("read", &mut meant.read.value, &began.read, flags.0),
        ("write", &mut meant.write.value, &began.write, flags.1),
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
pub(crate) fn lost(began: &Grants, meant: &Confined, args: Option<&Confine>) -> Vec<String> {
    let mut lost = Vec::new();
    let was = began.network.parse().unwrap_or(Network::None);
    let now = &meant.network.value;
    if args.is_none_or(|args| args.network.is_none()) && both(now, &was) != was {
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
pub(crate) fn level_at(wanted: Option<Level>, probe: &Probe) -> Result<String, Fault> {
    match wanted {
        Some(wanted) if wanted > probe.level => Err(level_unavailable(&wanted.to_string(), probe)),
        Some(wanted) => Ok(wanted.to_string()),
        None if probe.level == Level::None => Ok(UNAVAILABLE.to_owned()),
        None => Ok(probe.level.to_string()),
    }
}

/// What a run is told that goes on at this level; refused where that is less than it began with and nobody said so.
pub(crate) async fn on_resume(places: &Places, run: &Run, level: &str, args: &Confine) -> Result<Option<Input>, Fault> {
    if run.is_over() { Ok(None) } else { going_on(places, &run.settings().sandbox, level, args).await }
}

/// The same of a run that is not over, by the level it had.
pub(crate) async fn going_on(
    places: &Places,
    began: &str,
    level: &str,
    args: &Confine,
) -> Result<Option<Input>, Fault> {
    if began == level {
        return Ok(None);
    }
    // What cannot be run needs no level: the run keeps the one it has, and is held to that once there is one again.
    if level == UNAVAILABLE {
        return Ok(None);
    }
    let was_said = args.no_sandbox || args.level.is_some();
    if is_lower(level, began) && !was_said {
        if began == UNAVAILABLE {
            return Err(never_run());
        }
        return Err(level_unavailable(began, &offered::probe(places).await?)
            .hint(format!("the run began at level {began}; `--level landlock` or `--no-sandbox` goes on with less")));
    }
    Ok(Some(Input::Confine { level: level.to_owned(), flags: None }))
}

/// Whether commands would be confined less at one level than at another.
pub(crate) fn is_lower(level: &str, than: &str) -> bool {
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
    let fault = Fault { code: Code::NoSandbox, ..Fault::failed(message) };
    fault.hint("`--no-sandbox` agrees to that; `--level landlock` confines them, where the machine can")
}

fn level_unavailable(level: &str, probe: &Probe) -> Fault {
    let why =
        probe.missing.first().map_or_else(String::new, |missing| format!(": {} ({})", missing.cause, missing.remedy));
    let message = format!("the sandbox level {level} is not available on this machine{why}");
    Fault { code: Code::NoSandbox, ..Fault::failed(message) }.hint("`updraft sandbox probe` says what is missing")
}

/// One line, each time, where commands are not confined.
pub(crate) fn warn(level: &str, face: &Face) {
    if level == "none" {
        face.say(UNCONFINED);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use updraft_run::{Goal, Roster, Start, Timestamp};

    use super::*;

    /// What a run that began at one level is told that goes on at another.
    async fn goes_on(began: &str, level: &str, args: &Confine) -> Result<Option<String>, Fault> {
        let settings = updraft_run::Settings { sandbox: began.into(), ..updraft_run::Settings::default() };
        let start = Start {
            goal: Goal { text: "work".into(), ..Goal::default() },
            roster: Arc::new(Roster::default()),
            settings: Arc::new(settings),
            budget: updraft_run::Budget::default(),
            plan: None,
        };
        let mut run = Run::default();
        run.advance(Input::Start(Box::new(start)), Timestamp(0));
        let folder = tempfile::tempdir().unwrap();
        let at = || folder.path().to_owned();
        let places = Places { config: at(), data: at(), state: at() };
        let told = on_resume(&places, &run, level, args).await?;
        Ok(told.map(|input| match input {
            Input::Confine { level, .. } => level,
            other => panic!("{other:?}"),
        }))
    }

    #[tokio::test]
    async fn a_run_that_began_where_nothing_could_be_confined_goes_on_wherever_something_can() {
        let (plain, agreed) = (Confine::default(), Confine { no_sandbox: true, ..Confine::default() });
        for level in ["landlock", "full"] {
            assert_eq!(goes_on(UNAVAILABLE, level, &plain).await.ok().flatten().as_deref(), Some(level));
        }
        let refused = goes_on(UNAVAILABLE, "none", &plain).await.err();
        assert!(refused.is_some_and(|fault| fault.message.contains("has run no commands")));
        assert_eq!(goes_on(UNAVAILABLE, "none", &agreed).await.ok().flatten().as_deref(), Some("none"));
    }

    #[tokio::test]
    async fn where_nothing_can_be_confined_any_more_the_run_is_still_held_to_the_level_it_began_at() {
        assert_eq!(goes_on("full", UNAVAILABLE, &Confine::default()).await.ok(), Some(None));
        assert_eq!(goes_on(UNAVAILABLE, UNAVAILABLE, &Confine::default()).await.ok(), Some(None));
    }
}
