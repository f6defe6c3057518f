//! Agents as files: whose role counts, and what the front matter of our own and of other tools' files is read as.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken setting shall stop the test")]

use std::path::Path;

use updraft_engine::{Agent, Agents, FolderTrust, NewRun, Prompts, RemoteAddress, RosterTexts};
use updraft_run::{AgentRole, Roster, RunSettings};

use crate::support::{World, by, calls, says, settings, specs, start, turn};

/// The program's agents, and over them the files of some folders, the nearest last.
fn with(folders: &[&[(&str, &str)]]) -> Agents {
    let mut agents = Agents::compiled_in().unwrap();
    for files in folders {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in *files {
            std::fs::write(folder.path().join(format!("{name}.md")), text).unwrap();
        }
        agents.override_from(folder.path(), FolderTrust::Full).unwrap();
    }
    agents
}

fn roster(agents: &Agents) -> Roster {
    RosterTexts::gather(agents.iter(), &Prompts::compiled_in(), &|_| Vec::new(), &|_| true).0
}

fn planner(agents: &Agents) -> String {
    let roster = roster(agents);
    let planners = roster.agents.iter().filter(|card| card.role() == AgentRole::Planner);
    planners.map(|card| card.name.as_str()).collect::<Vec<_>>().join(" ")
}

const STRATEGIST: &str = "---\npurpose: Plans.\nrole: planner\n---\nYou plan.\n";

#[test]
fn every_role_is_somebodys_among_the_agents_of_the_program() {
    let roster = roster(&with(&[]));
    for role in AgentRole::ALL {
        assert!(roster.in_role(role).is_some(), "{role:?}");
    }
}

#[test]
fn the_nearest_agent_with_a_role_has_it_and_nobody_else() {
    assert_eq!(planner(&with(&[])), "planner");
    assert_eq!(planner(&with(&[&[("zoe", STRATEGIST)]])), "zoe");
    assert_eq!(planner(&with(&[&[("adam", STRATEGIST)], &[("zoe", STRATEGIST)]])), "zoe");
    assert_eq!(planner(&with(&[&[("zoe", STRATEGIST)], &[("adam", STRATEGIST)]])), "adam");
    assert_eq!(planner(&with(&[&[("zoe", STRATEGIST), ("adam", STRATEGIST)]])), "adam");
}

#[test]
fn a_file_that_says_no_role_has_that_of_the_agent_it_replaces() {
    let agents = with(&[&[("planner", "---\npurpose: Plans.\n---\nYou plan.\n")]]);
    assert_eq!(planner(&agents), "planner");
    assert_eq!(agents.get("planner").unwrap().prompt, "You plan.");
}

#[test]
fn an_agent_that_is_left_out_gives_its_role_back() {
    let mut agents = with(&[&[("zoe", STRATEGIST)]]);
    agents.leave_out("zoe", "its model is not available".into());
    assert_eq!(planner(&agents), "planner");
}

#[test]
fn where_nobody_plans_a_run_says_so_before_it_starts() {
    let agents = with(&[&[("planner", "---\npurpose: Works.\nrole: work\n---\nWork.\n")]]);
    assert_eq!(planner(&agents), "");
    assert!(agents.in_role(AgentRole::Planner).is_none());
}

fn read(text: &str) -> Agent {
    Agent::parse("stem", text, Path::new("stem.md")).unwrap()
}

fn fault(text: &str) -> String {
    Agent::parse("stem", text, Path::new("stem.md")).unwrap_err().to_string()
}

#[test]
fn a_file_of_another_tool_is_read_for_what_means_the_same() {
    let agent = read(
        "---\nname: code-reviewer\ndescription: Reviews code.\ntools: Read, Grep\nmodel: inherit\nmaxTurns: 12\n\
         disallowedTools: Write\ncolor: purple\nhooks:\n  PreToolUse:\n    - matcher: Bash\n---\nYou review.\n",
    );
    assert_eq!((agent.name.as_str(), agent.purpose.as_str()), ("code-reviewer", "Reviews code."));
    assert_eq!(agent.tools, ["Read", "Grep"]);
    assert_eq!((agent.model, agent.turns, agent.narrowed.rules.deny.len()), (None, Some(12), 1));
    assert_eq!(agent.ignored, ["color", "hooks"]);
    assert_eq!(agent.prompt, "You review.");
}

#[test]
fn an_agent_on_another_server_has_the_tool_that_asks_it_and_a_prompt() {
    let agent = read("---\npurpose: Answers.\na2a: https://a.example\na2a-token: A_TOKEN\na2a-agent: law\n---\n");
    let (token_env, tenant) = (Some("A_TOKEN".to_owned()), Some("law".to_owned()));
    assert_eq!(agent.remote, Some(RemoteAddress { url: "https://a.example".to_owned(), token_env, tenant }));
    assert_eq!(agent.tools, ["ask_stem"]);
    assert!(agent.prompt.contains("Call `ask_stem` once"), "{}", agent.prompt);
    let own = read("---\npurpose: Answers.\na2a: http://a.example\ntools: [files]\n---\nAsk politely.\n");
    assert_eq!((own.prompt.as_str(), own.tools.join(" ").as_str()), ("Ask politely.", "files ask_stem"));
    assert!(fault("---\npurpose: Answers.\na2a: a.example\n---\n").contains("`a2a` is the address of a server"));
}

