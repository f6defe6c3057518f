//! A model whose answers come from a file or a function, for tests in process and through the binary.
//!
//! A script is a JSON file, named `scripted/PATH`. Either a list of answers, given in order:
//!
//! ```json
//! [{"calls": [{"name": "read", "args": {"path": "a.txt"}}]}, {"text": "It says hello."}]
//! ```
//!
//! or a list of rules, of which the first that matches answers:
//!
//! ```json
//! {"rules": [{"when": {"agent": "planner"}, "answer": {"json": {"steps": []}}},
//!            {"when": {"step": "find", "turn": 0}, "answer": {"text": "found", "delay_ms": 20}},
//!            {"when": {"contains": "again"}, "answer": {"fail": "no more"}, "times": 2}],
//!  "default": {"text": "done"}, "price": {"input": 1.0, "output": 2.0}}
//! ```
//!
//! **Scripts have no memory.** An answer depends only on the prompt, so that a process that resumes a run gets the same
//! answers. The turn is the number of the model's own messages in the prompt; it indexes the list, so each step starts
//! at the beginning of the list. `times` counts the earlier turns of the same conversation that the rule answered.
//! Calls are named `c<turn>.<n>`. Usage that a script does not state is zero, so that token counts stay the same when
//! prompts are reworded.

mod script;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use updraft_run::{Message, ModelAnswer, ToolCall};

use self::script::{Script, ScriptAnswer};
use crate::{Delta, DeltaCallback, Error, Model, ModelFuture, Price, Prompt, RequestDraft};

/// A model that answers from a script or a function.
#[derive(Debug)]
pub struct ScriptedModel {
    name: String,
    price: Price,
    source: ScriptSource,
}

enum ScriptSource {
    Script(Box<Script>),
    Function(Box<dyn Fn(&Prompt<'_>) -> ModelAnswer + Send + Sync>),
}

impl fmt::Debug for ScriptSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptSource::Script(script) => script.fmt(f),
            ScriptSource::Function(_) => f.write_str("Function(..)"),
        }
    }
}

impl ScriptedModel {
    /// Reads a script from a file.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| Error::Config {
            what: format!("the script `{}` cannot be read: {why}", path.display()),
            hint: "a scripted model is named `scripted/` and the path of a JSON file".to_owned(),
        })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Parses a script.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let script = Script::parse(text).map_err(|why| Error::Config {
            what: format!("the script `{name}` cannot be read: {why}"),
            hint: "a script is a list of answers, or an object with `rules` and `default`".to_owned(),
        })?;
        Ok(Self {
            name: format!("scripted/{name}"),
            price: script.price(),
            source: ScriptSource::Script(Box::new(script)),
        })
    }

    /// A model in process: the function returns the answer.
    pub fn from_fn(name: &str, answer: impl Fn(&Prompt<'_>) -> ModelAnswer + Send + Sync + 'static) -> Self {
        Self {
            name: format!("scripted/{name}"),
            price: Price::default(),
            source: ScriptSource::Function(Box::new(answer)),
        }
    }

    /// The same with a price, which also limits what a request may cost.
    #[must_use]
    pub fn at(mut self, price: Price) -> Self {
        self.price = price;
        self
    }

    fn answer(&self, line: &ScriptAnswer, prompt: &Prompt<'_>) -> Result<ModelAnswer, Error> {
        if let Some(message) = &line.fail {
            return Err(Error::Script { message: message.clone() });
        }
        let turn = turn_of(prompt.own_messages());
        let calls = line.calls.iter().enumerate();
        let mut answer = ModelAnswer {
            text: line.text(),
            reasoning: line.reasoning.clone(),
            calls: calls
                .map(|(n, call)| ToolCall {
                    id: format!("c{turn}.{n}"),
                    name: call.name.clone(),
                    args: call.args.clone(),
                    fault: call.fault.clone(),
                })
                .collect(),
            finish: line.finish,
            usage: line.usage(),
            writes_calls: line.writes_calls,
            ..ModelAnswer::default()
        };
        answer.usage.cost = Some(line.price().unwrap_or(self.price).of(&answer.usage));
        Ok(answer)
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn price(&self) -> Option<Price> {
        Some(self.price)
    }

    fn sees(&self) -> Option<bool> {
        Some(true)
    }

    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        _draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            let answer = match &self.source {
                ScriptSource::Function(function) => {
                    let mut answer = function(prompt);
                    answer.usage.cost = Some(self.price.of(&answer.usage));
                    answer
                }
                ScriptSource::Script(script) => {
                    let line = script.line_for(prompt)?;
                    if line.delay_ms > 0 {
                        tokio::time::sleep(Duration::from_millis(line.delay_ms)).await;
                    }
                    self.answer(line, prompt)?
                }
            };
            tell(&answer, hear);
            Ok(answer)
        })
    }
}

/// Passes a complete answer to a listener as if it arrived in parts.
pub(crate) fn tell(answer: &ModelAnswer, hear: DeltaCallback<'_>) {
    if !answer.reasoning.is_empty() {
        hear(Delta::Reasoning(&answer.reasoning));
    }
    if !answer.text.is_empty() {
        hear(Delta::Text(&answer.text));
    }
    for call in &answer.calls {
        hear(Delta::Call(&call.name));
    }
}

/// The number of the model's earlier answers.
pub(crate) fn turn_of(messages: &[Message]) -> usize {
    messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count()
}
