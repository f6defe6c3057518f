//! Lists, searches and reads files: as the steps of a retriever, or all in one step for a single agent.

use serde_json::{Value, json};
use updraft_run::{Message, ModelAnswer};

use super::compose::Evidence;
use super::conversation::{self, CallBuilder, Toolbox};
use super::hits::WordHits;
use super::question::GoalQuestion;
use super::quote::{Quote, QuoteWeights};
use super::rank::{self, FileCategory, FileListing, LineRange};
use super::terms::Term;
use super::words;
use crate::{Prompt, TaskBrief};

const LIST: &str = "list_files";
const SEARCH: &str = "search_files";
const READ: &str = "read_file";

/// Number of parallel reading steps.
pub(super) const READERS: usize = 3;
/// Maximum number of paths that the first step returns: about as much as a model would be shown.
const MAX_PATHS: usize = 400;
/// Maximum number of paths requested from the tool.
const LISTED: u64 = 2_000;
/// Maximum number of lines requested from one search.
const FOUND: u64 = 200;
/// Maximum number of searches for pairs of words, if each word alone is too common.
const MAX_PAIRS: usize = 6;

/// Performs a retriever's step, recognised by its name; any other task is done as a whole.
pub(super) fn step(prompt: &Prompt<'_>) -> ModelAnswer {
    let step = prompt.brief.step.as_str();
    let tools = Toolbox(prompt.tools);
    if step.starts_with("look") && tools.has(LIST) {
        look(prompt, &tools)
    } else if step.starts_with("search") && tools.has(SEARCH) {
        search(prompt, &tools)
    } else if let Some(share) = share_of(step).filter(|_| tools.has(READ)) {
        read(prompt, &tools, share)
    } else {
        whole(prompt)
    }
}

/// The `2` of `read_2`, counted from 0.
fn share_of(step: &str) -> Option<usize> {
    let digits: String = step.strip_prefix("read_")?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<usize>().ok()?.checked_sub(1)
}

fn look(prompt: &Prompt<'_>, tools: &Toolbox<'_>) -> ModelAnswer {
    if !conversation::has_called(prompt.messages, LIST) && !conversation::must_answer(prompt.messages) {
        return conversation::calling(prompt, vec![list_call(tools)]);
    }
    let listing = listed(prompt.messages);
    let mut paths: Vec<Value> = listing.paths.iter().take(MAX_PATHS).map(|path| json!(path)).collect();
    let left = listing.total - paths.len();
    if left > 0 {
        paths.push(json!(format!("[and {left} more]")));
    }
    conversation::giving(prompt.brief, &Value::Array(paths))
}

fn search(prompt: &Prompt<'_>, tools: &Toolbox<'_>) -> ModelAnswer {
    let question = GoalQuestion::of(&prompt.brief.goal);
    let calls = searches_due(prompt.messages, tools, &question);
    if !calls.is_empty() && !conversation::must_answer(prompt.messages) {
        return conversation::calling(prompt, calls);
    }
    let hits = found(prompt.messages, &question).bounded();
    conversation::giving(prompt.brief, &json!(hits))
}

fn read(prompt: &Prompt<'_>, tools: &Toolbox<'_>, share: usize) -> ModelAnswer {
    let brief = prompt.brief;
    let question = GoalQuestion::of(&brief.goal);
    let (listing, hits) = (handed_listing(brief), handed_hits(brief));
    if !conversation::has_called(prompt.messages, READ) && !conversation::must_answer(prompt.messages) {
        let ranked = rank::stretches(&question, &listing, &hits, &brief.files);
        let mine: Vec<LineRange> = ranked.into_iter().skip(share).step_by(READERS).flatten().collect();
        if !mine.is_empty() {
            return conversation::calling(prompt, mine.iter().map(|stretch| read_call(tools, stretch)).collect());
        }
    }
    let scale = QuoteWeights { question: &question, hits: &hits, files: listing.total };
    conversation::giving(brief, &json!(quoted(prompt.messages, &scale)))
}

