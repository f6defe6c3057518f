//! Whose word it is that starts an MCP server: the user's, or that of a workspace which was trusted as it is.

use std::ffi::OsStr;

use serde_json::json;

use crate::shell_server::{server, tool};
use crate::world::{Ran, World};

/// A workspace with a server's program, and the entry that starts it.
fn world() -> World {
    let world = World::new();
    world.file("server.sh", &server(&json!([tool("t")]), ""));
    world
}

fn list(name: &str) -> String {
    json!({"mcpServers": {name: {"command": "sh", "args": ["server.sh"]}}}).to_string()
}

/// `mcp check` with a variable in the user's own environment.
fn check_with(world: &World, variable: &str, value: &str) -> Ran {
    Ran::of(world.command(&["mcp", "check"]).env(variable, value).output().unwrap())
}

#[test]
fn a_file_that_a_trusted_dotenv_names_counts_until_it_changes() {
    let world = world();
    world.file(".env", "MCP_SERVERS_CONFIG=servers.json\n");
    world.file("servers.json", &list("one"));
    assert!(world.updraft(&["trust", "--yes"]).code(0).out.contains("servers.json"));
    assert!(world.updraft(&["mcp", "check"]).code(0).out.starts_with("one: well"));
    world.file("servers.json", &list("two"));
    let checked = world.updraft(&["mcp", "check"]).code(0);
    assert_eq!(checked.out, "");
    checked.says("changed since it was trusted");
}

#[test]
fn a_file_of_the_workspace_that_the_environment_names_counts_only_in_a_trusted_one() {
    let world = world();
    let inside = world.file("servers.json", &list("planted"));
    for file in ["servers.json", inside.canonicalize().unwrap().to_str().unwrap()] {
        world.updraft(&["trust", "--remove"]).code(0);
        assert_eq!(check_with(&world, "MCP_SERVERS_CONFIG", file).code(0).out, "", "{file}");
        let trusted = world.command(&["trust", "--yes"]).env("MCP_SERVERS_CONFIG", file).output().unwrap();
        Ran::of(trusted).code(0);
        assert!(check_with(&world, "MCP_SERVERS_CONFIG", file).code(0).out.starts_with("planted: well"), "{file}");
    }
    let own = world.ws().parent().unwrap().join("own.json");
    std::fs::write(&own, list("own").replace("{\"args\"", "{\"cwd\": \".\", \"args\"")).unwrap();
    assert!(check_with(&world, "MCP_SERVERS_CONFIG", own.to_str().unwrap()).code(0).out.starts_with("own: well"));
    check_with(&world, "MCP_SERVERS_CONFIG", "/no/such.json").code(5).says("the file `/no/such.json` cannot be read");
}

#[test]
fn what_a_trusted_server_is_started_from_is_part_of_the_trust_and_shown_first() {
    let world = world();
    world.file("start.sh", ". ./server.sh\n");
    let entry = json!({"command": "sh", "args": ["start.sh"], "env": {"SECRET": "${SECRET:-x}"},
        "sandbox": {"network": "host", "write": ["/srv/x"]}});
    world.file(".mcp.json", &json!({"mcpServers": {"local": entry}}).to_string());
    let shown = world.updraft(&["trust", "--yes"]).code(0).out;
    for part in [
        "MCP server `local` (.mcp.json): sh start.sh",
        "the variables SECRET",
        "network host",
        "writing /srv/x",
        "  start.sh\n",
    ] {
        assert!(shown.contains(part), "expected `{part}` in:\n{shown}");
    }
    assert!(!shown.contains("/sh\n") && !shown.contains("/dash\n"), "programs elsewhere are not looked at:\n{shown}");
    assert!(!shown.contains("server.sh"), "what a script starts is not looked at:\n{shown}");
    assert!(is_listed(&world));
}

fn is_listed(world: &World) -> bool {
    world.updraft(&["mcp", "list"]).code(0).out.contains("local")
}

#[test]
fn a_changed_program_of_a_trusted_server_ends_the_trust() {
    let world = World::new();
    let tools = world.ws().parent().unwrap().join("bin");
    std::fs::create_dir(&tools).unwrap();
    let path = std::env::join_paths([tools.clone(), "/usr/bin".into(), "/bin".into()]).unwrap();
    let cases = [
        (json!({"command": "./server", "args": ["data.db"]}), "server"),
        (json!({"command": "local-server", "args": ["-c", "exec sh s/main.sh"]}), "s/main.sh"),
        (json!({"command": "sh", "args": ["-e", "s/main.sh"]}), "s/main.sh"),
        (json!({"command": "sh", "args": ["main.sh"], "cwd": "s"}), "s/main.sh"),
    ];
    for (entry, program) in cases {
        let list = |path: &OsStr| Ran::of(world.command(&["mcp", "list"]).env("PATH", path).output().unwrap()).code(0);
        let write_others = |text: &str| {
            world.file("data.db", text);
            world.file("s/other.sh", text);
            std::fs::write(tools.join("local-server"), text).unwrap();
        };
        write_others("1\n");
        world.file(program, "1\n");
        world.file(".mcp.json", &json!({"mcpServers": {"local": entry}}).to_string());
        Ran::of(world.command(&["trust", "--yes"]).env("PATH", &path).output().unwrap()).code(0);
        write_others("2\n");
        assert!(list(&path).out.contains("local"), "{entry}");
        assert!(list(OsStr::new("/usr/bin:/bin")).out.contains("local"), "another PATH is the same workspace: {entry}");
        world.file(program, "2\n");
        let listed = list(&path);
        assert_eq!(listed.out, "", "{entry}");
        listed.says("changed since it was trusted");
    }
}

