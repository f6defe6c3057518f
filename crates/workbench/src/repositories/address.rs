//! The address of a git repository, and which of them are accepted.

use std::fmt;

use updraft_journal::hash_of;

use crate::fault::Fault;

/// The longest part of a repository's name in the id of its workspace.
const LONGEST_NAME: usize = 24;
/// How many digits of the address's hash are in that id.
const DIGITS: usize = 16;
/// Characters that git does not allow in the name of a branch.
const NOT_IN_BRANCHES: [char; 7] = ['~', '^', ':', '?', '*', '[', '\\'];

/// A repository that is cloned and pushed to, and the branch that runs begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryAddress {
    url: String,
    branch: Option<String>,
}

impl RepositoryAddress {
    /// Whether a text names a repository, and not a folder.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("git+") || text.contains("://") || is_short(text)
    }

    /// Reads `https://HOST/PATH`, `ssh://…`, `file://…` or `USER@HOST:PATH`, perhaps with `git+` before and `#BRANCH` behind it.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let plain = text.trim().strip_prefix("git+").unwrap_or(text.trim());
        let (url, branch) = match plain.split_once('#') {
            Some((url, branch)) => (url, Some(branch.to_owned())),
            None => (plain, None),
        };
        let url = url.trim_end_matches('/').to_owned();
        let refused = |why: &str| Fault::usage(format!("`{}` cannot be used as a repository: {why}", shown(&url)));
        if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(refused("it contains spaces"));
        }
        if let Some(branch) = branch.as_deref().filter(|branch| !is_branch(branch)) {
            return Err(refused(&format!("`{branch}` is not the name of a branch")));
        }
        let address = Self { url: url.clone(), branch };
        match url.split_once("://") {
            None if is_short(&url) => Ok(address),
            Some(("file", path)) if path.starts_with('/') => Ok(address),
            Some(("ssh", rest)) if !user_of(rest).is_some_and(|user| user.contains(':')) && is_host(rest) => {
                Ok(address)
            }
            Some(("https" | "http", rest)) if user_of(rest).is_some() => Err(refused(
                "it contains a user or a password",
            )
            .hint("let git ask its credential helper: `git config --global credential.helper store`, for example")),
            Some(("https", rest)) if is_host(rest) => Ok(address),
            Some(("http", rest)) if is_loopback(rest) => Ok(address),
            Some(("http" | "git", _)) => {
                Err(refused("what is sent there is not encrypted").hint("use https:// or ssh://"))
            }
            _ => Err(refused("it has none of the known forms").hint(
                "write https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or file:///PATH, and #BRANCH behind it",
            )),
        }
    }

    /// The address for git.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The branch that runs begin with; absent if it is the repository's own choice.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// The name of the repository, as its folder is called.
    pub fn name(&self) -> String {
        let last = self.url.rsplit(['/', ':']).next().unwrap_or_default();
        let last = last.strip_suffix(".git").unwrap_or(last);
        let plain: String = last.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
        let plain = plain.trim_start_matches(['.', '-']).to_owned();
        if plain.is_empty() { "repository".to_owned() } else { plain }
    }

    /// The id of the workspace: the same wherever the address is written the same.
    pub fn id(&self) -> String {
        let name: String = self.name().chars().filter(|c| *c != '.').take(LONGEST_NAME).collect();
        let hash = hash_of(self.to_string().as_bytes()).to_string();
        format!("{name}-{}", &hash[..DIGITS])
    }
}

impl fmt::Display for RepositoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.branch {
            Some(branch) => write!(f, "{}#{branch}", self.url),
            None => write!(f, "{}", self.url),
        }
    }
}

/// Whether it is of the form `USER@HOST:PATH`.
fn is_short(text: &str) -> bool {
    let Some(((user, host), path)) = text.split_once(':').and_then(|(to, path)| Some((to.split_once('@')?, path)))
    else {
        return false;
    };
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('-')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    is_name(user) && is_name(host) && !path.is_empty() && !path.starts_with("//")
}

/// The part before `@` in front of a host.
fn user_of(rest: &str) -> Option<&str> {
    rest.split('/').next().and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user)
}

/// Whether there is a host and a path.
fn is_host(rest: &str) -> bool {
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    !host.is_empty() && !host.starts_with('-') && rest.contains('/')
}

fn is_loopback(rest: &str) -> bool {
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    ["127.0.0.1", "localhost", "[::1]"].contains(&host) && rest.contains('/')
}

/// Whether git accepts it as the name of a branch.
fn is_branch(name: &str) -> bool {
    let is_allowed = |c: char| !c.is_whitespace() && !c.is_control() && !NOT_IN_BRANCHES.contains(&c);
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.to_ascii_lowercase().ends_with(".lock");
    !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && name.chars().all(is_allowed)
        && name.split('/').all(is_part)
}

/// An address without what may be secret in it.
fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) if user_of(rest).is_some() => {
            format!("{scheme}://…@{}", rest.split_once('@').map_or("", |(_, host)| host))
        }
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_told_from_folders() {
        for meant in ["https://h/x.git", "git+file:///srv/x", "git@host:team/x.git", "ssh://git@host/x#dev"] {
            assert!(RepositoryAddress::is_meant(meant), "{meant}");
            RepositoryAddress::parse(meant).unwrap();
        }
        for folder in ["/srv/x.git", "x", "../a@b", "C:\\x", "me@home"] {
            assert!(!RepositoryAddress::is_meant(folder), "{folder}");
        }
    }

    #[test]
    fn an_address_has_a_name_a_branch_and_an_id() {
        let address = RepositoryAddress::parse("git+https://git.example/team/shop.git/#release/2").unwrap();
        assert_eq!(address.url(), "https://git.example/team/shop.git");
        assert_eq!(address.branch(), Some("release/2"));
        assert_eq!(address.name(), "shop");
        let same = RepositoryAddress::parse("https://git.example/team/shop.git#release/2").unwrap();
        assert_eq!(address.id(), same.id());
        assert!(address.id().starts_with("shop-") && address.id().len() == 5 + DIGITS, "{}", address.id());
        let other = RepositoryAddress::parse("https://git.example/team/shop.git").unwrap();
        assert_ne!(address.id(), other.id());
        assert_eq!(RepositoryAddress::parse("git@host:x.git").unwrap().name(), "x");
        assert_eq!(RepositoryAddress::parse("file:///srv/.git").unwrap().name(), "repository");
    }

    #[test]
    fn what_runs_programs_or_carries_secrets_is_refused() {
        for (text, why) in [
            ("git+ext::sh -c touch% /tmp/x", "spaces"),
            ("git+ext::sh", "known forms"),
            ("git+-u./x", "known forms"),
            ("git+-oProxyCommand@host:x", "known forms"),
            ("git+git@-oProxyCommand=x:y", "known forms"),
            ("ssh://-oProxyCommand=x/y", "known forms"),
            ("https://ann:secret@h/x", "a user or a password"),
            ("https://token@h/x", "a user or a password"),
            ("ssh://ann:secret@h/x", "known forms"),
            ("http://h/x", "not encrypted"),
            ("git://h/x", "not encrypted"),
            ("http://127.0.0.1.example/x", "not encrypted"),
            ("https://h/x#-f", "not the name of a branch"),
            ("https://h/x#a..b", "not the name of a branch"),
            ("https://h/x#", "not the name of a branch"),
        ] {
            let refused = RepositoryAddress::parse(text).unwrap_err().message;
            assert!(refused.contains(why) && !refused.contains("secret"), "{text}: {refused}");
        }
        RepositoryAddress::parse("http://127.0.0.1:8000/x.git").unwrap();
    }
}
