//! How much a model of the family thinks, and how it is told: by a budget of tokens, by a level, or not at all.

use serde::Serialize;
use updraft_run::Think;

use crate::openai::ROOM_TO_THINK;

/// Families by the way their thinking is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// 2.0 and older, and everything that is not a Gemini that thinks.
    Plain,
    /// 2.5: at most so many tokens.
    Budget(Size),
    /// 3 and later, and names that stand for the newest.
    Level {
        size: Size,
        /// The first large one knew no level between low and high.
        knows_medium: bool,
    },
}

/// How large a model is, which decides how little it can think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Lite,
    Flash,
    Pro,
}

/// What is sent about thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thinking {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(rename = "thinkingBudget", skip_serializing_if = "Option::is_none")]
    budget: Option<u64>,
    #[serde(rename = "thinkingLevel", skip_serializing_if = "Option::is_none")]
    level: Option<Level>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Level {
    Minimal,
    Low,
    Medium,
    High,
}

impl Family {
    pub(super) fn of(model: &str) -> Self {
        let Some(rest) = model.rsplit('/').next().and_then(|name| name.strip_prefix("gemini-")) else {
            return Family::Plain;
        };
        if ["-image", "-tts", "-audio", "-live", "-computer-use"].iter().any(|other| rest.contains(other)) {
            return Family::Plain;
        }
        let size = match rest {
            rest if rest.contains("-lite") => Size::Lite,
            rest if rest.contains("pro") => Size::Pro,
            _ => Size::Flash,
        };
        let version: String = rest.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
        match version.parse::<f64>() {
            Ok(version) if version >= 3.0 => Family::Level { size, knows_medium: version > 3.0 || size != Size::Pro },
            Ok(version) if version >= 2.5 => Family::Budget(size),
            Ok(_) => Family::Plain,
            Err(_) if rest.ends_with("-latest") => Family::Level { size, knows_medium: true },
            Err(_) => Family::Plain,
        }
    }

    /// Whether calls in the history must be signed.
    pub(super) fn wants_signatures(self) -> bool {
        match self {
            Family::Plain | Family::Budget(_) => false,
            Family::Level { .. } => true,
        }
    }

    /// A larger cap is refused.
    pub(super) fn most_output(self) -> u64 {
        match self {
            Family::Plain => 8_192,
            Family::Budget(_) | Family::Level { .. } => 65_536,
        }
    }

    /// What is sent for it. Thoughts may only be asked for where the model thinks.
    pub(super) fn thinking(self, think: Think) -> Option<Thinking> {
        match self {
            Family::Plain => None,
            Family::Budget(Size::Lite) if think == Think::Auto => None,
            Family::Budget(size) => {
                let budget = think.tokens().map(|tokens| size.budget(tokens));
                Some(Thinking { include_thoughts: budget != Some(0), budget, level: None })
            }
            Family::Level { size, knows_medium } => {
                let level = Level::of(think, size, knows_medium);
                Some(Thinking { include_thoughts: true, budget: None, level })
            }
        }
    }

    /// Tokens that are left for it beside the answer's.
    pub(super) fn room(self, think: Think) -> u64 {
        match (self, think) {
            (Family::Plain, _) | (Family::Budget(Size::Lite), Think::Auto) => 0,
            (Family::Budget(_), Think::Auto) => ROOM_TO_THINK,
            (Family::Budget(size), think) => think.tokens().map_or(0, |tokens| size.budget(tokens)),
            (Family::Level { .. }, Think::Tokens(tokens)) => tokens,
            (Family::Level { size, knows_medium }, think) => match Level::of(think, size, knows_medium) {
                // Large ones think long by themselves.
                None if size == Size::Pro => Level::High.room(),
                None => ROOM_TO_THINK,
                Some(level) => level.room(),
            },
        }
    }
}

impl Size {
    /// The nearest budget that is allowed; none at all where the model can be kept from thinking.
    fn budget(self, tokens: u64) -> u64 {
        match (self, tokens) {
            (Size::Lite | Size::Flash, 0) => 0,
            (Size::Lite, tokens) => tokens.clamp(512, 24_576),
            (Size::Flash, tokens) => tokens.min(24_576),
            (Size::Pro, tokens) => tokens.clamp(128, 32_768),
        }
    }
}

impl Level {
    /// The level nearest to what is wanted; none leaves it to the model.
    fn of(think: Think, size: Size, knows_medium: bool) -> Option<Self> {
        let least = if size == Size::Pro { Level::Low } else { Level::Minimal };
        let level = match think {
            Think::Auto => return None,
            Think::Off => least,
            Think::Low => Level::Low,
            Think::Medium => Level::Medium,
            Think::High => Level::High,
            Think::Tokens(tokens) if tokens < 512 => least,
            Think::Tokens(tokens) if tokens <= 4_096 => Level::Low,
            Think::Tokens(tokens) if tokens <= 12_288 => Level::Medium,
            Think::Tokens(_) => Level::High,
        };
        Some(if level == Level::Medium && !knows_medium { Level::High } else { level })
    }

    /// Levels are no limits: what models were seen to take, and some more.
    fn room(self) -> u64 {
        match self {
            Level::Minimal => 1_024,
            Level::Low => 4_096,
            Level::Medium => 12_288,
            Level::High => 24_576,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_their_names() {
        let level = |size| Family::Level { size, knows_medium: true };
        let cases = [
            ("gemini-2.0-flash", Family::Plain),
            ("gemini-1.5-pro-002", Family::Plain),
            ("gemma-3-27b-it", Family::Plain),
            ("gemini-2.5-flash-image", Family::Plain),
            ("gemini-2.5-flash", Family::Budget(Size::Flash)),
            ("models/gemini-2.5-pro", Family::Budget(Size::Pro)),
            ("gemini-2.5-flash-lite-preview-09-2025", Family::Budget(Size::Lite)),
            ("gemini-3-flash-preview", level(Size::Flash)),
            ("gemini-3-pro-preview", Family::Level { size: Size::Pro, knows_medium: false }),
            ("gemini-3.1-pro-preview", level(Size::Pro)),
            ("gemini-3.5-flash-lite", level(Size::Lite)),
            ("gemini-4-flash", level(Size::Flash)),
            ("gemini-flash-latest", level(Size::Flash)),
        ];
        for (model, family) in cases {
            assert_eq!(Family::of(model), family, "{model}");
        }
    }

    #[test]
    fn room_is_left_for_what_may_be_thought() {
        let room = |model: &str, think| Family::of(model).room(think);
        assert_eq!(room("gemini-2.0-flash", Think::High), 0);
        assert_eq!(room("gemini-2.5-flash", Think::Off), 0);
        assert_eq!(room("gemini-2.5-pro", Think::Off), 128);
        assert_eq!(room("gemini-2.5-flash", Think::Auto), ROOM_TO_THINK);
        assert_eq!(room("gemini-2.5-flash-lite", Think::Auto), 0);
        assert_eq!(room("gemini-2.5-pro", Think::Tokens(1_000_000)), 32_768);
        assert_eq!(room("gemini-3-flash-preview", Think::Off), 1_024);
        assert_eq!(room("gemini-3.1-pro-preview", Think::Auto), 24_576);
        assert_eq!(room("gemini-3.1-pro-preview", Think::Tokens(3_000)), 3_000);
    }
}
