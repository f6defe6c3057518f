//! Where text from outside came from: names for people, limited in number, and only ever added to.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::effect::PreparedCall;

/// How many origins are kept. Beyond this, one entry stands for all others.
const MOST: usize = 32;
/// How many origins are named in a sentence.
const NAMED: usize = 4;
/// The longest name of an origin, in characters.
const LONGEST: usize = 200;
/// The entry for origins that are no longer listed separately.
const OTHERS: &str = "other places that are not named";

/// The origin of text from outside whose source is not named.
pub(crate) const UNNAMED: &str = "text from outside";

/// The origin of a run that somebody else may have written.
pub(crate) const IMPORTED: &str = "the file that this run was imported from";

/// The origin of files in a workspace that the user has not trusted.
pub const STRANGE_WORKSPACE: &str = "the files of this workspace, which you have not trusted";

/// The origin of a server's tool definitions: this prefix and the server's name.
pub const STRANGE_DEFINITIONS: &str = "the descriptions by MCP server ";

/// A host that the user allowed by name: this prefix and the host. Its text counts as the user's choice.
pub(crate) const ALLOWED_HOST: &str = "the allowed host ";

/// Where the text of a program may come from that has the network granted to commands: the hosts that it may reach, if
/// they are known by name.
pub fn network_origins(hosts: &[String]) -> Vec<String> {
    match hosts {
        [] => vec!["what `run_command` got from the network".to_owned()],
        hosts => hosts.iter().map(|host| format!("{ALLOWED_HOST}{host}")).collect(),
    }
}

/// The registry that package managers install from. Its text counts as the user's choice too.
pub(crate) const REGISTRY: &str = "a package registry";

/// The sources of the text in something. Empty if it came only from the user and their own files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origins(Vec<String>);

impl Origins {
    /// A single origin.
    pub fn of(place: &str) -> Self {
        let mut origins = Self::default();
        origins.add(place);
        origins
    }

    /// Whether nothing came from outside.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the origins, in the order they were added.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Adds an origin. The name itself comes from outside too, so it is cut to size and stripped of control characters.
    pub fn add(&mut self, place: &str) {
        self.add_harmless(&harmless(place));
    }

    fn add_harmless(&mut self, name: &str) {
        if self.0.iter().any(|known| known == name) {
            return;
        }
        if self.0.len() < MOST - 1 {
            self.0.push(name.to_owned());
        } else if !self.0.iter().any(|known| known == OTHERS) {
            self.0.push(OTHERS.into());
        }
    }

    /// Adds all origins of another, which were made safe when they were added there.
    pub fn merge(&mut self, other: &Origins) {
        for name in &other.0 {
            self.add_harmless(name);
        }
    }

    /// All origins except one.
    #[must_use]
    pub fn without(&self, place: &str) -> Self {
        Self(self.0.iter().filter(|name| *name != place).cloned().collect())
    }

    /// The same origins as other workspaces know them: with the folder instead of "this workspace".
    #[must_use]
    pub fn outside_of(&self, workspace: &str) -> Self {
        let mut named = Self::default();
        for name in &self.0 {
            if name == STRANGE_WORKSPACE {
                named.add(&format!("the files of {workspace}, which you have not trusted"));
            } else {
                named.add_harmless(name);
            }
        }
        named
    }

    /// All origins except these hosts and their pages. A call that failed brings in the bare host.
    #[must_use]
    pub(crate) fn without_pages_of(&self, hosts: &[String]) -> Self {
        let is_there = |name: &String| hosts.iter().any(|host| host_of_page(name).unwrap_or(name) == host);
        Self(self.0.iter().filter(|name| !is_there(name)).cloned().collect())
    }

    /// Whether all of these are among the known ones.
    pub fn are_within(&self, known: &[String]) -> bool {
        self.0.iter().all(|place| known.contains(place))
    }

    /// Whether text from these origins could misuse a call that sends data, cannot be undone or acts on later runs. Text from hosts that
    /// the user chose can only cause data to be sent to such hosts, which the user has allowed. This does not apply to
    /// a command that may reach any host and installs nothing.
    pub(crate) fn could_misuse(&self, prepared: &PreparedCall) -> bool {
        let is_chosen = |name: &String| name == REGISTRY || name.starts_with(ALLOWED_HOST);
        let is_known = !prepared.hosts.is_empty() || prepared.installs;
        let is_allowed = prepared.granted && is_known && !prepared.destroys && self.0.iter().all(is_chosen);
        (prepared.sends || prepared.destroys || prepared.lasts) && !self.0.is_empty() && !is_allowed
    }

