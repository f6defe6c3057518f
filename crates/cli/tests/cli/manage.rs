//! Listing, removing, looking around.

use serde_json::json;
use updraft_journal::{Change, Journal, JournalOptions};
use updraft_run::Timestamp;

use crate::world::{Ran, World};

#[test]
fn runs_are_listed_newest_first_and_filtered() {
    let world = World::new();
    let good = world.script("s.json", &json!({"default": {"text": "x"}}));
    let bad = world.script("f.json", &json!({"default": {"fail": "no"}}));
    world.updraft(&["run", "--model", &good, "--agent", "thinker", "first"]).code(0);
    world.updraft(&["run", "--model", &bad, "--agent", "thinker", "second"]).code(1);

    let goals = |args: &[&str]| -> Vec<String> {
        let args: Vec<&str> = ["runs", "--json"].iter().chain(args).copied().collect();
        world.updraft(&args).code(0).json().iter().map(|run| run["goal"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(goals(&[]), ["second", "first"]);
    assert_eq!(goals(&["--status", "done"]), ["first"]);
    assert_eq!(goals(&["--limit", "1"]), ["second"]);
    assert_eq!(goals(&["--since", "1h"]).len(), 2);
    assert_eq!(goals(&["--until", "yesterday"]).len(), 0);
    world.updraft(&["runs", "--since", "whenever"]).code(2).says("yesterday");
    assert!(world.updraft(&["runs"]).code(0).out.lines().next().unwrap().ends_with("second"));
}

#[test]
fn listing_makes_no_journal() {
    let world = World::new();
    world.updraft(&["runs"]).code(0).says("no runs");
    assert!(!world.home().exists());
}

#[test]
fn old_runs_are_pruned() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "x"}}));
    world.updraft(&["run", "--model", &model, "--agent", "thinker", "first"]).code(0);
    world.updraft(&["prune", "--older-than", "1h"]).code(0).says("removed 0 runs");
    assert!(world.updraft(&["prune", "--older-than", "0s", "--dry-run"]).code(0).out.contains("first"));
    world.updraft(&["prune", "--older-than", "0s"]).code(0).says("removed 1 run");
    assert!(world.runs().is_empty());
}

#[tokio::test]
async fn conversations_that_rested_too_long_by_the_settings_of_their_workspace_are_pruned() {
    let world = World::new();
    world.file("strict/.updraft/config.toml", "[sessions]\nage = \"1h\"\n");
    world.file("patient/.updraft/config.toml", "[sessions]\nage = \"30d\"\n");
    let folder = |name: &str| world.ws().join(name).display().to_string();
    for name in ["strict", "patient"] {
        Ran::of(world.command(&["trust", "--yes"]).current_dir(folder(name)).output().unwrap()).code(0);
    }
    let (scopes, file) =
        (["strict", "patient"].map(|name| format!("sessions {}", folder(name))), world.home().join("journal.db"));
    let yesterday = || Timestamp(updraft_workbench::time_format::now().0 - 24 * 60 * 60 * 1000);
    let journal = Journal::open(&file, JournalOptions { clock: yesterday, ..JournalOptions::default() }).unwrap();
    for scope in &scopes {
        journal.change_stored(scope, "id", |_| (Change::Set("said".into()), ())).await.unwrap();
    }
    journal.close().await;
    let there = || {
        let journal = Journal::open(&file, JournalOptions::default()).unwrap();
        scopes.clone().map(|scope| journal.stored(&scope, "id").unwrap().is_some())
    };
    world.updraft(&["prune", "--older-than", "30d", "--dry-run"]).code(0);
    assert_eq!(there(), [true, true]);
    world.updraft(&["prune", "--older-than", "30d"]).code(0);
    assert_eq!(there(), [false, true]);
}

