//! `[telemetry]`: where traces are sent. Only the user can set this: traces say what runs do.

use serde::Deserialize;
use toml::Spanned;

use super::effective::LayerMerge;
use super::origin::SettingValue;

/// The table `[telemetry]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenTelemetry {
    endpoint: Option<Spanned<String>>,
    service: Option<Spanned<String>>,
    content: Option<Spanned<bool>>,
}

/// Where traces are sent, as far as the settings say. OpenTelemetry's environment variables come first.
#[derive(Clone, Debug)]
pub struct TelemetrySettings {
    endpoint: SettingValue<String>,
    service: SettingValue<String>,
    content: SettingValue<bool>,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self {
            endpoint: SettingValue::default_of(String::new()),
            service: SettingValue::default_of("updraft".into()),
            content: SettingValue::default_of(false),
        }
    }
}

impl TelemetrySettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenTelemetry) {
        taking.own("telemetry.endpoint", &mut self.endpoint, written.endpoint.as_ref());
        taking.own("telemetry.service", &mut self.service, written.service.as_ref());
        taking.own("telemetry.content", &mut self.content, written.content.as_ref());
    }

    /// The address of a collector, without a path.
    pub(crate) fn endpoint(&self) -> Option<String> {
        Some(self.endpoint.value.trim().to_owned()).filter(|endpoint| !endpoint.is_empty())
    }

    /// The name that traces are found by.
    pub(crate) fn service(&self) -> &str {
        &self.service.value
    }

    /// Whether traces contain what was said.
    pub(crate) fn content(&self) -> bool {
        self.content.value
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let text = |name: &str, slot: &SettingValue<String>| {
            (format!("telemetry.{name}"), format!("{:?}", slot.value), slot.from.clone())
        };
        let content = self.content.value.to_string();
        vec![
            text("endpoint", &self.endpoint),
            text("service", &self.service),
            ("telemetry.content".into(), content, self.content.from.clone()),
        ]
    }
}
