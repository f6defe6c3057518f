//! How a planner is asked: with a schema always, and briefly if its model is small.

#![allow(clippy::unwrap_used, reason = "a broken world should stop the test")]

use std::sync::{Arc, Mutex};

use serde_json::Value;
use updraft_models::Prompt;
use updraft_run::{Message, RunSettings};

use crate::support::{World, goal, says, settings, start};

/// What a planner was asked: its instructions, the messages, and the schema of its answer.
type Asked = (String, Vec<String>, Value);

fn asked(prompt: &Prompt<'_>) -> Asked {
    let words = |message: &Message| match message {
        Message::User(text) => text.to_string(),
        Message::Assistant(answer) => answer.text.clone(),
        Message::Results(_) | Message::Pictures(_) => String::new(),
    };
    (prompt.system.to_owned(), prompt.messages.iter().map(words).collect(), prompt.schema.cloned().unwrap_or_default())
}

/// Plans with a model that gives these answers, and tells what it was asked.
async fn plan(window: Option<u64>, answers: &[&str]) -> (Vec<Asked>, updraft_run::Run) {
    let world = World::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (seen, answers) = (Arc::clone(&heard), answers.iter().map(ToString::to_string).collect::<Vec<_>>());
    let engine = world.engine(move |prompt| {
        if prompt.brief.agent != "planner" {
            return says("done");
        }
        let mut seen = seen.lock().unwrap();
        seen.push(asked(prompt));
        says(answers[seen.len() - 1].clone())
    });
    let settings = RunSettings { window, ..settings(&world.workspace()) };
    let handle = start(&engine, "small", goal("Count the words in harbour.txt"), settings, None).await;
    let run = handle.drive().await.unwrap().run;
    let heard = heard.lock().unwrap().clone();
    (heard, run)
}

#[tokio::test]
async fn a_small_planner_is_asked_briefly_and_again_in_a_fresh_question() {
    let faulty = r#"{"steps": [{"agent": "wizard", "task": "conjure the words"}]}"#;
    let good = r#"{"steps": [{"agent": "coder", "task": "count the words"}, {"agent": "thinker", "task": "say it"}]}"#;
    let (heard, run) = plan(Some(4_096), &[faulty, good]).await;
    let [(system, first, schema), (_, second, _)] = heard.as_slice() else { panic!("{} questions", heard.len()) };
    assert_eq!(schema["properties"]["steps"]["items"]["required"], serde_json::json!(["agent", "task"]));
    let size: usize = system.len() + first.iter().map(String::len).sum::<usize>() + schema.to_string().len();
    assert!(size / 3 < 1_000, "{size} bytes:\n{system}\n{first:?}");
    assert!(system.contains("`coder`") && system.contains("sandbox") && !system.contains("`planner`"), "{system}");
    assert_eq!(first.len(), second.len(), "nothing of the first answer is told again");
    let again = second.last().unwrap();
    assert!(again.contains("`wizard`") && !again.contains("conjure"), "{again}");
    assert_eq!((run.status_word(), run.planned_instead()), ("done", None));
    assert_eq!(run.steps().filter(|step| step.role == updraft_run::StepRole::Work).count(), 2);
}

#[tokio::test]
async fn a_large_planner_gets_the_whole_form_and_hears_its_faults_in_the_conversation() {
    let faulty = r#"{"steps": [{"id": "a", "agent": "wizard"}]}"#;
    let good = r#"{"steps": [{"id": "a", "agent": "thinker", "prompt": "think"}]}"#;
    let (heard, run) = plan(None, &[faulty, good]).await;
    let agents = &heard[0].2["properties"]["steps"]["items"]["properties"]["agent"]["enum"];
    let agents: Vec<&str> = agents.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(agents.contains(&"qa") && !agents.contains(&"planner") && !agents.contains(&"distiller"), "{agents:?}");
    assert!(heard[0].0.contains("Tools: files, sandbox"), "{}", heard[0].0);
    assert_eq!((heard[0].1.len(), heard[1].1.len()), (1, 3));
    assert_eq!(run.status_word(), "done");
}
