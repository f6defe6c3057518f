//! What other coding agents have is shown, taken over once, and trusted no more than before.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::{Ran, World};

/// A workspace and a home with files of other tools.
struct Mill(World);

impl Mill {
    fn new() -> Self {
        let mill = Self(World::new());
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/other_tools");
        copy(&fixtures.join("workspace"), &mill.0.ws());
        copy(&fixtures.join("home"), &mill.person());
        mill
    }

    /// The home folder of the user.
    fn person(&self) -> PathBuf {
        self.0.home().with_file_name("person")
    }

    fn import(&self, args: &[&str]) -> Ran {
        let args: Vec<&str> = ["import"].iter().chain(args).copied().collect();
        Ran::of(self.0.command(&args).env("HOME", self.person()).output().unwrap())
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.ws().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    fn servers(file: &Path) -> Value {
        let text = std::fs::read_to_string(file).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["mcpServers"].clone()
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every file below a folder with its content.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.path(), std::fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn what_others_have_is_shown_and_nothing_is_written_before_a_person_agrees() {
    let mill = Mill::new();
    let before = files(&mill.0.ws());
    let shown = mill.import(&["--dry-run"]).code(0);
    for line in [
        "  new       instructions  CLAUDE.md → .context/claude.md",
        "          + # The mill",
        "it includes other files by `@`: agents see the names and read them if they need to (`docs/words.md`)",
        "  used      instructions  AGENTS.md: agents read it as it is",
        "  used      instructions  GEMINI.md: it says the same as AGENTS.md",
        "  new       instructions  .cursor/rules/always.mdc → .context/rules/always.md",
        "  new       skill  .cursor/rules/ledger/Postings.mdc → .updraft/skills/ledger-postings/SKILL.md",
        "  new       command  .cursor/rules/farewell.mdc → .updraft/commands/farewell.md",
        "  new       server  `scales` of .cursor/mcp.json → .updraft/mcp.json",
        "its keys are not copied; they are read from the environment: SCALES_API_KEY, SCALES_TOKEN",
        "          + node scales.js --api-key ${SCALES_API_KEY}",
        "not imported: `trustHints`, `sandbox`",
        "  used      server  `wheel` of .mcp.json: it is used where it is named, once the workspace is trusted",
        "  left out  settings  .claude/settings.json: `env`, `hooks`, `permissions`: they mean something else here",
        "  left out  agent  .claude/agents/planner.md: there is a built-in agent of this name",
        "  left out  agent  .opencode/agent/watchman.md: what it may do is written in opencode's terms",
        "  used      skill  .claude/skills/weigh: agents use it where it is, once the workspace is trusted",
        "it is disabled, as in that file",
        "  left out  instructions  ~/.claude/CLAUDE.md: there are no instructions for all folders here",
        "  new       server  `tide` of ~/.config/goose/config.yaml → ",
    ] {
        assert!(shown.out.contains(line), "{line}\n\n{}", shown.out);
    }
    assert!(!shown.out.contains("opensesame") && !shown.out.contains("`far`"), "{}", shown.out);
    let whole = mill.import(&["--dry-run", "--diff", "--only", "instructions"]).code(0);
    assert!(whole.out.contains("          + The words we use are in @docs/words.md"), "{}", whole.out);
    assert!(!whole.out.contains("  command  "), "{}", whole.out);
    mill.import(&[]).code(3).says("`updraft import --yes`");
    mill.import(&["--json"]).code(3).says("`--json` does not ask").says("`updraft import --yes --json`");
    assert_eq!(files(&mill.0.ws()), before);
    assert!(!mill.0.home().join("mcp.json").exists());
}

#[test]
fn it_is_taken_over_once_without_keys_and_what_is_changed_stays() {
    let mill = Mill::new();
    let done = mill.import(&["--yes"]).code(0);
    let done = done.says("then `updraft trust` puts them into effect").says("these variables must be set: ");
    assert!(done.err.contains("ALMANAC_SECRET") && done.err.contains("RIVER_KEY"), "{}", done.err);

    assert_eq!(mill.read(".context/claude.md"), mill.read("CLAUDE.md"));
    assert_eq!(mill.read(".context/rules/always.md"), "Every amount has a unit.\n");
    let posting = mill.read(".updraft/skills/ledger-postings/SKILL.md");
    assert!(posting.contains("Rules for files like `src/ledger/**/*.ts`, `*.post`."), "{posting}");
    let close =
        "---\ndescription: Close the books of a month\n---\n\nClose the books of $1. What changed: !`git log -5`\n";
    assert_eq!(mill.read(".updraft/commands/books-close.md"), close);
    let flour = "---\ndescription: Say how much flour there is\n---\n\nHow much flour is in $ARGUMENTS?\n";
    assert_eq!(mill.read(".updraft/commands/flour.md"), flour);
    let keeper = "---\nname: bookkeeper\npurpose: \"Keeps the books: every sack, every coin.\"\ntools: [read_file, search_files, edit_file]\n---\nYou keep the books.\n";
    assert_eq!(mill.read(".updraft/agents/bookkeeper.md"), keeper);
    let miller = "---\nname: miller\npurpose: \"Runs the mill\"\ntools: [files, apply_patch, sandbox, tools, browser, rag, memory, mcp]\n---\nYou run the mill.\n";
    assert_eq!(mill.read(".updraft/agents/miller.md"), miller);
    assert!(mill.read(".updraft/agents/inspector.md").contains("\npermissions: read-only\n"));
    assert!(!mill.0.ws().join(".updraft/agents/watchman.md").exists());
    let script = mill.0.ws().join(".updraft/skills/grind/scripts/grind.sh");
    let mode = std::os::unix::fs::PermissionsExt::mode(&script.metadata().unwrap().permissions());
    assert_eq!(mode & 0o111, 0o111);

    let wanted = json!({
        "scales": {"command": "node", "args": ["scales.js", "--api-key", "${SCALES_API_KEY}"], "env": {"SCALES_TOKEN": "${SCALES_TOKEN}", "UNIT": "kg"}},
        "granary": {"url": "https://granary.example/mcp?token=${GRANARY_TOKEN}", "headers": {"Authorization": "Bearer ${GRANARY_TOKEN}"}},
        "river": {"type": "http", "url": "https://river.example/mcp", "headers": {"X-Key": "${RIVER_KEY}"}},
        "wind": {"type": "http", "url": "https://wind.example/mcp", "enabled": false},
        "sieve": {"type": "local", "command": "sieve", "args": ["--fine"], "env": {"SIEVE_KEY": "${SIEVE_KEY}"}},
    });
    assert_eq!(Mill::servers(&mill.0.ws().join(".updraft/mcp.json")), wanted);
    let own = json!({
        "clock": {"type": "stdio", "command": "clock-server"},
        "almanac": {"command": "almanac", "args": ["--year", "1873"], "env": {"ALMANAC_HOME": "${ALMANAC_HOME:-}", "ALMANAC_SECRET": "${ALMANAC_SECRET}"}},
        "moon": {"command": "moon", "env": {"MOON_KEY": "${MOON_KEY}"}, "callSeconds": 30.0},
        "tide": {"command": "tide-server", "args": ["--port", "7"], "env": {"TIDE_TOKEN": "${TIDE_TOKEN}"}},
    });
    assert_eq!(Mill::servers(&mill.0.home().join("mcp.json")), own);
    assert_eq!(
        std::fs::read_to_string(mill.0.home().join("commands/forecast.md")).unwrap(),
        "Say what the weather will be in $1.\n"
    );
    assert!(mill.0.home().join("skills/rhyme/SKILL.md").is_file());
    for (path, bytes) in files(&mill.0.home()).into_iter().chain(files(&mill.0.ws().join(".updraft"))) {
        assert!(!String::from_utf8_lossy(&bytes).contains("opensesame"), "{}", path.display());
    }

    // A second time nothing is new. What somebody has changed meanwhile stays.
    let before = files(&mill.0.ws());
    mill.import(&["--yes"]).code(0).says("nothing new to import");
    mill.0.file(".context/claude.md", "My own words.\n");
    let again = mill.import(&["--yes", "--json"]).code(0).json();
    let claude = again.iter().find(|item| item["name"] == "claude.md").unwrap();
    assert!(
        claude["why"].as_str().unwrap().ends_with("exists and is different; remove it to import this one"),
        "{claude}"
    );
    assert_eq!(mill.read(".context/claude.md"), "My own words.\n");
    assert!(again.iter().all(|item| item["status"] != "imported"), "{again:?}");
    mill.0.file(".context/claude.md", &mill.read("CLAUDE.md"));
    assert_eq!(files(&mill.0.ws()), before);
}

#[test]
fn nothing_becomes_trusted_and_what_is_used_afterwards_is_what_was_shown() {
    let mill = Mill::new();
    mill.0.updraft(&["trust", "--yes"]).code(0);
    let scope = ["--yes", "--scope", "workspace", "--json"];
    let taken = mill.import(&scope).code(0).json();
    let last = taken.last().unwrap();
    assert!(last["trust_ended"] == true && last["unset_variables"].to_string().contains("RIVER_KEY"), "{last}");
    assert!(taken.iter().any(|item| item["status"] == "imported" && item["name"] == "bookkeeper"), "{taken:?}");
    assert!(!mill.0.home().join("mcp.json").exists(), "only this folder was asked for");
    // Agents of an untrusted folder are not there, nor are its servers; and its documents are not obeyed.
    assert!(!mill.0.updraft(&["agents"]).code(0).out.contains("bookkeeper"));
    assert_eq!(mill.0.updraft(&["mcp", "list", "--json"]).code(0).out, "");
    let model = mill.0.script("s.json", &json!([{"text": "ok"}]));
    mill.0.updraft(&["run", "--model", &model, "--agent", "coder", "hello"]).code(0);
    let told = mill.0.updraft(&["show", "last", "--context", "--json"]).code(0).json();
    let about =
        |told: &[Value]| told.iter().find(|part| part.to_string().contains(".context/claude.md")).unwrap().to_string();
    let before = about(&told);

    mill.0.updraft(&["trust", "--yes"]).code(0);
    assert!(mill.0.updraft(&["agents"]).code(0).out.contains("bookkeeper"));
    let skills = mill.0.updraft(&["skills", "--json"]).code(0).json();
    let names: Vec<&Value> = skills.iter().map(|skill| &skill["name"]).collect();
    assert_eq!(names, ["grind", "ledger-postings", "weigh"]);
    mill.0.updraft(&["run", "--model", &model, "--agent", "bookkeeper", "hello"]).code(0);
    let prompts = mill.0.updraft(&["show", "last", "--prompts"]).out;
    assert!(
        prompts.contains("You keep the books.") && prompts.contains("Sacks are counted in whole numbers."),
        "{prompts}"
    );
    let told = mill.0.updraft(&["show", "last", "--context", "--json"]).code(0).json();
    assert_ne!(about(&told), before, "it is an instruction now");
}

#[test]
fn links_keys_and_what_cannot_be_read_are_left_out_with_the_reason() {
    let mill = Mill(World::new());
    std::fs::create_dir_all(mill.person()).unwrap();
    mill.0.config("secret.txt", "secret words\n");
    std::os::unix::fs::symlink(mill.0.home().join("secret.txt"), mill.0.ws().join("CLAUDE.md")).unwrap();
    mill.0.file("GEMINI.md", "Use the key sk-test-0a1B2c3D4e5F6g7H8i9J.\n");
    mill.0.file(".cursor/mcp.json", "{\"mcpServers\": ");
    mill.0.file(".vscode/mcp.json", "{\"servers\": {\"odd\": {\"type\": \"pigeon\", \"url\": \"https://x.example\"}}}");
    mill.0.file(".gemini/commands/broken.toml", "prompt = ");
    mill.0.file(".gemini/skills/nameless/SKILL.md", "no front matter");
    mill.0.file(".claude/agents/faulty.md", "---\nname: faulty\n---\nx");
    mill.0.file(".claude/commands/fine.md", "Fine.\n");
    // What is written must not leave the folder either.
    std::os::unix::fs::symlink(mill.0.home(), mill.0.ws().join(".updraft")).unwrap();
    let found = mill.import(&["--yes", "--json"]).code(0).json();
    let why = |name: &str| {
        let item = found.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name}: {found:?}"));
        item["why"].as_str().unwrap_or_else(|| panic!("{item}")).to_owned()
    };
    for (name, reason) in [
        ("CLAUDE", "it is a link to a place outside of this folder"),
        ("gemini.md", "line 1 of it contains what looks like a key"),
        (".cursor/mcp.json", "EOF"),
        ("odd", "`type`: `pigeon` is not a transport"),
        ("broken", "it is not TOML"),
        ("nameless", "SKILL.md must begin with front matter"),
        ("faulty", "`purpose` is missing"),
        ("fine", ".updraft` is a link"),
    ] {
        assert!(why(name).contains(reason), "{name}: {}", why(name));
    }
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(!mill.0.home().join("commands").exists() && !mill.0.ws().join(".context").exists());
}

#[test]
fn a_link_that_waits_in_the_folder_leads_nothing_out_and_what_fails_does_not_stop_the_rest() {
    let mill = Mill(World::new());
    std::fs::create_dir_all(mill.person().join(".claude/commands")).unwrap();
    std::fs::write(mill.person().join(".claude/commands/fine.md"), "Fine.\n").unwrap();
    std::fs::create_dir_all(mill.person().join(".gemini/skills/tea")).unwrap();
    let tea = "---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n";
    std::fs::write(mill.person().join(".gemini/skills/tea/SKILL.md"), tea).unwrap();
    mill.0.file("CLAUDE.md", "Be brief.\n");
    mill.0.file(".context/.keep", "");
    let outside = mill.person().join("outside.txt");
    std::fs::write(&outside, "mine\n").unwrap();
    std::os::unix::fs::symlink(&outside, mill.0.ws().join(".context/.updraft-claude.md.new")).unwrap();
    // Where a folder is needed is a link to nowhere.
    mill.0.config("x.txt", "");
    std::os::unix::fs::symlink("nowhere/at-all", mill.0.home().join("commands")).unwrap();
    let found = mill.import(&["--yes", "--json"]).code(1).json();
    let status = |name: &str| found.iter().find(|item| item["name"] == name).unwrap()["status"].clone();
    assert_eq!(
        (status("claude.md"), status("tea"), status("fine")),
        ("imported".into(), "imported".into(), "failed".into())
    );
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine\n");
    assert_eq!(mill.read(".context/claude.md"), "Be brief.\n");
    let mode = mill.0.ws().join(".context/claude.md").metadata().unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o644, 0o644);
    mill.import(&["--yes"]).code(1).says("not imported: command ~/.claude/commands/fine.md: could not write ");
}

#[test]
fn a_rule_and_a_skill_of_one_name_do_not_share_a_folder() {
    let mill = Mill(World::new());
    std::fs::create_dir_all(mill.person()).unwrap();
    mill.0.file(".cursor/rules/api.mdc", "---\ndescription: Style\nglobs: *.ts\n---\nUse snake case.\n");
    mill.0.file(".cursor/skills/api/SKILL.md", "---\nname: api\ndescription: Calls the API.\n---\nCall it.\n");
    mill.0.file(".gemini/skills/tea/SKILL.md", "---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n");
    let found = mill.import(&["--yes", "--json"]).code(0).json();
    let fates: Vec<_> =
        found.iter().filter(|item| item["kind"] == "skill").map(|item| item["status"].as_str().unwrap()).collect();
    assert_eq!(fates, ["imported", "left_out", "imported"]);
    assert!(mill.read(".updraft/skills/api/SKILL.md").contains("Use snake case."));
}

#[test]
fn servers_that_claude_has_for_this_folder_alone_stay_with_it() {
    let mill = Mill(World::new());
    std::fs::create_dir_all(mill.person()).unwrap();
    let projects = json!({mill.0.ws().display().to_string(): {
        "mcpServers": {"near": {"command": "near", "env": {"NEAR_KEY": "opensesame"}}, "both": {"command": "b"}, "off": {"command": "off"}},
        "disabledMcpServers": ["off"]}, "/elsewhere": {"mcpServers": {"far": {"command": "far"}}}});
    let file = json!({"mcpServers": {"wide": {"command": "wide"}, "both": {"command": "a"}}, "projects": projects});
    std::fs::write(mill.person().join(".claude.json"), file.to_string()).unwrap();
    let found = mill.import(&["--yes", "--json"]).code(0).json();
    let both: Vec<_> =
        found.iter().filter(|item| item["name"] == "both").map(|item| item["status"].as_str().unwrap()).collect();
    assert_eq!(both, ["left_out", "imported"], "{found:?}");
    let near = json!({"near": {"command": "near", "env": {"NEAR_KEY": "${NEAR_KEY}"}}, "off": {"command": "off", "enabled": false}});
    assert_eq!(Mill::servers(&mill.0.ws().join(".updraft/mcp.json")), near);
    let wide = json!({"wide": {"command": "wide"}, "both": {"command": "a"}});
    assert_eq!(Mill::servers(&mill.0.home().join("mcp.json")), wide);
}

#[test]
fn a_faulty_file_is_named_without_what_is_in_it_and_no_pipe_is_waited_for() {
    let mill = Mill(World::new());
    std::fs::create_dir_all(mill.person().join(".codex")).unwrap();
    std::fs::write(mill.person().join(".codex/config.toml"), "[mcp_servers.a]\nenv = { KEY = \"opensesame }\n")
        .unwrap();
    let servers =
        json!({"mcpServers": {"a": {"url": "https://x.example", "headers": "Authorization: Bearer opensesame"}}});
    mill.0.file(".cursor/mcp.json", &servers.to_string());
    mill.0.file("CLAUDE.md", "Be brief.\n");
    let pipe = mill.0.ws().join("AGENTS.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let shown = mill.import(&["--dry-run"]).code(0);
    for line in ["line 2", "`headers`: expected a map", "CLAUDE.md → .context/claude.md"] {
        assert!(shown.out.contains(line), "{line}\n\n{}", shown.out);
    }
    assert!(!shown.out.contains("opensesame"), "{}", shown.out);
}
