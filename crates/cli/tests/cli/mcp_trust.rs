//! Whose word it is that starts an MCP server: the user's, or that of a workspace which was trusted as it is.

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
fn what_a_trusted_server_runs_is_part_of_the_trust_and_shown_first() {
    let world = world();
    world.file("start.sh", ". ./parts/helper.sh\n. ./server.sh\n");
    let helper = world.file("parts/helper.sh", "true\n");
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
        "  server.sh\n",
        "  parts/helper.sh\n",
    ] {
        assert!(shown.contains(part), "expected `{part}` in:\n{shown}");
    }
    assert!(!shown.contains("a.txt"), "{shown}");
    world.file("a.txt", "what no server runs may change\n");
    assert!(world.updraft(&["mcp", "list"]).code(0).out.contains("local"));
    std::fs::write(helper, "echo mine\n").unwrap();
    let listed = world.updraft(&["mcp", "list"]).code(0);
    assert_eq!(listed.out, "");
    listed.says("changed since it was trusted");
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
        !ran.out.contains("not met yet")
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

/// A workspace's server, and files of its own; then what is planted in it.
struct Case {
    entry: serde_json::Value,
    files: &'static [&'static str],
    planted: &'static str,
}

#[test]
fn code_that_is_planted_where_a_trusted_server_looks_for_some_ends_the_trust() {
    let python = |files, planted| Case { entry: json!({"command": "python3", "args": ["s/main.py"]}), files, planted };
    let with = |name: &str, value: &str, planted| Case {
        entry: json!({"command": "node", "args": ["s/main.js"], "env": {name: value}}),
        files: &["s/main.js", "lib/a.js"],
        planted,
    };
    let main: &[&str] = &["s/main.py", "s/helper.py"];
    let of = |line: &str, files, planted| {
        let mut words = line.split(' ');
        Case { entry: json!({"command": words.next(), "args": words.collect::<Vec<_>>()}), files, planted }
    };
    let cases = [
        python(main, "s/json.pyc"),
        python(main, "s/re.py"),
        python(main, "s/helper/__init__.pyc"),
        python(main, "s/helper.cpython-311-x86_64-linux-gnu.so"),
        of("python3 -m main", &["main.py"], "json.py"),
        of("env python3.11 -mmain", &["main.py"], "asyncio/__init__.py"),
        of("make serve", &["Makefile"], "GNUmakefile"),
        of("make serve", &["Makefile"], "makefile"),
        of("npm start", &["package.json"], ".npmrc"),
        of("npx serve", &["package.json"], "package-lock.json"),
        of("uv run main.py", &["main.py"], "uv.toml"),
        of("cargo run", &["Cargo.toml"], "src/main.rs"),
        of("perl -I./lib s/main.pl", &["s/main.pl"], "lib/File/Spec.pm"),
        of("ruby -rhelper s/main.rb", &["s/main.rb"], "helper.rb"),
        with("BASH_ENV", "./settings", "settings"),
        with("NODE_OPTIONS", "--require ./early", "early.js"),
        with("PYTHONPATH", "lib", "lib/json.py"),
        with("PERL5LIB", "x:lib", "lib/JSON/PP.pm"),
        with("RUBYOPT", "-rearly", "early.rb"),
        with("LD_PRELOAD", "${workspaceFolder}/lib/x.so", "lib/x.so"),
    ];
    for Case { entry, files, planted } in cases {
        let world = World::new();
        for file in files {
            world.file(file, "1\n");
        }
        world.file(".mcp.json", &json!({"mcpServers": {"local": entry}}).to_string());
        world.updraft(&["trust", "--yes"]).code(0);
        world.file("notes/data.csv", "what no server runs\n");
        world.file("src/deep/part.py", "neither\n");
        let is_rust = entry["command"] == "cargo";
        assert!(is_rust || world.updraft(&["mcp", "list"]).code(0).out.contains("local"), "{entry} {planted}");
        std::fs::remove_file(world.ws().join("src/deep/part.py")).unwrap();
        assert!(world.updraft(&["mcp", "list"]).code(0).out.contains("local"), "{entry} {planted}");
        world.file(planted, "2\n");
        assert_eq!(world.updraft(&["mcp", "list"]).code(0).out, "", "{entry} {planted}");
    }
}

#[test]
fn what_python_finds_compiled_in_a_workspace_is_not_what_its_server_runs() {
    let world = World::new();
    world.file("s/main.py", &format!("import helper\n{}", in_python("")));
    world.file("s/helper.py", "open('taken.txt', 'w').write('evil')\n");
    let compiled = std::process::Command::new("python3")
        .args(["-c", "import py_compile; py_compile.compile('s/helper.py', invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"])
        .current_dir(world.ws())
        .status()
        .unwrap();
    assert!(compiled.success() && world.ws().join("s/__pycache__").is_dir());
    world.file("s/helper.py", "pass\n");
    let entry = json!({"command": "python3", "args": ["s/main.py"], "startSeconds": 120});
    world.file(".mcp.json", &json!({"mcpServers": {"local": entry}}).to_string());
    world.updraft(&["trust", "--yes"]).code(0);
    assert!(world.updraft(&["mcp", "check"]).code(0).out.starts_with("local: well"));
    assert!(!world.ws().join("taken.txt").exists());
    assert!(world.updraft(&["mcp", "list"]).code(0).out.contains("local"), "a start changes nothing that is trusted");
}

