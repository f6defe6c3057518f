//! Keys in server entries of other programs: each is replaced by the name of a variable, so that no file of ours holds one.

use super::WrittenServer;

/// How keys of well-known services begin.
const BEGINNINGS: [&str; 28] = [
    "sk-",
    "sk_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AIza",
    "AKIA",
    "ASIA",
    "ya29.",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "SG.",
    "lin_api_",
    "ntn_",
    "dop_v1_",
    "shpat_",
    "gsk_",
];
/// Words in names of fields whose values are keys.
const KEY_WORDS: [&str; 16] = [
    "KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PWD",
    "PASS",
    "PAT",
    "AUTH",
    "AUTHORIZATION",
    "CREDENTIAL",
    "CREDENTIALS",
    "BEARER",
    "COOKIE",
];
/// Schemes before a key in a header.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "ApiKey "];
/// Headers that hold no keys.
const PLAIN_HEADERS: [&str; 6] =
    ["accept", "accept-language", "content-type", "user-agent", "mcp-protocol-version", "x-mcp-toolsets"];
/// Minimum length of a key of a well-known service.
const SHORTEST_NAMED: usize = 16;
/// Minimum length of any other text that is taken for a key.
const SHORTEST_RANDOM: usize = 24;
/// Minimum number of different characters: placeholders such as `sk-xxxxxxxx` have fewer.
const FEWEST_LETTERS: usize = 8;

impl WrittenServer {
    /// The entry with variables in place of keys, and the names of these variables. What may be a key is taken for one.
    #[must_use]
    pub fn without_keys(mut self, name: &str) -> (Self, Vec<String>) {
        let mut hidden = HiddenKeys { server: as_variable(name), names: Vec::new() };
        for (field, value) in &mut self.env {
            hidden.in_field(value, &as_variable(field), is_key_name(field));
        }
        for (field, value) in &mut self.headers {
            let is_plain = PLAIN_HEADERS.contains(&field.to_lowercase().as_str());
            let variable =
                if field.eq_ignore_ascii_case("authorization") { "TOKEN" } else { field.trim_start_matches("X-") };
            let variable = hidden.of_server(variable);
            hidden.in_field(value, &variable, !is_plain);
        }
        hidden.in_arguments(&mut self.args);
        if let Some(url) = &mut self.url {
            hidden.in_url(url);
        }
        if let Some(secret) = self.oauth.as_mut().and_then(|login| login.client_secret.as_mut()) {
            let variable = hidden.of_server("CLIENT_SECRET");
            hidden.in_field(secret, &variable, true);
        }
        hidden.names.sort();
        hidden.names.dedup();
        (self, hidden.names)
    }

    /// The entry with variables in place of what an editor would ask its user for: `${input:api-key}` becomes `${API_KEY}`.
    #[must_use]
    pub fn without_inputs(mut self) -> Self {
        let change = |text: &mut String| {
            while let Some(at) = text.find("${input:") {
                let Some(length) = text[at..].find('}') else { return };
                let name = as_variable(&text[at + 8..at + length]);
                text.replace_range(at..=at + length, &format!("${{{name}}}"));
            }
        };
        self.args.iter_mut().for_each(change);
        self.env.values_mut().for_each(change);
        self.headers.values_mut().for_each(change);
        self.url.iter_mut().for_each(change);
        let login = self.oauth.iter_mut();
        login.flat_map(|login| login.client_id.iter_mut().chain(&mut login.client_secret)).for_each(change);
        self
    }
}

/// The keys of one entry that were replaced.
struct HiddenKeys {
    server: String,
    names: Vec<String>,
}

impl HiddenKeys {
    /// The variable for a key of this server.
    fn of_server(&self, field: &str) -> String {
        format!("{}_{}", self.server, as_variable(field))
    }

    fn replacement(&mut self, variable: &str) -> String {
        self.names.push(variable.to_owned());
        format!("${{{variable}}}")
    }

    /// Hides the key in a value. With `is_key`, the field's name says that its value is one.
    fn in_field(&mut self, value: &mut String, variable: &str, is_key: bool) {
        self.in_defaults(value, is_key);
        if value.contains("${") || is_harmless(value) {
            return;
        }
        if has_password(value) {
            *value = self.replacement(variable);
        } else if is_key && !is_path(value) {
            let scheme = SCHEMES.iter().find(|scheme| value.starts_with(**scheme)).copied().unwrap_or_default();
            *value = format!("{scheme}{}", self.replacement(variable));
        } else if let Some(word) = value.split_whitespace().find(|word| is_key_text(word)).map(str::to_owned) {
            *value = value.replace(&word, &self.replacement(variable));
        }
    }