/// Lists and searches, then reads, then answers: a whole task in one step, as far as the tools allow.
pub(super) fn whole(prompt: &Prompt<'_>) -> ModelAnswer {
    let brief = prompt.brief;
    let tools = Toolbox(prompt.tools);
    let question = GoalQuestion::of(goal_of(brief));
    if !(tools.has(READ) && (tools.has(SEARCH) || tools.has(LIST))) {
        return from_inputs(brief, &question);
    }
    let may_call = !conversation::must_answer(prompt.messages);
    if may_call && !conversation::has_called(prompt.messages, READ) {
        let mut calls = if tools.has(SEARCH) { searches_due(prompt.messages, &tools, &question) } else { Vec::new() };
        if tools.has(LIST) && !conversation::has_called(prompt.messages, LIST) {
            calls.insert(0, list_call(&tools));
        }
        if calls.is_empty() {
            let hits = found(prompt.messages, &question).bounded();
            let ranked = rank::stretches(&question, &listed(prompt.messages), &hits, &brief.files);
            calls = ranked.iter().flatten().map(|stretch| read_call(&tools, stretch)).collect();
        }
        if !calls.is_empty() {
            return conversation::calling(prompt, calls);
        }
    }
    let (listing, hits) = (listed(prompt.messages), found(prompt.messages, &question).bounded());
    let scale = QuoteWeights { question: &question, hits: &hits, files: listing.total };
    let quotes = quoted(prompt.messages, &scale);
    let is_for_others = matches!(brief.agent.as_str(), "retriever" | "researcher")
        && brief.writes.iter().any(|name| !name.contains("answer"));
    if is_for_others {
        return conversation::giving(brief, &json!(quotes));
    }
    let evidence = Evidence { question: &question, hits: &hits, files: listing.total, quotes };
    conversation::giving(brief, &Value::String(evidence.answer()))
}

/// Answers from the results of earlier steps: the last step of a plan.
pub(super) fn compose(prompt: &Prompt<'_>) -> ModelAnswer {
    from_inputs(prompt.brief, &GoalQuestion::of(&prompt.brief.goal))
}

fn from_inputs(brief: &TaskBrief, question: &GoalQuestion) -> ModelAnswer {
    let (listing, hits) = (handed_listing(brief), handed_hits(brief));
    let scale = QuoteWeights { question, hits: &hits, files: listing.total };
    let mut quotes: Vec<Quote> = Vec::new();
    let mut texts: Vec<(String, String)> = Vec::new();
    for name in brief.inputs.keys() {
        let is_known = ["files", "hits"].iter().any(|prefix| name.starts_with(prefix));
        match conversation::inputs(brief, name).first() {
            Some(Value::String(text)) if !is_known => texts.push((name.clone(), text.clone())),
            Some(other) if !is_known => quotes.extend(Quote::all_in(other)),
            Some(_) | None => {}
        }
    }
    let borrowed: Vec<(&str, u32, &str)> = texts.iter().map(|(name, text)| (name.as_str(), 1, text.as_str())).collect();
    quotes.extend(scale.best(&borrowed));
    if quotes.is_empty() && brief.inputs.is_empty() {
        return conversation::giving(brief, &Value::String(words::CANNOT_LOOK.to_owned()));
    }
    let evidence = Evidence { question, hits: &hits, files: listing.total, quotes };
    conversation::giving(brief, &Value::String(evidence.answer()))
}

fn goal_of(brief: &TaskBrief) -> &str {
    if brief.goal.trim().is_empty() { &brief.task } else { &brief.goal }
}

fn list_call(tools: &Toolbox<'_>) -> (String, Value) {
    CallBuilder::of(tools, LIST).may(&["recursive"], true).may_count(&["limit"], LISTED).done()
}

fn search_call(tools: &Toolbox<'_>, pattern: String) -> (String, Value) {
    CallBuilder::of(tools, SEARCH)
        .must(&["pattern", "query", "regex"], pattern)
        .may_count(&["limit", "max_results"], FOUND)
        .done()
}

fn read_call(tools: &Toolbox<'_>, stretch: &LineRange) -> (String, Value) {
    let calling = CallBuilder::of(tools, READ).must(&["path"], stretch.path.clone());
    let calling = if stretch.start > 1 { calling.may_count(&["start_line"], stretch.start.into()) } else { calling };
    calling.may_count(&["end_line"], u64::from(stretch.start + stretch.lines - 1)).done()
}

