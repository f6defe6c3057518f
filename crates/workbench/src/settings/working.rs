//! `assume`, `require` and `checks`: whether people are asked, what every run must prove, and what runs after edits.

use toml::Spanned;
use updraft_run::Requirement;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use super::written::WrittenSettings;

/// The merged values.
#[derive(Clone, Debug)]
pub struct WorkingSettings {
    /// Whether agents state an assumption instead of asking.
    pub(crate) assume: SettingValue<bool>,
    /// What every run must prove.
    require: SettingValue<Vec<String>>,
    /// Commands that are run after an agent has edited files.
    pub(crate) checks: SettingValue<Vec<String>>,
}

impl Default for WorkingSettings {
    fn default() -> Self {
        let none = || SettingValue::default_of(Vec::new());
        Self { assume: SettingValue::default_of(false), require: none(), checks: none() }
    }
}

impl WorkingSettings {
    /// Applies a layer.
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenSettings) {
        let assume: Option<&Spanned<bool>> = written.assume.as_ref();
        taking.free("assume", &mut self.assume, assume);
        taking.free("require", &mut self.require, written.require.as_ref());
        taking.free("checks", &mut self.checks, written.checks.as_ref());
    }

    /// What every run must prove.
    pub fn requirements(&self) -> Vec<Requirement> {
        self.require.value.iter().map(|text| Requirement::parse(text)).collect()
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let list = |name: &str, own: &SettingValue<Vec<String>>| {
            (name.to_owned(), format!("{:?}", own.value), own.from.clone())
        };
        let assume = ("assume".to_owned(), self.assume.value.to_string(), self.assume.from.clone());
        vec![assume, list("require", &self.require), list("checks", &self.checks)]
    }
}
