//! The syntax of model specifications: `provider/name`, with settings after `?`, and fallbacks after `|`.
//!
//! For example `gemini/gemini-2.5-flash?think=low&temperature=0.2 | openai/gpt-5-mini`. A run stores this text, so that
//! it continues with the same model, settings and address even if the configuration has changed.

use std::fmt;

use updraft_run::ThinkingEffort;

use crate::{Error, ModelTuning, ToolCallStyle};

/// One model of a specification.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSpec {
    /// The provider, or a name without one (`builtin`, `auto`, a profile).
    pub provider: String,
    /// The model's name at the provider.
    pub name: String,
    /// The provider's address, if it was given.
    pub base: Option<String>,
    /// Its settings.
    pub tuning: ModelTuning,
}

/// Parses a model and its fallbacks, in order.
pub(crate) fn parse(text: &str) -> Result<Vec<ModelSpec>, Error> {
    text.split(" | ").map(|one| ModelSpec::parse(one.trim())).collect()
}

impl ModelSpec {
    /// Parses one model.
    pub fn parse(text: &str) -> Result<Self, Error> {
        // The path of a script may contain any character.
        if let Some(path) = text.strip_prefix("scripted/") {
            return Ok(Self { provider: "scripted".into(), name: path.into(), ..Self::default() });
        }
        let (model, settings) = text.split_once('?').unwrap_or((text, ""));
        let (provider, name) = model.split_once('/').unwrap_or((model, ""));
        let mut spec = Self { provider: provider.to_owned(), name: name.to_owned(), ..Self::default() };
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            spec.set(key, value).map_err(|what| Error::Config {
                what: format!("`{setting}` in the model `{text}`: {what}"),
                hint: "write settings as `think=high&temperature=0.2&max_output=4096&tools=text&images=no&window=8192&base=URL`"
                    .to_owned(),
            })?;
        }
        Ok(spec)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let tuning = &mut self.tuning;
        match key {
            "base" => self.base = Some(value.to_owned()),
            "think" | "thinking" => {
                tuning.think =
                    ThinkingEffort::parse(value).ok_or("expected off, low, medium, high or a number of tokens")?;
            }
            "temperature" => {
                let temperature: f64 = value.parse().map_err(|_| "expected a number from 0 to 2")?;
                if !(0.0..=2.0).contains(&temperature) {
                    return Err("expected a number from 0 to 2".to_owned());
                }
                tuning.temperature = Some(temperature);
            }
            "max_output" => tuning.max_output = Some(value.parse().map_err(|_| "expected a number of tokens")?),
            "tools" => {
                tuning.tools = match value {
                    "auto" => None,
                    word => Some(ToolCallStyle::parse(word).ok_or("expected native, text or auto")?),
                }
            }
            "images" => {
                tuning.sees = match value {
                    "yes" | "true" => Some(true),
                    "no" | "false" => Some(false),
                    "auto" => None,
                    _ => return Err("expected yes, no or auto".to_owned()),
                }
            }
            "window" => tuning.window = Some(value.parse().map_err(|_| "expected a number of tokens")?),
            _ => return Err("no such setting".to_owned()),
        }
        Ok(())
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelTuning { think, temperature, max_output, tools, sees, window } = &self.tuning;
        f.write_str(&self.provider)?;
        if !self.name.is_empty() {
            write!(f, "/{}", self.name)?;
        }
        let think = match think {
            ThinkingEffort::Auto => None,
            ThinkingEffort::Off => Some("off".to_owned()),
            ThinkingEffort::Low => Some("low".to_owned()),
            ThinkingEffort::Medium => Some("medium".to_owned()),
            ThinkingEffort::High => Some("high".to_owned()),
            ThinkingEffort::Tokens(tokens) => Some(tokens.to_string()),
        };
        let tools = tools.map(|tools| tools.word().to_owned());
        let settings = [
            ("think", think),
            ("temperature", temperature.map(|number| number.to_string())),
            ("max_output", max_output.map(|number| number.to_string())),
            ("tools", tools),
            ("images", sees.map(|sees| if sees { "yes" } else { "no" }.to_owned())),
            ("window", window.map(|number| number.to_string())),
            ("base", self.base.clone()),
        ];
        let mut sign = '?';
        for (key, value) in settings {
            if let Some(value) = value {
                write!(f, "{sign}{key}={value}")?;
                sign = '&';
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_written_again() {
        for text in [
            "builtin",
            "openai/gpt-5-mini",
            "gemini/gemini-2.5-flash?think=low&temperature=0.2&max_output=4096",
            "openai-compatible/org/qwen?tools=text&images=no&window=4096&base=http://127.0.0.1:1234/v1",
        ] {
            assert_eq!(ModelSpec::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("openai/a | anthropic/b?think=off").unwrap().len(), 2);
    }

    #[test]
    fn a_setting_that_is_wrong_is_named() {
        for text in ["a/b?think=very", "a/b?temperature=9", "a/b?colour=red", "a/b?tools=maybe"] {
            assert!(matches!(ModelSpec::parse(text), Err(Error::Config { .. })), "{text}");
        }
    }
}
