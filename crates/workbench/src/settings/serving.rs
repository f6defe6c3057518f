//! `[sessions]` and `[bridge]`: how long clients' conversations are kept, and how much the bridge returns at once.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_run::Millis;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use super::written::{WrittenSettings, size, time};
use crate::fault::Fault;
use crate::{SessionLimits, time_format};

const SECOND: Millis = Millis(1_000);
const MONTH: Millis = Millis(30 * 24 * 3_600_000);

/// The table `[sessions]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenSessions {
    #[serde(deserialize_with = "time")]
    age: Option<Spanned<Millis>>,
    #[serde(deserialize_with = "time")]
    sweep: Option<Spanned<Millis>>,
    most: Option<Spanned<u32>>,
    turns: Option<Spanned<u32>>,
}

/// The table `[bridge]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenBridge {
    #[serde(deserialize_with = "size")]
    read: Option<Spanned<u64>>,
}

/// The merged values of both.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    age: SettingValue<Millis>,
    sweep: SettingValue<Millis>,
    most: SettingValue<u32>,
    turns: SettingValue<u32>,
    /// Most bytes that `fs/read` returns at once.
    pub bridge_read: SettingValue<u64>,
}

impl Default for ServeSettings {
    fn default() -> Self {
        let limits = SessionLimits::default();
        let millis = |time: Duration| SettingValue::default_of(Millis(time.as_millis() as u64));
        Self {
            age: millis(limits.age),
            sweep: millis(limits.sweep),
            most: SettingValue::default_of(limits.most as u32),
            turns: SettingValue::default_of(limits.turns as u32),
            bridge_read: SettingValue::default_of(100_000),
        }
    }
}

impl ServeSettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenSettings) -> Result<(), Fault> {
        let sessions = &written.sessions;
        taking.lasting("sessions.age", SECOND..=MONTH, &mut self.age, sessions.age.as_ref())?;
        taking.lasting("sessions.sweep", SECOND..=MONTH, &mut self.sweep, sessions.sweep.as_ref())?;
        taking.within("sessions.most", 1..=100_000, &mut self.most, sessions.most.as_ref())?;
        taking.within("sessions.turns", 1..=1_000, &mut self.turns, sessions.turns.as_ref())?;
        taking.within("bridge.read", 1_000..=32 << 20, &mut self.bridge_read, written.bridge.read.as_ref())
    }

    /// The limits of conversations.
    pub fn sessions(&self) -> SessionLimits {
        let time = |millis: &SettingValue<Millis>| Duration::from_millis(millis.value.0);
        SessionLimits {
            age: time(&self.age),
            sweep: time(&self.sweep),
            most: self.most.value as usize,
            turns: self.turns.value as usize,
        }
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let length = |millis: &SettingValue<Millis>| format!("{:?}", time_format::length(millis.value));
        vec![
            ("sessions.age".into(), length(&self.age), self.age.from.clone()),
            ("sessions.sweep".into(), length(&self.sweep), self.sweep.from.clone()),
            ("sessions.most".into(), self.most.value.to_string(), self.most.from.clone()),
            ("sessions.turns".into(), self.turns.value.to_string(), self.turns.from.clone()),
            ("bridge.read".into(), self.bridge_read.value.to_string(), self.bridge_read.from.clone()),
        ]
    }
}
