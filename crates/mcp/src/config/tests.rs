//! Tests of every dialect, and of the messages about invalid entries.

use super::*;

fn lookup(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "t0p-secret".to_owned())
}

fn json(text: &str) -> (Vec<ServerConfig>, Vec<String>) {
    let (servers, faults) = read(text, ConfigFormat::Json, "mcp.json", &lookup);
    (servers, faults.iter().map(ToString::to_string).collect())
}

fn only(text: &str) -> ServerConfig {
    let (mut servers, faults) = json(text);
    assert_eq!(faults, [""; 0]);
    servers.pop().unwrap()
}

fn command_of(server: &ServerConfig) -> (String, Vec<String>) {
    match &server.link {
        TransportConfig::Stdio { command, args, .. } => {
            (command.clone(), args.iter().map(|arg| arg.reveal().to_owned()).collect())
        }
        TransportConfig::Remote { .. } => panic!("{server:?}"),
    }
}

fn address_of(server: &ServerConfig) -> (String, RemoteTransport) {
    match &server.link {
        TransportConfig::Remote { url, form, .. } => (url.to_string(), *form),
        TransportConfig::Stdio { .. } => panic!("{server:?}"),
    }
}

#[test]
fn the_usual_shape_is_read_with_variables_filled_in_and_never_printed() {
    let server = only(
        r#"{ "mcpServers": { "git": {
            "command": "mcp-server-git", "args": ["--token", "${TOKEN}"],
            "env": { "KEY": "${TOKEN}", "LEVEL": 3, "OTHER": "${NONE:-fallback}" },
            "sandbox": { "network": "allow:example.com", "read": ["/srv/reference"] },
            "callSeconds": 5, // a comment
        } } }"#,
    );
    assert_eq!(command_of(&server).1, ["--token", "t0p-secret"]);
    assert_eq!(server.patience.call, Duration::from_secs(5));
    assert_eq!(server.grants.network.to_string(), "allow:example.com");
    assert!(!format!("{server:?}").contains("t0p-secret"), "{server:?}");
}

#[test]
fn a_list_of_named_servers_is_read() {
    let (servers, faults) = json(
        r#"[{"name": "a", "transport": "stdio", "command": "x", "args": ["1"]},
            {"name": "b", "transport": "http", "url": "http://127.0.0.1:1/mcp"},
            {"transport": "stdio"}]"#,
    );
    assert_eq!(servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(faults, ["`command` of server `number 3` in mcp.json: expected a program to start"]);
}

#[test]
fn what_other_programs_write_is_understood() {
    let vscode = only(
        r#"{"inputs": [{"id": "k"}], "servers": {"s": {"type": "http", "url": "https://x.example/mcp",
            "headers": {"Authorization": "Bearer ${env:TOKEN}"}}}}"#,
    );
    assert_eq!(address_of(&vscode), ("https://x.example/mcp".into(), RemoteTransport::Http));
    let gemini = only(
        r#"{"mcpServers": {"g": {"httpUrl": "http://x.example/", "timeout": 5000, "trust": true,
                         "includeTools": ["a"], "excludeTools": ["b"]}}}"#,
    );
    assert_eq!(address_of(&gemini).1, RemoteTransport::Http);
    assert_eq!((gemini.patience.call, gemini.trusts_hints), (Duration::from_secs(5), false));
    assert_eq!((gemini.tools, gemini.except), (Some(vec!["a".to_owned()]), vec!["b".to_owned()]));
    let opencode = only(r#"{"mcp": {"o": {"type": "local", "command": ["npx", "-y", "thing"], "enabled": false}}}"#);
    assert_eq!(command_of(&opencode), ("npx".into(), vec!["-y".into(), "thing".into()]));
    assert!(!opencode.enabled);
    let cursor = only(r#"{"mcpServers": {"c": {"url": "http://x.example/sse", "type": "sse", "disabled": true}}}"#);
    assert_eq!((address_of(&cursor).1, cursor.enabled), (RemoteTransport::Sse, false));
}

#[test]
fn codex_writes_toml() {
    let text = "model = \"x\"\n[mcp_servers.docs]\ncommand = \"uvx\"\nargs = [\"docs\"]\nstartup_timeout_sec = 7\n\
                [mcp_servers.web]\nurl = \"https://x.example/mcp\"\nbearer_token_env_var = \"TOKEN\"\n";
    let (servers, faults) = read(text, ConfigFormat::Toml, "config.toml", &lookup);
    assert_eq!(faults, []);
    assert_eq!(servers[0].patience.start, Duration::from_secs(7));
    let TransportConfig::Remote { headers, .. } = &servers[1].link else { panic!("{servers:?}") };
    assert_eq!(headers["Authorization"].reveal(), "Bearer t0p-secret");
}

#[test]
fn one_faulty_server_does_not_hide_the_others_and_is_named() {
    let (servers, faults) = json(
        r#"{"mcpServers": {
            "good": {"command": "x"},
            "both": {"command": "x", "url": "http://y"},
            "typed": {"command": "x", "args": "not a list"},
            "far": {"url": "ftp://y"},
            "unset": {"command": "x", "env": {"K": "${NONE}"}},
            "off": {"command": "x", "env": {"K": "${NONE}"}, "enabled": false},
            "odd": {"type": "pigeon", "command": "x"},
            "wide": {"command": "x", "sandbox": {"network": "all"}}
        }}"#,
    );
    assert_eq!(servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(
        faults,
        [
            "`args` of server `typed` in mcp.json: expected a sequence",
            "`type` of server `both` in mcp.json: both `command` and `url` are given; keep one of them",
            "`url` of server `far` in mcp.json: it cannot be reached; expected http:// or https://",
            "`type` of server `odd` in mcp.json: `pigeon` is not a transport; expected `stdio`, `http` or `sse`",
            "`env.K` of server `unset` in mcp.json: the variable `NONE` is not set; set it, or write `${NONE:-default}`",
            "`sandbox.network` of server `wide` in mcp.json: `all` is not a network; expected `none`, `allow:HOST,…` or `host`",
        ]
    );
}