#[test]
fn lists_may_be_written_in_any_form() {
    let tools = |written: &str| read(&format!("---\npurpose: Works.\n{written}\n---\nWork.\n")).tools;
    for written in [
        "tools: [files, ask_user]",
        "tools: files, ask_user",
        "tools:\n  - files\n  - ask_user",
        "tools:\n- 'files' # reads\n- \"ask_user\"",
        "tools: [files]\nmcp_servers: [ask_user]",
    ] {
        assert_eq!(tools(written), ["files", "ask_user"], "{written}");
    }
    for nothing in ["tools: []", "tools:", "tools: ~", "model:"] {
        assert!(tools(nothing).is_empty(), "{nothing}");
    }
}

#[test]
fn prose_may_take_several_lines_stand_in_quotes_or_hold_colons() {
    let purpose = |written: &str| read(&format!("---\n{written}\n---\nWork.\n")).purpose;
    let wanted = "Use it when: a file is broken. It's quick.";
    for written in [
        "description: |\n  Use it when: a file is broken.\n  It's quick.",
        "description: >-\n  Use it when: a file is broken.\n\n  It's quick.",
        "description: \"Use it when: a file is broken. It's quick.\"",
        "description: 'Use it when: a file is broken. It''s quick.'",
        "purpose: Use it when: a file is broken. It's quick.",
        "purpose: Use it when: a file is broken. It's quick.\ndescription: Something else: this.",
    ] {
        assert_eq!(purpose(written), wanted, "{written}");
    }
    for sentence in
        ["`x` is mended.", "Handles issue #12 of it.", "\"Careful\" reviewer", "[draft] Writes", "*Reviews*"]
    {
        assert_eq!(purpose(&format!("description: {sentence}")), sentence);
    }
}