    /// As part of a sentence: "the page https://example.org, MCP server fs".
    pub fn in_words(&self) -> String {
        let named: Vec<Cow<'_, str>> = self.0.iter().take(NAMED).map(|name| shown(name)).collect();
        match self.0.len() - named.len() {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

/// The host in a page's address.
fn host_of_page(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://"))?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let has_port = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    Some(has_port.map_or(authority, |(host, _)| host))
}

/// An origin as people know it. The form in the journal does not change, so that it can be compared.
fn shown(name: &str) -> Cow<'_, str> {
    if name == STRANGE_WORKSPACE {
        return Cow::Borrowed("files of this workspace, which is not trusted");
    }
    if let Some(server) = name.strip_prefix(STRANGE_DEFINITIONS) {
        return Cow::Owned(format!("the tool descriptions of MCP server {server}"));
    }
    if let Some(host) = name.strip_prefix(ALLOWED_HOST) {
        return Cow::Owned(format!("{host}, which you allowed"));
    }
    if name.starts_with("http://") || name.starts_with("https://") {
        return Cow::Owned(format!("the page {name}"));
    }
    Cow::Borrowed(name)
}

/// A name without characters that hide it or rearrange the text around it.
fn harmless(place: &str) -> String {
    let name = harmless_within(place.trim(), LONGEST);
    if name.is_empty() { UNNAMED.into() } else { name }
}

/// A text from outside, cut to so many characters, without characters that hide it or rearrange the text around it.
pub(crate) fn harmless_within(text: &str, most: usize) -> String {
    let hides =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let plain = |c: char| if c.is_control() || hides(c) { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().map(plain).take(most).collect();
    if text.chars().nth(most).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_host_are_told_by_the_whole_host() {
        let mut origins = Origins::default();
        let pages =
            ["https://a.org/x?y", "http://a.org:8080", "https://a.org.evil/", "https://a.org@evil/", "a.org", "b.org"];
        for page in pages {
            origins.add(page);
        }
        let left = origins.without_pages_of(&["a.org".to_owned()]);
        assert_eq!(left.names(), ["https://a.org.evil/", "https://a.org@evil/", "b.org"]);
        assert_eq!(host_of_page("http://[::1]:80/"), Some("[::1]"));
        assert_eq!(host_of_page("http://[::1]/"), Some("[::1]"));
    }

    #[test]
    fn four_are_named_and_the_rest_counted() {
        let mut origins = Origins::default();
        for n in 0..11 {
            origins.add(&format!("p{n}"));
        }
        assert_eq!(origins.in_words(), "p0, p1, p2, p3 and 7 more");
    }

    #[test]
    fn places_are_named_as_people_call_them() {
        let mut origins = Origins::of(STRANGE_WORKSPACE);
        origins.add("the descriptions by MCP server fs2");
        origins.add("https://evil.example/page");
        let words = "files of this workspace, which is not trusted, the tool descriptions of MCP server fs2, the page \
                     https://evil.example/page";
        assert_eq!(origins.in_words(), words);
    }

    #[test]
    fn they_are_bounded_and_adding_them_again_changes_nothing() {
        let mut origins = Origins::default();
        for n in 0..1000 {
            origins.add(&format!("p{n}"));
        }
        let before = origins.clone();
        origins.merge(&before);
        origins.add("p999");
        assert_eq!((origins.names().len(), &origins), (MOST, &before));
    }

    #[test]
    fn a_name_cannot_move_the_cursor_nor_grow_without_end() {
        let origins = Origins::of(&format!("\u{1b}[2J\n\u{202e}{}", "x".repeat(500)));
        let name = &origins.names()[0];
        assert!(name.chars().count() == LONGEST && !name.chars().any(char::is_control), "{name}");
        assert_eq!(Origins::of(" \n").names(), [UNNAMED]);
    }

    #[test]
    fn a_long_name_stays_the_same_when_it_is_merged() {
        let one = Origins::of(&"x".repeat(300));
        let mut two = one.clone();
        two.merge(&one);
        assert_eq!(one, two);
    }
}
