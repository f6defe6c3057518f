//! Who may see the page: a one-time address or a token is exchanged for a cookie, which every request shows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;
use updraft_run::Timestamp;
use updraft_workbench::{folders::unguessable, time_format};

use super::address::PageAddress;
use super::visitor::{self, Visitor};
use super::{PageState, enter, failure, words};
use crate::admission::AdmissionSlot;
use crate::token::ServeToken;
use crate::users::UserFile;

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
    address: PageAddress,
    users: UserFile,
    began: Timestamp,
    /// Entries that were used, with the time they would have been valid until.
    used: Arc<Mutex<BTreeMap<String, i64>>>,
}

impl PageAccess {
    /// Access to the page at this address, for the owner of the token and for these users.
    pub(crate) fn new(token: ServeToken, address: PageAddress, users: UserFile) -> Self {
        Self { token, address, users, began: time_format::now(), used: Arc::default() }
    }

    /// The users.
    pub(super) fn users(&self) -> &UserFile {
        &self.users
    }

    /// The path of a one-time address, for a server with this token. Any process that knows the token can make one.
    pub fn entry(token: &ServeToken) -> Result<String, String> {
        let (nonce, at) = (unguessable(16)?, time_format::now().0);
        Ok(format!("/enter?code={nonce}.{at}.{}", seal(token, &format!("page entry {nonce} {at}"))))
    }

    /// Uses up a code; false if it is not valid (any more).
    pub(super) fn admit(&self, code: &str, now: Timestamp) -> bool {
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

    /// The name of the cookie. It contains the port, since cookies are sent to all ports of a machine. With encryption,
    /// browsers take this name only from this very host, encrypted.
    fn cookie_name(&self) -> String {
        let prefix = if self.address.tls.is_some() { "__Host-" } else { "" };
        format!("{prefix}updraft_{}", self.address.bound.port())
    }

    /// The cookie for a visit.
    pub(super) fn cookie(&self, visitor: &Visitor, now: Timestamp) -> String {
        let until = now.0.saturating_add(VISIT.as_millis() as i64);
        let sealed = seal(&self.token, &visit(visitor, until));
        let value = match visitor {
            Visitor::Owner => format!("{until}.{sealed}"),
            Visitor::User(user) => format!("{until}.{}.{sealed}", user.name),
        };
        self.cookie_with(&value, VISIT.as_secs())
    }

    /// What removes the cookie from a browser.
    pub(super) fn no_cookie(&self) -> String {
        self.cookie_with("", 0)
    }

    fn cookie_with(&self, value: &str, age: u64) -> String {
        let secure = if self.address.tls.is_some() { "; Secure" } else { "" };
        let name = self.cookie_name();
        format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
    }

    /// Who sends a request, by its cookie.
    pub(super) fn visitor(&self, headers: &HeaderMap, now: Timestamp) -> Option<Visitor> {
        let name = self.cookie_name();
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let mut values = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| {
            let (key, value) = cookie.trim().split_once('=')?;
            (key == name).then_some(value)
        });
        // A browser sends one; each may make us read the list of users.
        values.by_ref().take(4).find_map(|value| {
            let (until, rest) = value.split_once('.')?;
            let until = until.parse::<i64>().ok().filter(|until| *until > now.0)?;
            let (visitor, sealed) = match rest.split_once('.') {
                Some((name, sealed)) => (Visitor::User(self.users.named(name)?), sealed),
                None => (Visitor::Owner, rest),
            };
            is_sealed(&self.token, &visit(&visitor, until), sealed).then_some(visitor)
        })
    }
}