#[test]
fn a_fault_shows_no_key() {
    let text = r#"{"mcpServers": {
        "a": {"url": "https://x.example", "headers": "Authorization: Bearer hunter2, expected hunter2"},
        "b": {"url": "htp://me:hunter2@x.example"},
        "c": {"url": "https://x.example", "headers": {"Authorization: Bearer hunter2": "x"}},
        "d": {"command": "x", "env": {"KEY": ["hunter2"]}},
        "e": {"command": "x", "sampling": ["hunter2"]}
    }}"#;
    let faults = json(text).1;
    assert_eq!(faults.len(), 5, "{faults:?}");
    assert!(!faults.concat().contains("hunter2"), "{faults:?}");
    assert_eq!(faults[0], "`headers` of server `a` in mcp.json: expected a map");
    let toml = "[mcp_servers.a]\ncommand = \"x\"\nenv = { KEY = \"hunter2 }\n";
    let (_, faults) = read(toml, ConfigFormat::Toml, "config.toml", &lookup);
    let told = faults[0].to_string();
    assert!(told.contains("at line 3") && !told.contains("hunter2") && !told.contains('\n'), "{told}");
}

#[test]
fn what_is_no_configuration_is_told() {
    assert_eq!(json("{").1, ["mcp.json: EOF while parsing an object at line 1 column 1"]);
    assert_eq!(json("{}").1, ["mcp.json: expected `mcpServers`, `servers` or a list of servers"]);
}

#[test]
fn what_was_written_is_written_back_without_values_of_variables() {
    let (written, _) = read_written(
        r#"{"servers": {"s": {"command": "x", "env": {"K": "${TOKEN}"}, "disabled": true}}}"#,
        ConfigFormat::Json,
        "mcp.json",
    );
    assert_eq!(
        serde_json::to_string(&written[0].1).unwrap(),
        r#"{"command":"x","env":{"K":"${TOKEN}"},"enabled":false}"#
    );
}

