//! `[tools]`: the folders of drop-in tools and their Python, and limits on calls and output.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_run::Millis;
use updraft_tools::ToolLimits;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use super::written::{size, time};
use crate::fault::Fault;
use crate::time_format;

/// Sizes that can be set, in bytes, for what a model is shown: less is useless, and no model reads more.
const SIZES: RangeInclusive<u64> = 1_000..=10_000_000;

/// The table `[tools]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenTools {
    pub(super) folders: Option<Spanned<Vec<String>>>,
    python: Option<Spanned<String>>,
    #[serde(deserialize_with = "time")]
    time: Option<Spanned<Millis>>,
    #[serde(deserialize_with = "time")]
    built_in_time: Option<Spanned<Millis>>,
    #[serde(deserialize_with = "size")]
    read: Option<Spanned<u64>>,
    #[serde(deserialize_with = "size")]
    output: Option<Spanned<u64>>,
    retries: Option<Spanned<u32>>,
    #[serde(deserialize_with = "time")]
    backoff: Option<Spanned<Millis>>,
}

/// The merged values.
#[derive(Clone, Debug)]
pub struct ToolSettings {
    /// Paths, absolute or relative to the workspace.
    pub folders: SettingValue<Vec<String>>,
    /// A name on `PATH`, or a path, absolute or relative to the workspace; empty for the Python that runs agents' code.
    pub(crate) python: SettingValue<String>,
    /// How long one call may take.
    pub(crate) time: SettingValue<Millis>,
    /// The same for built-in tools that have no time limit of their own.
    built_in_time: SettingValue<Millis>,
    /// Most bytes of a file that `read_file` shows at once.
    read: SettingValue<u64>,
    /// Most bytes of any tool's output that a model is shown.
    output: SettingValue<u64>,
    /// How often a call that is safe to repeat is retried after a temporary failure.
    retries: SettingValue<u32>,
    /// The wait before the first retry; it doubles each time.
    backoff: SettingValue<Millis>,
}

impl Default for ToolSettings {
    fn default() -> Self {
        let limits = ToolLimits::default();
        let millis = |time: Duration| SettingValue::default_of(Millis(time.as_millis() as u64));
        Self {
            folders: SettingValue::default_of(vec!["tools".into(), ".updraft/tools".into()]),
            python: SettingValue::default_of(String::new()),
            time: SettingValue::default_of(Millis(60_000)),
            built_in_time: millis(limits.time),
            read: SettingValue::default_of(limits.read as u64),
            output: SettingValue::default_of(limits.output as u64),
            retries: SettingValue::default_of(limits.retries),
            backoff: millis(limits.backoff),
        }
    }
}

impl ToolSettings {
    /// Applies a layer.
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenTools) -> Result<(), Fault> {
        taking.free("tools.folders", &mut self.folders, written.folders.as_ref());
        taking.free("tools.python", &mut self.python, written.python.as_ref());
        taking.ordered("tools.time", &mut self.time, written.time.as_ref(), |new, old| new <= old);
        let built_in = written.built_in_time.as_ref();
        taking.ordered("tools.built_in_time", &mut self.built_in_time, built_in, |new, old| new <= old);
        taking.within("tools.read", SIZES, &mut self.read, written.read.as_ref())?;
        taking.within("tools.output", SIZES, &mut self.output, written.output.as_ref())?;
        taking.within("tools.retries", 0..=10, &mut self.retries, written.retries.as_ref())?;
        taking.ordered("tools.backoff", &mut self.backoff, written.backoff.as_ref(), |new, old| new >= old);
        Ok(())
    }

    /// The limits of calls.
    pub(crate) fn limits(&self) -> ToolLimits {
        let time = |millis: Millis| Duration::from_millis(millis.0);
        ToolLimits {
            read: self.read.value as usize,
            output: self.output.value as usize,
            time: time(self.built_in_time.value),
            retries: self.retries.value,
            backoff: time(self.backoff.value),
            ..ToolLimits::default()
        }
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        vec![
            ("tools.folders".into(), format!("{:?}", self.folders.value), self.folders.from.clone()),
            ("tools.python".into(), format!("{:?}", self.python.value), self.python.from.clone()),
            ("tools.time".into(), format!("{:?}", time_format::length(self.time.value)), self.time.from.clone()),
            (
                "tools.built_in_time".into(),
                format!("{:?}", time_format::length(self.built_in_time.value)),
                self.built_in_time.from.clone(),
            ),
            ("tools.read".into(), self.read.value.to_string(), self.read.from.clone()),
            ("tools.output".into(), self.output.value.to_string(), self.output.from.clone()),
            ("tools.retries".into(), self.retries.value.to_string(), self.retries.from.clone()),
            (
                "tools.backoff".into(),
                format!("{:?}", time_format::length(self.backoff.value)),
                self.backoff.from.clone(),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::settings::{EffectiveSettings, SettingOrigin, SettingsLayer};

    fn taken(origin: SettingOrigin, text: &str) -> Result<EffectiveSettings, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let mut meant = EffectiveSettings::default();
        meant.take(&SettingsLayer::file(&file, origin).unwrap(), &mut Vec::new()).map_err(|fault| fault.message)?;
        Ok(meant)
    }

    const LIMITS: &str = "[tools]\nread = \"200 KB\"\noutput = \"1 MiB\"\nretries = 0\nbackoff = \"3 s\"\nbuilt_in_time = \"5 s\"\n\
                          [web]\ntime = \"5 s\"\ntext = 20000\n[sessions]\nage = \"1h\"\nsweep = \"10 s\"\nmost = 3\nturns = 4\n\
                          [bridge]\nread = \"1 MB\"\n";

    #[test]
    fn limits_are_those_of_the_settings() {
        let meant = taken(SettingOrigin::User, LIMITS).unwrap();
        let tools = meant.tools.limits();
        assert_eq!((tools.read, tools.output, tools.retries), (200_000, 1 << 20, 0));
        assert_eq!((tools.backoff, tools.time), (Duration::from_secs(3), Duration::from_secs(5)));
        let web = meant.web.web().map_err(|fault| fault.message).unwrap().limits;
        assert_eq!((web.time, web.text), (Duration::from_secs(5), 20_000));
        let sessions = meant.serving.sessions();
        assert_eq!((sessions.age, sessions.sweep), (Duration::from_hours(1), Duration::from_secs(10)));
        assert_eq!((sessions.most, sessions.turns, meant.serving.bridge_read.value), (3, 4, 1_000_000));
    }

    #[test]
    fn what_is_no_limit_is_named_and_a_stranger_can_only_lower() {
        let stranger = taken(SettingOrigin::Stranger, LIMITS).unwrap();
        let tools = stranger.tools.limits();
        assert_eq!((tools.read, tools.retries, stranger.serving.bridge_read.value), (48 << 10, 0, 100_000));
        let wrong = |text: &str| taken(SettingOrigin::User, text).unwrap_err();
        assert!(wrong("[sessions]\nsweep = \"0 s\"\n").contains("`sessions.sweep` is 0.0 s; expected from"));
        assert!(wrong("[tools]\nread = 5\n").contains("`tools.read` is 5; expected a number from 1000"));
    }
}
