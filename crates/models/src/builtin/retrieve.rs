//! Finds passages with the tools there are, and answers from them.

use serde_json::Value;
use updraft_run::ModelAnswer;

use super::compose;
use super::conversation::{self, CallBuilder, Toolbox};
use super::passages::{Findings, Passage};
use super::question::{QuestionPart, parts_of};
use super::words;
use crate::{Prompt, TaskBrief};

const RETRIEVE: &str = "retrieve";
const SEARCH: &str = "search_files";
const READ: &str = "read_file";
const DOCUMENTS: &str = "list_documents";

/// Passages that are asked for.
const PASSAGES: u64 = 16;
/// Passages of documents that are asked for as well, before all others.
const DOCUMENT_PASSAGES: u64 = 6;
/// Lines that are asked for, if only lines can be searched.
const LINES: u64 = 200;
/// Files handed over with the goal that are read whole.
const MOST_FILES: usize = 6;
/// Documents whose beginnings stand for a folder that has no README.
const MOST_BEGINNINGS: usize = 3;
/// What introduces a folder.
const README: &str = "README.md";

/// A retriever's step of our own plan, `find_2`, or any other task as a whole.
pub(super) fn step(prompt: &Prompt<'_>) -> ModelAnswer {
    let brief = prompt.brief;
    let parts = parts_of(goal_of(brief));
    let number =
        brief.step.strip_prefix("find_").map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    match number.and_then(|digits| parts.get(digits.parse::<usize>().ok()?.checked_sub(1)?).cloned()) {
        Some(part) => find(prompt, std::slice::from_ref(&part), parts.len()),
        None => find(prompt, &parts, parts.len()),
    }
}

/// Calls the tools, then gives what was found: as data for the next step, or as the answer.
fn find(prompt: &Prompt<'_>, parts: &[QuestionPart], of: usize) -> ModelAnswer {
    let (brief, tools) = (prompt.brief, Toolbox(prompt.tools));
    let calls: Vec<(QuestionPart, Vec<(String, Value)>)> =
        parts.iter().map(|part| (part.clone(), calls_for(part, brief, &tools))).collect();
    if calls.iter().all(|(_, calls)| calls.is_empty()) {
        return compose_inputs(prompt);
    }
    let has_called = [RETRIEVE, SEARCH, READ].iter().any(|tool| conversation::has_called(prompt.messages, tool));
    if !has_called && !conversation::must_answer(prompt.messages) {
        let mut all: Vec<(String, Value)> = Vec::new();
        for call in calls.into_iter().flat_map(|(_, calls)| calls) {
            if !all.contains(&call) {
                all.push(call);
            }
        }
        return conversation::calling(prompt, all);
    }
    let mut answers: Vec<Value> = Vec::new();
    for (mut part, calls) in calls {
        let mut findings = findings_of(prompt, &calls);
        let is_asked = |passage: &Passage| part.files.iter().any(|file| is_named(&passage.path, file));
        if findings.passages.iter().any(is_asked) {
            findings.passages.retain(is_asked);
            part.terms.clear();
        } else if part.is_overview() && brief.files.is_empty() && !compose::has_introduction(&findings) {
            let next = beginnings(prompt, &tools);
            let is_made = |(tool, args): &(String, Value)| {
                conversation::exchanges(prompt.messages, tool).iter().any(|exchange| exchange.call.args == *args)
            };
            if !next.iter().all(is_made) && !conversation::must_answer(prompt.messages) {
                return conversation::calling(prompt, next);
            }
            findings.passages.splice(0..0, findings_of(prompt, &next).passages);
        }
        answers.push(compose::answer_part(&part, &findings, of));
    }
    let is_for_others = matches!(brief.agent.as_str(), "retriever" | "researcher")
        && brief.writes.iter().any(|name| !name.contains("answer"));
    if is_for_others {
        return conversation::giving(brief, &Value::Array(answers));
    }
    conversation::giving(brief, &Value::String(compose::written(&answers)))
}

/// What these calls found.
fn findings_of(prompt: &Prompt<'_>, calls: &[(String, Value)]) -> Findings {
    let mut findings = Findings::default();
    for (tool, args) in calls {
        let exchanges = conversation::exchanges(prompt.messages, tool);
        exchanges.iter().filter(|exchange| exchange.call.args == *args).for_each(|exchange| findings.add(exchange));
    }
    findings
}

