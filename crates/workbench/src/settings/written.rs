//! The settings as written in a file: every field is optional, and knows its position.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use toml::Spanned;
use updraft_run::{ApprovalMode, Budget, Cost, Millis};

use super::browser::WrittenBrowser;
use super::hooks::WrittenHook;
use super::knowledge::WrittenKnowledge;
use super::log::WrittenLog;
use super::memory::WrittenMemory;
use super::models::{WrittenLimit, WrittenPrice, WrittenProfile, WrittenProvider};
use super::reading::WrittenReading;
use super::rules::WrittenRules;
use super::sandbox::WrittenSandbox;
use super::search::WrittenSearch;
use super::serving::{WrittenBridge, WrittenSessions};
use super::telemetry::WrittenTelemetry;
use super::tools::WrittenTools;
use super::web::WrittenWeb;
use super::webhooks::WrittenWebhook;
use crate::time_format;

/// A `config.toml` as it was written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenSettings {
    pub(crate) model: Option<Spanned<String>>,
    pub(crate) turns: Option<Spanned<u32>>,
    pub(crate) query_turns: Option<Spanned<u32>>,
    pub(crate) agent_turns: Option<Spanned<u32>>,
    pub(crate) parallel: Option<Spanned<u32>>,
    pub(crate) revisits: Option<Spanned<u32>>,
    pub(crate) replans: Option<Spanned<u32>>,
    pub(crate) plan_attempts: Option<Spanned<u32>>,
    pub(crate) repeats: Option<Spanned<u32>>,
    pub(crate) max_steps: Option<Spanned<u32>>,
    pub(crate) max_output: Option<Spanned<u64>>,
    #[serde(deserialize_with = "approvals")]
    pub(crate) approvals: Option<Spanned<ApprovalMode>>,
    /// Another name for `approvals`, with three values.
    #[serde(deserialize_with = "mode")]
    pub(crate) mode: Option<Spanned<ApprovalMode>>,
    pub(crate) deny: Option<Spanned<Vec<String>>>,
    pub(crate) rules: WrittenRules,
    pub(crate) budget: WrittenBudget,
    pub(crate) step_budget: WrittenBudget,
    pub(crate) think: Option<Spanned<String>>,
    #[serde(deserialize_with = "time")]
    pub(crate) silence: Option<Spanned<Millis>>,
    #[serde(deserialize_with = "time")]
    pub(crate) stall: Option<Spanned<Millis>>,
    #[serde(deserialize_with = "time")]
    pub(crate) max_wait: Option<Spanned<Millis>>,
    pub(crate) probe: Option<Spanned<bool>>,
    pub(crate) cache: Option<Spanned<bool>>,
    pub(crate) assume: Option<Spanned<bool>>,
    pub(crate) require: Option<Spanned<Vec<String>>>,
    pub(crate) checks: Option<Spanned<Vec<String>>>,
    pub(crate) profiles: BTreeMap<String, Spanned<WrittenProfile>>,
    pub(crate) providers: BTreeMap<String, Spanned<WrittenProvider>>,
    pub(crate) limits: BTreeMap<String, Spanned<WrittenLimit>>,
    pub(crate) prices: BTreeMap<String, Spanned<WrittenPrice>>,
    pub(crate) tools: WrittenTools,
    pub(crate) python: WrittenPython,
    pub(crate) browser: WrittenBrowser,
    pub(crate) web: WrittenWeb,
    pub(crate) search: WrittenSearch,
    pub(crate) reading: WrittenReading,
    pub(crate) sessions: WrittenSessions,
    pub(crate) bridge: WrittenBridge,
    pub(crate) log: WrittenLog,
    pub(crate) telemetry: WrittenTelemetry,
    pub(crate) sandbox: WrittenSandbox,
    pub(crate) undo: WrittenUndo,
    pub(crate) knowledge: WrittenKnowledge,
    pub(crate) memory: WrittenMemory,
    pub(crate) hooks: Vec<Spanned<WrittenHook>>,
    pub(crate) webhooks: Vec<WrittenWebhook>,
}