/// The searches that are still to be made: one for each word, then for pairs if every word is common.
fn searches_due(messages: &[Message], tools: &Toolbox<'_>, question: &GoalQuestion) -> Vec<(String, Value)> {
    match conversation::rounds_of(messages, SEARCH) {
        0 => question.terms().iter().map(|term| search_call(tools, term.pattern())).collect(),
        1 if found(messages, question).are_all_common(question, FOUND) => {
            pairs(question).iter().map(|(a, b)| search_call(tools, a.pattern_with(b))).collect()
        }
        _ => Vec::new(),
    }
}

fn pairs(question: &GoalQuestion) -> Vec<(&Term, &Term)> {
    let mut pairs = Vec::new();
    for part in &question.parts {
        for (at, a) in part.terms.iter().enumerate() {
            pairs.extend(part.terms[at + 1..].iter().map(|b| (a, b)));
        }
    }
    pairs.truncate(MAX_PAIRS);
    pairs
}

/// The hits of all searches. A failed search says nothing, not even that a word is absent.
fn found(messages: &[Message], question: &GoalQuestion) -> WordHits {
    let mut hits = WordHits::default();
    for exchange in conversation::exchanges(messages, SEARCH).iter().filter(|exchange| !exchange.result.is_error) {
        let args = exchange.call.args.to_string();
        let pattern = ["pattern", "query", "regex"]
            .iter()
            .find_map(|name| exchange.call.args.get(name)?.as_str())
            .unwrap_or(&args);
        let single = question.terms().into_iter().find(|term| term.pattern() == pattern);
        let pair = pairs(question).into_iter().find(|(a, b)| a.pattern_with(b) == pattern);
        match (single, pair) {
            (Some(term), _) => hits.add(&[&term.lower], &exchange.result.text),
            (None, Some((a, b))) => hits.add(&[&a.lower, &b.lower], &exchange.result.text),
            (None, None) => {}
        }
    }
    hits
}

/// The files that the tool listed, documents first.
fn listed(messages: &[Message]) -> FileListing {
    let mut listing = FileListing::default();
    for exchange in conversation::exchanges(messages, LIST).iter().filter(|exchange| !exchange.result.is_error) {
        for line in exchange.result.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            take_path(&mut listing, line);
        }
    }
    listing.paths.sort_by_key(|path| match rank::kind(path) {
        FileCategory::Prose => 0,
        FileCategory::Data | FileCategory::Code => 1,
        FileCategory::Generated => 2,
        FileCategory::Binary => 3,
    });
    listing
}

/// Adds a path, or reads the tool's remark that there are more.
fn take_path(listing: &mut FileListing, line: &str) {
    if line.starts_with(['[', '…']) {
        let digits: String =
            line.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        listing.total += digits.parse::<usize>().ok().filter(|_| line.contains("more")).unwrap_or(0);
    } else if !line.ends_with('/') {
        listing.total += 1;
        listing.paths.push(line.trim_start_matches("./").to_owned());
    }
}

fn handed_listing(brief: &TaskBrief) -> FileListing {
    let mut listing = FileListing::default();
    for value in conversation::inputs(brief, "files") {
        for path in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
            take_path(&mut listing, path);
        }
    }
    listing
}

fn handed_hits(brief: &TaskBrief) -> WordHits {
    conversation::inputs(brief, "hits").into_iter().next_back().map(WordHits::from_value).unwrap_or_default()
}

/// The best quotations of everything that was read.
fn quoted(messages: &[Message], scale: &QuoteWeights<'_>) -> Vec<Quote> {
    let exchanges = conversation::exchanges(messages, READ);
    let texts: Vec<(&str, u32, &str)> = exchanges
        .iter()
        .filter(|exchange| !exchange.result.is_error)
        .filter_map(|exchange| {
            let path = exchange.call.args.get("path")?.as_str()?;
            let start = exchange.call.args.get("start_line").and_then(Value::as_u64).unwrap_or(1);
            Some((path, start as u32, without_remarks(&exchange.result.text)))
        })
        .collect();
    scale.best(&texts)
}

/// A file's text without the remarks of the tool, up to where something was left out.
fn without_remarks(text: &str) -> &str {
    let text = text.find("\n[… ").map_or(text, |at| &text[..at]);
    let trimmed = text.trim_end_matches('\n');
    let start = trimmed.rfind('\n').map_or(0, |at| at + 1);
    let last = &trimmed[start..];
    let is_remark = last.starts_with('[')
        && last.ends_with(']')
        && ["read on with start_line", "is cut after", "is empty"].iter().any(|said| last.contains(said));
    if is_remark { &text[..start] } else { text }
}
