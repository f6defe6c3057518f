//! Asks SQLite for the chunks that may be the best by words.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::DocumentFilter;
use super::phrases::{self, Phrase};
use super::terms::Term;

/// How many are scored again: the more words a question has, the less SQLite's own ranking says about the best ten. For
/// requests of a hundred words, 300 instead of 120 gave nDCG .378 instead of .342; for questions of ten no more than 120 gave.
fn most(terms: &[Term]) -> usize {
    (100 + 10 * terms.len()).clamp(120, 300)
}

/// Rows that SQLite may have to rank for one question. Frequent words are left to the second scoring as soon as rarer
/// ones give this many: ranking costs about a microsecond for each word of each row.
const ROWS: i64 = 8_000;

/// The most words in a query of the index.
const WORDS: usize = 48;

/// The weights of the columns `stems`, `heading` and `parts`.
const RANK: &str = "bm25(words, 1.0, 1.0, 0.2)";

/// The numbers of the best chunks by SQLite's own ranking.
pub(super) fn find(
    connection: &Connection,
    (terms, phrases): (&[Term], &[Phrase]),
    filter: &DocumentFilter,
) -> rusqlite::Result<Vec<i64>> {
    let mut query = query(terms);
    if query.is_empty() {
        return Ok(Vec::new());
    }
    for phrase in phrases {
        query = format!("({query}) AND {}", phrases::query(phrase));
    }
    let most = most(terms);
    let (condition, mut values) = condition(filter);
    let sql = if condition.is_empty() {
        format!("SELECT rowid FROM words WHERE words MATCH ? ORDER BY {RANK} LIMIT {most}")
    } else {
        format!(
            "SELECT words.rowid FROM words JOIN chunks ON chunks.id = words.rowid JOIN documents ON documents.id = chunks.document
             WHERE words MATCH ? AND {condition} ORDER BY {RANK} LIMIT {most}"
        )
    };
    values.insert(0, Value::Text(query));
    let mut rows = connection.prepare_cached(&sql)?;
    rows.query_map(params_from_iter(values), |row| row.get(0))?.collect()
}

/// All chunks that a filter allows, in ascending order; `None` if it allows every one.
pub(crate) fn allowed(connection: &Connection, filter: &DocumentFilter) -> rusqlite::Result<Option<Vec<i64>>> {
    let (condition, values) = condition(filter);
    if condition.is_empty() {
        return Ok(None);
    }
    let sql = format!(
        "SELECT chunks.id FROM documents JOIN chunks ON chunks.document = documents.id WHERE {condition} ORDER BY chunks.id"
    );
    let mut rows = connection.prepare_cached(&sql)?;
    rows.query_map(params_from_iter(values), |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>().map(Some)
}

/// The rarest words, joined by OR. Stems are letters and digits only, so quotes are all the care they need.
fn query(terms: &[Term]) -> String {
    let mut rarest: Vec<&Term> = terms.iter().collect();
    rarest.sort_by_key(|term| term.documents);
    let mut rows = 0;
    let mut chosen = Vec::new();
    for term in rarest.into_iter().take(WORDS) {
        if rows + term.documents > ROWS && !chosen.is_empty() {
            break;
        }
        rows += term.documents;
        chosen.push(format!("\"{}\"", term.stem));
    }
    chosen.join(" OR ")
}

fn condition(filter: &DocumentFilter) -> (String, Vec<Value>) {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    if let Some(path) = &filter.path {
        conditions.push("documents.path GLOB ?".to_owned());
        values.push(Value::Text(path.clone()));
    }
    if !filter.kinds.is_empty() {
        let places = vec!["?"; filter.kinds.len()].join(", ");
        conditions.push(format!("documents.kind IN ({places})"));
        values.extend(filter.kinds.iter().cloned().map(Value::Text));
    }
    for (sign, date) in [(">=", filter.since), ("<=", filter.until)] {
        if let Some(date) = date {
            conditions.push(format!("documents.date {sign} ?"));
            values.push(Value::Integer(date));
        }
    }
    (conditions.join(" AND "), values)
}
