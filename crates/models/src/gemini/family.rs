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
    Level(Scale),
}

/// The levels that a model knows: it refuses the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    least: Level,
    /// The first large one knew no level between low and high.
    knows_medium: bool,
    /// Whether it thinks long by itself.
    is_long: bool,
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
pub(super) enum Level {
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
        match version_of(rest) {
            Some(version) if version >= (3, 0) => Family::Level(Scale::of(version, size)),
            Some(version) if version >= (2, 5) => Family::Budget(size),
            Some(_) => Family::Plain,
            None if rest.ends_with("-latest") => Family::Level(Scale::of((u32::MAX, 0), size)),
            None => Family::Plain,
        }
    }

    /// Whether calls in the history must be signed.
    pub(super) fn wants_signatures(self) -> bool {
        match self {
            Family::Plain | Family::Budget(_) => false,
            Family::Level(_) => true,
        }
    }

    /// A larger cap is refused.
    pub(super) fn most_output(self) -> u64 {
        match self {
            Family::Plain => 8_192,
            Family::Budget(_) | Family::Level(_) => 65_536,
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
            Family::Level(scale) => {
                let level = scale.level(think);
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
            (Family::Level(_), Think::Tokens(tokens)) => tokens,
            (Family::Level(scale), think) => match scale.level(think) {
                None if scale.is_long => Level::High.room(),
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

impl Scale {
    fn of(version: (u32, u32), size: Size) -> Self {
        let is_pro = size == Size::Pro;
        let least = if is_pro || version >= (3, 7) { Level::Low } else { Level::Minimal };
        Self { least, knows_medium: !is_pro || version > (3, 0), is_long: is_pro }
    }

    /// The level nearest to what is wanted; none leaves it to the model.
    fn level(self, think: Think) -> Option<Level> {
        let level = match think {
            Think::Auto => return None,
            Think::Off => self.least,
            Think::Low => Level::Low,
            Think::Medium => Level::Medium,
            Think::High => Level::High,
            Think::Tokens(tokens) if tokens < 512 => self.least,
            Think::Tokens(tokens) if tokens <= 4_096 => Level::Low,
            Think::Tokens(tokens) if tokens <= 12_288 => Level::Medium,
            Think::Tokens(_) => Level::High,
        };
        Some(if level == Level::Medium && !self.knows_medium { Level::High } else { level })
    }
}

/// `3.1` in `3.1-pro-preview`.
fn version_of(rest: &str) -> Option<(u32, u32)> {
    let number = rest.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

impl Level {
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
        let level = |least, is_long| Family::Level(Scale { least, knows_medium: true, is_long });
        let cases = [
            ("gemini-2.0-flash", Family::Plain),
            ("gemini-1.5-pro-002", Family::Plain),
            ("gemma-3-27b-it", Family::Plain),
            ("gemini-2.5-flash-image", Family::Plain),
            ("gemini-2.5-flash", Family::Budget(Size::Flash)),
            ("models/gemini-2.5-pro", Family::Budget(Size::Pro)),
            ("gemini-2.5-flash-lite-preview-09-2025", Family::Budget(Size::Lite)),
            ("gemini-3-flash-preview", level(Level::Minimal, false)),
            ("gemini-3-pro-preview", Family::Level(Scale { least: Level::Low, knows_medium: false, is_long: true })),
            ("gemini-3.1-pro-preview", level(Level::Low, true)),
            ("gemini-3.5-flash-lite", level(Level::Minimal, false)),
            ("gemini-3.8-flash", level(Level::Low, false)),
            ("gemini-3.10-flash", level(Level::Low, false)),
            ("gemini-flash-latest", level(Level::Low, false)),
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
