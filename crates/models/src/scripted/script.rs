//! The file format of scripts, and the choice of the line that answers a prompt.

use serde::Deserialize;
use serde_json::{Map, Value};
use updraft_run::{FinishReason, Message, TokenUsage};

use super::turn_of;
use crate::{Error, Price, Prompt, TaskBrief};

/// A script, in either of its two forms.
#[derive(Debug)]
pub(super) enum Script {
    /// Answers in order: the turn is the index.
    List { lines: Vec<ScriptAnswer>, price: Option<ScriptPrice> },
    /// The first matching rule answers.
    Rules { rules: Vec<ScriptRule>, default: Option<ScriptAnswer>, price: Option<ScriptPrice> },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    answers: Option<Vec<ScriptAnswer>>,
    #[serde(default)]
    rules: Vec<ScriptRule>,
    #[serde(default)]
    default: Option<ScriptAnswer>,
    #[serde(default)]
    price: Option<ScriptPrice>,
}

/// A condition and the answer if it holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptRule {
    #[serde(default)]
    when: ScriptCondition,
    answer: ScriptAnswer,
    /// The maximum number of answers of this rule within one conversation.
    #[serde(default)]
    times: Option<usize>,
}

/// All given conditions must hold; an empty condition always holds.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCondition {
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    step: Option<String>,
    #[serde(default)]
    turn: Option<usize>,
    #[serde(default)]
    contains: Option<String>,
    #[serde(default)]
    has_result: Option<String>,
}

/// One answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptAnswer {
    #[serde(default)]
    text: String,
    #[serde(default)]
    json: Option<Value>,
    #[serde(default)]
    pub(super) calls: Vec<ScriptCall>,
    #[serde(default)]
    pub(super) reasoning: String,
    #[serde(default)]
    pub(super) finish: FinishReason,
    /// Whether the model writes its calls as text.
    #[serde(default)]
    pub(super) writes_calls: bool,
    #[serde(default)]
    pub(super) delay_ms: u64,
    #[serde(default)]
    usage: ScriptTokens,
    #[serde(default)]
    pub(super) fail: Option<String>,
    #[serde(default)]
    price: Option<ScriptPrice>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptCall {
    pub(super) name: String,
    #[serde(default = "no_arguments")]
    pub(super) args: Value,
    #[serde(default)]
    pub(super) fault: Option<String>,
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptTokens {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
}

/// A price in dollars per million tokens.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptPrice {
    input: f64,
    output: f64,
}

impl ScriptPrice {
    fn price(self) -> Price {
        Price::per_million(self.input, self.output, None, None)
    }
}

impl ScriptAnswer {
    pub(super) fn text(&self) -> String {
        self.json.as_ref().map_or_else(|| self.text.clone(), Value::to_string)
    }

    pub(super) fn usage(&self) -> TokenUsage {
        TokenUsage { input: self.usage.input, output: self.usage.output, ..TokenUsage::default() }
    }

    pub(super) fn price(&self) -> Option<Price> {
        self.price.map(ScriptPrice::price)
    }
}

impl Script {
    pub(super) fn parse(text: &str) -> serde_json::Result<Self> {
        if text.trim_start().starts_with('[') {
            return Ok(Script::List { lines: serde_json::from_str(text)?, price: None });
        }
        let ScriptFile { answers, rules, default, price } = serde_json::from_str(text)?;
        Ok(match answers {
            Some(lines) => Script::List { lines, price },
            None => Script::Rules { rules, default, price },
        })
    }

    pub(super) fn price(&self) -> Price {
        match self {
            Script::List { price, .. } | Script::Rules { price, .. } => {
                price.map(ScriptPrice::price).unwrap_or_default()
            }
        }
    }

    /// The line that answers this prompt, the same in every process.
    pub(super) fn line_for(&self, prompt: &Prompt<'_>) -> Result<&ScriptAnswer, Error> {
        let turn = turn_of(prompt.own_messages());
        let (line, why) = match self {
            Script::List { lines, .. } => (lines.get(turn), format!("it ends after {} answers", lines.len())),
            Script::Rules { rules, default, .. } => {
                let rule = choose(rules, prompt.brief, prompt.own_messages());
                (
                    rule.map(|at| &rules[at].answer).or(default.as_ref()),
                    "no rule fits, and there is no default".to_owned(),
                )
            }
        };
        let TaskBrief { agent, step, .. } = prompt.brief;
        line.ok_or_else(|| Error::Script { message: format!("turn {turn} of agent `{agent}`, step `{step}`: {why}") })
    }
}

/// The first rule that matches and has not reached its maximum.
fn choose(rules: &[ScriptRule], brief: &TaskBrief, messages: &[Message]) -> Option<usize> {
    let mut answered = vec![0; rules.len()];
    let fits = |answered: &[usize], told: &[Message]| {
        let mut numbered = rules.iter().enumerate();
        numbered
            .position(|(at, rule)| rule.times.is_none_or(|times| answered[at] < times) && rule.when.holds(brief, told))
    };
    // Earlier turns matter only for counting; their answers follow from the messages before each of them.
    if rules.iter().any(|rule| rule.times.is_some()) {
        for (at, message) in messages.iter().enumerate() {
            if let Message::Assistant(_) = message
                && let Some(rule) = fits(&answered, &messages[..at])
            {
                answered[rule] += 1;
            }
        }
    }
    fits(&answered, messages)
}

impl ScriptCondition {
    fn holds(&self, brief: &TaskBrief, messages: &[Message]) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        is(&self.agent, &brief.agent)
            && is(&self.step, &brief.step)
            && self.turn.is_none_or(|turn| turn == turn_of(messages))
            && self.contains.as_ref().is_none_or(|text| messages.last().is_some_and(|last| contains(last, text)))
            && self.has_result.as_ref().is_none_or(|tool| messages.last().is_some_and(|last| has_result(last, tool)))
    }
}

fn contains(message: &Message, text: &str) -> bool {
    match message {
        Message::User(said) => said.contains(text),
        Message::Assistant(answer) => answer.text.contains(text),
        Message::Results(results) => results.iter().any(|result| result.text.contains(text)),
        Message::Pictures(pictures) => pictures.iter().any(|picture| picture.name.contains(text)),
    }
}

fn has_result(message: &Message, tool: &str) -> bool {
    match message {
        Message::Results(results) => results.iter().any(|result| result.name == tool),
        Message::User(_) | Message::Assistant(_) | Message::Pictures(_) => false,
    }
}