/// What the cookie of a visit seals. A user with a new token is a new user.
fn visit(visitor: &Visitor, until: i64) -> String {
    match visitor {
        Visitor::Owner => format!("page visit {until}"),
        Visitor::User(user) => format!("page visit {until} of {} {}", user.name, user.hash()),
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
    ConnectInfo(slot): ConnectInfo<AdmissionSlot>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let is_public = path == "/enter" || path.starts_with("/assets/");
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    let mut response = if let Some(why) = state.access.address.refusal(request.method(), request.headers()) {
        (close, failure::page(StatusCode::FORBIDDEN, "Not from here", why)).into_response()
    } else if let Some(visitor) = state.access.visitor(request.headers(), time_format::now()) {
        slot.let_in();
        let needed = visitor::needed(request.method(), path);
        if is_public {
            next.run(request).await
        } else if visitor.role() < needed {
            visitor.refusal(needed)
        } else {
            if !request.method().is_safe() {
                tracing::info!(user = visitor.name(), "{} {path}", request.method());
            }
            request.extensions_mut().insert(visitor.clone());
            visitor.receive(state.access.clone(), next.run(request).await).await
        }
    } else if is_public {
        next.run(request).await
    } else {
        (close, enter::stranger()).into_response()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::UserRole;

    fn access_with(token: &str, users: UserFile) -> PageAccess {
        let address = PageAddress { bound: ([127, 0, 0, 1], 7717).into(), hosts: Vec::new(), tls: None };
        PageAccess::new(ServeToken::new(token).unwrap(), address, users)
    }

    fn access() -> PageAccess {
        access_with("secret", UserFile::at("/nonexistent/users".into()))
    }

    fn code(access: &PageAccess) -> String {
        PageAccess::entry(&access.token).unwrap().strip_prefix("/enter?code=").unwrap().to_owned()
    }

    #[test]
    fn a_code_admits_once_and_only_in_time() {
        let access = access();
        let (first, second) = (code(&access), code(&access));
        // After both: a code is good for a time that begins when it is made.
        let now = time_format::now();
        assert!(access.admit(&first, now) && !access.admit(&first, now));
        let late = Timestamp(now.0 + ENTRY.as_millis() as i64 + 1);
        assert!(!access.admit(&second, late) && access.admit(&second, now));
        let other = access_with("other", UserFile::at("/nonexistent/users".into()));
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

    fn shown(cookie: &str) -> HeaderMap {
        let (pair, _) = cookie.split_once(';').unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("a=b; {pair}").parse().unwrap());
        headers
    }

    #[test]
    fn a_cookie_outlives_the_process_but_not_its_time_or_token() {
        let (before, now) = (access(), time_format::now());
        let cookie = before.cookie(&Visitor::Owner, now);
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        let headers = shown(&cookie);
        assert_eq!(access().visitor(&headers, now), Some(Visitor::Owner));
        assert_eq!(access().visitor(&headers, Timestamp(now.0 + VISIT.as_millis() as i64)), None);
        let other = access_with("other", UserFile::at("/nonexistent/users".into()));
        assert_eq!(other.visitor(&headers, now), None);
        assert_eq!(access().visitor(&shown(&cookie.replace('.', ".0")), now), None);
        assert_eq!(access().visitor(&shown(&before.no_cookie()), now), None);
    }

    #[test]
    fn the_visits_of_a_user_end_with_the_user_and_lend_no_other_name() {
        let folder = tempfile::tempdir().unwrap();
        let users = UserFile::at(folder.path().join("users"));
        let (access, now) = (access_with("secret", users.clone()), time_format::now());
        users.add("ann", UserRole::See).unwrap();
        users.add("bob", UserRole::Administer).unwrap();
        let cookie = access.cookie(&Visitor::User(users.named("ann").unwrap()), now);
        let seen = |cookie: &str| access.visitor(&shown(cookie), now).map(|visitor| visitor.name().to_owned());
        assert_eq!(seen(&cookie).as_deref(), Some("ann"));
        for forged in [cookie.replace(".ann.", ".bob."), cookie.replace(".ann.", "."), cookie.replace(".ann.", "..")] {
            assert_eq!(seen(&forged), None, "{forged}");
        }
        users.remove("ann").unwrap();
        assert_eq!(seen(&cookie), None);
        users.add("ann", UserRole::Administer).unwrap();
        assert_eq!(seen(&cookie), None, "a new user of the same name");
    }
}
