//! Reads a guardrail's file: front matter that says where it stands and what it does, and the rule that a model judges.

use std::path::Path;

use crate::Error;
use crate::front_matter::{self, Field, Misread};

/// A guardrail as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardrailFile {
    /// The name of the file.
    pub name: String,
    /// Where it stands: `input`, `call`, `output`.
    pub when: Vec<String>,
    /// What it does: `stop`, `correct` or `ask`.
    pub action: String,
    /// What it checks: `rule`, `secrets`, `length`, `words`, `schema`, `citations`.
    pub check: String,
    /// The most characters.
    pub most: Option<usize>,
    /// The words that may not occur.
    pub words: Vec<String>,
    /// The file with the schema.
    pub schema: Option<String>,
    /// Only calls of these tools.
    pub tools: Vec<String>,
    /// The rule, in words for a model.
    pub rule: String,
}

/// A guardrail, or the name of its file and why it cannot be read.
pub type ReadGuardrail = Result<GuardrailFile, (String, String)>;

impl GuardrailFile {
    /// Reads every guardrail in a folder; for files that cannot be read, their name and the reason. A missing folder has
    /// none.
    pub fn in_folder(folder: &Path) -> Result<Vec<ReadGuardrail>, Error> {
        let files = crate::agents::markdown_in(folder)?;
        let one = |(stem, text): (String, Result<String, Error>)| {
            let fault = |what: String| (format!("{stem}.md"), what);
            let text = text.map_err(|error| fault(error.to_string()))?;
            Self::parse(&stem, &text).map_err(|Misread { line, what }| fault(format!("line {line}: {what}")))
        };
        Ok(files.into_iter().map(one).collect())
    }

    fn parse(stem: &str, text: &str) -> Result<Self, Misread> {
        let read = front_matter::read(text)?;
        let mut own = Self { name: stem.to_owned(), action: "stop".into(), rule: read.body, ..Self::default() };
        for field in &read.fields {
            own.set(field).map_err(|what| Misread { line: field.line, what })?;
        }
        let at_first = |what: &str| Err(Misread { line: 1, what: what.to_owned() });
        if own.check.is_empty() {
            own.check = "rule".into();
        }
        if own.when.is_empty() {
            return at_first("`when` is missing: `input`, `call`, `output`, or several of them");
        }
        match own.check.as_str() {
            "rule" if own.rule.is_empty() => {
                at_first("the rule is missing: write below the front matter what a model checks")
            }
            "length" if own.most.is_none() => at_first("`most` is missing: the most characters"),
            "words" if own.words.is_empty() => at_first("`words` is missing: the words that may not occur"),
            "schema" if own.schema.is_none() => at_first("`schema` is missing: the file with the JSON Schema"),
            "citations" if own.when != ["output"] => at_first("`check: citations` looks at answers: `when: output`"),
            _ => Ok(own),
        }
    }

    fn set(&mut self, field: &Field) -> Result<(), String> {
        let key = field.key.as_str();
        let list = || field.value.words().ok_or_else(|| format!("`{key}` must be a word or a list of words"));
        let text = || field.value.text().map(str::to_owned).ok_or_else(|| format!("`{key}` must be a text"));
        let one_of = |known: &[&str], word: String| {
            let is_known = known.contains(&word.as_str());
            if is_known { Ok(word) } else { Err(format!("`{key}` is \"{word}\"; expected {}", known.join(", "))) }
        };
        match key {
            "name" | "purpose" | "description" => {}
            "when" => {
                let known = &["input", "call", "output"];
                self.when = list()?.into_iter().map(|word| one_of(known, word)).collect::<Result<_, _>>()?;
            }
            "action" => self.action = one_of(&["stop", "correct", "ask"], text()?)?,
            "check" => {
                self.check = one_of(&["rule", "secrets", "length", "words", "schema", "citations"], text()?)?;
            }
            "most" => self.most = Some(text()?.parse().map_err(|_| "`most` must be a number".to_owned())?),
            "words" => self.words = list()?,
            "schema" => self.schema = Some(text()?),
            "tools" => self.tools = list()?,
            other => {
                return Err(format!("unknown field `{other}`; known: when, action, check, most, words, schema, tools"));
            }
        }
        Ok(())
    }
}