#[test]
fn what_cut_off_commands_left_is_pruned_unless_somebody_works_on_it() {
    let world = World::new();
    let staged = world.home().join("staged");
    for name in ["cut-off-old", "cut-off-held", "other"] {
        std::fs::create_dir_all(staged.join(name).join("before")).unwrap();
        std::fs::write(staged.join(name).join("before/1"), "kept").unwrap();
    }
    let held = std::fs::File::open(staged.join("cut-off-held")).unwrap();
    held.lock_shared().unwrap();
    let there = || ["cut-off-old", "cut-off-held", "other"].map(|name| staged.join(name).exists());
    let model = world.script("s.json", &json!({"default": {"text": "x"}}));
    world.updraft(&["run", "--model", &model, "--agent", "thinker", "first"]).code(0);
    world.updraft(&["prune", "--older-than", "1h"]).code(0);
    assert_eq!(there(), [true, true, true], "it is young");
    assert!(world.updraft(&["prune", "--older-than", "0s", "--dry-run"]).code(0).out.contains("cut-off-old"));
    assert_eq!(there(), [true, true, true]);
    world.updraft(&["prune", "--older-than", "0s"]).code(0).says("what 1 interrupted command had left");
    assert_eq!(there(), [false, true, true]);
}

#[test]
fn pasted_pictures_are_pruned_when_they_are_old() {
    let world = World::new();
    let pasted = world.home().join("pasted");
    std::fs::create_dir_all(&pasted).unwrap();
    let two_days_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(48);
    for name in ["pasted-old.png", "pasted-new.png"] {
        std::fs::write(pasted.join(name), "a picture").unwrap();
    }
    let old = std::fs::File::options().write(true).open(pasted.join("pasted-old.png")).unwrap();
    old.set_modified(two_days_ago).unwrap();
    let there = || ["pasted-old.png", "pasted-new.png"].map(|name| pasted.join(name).exists());
    let model = world.script("s.json", &json!({"default": {"text": "x"}}));
    world.updraft(&["run", "--model", &model, "--agent", "thinker", "first"]).code(0);
    let listed = world.updraft(&["prune", "--older-than", "1d", "--dry-run"]).code(0).out;
    assert!(listed.contains("pasted-old.png") && !listed.contains("pasted-new.png"), "{listed}");
    assert_eq!(there(), [true, true]);
    world.updraft(&["prune", "--older-than", "1d"]).code(0).says("removed 1 pasted picture");
    assert_eq!(there(), [false, true]);
}

#[test]
fn tools_are_listed_and_called_through_the_dispatcher() {
    let world = World::new();
    assert!(world.updraft(&["tools"]).code(0).out.contains("read_file"));
    assert!(
        world.updraft(&["tools", "--json"]).code(0).json().iter().all(|tool| tool["parameters"]["type"] == "object")
    );
    assert_eq!(world.updraft(&["tools", "call", "read_file", "{\"path\": \"a.txt\"}"]).code(0).out, "hello\n");
    world.updraft(&["tools", "call", "read_file", "{\"path\": \"../../etc/passwd\"}"]).code(1).says("error");
    world.updraft(&["tools", "call", "read_file", "{\"pth\": 1}"]).code(1).says("schema");
    world.updraft(&["tools", "call", "read_file", "{path"]).code(2).says("not JSON");
}

#[test]
fn agents_and_models_are_listed_with_their_origin() {
    let world = World::new();
    world.config("agents/cook.md", "---\nname: cook\npurpose: Cooks.\n---\nYou cook.\n");
    let agents = world.updraft(&["agents", "--json"]).code(0).json();
    let origin =
        |name: &str| agents.iter().find(|agent| agent["name"] == name).unwrap()["origin"].as_str().unwrap().to_owned();
    assert_eq!(origin("coder"), "built in");
    assert!(origin("cook").ends_with("home/agents/cook.md"));
    assert!(world.updraft(&["models"]).code(0).out.contains("needs OPENAI_API_KEY"));
}

#[test]
fn agents_are_listed_with_their_roles_and_with_what_is_ignored() {
    let world = World::new();
    world.config("agents/zoe.md", "---\ndescription: Plans: well.\nrole: planner\ncolor: red\n---\nYou plan.\n");
    let listed = world.updraft(&["agents"]).code(0).out;
    assert!(listed.contains("role planner, but `zoe` has it · built in"), "{listed}");
    assert!(listed.contains("Plans: well.\n") && listed.contains("ignored: color"), "{listed}");
    let agents = world.updraft(&["agents", "--json"]).code(0).json();
    let role = |name: &str| agents.iter().find(|agent| agent["name"] == name).map(|agent| agent["role"].clone());
    assert_eq!((role("zoe"), role("qa")), (Some("planner".into()), Some("judge".into())));
    let model = world.script(
        "s.json",
        &json!({"rules": [
        {"when": {"agent": "zoe"}, "answer": {"json": {"steps": [{"id": "a", "agent": "thinker", "prompt": "x"}]}}},
        {"when": {"agent": "planner"}, "answer": {"text": "nobody asks me"}},
    ], "default": {"text": "done by the plan of zoe"}}),
    );
    let ran = world.updraft(&["run", "do it", "--model", &model]).code(0);
    assert!(ran.out.contains("done by the plan of zoe"), "{}", ran.out);
}

