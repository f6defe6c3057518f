//! Measures searching on a collection of documents, questions and judgements.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use updraft_reader::{Block, BlockKind, Document, DocumentKind, SourcePlace};

use crate::entry::NewDocument;
use crate::error::Error;
use crate::index::Index;
use crate::search::{Halves, SearchMethod, SearchRequest};
use crate::vectors::Embedder;

/// How well one way of searching does on a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchQuality {
    /// Normalised discounted cumulative gain of the first ten documents, over all questions.
    pub ndcg_10: f64,
    /// The share of the judged documents that are among the first ten.
    pub recall_10: f64,
    /// The share of the judged documents that are among the first hundred.
    pub recall_100: f64,
}

/// What was measured on a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectionReport {
    /// The number of documents.
    pub documents: usize,
    /// The number of questions.
    pub questions: usize,
    /// Words alone.
    pub words: SearchQuality,
    /// Vectors alone, if there is a model.
    pub vectors: Option<SearchQuality>,
    /// Both.
    pub hybrid: SearchQuality,
}

/// A folder with `documents.jsonl` (id, title, text), `questions.jsonl` (id, text) and `judgements.tsv` (question,
/// document, gain).
pub struct Collection {
    documents: Vec<(String, String, String)>,
    questions: Vec<(String, String)>,
    judgements: HashMap<String, BTreeMap<String, f64>>,
}

impl Collection {
    /// Reads the three files.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let documents = lines(&folder.join("documents.jsonl"))?;
        let documents =
            documents.iter().map(|line| (text(line, "id"), text(line, "title"), text(line, "text"))).collect();
        let questions = lines(&folder.join("questions.jsonl"))?;
        let questions = questions.iter().map(|line| (text(line, "id"), text(line, "text"))).collect();
        Ok(Self { documents, questions, judgements: judgements(&folder.join("judgements.tsv"))? })
    }

    /// Stores the documents in an index.
    pub fn fill(&self, index: &mut Index) -> Result<(), Error> {
        let documents: Vec<NewDocument> =
            self.documents.iter().map(|(id, title, text)| document(id, title, text)).collect();
        for batch in documents.chunks(500) {
            index.put(batch)?;
        }
        Ok(())
    }

    /// Asks all questions, every way.
    pub fn measure(&self, index: &Index, embedder: Option<&dyn Embedder>) -> Result<CollectionReport, Error> {
        let chunk_of = chunk_documents(index)?;
        let mut sums = [SearchQuality::default(); 3];
        for (id, question) in &self.questions {
            let request = SearchRequest { text: question.clone(), ..SearchRequest::default() };
            // Vectors bring chunks that words alone do not find, so words are asked by themselves.
            let words = index.halves(&SearchRequest { method: SearchMethod::Words, ..request.clone() }, None)?;
            let both = index.halves(&request, embedder)?;
            let nothing = BTreeMap::new();
            let judged = self.judgements.get(id).unwrap_or(&nothing);
            let lists = [(&words, SearchMethod::Words), (&both, SearchMethod::Vectors), (&both, SearchMethod::Hybrid)];
            for (sum, (halves, method)) in sums.iter_mut().zip(lists) {
                sum.add(&ranked(halves, method, &chunk_of), judged);
            }
        }
        let [words, vectors, hybrid] = sums.map(|sum| sum.divided_by(self.questions.len()));
        let vectors = embedder.map(|_| vectors);
        Ok(CollectionReport {
            documents: self.documents.len(),
            questions: self.questions.len(),
            words,
            vectors,
            hybrid,
        })
    }
}

/// The document of every chunk.
fn chunk_documents(index: &Index) -> Result<HashMap<i64, String>, Error> {
    index.read(|connection| {
        let mut rows = connection
            .prepare("SELECT chunks.id, path FROM chunks JOIN documents ON documents.id = chunks.document")?;
        let id = |path: String| path.trim_end_matches('/').to_owned();
        rows.query_map([], |row| Ok((row.get(0)?, id(row.get(1)?))))?.collect()
    })
}

/// Documents in the order of their best chunks.
fn ranked(halves: &Halves, method: SearchMethod, chunk_of: &HashMap<i64, String>) -> Vec<String> {
    let mut documents: Vec<String> = Vec::new();
    for chunk in halves.ranked_chunks(method) {
        if let Some(document) = chunk_of.get(&chunk).filter(|document| !documents.contains(document)) {
            documents.push(document.clone());
        }
    }
    documents
}

impl SearchQuality {
    fn add(&mut self, ranking: &[String], judged: &BTreeMap<String, f64>) {
        let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
            gains.take(10).zip(2..).map(|(gain, rank)| gain / f64::from(rank).log2()).sum()
        };
        let mut ideal: Vec<f64> = judged.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let best = discounted(&mut ideal.into_iter());
        if best > 0.0 {
            let gains = ranking.iter().map(|id| judged.get(id).copied().unwrap_or_default());
            self.ndcg_10 += discounted(&mut gains.into_iter()) / best;
        }
        let wanted = judged.values().filter(|gain| **gain > 0.0).count().max(1) as f64;
        let found = |depth: usize| {
            ranking.iter().take(depth).filter(|id| judged.get(*id).is_some_and(|gain| *gain > 0.0)).count() as f64
        };
        self.recall_10 += found(10) / wanted;
        self.recall_100 += found(100) / wanted;
    }

    fn divided_by(self, questions: usize) -> Self {
        let count = questions.max(1) as f64;
        Self { ndcg_10: self.ndcg_10 / count, recall_10: self.recall_10 / count, recall_100: self.recall_100 / count }
    }
}

fn document(id: &str, title: &str, text: &str) -> NewDocument {
    let kind = BlockKind::Paragraph;
    let block = Block { place: SourcePlace::default(), kind, text: text.to_owned() };
    let title = (!title.is_empty()).then(|| title.to_owned());
    let block = if text.is_empty() { Block { text: title.clone().unwrap_or_default(), ..block } } else { block };
    let document = Document { kind: DocumentKind::Text, title, blocks: vec![block], warnings: Vec::new() };
    // A path that ends in a slash has no name: the ids of a collection are not to be found by.
    NewDocument::new(&format!("{id}/"), text.as_bytes(), &document)
}

fn lines(path: &Path) -> Result<Vec<Value>, Error> {
    let content = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let fault = |why: serde_json::Error| Error::Collection { path: path.to_owned(), why: why.to_string() };
    content
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).map_err(fault))
        .collect()
}

/// A field as text; ids are sometimes numbers.
fn text(line: &Value, field: &str) -> String {
    match &line[field] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn judgements(path: &Path) -> Result<HashMap<String, BTreeMap<String, f64>>, Error> {
    let content = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let mut judgements: HashMap<String, BTreeMap<String, f64>> = HashMap::new();
    for line in content.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [question, document, gain, ..] = fields.as_slice() else {
            return Err(Error::Collection { path: path.to_owned(), why: format!("expected three fields: `{line}`") });
        };
        let fault = |_| Error::Collection { path: path.to_owned(), why: format!("`{gain}` is no number") };
        let gain: f64 = gain.trim().parse().map_err(fault)?;
        judgements.entry((*question).to_owned()).or_default().insert((*document).to_owned(), gain);
    }
    Ok(judgements)
}
