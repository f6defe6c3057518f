//! Search and fetch over the workspace's files, through the same tools that agents use.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use updraft_mcp::server::{Document, Hit, Output, Refusal};
use updraft_run::{Outcome, Reply, ToolCall, outcome_words};
use updraft_tools::{CallContext, Dispatcher, Place};

/// Documents that a search gives.
const HITS: usize = 20;
/// Words of a query that count.
const WORDS: usize = 12;
/// Lines of a document that are shown with it.
const LINES: usize = 3;

/// The files of the workspace, reached by tools.
pub(crate) struct Files {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) place: Place,
    /// Nothing may be changed.
    pub(crate) is_read_only: bool,
}

impl Files {
    /// Calls a tool. What an agent would need approval for is refused here: nobody watches.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Result<Output, Refusal> {
        let call = ToolCall { id: "1".into(), name: tool.to_owned(), args, fault: None };
        let prepared = self.dispatcher.prepare(&call, &self.place);
        if let Some(fault) = prepared.fault {
            return Err(Refusal(fault.message));
        }
        if self.is_read_only && !prepared.writes.is_empty() {
            return Err("nothing may be changed here: the workspace is read-only (approvals = \"read-only\")".into());
        }
        if prepared.outside || prepared.sends {
            return Err(Refusal(format!("`{tool}` would reach beyond the workspace; nobody can be asked here")));
        }
        let called = self.dispatcher.call(&call, &CallContext::new(self.place.clone(), "mcp")).await;
        match called.reply {
            Reply::Output(output) if !output.is_error => {
                Ok(Output { text: output.text.clone(), value: output.value.clone() })
            }
            other => Err(Refusal(outcome_words(&Outcome::Replied(other)).into_owned())),
        }
    }

    /// Documents that hold words of the query, those that hold more of them first.
    pub(crate) async fn search(&self, query: &str) -> Result<Vec<Hit>, Refusal> {
        let words: Vec<String> = words(query);
        if words.is_empty() {
            return Err("the query has no words to look for".into());
        }
        let mut found: BTreeMap<String, Found> = BTreeMap::new();
        for word in &words {
            let pattern = escape(word);
            let output = self.call("search_files", json!({ "pattern": pattern, "ignore_case": true })).await?;
            let matches = output.value.as_ref().and_then(|value| value["matches"].as_array()).cloned();
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            for one in matches.unwrap_or_default() {
                let Some(path) = one["path"].as_str() else { continue };
                *seen.entry(path.to_owned()).or_default() += 1;
                let entry = found.entry(path.to_owned()).or_default();
                if entry.lines.len() < LINES
                    && let Some(line) = one["text"].as_str()
                {
                    entry.lines.push(line.trim().chars().take(200).collect());
                }
            }
            for (path, lines) in seen {
                found.entry(path).or_default().score += 10 + lines.min(9);
            }
        }
        for path in self.paths().await? {
            let name = path.to_lowercase();
            let named = words.iter().filter(|word| name.contains(word.as_str())).count();
            if named > 0 {
                found.entry(path).or_default().score += 15 * named;
            }
        }
        let mut found: Vec<(String, Found)> = found.into_iter().collect();
        found.sort_by(|(one, a), (other, b)| b.score.cmp(&a.score).then(one.cmp(other)));
        Ok(found.into_iter().take(HITS).map(|(path, found)| self.hit(path, &found)).collect())
    }

    async fn paths(&self) -> Result<Vec<String>, Refusal> {
        let output = self.call("list_files", json!({})).await?;
        let files = output.value.as_ref().and_then(|value| value["files"].as_array()).cloned();
        let files = files.unwrap_or_default();
        Ok(files.iter().filter_map(|file| file["path"].as_str()).map(str::to_owned).collect())
    }

    fn hit(&self, path: String, found: &Found) -> Hit {
        Hit { title: path.clone(), url: self.url(&path), text: found.lines.join("\n"), id: path }
    }

    /// A document by its path in the workspace.
    pub(crate) async fn fetch(&self, id: &str) -> Result<Document, Refusal> {
        let output = self.call("read_file", json!({ "path": id })).await?;
        Ok(Document { id: id.to_owned(), title: id.to_owned(), url: self.url(id), text: output.text })
    }

    fn url(&self, path: &str) -> String {
        let whole = self.place.workspace.root().join(path);
        let mut url = String::from("file://");
        for byte in whole.to_string_lossy().bytes() {
            if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
                url.push(byte as char);
            } else {
                let _ = write!(url, "%{byte:02X}");
            }
        }
        url
    }
}

#[derive(Default)]
struct Found {
    score: usize,
    lines: Vec<String>,
}

/// The words of a query, lower case, without those that every text has.
fn words(query: &str) -> Vec<String> {
    let split = query.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut words: Vec<String> = split.map(str::to_lowercase).filter(|word| word.chars().count() > 1).collect();
    words.sort();
    words.dedup();
    let is_common = |word: &String| ["the", "of", "and", "is", "in", "to", "what", "how"].contains(&word.as_str());
    if words.iter().any(|word| !is_common(word)) {
        words.retain(|word| !is_common(word));
    }
    words.truncate(WORDS);
    words
}

/// A word as an expression that means just this word.
fn escape(word: &str) -> String {
    word.chars().map(|c| if c.is_alphanumeric() || c == '_' { c.to_string() } else { format!("\\{c}") }).collect()
}
