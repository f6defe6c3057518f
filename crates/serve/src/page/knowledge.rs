//! `/knowledge`: the documents of the workspace's index, and a search in them.

use std::sync::Arc;

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::{PageState, words};

/// How many documents are listed.
const SHOWN: usize = 500;

/// What is looked for.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct KnowledgeRequest {
    q: String,
}

pub(super) async fn show(
    State(state): State<Arc<PageState>>,
    Query(KnowledgeRequest { q }): Query<KnowledgeRequest>,
) -> Result<Markup, PageFailure> {
    let files = Arc::clone(&state.service.files);
    let found = if q.trim().is_empty() { None } else { Some(files.search(&q).await?) };
    let documents = tokio::task::spawn_blocking(move || files.documents()).await??;
    let frame =
        PageFrame { title: "Knowledge", place: "/knowledge", kind: "knowledge", waiting: state.service.runs.waiting() };
    let body = html! {
        h1 { "Knowledge" }
        form.filter role="search" method="get" action="/knowledge" {
            label { span { "Search the files" } input type="search" name="q" value=(q) maxlength="400"; }
            button type="submit" { "Search" }
        }
        @if let Some(found) = &found {
            h2 { (words::count(found.len() as u64, "document")) " found" }
            ol.hits { @for hit in found { li { strong { (hit.title) } pre { (hit.text) } } } }
        }
        h2 { (words::count(documents.len() as u64, "document")) " in the index" }
        @if documents.is_empty() {
            p.empty { "Nothing is indexed yet: `updraft ingest` reads the files of this folder, and so does the first search." }
        }
        ul.documents {
            @for document in documents.iter().take(SHOWN) {
                li { code { (document.path) } " " span.kind { (document.kind) } " " (words::count(document.bytes, "byte")) }
            }
        }
        @if documents.len() > SHOWN { p.cut { "and " (documents.len() - SHOWN) " more" } }
    };
    Ok(layout::page(&frame, &body))
}
