//! What a run or one step may spend: each limit, and where it came from.

use updraft_run::{Budget, Cost, Millis};

use super::effective::LayerMerge;
use super::origin::SettingValue;
use super::written::WrittenBudget;
use crate::time_format;

/// The limits of a run or of one step.
#[derive(Clone, Debug)]
pub(crate) struct SpendingLimits {
    pub(crate) cost: SettingValue<Option<Cost>>,
    pub(crate) tokens: SettingValue<Option<u64>>,
    pub(crate) time: SettingValue<Option<Millis>>,
    pub(crate) turns: SettingValue<Option<u64>>,
    pub(crate) calls: SettingValue<Option<u64>>,
}

impl Default for SpendingLimits {
    fn default() -> Self {
        Self {
            cost: SettingValue::default_of(None),
            tokens: SettingValue::default_of(None),
            time: SettingValue::default_of(None),
            turns: SettingValue::default_of(None),
            calls: SettingValue::default_of(None),
        }
    }
}

impl SpendingLimits {
    /// Applies what a layer sets in the table of this name.
    pub(super) fn take(&mut self, table: &str, taking: &mut LayerMerge<'_>, written: &WrittenBudget) {
        taking.limit(&format!("{table}.cost"), &mut self.cost, written.cost.as_ref());
        taking.limit(&format!("{table}.tokens"), &mut self.tokens, written.tokens.as_ref());
        taking.limit(&format!("{table}.time"), &mut self.time, written.time.as_ref());
        taking.limit(&format!("{table}.turns"), &mut self.turns, written.turns.as_ref());
        taking.limit(&format!("{table}.calls"), &mut self.calls, written.calls.as_ref());
    }

    /// The limits as a budget.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            cost: self.cost.value,
            tokens: self.tokens.value,
            time: self.time.value,
            turns: self.turns.value,
            calls: self.calls.value,
        }
    }

    /// Every limit: name, value as TOML, where it came from.
    pub(super) fn list(&self, table: &str) -> Vec<(String, String, String)> {
        fn number<T: ToString>(value: Option<T>) -> String {
            value.map_or_else(|| "unlimited".into(), |value| value.to_string())
        }
        let time = self.time.value.map(|time| format!("{:?}", time_format::length(time)));
        let row = |name: &str, value: String, from: &str| (format!("{table}.{name}"), value, from.to_owned());
        vec![
            row("cost", number(self.cost.value.map(|cost| cost.0 as f64 / 1e9)), &self.cost.from),
            row("tokens", number(self.tokens.value), &self.tokens.from),
            row("time", number(time), &self.time.from),
            row("turns", number(self.turns.value), &self.turns.from),
            row("calls", number(self.calls.value), &self.calls.from),
        ]
    }
}
