//! Uses the workspace's files through the agents' tools, under the same rules, and searches them.

use std::fmt::Write as _;

use serde_json::Value;
use tokio::sync::broadcast;
use tracing::info;
use updraft_run::{
    ApprovalMode, Origins, Permission, PreparedCall, Reply, Rights, RightsLayer, Rules, RunSettings, ToolCall,
    ToolCallOutcome, outcome_words,
};
use updraft_tools::{CallContext, Dispatcher, Place, Workspace};

use super::files::changed;
use super::service_types::{FileToolOutput, SearchHit, WorkspaceFileChange};
use crate::fault::Fault;

/// Most documents that a search returns.
const HITS: usize = 20;
/// Most words of a query that are used: each is a search of its own.
const WORDS: usize = 16;
/// Most lines of a document that are shown.
const LINES: usize = 3;
/// Most characters of a line that are shown.
const SHOWN: usize = 200;
/// Most bytes of one document that are searched.
const LOOKED_THROUGH: u64 = 32 << 20;
/// Most bytes that one search reads.
const SEARCHED: u64 = 256 << 20;

/// The files of the workspace, as clients use them through tools.
pub struct WorkspaceFiles {
    pub(super) dispatcher: Dispatcher,
    pub(super) place: Place,
    /// What clients may do: the same mode and rules as for runs.
    pub(super) settings: RunSettings,
    /// Receives the files that change.
    pub(super) changed: broadcast::Sender<WorkspaceFileChange>,
}

impl WorkspaceFiles {
    /// Reports files that clients and runs of this process change. A slow receiver misses some.
    pub fn changes(&self) -> broadcast::Receiver<WorkspaceFileChange> {
        self.changed.subscribe()
    }

    /// Calls a tool, if the rules allow it to a client.
    pub async fn call(&self, tool: &str, args: Value) -> Result<FileToolOutput, Fault> {
        let call = ToolCall { id: "1".into(), name: tool.to_owned(), args, fault: None };
        let prepared = self.dispatcher.prepare(&call, &self.place);
        if let Some(fault) = prepared.fault {
            return Err(Fault::usage(fault.message));
        }
        self.weigh(tool, &prepared)?;
        let output = self.perform(&call, &prepared).await?;
        if prepared.changes() {
            // A client's own call is in no run's journal, so it is logged here.
            info!(tool, files = prepared.writes.join(", "), "a client changed files");
        }
        Ok(output)
    }

    /// Whether a client may make a call. If an agent would need approval for it, it is refused, even under `--yes`: the
    /// user said that for runs, and nobody sees the question here. A rule that allows the call still counts.
    pub(super) fn weigh(&self, tool: &str, prepared: &PreparedCall) -> Result<(), Fault> {
        if self.settings.deny.iter().any(|denied| denied == tool) {
            return Err(Fault::usage(format!("`{tool}` is denied by `deny` in the settings")));
        }
        let none = Rules::default();
        let client =
            RightsLayer { whose: "a client", mode: Some(ApprovalMode::Refuse), read_only: false, rules: &none };
        match Rights::of(&self.settings, &[]).child(client).weigh(tool, prepared, &Origins::default()) {
            Permission::Allowed => Ok(()),
            Permission::Denied(failure) => Err(Fault::usage(failure.message)),
            Permission::Asked(asking) => Err(Fault::usage(format!(
                "{}. Refused: nobody can be asked here; let an agent do it with `query` or `dispatch_agent_task`, where \
                 a person can approve it",
                asking.why
            ))),
        }
    }

    async fn perform(&self, call: &ToolCall, prepared: &PreparedCall) -> Result<FileToolOutput, Fault> {
        let mut context = CallContext::new(self.place.clone(), "mcp");
        context.around.reaches_outside = prepared.outside;
        let called = self.dispatcher.call(call, &context).await;
        match called.reply {
            Reply::Output(output) if !output.is_error => {
                for change in changed(&output.changes) {
                    // There may be no receiver.
                    let _ = self.changed.send(change);
                }
                Ok(FileToolOutput { text: output.text.clone(), value: output.value.clone() })
            }
            other => Err(Fault::usage(outcome_words(&ToolCallOutcome::Replied(other)).into_owned())),
        }
    }

