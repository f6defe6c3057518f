//! Who may see the page: a one-time address is exchanged for a cookie, and every request shows where it comes from.
//!
//! Browsers send requests on behalf of any page that the user visits. So `Host` must name this machine (another name
//! may have been pointed here), and a request that changes something must come from this very origin: cookies do not
//! distinguish ports, so another server on this machine would count as the same site.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::html;
use serde::Deserialize;
use subtle::ConstantTimeEq;
use updraft_run::Timestamp;
use updraft_workbench::{folders::unguessable, time_format};

use super::{PageState, failure, layout, words};
use crate::admission::AdmissionSlot;
use crate::token::ServeToken;

/// How long an address can be used to enter, once.
const ENTRY: Duration = Duration::from_hours(1);
/// How long a cookie is valid.
const VISIT: Duration = Duration::from_hours(30 * 24);
/// What the page may load and send: only from and to itself, and nothing inline.
const POLICY: &str = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; \
                      frame-ancestors 'none'; img-src 'self' data:";

/// Decides who may see the page. Cheap to clone.
#[derive(Clone)]
pub struct PageAccess {
    token: ServeToken,
    port: u16,
    is_local: bool,
    began: Timestamp,
    /// Entries that were used, with the time they would have been valid until.
    used: Arc<Mutex<BTreeMap<String, i64>>>,
}

impl PageAccess {
    /// Access to the page of a server at this address. The page is only shown on this machine.
    pub fn new(token: ServeToken, address: std::net::SocketAddr) -> Self {
        let (port, is_local) = (address.port(), address.ip().is_loopback());
        Self { token, port, is_local, began: time_format::now(), used: Arc::default() }
    }

    /// The path of a one-time address, for a server with this token. Any process that knows the token can make one.
    pub fn entry(token: &ServeToken) -> Result<String, String> {
        let (nonce, at) = (unguessable(16)?, time_format::now().0);
        Ok(format!("/enter?code={nonce}.{at}.{}", seal(token, &format!("page entry {nonce} {at}"))))
    }

    /// Uses up a code; false if it is not valid (any more).
    fn admit(&self, code: &str, now: Timestamp) -> bool {
        let mut parts = code.splitn(3, '.');
        let (Some(nonce), Some(at), Some(sealed)) = (parts.next(), parts.next(), parts.next()) else { return false };
        let Ok(made) = at.parse::<i64>() else { return false };
        let valid_until = made.saturating_add(ENTRY.as_millis() as i64);
        // Codes from before this process began may have been used before. One second covers its own first code.
        let is_new = made >= self.began.0 - 1_000 && now.0 < valid_until;
        if !is_new || !is_sealed(&self.token, &format!("page entry {nonce} {at}"), sealed) {
            return false;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, until| *until > now.0);
        used.insert(nonce.to_owned(), valid_until).is_none()
    }

    /// The name of the cookie. It contains the port, since cookies are sent to all ports of a machine.
    fn cookie_name(&self) -> String {
        format!("updraft_{}", self.port)
    }

    fn cookie(&self, now: Timestamp) -> String {
        let until = now.0.saturating_add(VISIT.as_millis() as i64);
        let value = format!("{until}.{}", seal(&self.token, &format!("page visit {until}")));
        let (name, age) = (self.cookie_name(), VISIT.as_secs());
        format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict")
    }