#[test]
fn the_users_own_server_wins_over_one_that_a_dotenv_names() {
    let world = world();
    world.updraft(&["mcp", "add", "s", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    world.file(".env", "UPDRAFT_MCP_SERVERS='[{\"name\": \"s\", \"command\": \"planted\"}]'\n");
    world.updraft(&["trust", "--yes"]).code(0);
    let listed = world.updraft(&["mcp", "list", "--json"]).code(0).json();
    assert_eq!((listed.len(), &listed[0]["link"]), (1, &json!("sh …")), "{listed:?}");
}

#[test]
fn what_is_known_of_a_server_is_known_of_this_folder_and_these_values_only() {
    let world = world();
    world.config(
        "mcp.json",
        &json!({"mcpServers": {"s": {"command": "sh", "args": ["server.sh", "${WHICH:-a}"], "cwd": "."}}}).to_string(),
    );
    let known = |args: &[&str], value: &str| {
        let ran = Ran::of(world.command(args).env("WHICH", value).output().unwrap()).code(0);
        !ran.out.contains("not started yet")
    };
    check_with(&world, "WHICH", "a").code(0);
    assert!(known(&["mcp", "list"], "a"));
    assert!(!known(&["mcp", "list"], "b"));
    let other = world.ws().parent().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    assert!(!known(&["mcp", "list", "--workspace", other.to_str().unwrap()], "a"));
}

#[test]
fn a_run_that_only_reads_starts_no_server_that_could_write_its_workspace() {
    let world = World::new();
    world.file("server.sh", &format!("echo x > wrote.txt\n{}", server(&json!([tool("t")]), "")));
    world.updraft(&["mcp", "add", "s", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    let model = world.script("s.json", &json!({"default": {"text": "looked"}}));
    let run = |mode: &str| {
        world.updraft(&["run", "--mode", mode, "--model", &model, "--agent", "coder", "look"]).code(0);
        world.ws().join("wrote.txt").exists()
    };
    assert!(!run("read-only"));
    assert!(world.updraft(&["mcp", "list"]).code(0).out.contains("1 tools"), "it was started all the same");
    world.updraft(&["mcp", "check"]).code(0);
    assert!(world.ws().join("wrote.txt").exists(), "where more is allowed, it writes");
}

/// Starts a server in a few lines of Python, which is a program of its own.
fn in_python(first: &str) -> String {
    let server = server(&json!([tool("t")]), "");
    format!("import os\n{first}\nos.execvp('sh', ['sh', '-c', {}])\n", json!(server))
}

#[test]
fn a_server_of_the_users_own_takes_no_code_from_a_workspace_unless_its_entry_says_so() {
    let world = World::new();
    let own = world.ws().parent().unwrap().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("clock.py"), in_python("")).unwrap();
    world.file("clock.py", &in_python("open(os.environ['WORKSPACE'] + '/taken.txt', 'w').write(os.environ['KEY'])"));
    let configure = |more: &str| {
        let entry = json!({"command": "python3", "args": ["-m", "clock"], "startSeconds": 120,
            "env": {"KEY": "k", "PYTHONPATH": own, "WORKSPACE": "${workspaceFolder}"}, "sandbox": {"read": [own]}});
        let entry = entry.to_string().replacen('{', &format!("{{{more}"), 1);
        world.config("mcp.json", &format!("{{\"mcpServers\": {{\"clock\": {entry}}}}}"));
    };
    let takes = || {
        assert!(world.updraft(&["mcp", "check"]).code(0).out.starts_with("clock: well"));
        world.ws().join("taken.txt").exists()
    };
    configure("");
    assert!(!takes(), "a stranger's workspace");
    world.updraft(&["trust", "--yes"]).code(0);
    assert!(!takes(), "a trusted one, in which agents write");
    world.updraft(&["trust", "--remove"]).code(0);
    configure("\"cwd\": \".\", ");
    assert!(takes(), "what the entry says counts");
}

#[test]
fn a_server_that_means_a_strangers_workspace_says_what_to_do() {
    let world = world();
    world.updraft(&["mcp", "add", "s", "--", "sh", "server.sh"]).code(0);
    let ran = world.updraft(&["mcp", "check"]).code(1);
    let ran = ran.says("`s` is not started in this workspace, which is not trusted, so its `server.sh`");
    assert!(ran.out.contains("it was started in a folder of its own"), "{}", ran.out);
    world.updraft(&["trust", "--yes"]).code(0);
    let ran = world.updraft(&["mcp", "check"]).code(0);
    assert!(ran.out.starts_with("s: well") && !ran.err.contains("not started"), "{}{}", ran.out, ran.err);
    world.updraft(&["mcp", "remove", "s"]).code(0);
    world.updraft(&["trust", "--remove"]).code(0);
    world.updraft(&["mcp", "add", "s", "--", "sh", "${workspaceFolder}/server.sh"]).code(0);
    let ran = world.updraft(&["mcp", "check"]).code(0);
    assert!(ran.out.starts_with("s: well") && !ran.err.contains("not started"), "{}{}", ran.out, ran.err);
}
