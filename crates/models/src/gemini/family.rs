//! The thinking settings of Gemini models: a budget of tokens, a level, or none at all.

use serde::Serialize;
use updraft_run::ThinkingEffort;

use crate::openai::ROOM_TO_THINK;

/// Families of models, by how thinking is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeminiFamily {
    /// 2.0 and older, and all models that do not think.
    Plain,
    /// 2.5: by a maximum number of tokens.
    Budget(GeminiSize),
    /// 3 and later, and names that refer to the newest model.
    Level(ThinkingScale),
}

/// The levels that a model supports: it refuses the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThinkingScale {
    least: ThinkingLevel,
    /// Whether there is a level between low and high: the first large model had none.
    knows_medium: bool,
    /// Whether it thinks long by default.
    is_long: bool,
}

/// The size of a model, which decides how little it can think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeminiSize {
    Lite,
    Flash,
    Pro,
}

/// The thinking settings of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(rename = "thinkingBudget", skip_serializing_if = "Option::is_none")]
    budget: Option<u64>,
    #[serde(rename = "thinkingLevel", skip_serializing_if = "Option::is_none")]
    level: Option<ThinkingLevel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum ThinkingLevel {
    Minimal,
    Low,
    Medium,
    High,
}

impl GeminiFamily {
    pub(super) fn of(model: &str) -> Self {
        let Some(rest) = model.rsplit('/').next().and_then(|name| name.strip_prefix("gemini-")) else {
            return GeminiFamily::Plain;
        };
        if ["-image", "-tts", "-audio", "-live", "-computer-use"].iter().any(|other| rest.contains(other)) {
            return GeminiFamily::Plain;
        }
        let size = match rest {
            rest if rest.contains("-lite") => GeminiSize::Lite,
            rest if rest.contains("pro") => GeminiSize::Pro,
            _ => GeminiSize::Flash,
        };
        match version_of(rest) {
            Some(version) if version >= (3, 0) => GeminiFamily::Level(ThinkingScale::of(version, size)),
            Some(version) if version >= (2, 5) => GeminiFamily::Budget(size),
            Some(_) => GeminiFamily::Plain,
            None if rest.ends_with("-latest") => GeminiFamily::Level(ThinkingScale::of((u32::MAX, 0), size)),
            None => GeminiFamily::Plain,
        }
    }

    /// Whether calls in the history must be signed.
    pub(super) fn wants_signatures(self) -> bool {
        match self {
            GeminiFamily::Plain | GeminiFamily::Budget(_) => false,
            GeminiFamily::Level(_) => true,
        }
    }

    /// The largest accepted limit on output.
    pub(super) fn most_output(self) -> u64 {
        match self {
            GeminiFamily::Plain => 8_192,
            GeminiFamily::Budget(_) | GeminiFamily::Level(_) => 65_536,
        }
    }

    /// The settings for this effort. Thoughts may be requested only if the model thinks.
    pub(super) fn thinking(self, think: ThinkingEffort) -> Option<ThinkingConfig> {
        match self {
            GeminiFamily::Plain => None,
            GeminiFamily::Budget(GeminiSize::Lite) if think == ThinkingEffort::Auto => None,
            GeminiFamily::Budget(size) => {
                let budget = think.tokens().map(|tokens| size.budget(tokens));
                Some(ThinkingConfig { include_thoughts: budget != Some(0), budget, level: None })
            }
            GeminiFamily::Level(scale) => {
                let level = scale.level(think);
                Some(ThinkingConfig { include_thoughts: true, budget: None, level })
            }
        }
    }

    /// Tokens that are reserved for thinking, besides those of the answer.
    pub(super) fn room(self, think: ThinkingEffort) -> u64 {
        match (self, think) {
            (GeminiFamily::Plain, _) | (GeminiFamily::Budget(GeminiSize::Lite), ThinkingEffort::Auto) => 0,
            (GeminiFamily::Budget(_), ThinkingEffort::Auto) => ROOM_TO_THINK,
            (GeminiFamily::Budget(size), think) => think.tokens().map_or(0, |tokens| size.budget(tokens)),
            (GeminiFamily::Level(_), ThinkingEffort::Tokens(tokens)) => tokens,
            (GeminiFamily::Level(scale), think) => match scale.level(think) {
                None if scale.is_long => ThinkingLevel::High.room(),
                None => ROOM_TO_THINK,
                Some(level) => level.room(),
            },
        }
    }
}

impl GeminiSize {
    /// The nearest allowed budget; zero if thinking can be switched off.
    fn budget(self, tokens: u64) -> u64 {
        match (self, tokens) {
            (GeminiSize::Lite | GeminiSize::Flash, 0) => 0,
            (GeminiSize::Lite, tokens) => tokens.clamp(512, 24_576),
            (GeminiSize::Flash, tokens) => tokens.min(24_576),
            (GeminiSize::Pro, tokens) => tokens.clamp(128, 32_768),
        }
    }
}

