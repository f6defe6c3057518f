//! `[reading]`: what reading one file that has to be unpacked (a PDF, an Office file) may cost.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_run::Millis;
use updraft_tools::DocumentLimits;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use super::written::{size, time};
use crate::fault::Fault;
use crate::time_format;

/// The table `[reading]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenReading {
    #[serde(deserialize_with = "time")]
    pub(crate) time: Option<Spanned<Millis>>,
    #[serde(deserialize_with = "size")]
    pub(crate) memory: Option<Spanned<u64>>,
}

/// What reading one file may cost.
#[derive(Clone, Debug)]
pub(crate) struct ReadingSettings {
    time: SettingValue<Millis>,
    memory: SettingValue<u64>,
}

impl Default for ReadingSettings {
    fn default() -> Self {
        let limits = DocumentLimits::default();
        Self {
            time: SettingValue::default_of(Millis(limits.time.as_millis() as u64)),
            memory: SettingValue::default_of(limits.memory),
        }
    }
}

impl ReadingSettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenReading) -> Result<(), Fault> {
        taking.lasting("reading.time", Millis(1_000)..=Millis(600_000), &mut self.time, written.time.as_ref())?;
        taking.within("reading.memory", 64 << 20..=64 << 30, &mut self.memory, written.memory.as_ref())
    }

    /// The limits for the reader.
    pub(crate) fn limits(&self) -> DocumentLimits {
        let time = Duration::from_millis(self.time.value.0);
        DocumentLimits { time, memory: self.memory.value, ..DocumentLimits::default() }
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let memory = format!("\"{} MiB\"", self.memory.value >> 20);
        vec![
            ("reading.time".into(), format!("{:?}", time_format::length(self.time.value)), self.time.from.clone()),
            ("reading.memory".into(), memory, self.memory.from.clone()),
        ]
    }
}