#[test]
fn a_server_that_runs_too_much_to_look_after_is_not_started_and_the_others_are_trusted() {
    let world = World::new();
    for n in 0..2_001 {
        world.file(&format!("lib/m{n}.py"), "");
    }
    let entry = json!({"command": "python3", "args": ["-c", "0"], "env": {"PYTHONPATH": "lib"}});
    let small = json!({"command": "python3", "args": ["-c", "0", "--language=go"]});
    world.file(".mcp.json", &json!({"mcpServers": {"large": entry, "small": small}}).to_string());
    world.updraft(&["trust", "--yes"]).code(0);
    let listed = world.updraft(&["mcp", "list"]).says("more files of the workspace than can be looked after");
    assert!(listed.out.contains("small"), "{}", listed.out);
    assert!(!listed.out.lines().any(|line| line.starts_with("large") && line.contains("python3")), "{}", listed.out);
    // Fewer files are another matter than what was trusted.
    std::fs::remove_file(world.ws().join("lib/m7.py")).unwrap();
    world.updraft(&["mcp", "list"]).says("changed since it was trusted");
}

/// A workspace with one server, and the bytes of its files.
fn with_files(entry: &serde_json::Value, files: &[(&str, &[u8])]) -> World {
    let world = World::new();
    world.file(".mcp.json", &json!({"mcpServers": {"local": entry}}).to_string());
    for (name, bytes) in files {
        std::fs::write(world.file(name, ""), bytes).unwrap();
    }
    world
}

fn is_listed(world: &World) -> bool {
    world.updraft(&["mcp", "list"]).code(0).out.contains("local")
}

#[test]
fn links_that_lead_round_in_a_workspace_are_gone_once() {
    let world = with_files(&json!({"command": "node", "args": ["a b c d e f", "m.js"]}), &[("m.js", b"a b c d e f")]);
    std::fs::create_dir_all(world.ws().join("a")).unwrap();
    for name in ["a", "b", "c", "d", "e", "f"] {
        std::os::unix::fs::symlink(".", world.ws().join("a").join(name)).unwrap();
    }
    world.updraft(&["mcp", "list"]).code(0).says("not trusted");
    world.updraft(&["trust", "--yes"]).code(0);
    assert!(is_listed(&world));
    // What such a link leads to is followed like what lies there.
    world.file("a/f.js", "planted");
    assert!(!is_listed(&world));
}

#[test]
fn code_is_followed_whatever_its_encoding_and_length() {
    let named = b"require('./lib/deep/helper') // caf\xe9 \0\n";
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(named.iter().flat_map(|byte| [*byte, 0])).collect();
    let long = [vec![b' '; 2 << 20], named.to_vec()].concat();
    for (name, bytes) in
        [("main.js", named.to_vec()), ("main.js", long), ("main", wide), ("main.txt", named[..36].to_vec())]
    {
        let entry = json!({"command": "node", "args": [name]});
        let world = with_files(&entry, &[(name, &bytes), ("lib/deep/helper.js", b"1")]);
        assert!(world.updraft(&["trust", "--yes"]).code(0).out.contains("lib/deep/helper.js"), "{name}");
        assert!(is_listed(&world));
        world.file("lib/deep/helper.js", "2");
        assert!(!is_listed(&world), "{name}");
    }
}

#[test]
fn code_that_is_too_long_or_too_deep_is_said_and_data_is_neither() {
    let node = json!({"command": "node", "args": ["main.js", "data.db", "table.csv"]});
    let deep = format!("{}helper.js", "d/".repeat(18));
    let too_much: [&[(&str, &[u8])]; 2] =
        [&[("main.js", &vec![b' '; (16 << 20) + 1])], &[("main.js", b"import 'd/helper'"), (&deep, b"1")]];
    for files in too_much {
        let world = with_files(&node, files);
        world.updraft(&["trust", "--yes"]).code(0);
        world.updraft(&["mcp", "list"]).code(0).says("more files of the workspace than can be looked after");
        assert!(!world.updraft(&["mcp", "list"]).out.contains("node"));
    }
    let binary = [b"\x7fELF\0helper".to_vec(), vec![0; 17 << 20]].concat();
    let table = vec![b','; 17 << 20];
    let entry = json!({"command": "./server", "args": ["data.db", "table.csv"]});
    let files: [(&str, &[u8]); 4] =
        [("server", &binary), ("data.db", &binary), ("table.csv", &table), ("helper.js", b"of somebody else")];
    let world = with_files(&entry, &files);
    world.updraft(&["trust", "--yes"]).code(0);
    assert!(is_listed(&world));
    world.file("helper.js", "changed");
    assert!(is_listed(&world));
}

#[test]
fn a_server_with_more_words_than_can_be_looked_up_is_said() {
    let words = (0..6_000).map(|n| format!("a{n} b{n}")).collect::<Vec<_>>().join(" ");
    let world = with_files(&json!({"command": "sh", "args": ["-c", words]}), &[]);
    world.updraft(&["trust", "--yes"]).code(0);
    world.updraft(&["mcp", "list"]).code(0).says("more files of the workspace than can be looked after");
}
