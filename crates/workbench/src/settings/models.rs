//! Settings about models: profiles, providers, limits and prices.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_models::{DialectKind, ModelSpec, Price, RateLimit};

use super::layer::SettingsLayer;
use super::origin::{SettingOrigin, SettingValue};
use crate::fault::Fault;
use crate::time_format;

/// A table `[profiles.NAME]`: a model, its fallbacks, and how they are used.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenProfile {
    model: String,
    #[serde(default)]
    fallback: Vec<String>,
    think: Option<String>,
    temperature: Option<f64>,
    max_output: Option<u64>,
    tools: Option<String>,
    images: Option<bool>,
    window: Option<u64>,
}

/// A table `[providers.NAME]`: a provider's address, and the variable that holds its key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenProvider {
    base_url: Option<String>,
    key_env: Option<String>,
    speaks: Option<String>,
}

/// A table `[limits."provider/name"]` or `[limits.provider]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenLimit {
    requests_per_minute: Option<u32>,
    tokens_per_minute: Option<u64>,
    spacing: Option<String>,
    concurrency: Option<u32>,
}

/// A table `[prices."provider/name"]`, in dollars per million tokens.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenPrice {
    pub(crate) input: f64,
    pub(crate) output: f64,
    #[serde(default)]
    pub(crate) cached: Option<f64>,
    #[serde(default)]
    pub(crate) stored: Option<f64>,
}

/// The merged settings of a provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProviderSettings {
    pub(crate) base: Option<String>,
    pub(crate) key_env: Option<String>,
    pub(crate) speech: Option<DialectKind>,
}

/// All merged settings about models.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelSettings {
    pub(crate) profiles: BTreeMap<String, SettingValue<String>>,
    pub(crate) providers: BTreeMap<String, SettingValue<ProviderSettings>>,
    pub(crate) limits: BTreeMap<String, SettingValue<RateLimit>>,
    pub(crate) prices: BTreeMap<String, SettingValue<Price>>,
}

impl ModelSettings {
    /// Applies a layer. An untrusted workspace can set nothing here: an address it chose would receive the key.
    pub(super) fn take(&mut self, layer: &SettingsLayer, ignored: &mut Vec<String>) -> Result<(), Fault> {
        let written = &layer.written;
        table("profile", &mut self.profiles, layer, &written.profiles, ignored, WrittenProfile::meant)?;
        table("provider", &mut self.providers, layer, &written.providers, ignored, WrittenProvider::meant)?;
        table("limit", &mut self.limits, layer, &written.limits, ignored, WrittenLimit::meant)?;
        table("price", &mut self.prices, layer, &written.prices, ignored, |price| price.meant())
    }

    /// Every entry: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let mut rows = Vec::new();
        for (name, profile) in &self.profiles {
            rows.push((format!("profiles.{name}"), format!("{:?}", profile.value), profile.from.clone()));
        }
        for (name, provider) in &self.providers {
            let ProviderSettings { base, key_env, .. } = &provider.value;
            let value = format!(
                "{{ base_url = {:?}, key_env = {:?} }}",
                base.as_deref().unwrap_or_default(),
                key_env.as_deref().unwrap_or_default()
            );
            rows.push((format!("providers.{name}"), value, provider.from.clone()));
        }
        for (name, limit) in &self.limits {
            rows.push((format!("limits.{name:?}"), limit_in_words(&limit.value), limit.from.clone()));
        }
        for (name, price) in &self.prices {
            let dollars = |nano: u64| nano as f64 / 1000.0;
            let Price { input, output, cached, stored } = price.value;
            let value = format!(
                "{{ input = {}, output = {}, cached = {}, stored = {} }}",
                dollars(input),
                dollars(output),
                dollars(cached),
                dollars(stored)
            );
            rows.push((format!("prices.{name:?}"), value, price.from.clone()));
        }
        rows
    }
}

