//! What tools returned from a source: the excerpts in which quoted words must stand.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::message::ToolCall;
use crate::reply::{Reply, ToolOutput};
use crate::step::ToolCallOutcome;

/// The output of a call that succeeded, and the arguments by which its source is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) args: Value,
    pub(crate) output: Arc<ToolOutput>,
}

/// How many bytes of what tools returned a run keeps.
const MOST_KEPT: usize = 8 << 20;

/// What the tools of a run returned, up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadingLog {
    /// The newest last.
    pub(crate) kept: Vec<Reading>,
    len: usize,
    /// Whether the oldest were dropped.
    pub(crate) has_forgotten: bool,
}

impl ReadingLog {
    /// Adds what was returned. The oldest are dropped first.
    pub(crate) fn keep(&mut self, new: Vec<Reading>) {
        self.len += new.iter().map(Reading::len).sum::<usize>();
        self.kept.extend(new);
        let mut excess = 0;
        while self.len > MOST_KEPT && excess + 1 < self.kept.len() {
            self.len -= self.kept[excess].len();
            excess += 1;
        }
        self.kept.drain(..excess);
        self.has_forgotten |= excess > 0;
    }
}

/// A text from one source.
#[derive(Debug)]
pub(super) struct Excerpt<'a> {
    pub(super) text: Cow<'a, str>,
    /// The number of its first line in the source, if known.
    pub(super) first_line: Option<u32>,
    /// The number of its last line, if the lines in between need not be those of the source.
    pub(super) last_line: Option<u32>,
    pub(super) page: Option<u64>,
    pub(super) sheet: Option<&'a str>,
    /// The hash of the source as it was read.
    pub(super) hash: Option<&'a str>,
}

/// The lists in tools' values whose entries name a source and what it says.
const LISTS: [&str; 3] = ["passages", "results", "matches"];

/// The longest arguments that are kept: longer ones are content, not the name of a source.
const LONGEST_ARGS: usize = 8 << 10;

impl Reading {
    /// What a call returned, if it succeeded and returned text.
    pub(crate) fn of(call: &ToolCall, outcome: &ToolCallOutcome) -> Option<Self> {
        let ToolCallOutcome::Replied(Reply::Output(output)) = outcome else { return None };
        let is_short = call.args.to_string().len() <= LONGEST_ARGS;
        let args = if is_short { call.args.clone() } else { Value::Null };
        (!output.is_error && !output.text.is_empty()).then(|| Self { args, output: output.clone() })
    }

    /// How many bytes it holds, roughly.
    fn len(&self) -> usize {
        // The value often repeats the text.
        2 * self.output.text.len() + 1024
    }

    /// What was read from this source.
    pub(super) fn excerpts<'a>(&'a self, source: &str) -> Vec<Excerpt<'a>> {
        let output = &*self.output;
        let null = Value::Null;
        let value = output.value.as_ref().unwrap_or(&null);
        // The text of a search also has the lines around its matches.
        if let Some(matches) = value["matches"].as_array() {
            let hits = hits(&output.text, matches.iter().flat_map(named).filter(|name| is_same(name, source)));
            if !hits.is_empty() {
                return hits;
            }
        }
        if let Some(list) = output.value.as_ref().and_then(|value| LISTS.iter().find_map(|name| value[name].as_array()))
        {
            let mut entries =
                list.iter().filter_map(|entry| Some((entry, named(entry).next()?, passage(entry)?))).peekable();
            // A list whose entries have other keys is read as text.
            if entries.peek().is_some() {
                let is_own = |entry: &Value| named(entry).any(|name| is_same(name, source));
                return entries.filter(|(entry, ..)| is_own(entry)).map(|(.., excerpt)| excerpt).collect();
            }
        }
        let mut names =
            named(value).chain(named(&self.args)).chain(output.origins.iter().map(String::as_str)).peekable();
        if names.peek().is_some() && names.any(|name| is_same(name, source)) {
            let first_line = value["start_line"].as_u64().and_then(|line| u32::try_from(line).ok());
            if value["numbered"] == true {
                let text = Cow::Owned(without_numbers(&output.text));
                return vec![Excerpt { text, first_line, ..plain("") }];
            }
            return vec![Excerpt { first_line, hash: hash_of(output.value.as_ref()), ..plain(&output.text) }];
        }
        let hits = hits(&output.text, [source]);
        if !hits.is_empty() {
            return hits;
        }
        let is_file_read = value["path"].is_string();
        let is_mentioned = output.text.contains(source) || self.args.to_string().contains(source);
        if is_mentioned && !is_file_read { vec![plain(&output.text)] } else { Vec::new() }
    }
}

