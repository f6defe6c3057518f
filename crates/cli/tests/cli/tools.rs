//! Tools of the user's own: listed, checked, called by hand and by agents; and that the documents tell the truth.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::World;

const README: &str = include_str!("../../../../README.md");
const TOOLS: &str = include_str!("../../../../docs/tools.md");

/// Whether this machine has what the tests need; without, they say so and end.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn is_to_be_had(world: &World, program: &str) -> bool {
    let level = world.updraft(&["sandbox", "probe", "--json"]).value()["level"].clone();
    let is_there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if level == "none" || !is_there {
        eprintln!("!! SKIP: there is no sandbox or no {program} on this machine");
    }
    level != "none" && is_there
}

/// The first block of a document after a heading or line, in this language: the path it names, and its text.
fn block<'a>(document: &'a str, after: &str, language: &str) -> (&'a str, &'a str) {
    let rest = document.split_once(after).unwrap().1;
    let text = rest.split_once(&format!("```{language}\n")).unwrap().1.split_once("```").unwrap().0;
    let named = text.lines().find_map(|line| line.split_once("# ").or_else(|| line.split_once("// ")));
    (named.unwrap().1, text)
}

fn put_program(world: &World, (path, text): (&str, &str)) {
    let file = world.file(path, text);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_tool_of_the_readme_works_at_once_in_a_fresh_workspace() {
    let world = World::new();
    if !is_to_be_had(&world, "python3") {
        return;
    }
    let (path, text) = block(README, "## A tool of your own", "python");
    assert_eq!((path, text.lines().count()), ("tools/words.py", 5));
    world.file(path, text);
    // Another that is broken is named, and hides nothing.
    world.file("tools/broken.py", "def broken(:\n");
    let args = json!({"text": "to be or not to be", "distinct": true});
    assert_eq!(world.updraft(&["tools", "call", "count_words", &args.to_string()]).code(0).out, "4\n");

    let call = json!({"name": "count_words", "args": {"text": "to be or not to be"}});
    let script = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [call]}}], "default": {"text": "six"}});
    let model = world.script("s.json", &script);
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "How many words?"]).code(0);
    ran.says("tools/broken.py:1: invalid syntax");
    let events: Vec<Value> = world.updraft(&["events", &world.last(), "--json"]).code(0).json();
    let said: Vec<String> = events.iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|event| event.contains("\"value\":6") && event.contains("\"text\":\"6\"")), "{said:#?}");
    let prompts = world.updraft(&["show", &world.last(), "--prompts"]).code(0).out;
    assert!(prompts.contains("count_words"), "{prompts}");
}

#[test]
fn the_programs_in_the_documents_work() {
    let world = World::new();
    if !is_to_be_had(&world, "bash") {
        return;
    }
    put_program(&world, block(TOOLS, "In Bash:", "bash"));
    let lines = world.updraft(&["tools", "call", "count_lines", "{\"path\": \"a.txt\"}"]).code(0);
    assert_eq!(lines.out, "1\n");
    world.updraft(&["tools", "call", "count_lines", "{\"path\": \"none.txt\"}"]).code(1).says("none.txt");
    if !is_to_be_had(&world, "node") {
        return;
    }
    put_program(&world, block(TOOLS, "In Node:", "js"));
    let slug = world.updraft(&["tools", "call", "slug", "{\"title\": \"Hello, World!\"}", "--json"]).code(0);
    assert_eq!(slug.value()["reply"]["output"]["value"], json!({"slug": "hello-world"}));
}

#[test]
fn check_names_every_file_with_its_tools_and_faults() {
    let world = World::new();
    if !is_to_be_had(&world, "python3") {
        return;
    }
    world.updraft(&["tools", "check"]).code(0).says("no tools of your own here");
    world.file("tools/good.py", "from pandas import Frame\ndef good(frame: Frame, n: int = 1):\n    'Good.'\n");
    world.updraft(&["tools", "check"]).code(0);
    world.file(".updraft/tools/bad.py", "x = 1\ndef bad(*args): 'b'\ndef good(): 'g'\n");
    world.config("tools/mine.py", "def mine() -> int: 'm'\n");
    let ran = world.updraft(&["tools", "check"]).code(1);
    let own = world.home().canonicalize().unwrap().join("tools/mine.py");
    let wanted = format!(
        "{}\n  tool     mine()\n\
         tools/good.py\n  tool     good(frame: any, n?: integer)\n  \
         warning  tools/good.py:2: `good`: `Frame` is imported from `pandas`, so anything is accepted\n\
         .updraft/tools/bad.py\n  \
         error    .updraft/tools/bad.py:2: `bad`: takes `*args`, which has no names to give arguments by; name the parameters\n  \
         error    .updraft/tools/bad.py:3: `good`: there is already a tool named `good` (tools/good.py)\n",
        own.display()
    );
    assert_eq!(ran.out, wanted);
    let files = world.updraft(&["tools", "check", "--json"]).code(1).json();
    assert_eq!(files[1]["tools"], json!(["good"]));
    assert_eq!((&files[2]["problems"][0]["line"], &files[2]["problems"][0]["level"]), (&json!(2), &json!("error")));
    let listed = world.updraft(&["tools"]).code(0);
    assert!(listed.out.contains("good  group tools, tools/good.py"), "{}", listed.out);
}