/// Whether a path is that of a file which is given with fewer folders, or with as many.
fn is_named(path: &str, file: &str) -> bool {
    path.strip_suffix(file).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// The calls that read the beginnings of a few documents: first the list of documents, then those that say most.
fn beginnings(prompt: &Prompt<'_>, tools: &Toolbox<'_>) -> Vec<(String, Value)> {
    if !tools.has(DOCUMENTS) || !tools.has(READ) {
        return Vec::new();
    }
    let exchanges = conversation::exchanges(prompt.messages, DOCUMENTS);
    let Some(listed) = exchanges.first() else { return vec![CallBuilder::of(tools, DOCUMENTS).done()] };
    let kinds = ["markdown", "text", "code", "html", "csv"];
    let path = |line: &str| {
        let mut parts = kinds.iter().enumerate().map(|(rank, kind)| (rank, line.split_once(&format!(" ({kind}, "))));
        parts.find_map(|(rank, parts)| Some((rank, parts?.0.to_owned())))
    };
    let mut paths: Vec<(usize, String)> = listed.result.text.lines().filter_map(path).collect();
    paths.sort_by_key(|(rank, path)| (*rank, path.matches('/').count()));
    let paths = paths.into_iter().take(MOST_BEGINNINGS);
    paths.map(|(_, path)| CallBuilder::of(tools, READ).must(&["path"], path).done()).collect()
}

/// The calls that find what a part asks for. Files handed over are read whole; they may be outside of the index.
fn calls_for(part: &QuestionPart, brief: &TaskBrief, tools: &Toolbox<'_>) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let read = |path: &str| CallBuilder::of(tools, READ).must(&["path"], path).done();
    if tools.has(READ) {
        calls.extend(brief.files.iter().take(MOST_FILES).map(|path| read(path)));
        calls.extend(part.files.iter().take(MOST_FILES).map(|path| read(path)));
        if part.is_overview() && brief.files.is_empty() && part.files.is_empty() {
            calls.push(read(README));
        }
    }
    let has_query = part.query.chars().any(char::is_alphanumeric);
    if tools.has(RETRIEVE) {
        // The file may be in a folder.
        let retrieve = |file: &String| {
            let call = CallBuilder::of(tools, RETRIEVE).must(&["query"], file.clone());
            call.must(&["path"], format!("*/{file}")).done()
        };
        calls.extend(part.files.iter().take(MOST_FILES).map(retrieve));
    }
    if tools.has(RETRIEVE) && has_query {
        let query = || CallBuilder::of(tools, RETRIEVE).must(&["query"], part.query.clone());
        if !part.is_about_code() {
            let documents = query().must(&["kind"], "markdown").may_count(&["limit"], DOCUMENT_PASSAGES);
            calls.push(documents.done());
        }
        calls.push(query().may_count(&["limit"], PASSAGES).done());
    } else if tools.has(SEARCH) && !part.is_overview() {
        let words: Vec<&str> = part.terms.iter().map(|term| term.lower.as_str()).collect();
        let pattern = format!("(?i)({})", words.join("|"));
        calls.push(
            CallBuilder::of(tools, SEARCH)
                .must(&["pattern", "query", "regex"], pattern)
                .may_count(&["limit"], LINES)
                .done(),
        );
    }
    calls
}

/// Answers from the results of earlier steps: the last step of a plan.
pub(super) fn compose_inputs(prompt: &Prompt<'_>) -> ModelAnswer {
    let brief = prompt.brief;
    let mut answers: Vec<Value> = Vec::new();
    let mut texts = Findings::default();
    for name in brief.inputs.keys() {
        match conversation::inputs(brief, name).into_iter().next() {
            Some(Value::Array(parts)) => answers.extend(parts.into_iter().filter(|part| part.get("quotes").is_some())),
            Some(Value::String(text)) => {
                texts.passages.push(Passage { path: name.clone(), text, ..Passage::default() });
            }
            Some(_) | None => {}
        }
    }
    if answers.is_empty() && !texts.passages.is_empty() {
        let parts = parts_of(goal_of(brief));
        answers = parts.iter().map(|part| compose::answer_part(part, &texts, parts.len())).collect();
    }
    if answers.is_empty() {
        return conversation::giving(brief, &Value::String(words::CANNOT_LOOK.to_owned()));
    }
    conversation::giving(brief, &Value::String(compose::written(&answers)))
}

fn goal_of(brief: &TaskBrief) -> &str {
    let is_own = brief.step.starts_with("find_") || brief.step.starts_with("compose");
    if brief.goal.trim().is_empty() && !is_own { &brief.task } else { &brief.goal }
}
