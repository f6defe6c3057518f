//! Settings of the sandbox: what agents' commands may read, write, reach and use.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_sandbox::{GitSetting, Network, Policy, ResourceLimits, SandboxLevel, Toolchain};

use super::layer::SettingsLayer;
use super::origin::{SettingOrigin, SettingValue};
use crate::fault::Fault;
use crate::folders::{self, AppFolders};
use crate::time_format;

/// The table `[sandbox]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenSandbox {
    pub(crate) network: Option<Spanned<WrittenNetwork>>,
    pub(crate) toolchains: Option<Spanned<Vec<String>>>,
    pub(crate) read: Option<Spanned<Vec<String>>>,
    pub(crate) write: Option<Spanned<Vec<String>>>,
    pub(crate) level: Option<Spanned<String>>,
    pub(crate) environment: Option<Spanned<Vec<String>>>,
    pub(crate) memory: Option<Spanned<String>>,
    pub(crate) processes: Option<Spanned<u64>>,
    pub(crate) disk: Option<Spanned<String>>,
    pub(crate) time: Option<Spanned<String>>,
}

/// `none`, `host`, or a list of hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum WrittenNetwork {
    Word(String),
    Hosts(Vec<String>),
}

/// The merged sandbox settings.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// What network they can reach.
    pub network: SettingValue<Network>,
    /// Names of toolchains in the home folder, or folders.
    pub(crate) toolchains: SettingValue<Vec<String>>,
    /// Additional paths that they may read.
    pub read: SettingValue<Vec<PathBuf>>,
    /// Additional folders that they may write.
    pub write: SettingValue<Vec<PathBuf>>,
    /// The level to run at; `None` for the highest that is available.
    pub level: SettingValue<Option<SandboxLevel>>,
    pub(crate) environment: SettingValue<Vec<String>>,
    pub(crate) memory: SettingValue<u64>,
    pub(crate) processes: SettingValue<u64>,
    pub(crate) disk: SettingValue<u64>,
    /// How long one command may take; `None` for the default.
    pub time: SettingValue<Option<Duration>>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        let limits = ResourceLimits::default();
        Self {
            network: SettingValue::default_of(Network::None),
            toolchains: SettingValue::default_of(["rust", "node", "python", "go", "java"].map(str::to_owned).into()),
            read: SettingValue::default_of(Vec::new()),
            write: SettingValue::default_of(Vec::new()),
            level: SettingValue::default_of(None),
            environment: SettingValue::default_of(Vec::new()),
            memory: SettingValue::default_of(limits.memory),
            processes: SettingValue::default_of(limits.processes),
            disk: SettingValue::default_of(limits.disk),
            time: SettingValue::default_of(None),
        }
    }
}

impl SandboxSettings {
    /// Applies a layer. An untrusted workspace can only tighten; only the user can turn the sandbox off.
    pub(super) fn take(&mut self, layer: &SettingsLayer, ignored: &mut Vec<String>) -> Result<(), Fault> {
        let written = &layer.written.sandbox;
        let mut taking = SandboxMerge { layer, ignored };
        taking.put("network", &mut self.network, written.network.as_ref(), network, |new, old| match (new, old) {
            (Network::None, _) | (_, Network::Host) => true,
            (Network::Allow(new), Network::Allow(old)) => new.iter().all(|host| old.contains(host)),
            (Network::Allow(_) | Network::Host, _) => false,
        })?;
        taking.put(
            "toolchains",
            &mut self.toolchains,
            written.toolchains.as_ref(),
            |list| toolchains(list),
            |new, old| new.iter().all(|one| old.contains(one)),
        )?;
        taking.add("read", &mut self.read, written.read.as_ref(), path)?;
        taking.add("write", &mut self.write, written.write.as_ref(), path)?;
        taking.add("environment", &mut self.environment, written.environment.as_ref(), |name| Ok(name.to_owned()))?;
        let is_ours = matches!(layer.origin, SettingOrigin::Workspace | SettingOrigin::Stranger);
        if is_ours && written.level.as_ref().is_some_and(|level| level.get_ref() == "none") {
            taking.ignored.push("`sandbox.level`".to_owned());
        } else {
            // Without a choice, the highest level is meant, so that only the highest is as strict.
            let is_stricter =
                |new: &Option<SandboxLevel>, old: &Option<SandboxLevel>| *new >= old.or(Some(SandboxLevel::Full));
            taking.put("level", &mut self.level, written.level.as_ref(), |text| level(text), is_stricter)?;
        }
        taking.put("memory", &mut self.memory, written.memory.as_ref(), |text| size(text), |new, old| new <= old)?;
        taking.put("disk", &mut self.disk, written.disk.as_ref(), |text| size(text), |new, old| new <= old)?;
        taking.put(
            "processes",
            &mut self.processes,
            written.processes.as_ref(),
            |n| at_least_one(*n),
            |new, old| new <= old,
        )?;
        let time = |text: &String| time_format::duration(text).map(Some);
        let usual = Some(Duration::from_secs(updraft_tools::USUAL_TIME));
        taking.put("time", &mut self.time, written.time.as_ref(), time, |new, old| *new <= old.or(usual))
    }