impl ThinkingScale {
    fn of(version: (u32, u32), size: GeminiSize) -> Self {
        let is_pro = size == GeminiSize::Pro;
        let least = if is_pro || version >= (3, 7) { ThinkingLevel::Low } else { ThinkingLevel::Minimal };
        Self { least, knows_medium: !is_pro || version > (3, 0), is_long: is_pro }
    }

    /// The level nearest to the effort; `None` lets the model decide.
    fn level(self, think: ThinkingEffort) -> Option<ThinkingLevel> {
        let level = match think {
            ThinkingEffort::Auto => return None,
            ThinkingEffort::Off => self.least,
            ThinkingEffort::Low => ThinkingLevel::Low,
            ThinkingEffort::Medium => ThinkingLevel::Medium,
            ThinkingEffort::High => ThinkingLevel::High,
            ThinkingEffort::Tokens(tokens) if tokens < 512 => self.least,
            ThinkingEffort::Tokens(tokens) if tokens <= 4_096 => ThinkingLevel::Low,
            ThinkingEffort::Tokens(tokens) if tokens <= 12_288 => ThinkingLevel::Medium,
            ThinkingEffort::Tokens(_) => ThinkingLevel::High,
        };
        Some(if level == ThinkingLevel::Medium && !self.knows_medium { ThinkingLevel::High } else { level })
    }
}

/// `3.1` in `3.1-pro-preview`.
fn version_of(rest: &str) -> Option<(u32, u32)> {
    let number = rest.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

impl ThinkingLevel {
    /// Levels are not limits: this is what models were observed to use, with a margin.
    fn room(self) -> u64 {
        match self {
            ThinkingLevel::Minimal => 1_024,
            ThinkingLevel::Low => 4_096,
            ThinkingLevel::Medium => 12_288,
            ThinkingLevel::High => 24_576,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_their_names() {
        let level = |least, is_long| GeminiFamily::Level(ThinkingScale { least, knows_medium: true, is_long });
        let cases = [
            ("gemini-2.0-flash", GeminiFamily::Plain),
            ("gemini-1.5-pro-002", GeminiFamily::Plain),
            ("gemma-3-27b-it", GeminiFamily::Plain),
            ("gemini-2.5-flash-image", GeminiFamily::Plain),
            ("gemini-2.5-flash", GeminiFamily::Budget(GeminiSize::Flash)),
            ("models/gemini-2.5-pro", GeminiFamily::Budget(GeminiSize::Pro)),
            ("gemini-2.5-flash-lite-preview-09-2025", GeminiFamily::Budget(GeminiSize::Lite)),
            ("gemini-3-flash-preview", level(ThinkingLevel::Minimal, false)),
            (
                "gemini-3-pro-preview",
                GeminiFamily::Level(ThinkingScale { least: ThinkingLevel::Low, knows_medium: false, is_long: true }),
            ),
            ("gemini-3.1-pro-preview", level(ThinkingLevel::Low, true)),
            ("gemini-3.5-flash-lite", level(ThinkingLevel::Minimal, false)),
            ("gemini-3.8-flash", level(ThinkingLevel::Low, false)),
            ("gemini-3.10-flash", level(ThinkingLevel::Low, false)),
            ("gemini-flash-latest", level(ThinkingLevel::Low, false)),
        ];
        for (model, family) in cases {
            assert_eq!(GeminiFamily::of(model), family, "{model}");
        }
    }

    #[test]
    fn room_is_left_for_what_may_be_thought() {
        let room = |model: &str, think| GeminiFamily::of(model).room(think);
        assert_eq!(room("gemini-2.0-flash", ThinkingEffort::High), 0);
        assert_eq!(room("gemini-2.5-flash", ThinkingEffort::Off), 0);
        assert_eq!(room("gemini-2.5-pro", ThinkingEffort::Off), 128);
        assert_eq!(room("gemini-2.5-flash", ThinkingEffort::Auto), ROOM_TO_THINK);
        assert_eq!(room("gemini-2.5-flash-lite", ThinkingEffort::Auto), 0);
        assert_eq!(room("gemini-2.5-pro", ThinkingEffort::Tokens(1_000_000)), 32_768);
        assert_eq!(room("gemini-3-flash-preview", ThinkingEffort::Off), 1_024);
        assert_eq!(room("gemini-3.1-pro-preview", ThinkingEffort::Auto), 24_576);
        assert_eq!(room("gemini-3.1-pro-preview", ThinkingEffort::Tokens(3_000)), 3_000);
    }
}
