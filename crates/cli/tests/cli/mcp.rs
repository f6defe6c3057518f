//! MCP servers from the command line: configured, checked, trusted, and used by a run.

use serde_json::json;

use crate::world::World;

/// A server in a few lines of shell: it knows one tool, which says what it was told in capitals.
pub(crate) const SERVER: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
    case "$line" in
    *'"method":"initialize"'*) answer '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer '"result":{"tools":[{"name":"shout","description":"Says it loudly.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true}}]}' ;;
    *'"method":"tools/call"'*)
        loud=$(printf '%s' "$line" | sed -n 's/.*"text":"\([a-z ]*\)".*/\1/p' | tr a-z A-Z)
        answer "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$loud\"}]}" ;;
    *'"id":'*) answer '"error":{"code":-32601,"message":"Method not found"}' ;;
    esac
done
"#;

fn world() -> World {
    let world = World::new();
    world.file("server.sh", SERVER);
    world
}

#[test]
fn a_server_is_added_checked_called_and_removed() {
    let world = world();
    world
        .updraft(&["mcp", "add", "shell", "--env", "KEY=${SECRET}", "--cwd", ".", "--", "sh", "server.sh"])
        .code(0)
        .says("added");
    world.updraft(&["mcp", "add", "shell", "--", "sh"]).code(2).says("already a server named `shell`");
    world.updraft(&["mcp", "add", "bad", "--url", "ftp://x"]).code(2).says("expected http:// or https://");
    // Its key is not set: that is said, and nothing is started.
    world.updraft(&["mcp", "check"]).code(5).says("the variable `SECRET` is not set");
    world.updraft(&["mcp", "remove", "shell"]).code(0);
    world.updraft(&["mcp", "add", "shell", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    assert!(world.updraft(&["mcp", "list"]).code(0).out.contains("not started yet"));
    let checked = world.updraft(&["mcp", "check"]).code(0);
    assert_eq!(checked.out, "shell: well; shell 1, 1 tools, MCP 2025-06-18\n");
    checked.says("`updraft mcp trust shell` shows its tool descriptions");
    world.updraft(&["mcp", "trust", "shell", "--yes"]).code(0);
    assert_eq!(world.updraft(&["mcp", "check"]).code(0).err, "");
    assert!(world.updraft(&["mcp", "list"]).code(0).out.contains("1 tools, MCP 2025-06-18"));
    let called = world.updraft(&["tools", "call", "shout", r#"{"text": "hello"}"#]).code(0);
    assert_eq!(called.out, "HELLO\n");
    world.updraft(&["tools", "call", "mcp_shell_shout", "{}"]).code(1).says("do not fit its schema");
    assert!(world.updraft(&["tools"]).code(0).out.contains("mcp_shell_shout"));
    world.updraft(&["mcp", "remove", "shell"]).code(0);
    world.updraft(&["mcp", "remove", "shell"]).code(2).says("there is no server named `shell`");
}

#[test]
fn a_call_of_one_tool_speaks_of_that_tool_only() {
    let world = world();
    world.file("tools/broken.py", "def broken(:\n");
    let servers = json!({"mcpServers": {
        "shell": {"command": "sh", "args": ["server.sh"], "cwd": "."},
        "falls": {"command": "sh", "args": ["-c", "exit 3"]},
        "keyless": {"command": "sh", "env": {"KEY": "${NO_SUCH_KEY}"}}}});
    world.config("mcp.json", &servers.to_string());
    for (name, args) in [("mcp_shell_shout", r#"{"text": "hello"}"#), ("shout", r#"{"text": "hello"}"#)] {
        let ran = world.updraft(&["tools", "call", name, args]).code(0);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("HELLO\n", ""), "{name}");
    }
    let ran = world.updraft(&["tools", "call", "read_file", r#"{"path": "a.txt"}"#]).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("hello\n", ""));
    // Where there is no such tool, it is said what may be the reason.
    let ran = world.updraft(&["tools", "call", "mcp_falls_x", "{}"]).code(2);
    let ran = ran.says("there is no tool named `mcp_falls_x`").says("MCP server `falls` has no tools for this run");
    assert!(!ran.err.contains("MCP server `shell`"), "{}", ran.err);
    // What is listed is all of them, with what is wrong.
    world.updraft(&["tools"]).code(0).says("MCP server `falls`").says("NO_SUCH_KEY").says("tools/broken.py:1");
}

#[test]
fn servers_are_taken_over_from_an_editor_and_their_questions_become_variables() {
    let world = world();
    let theirs = json!({"inputs": [{"id": "api-key"}], "servers": {
        "one": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${input:api-key}"}},
        "two": {"command": "sh", "args": ["server.sh"]}}});
    let file = world.file("vscode.json", &theirs.to_string());
    world.updraft(&["mcp", "import", file.to_str().unwrap()]).code(0).says("these variables must be set: API_KEY");
    let again = world.updraft(&["mcp", "import", file.to_str().unwrap()]).code(0);
    again.says("not imported, because you have servers of the same name: one, two");
    let written = std::fs::read_to_string(world.home().join("mcp.json")).unwrap();
    assert!(written.contains("Bearer ${API_KEY}"), "{written}");
}

#[test]
fn what_is_not_taken_over_is_said_and_what_was_off_stays_off() {
    let world = world();
    let theirs = json!({"mcp": {"excluded": ["b"]}, "mcpServers": {
        "a": {"command": "sh", "trust": true, "colour": "red"}, "b": {"command": "sh"},
        "t": {"tcp": "127.0.0.1:99"}, "u": {"type": "http", "url": "unix:///tmp/x.sock"}}});
    let file = world.file("settings.json", &theirs.to_string());
    let ran = world.updraft(&["mcp", "import", file.to_str().unwrap()]).code(0);
    let ran = ran.says("left out: `command` of server `t`").says("left out: `url` of server `u`");
    ran.says("`a`: not imported: `trust`").says("`colour`").says("disabled, as in that file: b");
    let written = std::fs::read_to_string(world.home().join("mcp.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    let wanted = json!({"a": {"command": "sh"}, "b": {"command": "sh", "enabled": false}});
    assert_eq!(written["mcpServers"], wanted);
}

#[test]
fn a_faulty_entry_stops_nobody_and_what_is_not_known_stays() {
    let world = world();
    world.config(
        "mcp.json",
        r#"{"theirs": 1, "mcpServers": {"bad": {"command": 5}, "old": {"command": "sh", "note": "x"}}}"#,
    );
    world.updraft(&["mcp", "add", "new", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    world.updraft(&["mcp", "remove", "bad"]).code(0);
    let theirs = world.file(
        "theirs.json",
        r#"{"mcpServers": {"worse": {"args": 1}, "fine": {"command": "sh", "env": {"A": "$A_KEY"}}}}"#,
    );
    let ran =
        world.updraft(&["mcp", "import", theirs.to_str().unwrap()]).code(0).says("left out: `args` of server `worse`");
    ran.says("these variables must be set: A_KEY");
    let written: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(world.home().join("mcp.json")).unwrap()).unwrap();
    let mut names: Vec<&String> = written["mcpServers"].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["fine", "new", "old"]);
    assert_eq!((&written["theirs"], &written["mcpServers"]["old"]["note"]), (&json!(1), &json!("x")));
}

#[test]
fn a_workspaces_servers_count_only_once_it_is_trusted() {
    let world = world();
    let servers = json!({"mcpServers": {"planted": {"command": "sh", "args": ["server.sh"], "trust": true}}});
    world.file(".mcp.json", &servers.to_string());
    let ran = world.updraft(&["mcp", "check"]).code(0);
    assert_eq!(ran.out, "");
    ran.says("its MCP servers");
    assert!(world.updraft(&["trust", "--yes"]).code(0).out.contains(".mcp.json"));
    let checked = world.updraft(&["mcp", "check"]).code(0).out;
    assert!(
        checked.starts_with("planted: well") && checked.contains("\n  ignored in its entry: `trust` ("),
        "{checked}"
    );
    world.file(".mcp.json", &json!({"mcpServers": {"other": {"command": "sh", "args": ["server.sh"]}}}).to_string());
    assert_eq!(world.updraft(&["mcp", "check"]).code(0).out, "");
}

#[test]
fn a_run_starts_no_server_whose_tools_its_agent_may_not_use() {
    let world = world();
    world
        .updraft(&["mcp", "add", "marks", "--cwd", ".", "--", "sh", "-c", "echo started >> marks.txt; exit 3"])
        .code(0);
    let model = world.script("s.json", &json!([{"text": "Done."}]));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "thinker", "think"]).code(0);
    assert!(!world.ws().join("marks.txt").exists(), "{}", ran.err);
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "work"]).code(0);
    assert!(world.ws().join("marks.txt").exists(), "{}", ran.err);
    ran.says("MCP server `marks` has no tools for this run: ").says("`updraft mcp check marks` waits for it");
}

#[test]
fn a_run_uses_a_servers_tool() {
    let world = world();
    world.updraft(&["mcp", "add", "shell", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    let script = json!([{"calls": [{"name": "mcp_shell_shout", "args": {"text": "hello"}}]}, {"text": "It is loud."}]);
    let model = world.script("s.json", &script);
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "coder", "shout hello"]).code(0);
    let done = ran.json().into_iter().filter(|line| line["type"] == "item.completed").map(|line| line.to_string());
    let done: Vec<String> = done.collect();
    assert!(done.iter().any(|line| line.contains("HELLO")), "{done:#?}");
}

#[test]
fn a_run_knows_a_servers_tool_by_its_bare_name_in_calls_rules_and_agents() {
    let world = world();
    world.updraft(&["mcp", "add", "shell", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    world.config("agents/crier.md", "---\nname: crier\npurpose: Cries.\ntools: [shout]\n---\nCry.\n");
    let script = json!([{"calls": [{"name": "shout", "args": {"text": "hello"}}]}, {"text": "It is loud."}]);
    let model = world.script("s.json", &script);
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "crier", "shout hello"]).code(0);
    assert!(ran.out.contains("HELLO") && ran.out.contains("mcp_shell_shout"), "{}", ran.out);
    world.updraft(&["replay", &world.last()]).code(0);
    world.config("config.toml", "[rules]\ndeny = [\"shout\"]\n");
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "crier", "shout hello"]);
    assert!(!ran.out.contains("HELLO"), "{}", ran.out);
    world.config("config.toml", "");
    world.config("agents/crier.md", "---\nname: crier\npurpose: Cries.\ntools: [shout]\ndeny: [shout]\n---\nCry.\n");
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "crier", "shout hello"]);
    assert!(!ran.out.contains("HELLO"), "{}", ran.out);
    // With a second server that has it, nobody can tell which is meant.
    world.updraft(&["mcp", "add", "other", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "coder", "shout hello"]);
    assert!(!ran.out.contains("HELLO"), "{}", ran.out);
}

/// What the test command prepares. Without it, says so past the test runner's capture.
fn prepared(variable: &str) -> Option<String> {
    use std::io::Write as _;
    let found = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if found.is_none() {
        let text = format!("!! SKIP: {variable} is not set; runs do not use real MCP servers\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    found
}

/// Runs a goal whose model makes these calls, one after the other, and gives what each gave.
fn calls_in_a_run(world: &World, calls: &[(&str, &serde_json::Value)]) -> Vec<String> {
    let mut turns: Vec<_> = calls.iter().map(|(tool, args)| json!({"calls": [{"name": tool, "args": args}]})).collect();
    turns.push(json!({"text": "Done."}));
    let model = world.script("s.json", &json!(turns));
    // In a workspace that nobody trusts, a server that reaches the network would need a person's word.
    world.updraft(&["trust", "--yes"]).code(0);
    let ran = world.updraft(&["run", "--json", "--yes", "--model", &model, "--agent", "coder", "use it"]).code(0);
    let is_result = |line: &serde_json::Value| line["type"] == "item.completed" && line["item"]["kind"] == "tool_call";
    let done: Vec<_> = ran.json().into_iter().filter(is_result).collect();
    assert_eq!(done.len(), calls.len(), "{}\n{}", ran.out, ran.err);
    for call in &done {
        assert_eq!(call["item"]["ok"], true, "{call}");
    }
    done.iter().map(|call| call["item"]["output"].to_string()).collect()
}

/// A process that ends with the test, however that ends.
struct Beside(std::process::Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn runs_use_the_reference_servers_of_npm() {
    let Some(packages) = prepared("UPDRAFT_TEST_NPM") else { return };
    let world = World::new();
    let ws = world.ws().canonicalize().unwrap();
    let server = |package: &str, args: &[&str]| {
        let mut all = vec![format!("{packages}/node_modules/@modelcontextprotocol/{package}/dist/index.js")];
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        json!({"command": format!("{packages}/node_modules/node/bin/node"), "args": all, "startSeconds": 120,
               "sandbox": {"read": [packages]}, "env": {"MEMORY_FILE_PATH": ws.join("memory.json")}})
    };
    let servers = json!({"mcpServers": {
        "everything": server("server-everything", &["stdio"]),
        "files": server("server-filesystem", &[ws.to_str().unwrap()]),
        "memory": server("server-memory", &[])}});
    world.config("mcp.json", &servers.to_string());
    world.updraft(&["mcp", "check"]).code(0);
    for name in ["everything", "files", "memory"] {
        world.updraft(&["mcp", "trust", name, "--yes"]).code(0);
    }
    // One run for all calls: every run starts all three servers.
    let echo = json!({"message": "hello"});
    let read = json!({"path": ws.join("a.txt")});
    let entity = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["programs"]}]});
    let calls =
        [("mcp_everything_echo", &echo), ("mcp_files_read_text_file", &read), ("mcp_memory_create_entities", &entity)];
    let answers = calls_in_a_run(&world, &calls);
    for (answer, expected) in answers.iter().zip(["Echo: hello", "hello", "Ada"]) {
        assert!(answer.contains(expected), "{answer}");
    }
}