    /// The policy for every child process; its workspace is added for each.
    pub(crate) fn policy(&self, folders: &AppFolders) -> Policy {
        let mut policy = Policy::strict("/nonexistent");
        let home = folders::home().and_then(|home| home.canonicalize().ok());
        for one in &self.toolchains.value {
            match (one.parse::<Toolchain>(), &home) {
                (Ok(known), Some(home)) => policy.read.extend(known.read(home)),
                (Ok(_), None) => {}
                (Err(_), _) => policy.read.push(PathBuf::from(one)),
            }
        }
        policy.git = home.as_deref().map(git).unwrap_or_default();
        policy.home = home.unwrap_or(policy.home);
        policy.read.extend(self.read.value.iter().cloned());
        policy.write.extend(self.write.value.iter().cloned());
        policy.network = self.network.value.clone();
        policy.environment.extend(self.environment.value.iter().cloned());
        policy.pass_certificates(&folders::all());
        let home = policy.home.clone();
        policy.show_package_settings(&home);
        policy.limits.memory = self.memory.value;
        policy.limits.processes = self.processes.value;
        policy.limits.disk = self.disk.value;
        policy.limits.time = self.time.value;
        policy.aside = Some(folders.aside());
        policy.guarded = folders.own_files();
        policy.scratch = folders.scratch().unwrap_or(policy.scratch);
        policy
    }

    /// Every setting: name, value as TOML, where it came from.
    pub fn list(&self) -> Vec<(String, String, String)> {
        let row = |name: &str, value: String, from: &str| (format!("sandbox.{name}"), value, from.to_owned());
        let level = self.level.value.map_or_else(|| "best".to_owned(), |level| level.to_string());
        let mut rows = vec![
            row("network", format!("{:?}", self.network.value.to_string()), &self.network.from),
            row("toolchains", format!("{:?}", self.toolchains.value), &self.toolchains.from),
            row("read", format!("{:?}", self.read.value), &self.read.from),
            row("write", format!("{:?}", self.write.value), &self.write.from),
            row("level", format!("{level:?}"), &self.level.from),
            row("environment", format!("{:?}", self.environment.value), &self.environment.from),
            row("memory", format!("\"{} MiB\"", self.memory.value >> 20), &self.memory.from),
            row("processes", self.processes.value.to_string(), &self.processes.from),
            row("disk", format!("\"{} MiB\"", self.disk.value >> 20), &self.disk.from),
        ];
        rows.extend(self.time.value.map(|time| row("time", format!("\"{} s\"", time.as_secs()), &self.time.from)));
        rows
    }
}

/// The author of the user's commits, from the files where git looks for it.
fn git(home: &Path) -> Vec<GitSetting> {
    let usual =
        || folders::set("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from).join("git/config");
    let files = match folders::set("GIT_CONFIG_GLOBAL") {
        Some(file) => vec![PathBuf::from(file)],
        None => vec![usual(), home.join(".gitconfig")],
    };
    GitSetting::read(&files, home)
}

/// Applies the values of one layer.
struct SandboxMerge<'a> {
    layer: &'a SettingsLayer,
    ignored: &'a mut Vec<String>,
}