    fn is_visitor(&self, headers: &HeaderMap, now: Timestamp) -> bool {
        let name = self.cookie_name();
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let mut values = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| {
            let (key, value) = cookie.trim().split_once('=')?;
            (key == name).then_some(value)
        });
        values.any(|value| {
            let Some((until, sealed)) = value.split_once('.') else { return false };
            let is_valid = until.parse::<i64>().is_ok_and(|until| until > now.0);
            is_valid && is_sealed(&self.token, &format!("page visit {until}"), sealed)
        })
    }

    /// Whether a host is a name of this machine, with the port of this server.
    fn is_own_host(&self, host: &str) -> bool {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        names.iter().any(|name| host == format!("{name}:{}", self.port) || (self.port == 80 && host == *name))
    }

    /// Why a request is refused, by where it comes from.
    fn refusal(&self, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        if !self.is_local {
            return Some("the page is shown on this machine only: start `updraft serve` at 127.0.0.1");
        }
        let host = text(header::HOST).unwrap_or_default();
        if headers.get_all(header::HOST).iter().count() != 1 || !self.is_own_host(host) {
            return Some("this is not the address of this server: use the one that `updraft open` prints");
        }
        let is_own_origin = |origin: &str| origin.strip_prefix("http://") == Some(host);
        let origin = text(header::ORIGIN);
        if origin.is_some_and(|origin| !is_own_origin(origin)) {
            return Some("another page sent this request");
        }
        if method == Method::GET || method == Method::HEAD {
            return None;
        }
        let site = headers.get("sec-fetch-site").map(|site| site.to_str().unwrap_or_default());
        match (origin, site) {
            (_, Some(site)) if site != "same-origin" => Some("another page sent this request"),
            (None, None) => Some("the browser does not say which page sent this request"),
            _ => None,
        }
    }
}

fn seal(token: &ServeToken, text: &str) -> String {
    words::hex(&token.key(text))
}

fn is_sealed(token: &ServeToken, text: &str, shown: &str) -> bool {
    seal(token, text).as_bytes().ct_eq(shown.as_bytes()).into()
}

