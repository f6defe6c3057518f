//! Counts in how many of BFCL's memory questions the answer is among the five memories recalled.
//!
//! `cargo run -p updraft-knowledge --example recall DATA [EXPECTED]`, or with vectors `--features minilm` and the folder of
//! the model before DATA. DATA is `bfcl_eval/data` of the package `bfcl-eval`. Every sentence that the user says in the
//! conversations of a scenario is one memory; an answer is found if it is part of a recalled one.

#![allow(clippy::print_stdout, reason = "an example speaks by printing")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use updraft_knowledge::{Embedder, MemoryScope, MemoryStore, NewMemory};

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<(), Problem> {
    let mut args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let embedder = model(&mut args)?;
    let data = args.first().ok_or("expected the folder `bfcl_eval/data`")?;
    let expected: usize = args.get(1).map_or(Ok(0), |text| text.to_string_lossy().parse())?;
    let (found, all) = measure(data, embedder.as_deref())?;
    println!("answer among the five recalled: {found} of {all}");
    if found < expected { Err(format!("expected at least {expected}").into()) } else { Ok(()) }
}

#[cfg(feature = "minilm")]
fn model(args: &mut Vec<PathBuf>) -> Result<Option<Box<dyn Embedder>>, Problem> {
    Ok(Some(Box::new(updraft_knowledge::MiniLm::load(&args.remove(0))?)))
}

#[cfg(not(feature = "minilm"))]
fn model(_: &mut Vec<PathBuf>) -> Result<Option<Box<dyn Embedder>>, Problem> {
    Ok(None)
}

fn measure(data: &Path, embedder: Option<&dyn Embedder>) -> Result<(usize, usize), Problem> {
    let folder = tempfile::tempdir()?;
    let mut stores: BTreeMap<String, MemoryStore> = BTreeMap::new();
    let mut answers = BTreeMap::new();
    for line in lines(&data.join("possible_answer/BFCL_v4_memory.json"))? {
        answers.insert(line["id"].to_string(), texts(&line["ground_truth"]));
    }
    let (mut found, questions) = (0, lines(&data.join("BFCL_v4_memory.json"))?);
    for line in &questions {
        let (scenario, question) = (line["scenario"].as_str().unwrap_or_default(), texts(&line["question"]).join(" "));
        if !stores.contains_key(scenario) {
            let mut store = MemoryStore::open(&folder.path().join(scenario))?;
            fill(&mut store, &data.join(format!("memory_prereq_conversation/memory_{scenario}.json")))?;
            stores.insert(scenario.to_owned(), store);
        }
        let Some(store) = stores.get_mut(scenario) else { continue };
        let recalled = store.recall(&question, &[], 5, embedder)?;
        let wanted = answers.get(&line["id"].to_string()).cloned().unwrap_or_default();
        let is_in = |text: &str| wanted.iter().any(|answer| says(text, answer));
        if recalled.iter().any(|(memory, _)| is_in(&memory.content.text)) {
            found += 1;
        } else {
            let is_there = store.list(&[])?.iter().any(|memory| is_in(&memory.content.text));
            let why = if is_there { "not found" } else { "in no memory" };
            println!("{why}: {question} ({})", wanted.join(" or "));
        }
    }
    Ok((found, questions.len()))
}

fn fill(store: &mut MemoryStore, conversations: &Path) -> Result<(), Problem> {
    for (number, conversation) in lines(conversations)?.iter().enumerate() {
        for message in texts(&conversation["question"]) {
            for text in sentences(&message) {
                let new = NewMemory {
                    text,
                    scope: MemoryScope::User,
                    pinned: false,
                    run: format!("conversation {number}"),
                    step: String::new(),
                    origins: Vec::new(),
                };
                store.add(&new, None, 0)?;
            }
        }
    }
    Ok(())
}

/// Whether a text contains an answer as whole words, in BFCL's own comparison: without case and some signs.
fn says(text: &str, answer: &str) -> bool {
    let plain = |text: &str| text.replace([',', '.', '/', '-', '_', '*', '^', '(', ')'], "").to_lowercase();
    let (text, answer) = (plain(text), plain(answer));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&answer).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + answer.len()..].chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// A message cut after full stops, question marks and exclamation marks.
fn sentences(message: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut after_stop = false;
    for c in message.chars() {
        if after_stop && c.is_whitespace() {
            sentences.push(String::new());
        } else if let Some(last) = sentences.last_mut() {
            last.push(c);
        }
        after_stop = matches!(c, '.' | '?' | '!');
    }
    sentences.into_iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

fn lines(file: &Path) -> Result<Vec<Value>, Problem> {
    let text = std::fs::read_to_string(file)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// The texts in a value, at any depth, without roles.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.get("content").map(texts).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
