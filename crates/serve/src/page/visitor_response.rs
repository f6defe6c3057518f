//! A response as a visitor gets it.
//!
//! All visitors get the same HTML, so that patches can be shared. For a user with a name, the frame of the page says the
//! role; styles hide what it may not do, and the server refuses it.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use maud::html;

use super::access::PageAccess;
use super::layout;
use super::visitor::Visitor;

/// How often it is checked whether the user of an open stream is still a user.
const RECHECK: Duration = Duration::from_secs(2);

impl Visitor {
    /// The answer as this visitor gets it: pages say the role, and streams end when the user is removed.
    pub(super) async fn receive(self, access: PageAccess, response: Response) -> Response {
        let Visitor::User(user) = &self else { return response };
        let kind = response.headers().get(header::CONTENT_TYPE).cloned();
        let is = |wanted: &str| kind.as_ref().is_some_and(|kind| kind.as_bytes().starts_with(wanted.as_bytes()));
        if is("text/event-stream") {
            let user = user.clone();
            let removed = async move {
                while access.users().named(&user.name).as_ref() == Some(&user) {
                    tokio::time::sleep(RECHECK).await;
                }
            };
            let (head, body) = response.into_parts();
            let body = body.into_data_stream().take_until(Box::pin(removed));
            return Response::from_parts(head, Body::from_stream(body));
        }
        if !is("text/html") {
            return response;
        }
        let (mut head, body) = response.into_parts();
        // Pages are made in memory, so they can be read without a limit.
        let Ok(bytes) = to_bytes(body, usize::MAX).await else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let text = String::from_utf8_lossy(&bytes);
        let link = html! { a.visitor href="/enter" { (user.name) span.sr { ": your visit" } } }.into_string();
        let text = text.replacen("<html ", &format!("<html data-role=\"{}\" ", user.role.word()), 1);
        head.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(head, Body::from(text.replacen(layout::VISITOR, &link, 1)))
    }
}
