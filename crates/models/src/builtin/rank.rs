//! Chooses the files that are worth reading for a goal, and their lines.

use std::collections::BTreeSet;

use super::hits::WordHits;
use super::question::{GoalQuestion, QuestionPart};
use super::stem;
use super::terms::Term;

/// Maximum number of files that are read for a goal, over all steps.
const MAX_FILES: usize = 12;
/// Lines to read before and after a matching line: enough for its heading and the sentence around it.
const BEFORE: u32 = 40;
const AFTER: u32 = 40;
/// Maximum number of ranges in one file for one part of the goal.
const MAX_STRETCHES: usize = 3;
/// Lines at the beginning of a file that count as its introduction.
const INTRODUCTION: u32 = 80;

/// A range of lines that is worth reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineRange {
    pub(super) path: String,
    pub(super) start: u32,
    pub(super) lines: u32,
}

/// The files of the folder, as far as they were listed.
#[derive(Clone, Debug, Default)]
pub(super) struct FileListing {
    pub(super) paths: Vec<String>,
    /// Their number, including files that were not listed.
    pub(super) total: usize,
}

/// Line ranges of the best files for all parts of a goal, best first, one list for each file.
pub(super) fn stretches(
    question: &GoalQuestion,
    listing: &FileListing,
    hits: &WordHits,
    given: &[String],
) -> Vec<Vec<LineRange>> {
    let mut paths: BTreeSet<&str> =
        listing.paths.iter().map(String::as_str).filter(|path| kind(path) != FileCategory::Binary).collect();
    paths.extend(hits.paths());
    paths.extend(given.iter().map(String::as_str));
    let mut ranked: Vec<Vec<&str>> = Vec::new();
    for part in &question.parts {
        let mut scored: Vec<(f64, &str)> =
            paths.iter().map(|path| (score(part, path, listing.total, hits, given), *path)).collect();
        scored.retain(|(score, _)| *score > 0.0);
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        ranked.push(scored.into_iter().take(MAX_FILES).map(|(_, path)| path).collect());
    }
    let mut chosen: Vec<&str> = Vec::new();
    for rank in 0..MAX_FILES {
        for path in ranked.iter().filter_map(|part| part.get(rank)) {
            if !chosen.contains(path) && chosen.len() < MAX_FILES {
                chosen.push(path);
            }
        }
    }
    chosen.into_iter().map(|path| stretches_of(question, path, listing.total, hits)).collect()
}

fn score(part: &QuestionPart, path: &str, files: usize, hits: &WordHits, given: &[String]) -> f64 {
    let is_given = given.iter().any(|file| file == path);
    if part.is_overview() {
        return introduces(path) + if is_given { 5.0 } else { 0.0 };
    }
    let mut sum = 0.0;
    for term in &part.terms {
        let weight = hits.weight(&term.lower, files);
        let count = hits.lines(&term.lower, path).count();
        if count > 0 {
            sum += weight * (1.0 + (count as f64).ln() * 0.25);
        }
        sum += weight * 0.8 * term.fits(&stem::words(path), &path.to_lowercase());
    }
    sum += 2.0 * best_lines(part, path, files, hits).first().map_or(0.0, |(score, _)| *score);
    sum * worth(path) * if is_given { 1.5 } else { 1.0 }
}

/// A rare word outweighs any number of common ones, because the lists of common words are truncated much earlier.
fn rarity(term: &Term, files: usize, hits: &WordHits) -> f64 {
    hits.weight(&term.lower, files).powi(2) * if term.is_exact { 2.0 } else { 1.0 }
}

/// Lines with hits, each with the weight of the distinct words on it and near it, best first.
fn best_lines(part: &QuestionPart, path: &str, files: usize, hits: &WordHits) -> Vec<(f64, u32)> {
    let by_term: Vec<(f64, Vec<u32>)> =
        part.terms.iter().map(|term| (rarity(term, files, hits), hits.lines(&term.lower, path).collect())).collect();
    let all: BTreeSet<u32> = by_term.iter().flat_map(|(_, lines)| lines.iter().copied()).collect();
    let nearness = |line: u32, lines: &[u32]| match lines.iter().map(|other| other.abs_diff(line)).min() {
        Some(0) => 1.0,
        Some(1..=3) => 0.5,
        Some(_) | None => 0.0,
    };
    let mut scored: Vec<(f64, u32)> = all
        .into_iter()
        .map(|line| (by_term.iter().map(|(weight, lines)| weight * nearness(line, lines)).sum(), line))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored
}

