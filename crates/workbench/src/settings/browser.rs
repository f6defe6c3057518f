//! `[browser]`: which Chromium the browser tools start, and how long a call may take.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_run::Millis;
use updraft_tools::BrowserOptions;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use super::written::time;
use crate::fault::Fault;
use crate::folders::{self, AppFolders};
use crate::time_format;

/// The table `[browser]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenBrowser {
    pub(crate) program: Option<Spanned<String>>,
    #[serde(deserialize_with = "time")]
    pub(crate) time: Option<Spanned<Millis>>,
}

/// How the browser is started.
#[derive(Clone, Debug)]
pub(crate) struct BrowserSettings {
    /// The path of the program; empty to look for Chromium.
    program: SettingValue<String>,
    /// How long one call may take.
    time: SettingValue<Millis>,
}

impl Default for BrowserSettings {
    fn default() -> Self {
        let time = BrowserOptions::new("").time.as_millis() as u64;
        Self { program: SettingValue::default_of(String::new()), time: SettingValue::default_of(Millis(time)) }
    }
}

impl BrowserSettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenBrowser) -> Result<(), Fault> {
        // A workspace could otherwise have its own program run.
        taking.own("browser.program", &mut self.program, written.program.as_ref());
        taking.lasting("browser.time", Millis(5_000)..=Millis(600_000), &mut self.time, written.time.as_ref())
    }

    /// The options for the tools.
    pub(crate) fn options(&self, folders: &AppFolders) -> BrowserOptions {
        let program = &self.program.value;
        BrowserOptions {
            program: (!program.is_empty()).then(|| PathBuf::from(program)),
            search: folders::path_folders(),
            time: Duration::from_millis(self.time.value.0),
            ..BrowserOptions::new(folders.state.join("browser"))
        }
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        vec![
            ("browser.program".into(), format!("{:?}", self.program.value), self.program.from.clone()),
            ("browser.time".into(), format!("{:?}", time_format::length(self.time.value)), self.time.from.clone()),
        ]
    }
}