/// The names that a value or a call gives its source.
fn named(value: &Value) -> impl Iterator<Item = &str> {
    ["path", "url"].iter().filter_map(|key| value[key].as_str())
}

fn plain(text: &str) -> Excerpt<'_> {
    Excerpt { text: Cow::Borrowed(text), first_line: None, last_line: None, page: None, sheet: None, hash: None }
}

fn hash_of(value: Option<&Value>) -> Option<&str> {
    value?["hash"].as_str()
}

fn passage(entry: &Value) -> Option<Excerpt<'_>> {
    let text = ["text", "snippet", "content"].iter().find_map(|key| entry[key].as_str())?;
    let place = &entry["place"];
    let number = |value: &Value| value.as_u64().and_then(|line| u32::try_from(line).ok());
    let first_line = number(&place["lines"][0]).or_else(|| number(&entry["line"]));
    let last_line = number(&place["lines"][1]);
    // A table repeats its header, and blank lines may be missing.
    let is_verbatim = first_line
        .zip(last_line)
        .is_some_and(|(first, last)| text.lines().count() as u32 == (last - first.min(last)).saturating_add(1));
    Some(Excerpt {
        text: Cow::Borrowed(text),
        first_line,
        last_line: last_line.filter(|_| !is_verbatim),
        page: place["page"].as_u64(),
        sheet: place["sheet"].as_str(),
        hash: hash_of(Some(entry)),
    })
}

/// The lines of a file as it is, of a text that has the number of each line and a tab before it.
fn without_numbers(text: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let lines = text.split_inclusive('\n').filter_map(|line| line.split_once('\t'));
    lines.filter(|(number, _)| is_number(number)).map(|(_, line)| line).collect()
}

/// The lines of a search in these files. Lines that follow each other in the file are one excerpt.
fn hits<'a, 'b>(text: &'a str, paths: impl IntoIterator<Item = &'b str>) -> Vec<Excerpt<'a>> {
    let paths: BTreeSet<&str> = paths.into_iter().collect();
    let mut found: Vec<Excerpt<'a>> = Vec::new();
    for path in paths {
        let mut next = None;
        let below = text.split("\n\n").filter_map(|group| group.strip_prefix(path)?.strip_prefix('\n'));
        let grouped = below.flat_map(str::lines).filter_map(grouped_hit);
        for (number, line) in grouped.chain(text.lines().filter_map(|line| hit(line, path))) {
            match found.last_mut().filter(|_| next == Some(number)) {
                Some(last) => last.text.to_mut().extend(["\n", line]),
                None => found.push(Excerpt { first_line: Some(number), ..plain(line) }),
            }
            next = number.checked_add(1);
        }
    }
    found
}

/// A line of a search below the path of its file, `12: text`, or `12- text` for the lines around a match.
fn grouped_hit(line: &str) -> Option<(u32, &str)> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let text = line[digits..].strip_prefix([':', '-'])?;
    Some((line[..digits].parse().ok()?, text))
}

/// A line of a search, `path:12: text`, or `path-12- text` for the lines around a match.
fn hit<'a>(line: &'a str, path: &str) -> Option<(u32, &'a str)> {
    let rest = line.strip_prefix(path)?;
    let mark = rest.chars().next().filter(|c| matches!(c, ':' | '-'))?;
    let (number, text) = rest[1..].split_once(mark)?;
    Some((number.parse().ok()?, text))
}

/// Whether two names are of one source. A path may be given from another folder, an address without its fragment.
fn is_same(name: &str, source: &str) -> bool {
    let plain = |text: &str| -> String {
        let text = text.trim_start_matches("./").split('#').next().unwrap_or(text);
        let text = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).unwrap_or(text);
        text.trim_end_matches('/').to_owned()
    };
    let (name, source) = (plain(name), plain(source));
    let is_below = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|folder| folder.ends_with('/'));
    !source.is_empty()
        && (name == source || is_below(&name, &source) || (source.starts_with('/') && is_below(&source, &name)))
}
