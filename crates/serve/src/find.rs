//! The workspace's files through the tools that agents use, under the same rules; and search over them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tokio::sync::broadcast;
use tracing::info;
use updraft_mcp::server::{Changed, Hit, Output, Refusal};
use updraft_run::{
    Approvals, Layer, Origins, Outcome, Permission, Prepared, Reply, Rights, Rules, Settings, ToolCall, outcome_words,
};
use updraft_tools::{CallContext, Dispatcher, Place};

use crate::files::changed;

/// Documents that a search gives.
const HITS: usize = 20;
/// Words of a query that count: each is a search of its own.
const WORDS: usize = 16;
/// Lines of a document that are shown with it.
const LINES: usize = 3;

/// The files of the workspace, reached by tools.
pub(crate) struct Files {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) place: Place,
    /// What may be done: the mode and the rules that runs have too.
    pub(crate) settings: Settings,
    /// Who wants to hear of files that change.
    pub(crate) changed: broadcast::Sender<Changed>,
}

impl Files {
    /// Calls a tool, if the rules that hold for runs let whoever comes in here do so.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Result<Output, Refusal> {
        let call = ToolCall { id: "1".into(), name: tool.to_owned(), args, fault: None };
        let prepared = self.dispatcher.prepare(&call, &self.place);
        if let Some(fault) = prepared.fault {
            return Err(Refusal(fault.message));
        }
        self.weigh(tool, &prepared)?;
        let output = self.perform(&call, &prepared).await?;
        if prepared.changes() {
            // No run holds what a client does by itself, so this is where it can be looked up.
            info!(tool, files = prepared.writes.join(", "), "a client changed files");
        }
        Ok(output)
    }

    /// Whether a call may be made. What an agent would need approval for is refused, under `--yes` too: a person said that
    /// of their own runs, and here nobody sees what is asked. A rule that allows it is a word about the very thing.
    pub(crate) fn weigh(&self, tool: &str, prepared: &Prepared) -> Result<(), Refusal> {
        if self.settings.deny.iter().any(|denied| denied == tool) {
            return Err(Refusal(format!("`{tool}` is denied by the settings")));
        }
        let none = Rules::default();
        let client = Layer { whose: "a client", mode: Some(Approvals::Refuse), read_only: false, rules: &none };
        match Rights::of(&self.settings, &[]).child(client).weigh(tool, prepared, &Origins::default()) {
            Permission::Allowed => Ok(()),
            Permission::Denied(failure) => Err(Refusal(failure.message)),
            Permission::Asked(asking) => Err(Refusal(format!(
                "{}, and nobody can be asked here; have an agent do it with `query` or `dispatch_agent_task`, whose \
                 approvals can be given",
                asking.why
            ))),
        }
    }

    async fn perform(&self, call: &ToolCall, prepared: &Prepared) -> Result<Output, Refusal> {
        let mut context = CallContext::new(self.place.clone(), "mcp");
        context.around.reaches_outside = prepared.outside;
        let called = self.dispatcher.call(call, &context).await;
        match called.reply {
            Reply::Output(output) if !output.is_error => {
                for change in changed(&output.changes) {
                    // Nobody may listen.
                    let _ = self.changed.send(change);
                }
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
        let mut hidden = None;
        let mut found: BTreeMap<String, Found> = BTreeMap::new();
        for word in &words {
            let pattern = escape(word);
            let output = self.look("search_files", json!({ "pattern": pattern, "ignore_case": true })).await?;
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
        for path in self.all().await? {
            let name = path.to_lowercase();
            let named = words.iter().filter(|word| name.contains(word.as_str())).count();
            if named > 0 {
                found.entry(path).or_default().score += 15 * named;
            }
        }
        found.retain(|path, _| match self.may_show(path) {
            Ok(()) => true,
            Err(why) => {
                hidden = Some(why);
                false
            }
        });
        if let Some(why) = hidden.filter(|_| found.is_empty()) {
            return Err(why);
        }
        let mut found: Vec<(String, Found)> = found.into_iter().collect();
        found.sort_by(|(one, a), (other, b)| b.score.cmp(&a.score).then(one.cmp(other)));
        Ok(found.into_iter().take(HITS).map(|(path, found)| self.hit(path, &found)).collect())
    }

    /// Whether a search may show a file: what cannot be searched or read is not found either.
    fn may_show(&self, path: &str) -> Result<(), Refusal> {
        let reading = Prepared { reads: vec![path.to_owned()], ..Prepared::default() };
        ["search_files", "read_file"].iter().try_for_each(|tool| self.weigh(tool, &reading))
    }

    /// Looks through the whole workspace for a search, which shows only files that may be shown.
    async fn look(&self, tool: &str, args: Value) -> Result<Output, Refusal> {
        self.perform(&ToolCall { id: "1".into(), name: tool.to_owned(), args, fault: None }, &Prepared::default()).await
    }

    fn hit(&self, path: String, found: &Found) -> Hit {
        Hit { title: path.clone(), url: self.url(&path), text: found.lines.join("\n"), id: path }
    }

    pub(crate) fn url(&self, path: &str) -> String {
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

/// The words of a query, lower case, without those that every text has. Of very many the longest count: they say most.
fn words(query: &str) -> Vec<String> {
    let split = query.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut words: Vec<String> = Vec::new();
    for word in split.map(str::to_lowercase).filter(|word| word.chars().count() > 1) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let is_common = |word: &String| ["the", "of", "and", "is", "in", "to", "what", "how"].contains(&word.as_str());
    if words.iter().any(|word| !is_common(word)) {
        words.retain(|word| !is_common(word));
    }
    if words.len() > WORDS {
        words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
        words.truncate(WORDS);
    }
    words
}

/// A word as an expression that means just this word.
fn escape(word: &str) -> String {
    word.chars().map(|c| if c.is_alphanumeric() || c == '_' { c.to_string() } else { format!("\\{c}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_query_count_wherever_they_stand_in_the_alphabet() {
        let query = "The and of: ab ac ad ae af ag ah ai aj ak al am an ao ap aq ab zeppelin";
        let words = words(query);
        assert_eq!(words.len(), WORDS);
        assert_eq!((words[0].as_str(), words[1].as_str(), words[15].as_str()), ("zeppelin", "ab", "ap"));
        assert_eq!(super::words("zoo apple Zoo a"), ["zoo", "apple"]);
        assert_eq!(super::words("what is"), ["what", "is"]);
    }
}