#[test]
fn variables_of_other_programs_are_ours() {
    let texts = |server: &ServerConfig| -> Vec<String> {
        let (TransportConfig::Stdio { env: table, .. } | TransportConfig::Remote { headers: table, .. }) = &server.link;
        table.values().map(|value| value.reveal().to_owned()).collect()
    };
    let gemini = only(r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "$TOKEN", "B": "pa$TOKEN", "C": "$5"}}}}"#);
    assert_eq!(texts(&gemini), ["t0p-secret", "pa$TOKEN", "$5"]);
    let opencode = only(
        r#"{"mcp": {"a": {"type": "remote", "url": "https://x.example", "headers": {"A": "Bearer {env:TOKEN}"}}}}"#,
    );
    assert_eq!(texts(&opencode), ["Bearer t0p-secret"]);
    let codex = "[mcp_servers.a]\nurl = 'https://x.example'\n[mcp_servers.a.env_http_headers]\nX-Key = 'TOKEN'\n\
                 [mcp_servers.b]\ncommand = 'x'\nenv_vars = ['TOKEN', 'UNSET']\n";
    let (codex, faults) = read(codex, ConfigFormat::Toml, "config.toml", &lookup);
    assert_eq!(faults, []);
    assert_eq!(
        (texts(&codex[0]), texts(&codex[1])),
        (vec!["t0p-secret".into()], vec!["t0p-secret".into(), String::new()])
    );
    let (none, faults) = json(r#"{"servers": {"a": {"command": "x", "envFile": ".env"}}}"#);
    assert!(
        none.is_empty() && faults[0].starts_with("`envFile` of server `a` in mcp.json: `.env` is not read"),
        "{faults:?}"
    );
}

#[test]
fn servers_of_claudes_projects_are_found() {
    let (servers, faults) =
        json(r#"{"mcpServers": {}, "projects": {"/a": {"mcpServers": {"x": {"command": "x"}}}, "/b": {}}}"#);
    assert_eq!((servers.len(), servers[0].name.as_str(), faults.len()), (1, "x", 0));
}

/// Another program's file, and the fields of it that are not imported.
fn theirs(text: &str, format: ConfigFormat) -> (BTreeMap<String, WrittenServer>, BTreeMap<String, String>) {
    let read = read_theirs(text, format, "theirs");
    assert_eq!(read.faults, []);
    let left = read.left.into_iter().map(|(name, fields)| (name, fields.join(", ")));
    (read.servers.into_iter().collect(), left.collect())
}

#[test]
fn what_is_not_taken_over_from_another_program_is_named_and_hides_no_server() {
    let codex = "[mcp_servers.c]\ncommand = 'x'\nstartup_timeout_ms = 20500\n\
                 [mcp_servers.f]\nurl = 'https://x.example'\nscopes = ['a']\noauth_resource = 'r'\n\
                 [mcp_servers.f.tools.foo]\napproval_mode = 'approve'\n";
    let (servers, left) = theirs(codex, ConfigFormat::Toml);
    assert_eq!(servers["c"].start, Some(20.5));
    assert_eq!(servers["f"].oauth.as_ref().unwrap().scopes, ["a"]);
    assert!(servers["f"].tools.is_none() && !left.contains_key("c"), "{left:?}");
    assert!(left["f"].contains("`oauth_resource`") && left["f"].contains("`tools`"), "{left:?}");

    let cursor = r#"{"mcpServers": {"r": {"url": "https://x.example", "auth":
        {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:S}", "scopes": "a b", "redirect": "x"}}}}"#;
    let (servers, left) = theirs(cursor, ConfigFormat::Json);
    let login = servers["r"].oauth.clone().unwrap();
    assert_eq!((login.client_id.as_deref(), login.client_secret.as_deref()), (Some("c"), Some("${env:S}")));
    assert_eq!((login.scopes, left["r"].as_str()), (vec!["a".to_owned(), "b".to_owned()], "`oauth.redirect`"));

    let vscode = r#"{"servers": {"s": {"command": "x", "dev": {"watch": "*"}, "sandboxEnabled": true,
        "sandbox": {"filesystem": {"allowWrite": ["/"]}, "network": {"allowedDomains": ["x"]}}}}}"#;
    let (servers, left) = theirs(vscode, ConfigFormat::Json);
    assert_eq!(servers["s"].sandbox, None);
    assert!(["`dev`", "`sandboxEnabled`", "`sandbox`"].iter().all(|field| left["s"].contains(field)), "{left:?}");
}