#[test]
fn the_doctor_looks_at_everything() {
    let world = World::new();
    let ran = world.updraft(&["doctor", "--json"]).code(0);
    let checks = ran.json();
    for what in ["journal", "disk", "kernel", "workspace", "settings", "agents", "keys", "model"] {
        assert!(checks.iter().any(|check| check["check"] == what && check["status"] != "fail"), "{what} in {checks:?}");
    }
    let ran = world.updraft(&["doctor"]).code(0);
    assert!(ran.out.contains("the defaults; there is no file"), "{}", ran.out);
    assert!(ran.out.contains("no MCP servers are configured"), "{}", ran.out);
    world.updraft(&["mcp", "add", "s", "--", "no-such-program"]).code(0);
    let ran = world.updraft(&["doctor"]).code(0);
    assert!(ran.out.contains("MCP: s (not started yet); `updraft mcp check` tests them"), "{}", ran.out);
    assert!(ran.out.contains("`no-such-program` of `s` is not installed here"), "{}", ran.out);
    world.config("config.toml", "turns = 0\n");
    let ran = world.updraft(&["doctor"]).code(1);
    assert!(ran.out.contains("fail  settings") && ran.out.contains("config.toml:1: `turns` is 0"), "{}", ran.out);
}

#[test]
fn shells_are_helped() {
    let world = World::new();
    assert!(world.updraft(&["completions", "bash"]).code(0).out.contains("_updraft"));
    let model = world.script("s.json", &json!({"default": {"text": "x"}}));
    world.updraft(&["run", "--id", "myrun1", "--model", &model, "--agent", "thinker", "x"]).code(0);
    let asked = world
        .command(&["--", "updraft", "show", "my"])
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "2")
        .env("_CLAP_IFS", "\n")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&asked.stdout).contains("myrun1"), "{asked:?}");
}

#[test]
fn help_has_examples_and_exit_codes() {
    let world = World::new();
    assert!(world.updraft(&["--help"]).code(0).out.contains("Exit codes"));
    assert!(world.updraft(&["run", "--help"]).code(0).out.contains("Examples:"));
    assert!(!world.updraft(&["--help"]).code(0).out.contains("bench"));
    assert_eq!(world.updraft(&["--version"]).code(0).out, format!("updraft {}\n", env!("CARGO_PKG_VERSION")));
    world.updraft(&[]).code(2);
}

#[test]
fn the_manual_page_has_every_command_and_its_options() {
    let world = World::new();
    let page = world.updraft(&["man"]).code(0).out;
    let help = world.updraft(&["--help"]).code(0).out;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert!(names.len() > 20 && names.contains(&"man"), "{help}");
    for name in names.iter().filter(|name| !name.is_empty()) {
        assert!(page.contains(&format!(".SH \"UPDRAFT {}\"", name.to_uppercase())), "{name}");
    }
    assert!(page.contains(".TH updraft 1") && page.contains("\\-\\-max\\-turns") && !page.contains("UPDRAFT BENCH"));

    let folder = tempfile::tempdir().unwrap();
    world.updraft(&["man", "--out", folder.path().join("man1").to_str().unwrap()]).code(0);
    let page_of = |name: &str| std::fs::read_to_string(folder.path().join("man1").join(format!("{name}.1"))).unwrap();
    for name in names.iter().filter(|name| !name.is_empty() && **name != "help") {
        assert!(page_of(&format!("updraft-{name}")).contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(
        page_of("updraft").contains("updraft\\-run(1)") && page_of("updraft-serve-user-add").contains("\\-\\-role")
    );
    assert!(!folder.path().join("man1/updraft-bench.1").exists());
}