#[test]
fn folders_and_the_interpreter_are_settings_of_the_user() {
    let world = World::new();
    if !is_to_be_had(&world, "python3") {
        return;
    }
    let made = Command::new("python3").args(["-m", "venv", "--without-pip", ".venv"]).current_dir(world.ws()).output();
    assert!(made.is_ok_and(|output| output.status.success()), "a virtual environment");
    let packages = std::fs::read_dir(world.ws().join(".venv/lib")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(packages.join("site-packages/third_party.py"), "N = 42\n").unwrap();
    world.file("mine/a.py", "import third_party\ndef answer() -> int:\n    'a'\n    return third_party.N\n");

    // A workspace that nobody trusts decides neither.
    let settings = "[tools]\nfolders = [\"mine\"]\npython = \".venv/bin/python\"\n";
    world.file(".updraft/config.toml", settings);
    world.updraft(&["tools", "call", "answer"]).code(2).says("no tool named `answer`");
    world.config("config.toml", settings);
    // What lies in it is a stranger's, also where the user's settings point to it.
    world.updraft(&["tools", "call", "answer"]).code(1).says("third_party");
    world.updraft(&["trust", "--yes"]).code(0);
    assert_eq!(world.updraft(&["tools", "call", "answer"]).code(0).out, "42\n");
}

#[test]
fn agents_that_may_change_nothing_get_tools_that_only_read() {
    let world = World::new();
    if !is_to_be_had(&world, "python3") {
        return;
    }
    world.file(
        "tools/a.py",
        "def looks():\n    '''Looks.\n\n    Annotations: read-only\n    '''\ndef changes(): 'Changes.'\n",
    );
    // What tools of a workspace that nobody trusts are called stands in the run's settings in any case.
    world.updraft(&["trust", "--yes"]).code(0);
    let model = world.script("s.json", &json!({"rules": [], "default": {"text": "done"}}));
    let offered = |agent: &str| {
        world.updraft(&["run", "--model", &model, "--agent", agent, "x"]).code(0);
        let events = world.updraft(&["events", &world.last(), "--json"]).code(0).out;
        (events.contains("\"looks\""), events.contains("\"changes\""))
    };
    assert_eq!((offered("researcher"), offered("coder")), ((true, false), (true, true)));
}

#[test]
fn what_tools_and_code_print_is_seen_while_they_run_and_steers_no_terminal() {
    let world = World::new();
    if !is_to_be_had(&world, "python3") {
        return;
    }
    let tool = "def count(context) -> int:\n    \"\"\"Count.\"\"\"\n    print('\\x1b[2Jcounting')\n    \
                context.log('half way')\n    return 3\n";
    world.file("tools/counting.py", tool);
    world.updraft(&["trust", "--yes"]).code(0);
    let calls = json!([{"name": "count"}, {"name": "run_python", "args": {"code": "print('from code')"}}]);
    let model = world.script("s.json", &json!([{"calls": calls}, {"text": "three"}]));
    let run = ["run", "--model", &model, "--agent", "coder", "count"];
    let ran = world.updraft(&run).code(0);
    for line in ["| counting\n", "| half way\n", "| from code\n"] {
        assert!(ran.err.contains(line), "{}", ran.err);
    }
    assert!(!ran.err.contains("[2J"), "{}", ran.err);
    let lines = world.updraft(&[&run[..], &["--json"]].concat()).code(0).json();
    let said: Vec<&str> = lines.iter().filter_map(|line| line["item"]["log"].as_str()).collect();
    assert!(said.contains(&"counting") && said.contains(&"half way") && said.contains(&"from code"), "{said:?}");
    let events = world.updraft(&["events", "last", "--json"]).code(0).out;
    assert!(!events.contains("half way"), "it is not journalled");
}