/// A limit in words, on one line.
pub fn limit_in_words(limit: &RateLimit) -> String {
    let RateLimit { requests, tokens, spacing, concurrency } = limit;
    let mut parts = Vec::new();
    parts.extend(requests.map(|n| format!("{n} requests a minute")));
    parts.extend(tokens.map(|n| format!("{n} tokens a minute")));
    if !spacing.is_zero() {
        parts.push(format!("{} s apart", spacing.as_secs_f64()));
    }
    parts.extend(concurrency.map(|n| format!("{n} at once")));
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn table<W: Clone, T>(
    what: &str,
    meant: &mut BTreeMap<String, SettingValue<T>>,
    layer: &SettingsLayer,
    written: &BTreeMap<String, Spanned<W>>,
    ignored: &mut Vec<String>,
    understand: impl Fn(&W) -> Result<T, String>,
) -> Result<(), Fault> {
    for (name, entry) in written {
        if layer.origin == SettingOrigin::Stranger {
            ignored.push(format!("the {what} of {name}"));
            continue;
        }
        let place = layer.place(entry);
        let value = understand(entry.get_ref())
            .map_err(|why| Fault::config(format!("{place}: the {what} of `{name}`: {why}")))?;
        meant.insert(name.clone(), SettingValue { value, from: layer.source(entry) });
    }
    Ok(())
}

impl WrittenProfile {
    /// The model with its settings and its fallbacks, as one text.
    fn meant(&self) -> Result<String, String> {
        let settings = [
            ("think", self.think.clone()),
            ("temperature", self.temperature.map(|number| number.to_string())),
            ("max_output", self.max_output.map(|number| number.to_string())),
            ("tools", self.tools.clone()),
            ("images", self.images.map(|images| if images { "yes" } else { "no" }.to_owned())),
            ("window", self.window.map(|number| number.to_string())),
        ];
        let settings: Vec<String> =
            settings.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?))).collect();
        let all = std::iter::once(&self.model).chain(&self.fallback).map(|model| {
            let sign = if model.contains('?') { '&' } else { '?' };
            let text = if settings.is_empty() { model.clone() } else { format!("{model}{sign}{}", settings.join("&")) };
            let spec = ModelSpec::parse(&text).map_err(|error| error.to_string())?;
            if spec.name.is_empty() && spec.provider != "builtin" {
                return Err(format!("`{model}` is not a model; expected PROVIDER/NAME"));
            }
            Ok(spec.to_string())
        });
        Ok(all.collect::<Result<Vec<_>, _>>()?.join(" | "))
    }
}

impl WrittenProvider {
    fn meant(&self) -> Result<ProviderSettings, String> {
        let speech = match self.speaks.as_deref() {
            None => None,
            Some("openai" | "chat") => Some(DialectKind::Chat),
            Some("responses") => Some(DialectKind::Responses),
            Some("anthropic") => Some(DialectKind::Anthropic),
            Some("gemini") => Some(DialectKind::Gemini),
            Some("ollama") => Some(DialectKind::Ollama),
            Some(other) => {
                return Err(format!("`speaks` is `{other}`; expected openai, responses, anthropic, gemini or ollama"));
            }
        };
        Ok(ProviderSettings { base: self.base_url.clone(), key_env: self.key_env.clone(), speech })
    }
}

impl WrittenLimit {
    fn meant(&self) -> Result<RateLimit, String> {
        let spacing = self.spacing.as_deref().map(time_format::duration).transpose()?.unwrap_or(Duration::ZERO);
        if self.requests_per_minute == Some(0) || self.tokens_per_minute == Some(0) || self.concurrency == Some(0) {
            return Err("a limit of 0 would allow no requests at all".to_owned());
        }
        let (requests, tokens) = (self.requests_per_minute, self.tokens_per_minute);
        Ok(RateLimit { requests, tokens, spacing, concurrency: self.concurrency })
    }
}

impl WrittenPrice {
    fn meant(self) -> Result<Price, String> {
        let all = [Some(self.input), Some(self.output), self.cached, self.stored];
        if all.into_iter().flatten().any(|price| !price.is_finite() || price < 0.0) {
            return Err("a price must be a number of 0 or more".to_owned());
        }
        Ok(Price::per_million(self.input, self.output, self.cached, self.stored))
    }
}
