//! Which role an operation needs.

use axum::http::Method;

use crate::users::UserRole;

/// The role that a request needs. Reading is for all, changes are for those who steer, but for what is listed here.
pub(super) fn needed(method: &Method, path: &str) -> UserRole {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let is_reading = method.is_safe();
    match parts.as_slice() {
        ["users" | "doctor" | "webhooks" | "settings", ..] => UserRole::Administer,
        _ if is_reading => UserRole::See,
        ["tools", ..] => UserRole::Administer,
        // What agents may do, and files that other programs would run.
        ["permissions" | "aside", ..] => UserRole::Administer,
        // What begins by itself goes on when whoever made it is gone.
        ["schedules"] => UserRole::Administer,
        ["schedules", ..] if method == Method::DELETE => UserRole::Administer,
        // What is remembered for the owner counts in every folder.
        ["memory", _] => UserRole::Administer,
        // What is removed cannot be brought back.
        ["prune"] => UserRole::Administer,
        ["runs", _] if method == Method::DELETE => UserRole::Administer,
        // A file says what it likes about what was done and answered.
        ["import"] | ["runs", _, "adopt"] => UserRole::Administer,
        _ => UserRole::Steer,
    }
}