/// The tables `[budget]` and `[step_budget]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenBudget {
    #[serde(deserialize_with = "cost")]
    pub(crate) cost: Option<Spanned<Cost>>,
    pub(crate) tokens: Option<Spanned<u64>>,
    #[serde(deserialize_with = "time")]
    pub(crate) time: Option<Spanned<Millis>>,
    pub(crate) turns: Option<Spanned<u64>>,
    pub(crate) calls: Option<Spanned<u64>>,
}

impl From<Budget> for WrittenBudget {
    /// The budget from the command line.
    fn from(budget: Budget) -> Self {
        let Budget { cost, tokens, time, turns, calls } = budget;
        Self { cost: said(cost), tokens: said(tokens), time: said(time), turns: said(turns), calls: said(calls) }
    }
}

/// A value from the command line, which has no position in a file.
pub(crate) fn said<T>(value: Option<T>) -> Option<Spanned<T>> {
    value.map(|value| Spanned::new(0..0, value))
}

/// The table `[python]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenPython {
    pub(crate) program: Option<Spanned<String>>,
    pub(crate) packages: Option<Spanned<bool>>,
}

/// The table `[undo]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenUndo {
    pub(crate) commands: Option<Spanned<bool>>,
}

/// Reads `approvals`: one of four words.
fn approvals<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spanned<ApprovalMode>>, D::Error> {
    known(deserializer, ApprovalMode::from_word, "`allow`, `ask`, `refuse`, `read-only`")
}

/// Reads `mode`: one of three words.
fn mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spanned<ApprovalMode>>, D::Error> {
    known(deserializer, ApprovalMode::from_mode, "`read-only`, `workspace`, `full`")
}

fn known<'de, D: Deserializer<'de>>(
    deserializer: D,
    read: fn(&str) -> Option<ApprovalMode>,
    all: &str,
) -> Result<Option<Spanned<ApprovalMode>>, D::Error> {
    let word = Spanned::<String>::deserialize(deserializer)?;
    let found = read(word.get_ref());
    let unknown = || serde::de::Error::custom(format!("unknown variant `{}`, expected one of {all}", word.get_ref()));
    Ok(Some(Spanned::new(word.span(), found.ok_or_else(unknown)?)))
}

/// Reads an amount of dollars, as a number.
fn cost<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spanned<Cost>>, D::Error> {
    let dollars = Spanned::<f64>::deserialize(deserializer)?;
    let cost = dollars_to_cost(*dollars.get_ref()).map_err(serde::de::Error::custom)?;
    Ok(Some(Spanned::new(dollars.span(), cost)))
}

/// Reads a duration, as text.
pub(super) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spanned<Millis>>, D::Error> {
    let text = Spanned::<String>::deserialize(deserializer)?;
    let length = time_format::duration(text.get_ref()).map_err(serde::de::Error::custom)?;
    Ok(Some(Spanned::new(text.span(), Millis(length.as_millis() as u64))))
}

/// Reads a size in bytes: a number, or text such as `100 KB` or `2 MiB`.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spanned<u64>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WrittenSize {
        Bytes(u64),
        Text(String),
    }
    let written = Spanned::<WrittenSize>::deserialize(deserializer)?;
    let bytes = match written.get_ref() {
        WrittenSize::Bytes(bytes) => *bytes,
        WrittenSize::Text(text) => bytes_in(text).map_err(serde::de::Error::custom)?,
    };
    Ok(Some(Spanned::new(written.span(), bytes)))
}

fn bytes_in(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|one: char| !one.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "" | "B" => Some(1),
        "KB" | "kB" | "K" => Some(1_000),
        "KiB" => Some(1 << 10),
        "MB" | "M" => Some(1_000_000),
        "MiB" => Some(1 << 20),
        "GB" | "G" => Some(1_000_000_000),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let bytes = unit.zip(digits.trim().parse::<u64>().ok()).and_then(|(unit, number)| number.checked_mul(unit));
    bytes.ok_or_else(|| format!("`{text}` is not a size; expected for instance `100 KB` or `2 MiB`"))
}

/// Converts dollars to an exact amount.
pub(crate) fn dollars_to_cost(dollars: f64) -> Result<Cost, String> {
    if dollars.is_finite() && (0.0..=1e9).contains(&dollars) {
        Ok(Cost((dollars * 1e9).round() as u64))
    } else {
        Err(format!("`{dollars}` is not an amount of dollars; expected a number from 0"))
    }
}
