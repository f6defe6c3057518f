//! Who is visiting, what they may do, and the page as they see it.
//!
//! All visitors get the same HTML, so that patches can be shared. For a user with a name, the frame of the page says the
//! role; styles hide what it may not do, and the server refuses it.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use maud::html;

use super::{access::PageAccess, failure, layout};
use crate::users::{PageUser, UserRole};

/// How often it is checked whether the user of an open stream is still a user.
const RECHECK: Duration = Duration::from_secs(2);

/// Somebody who was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Visitor {
    /// The server's owner, by a one-time address.
    Owner,
    /// A user with a name.
    User(PageUser),
}

impl Visitor {
    pub(super) fn role(&self) -> UserRole {
        match self {
            Visitor::Owner => UserRole::Administer,
            Visitor::User(user) => user.role,
        }
    }

    /// Who decides what this visitor decides, for the journal.
    pub(super) fn name(&self) -> &str {
        match self {
            Visitor::Owner => "the page",
            Visitor::User(user) => &user.name,
        }
    }

    /// What this visitor may not do, as a page.
    pub(super) fn refusal(&self, needed: UserRole) -> Response {
        let (name, role, needed) = (self.name(), self.role().word(), needed.word());
        let why = format!(
            "{name} has the role `{role}`, and this needs `{needed}`. The owner of the server gives roles, with `updraft \
             serve user`."
        );
        failure::page(StatusCode::FORBIDDEN, "Not with your role", &why)
    }

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

/// The role that a request needs. Reading is for all, changes are for those who steer, but for what is listed here.
pub(super) fn needed(method: &Method, path: &str) -> UserRole {
    let place = path.split('/').nth(1).unwrap_or_default();
    let is_reading = method == Method::GET || method == Method::HEAD;
    match place {
        "leave" => UserRole::See,
        "settings" | "doctor" | "users" => UserRole::Administer,
        "tools" if !is_reading => UserRole::Administer,
        _ if is_reading => UserRole::See,
        _ => UserRole::Steer,
    }
}
