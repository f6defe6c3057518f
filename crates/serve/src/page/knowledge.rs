//! `/knowledge`: the documents of the workspace's index, a search in them, and files that are brought in.

use std::sync::Arc;

use axum::extract::{Form, Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use updraft_workbench::service::{Ingestion, IngestionPhase};

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
    let ingestion = state.service.ingestion();
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
        h2 { "Bring files in" }
        (ingest_form(ingestion.as_ref()))
        h2 { (words::count(documents.len() as u64, "document")) " in the index" }
        @if documents.is_empty() { p.empty { "Nothing is indexed yet. The first search reads the files of this folder, too." } }
        ul.documents {
            @for document in documents.iter().take(SHOWN) {
                li { code { (document.path) } " " span.kind { (document.kind) } " " (words::count(document.bytes, "byte")) }
            }
        }
        @if documents.len() > SHOWN { p.cut { "and " (documents.len() - SHOWN) " more" } }
    };
    Ok(layout::page(&frame, &body))
}

fn ingest_form(last: Option<&Ingestion>) -> Markup {
    let is_working = last.is_some_and(Ingestion::is_working);
    html! {
        form.ingest method="post" action="/knowledge" {
            label { span { "File or folder (empty: the whole workspace)" } input type="text" name="path" maxlength="1000"; }
            button type="submit" disabled[is_working] { "Read into the index" }
        }
        @if let Some(last) = last {
            div.ingestion id="ingestion" data-refresh[is_working] role="status" {
                p {
                    strong { @if last.path.is_empty() { "The whole workspace" } @else { code { (last.path) } } }
                    ", begun " (words::clock(last.began)) ": "
                    @match &last.phase {
                        IngestionPhase::Working { what, .. } => (what),
                        IngestionPhase::Done(result) => { (result.words) ", in " (words::took(last.began, result.ended)) }
                        IngestionPhase::Failed(why) => span.failed { (words::short(why, 400)) },
                    }
                }
                @if let IngestionPhase::Working { share, .. } = &last.phase {
                    progress max="100" value=((100.0 * share).round()) aria-label="How much is read" {}
                }
                @if let IngestionPhase::Done(result) = &last.phase && !result.unread.is_empty() {
                    details {
                        summary { (words::count(result.unread.len() as u64, "file")) " could not be read" }
                        ul { @for (path, why) in &result.unread { li { code { (path) } ": " (words::short(why, 200)) } } }
                    }
                }
            }
        }
    }
}

/// What is to be read into the index.
#[derive(Deserialize)]
pub(super) struct IngestForm {
    #[serde(default)]
    path: String,
}

pub(super) async fn ingest(
    State(state): State<Arc<PageState>>,
    Form(form): Form<IngestForm>,
) -> Result<Redirect, PageFailure> {
    state.service.ingest(&form.path).await?;
    Ok(Redirect::to("/knowledge#ingestion"))
}
