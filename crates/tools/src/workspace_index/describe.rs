//! What was found, in words for people and models and as data for programs: the same for all who search.

use serde_json::{Value, json};
use updraft_knowledge::{MatchForm, Passage};
use updraft_run::ContentHash;
use updraft_workspace::{Workspace, WorkspacePath};

use super::IndexAnswer;

impl IndexAnswer {
    /// All of it as data.
    pub fn to_json(&self) -> Value {
        let (answer, progress) = (&self.answer, &self.state.progress);
        let part = || json!({ "files": progress.files, "all_files": progress.all_files });
        let indexed = if self.state.is_whole() { json!(true) } else { part() };
        json!({
            "passages": (1..).zip(&answer.passages).map(data).collect::<Vec<_>>(),
            "corrections": answer.corrections,
            "unknown": answer.unknown,
            "documents": self.totals.documents,
            "indexed": indexed,
        })
    }

    /// What else a reader has to know.
    pub fn remarks(&self) -> Vec<String> {
        let (answer, state) = (&self.answer, &self.state);
        let mut remarks = Vec::new();
        for (word, instead) in &answer.corrections {
            remarks.push(format!("`{word}` occurs nowhere; searched for `{instead}`"));
        }
        if !answer.unknown.is_empty() {
            remarks.push(format!("these words occur nowhere: {}", answer.unknown.join(", ")));
        }
        if !state.is_whole() {
            remarks.push(match (state.progress.files, state.progress.all_files) {
                (_, 0) => "not all files could be looked at in time; the index may be out of date".to_owned(),
                (done, all) => format!("only a part is searched: {done} of {all} new files are indexed so far"),
            });
        }
        remarks.extend(state.vector_fault.as_ref().map(|why| format!("searched by words only: {why}")));
        if state.replaced.is_some() {
            remarks.push("the index was damaged and has been made again".to_owned());
        }
        remarks
    }
}

/// Where a passage is: `docs/a.md:12-24`, or `report.pdf, page 3`.
pub fn address_of(passage: &Passage) -> String {
    let place = &passage.place;
    let path = on_one_line(&passage.path);
    let is_plain = place.page.is_none() && place.sheet.is_none() && place.cells.is_none() && place.part.is_none();
    match place.lines {
        Some((first, last)) if is_plain && first == last => format!("{path}:{first}"),
        Some((first, last)) if is_plain => format!("{path}:{first}-{last}"),
        None if is_plain => path,
        Some(_) | None => format!("{path}, {}", on_one_line(&place.to_string())),
    }
}

/// What made a passage match, one reason each.
pub fn reasons_for(passage: &Passage) -> Vec<String> {
    let words = passage.why.words.iter().map(|found| {
        let form = match found.form {
            MatchForm::Exact => "",
            MatchForm::Stem => " in another form",
            MatchForm::Heading => " in a heading",
            MatchForm::Part => " inside a name",
        };
        format!("{}{form} ×{}", found.word, found.count)
    });
    let similarity = passage.why.similarity.map(|similarity| format!("similarity {similarity:.2}"));
    words.chain(similarity).collect()
}

/// The pattern that is meant by a path: a folder means everything in it.
pub fn path_pattern(path: &str, workspace: &Workspace) -> String {
    let inside = workspace.locate(path).ok();
    let shown = inside.as_ref().map_or(path, WorkspacePath::as_str).trim_end_matches('/');
    match shown {
        "." => "*".to_owned(),
        folder if workspace.root().join(folder).is_dir() => format!("{}/*", literal(folder)),
        file if workspace.root().join(file).exists() => literal(file),
        // A `*` of the index stands for folders too.
        pattern => pattern.replace("**/", "*"),
    }
}

/// A pattern that matches only this path: names may have brackets.
fn literal(path: &str) -> String {
    path.chars().map(|c| if matches!(c, '[' | '*' | '?') { format!("[{c}]") } else { c.to_string() }).collect()
}

/// Names and headings are text of others: a line break in one must not look like another passage.
pub(crate) fn on_one_line(text: &str) -> String {
    text.split(['\n', '\r']).collect::<Vec<_>>().join(" ")
}

fn data((n, passage): (usize, &Passage)) -> Value {
    let hash = <[u8; 32]>::try_from(passage.hash.as_slice()).map(ContentHash);
    json!({
        "n": n,
        "path": passage.path,
        "kind": passage.kind,
        "place": passage.place,
        "where": passage.place.to_string(),
        "trail": passage.trail,
        "text": passage.text,
        "snippet": passage.snippet.text,
        "score": (passage.score * 1_000.0).round() / 1_000.0,
        "why": reasons_for(passage),
        "hash": hash.ok().map(|hash| hash.to_string()),
    })
}
