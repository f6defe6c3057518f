//! Goals that the binary pursues with the real model: plain, with tools in both ways, and in a fixed form.

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use updraft_tools::Schema;

use crate::server::Served;

const PLAIN: &str = "---\nname: plain\npurpose: Answers.\ntools: []\n---\nYou answer in one short sentence.\n";
const READER: &str = "---\nname: reader\npurpose: Reads files.\ntools: [read_file, list_files]\n\
    permissions: read-only\n---\nYou answer questions about the files of a workspace.\n";
const FORM: &str = r#"{"type": "object", "properties": {"animal": {"type": "string", "maxLength": 12}, "legs": {"type": "integer", "minimum": 0, "maximum": 12}, "sound": {"enum": ["bark", "meow", "moo"]}}, "required": ["animal", "legs", "sound"], "additionalProperties": false}"#;

/// A home, a workspace, and a model that `auto` finds by the address alone.
pub(crate) struct Place<'s> {
    folder: TempDir,
    server: &'s Served,
}

impl<'s> Place<'s> {
    pub(crate) fn new(server: &'s Served) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agents = folder.path().join("home/agents");
        std::fs::create_dir_all(&agents).unwrap();
        let shaped = format!(
            "---\nname: shaped\npurpose: Describes.\ntools: []\nschema: {FORM}\n---\nYou describe an animal.\n"
        );
        for (name, text) in [("plain", PLAIN), ("reader", READER), ("shaped", shaped.as_str())] {
            std::fs::write(agents.join(format!("{name}.md")), text).unwrap();
        }
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        std::fs::write(folder.path().join("ws/harbour.txt"), "The harbour opens at seven.\n").unwrap();
        Self { folder, server }
    }

    fn updraft(&self, arguments: &[&str]) -> Output {
        self.updraft_with(arguments, "80")
    }

    /// With this limit on each answer.
    pub(crate) fn updraft_with(&self, arguments: &[&str], max_output: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
        command.args(arguments).current_dir(self.folder.path().join("ws")).env_clear();
        command.env("UPDRAFT_HOME", self.folder.path().join("home")).env("NO_COLOR", "1");
        command.env("OPENAI_BASE_URL", format!("{}/v1", self.server.address)).env("UPDRAFT_MAX_OUTPUT", max_output);
        command.output().unwrap()
    }

    /// Pursues a goal to its end, and gives the events.
    fn run(&self, agent: &str, more: &[&str], goal: &str) -> Vec<Value> {
        let ran = self.updraft(&[&["run", "--json", "--max-turns", "3", "--agent", agent], more, &[goal]].concat());
        let out = String::from_utf8(ran.stdout).unwrap();
        // Done, or out of turns: such a model does not always know when it has the answer. Or it finds no end.
        let code = ran.status.code();
        let has_no_end = code == Some(1) && out.contains("cut off at the limit on output, and so was its continuation");
        assert!(matches!(code, Some(0 | 4)) || has_no_end, "{code:?}: {out}{}", String::from_utf8_lossy(&ran.stderr));
        let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let end = if code == Some(4) { "run.exhausted" } else { "run.finished" };
        assert_eq!(events.last().unwrap()["type"], end, "{out}");
        let statistics = &events.last().unwrap()["statistics"];
        for count in ["input_tokens", "output_tokens", "turns"] {
            assert!(statistics[count].as_u64() > Some(0), "{count}: {statistics}");
        }
        assert!(statistics["turns"].as_u64() <= Some(3), "{statistics}");
        events
    }
}

fn of_type<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn a_real_model_pursues_goals() {
    let Some(server) = Served::model() else { return };
    let place = Place::new(&server);
    plain_words(&place);
    tools_in_words(&place);
    native_tools_that_never_reach_the_model(&place);
    a_fixed_form(&place);
    a_checked_model(&place);
}

fn plain_words(place: &Place<'_>) {
    let events = place.run("plain", &[], "Name a colour of the rainbow.");
    assert!(events[0]["model"].as_str().unwrap().starts_with("openai-compatible/smollm2?base="), "{}", events[0]);
    let end = events.last().unwrap();
    assert_eq!(end["statistics"]["tool_calls"], 0);
    assert!(end["status"] != "done" || !end["answer"].as_str().unwrap().is_empty(), "{end}");
    assert!(!of_type(&events, "item.updated").is_empty(), "it was not streamed");
}

/// The model's template knows no tools, which the server says: so they are told in words, and calls have a form. Such a
/// model may answer without a call, so it is asked in several ways until it makes one.
fn tools_in_words(place: &Place<'_>) {
    let goals = ["Read the file harbour.txt.", "List the files.", "What does harbour.txt say?", "Call read_file."];
    let called = goals.iter().map(|goal| calls(&place.run("reader", &[], goal))).find(|calls| !calls.is_empty());
    assert!(called.is_some(), "no goal made the model call a tool");
    for item in called.into_iter().flatten() {
        assert!(["read_file", "list_files"].contains(&item["tool"].as_str().unwrap()), "{item}");
        assert!(item["arguments"].is_object(), "{item}");
    }
}

fn calls(events: &[Value]) -> Vec<Value> {
    of_type(events, "item.started").into_iter().map(|call| call["item"].clone()).collect()
}

/// The server drops them without a word. What the model then says is an answer, or read as calls.
fn native_tools_that_never_reach_the_model(place: &Place<'_>) {
    let model = ["--model", "openai-compatible/smollm2?tools=native"];
    let events = place.run("reader", &model, "Read the file harbour.txt.");
    assert!(!of_type(&events, "turn.completed").is_empty(), "{events:?}");
}

fn a_fixed_form(place: &Place<'_>) {
    let events = place.run("shaped", &[], "Describe a dog.");
    let end = events.last().unwrap();
    assert_eq!(end["status"], "done", "{end}");
    let answer: Value = serde_json::from_str(end["answer"].as_str().unwrap()).unwrap();
    let form = Schema::new(&serde_json::from_str(FORM).unwrap()).unwrap();
    assert!(form.accept(&answer).is_ok(), "{answer}");
    assert_eq!(end["statistics"]["turns"], 1, "it fitted at once: {end}");
}

fn a_checked_model(place: &Place<'_>) {
    let ran = place.updraft(&["models", "--check", "--json"]);
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{out}{}", String::from_utf8_lossy(&ran.stderr));
    let said: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(said["model"], "openai-compatible/smollm2", "{said}");
    assert_eq!(said["calls_tools"], true, "{said}");
    assert!(said["input_tokens"].as_u64() > Some(0) && said["output_tokens"].as_u64() > Some(0), "{said}");
}
