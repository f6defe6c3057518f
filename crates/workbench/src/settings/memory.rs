//! `[memory]`: how much of earlier runs agents are told, and how much of a conversation is kept word for word.

use serde::Deserialize;
use toml::Spanned;
use updraft_run::ConversationLimits;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use crate::fault::Fault;

/// The table `[memory]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenMemory {
    recall: Option<Spanned<u32>>,
    tokens: Option<Spanned<u32>>,
    messages: Option<Spanned<u32>>,
    summary_words: Option<Spanned<u32>>,
}

/// How much is recalled and kept.
#[derive(Clone, Debug)]
pub struct MemorySettings {
    /// The most memories that a run is told without asking, besides the pinned ones; 0 for none at all.
    pub recall: SettingValue<u32>,
    /// About how many tokens these may have, besides the pinned ones.
    pub tokens: SettingValue<u32>,
    messages: SettingValue<u32>,
    summary_words: SettingValue<u32>,
}

impl Default for MemorySettings {
    fn default() -> Self {
        let limits = ConversationLimits::default();
        Self {
            recall: SettingValue::default_of(5),
            tokens: SettingValue::default_of(800),
            messages: SettingValue::default_of(limits.messages as u32),
            summary_words: SettingValue::default_of(limits.summary_words as u32),
        }
    }
}

impl MemorySettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenMemory) -> Result<(), Fault> {
        taking.within("memory.recall", 0..=50, &mut self.recall, written.recall.as_ref())?;
        taking.within("memory.tokens", 0..=20_000, &mut self.tokens, written.tokens.as_ref())?;
        taking.within("memory.messages", 2..=200, &mut self.messages, written.messages.as_ref())?;
        taking.within("memory.summary_words", 0..=2_000, &mut self.summary_words, written.summary_words.as_ref())
    }

    /// The limits of conversations.
    pub fn conversation(&self) -> ConversationLimits {
        ConversationLimits { messages: self.messages.value as usize, summary_words: self.summary_words.value as usize }
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let rows = [
            ("recall", &self.recall),
            ("tokens", &self.tokens),
            ("messages", &self.messages),
            ("summary_words", &self.summary_words),
        ];
        rows.map(|(name, slot)| (format!("memory.{name}"), slot.value.to_string(), slot.from.clone())).into()
    }
}
