//! Which role an operation needs.

use axum::http::Method;

use crate::users::UserRole;

/// The role that a request needs. Reading is for all, changes are for those who steer, but for what is listed here.
pub(super) fn needed(method: &Method, path: &str) -> UserRole {
    let mut parts = path.trim_start_matches('/').split('/');
    let (place, rest) = (parts.next().unwrap_or_default(), parts.next());
    let is_reading = method.is_safe();
    match place {
        "users" | "doctor" | "webhooks" => UserRole::Administer,
        "tools" if !is_reading => UserRole::Administer,
        // What begins by itself goes on when whoever made it is gone.
        "schedules" if !is_reading && (rest.is_none() || method == Method::DELETE) => UserRole::Administer,
        // What is removed cannot be brought back.
        "runs" if method == Method::DELETE && rest.is_some() => UserRole::Administer,
        _ if is_reading => UserRole::See,
        _ => UserRole::Steer,
    }
}