#[test]
fn what_is_switched_off_elsewhere_in_a_file_is_off_and_trust_is_not_taken_over() {
    let gemini = r#"{"mcp": {"allowed": ["a", "b"], "excluded": ["b"]}, "mcpServers":
        {"a": {"command": "x", "trust": true}, "b": {"command": "x"}, "c": {"command": "x"}}}"#;
    let (servers, left) = theirs(gemini, ConfigFormat::Json);
    assert_eq!(servers.values().map(|server| server.enabled).collect::<Vec<_>>(), [true, false, false]);
    assert!(!servers["a"].trust && left["a"].starts_with("`trust`"), "{left:?}");
    let claude = r#"{"mcpServers": {"x": {"command": "x"}}, "projects": {
        "/a": {"disabledMcpServers": ["x"], "mcpServers": {"y": {"command": "y"}}},
        "/b": {"mcpServers": {"y": {"command": "z"}}}}}"#;
    let (servers, left) = theirs(claude, ConfigFormat::Json);
    assert_eq!((servers["x"].enabled, servers["y"].command.as_deref()), (false, Some("y")));
    assert!(left["y"].contains("another project"), "{left:?}");
}

#[test]
fn what_cannot_be_reached_whatever_its_variables_are_is_told_beforehand() {
    let fault = |entry: &str| {
        let (servers, _) = theirs(&format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#), ConfigFormat::Json);
        servers["s"].fault("s").map(|(field, _)| field)
    };
    for entry in [
        r#"{"command": "${A}"}"#,
        r#"{"url": "${URL}"}"#,
        r#"{"url": "http://localhost:${PORT}/mcp"}"#,
        r#"{"url": "${SCHEME}://x.example"}"#,
        r#"{"command": "x", "envFile": ".env"}"#,
    ] {
        assert_eq!(fault(entry), None, "{entry}");
    }
    assert_eq!(fault(r#"{"tcp": "127.0.0.1:99"}"#).as_deref(), Some("command"));
    assert_eq!(fault(r#"{"type": "http", "url": "unix:///tmp/x.sock"}"#).as_deref(), Some("url"));
}

#[test]
fn what_is_not_used_is_said_of_the_server_that_counts() {
    let list = r#"[{"name": "a", "command": "one", "mine": 1}, {"name": "a", "command": "two", "yours": 2},
        {"name": "b", "command": "three"}, {"name": "b", "command": "four", "theirs": 3}]"#;
    let (servers, faults) = json(list);
    assert_eq!((servers[0].unused.clone(), servers[1].unused.clone()), (vec!["`mine`".to_owned()], Vec::new()));
    assert_eq!((servers.len(), faults.len()), (2, 2));
}

#[test]
fn a_revision_is_one_that_is_known() {
    let entry = |revision: &str| format!(r#"{{"mcpServers": {{"s": {{"command": "x", "revision": "{revision}"}}}}}}"#);
    let (servers, faults) = json(&entry("2025-06-18"));
    assert_eq!(servers[0].revision.as_ref().map(ToString::to_string).as_deref(), Some("2025-06-18"), "{faults:?}");
    let (servers, faults) = json(&entry("2025-06"));
    assert!(servers.is_empty() && faults[0].contains("expected one of 2024-11-05, "), "{faults:?}");
}

#[test]
fn of_a_thousand_servers_and_more_the_first_thousand_count() {
    let entries = |number: usize| {
        let entry = |n: usize| format!(r#"{{"name": "s{n}", "command": "x"}}"#);
        format!("[{}]", (0..number).map(entry).collect::<Vec<_>>().join(","))
    };
    assert_eq!(json(&entries(1_000)).1, Vec::<String>::new());
    let (servers, faults) = json(&entries(1_001));
    assert_eq!((servers.len(), servers[999].name.as_str()), (1_000, "s999"));
    assert!(faults.len() == 1 && faults[0].contains("names 1001 servers"), "{faults:?}");
}

#[test]
fn values_that_are_filled_in_again_and_again_do_not_grow_without_end() {
    let long = |_: &str| Some("x".repeat(100 << 10));
    let text = |argument: &str| format!(r#"{{"mcpServers": {{"s": {{"command": "x", "args": ["{argument}"]}}}}}}"#);
    let ran = |argument: &str| read(&text(argument), ConfigFormat::Json, "file", &long);
    assert_eq!(ran(&"${A}".repeat(5)).0.len(), 1);
    for argument in ["${A}".repeat(100_000), "${A:-y}".repeat(6)] {
        let (servers, faults) = ran(&argument);
        assert!(servers.is_empty() && faults[0].what.contains("too long"), "{faults:?}");
    }
}
