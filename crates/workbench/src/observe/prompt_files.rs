//! Files with every prompt and response of a run: `TIME_AGENT_prompt.txt`, `TIME_AGENT_response.txt`, and the newest
//! prompt as `latest_prompt.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;

use updraft_engine::prompt_at;
use updraft_journal::Journal;
use updraft_run::{EffectAddress, EffectFacts, Event, ModelAnswer, Record, Reply, RunId, Timestamp};

use crate::folders::private_file;
use crate::time_format;

/// The files of one run.
pub struct PromptFiles {
    folder: PathBuf,
    /// The names of open questions, without their ends.
    names: BTreeMap<EffectAddress, String>,
    /// The names of the newest moment. Files of an earlier time are written again: they say the same.
    newest: (Timestamp, BTreeSet<String>),
}

impl PromptFiles {
    /// Files in this folder, which is made when there is something to write.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder, names: BTreeMap::new(), newest: (Timestamp(0), BTreeSet::new()) }
    }

    /// Writes the prompts and responses of a record.
    pub fn take(&mut self, journal: &Journal, run: &RunId, record: &Record) -> io::Result<()> {
        for event in &record.events {
            match event {
                Event::Begun { id, facts: EffectFacts { prompt: Some(_), .. }, .. } => {
                    let Some(sent) = prompt_at(journal, run, id).map_err(io::Error::other)? else { continue };
                    self.prompt(id, &sent.agent, record.at, &sent.prompt)?;
                }
                Event::Replied { id, reply, .. } => {
                    if let Some(name) = self.names.remove(id) {
                        self.write(&format!("{name}_response.txt"), &response(reply))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn prompt(&mut self, id: &EffectAddress, agent: &str, at: Timestamp, prompt: &str) -> io::Result<()> {
        let agent: String = agent.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let time: String = time_format::iso_millis(at).chars().filter(|c| !matches!(c, '-' | ':')).collect();
        let name = format!("{time}_{agent}");
        // Two agents of one name may be asked in the same millisecond.
        if self.newest.0 != at {
            self.newest = (at, BTreeSet::new());
        }
        let taken = |name: &String| self.newest.1.contains(name);
        let others = (2..).map(|n| format!("{name}_{n}"));
        let free = std::iter::once(name.clone()).chain(others).find(|name| !taken(name));
        let name = free.unwrap_or(name);
        self.write(&format!("{name}_prompt.txt"), prompt)?;
        self.write("latest_prompt.txt", prompt)?;
        self.newest.1.insert(name.clone());
        self.names.insert(id.clone(), name);
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        private_file(&self.folder.join(name), OpenOptions::new().write(true).truncate(true))?.write_all(text.as_bytes())
    }
}

/// A response for people.
fn response(reply: &Reply) -> String {
    match reply {
        Reply::Answer(answer) => answer_in_words(answer),
        other => format!("[no answer]\n{}\n", serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}

fn answer_in_words(answer: &ModelAnswer) -> String {
    let mut parts = Vec::new();
    if !answer.reasoning.is_empty() {
        parts.push(format!("[reasoning]\n{}\n", answer.reasoning));
    }
    if !answer.text.is_empty() {
        parts.push(format!("[answer]\n{}\n", answer.text));
    }
    for call in &answer.calls {
        let args = serde_json::to_string_pretty(&call.args).unwrap_or_default();
        parts.push(format!("[call {}]\n{args}\n", call.name));
    }
    parts.join("\n")
}