    /// Hides keys that stand in for variables that are not set: `${TOKEN:-ghp_…}`.
    fn in_defaults(&mut self, value: &mut String, is_key: bool) {
        let mut from = 0;
        while let Some(at) = value[from..].find("${").map(|at| from + at) {
            let Some(end) = value[at..].find('}').map(|length| at + length) else { return };
            if let Some((name, default)) = value[at + 2..end].split_once(":-")
                && !default.is_empty()
                && (is_key || is_key_text(default))
            {
                let hidden = self.replacement(name);
                value.replace_range(at..=end, &hidden);
            }
            from = at + 2;
        }
    }

    /// Hides keys among arguments: `--api-key KEY`, `--token=KEY`, and what looks like one.
    fn in_arguments(&mut self, arguments: &mut [String]) {
        let mut follows: Option<String> = None;
        for argument in arguments {
            let flag = follows.take();
            let is_flag = argument.starts_with('-');
            if let Some((name, value)) = argument.split_once('=').filter(|(name, _)| is_flag || is_key_name(name)) {
                let (name, mut value) = (name.to_owned(), value.to_owned());
                let variable = self.of_server(name.trim_start_matches('-'));
                self.in_field(&mut value, &variable, is_key_name(&name));
                *argument = format!("{name}={value}");
            } else if is_flag {
                follows = Some(argument.trim_start_matches('-').to_owned()).filter(|name| is_key_name(name));
            } else if argument.contains("://") {
                self.in_url(argument);
            } else {
                let variable = self.of_server(flag.as_deref().unwrap_or("KEY"));
                self.in_field(argument, &variable, flag.is_some());
            }
        }
    }

    /// Hides the password, keys in the path, and keys in the query of an address.
    fn in_url(&mut self, url: &mut String) {
        self.in_defaults(url, false);
        let (plain, query) = url.split_once('?').map_or((url.as_str(), None), |(plain, query)| (plain, Some(query)));
        let (scheme, rest) = plain.split_once("://").unwrap_or(("", plain));
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = match host.rsplit_once('@') {
            Some((login, host)) if !login.contains("${") => {
                let (user, password) = login.split_once(':').unwrap_or(("", login));
                let before = if password == login { String::new() } else { format!("{user}:") };
                let variable = self.of_server("PASSWORD");
                format!("{before}{}@{host}", self.replacement(&variable))
            }
            _ => host.to_owned(),
        };
        let parts: Vec<String> = path.split('/').map(|part| self.unless_key(part, "KEY", is_key_text(part))).collect();
        let mut made = if scheme.is_empty() { host } else { format!("{scheme}://{host}") } + &parts.join("/");
        if let Some(query) = query {
            let pair = |pair: &str| match pair.split_once('=') {
                Some((name, value)) => {
                    let is_key = !value.is_empty() && (is_key_name(name) || is_key_text(value));
                    format!("{name}={}", self.unless_key(value, name, is_key))
                }
                None => self.unless_key(pair, "KEY", is_key_text(pair)),
            };
            made = format!("{made}?{}", query.split('&').map(pair).collect::<Vec<_>>().join("&"));
        }
        *url = made;
    }

    fn unless_key(&mut self, text: &str, field: &str, is_key: bool) -> String {
        if !is_key || text.contains("${") {
            return text.to_owned();
        }
        let variable = self.of_server(field);
        self.replacement(&variable)
    }
}

/// A word of a text that is a key of a well-known service. Random letters alone are not enough: texts contain hashes.
pub fn known_key_in(text: &str) -> Option<&str> {
    let ends = |c: char| c.is_whitespace() || "\"'`=:,;()<>[]{}|".contains(c);
    text.split(ends).find(|word| is_named_key(word))
}

fn is_key_text(word: &str) -> bool {
    is_named_key(word) || is_random(word)
}

fn is_named_key(word: &str) -> bool {
    let rest = BEGINNINGS.iter().find_map(|beginning| word.strip_prefix(beginning));
    rest.is_some_and(|rest| {
        word.len() >= SHORTEST_NAMED && rest.chars().all(is_of_key) && different(rest) >= FEWEST_LETTERS
    })
}

/// Whether a text looks as if nobody had chosen its letters.
fn is_random(word: &str) -> bool {
    let is_hex = word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit());
    let has = |test: fn(&char) -> bool| word.chars().any(|c| test(&c));
    let is_mixed = has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase) && has(char::is_ascii_digit);
    let is_long = word.len() >= SHORTEST_RANDOM && word.chars().all(is_of_key);
    is_long && (is_hex || is_mixed) && different(word) >= FEWEST_LETTERS
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.+=".contains(c)
}

fn different(text: &str) -> usize {
    text.chars().collect::<std::collections::BTreeSet<_>>().len()
}

