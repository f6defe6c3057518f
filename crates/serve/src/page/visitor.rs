//! Who is visiting, and what they may do.

use axum::http::{Method, StatusCode};
use axum::response::Response;

use super::failure;
use crate::users::{PageUser, UserRole};

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
