//! Pages that say what went wrong, and what to do.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use updraft_workbench::{Fault, Kind};

use super::layout;

/// A page that could not be made.
pub(super) struct PageFailure {
    status: StatusCode,
    fault: Fault,
}

impl PageFailure {
    /// What was asked for does not exist.
    pub(super) fn missing(fault: Fault) -> Self {
        Self { status: StatusCode::NOT_FOUND, fault }
    }

    /// What was sent is not usable.
    pub(super) fn usage(message: &str) -> Self {
        Fault::usage(message).into()
    }
}

impl From<Fault> for PageFailure {
    fn from(fault: Fault) -> Self {
        let status = match fault.kind {
            Kind::Usage => StatusCode::BAD_REQUEST,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, fault }
    }
}

impl From<tokio::task::JoinError> for PageFailure {
    fn from(error: tokio::task::JoinError) -> Self {
        Fault::failed(format!("the page could not be made: {error}")).into()
    }
}

impl IntoResponse for PageFailure {
    fn into_response(self) -> Response {
        let title = if self.status == StatusCode::NOT_FOUND { "Not found" } else { "That did not work" };
        let body = html! {
            (explanation(title, &self.fault.message))
            @for hint in &self.fault.hints { p.hint { (hint) } }
            p { a href="/" { "All sessions" } }
        };
        (self.status, layout::bare(title, &html! {}, &body)).into_response()
    }
}

/// A page with a title and one sentence.
pub(super) fn page(status: StatusCode, title: &str, why: &str) -> Response {
    (status, layout::bare(title, &html! {}, &explanation(title, why))).into_response()
}

fn explanation(title: &str, why: &str) -> Markup {
    html! {
        h1 { (title) }
        p.why { (why) }
    }
}

/// The answer to any other address.
pub(super) async fn unknown() -> PageFailure {
    PageFailure::missing(Fault::usage("there is no such page"))
}