/// Whether the name of a variable, header, flag or parameter says that its value is a key: `GITHUB_TOKEN`, `apiKey`.
fn is_key_name(name: &str) -> bool {
    let name = as_variable(name);
    let ends = ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|end| name.ends_with(end));
    ends || name.split('_').any(|word| KEY_WORDS.contains(&word))
}

/// Values that hold no key whatever their field is called.
fn is_harmless(value: &str) -> bool {
    let value = value.trim();
    value.is_empty()
        || matches!(value, "true" | "false" | "none" | "null")
        || (value.len() < 6 && value.parse::<f64>().is_ok())
}

fn is_path(value: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|begin| value.starts_with(begin)) && !value.split('/').any(is_key_text)
}

/// Whether it is an address with a password.
fn has_password(value: &str) -> bool {
    let host = value.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    host.and_then(|host| host.rsplit_once('@')).is_some_and(|(login, _)| login.contains(':'))
}

/// A name as that of an environment variable: `api-key` as `API_KEY`.
fn as_variable(name: &str) -> String {
    let name = name.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn hidden(name: &str, entry: Value) -> (Value, Vec<String>) {
        let (server, names) = serde_json::from_value::<WrittenServer>(entry).unwrap().without_keys(name);
        (serde_json::to_value(server).unwrap(), names)
    }

    #[test]
    fn keys_become_variables_and_other_values_stay() {
        let (server, names) = hidden(
            "git-hub",
            json!({"command": "npx", "args": ["-y", "@scope/server-git@2025.12.18", "--api-key", "abc", "--port", "8080",
                    "--token=xyz", "ghp_0a1B2c3D4e5F6g7H8i9J"],
                "env": {"GITHUB_TOKEN": "hunter2", "LOG_LEVEL": "debug", "KEY_FILE": "/etc/keys/one.pem",
                    "DATABASE_URL": "postgres://me:pw@host/db", "KEPT_KEY": "${OTHER_KEY}", "USE_TOKEN": "true"}}),
        );
        let wanted = json!({"command": "npx", "args": ["-y", "@scope/server-git@2025.12.18", "--api-key", "${GIT_HUB_API_KEY}",
                "--port", "8080", "--token=${GIT_HUB_TOKEN}", "${GIT_HUB_KEY}"],
            "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LOG_LEVEL": "debug", "KEY_FILE": "/etc/keys/one.pem",
                "DATABASE_URL": "${DATABASE_URL}", "KEPT_KEY": "${OTHER_KEY}", "USE_TOKEN": "true"}});
        assert_eq!(server, wanted);
        assert_eq!(names, ["DATABASE_URL", "GITHUB_TOKEN", "GIT_HUB_API_KEY", "GIT_HUB_KEY", "GIT_HUB_TOKEN"]);
    }

    #[test]
    fn keys_in_headers_addresses_logins_and_defaults_become_variables() {
        let (server, names) = hidden(
            "docs",
            json!({"url": "https://me:pw@example.com/v1/0a1B2c3D4e5F6g7H8i9J0k1L/mcp?api_key=abc&lang=en",
                "headers": {"Authorization": "Bearer abc", "X-Api-Key": "def", "Accept": "text/plain", "X-Org": "${ORG}"},
                "env": {"A_TOKEN": "${A:-ghp_0a1B2c3D4e5F6g7H8i9J}"}, "oauth": {"clientSecret": "shh"}}),
        );
        let wanted = json!({"url": "https://me:${DOCS_PASSWORD}@example.com/v1/${DOCS_KEY}/mcp?api_key=${DOCS_API_KEY}&lang=en",
            "headers": {"Authorization": "Bearer ${DOCS_TOKEN}", "X-Api-Key": "${DOCS_API_KEY}", "Accept": "text/plain", "X-Org": "${ORG}"},
            "env": {"A_TOKEN": "${A}"}, "oauth": {"clientSecret": "${DOCS_CLIENT_SECRET}"}});
        assert_eq!(server, wanted);
        assert_eq!(names, ["A", "DOCS_API_KEY", "DOCS_CLIENT_SECRET", "DOCS_KEY", "DOCS_PASSWORD", "DOCS_TOKEN"]);
    }

    #[test]
    fn a_key_in_prose_is_found_and_a_placeholder_is_none() {
        assert_eq!(known_key_in("export KEY=\"sk-ant-0a1B2c3D4e5F6g7H\" now"), Some("sk-ant-0a1B2c3D4e5F6g7H"));
        for text in ["sk-xxxxxxxxxxxxxxxxxxxx", "ghp_...", "the commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"] {
            assert_eq!(known_key_in(text), None, "{text}");
        }
    }
}