    /// Finds documents that contain words of the query, best matches first. Files that may not be read are skipped
    /// entirely, so that the result reveals nothing about them.
    pub async fn search(&self, query: &str) -> Result<Vec<SearchHit>, Fault> {
        let words: Vec<String> = words(query);
        if words.is_empty() {
            return Err(Fault::usage("the query has no words to look for"));
        }
        let (mut shown, mut hidden) = (Vec::new(), None);
        for reads in self.all().await? {
            match self.may_show(&reads) {
                Ok(()) => shown.push(reads),
                Err(why) => hidden = Some(why),
            }
        }
        if let Some(why) = hidden.filter(|_| shown.is_empty()) {
            return Err(why);
        }
        let mut found = self.look_at(".", move |workspace, _| Ok(matching(workspace, shown, &words))).await?;
        found.sort_by(|(one, a), (other, b)| b.score.cmp(&a.score).then(one.cmp(other)));
        Ok(found.into_iter().take(HITS).map(|(path, found)| self.hit(path, &found)).collect())
    }

    /// Whether a search may show a file, given its path and the target of a link: both searching and reading it must be
    /// allowed.
    fn may_show(&self, reads: &[String]) -> Result<(), Fault> {
        let reading = PreparedCall { reads: reads.to_vec(), ..PreparedCall::default() };
        ["search_files", "read_file"].iter().try_for_each(|tool| self.weigh(tool, &reading))
    }

    fn hit(&self, path: String, found: &FileScore) -> SearchHit {
        SearchHit { title: path.clone(), url: self.url(&path), text: found.lines.join("\n"), id: path }
    }

    pub(super) fn url(&self, path: &str) -> String {
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
struct FileScore {
    score: usize,
    lines: Vec<String>,
}

/// The files that have words of the query in their names or texts.
fn matching(workspace: &Workspace, files: Vec<Vec<String>>, words: &[String]) -> Vec<(String, FileScore)> {
    let (mut found, mut left) = (Vec::new(), SEARCHED);
    for reads in files {
        let [path, elsewhere @ ..] = reads.as_slice() else { continue };
        let name = path.to_lowercase();
        let named = words.iter().filter(|word| name.contains(word.as_str())).count();
        let mut one = FileScore { score: 15 * named, ..FileScore::default() };
        // The content of a link's target is found under the target's own name.
        if elsewhere.is_empty()
            && left > 0
            && let Ok(inside) = workspace.locate(path)
            && let Ok(read) = workspace.whole_text(&inside, left.min(LOOKED_THROUGH))
        {
            left -= read.bytes.min(left);
            one.take_in(&read.text, words);
        }
        if one.score > 0 {
            found.push((path.clone(), one));
        }
    }
    found
}

impl FileScore {
    /// Counts the lines that contain each word, and keeps the first few.
    fn take_in(&mut self, text: &str, words: &[String]) {
        let lower = text.to_lowercase();
        let words: Vec<&String> = words.iter().filter(|word| lower.contains(word.as_str())).collect();
        if words.is_empty() || text.contains('\0') {
            return;
        }
        let mut counts = vec![0; words.len()];
        for line in text.lines() {
            let lower = line.to_lowercase();
            let mut holds = false;
            for (word, count) in words.iter().zip(&mut counts) {
                let here = lower.contains(word.as_str());
                *count += usize::from(here);
                holds |= here;
            }
            if holds && self.lines.len() < LINES {
                self.lines.push(excerpt(line, &lower, &words));
            }
        }
        self.score += counts.into_iter().filter(|count| *count > 0).map(|count| 10 + count.min(9)).sum::<usize>();
    }
}

/// A line cut to size around the first word that was found.
fn excerpt(line: &str, lower: &str, words: &[&String]) -> String {
    let at = words.iter().filter_map(|word| lower.find(word.as_str())).min().unwrap_or_default();
    let before = lower.get(..at).unwrap_or_default().chars().count();
    let from = if before < SHOWN / 2 { 0 } else { before - SHOWN / 3 };
    line.chars().skip(from).take(SHOWN).collect::<String>().trim().to_owned()
}

/// The words of a query in lower case, without very common ones. If there are too many, the longest are kept: they are
/// the most specific.
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

    #[test]
    fn a_line_is_shown_where_the_word_stands_and_counts_for_each_word_it_holds() {
        let mut found = FileScore::default();
        let text = format!("{} the Weft is here {}\nweft and warp\nnothing\n", "x".repeat(1_000), "y".repeat(1_000));
        found.take_in(&text, &["weft".to_owned(), "warp".to_owned(), "loom".to_owned()]);
        assert_eq!(found.score, (10 + 2) + (10 + 1));
        assert!(found.lines[0].contains("the Weft is here") && found.lines[0].chars().count() <= SHOWN);
        assert_eq!(found.lines[1..], ["weft and warp"]);
    }
}