#[test]
fn runs_use_the_reference_servers_of_pypi() {
    let Some(python) = prepared("UPDRAFT_TEST_MCP_PYTHON") else { return };
    let world = World::new();
    let ws = world.ws().canonicalize().unwrap();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        let done = std::process::Command::new("git").args(who).args(args).current_dir(&ws).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "Begin"]);
    let page = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = page.local_addr().unwrap().port();
    drop(page);
    let web = std::process::Command::new(&python)
        .args(["-m", "http.server", &port.to_string(), "--bind", "127.0.0.1"])
        .current_dir(&ws)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let _web = Beside(web);
    World::until("the page is served", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let folders: Vec<std::path::PathBuf> = [std::path::PathBuf::from(&python), std::fs::canonicalize(&python).unwrap()]
        .iter()
        .map(|program| program.parent().unwrap().parent().unwrap().to_owned())
        .collect();
    let server = |module: &str, args: &[&str], network: &str| {
        let mut all = vec!["-m".to_owned(), module.to_owned()];
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        json!({"command": python, "args": all, "startSeconds": 120, "sandbox": {"read": folders, "network": network}})
    };
    let servers = json!({"mcpServers": {
        "git": server("mcp_server_git", &["--repository", ws.to_str().unwrap()], "none"),
        "time": server("mcp_server_time", &["--local-timezone", "UTC"], "none"),
        "fetch": server("mcp_server_fetch", &["--ignore-robots-txt", "--allow-private-ips"], "host")}});
    world.config("mcp.json", &servers.to_string());
    world.updraft(&["mcp", "check"]).code(0);
    // What reaches the network is asked about as long as nobody has read what they say about their tools.
    for name in ["git", "time", "fetch"] {
        world.updraft(&["mcp", "trust", name, "--yes"]).code(0);
    }
    // One run for all calls: every run starts all three servers.
    let log = json!({"repo_path": ws, "max_count": 1});
    let time = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let page = json!({"url": format!("http://127.0.0.1:{port}/a.txt"), "raw": true});
    // The call that reaches the network comes first: after text from outside it would need an approval.
    let calls = [("mcp_fetch_fetch", &page), ("mcp_git_git_log", &log), ("mcp_time_convert_time", &time)];
    let answers = calls_in_a_run(&world, &calls);
    for (answer, expected) in answers.iter().zip(["hello", "Begin", "21:00"]) {
        assert!(answer.contains(expected), "{answer}");
    }
}

#[test]
fn a_program_that_fetches_what_it_runs_is_known_to_need_the_network() {
    let world = World::new();
    let flag = "`uvx` fetches what it runs";
    world
        .updraft(&["mcp", "add", "time", "--", "/no/such/uvx", "mcp-server-time"])
        .code(0)
        .says(flag)
        .says("--network host");
    let checked = world.updraft(&["mcp", "check", "time"]).code(1);
    assert!(checked.out.contains(flag) && checked.out.contains("--network host"), "{}", checked.out);
    world.updraft(&["mcp", "remove", "time"]).code(0);
    let added = world.updraft(&["mcp", "add", "time", "--network", "host", "--", "/no/such/uvx", "x"]).code(0);
    assert!(!added.err.contains("fetches"), "{}", added.err);
    assert!(!world.updraft(&["mcp", "check", "time"]).code(1).out.contains("fetches"));
    for help in [&["mcp", "--help"][..], &["mcp", "add", "--help"]] {
        assert!(world.updraft(help).code(0).out.contains("mcp add time --network host -- uvx"));
    }
}