/// Checks every request to the page, and tells the browser what the page may do.
pub(super) async fn check(
    State(state): State<Arc<PageState>>,
    ConnectInfo(seat): ConnectInfo<AdmissionSlot>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let is_public = path == "/enter" || path.starts_with("/assets/");
    let mut response = if let Some(why) = state.access.refusal(request.method(), request.headers()) {
        let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
        (close, failure::page(StatusCode::FORBIDDEN, "Not from here", why)).into_response()
    } else if state.access.is_visitor(request.headers(), time_format::now()) {
        seat.let_in();
        next.run(request).await
    } else if is_public {
        next.run(request).await
    } else {
        let why = "Run `updraft open` in a terminal: it prints an address that lets you in, once.";
        let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
        (close, failure::page(StatusCode::UNAUTHORIZED, "Who are you?", why)).into_response()
    };
    let headers = response.headers_mut();
    let mut say = |name, value| drop(headers.insert(name, HeaderValue::from_static(value)));
    say(header::CONTENT_SECURITY_POLICY, POLICY);
    say(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    say(header::REFERRER_POLICY, "same-origin");
    say(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    say(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// The code in a one-time address.
#[derive(Deserialize)]
pub(super) struct EntryCode {
    #[serde(default)]
    code: String,
}

/// Exchanges a code for the cookie.
pub(super) async fn enter(
    State(state): State<Arc<PageState>>,
    ConnectInfo(seat): ConnectInfo<AdmissionSlot>,
    headers: HeaderMap,
    Query(EntryCode { code }): Query<EntryCode>,
) -> Response {
    let now = time_format::now();
    let is_visitor = state.access.is_visitor(&headers, now);
    // The code is used up, also by somebody who has the cookie already.
    let is_admitted = state.access.admit(&code, now);
    if !is_visitor && !is_admitted {
        let why = "This address was used before, or is too old. `updraft open` prints a new one.";
        return failure::page(StatusCode::UNAUTHORIZED, "This address lets nobody in any more", why).into_response();
    }
    seat.let_in();
    // A page and not a redirect: after a link from another site, the cookie would not be sent with a redirect.
    let body = html! { p { a href="/" { "Open the page" } } };
    let page = layout::bare("Welcome", &html! { meta http-equiv="refresh" content="0; url=/"; }, &body);
    let cookie = HeaderValue::from_str(&state.access.cookie(now)).ok().filter(|_| !is_visitor);
    match cookie {
        Some(cookie) => ([(header::SET_COOKIE, cookie)], page).into_response(),
        None => page.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> PageAccess {
        PageAccess::new(ServeToken::new("secret").unwrap(), ([127, 0, 0, 1], 7717).into())
    }

    fn code(access: &PageAccess) -> String {
        PageAccess::entry(&access.token).unwrap().strip_prefix("/enter?code=").unwrap().to_owned()
    }

    #[test]
    fn a_code_admits_once_and_only_in_time() {
        let (access, now) = (access(), time_format::now());
        let (first, second) = (code(&access), code(&access));
        assert!(access.admit(&first, now) && !access.admit(&first, now));
        let late = Timestamp(now.0 + ENTRY.as_millis() as i64 + 1);
        assert!(!access.admit(&second, late) && access.admit(&second, now));
        let other = PageAccess::new(ServeToken::new("other").unwrap(), ([127, 0, 0, 1], 7717).into());
        assert!(!access.admit(&code(&other), now));
        for wrong in ["", ".", "..", "a.b.c", "a.9999999999999.c"] {
            assert!(!access.admit(wrong, now), "{wrong}");
        }
    }

    #[test]
    fn a_code_from_before_the_server_began_admits_nobody() {
        let mut access = access();
        let old = code(&access);
        access.began = Timestamp(time_format::now().0 + 5_000);
        assert!(!access.admit(&old, time_format::now()));
    }

    #[test]
    fn a_cookie_outlives_the_process_but_not_its_time_or_token() {
        let (before, now) = (access(), time_format::now());
        let cookie = before.cookie(now);
        let (pair, rest) = cookie.split_once(';').unwrap();
        assert!(rest.contains("HttpOnly") && rest.contains("SameSite=Strict"));
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("a=b; {pair}").parse().unwrap());
        assert!(access().is_visitor(&headers, now));
        assert!(!access().is_visitor(&headers, Timestamp(now.0 + VISIT.as_millis() as i64)));
        let other = PageAccess::new(ServeToken::new("other").unwrap(), ([127, 0, 0, 1], 7717).into());
        assert!(!other.is_visitor(&headers, now));
        headers.insert(header::COOKIE, pair.replace('.', ".0").parse().unwrap());
        assert!(!access().is_visitor(&headers, now));
    }

    #[test]
    fn requests_of_other_pages_and_for_other_names_are_refused() {
        let access = access();
        let refuses = |method: Method, pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            access.refusal(&method, &headers).is_some()
        };
        let own = ("host", "127.0.0.1:7717");
        assert!(!refuses(Method::GET, &[own]) && !refuses(Method::GET, &[("host", "localhost:7717")]));
        for host in ["evil.example", "127.0.0.1:80", "evil.example:7717", "127.0.0.1.evil.example:7717", ""] {
            assert!(refuses(Method::GET, &[("host", host)]), "{host}");
        }
        assert!(refuses(Method::GET, &[]) && refuses(Method::GET, &[own, own]));
        assert!(refuses(Method::POST, &[own]));
        assert!(!refuses(Method::POST, &[own, ("origin", "http://127.0.0.1:7717")]));
        assert!(!refuses(Method::POST, &[own, ("sec-fetch-site", "same-origin")]));
        for origin in ["null", "http://127.0.0.1:3000", "http://localhost:7717", "https://127.0.0.1:7717"] {
            assert!(refuses(Method::POST, &[own, ("origin", origin)]), "{origin}");
            assert!(refuses(Method::GET, &[own, ("origin", origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", "none"] {
            let own_origin = ("origin", "http://127.0.0.1:7717");
            assert!(refuses(Method::POST, &[own, own_origin, ("sec-fetch-site", site)]), "{site}");
        }
        let abroad = PageAccess::new(ServeToken::new("secret").unwrap(), ([0, 0, 0, 0], 7717).into());
        let mut headers = HeaderMap::new();
        headers.insert("host", "127.0.0.1:7717".parse().unwrap());
        assert!(abroad.refusal(&Method::GET, &headers).is_some());
    }
}
