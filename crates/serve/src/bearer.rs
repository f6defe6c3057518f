//! The way in for programs: `Authorization: Bearer TOKEN`, with the server's own token or that of a user.
//!
//! A browser never adds this header by itself, so a page of the web cannot use it on behalf of the person who visits it.
//! `Host` and `Origin` are checked as for MCP all the same.

use axum::http::{HeaderMap, StatusCode, header};
use updraft_workbench::service::CLIENT;

use crate::tls::TlsIdentity;
use crate::token::ServeToken;
use crate::users::{PageUser, UserFile, UserRole};

/// Names of this machine.
const OWN: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Decides which programs may come in. Cheap to clone.
#[derive(Clone)]
pub(crate) struct BearerAccess {
    token: ServeToken,
    users: UserFile,
    /// Host names it may be called by, besides those of this machine.
    hosts: Vec<String>,
    /// Web pages that may use it, besides those of this machine.
    origins: Vec<String>,
    tls: Option<TlsIdentity>,
}

/// A program that was let in, by whose token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApiCaller {
    /// The token of the server.
    Owner,
    /// The token of a user.
    User(PageUser),
}

/// Why a program is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BearerRefusal {
    /// The status of the answer.
    pub(crate) status: StatusCode,
    /// What to do.
    pub(crate) why: &'static str,
}

impl ApiCaller {
    /// What this program may do.
    pub(crate) fn role(&self) -> UserRole {
        match self {
            ApiCaller::Owner => UserRole::Administer,
            ApiCaller::User(user) => user.role,
        }
    }

    /// Who decides what this program decides, for the journal.
    pub(crate) fn name(&self) -> &str {
        match self {
            ApiCaller::Owner => CLIENT,
            ApiCaller::User(user) => &user.name,
        }
    }

    /// Why this program may not do what needs a higher role.
    pub(crate) fn role_refusal(&self, needed: UserRole) -> String {
        let (name, role, needed) = (self.name(), self.role().word(), needed.word());
        format!("{name} has the role `{role}`, and this needs `{needed}`")
    }
}

impl BearerAccess {
    /// Access for the owner of the token and these users.
    pub(crate) fn new(token: ServeToken, users: UserFile) -> Self {
        Self { token, users, hosts: Vec::new(), origins: Vec::new(), tls: None }
    }

    /// The same, by other names and for other web pages too.
    pub(crate) fn named(self, hosts: &[String], origins: &[String], tls: Option<&TlsIdentity>) -> Self {
        Self { hosts: hosts.to_vec(), origins: origins.to_vec(), tls: tls.cloned(), ..self }
    }

    /// The users.
    pub(crate) fn users(&self) -> &UserFile {
        &self.users
    }

    /// Who sends a request, by its headers.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<ApiCaller, BearerRefusal> {
        self.check_place(headers)?;
        let missing = BearerRefusal {
            status: StatusCode::UNAUTHORIZED,
            why: "send a token: `Authorization: Bearer TOKEN`; `updraft serve` prints at its start where its token is \
                  stored, and `updraft serve user add` makes one for a user",
        };
        let shown = headers.get(header::AUTHORIZATION).and_then(|shown| shown.to_str().ok());
        let shown = shown.and_then(|shown| shown.split_once(' ')).filter(|(way, _)| way.eq_ignore_ascii_case("bearer"));
        let (_, shown) = shown.ok_or(missing)?;
        if self.token.is(shown) {
            return Ok(ApiCaller::Owner);
        }
        self.users.with_token(shown).map(ApiCaller::User).ok_or(missing)
    }

    /// Whether a browser may ask on behalf of a web page what it may do here.
    pub(crate) fn may_ask(&self, headers: &HeaderMap) -> bool {
        self.check_place(headers).is_ok()
    }

    /// Whether somebody who was let in still is.
    pub(crate) fn still_knows(&self, caller: &ApiCaller) -> bool {
        match caller {
            ApiCaller::Owner => true,
            ApiCaller::User(user) => self.users.named(&user.name).as_ref() == Some(user),
        }
    }

    /// Whether a web page of this origin may use it.
    fn is_own_origin(&self, origin: &str) -> bool {
        let local = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        local.is_some_and(|host| OWN.contains(&without_port(host))) || self.origins.iter().any(|own| own == origin)
    }

    fn check_place(&self, headers: &HeaderMap) -> Result<(), BearerRefusal> {
        let refused = |why| Err(BearerRefusal { status: StatusCode::FORBIDDEN, why });
        let mut hosts = headers.get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or_default());
        let (host, other) = (hosts.next().unwrap_or_default(), hosts.next());
        let name = without_port(host);
        let is_named = |own: &String| own.eq_ignore_ascii_case(name) || own.eq_ignore_ascii_case(host);
        let is_known = OWN.contains(&name)
            || self.hosts.iter().any(is_named)
            || self.tls.as_ref().is_some_and(|tls| tls.is_for(name));
        if other.is_some() || !is_known {
            return refused("this is not a name of this server; other names for it are given with --allow-host");
        }
        let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
        if origin.is_some_and(|origin| !self.is_own_origin(origin)) {
            return refused("this web page may not use the server; pages that may are given with --allow-origin");
        }
        Ok(())
    }
}

/// A host without its port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(users: UserFile) -> BearerAccess {
        let access = BearerAccess::new(ServeToken::new("secret").unwrap(), users);
        access.named(&["team.example".to_owned()], &["https://pages.example".to_owned()], None)
    }

    fn sent(headers: &[(&'static str, &str)]) -> HeaderMap {
        headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_program_comes_in_with_a_token_and_by_a_name_of_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let users = UserFile::at(folder.path().join("users"));
        let token = users.add("ann", UserRole::See).unwrap();
        let access = access(users.clone());
        let with = |host: &str, token: &str| {
            access.caller(&sent(&[("host", host), ("authorization", &format!("Bearer {token}"))]))
        };
        assert_eq!(with("127.0.0.1:7717", "secret"), Ok(ApiCaller::Owner));
        assert_eq!(with("[::1]:7717", "secret"), Ok(ApiCaller::Owner));
        assert_eq!(with("TEAM.example", "secret"), Ok(ApiCaller::Owner));
        let ann = with("localhost", &token).unwrap();
        assert!(ann.role() == UserRole::See && ann.name() == "ann" && access.still_knows(&ann));
        assert_eq!(with("localhost", "other").unwrap_err().status, StatusCode::UNAUTHORIZED);
        for host in ["evil.example", "", "localhost.evil.example", "[::2]:7717"] {
            assert_eq!(with(host, "secret").unwrap_err().status, StatusCode::FORBIDDEN, "{host}");
        }
        users.remove("ann").unwrap();
        assert!(!access.still_knows(&ann) && with("localhost", &token).is_err());
    }

    #[test]
    fn a_page_of_the_web_may_use_it_only_if_it_is_named() {
        let access = access(UserFile::at("/nonexistent/users".into()));
        let from = |origin: &str| {
            access
                .caller(&sent(&[("host", "localhost"), ("authorization", "Bearer secret"), ("origin", origin)]))
                .is_ok()
        };
        assert!(from("http://localhost:3000") && from("https://pages.example"));
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "http://pages.example"] {
            assert!(!from(origin), "{origin}");
        }
    }
}
