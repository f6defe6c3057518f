//! Keys in server entries of other programs: each is replaced by the name of a variable, so that no file of ours holds one.

use super::WrittenServer;
use super::key_text::{
    as_variable, has_named_key, has_password, is_harmless, is_key_name, is_key_text, is_path, known_key_in,
    without_variables,
};

/// Schemes before a key in a header.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "ApiKey "];
/// Headers that hold no keys.
const PLAIN_HEADERS: [&str; 6] =
    ["accept", "accept-language", "content-type", "user-agent", "mcp-protocol-version", "x-mcp-toolsets"];
/// Flags before a header, without their dashes.
const HEADER_FLAGS: [&str; 3] = ["header", "headers", "H"];

impl WrittenServer {
    /// The entry with variables in place of keys, and the names of these variables. What may be a key is taken for one.
    #[must_use]
    pub fn without_keys(mut self, name: &str) -> (Self, Vec<String>) {
        let mut hidden = HiddenKeys { server: as_variable(name), names: Vec::new() };
        for (field, value) in &mut self.env {
            hidden.in_field(value, &as_variable(field), is_key_name(field));
        }
        for (field, value) in &mut self.headers {
            hidden.in_header(field, value);
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
        let bare = without_variables(value);
        if is_harmless(&bare) {
            return;
        }
        let scheme = SCHEMES.into_iter().find(|scheme| starts_with(value, scheme)).unwrap_or_default();
        let (scheme, rest) = bare.split_at(scheme.len());
        let is_key = is_key || starts_with(scheme, SCHEMES[0]);
        let is_around = bare.len() < value.len() && is_frame(rest);
        if has_password(&bare) || has_named_key(&bare) {
            *value = self.replacement(variable);
        } else if is_key && !is_path(value) && !is_around {
            *value = format!("{scheme}{}", self.replacement(variable));
        } else {
            let words = bare.split_whitespace().filter(|word| is_key_text(word));
            for word in words.chain(known_key_in(&bare)) {
                *value = value.replace(word, &self.replacement(variable));
            }
        }
    }

    /// Hides keys that stand in for variables that are not set: `${TOKEN:-ghp_…}`.
    fn in_defaults(&mut self, value: &mut String, is_key: bool) {
        let has_key = |text: &str| is_key_text(text) || has_password(text) || has_named_key(text);
        let mut from = 0;
        while let Some(at) = value[from..].find("${").map(|at| from + at) {
            let Some(end) = value[at..].find('}').map(|length| at + length) else { return };
            if let Some((name, default)) = value[at + 2..end].split_once(":-")
                && !default.is_empty()
                && (is_key || has_key(default) || known_key_in(default).is_some())
            {
                let hidden = self.replacement(name);
                value.replace_range(at..=end, &hidden);
            }
            from = at + 2;
        }
    }

    /// Hides the value of a header, unless it is one that holds no keys.
    fn in_header(&mut self, name: &str, value: &mut String) {
        let is_plain = PLAIN_HEADERS.contains(&name.to_lowercase().as_str());
        let variable = if name.eq_ignore_ascii_case("authorization") { "TOKEN" } else { name.trim_start_matches("X-") };
        let variable = self.of_server(variable);
        self.in_field(value, &variable, !is_plain);
    }

    /// Hides keys among arguments: `--api-key KEY`, `--token=KEY`, `--header "Authorization: KEY"`, and what looks like one.
    fn in_arguments(&mut self, arguments: &mut [String]) {
        let mut follows: Option<String> = None;
        for argument in arguments {
            let flag = follows.take();
            let is_flag = argument.starts_with('-');
            if let Some((before, name, value)) = header_in(argument, flag.as_deref()) {
                let (before, name, mut value) = (before.to_owned(), name.to_owned(), value.to_owned());
                self.in_header(&name, &mut value);
                *argument = format!("{before}{value}");
            } else if let Some((name, value)) = argument.split_once('=').filter(|pair| is_flag || is_setting(pair)) {
                let (name, mut value) = (name.to_owned(), value.to_owned());
                let variable = self.of_server(name.trim_start_matches('-'));
                self.in_field(&mut value, &variable, is_key_name(&name));
                *argument = format!("{name}={value}");
            } else if is_flag {
                let name = argument.trim_start_matches('-');
                follows = (is_key_name(name) || HEADER_FLAGS.contains(&name)).then(|| name.to_owned());
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
        if has_named_key(&without_variables(plain)) {
            let variable = self.of_server("URL");
            *url = self.replacement(&variable);
            return;
        }
        let (scheme, rest) = plain.split_once("://").unwrap_or(("", plain));
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = match host.rsplit_once('@') {
            Some((login, host)) if login.contains("${") => {
                let bare = without_variables(login);
                let is_key = bare.split_once(':').is_some_and(|(_, password)| !password.is_empty());
                format!("{}@{host}", self.unless_key(login, "LOGIN", is_key))
            }
            Some((login, host)) => {
                let (user, password) = login.split_once(':').unwrap_or(("", login));
                let before = if password == login { String::new() } else { format!("{user}:") };
                let variable = self.of_server("PASSWORD");
                format!("{before}{}@{host}", self.replacement(&variable))
            }
            None => host.to_owned(),
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
        if !is_key || without_variables(text).is_empty() {
            return text.to_owned();
        }
        let variable = self.of_server(field);
        self.replacement(&variable)
    }
}

/// A header among the arguments: what stands before its value, its name, and its value. It follows a flag for headers, has the flag
/// before it, or is recognised by its form.
fn header_in<'a>(argument: &'a str, flag: Option<&str>) -> Option<(&'a str, &'a str, &'a str)> {
    let text = ["--header=", "-H"].iter().find_map(|flag| argument.strip_prefix(flag)).unwrap_or(argument);
    let is_named = text.len() < argument.len() || flag.is_some_and(|flag| HEADER_FLAGS.contains(&flag));
    let (name, rest) = text.split_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let is_header = is_named || rest.starts_with(' ') || is_key_name(name) && !rest.starts_with("//");
    let value = rest.trim_start();
    (is_name && is_header && !name.starts_with('-')).then(|| (&argument[..argument.len() - value.len()], name, value))
}

/// Whether an argument sets a variable: `GITHUB_TOKEN=…`, `CONNECTION=…`.
fn is_setting((name, value): &(&str, &str)) -> bool {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    is_name && (is_key_name(name) || !value.contains("://"))
}

/// Whether a text around variables is no key itself: `token=`.
fn is_frame(text: &str) -> bool {
    text.split_whitespace().all(|word| word.ends_with(['=', ':']) || !word.contains(char::is_alphanumeric))
}

fn starts_with(value: &str, scheme: &str) -> bool {
    value.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
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
    fn keys_beside_variables_in_defaults_and_in_connection_strings_become_variables() {
        let (server, _) = hidden(
            "db",
            json!({"command": "db", "args": ["jdbc:sqlserver://h;user=u;password=hunter2", "CONN=Server=x;Pwd=hunter2",
                    "postgres://app:hunter2@${DB_HOST}/x", "postgres://${DB_USER}:hunter2@h/x", "postgres://${U}:${P}@h/x"],
                "env": {"A": "postgres://app:hunter2@${DB_HOST}/x", "B": "${DB:-postgres://u:hunter2@h/d}",
                    "C": "Server=x;User Id=u;Password=hunter2", "D": "Server=x;Password=${PW};", "E": "postgres://u:${PW}@h/d",
                    "F": "https://ghp_0a1B2c3D4e5F6g7H8i9J@example.com/x", "G": "Bearer 123e4567-e89b-12d3-a456-426614174000",
                    "API_KEY": "hunter2-${STAGE}", "USER_ID": "123e4567-e89b-12d3-a456-426614174000"},
                "headers": {"Authorization": "Token token=${TOKEN}", "X-Key": "bearer ${TOKEN}"}}),
        );
        let wanted = json!({"command": "db", "args": ["${DB_URL}", "CONN=${DB_CONN}", "postgres://app:${DB_PASSWORD}@${DB_HOST}/x",
                "postgres://${DB_LOGIN}@h/x", "postgres://${U}:${P}@h/x"],
            "env": {"A": "${A}", "B": "${DB}", "C": "${C}", "D": "Server=x;Password=${PW};", "E": "postgres://u:${PW}@h/d",
                "F": "https://${F}@example.com/x", "G": "Bearer ${G}", "API_KEY": "${API_KEY}",
                "USER_ID": "123e4567-e89b-12d3-a456-426614174000"},
            "headers": {"Authorization": "Token token=${TOKEN}", "X-Key": "bearer ${TOKEN}"}});
        assert_eq!(server, wanted);
    }

    #[test]
    fn keys_in_headers_among_arguments_become_variables() {
        let (server, names) = hidden(
            "far",
            json!({"command": "mcp-remote", "args": ["https://x.example/mcp", "--header",
                "Authorization: Bearer 123e4567-e89b-12d3-a456-426614174000", "-H", "X-Api-Key:abc", "-H", "Accept: text/plain",
                "Authorization: Bearer abc==", "--header=Cookie: a=b", "-HX-Org: mine", "--header", "Authorization:${AUTH}",
                "--name", "a:b", "localhost:80"]}),
        );
        let wanted = json!({"command": "mcp-remote", "args": ["https://x.example/mcp", "--header",
            "Authorization: Bearer ${FAR_TOKEN}", "-H", "X-Api-Key:${FAR_API_KEY}", "-H", "Accept: text/plain",
            "Authorization: Bearer ${FAR_TOKEN}", "--header=Cookie: ${FAR_COOKIE}", "-HX-Org: ${FAR_ORG}", "--header",
            "Authorization:${AUTH}", "--name", "a:b", "localhost:80"]});
        assert_eq!(server, wanted);
        assert_eq!(names, ["FAR_API_KEY", "FAR_COOKIE", "FAR_ORG", "FAR_TOKEN"]);
    }
}
