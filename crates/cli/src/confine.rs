//! How agents' child processes are confined: one policy from settings and flags, and the level it runs at.

use std::path::PathBuf;

use toml::Spanned;
use updraft_run::{Grants, Input, Run};
use updraft_sandbox::{Level, Network, Probe};
use updraft_tools::{Confinement, Witness};

use crate::args::Confine;
use crate::commands::sandbox::{self, LAUNCHER};
use crate::fault::{Code, Fault};
use crate::places::{self, Places};
use crate::settings::{Settings, WrittenNetwork, WrittenSandbox};
use crate::view::Face;

/// Recorded where no command can be run at all.
const UNAVAILABLE: &str = "unavailable";

/// How every child process of a run is confined: commands, Python, drop-in tools, MCP servers.
pub(crate) fn confinement(places: &Places, settings: &Settings) -> Confinement {
    let meant = &settings.meant.sandbox;
    let mut confinement = Confinement::new(LAUNCHER, meant.policy(&places.aside()));
    confinement.level = meant.level.value;
    confinement.environment = places::all();
    confinement.staged = settings.meant.undo_commands.value.then(|| places.state.join("staged"));
    confinement
}

/// Sees what children change by themselves. What was there before is kept where commands' changes are.
pub(crate) fn witness(places: &Places, settings: &Settings) -> Witness {
    Witness::new(settings.meant.undo_commands.value.then(|| places.state.join("staged")))
}

/// The flags as settings, their paths written out.
pub(crate) fn flags(args: &Confine) -> Result<WrittenSandbox, Fault> {
    fn said<T>(value: Option<T>) -> Option<Spanned<T>> {
        value.map(|value| Spanned::new(0..0, value))
    }
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

/// What children are granted, as it is recorded.
pub(crate) fn grants(settings: &Settings) -> Grants {
    let meant = &settings.meant.sandbox;
    let all = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    Grants { network: meant.network.value.to_string(), read: all(&meant.read.value), write: all(&meant.write.value) }
}

/// Takes from the settings what a run was not granted when it began and no flag says now. Says what was taken.
pub(crate) fn hold_to(began: &Grants, settings: &mut Settings, args: Option<&Confine>) -> Vec<String> {
    let meant = &mut settings.meant.sandbox;
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
pub(crate) async fn level_of(confinement: &Confinement) -> Result<String, Fault> {
    if confinement.level == Some(Level::None) {
        return Ok(Level::None.to_string());
    }
    let probe = sandbox::probe().await?;
    match confinement.level {
        Some(wanted) if wanted > probe.level => Err(not_to_be_had(&wanted.to_string(), &probe)),
        Some(wanted) => Ok(wanted.to_string()),
        None if probe.level == Level::None => Ok(UNAVAILABLE.to_owned()),
        None => Ok(probe.level.to_string()),
    }
}

/// What a run is told that goes on at this level; refused where that is less than it began with and nobody said so.
pub(crate) async fn on_resume(run: &Run, level: &str, args: &Confine) -> Result<Option<Input>, Fault> {
    let began = run.settings().sandbox.as_str();
    if began == level || run.is_over() {
        return Ok(None);
    }
    let was_said = args.no_sandbox || args.level.is_some();
    if rank(level) < rank(began) && !was_said {
        return Err(not_to_be_had(began, &sandbox::probe().await?)
            .hint(format!("the run began at level {began}; `--level landlock` or `--no-sandbox` goes on with less")));
    }
    Ok(Some(Input::Confine { level: level.to_owned() }))
}

/// More is safer. Where nothing can be run, nothing can do harm.
fn rank(level: &str) -> u8 {
    match level {
        "none" => 1,
        "landlock" => 2,
        "full" | UNAVAILABLE => 3,
        _ => 0,
    }
}

fn not_to_be_had(level: &str, probe: &Probe) -> Fault {
    let why =
        probe.missing.first().map_or_else(String::new, |missing| format!(": {} ({})", missing.cause, missing.remedy));
    let message = format!("the sandbox level {level} is not to be had here{why}");
    Fault { code: Code::NoSandbox, ..Fault::failed(message) }.hint("`updraft sandbox probe` says what is missing")
}

/// One line, each time, where commands are not confined.
pub(crate) fn warn(level: &str, face: &Face) {
    if level == "none" {
        face.say("sandbox: none; agents' commands can do whatever you can");
    }
}
