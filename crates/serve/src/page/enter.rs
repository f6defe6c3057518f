//! `/enter`: a one-time address or a user's token is exchanged for the cookie. `/leave` ends the visit.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Form, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use updraft_workbench::time_format;

use super::visitor::Visitor;
use super::{PageState, failure, layout};
use crate::admission::AdmissionSlot;

/// The code in a one-time address.
#[derive(Deserialize)]
pub(super) struct EntryCode {
    code: Option<String>,
}

/// Exchanges a code for the cookie; without a code, asks for a token.
pub(super) async fn enter(
    State(state): State<Arc<PageState>>,
    ConnectInfo(slot): ConnectInfo<AdmissionSlot>,
    headers: HeaderMap,
    Query(EntryCode { code }): Query<EntryCode>,
) -> Response {
    let now = time_format::now();
    let visitor = state.access.visitor(&headers, now);
    let Some(code) = code else {
        return layout::bare("Sign in", &html! {}, &sign_in(visitor.as_ref(), "")).into_response();
    };
    // The code is used up, also by somebody who has the cookie already.
    let is_admitted = state.access.admit(&code, now);
    if visitor.is_none() && !is_admitted {
        let why = "This address was used before, or is too old. `updraft open` prints a new one.";
        return failure::page(StatusCode::UNAUTHORIZED, "This address lets nobody in any more", why).into_response();
    }
    slot.let_in();
    match visitor {
        Some(Visitor::Owner) => welcome(None),
        // The owner of the server was a user before.
        _ if is_admitted => welcome(Some(&state.access.cookie(&Visitor::Owner, now))),
        _ => welcome(None),
    }
}

/// The answer to somebody who has not entered.
pub(super) fn stranger() -> Response {
    let body = html! {
        h1 { "Who are you?" }
        p.why { "Run " code { "updraft open" } " in a terminal: it prints an address that lets you in, once." }
        p { a href="/enter" { "Sign in with a token" } }
    };
    (StatusCode::UNAUTHORIZED, layout::bare("Who are you?", &html! {}, &body)).into_response()
}

/// A user's token.
#[derive(Deserialize)]
pub(super) struct SignInForm {
    token: String,
}

/// Exchanges a user's token for the cookie.
pub(super) async fn sign_in_with(
    State(state): State<Arc<PageState>>,
    ConnectInfo(slot): ConnectInfo<AdmissionSlot>,
    Form(SignInForm { token }): Form<SignInForm>,
) -> Response {
    let Some(user) = state.access.users().with_token(&token) else {
        let page = layout::bare("Sign in", &html! {}, &sign_in(None, "There is no user with this token."));
        return (StatusCode::UNAUTHORIZED, page).into_response();
    };
    slot.let_in();
    tracing::info!(user = user.name, "signed in");
    welcome(Some(&state.access.cookie(&Visitor::User(user), time_format::now())))
}

/// Ends the visit in this browser.
pub(super) async fn leave(State(state): State<Arc<PageState>>) -> Response {
    let body = html! { h1 { "You have left" } p { a href="/enter" { "Sign in" } } };
    with_cookie(Some(&state.access.no_cookie()), layout::bare("You have left", &html! {}, &body))
}

/// A page and not a redirect: after a link from another site, the cookie would not be sent with a redirect.
fn welcome(cookie: Option<&str>) -> Response {
    let body = html! { p { a href="/" { "Open the page" } } };
    let page = layout::bare("Welcome", &html! { meta http-equiv="refresh" content="0; url=/"; }, &body);
    with_cookie(cookie, page)
}

fn with_cookie(cookie: Option<&str>, page: Markup) -> Response {
    match cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
        Some(cookie) => ([(header::SET_COOKIE, cookie)], page).into_response(),
        None => page.into_response(),
    }
}

fn sign_in(visitor: Option<&Visitor>, why: &str) -> Markup {
    html! {
        h1 { "Sign in" }
        @if let Some(visitor) = visitor {
            p { "You are here as " strong { (visitor.name()) } ", with the role " code { (visitor.role().word()) } "." }
            form.leave method="post" action="/leave" { button type="submit" { "Leave" } }
        }
        @if !why.is_empty() { p.failed role="alert" { (why) } }
        form.sign-in method="post" action="/enter" {
            label for="token" { "Your token" }
            input id="token" type="password" name="token" required maxlength="200" autocomplete="current-password";
            button type="submit" { "Sign in" }
        }
        p.about { "The owner of the server makes tokens with " code { "updraft serve user add" } ", and enters with "
            code { "updraft open" } "." }
    }
}