#[test]
fn limits_of_other_tools_files_count_however_they_are_spelt() {
    let agent =
        read("---\npurpose: A.\nmax_turns: 3\ndisallowed-tools: run_command\npermissionMode: plan\n---\nWork.\n");
    assert_eq!((agent.turns, agent.read_only, agent.narrowed.rules.deny.len()), (Some(3), true, 1));
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_no_part_of_a_file() {
    let agent = read("\u{feff}---\r\npurpose: Works.\r\ntools:\r\n  - files\r\n---\r\nFirst.\r\n\r\nSecond.\r\n");
    assert_eq!((agent.purpose.as_str(), agent.prompt.as_str()), ("Works.", "First.\n\nSecond."));
    assert_eq!(agent.tools, ["files"]);
}

#[test]
fn a_schema_is_json_or_yaml() {
    let schema = |written: &str| read(&format!("---\npurpose: Works.\n{written}\n---\nWork.\n")).schema.unwrap();
    let wanted = serde_json::json!({"type": "object", "required": ["n"], "properties": {"n": {"minimum": 1}}});
    for written in [
        r#"schema: {"type": "object", "required": ["n"], "properties": {"n": {"minimum": 1}}}"#,
        r#"schema: {"type":"object","required":["n"],"properties":{"n":{"minimum":1}}}"#,
        "schema:\n  type: object\n  required: [n]\n  properties:\n    n:\n      minimum: 1",
        "schema: |\n  {\"type\": \"object\", \"required\": [\"n\"],\n   \"properties\": {\"n\": {\"minimum\": 1}}}",
    ] {
        assert_eq!(schema(written), wanted, "{written}");
    }
}

#[test]
fn faults_name_the_file_the_line_and_what_to_write() {
    for (text, wanted) in [
        ("no front matter\n", "stem.md:1: expected `---` and front matter with `name` and `purpose`"),
        ("---\npurpose: Works.\n", "stem.md:2: the front matter has no closing `---`"),
        ("---\ntools: []\n---\n", "stem.md:1: `purpose` is missing"),
        ("---\n---\nWork.\n", "stem.md:1: `purpose` is missing"),
        ("---\npurpose: A.\nturns: ten\n---\n", "stem.md:3: `turns` is `ten`; expected a number from 1 to 1000"),
        ("---\npurpose: A.\n# why\nrole: boss\n---\n", "stem.md:4: `role` is `boss`; expected `work`, `judge`"),
        ("---\npurpos: A.\n---\n", "stem.md:2: `purpos` is not known here; write `purpose`"),
        ("---\npurpose: A.\ndney: [x]\n---\n", "stem.md:3: `dney` is not known here; write `deny`"),
        ("---\npurpose: A.\ntools: {a: b}\n---\n", "stem.md:3: `tools` is not a list of words"),
        ("---\npurpose:\n- A\n---\n", "stem.md:2: `purpose` is a list or an object"),
        ("---\npurpose: A.\nread_only: true\n---\n", "stem.md:3: `read_only` is not known here; write `tools`, `deny`"),
        ("---\npurpose: A.\ndisallowedTool: x\n---\n", "`disallowedTool` is not known here; write `disallowedtools`"),
        ("---\npurpose: A.\n...\ndeny: [x]\n---\n", "expected nothing more before the closing `---`"),
        ("---\npurpose: A.\npurpose: B.\n---\n", "stem.md:3: `purpose` is given twice"),
        ("---\npurpose: A.\ntools: [files\n---\n", "put text in quotes"),
        ("---\njust words\n---\n", "stem.md:2: expected lines of the form `key: value`"),
    ] {
        let said = fault(text);
        assert!(said.contains(wanted), "{text}: {said}");
    }
}

#[test]
fn values_nested_without_end_are_refused() {
    for part in ["[", "{a: ", "- "] {
        let text = format!("---\npurpose: A.\ncolor:\n  {}\n---\n", part.repeat(100_000));
        let said = fault(&text);
        assert!(said.contains("nested too deeply") || said.contains("recursion limit"), "{said}");
    }
}

#[tokio::test]
async fn a_model_with_a_small_window_gets_the_short_prompts() {
    let agents = Agents::compiled_in().unwrap();
    for agent in agents.iter().filter(|agent| agent.role != Some(AgentRole::Planner)) {
        let small = agent.small.as_ref().unwrap_or_else(|| panic!("{} has no short prompt", agent.name));
        assert!(small.len() * 2 < agent.prompt.len(), "{}: {} bytes", agent.name, small.len());
    }
    let world = World::quick();
    let engine = world.engine(|prompt| says(prompt.system));
    for (window, wanted) in [(Some(4_096), &agents.get("coder").unwrap().small), (Some(200_000), &None), (None, &None)]
    {
        let settings = RunSettings { window, ..settings(&world.workspace()) };
        let id = format!("window-{}", window.unwrap_or_default());
        let rested = start(&engine, &id, by("coder", "go"), settings, None).await.drive().await.unwrap();
        let wanted = wanted.clone().unwrap_or_else(|| agents.get("coder").unwrap().prompt.clone());
        assert_eq!(rested.run.answer(), wanted, "{window:?}");
    }
}

#[tokio::test]
async fn a_model_with_a_small_window_is_given_few_tools() {
    let world = World::quick();
    let engine = world.engine(|prompt| {
        let names: Vec<&str> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
        says(names.join(" "))
    });
    let few = ["edit_file", "read_file", "run_command", "search_files", "write_file"];
    let mut given = Vec::new();
    for window in [16_384, 32_768] {
        let settings = RunSettings { window: Some(window), ..settings(&world.workspace()) };
        let id = format!("tools-{window}");
        let rested = start(&engine, &id, by("coder", "go"), settings, None).await.drive().await.unwrap();
        given.push(rested.run.answer().split(' ').map(str::to_owned).collect::<Vec<_>>());
    }
    let (small, large) = (&given[0], &given[1]);
    assert!(small.iter().all(|tool| few.contains(&tool.as_str())), "{small:?}");
    assert!(small.len() < large.len(), "{large:?}");
    let left = large.iter().filter(|tool| few.contains(&tool.as_str()));
    assert!(left.eq(small), "{small:?} of {large:?}");
}

#[tokio::test]
async fn a_model_that_calls_apply_patch_by_habit_is_understood() {
    let world = World::quick();
    std::fs::write(world.workspace().join("a.txt"), "old\n").unwrap();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch";
    let engine = world.engine(move |prompt| match turn(prompt) {
        0 => calls(&[("apply_patch", serde_json::json!({ "input": patch }))]),
        _ => says("done"),
    });
    // An agent that has the file tools, but not `apply_patch` by name.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("editor.md"), "---\npurpose: Edits.\ntools: [files]\n---\nEdit.\n").unwrap();
    let mut agents = Agents::compiled_in().unwrap();
    agents.override_from(folder.path(), FolderTrust::Full).unwrap();
    let new = NewRun {
        goal: by("editor", "edit it"),
        settings: settings(&world.workspace()),
        budget: updraft_run::Budget::default(),
        plan: None,
        agents: &agents,
        prompts: &Prompts::compiled_in(),
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| false,
        pictures: Vec::new(),
    };
    let rested = engine.start(updraft_run::RunId::parse("habit").unwrap(), new).await.unwrap().drive().await.unwrap();
    assert_eq!(rested.run.answer(), "done");
    assert_eq!(std::fs::read_to_string(world.workspace().join("a.txt")).unwrap(), "new\n");
}
