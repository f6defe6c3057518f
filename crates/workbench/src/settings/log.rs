//! `[log]`: what is logged, and the log files of runs.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_run::Millis;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use super::written::{size, time};
use crate::fault::Fault;
use crate::observe::LogFormat;
use crate::observe::log_files::LogFileOptions;
use crate::time_format;

const DAY: u64 = 24 * 3_600_000;

/// The table `[log]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenLog {
    pub(crate) level: Option<Spanned<String>>,
    runs: Option<Spanned<bool>>,
    prompts: Option<Spanned<bool>>,
    format: Option<Spanned<String>>,
    #[serde(deserialize_with = "size")]
    size: Option<Spanned<u64>>,
    keep: Option<Spanned<u32>>,
    #[serde(deserialize_with = "time")]
    age: Option<Spanned<Millis>>,
}

impl WrittenLog {
    /// Only the level.
    pub(super) fn at_level(level: Option<Spanned<String>>) -> Self {
        Self { level, ..Self::default() }
    }
}

/// The log files of runs, by the settings.
#[derive(Clone, Debug)]
pub struct RunLogSettings {
    runs: SettingValue<bool>,
    prompts: SettingValue<bool>,
    format: SettingValue<String>,
    size: SettingValue<u64>,
    keep: SettingValue<u32>,
    age: SettingValue<Millis>,
}

impl Default for RunLogSettings {
    fn default() -> Self {
        Self {
            runs: SettingValue::default_of(false),
            prompts: SettingValue::default_of(false),
            format: SettingValue::default_of("text".into()),
            size: SettingValue::default_of(10_000_000),
            keep: SettingValue::default_of(3),
            age: SettingValue::default_of(Millis(30 * DAY)),
        }
    }
}

impl RunLogSettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenLog) -> Result<(), Fault> {
        if let Some(format) = &written.format {
            let word = format.get_ref();
            if !matches!(word.as_str(), "text" | "json") {
                let place = taking.layer.place(format);
                return Err(Fault::config(format!("{place}: `log.format` is `{word}`; expected text or json")));
            }
        }
        taking.free("log.runs", &mut self.runs, written.runs.as_ref());
        taking.free("log.prompts", &mut self.prompts, written.prompts.as_ref());
        taking.free("log.format", &mut self.format, written.format.as_ref());
        taking.within("log.size", 1_000..=1 << 40, &mut self.size, written.size.as_ref())?;
        taking.within("log.keep", 0..=1_000, &mut self.keep, written.keep.as_ref())?;
        taking.lasting("log.age", Millis(1_000)..=Millis(3_650 * DAY), &mut self.age, written.age.as_ref())
    }

    /// How files are written; `None` if none are.
    pub(crate) fn options(&self) -> Option<LogFileOptions> {
        let options = LogFileOptions {
            format: self.format(),
            size: self.size.value,
            keep: self.keep.value,
            age: Duration::from_millis(self.age.value.0),
            lines: self.runs.value,
            prompts: self.prompts.value,
        };
        (options.lines || options.prompts).then_some(options)
    }

    /// The form of the lines.
    pub fn format(&self) -> LogFormat {
        if self.format.value == "json" { LogFormat::Json } else { LogFormat::Text }
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let age = format!("{:?}", time_format::length(self.age.value));
        vec![
            ("log.runs".into(), self.runs.value.to_string(), self.runs.from.clone()),
            ("log.prompts".into(), self.prompts.value.to_string(), self.prompts.from.clone()),
            ("log.format".into(), format!("{:?}", self.format.value), self.format.from.clone()),
            ("log.size".into(), self.size.value.to_string(), self.size.from.clone()),
            ("log.keep".into(), self.keep.value.to_string(), self.keep.from.clone()),
            ("log.age".into(), age, self.age.from.clone()),
        ]
    }
}
