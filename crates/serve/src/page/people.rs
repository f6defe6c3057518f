//! `/users`: who may use the page, for those who administer it.

use std::sync::Arc;

use axum::extract::{Form, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::{PageState, words};
use crate::users::UserRole;

pub(super) async fn show(State(state): State<Arc<PageState>>) -> Result<Markup, PageFailure> {
    page(&state, None)
}

/// A user who is added or removed.
#[derive(Deserialize)]
pub(super) struct UserForm {
    act: String,
    name: String,
    #[serde(default)]
    role: String,
}

/// Adds a user, and shows the token, once; or removes one.
pub(super) async fn change(
    State(state): State<Arc<PageState>>,
    Form(UserForm { act, name, role }): Form<UserForm>,
) -> Result<Response, PageFailure> {
    let users = state.access.users();
    match act.as_str() {
        "add" => {
            let role = UserRole::ALL.into_iter().find(|known| known.word() == role);
            let role = role.ok_or_else(|| PageFailure::usage("a role is `see`, `steer` or `administer`"))?;
            let token = users.add(name.trim(), role)?;
            Ok(page(&state, Some((name.trim(), &token)))?.into_response())
        }
        "remove" => {
            users.remove(&name)?;
            Ok(Redirect::to("/users").into_response())
        }
        _ => Err(PageFailure::usage("expected `add` or `remove`")),
    }
}

fn page(state: &PageState, new: Option<(&str, &str)>) -> Result<Markup, PageFailure> {
    let users = state.access.users().list()?;
    let frame = PageFrame { title: "Users", place: "/settings", kind: "users", waiting: state.service.runs.waiting() };
    let body = html! {
        h1 { "Users" }
        p.about { "They sign in at " code { "/enter" } " with a token of their own. Who removes a user ends all their visits." }
        @if let Some((name, token)) = new {
            p role="status" { "The token of " strong { (name) } ", which is not shown again: " code { (token) } }
        }
        @if users.is_empty() { p.empty { "There are none yet." } } @else {
            table.users {
                thead { tr { th scope="col" { "Name" } th scope="col" { "Role" } th scope="col" { "Since" } td {} } }
                tbody {
                    @for user in &users {
                        tr {
                            th scope="row" { (user.name) }
                            td { code { (user.role.word()) } }
                            td { (words::moment(user.since)) }
                            td {
                                form method="post" action="/users" {
                                    input type="hidden" name="name" value=(user.name);
                                    button.deny type="submit" name="act" value="remove" {
                                        "Remove" span.sr { " " (user.name) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        form.new-user method="post" action="/users" {
            h2 { "Add a user" }
            div.field {
                label for="name" { "Name" }
                input id="name" type="text" name="name" required maxlength="40" pattern="[A-Za-z0-9_\\-]+" autocomplete="off";
            }
            div.field {
                label for="role" { "Role" }
                select id="role" name="role" { @for role in UserRole::ALL { option value=(role.word()) { (explained(role)) } } }
            }
            button type="submit" name="act" value="add" { "Add" }
        }
    };
    Ok(layout::page(&frame, &body))
}

fn explained(role: UserRole) -> &'static str {
    match role {
        UserRole::See => "see: look at everything but the settings",
        UserRole::Steer => "steer: also start runs, answer, approve and stop",
        UserRole::Administer => "administer: also see the settings, try tools, change memories, and add users",
    }
}