impl SandboxMerge<'_> {
    /// A value, which an untrusted workspace may only tighten.
    fn put<W, T>(
        &mut self,
        name: &str,
        slot: &mut SettingValue<T>,
        written: Option<&Spanned<W>>,
        understand: impl Fn(&W) -> Result<T, String>,
        is_stricter: impl Fn(&T, &T) -> bool,
    ) -> Result<(), Fault> {
        let Some(written) = written else { return Ok(()) };
        let value = understand(written.get_ref()).map_err(|why| self.fault(name, written, &why))?;
        if self.layer.origin == SettingOrigin::Stranger && !is_stricter(&value, &slot.value) {
            self.ignored.push(format!("`sandbox.{name}`"));
        } else {
            *slot = SettingValue { value, from: self.layer.source(written) };
        }
        Ok(())
    }

    /// Adds entries to a list. An untrusted workspace cannot add any.
    fn add<T: PartialEq>(
        &mut self,
        name: &str,
        slot: &mut SettingValue<Vec<T>>,
        written: Option<&Spanned<Vec<String>>>,
        understand: impl Fn(&str) -> Result<T, String>,
    ) -> Result<(), Fault> {
        let Some(written) = written.filter(|list| !list.get_ref().is_empty()) else { return Ok(()) };
        if self.layer.origin == SettingOrigin::Stranger {
            self.ignored.push(format!("`sandbox.{name}`"));
            return Ok(());
        }
        for text in written.get_ref() {
            let value = understand(text).map_err(|why| self.fault(name, written, &why))?;
            if !slot.value.contains(&value) {
                slot.value.push(value);
            }
        }
        slot.from = self.layer.source(written);
        Ok(())
    }

    fn fault<W>(&self, name: &str, written: &Spanned<W>, why: &str) -> Fault {
        Fault::config(format!("{}: `sandbox.{name}`: {why}", self.layer.place(written)))
    }
}

fn network(written: &WrittenNetwork) -> Result<Network, String> {
    match written {
        WrittenNetwork::Word(word) => word.parse().map_err(|error: updraft_sandbox::NotANetwork| error.to_string()),
        WrittenNetwork::Hosts(hosts) if hosts.is_empty() => Ok(Network::None),
        WrittenNetwork::Hosts(hosts) => {
            let hosts: Result<Vec<_>, _> = hosts.iter().map(|host| host.parse()).collect();
            hosts.map(Network::Allow).map_err(|error: updraft_sandbox::address::NotAHost| error.to_string())
        }
    }
}

fn toolchains(written: &[String]) -> Result<Vec<String>, String> {
    let known = |text: &String| match text.parse::<Toolchain>() {
        Ok(_) => Ok(text.clone()),
        Err(error) if text.starts_with(['/', '~']) => {
            path(text).map(|path| path.display().to_string()).map_err(|why| format!("{error}, or a folder: {why}"))
        }
        Err(error) => Err(format!("{error}, or a folder")),
    };
    written.iter().map(known).collect()
}

fn level(text: &str) -> Result<Option<SandboxLevel>, String> {
    match text {
        "full" => Ok(Some(SandboxLevel::Full)),
        "landlock" => Ok(Some(SandboxLevel::Landlock)),
        "none" => Ok(Some(SandboxLevel::None)),
        other => Err(format!("`{other}` is not a level; expected full, landlock or none")),
    }
}

/// An existing path in canonical form: absolute, or relative to the home folder with `~/`.
fn path(text: &str) -> Result<PathBuf, String> {
    let meant = match (text.strip_prefix("~/"), folders::home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    if !meant.is_absolute() {
        return Err(format!("`{text}` is neither an absolute path nor one in the home folder (`~/…`)"));
    }
    let real = meant.canonicalize().map_err(|error| format!("`{text}` cannot be granted: {error}"))?;
    let is_wide = real.parent().is_none() || folders::home().is_some_and(|home| home.starts_with(&real));
    if is_wide { Err(format!("`{text}` is too much to grant; name a folder in it")) } else { Ok(real) }
}

/// Reads a size in bytes: `512 MiB`, `4 GiB`.
fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|one: char| !one.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "KiB" | "K" => 10,
        "MiB" | "M" => 20,
        "GiB" | "G" => 30,
        _ => return Err(format!("`{text}` is not a size; expected for instance `512 MiB` or `4 GiB`")),
    };
    let number: u64 =
        digits.trim().parse().map_err(|_| format!("`{text}` is not a size; expected a number and a unit"))?;
    at_least_one(number)?;
    number.checked_mul(1 << unit).ok_or_else(|| format!("`{text}` is too large"))
}