/// Line ranges around the best lines of every part, and the beginning of the file if it is asked for.
fn stretches_of(question: &GoalQuestion, path: &str, files: usize, hits: &WordHits) -> Vec<LineRange> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for part in &question.parts {
        let mut taken = 0;
        for (_, line) in best_lines(part, path, files, hits) {
            if taken == MAX_STRETCHES || spans.iter().any(|(from, to)| (*from..=*to).contains(&line)) {
                continue;
            }
            let from = if line <= BEFORE * 2 { 1 } else { line - BEFORE };
            spans.push((from, line + AFTER));
            taken += 1;
        }
    }
    let wants_beginning = question.parts.iter().any(QuestionPart::is_overview) || spans.is_empty();
    if wants_beginning && !spans.iter().any(|(from, _)| *from == 1) {
        spans.push((1, INTRODUCTION));
    }
    merged(spans)
        .into_iter()
        .map(|(from, to)| LineRange { path: path.to_owned(), start: from, lines: to - from + 1 })
        .collect()
}

fn merged(mut spans: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    spans.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The kind of a file, judged by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileCategory {
    Prose,
    Code,
    Data,
    /// Written by programs, for programs.
    Generated,
    Binary,
}

impl FileCategory {
    pub(super) fn word(self) -> &'static str {
        match self {
            FileCategory::Prose => "document",
            FileCategory::Code => "code",
            FileCategory::Data => "data",
            FileCategory::Generated => "generated",
            FileCategory::Binary => "binary",
        }
    }
}

pub(super) fn kind(path: &str) -> FileCategory {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_lock = matches!(extension, "lock" | "map") || name.contains("-lock.") || name.contains(".min.");
    match extension {
        _ if is_lock => FileCategory::Generated,
        "" | "md" | "txt" | "rst" | "adoc" | "org" | "markdown" | "tex" | "html" | "htm" | "text" | "log" => {
            FileCategory::Prose
        }
        "toml" | "yaml" | "yml" | "json" | "jsonl" | "csv" | "tsv" | "ini" | "cfg" | "conf" | "xml" | "env"
        | "properties" => FileCategory::Data,
        "png" | "jpg" | "jpeg" | "gif" | "ico" | "pdf" | "zip" | "gz" | "xz" | "tar" | "so" | "a" | "o" | "exe"
        | "dll" | "bin" | "wasm" | "woff" | "woff2" | "ttf" | "mp3" | "mp4" | "db" | "sqlite" | "class" | "jar"
        | "pyc" | "gguf" | "safetensors" => FileCategory::Binary,
        _ => FileCategory::Code,
    }
}

/// How well a file is suited to answer people: documents first, generated files last.
pub(super) fn worth(path: &str) -> f64 {
    let lower = path.to_lowercase();
    let place = if lower
        .split('/')
        .any(|part| matches!(part, "tests" | "test" | "node_modules" | "vendor" | "target" | "fixtures" | "testdata"))
    {
        0.7
    } else {
        1.0
    };
    let is_front_page = matches!(lower.as_str(), "readme.md" | "readme" | "readme.txt" | "architecture.md");
    place
        * if is_front_page { 1.15 } else { 1.0 }
        * match kind(path) {
            FileCategory::Prose => 1.0,
            FileCategory::Data => 0.95,
            FileCategory::Code => 0.9,
            FileCategory::Generated | FileCategory::Binary => 0.3,
        }
}

/// How likely a file's beginning says what the whole folder is about.
pub(super) fn introduces(path: &str) -> f64 {
    let depth = path.matches('/').count() as f64;
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let stem = name.split('.').next().unwrap_or(&name);
    let by_name = match stem {
        "readme" => 6.0,
        "architecture" | "overview" | "about" => 4.0,
        "index" | "introduction" | "intro" | "design" | "features" => 3.0,
        "cargo" | "package" | "pyproject" | "lib" | "main" => 1.5,
        "license" | "licence" | "changelog" | "copying" | "notice" => 0.1,
        _ => 0.5,
    };
    let by_kind = match kind(path) {
        FileCategory::Prose => 1.0,
        FileCategory::Code | FileCategory::Data => 0.5,
        FileCategory::Generated | FileCategory::Binary => 0.0,
    };
    by_name * by_kind * worth(path) / (1.0 + depth * 0.4)
}
