//! How much a model thinks before it answers: as chosen by someone, or as the task needs.

use serde::{Deserialize, Serialize};

use crate::event::Judgement;
use crate::role::AgentRole;
use crate::state::Run;
use crate::step::Step;

/// How much a model should think before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingEffort {
    /// As needed: more if the task or an earlier failure calls for it, otherwise the model's default.
    #[default]
    Auto,
    /// Not at all, if the model allows that.
    Off,
    /// A little.
    Low,
    /// A medium amount.
    Medium,
    /// A lot.
    High,
    /// For at most this many tokens.
    Tokens(u64),
}

impl ThinkingEffort {
    /// Parses `auto`, `off`, `low`, `medium`, `high`, or a number of tokens.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.trim() {
            "auto" => ThinkingEffort::Auto,
            "off" | "none" | "false" | "no" => ThinkingEffort::Off,
            "low" | "minimal" => ThinkingEffort::Low,
            "medium" | "on" | "true" | "yes" => ThinkingEffort::Medium,
            "high" | "max" => ThinkingEffort::High,
            number => match number.parse().ok()? {
                0 => ThinkingEffort::Off,
                tokens => ThinkingEffort::Tokens(tokens),
            },
        })
    }

    /// The number of tokens; absent if it is left to the model.
    pub fn tokens(self) -> Option<u64> {
        match self {
            ThinkingEffort::Auto => None,
            ThinkingEffort::Off => Some(0),
            ThinkingEffort::Low => Some(2_048),
            ThinkingEffort::Medium => Some(8_192),
            ThinkingEffort::High => Some(24_576),
            ThinkingEffort::Tokens(tokens) => Some(tokens),
        }
    }

    pub(crate) fn is_auto(&self) -> bool {
        *self == ThinkingEffort::Auto
    }
}

/// Beginnings of words that often occur in tasks that need thinking.
const HARD: [&str; 13] = [
    "analy",
    "compar",
    "evaluat",
    "trade-off",
    "tradeoff",
    "weigh",
    "prove",
    "proof",
    "debug",
    "diagnos",
    "architect",
    "reason",
    "optimi",
];

impl Run {
    /// How much a step's model should think: as chosen for the run or for the agent.
    pub fn chosen_thinking(&self, step: &Step) -> ThinkingEffort {
        let card = self.roster.agent(&step.spec.agent);
        let chosen = [self.settings.think, card.map_or(ThinkingEffort::Auto, |card| card.think)];
        chosen.into_iter().find(|think| *think != ThinkingEffort::Auto).unwrap_or_default()
    }

    /// How much thinking a step needs by its nature, if nobody has chosen.
    pub fn needed_thinking(&self, step: &Step) -> ThinkingEffort {
        let failed_before = step.carried.as_ref().is_some_and(|carried| match carried.judgement {
            Judgement::Retry { .. } | Judgement::Pivot { .. } | Judgement::Replan { .. } => true,
            Judgement::Again { .. }
            | Judgement::Accept
            | Judgement::GiveUp
            | Judgement::Reject { .. }
            | Judgement::Renewed { .. } => false,
        });
        let task = if step.spec.prompt.is_empty() { &step.spec.description } else { &step.spec.prompt };
        let task = if task.is_empty() { &self.goal.text } else { task };
        let reasons = self.card(&step.spec.agent).is_some_and(|card| card.role() == AgentRole::Thinker);
        if failed_before || reasons || is_hard(task) { ThinkingEffort::Medium } else { ThinkingEffort::Auto }
    }
}

fn is_hard(task: &str) -> bool {
    let mut words = task.split(|letter: char| !letter.is_alphanumeric() && letter != '-').filter(|word| word.len() > 2);
    words.any(|word| {
        let word = word.to_lowercase();
        word == "why" || HARD.iter().any(|hard| word.starts_with(hard))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_understood() {
        assert_eq!(ThinkingEffort::parse(" high "), Some(ThinkingEffort::High));
        assert_eq!(ThinkingEffort::parse("off"), Some(ThinkingEffort::Off));
        assert_eq!(ThinkingEffort::parse("0"), Some(ThinkingEffort::Off));
        assert_eq!(ThinkingEffort::parse("4096"), Some(ThinkingEffort::Tokens(4096)));
        assert_eq!(ThinkingEffort::parse("very"), None);
    }

    #[test]
    fn hard_tasks_are_told_by_their_words() {
        for hard in ["Analyze the log", "COMPARE both", "find out why it fails", "Weigh the trade-offs"] {
            assert!(is_hard(hard), "{hard}");
        }
        for plain in ["List the files", "Read whyte.txt", "Write a poem about a loom"] {
            assert!(!is_hard(plain), "{plain}");
        }
    }
}