fn at_least_one(number: u64) -> Result<u64, String> {
    if number == 0 { Err("nothing can run with 0; expected 1 or more".to_owned()) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(origin: SettingOrigin, text: &str) -> Result<(SandboxSettings, Vec<String>), String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let (mut confined, mut ignored) = (SandboxSettings::default(), Vec::new());
        let layer = SettingsLayer::file(&file, origin).map_err(|fault| fault.message)?;
        confined.take(&layer, &mut ignored).map_err(|fault| fault.message)?;
        Ok((confined, ignored))
    }

    const LAX: &str = "[sandbox]\nnetwork = \"host\"\nlevel = \"none\"\nread = [\"/usr/share\"]\nwrite = [\"/var/tmp\"]\n\
                       environment = [\"MINE\"]\nmemory = \"100 GiB\"\ntime = \"1h\"\n";

    #[test]
    fn a_stranger_can_only_tighten() {
        let (confined, ignored) = taken(SettingOrigin::Stranger, LAX).unwrap();
        assert_eq!((confined.network.value, confined.level.value), (Network::None, None));
        assert!(confined.read.value.is_empty() && confined.write.value.is_empty());
        let all = ["network", "read", "write", "environment", "level", "memory", "time"]
            .map(|name| format!("`sandbox.{name}`"));
        assert_eq!(ignored, all);
        let (confined, ignored) =
            taken(SettingOrigin::Stranger, "[sandbox]\nlevel = \"full\"\ntoolchains = []\nmemory = \"64 MiB\"\n")
                .unwrap();
        assert_eq!((confined.level.value, confined.memory.value), (Some(SandboxLevel::Full), 64 << 20));
        assert!(ignored.is_empty() && confined.toolchains.value.is_empty());
    }

    #[test]
    fn what_is_not_set_counts_as_what_is_usual() {
        let (confined, ignored) =
            taken(SettingOrigin::Stranger, "[sandbox]\nlevel = \"landlock\"\ntime = \"121s\"\n").unwrap();
        assert_eq!((confined.level.value, confined.time.value), (None, None));
        assert_eq!(ignored, ["`sandbox.level`", "`sandbox.time`"]);
        let (confined, ignored) = taken(SettingOrigin::Stranger, "[sandbox]\ntime = \"2m\"\n").unwrap();
        assert_eq!((confined.time.value, ignored), (Some(Duration::from_mins(2)), Vec::new()));
    }

    #[test]
    fn a_stranger_may_keep_to_what_the_user_set() {
        let folder = tempfile::tempdir().unwrap();
        let (mut confined, mut ignored) = (SandboxSettings::default(), Vec::new());
        for (origin, text) in [
            (SettingOrigin::User, "[sandbox]\nlevel = \"landlock\"\ntime = \"10m\"\n"),
            (SettingOrigin::Stranger, "[sandbox]\nlevel = \"landlock\"\ntime = \"9m\"\n"),
        ] {
            let file = folder.path().join("config.toml");
            std::fs::write(&file, text).unwrap();
            confined.take(&SettingsLayer::file(&file, origin).ok().unwrap(), &mut ignored).ok().unwrap();
        }
        assert_eq!(
            (confined.level.value, confined.time.value),
            (Some(SandboxLevel::Landlock), Some(Duration::from_mins(9)))
        );
        assert!(ignored.is_empty());
    }

    #[test]
    fn no_workspace_does_away_with_the_sandbox_and_the_user_can() {
        let (confined, ignored) = taken(SettingOrigin::Workspace, LAX).unwrap();
        assert_eq!((confined.level.value, confined.network.value), (None, Network::Host));
        assert_eq!(ignored, ["`sandbox.level`"]);
        assert_eq!(taken(SettingOrigin::User, LAX).unwrap().0.level.value, Some(SandboxLevel::None));
    }

    #[test]
    fn what_cannot_be_granted_is_named_with_its_line() {
        for (text, says) in [
            ("read = [\"/no/such/folder\"]", ":2: `sandbox.read`: `/no/such/folder` cannot be granted"),
            ("write = [\"here\"]", "neither an absolute path"),
            ("write = [\"/\"]", "too much to grant"),
            ("network = \"all\"", "is not a network"),
            ("network = [\"127.0.0.1\"]", "`sandbox.network`"),
            ("memory = \"lots\"", "is not a size"),
            ("toolchains = [\"cobol\"]", "is not a toolchain"),
            ("level = \"high\"", "expected full, landlock or none"),
        ] {
            let fault = taken(SettingOrigin::User, &format!("[sandbox]\n{text}\n")).unwrap_err();
            assert!(fault.contains(says), "{fault}");
        }
    }
}
