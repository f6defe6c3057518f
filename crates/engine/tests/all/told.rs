//! What a model is told beside its task: the files handed over, the user's standing instructions, what earlier steps did.
#![allow(clippy::unwrap_used, reason = "a broken world should stop the test")]

use std::sync::{Arc, Mutex};

use crate::support::{World, by, calls, goal, says, settings, start, step, turn};
use serde_json::json;
use updraft_engine::{EngineOptions, MarkStore};
use updraft_models::{Prompt, ScriptedModel};
use updraft_run::{Goal, Graph, Message, ModelAnswer, Origins, RunId, RunMode, RunSettings};

type Heard = Arc<Mutex<Vec<String>>>;

/// A model that answers by this function, and the first message of every conversation with it.
fn listening(answer: impl Fn(&Prompt<'_>) -> ModelAnswer + Send + Sync + 'static) -> (Arc<ScriptedModel>, Heard) {
    let heard = Heard::default();
    let kept = Arc::clone(&heard);
    let model = ScriptedModel::from_fn("scripted/test", move |prompt| {
        if let (0, Some(Message::User(text))) = (turn(prompt), prompt.messages.first()) {
            kept.lock().unwrap().push(text.to_string());
        }
        answer(prompt)
    });
    (Arc::new(model), heard)
}

fn given(goal: Goal) -> Goal {
    Goal { mode: RunMode::Given, ..goal }
}

#[tokio::test]
async fn files_handed_over_are_told_to_an_agent_and_to_every_step_of_a_given_plan() {
    let world = World::new();
    std::fs::write(world.workspace().join("sales.csv"), "a,b\n1,2\n").unwrap();
    let (model, heard) = listening(|_| says("done"));
    let engine = world.engine_with(model, EngineOptions::default());
    let files = vec!["sales.csv".to_owned()];
    let one = Goal { files: files.clone(), ..by("coder", "Sum it up") };
    start(&engine, "one", one, settings(&world.workspace()), None).await.drive().await.unwrap();
    let plan = Graph { steps: vec![step("a", "coder", &[], &["x"]), step("b", "thinker", &["x"], &["y"])] };
    let two = given(Goal { files, ..goal("Sum it up") });
    start(&engine, "two", two, settings(&world.workspace()), Some(plan)).await.drive().await.unwrap();

    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 3);
    for told in heard.iter() {
        assert!(told.contains("## Files handed over with the goal\n\n- sales.csv\n"), "{told}");
    }
}

#[tokio::test]
async fn the_distiller_hears_the_goal_and_every_step_hears_what_it_found() {
    let world = World::new();
    std::fs::write(world.workspace().join("sales.csv"), "a,b\n1,2\n").unwrap();
    let (model, heard) = listening(|prompt| {
        says(match prompt.brief.agent.as_str() {
            "distiller" => r#"{"sales.csv": "two columns"}"#,
            "planner" => {
                r#"{"steps": [{"id": "sum", "agent": "thinker", "prompt": "Add.", "reads": [], "writes": ["sum"]}]}"#
            }
            _ => "3",
        })
    });
    let engine = world.engine_with(model, EngineOptions::default());
    let wanted = Goal { files: vec!["sales.csv".into()], ..goal("What is the total?") };
    start(&engine, "run", wanted, settings(&world.workspace()), None).await.drive().await.unwrap();

    let heard = heard.lock().unwrap();
    let [distiller, planner, worker] = heard.as_slice() else { panic!("{heard:?}") };
    assert!(distiller.contains("sales.csv") && distiller.contains("What is the total?"), "{distiller}");
    assert!(planner.contains(r#"{"sales.csv":"two columns"}"#), "{planner}");
    assert!(worker.contains(r#"{"sales.csv":"two columns"}"#), "{worker}");
}

#[tokio::test]
async fn a_later_step_hears_what_the_earlier_one_did_and_gave() {
    let world = World::new();
    std::fs::write(world.workspace().join("a.txt"), "hello\n").unwrap();
    let (model, heard) = listening(|prompt| match (prompt.brief.step.as_str(), turn(prompt)) {
        ("look", 0) => calls(&[("read_file", json!({"path": "a.txt"})), ("read_file", json!({"path": "b.txt"}))]),
        ("look", _) => says("it says hello"),
        _ => says("fine"),
    });
    let engine = world.engine_with(model, EngineOptions::default());
    let mut say = step("say", "thinker", &["found"], &["answer"]);
    say.description = "Say it".into();
    let plan = Graph { steps: vec![step("look", "retriever", &[], &["found"]), say] };
    start(&engine, "run", given(goal("Look")), settings(&world.workspace()), Some(plan)).await.drive().await.unwrap();

    let heard = heard.lock().unwrap();
    let (_, history) = heard[1].split_once("## History\n\n").unwrap();
    let (history, _) = history.split_once("\n\n#").unwrap();
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines[0], "- `look` (retriever, completed): ");
    assert_eq!(lines[1], r#"  - read_file {"path":"a.txt"} → 1	hello"#);
    assert!(lines[2].starts_with(r#"  - read_file {"path":"b.txt"} → did not work: "#), "{history}");
    assert_eq!(lines[3], "  - gave: it says hello");
    assert!(engine.journal().head(&RunId::parse("run").unwrap()).is_ok());
    let replayed = updraft_engine::replay(engine.journal(), &RunId::parse("run").unwrap()).unwrap();
    assert!(replayed.differences.is_empty(), "{:?}", replayed.differences);
}

/// Where the instructions of a workspace stand in the prompt of a run there.
async fn prompt_with_instructions(world: &World, id: &str, settings: RunSettings, options: EngineOptions) -> String {
    let (model, heard) = listening(|_| says("done"));
    let engine = world.engine_with(model, options);
    start(&engine, id, by("coder", "Fix it"), settings, None).await.drive().await.unwrap();
    let heard = heard.lock().unwrap();
    heard[0].clone()
}

#[tokio::test]
async fn agents_md_is_the_users_word_in_a_trusted_workspace_and_material_elsewhere() {
    let world = World::new();
    std::fs::write(world.workspace().join("AGENTS.md"), "Use tabs.\n").unwrap();
    let trusted = settings(&world.workspace());
    let told = prompt_with_instructions(&world, "one", trusted.clone(), EngineOptions::default()).await;
    let (before, context) = told.split_once("# Context\n").unwrap();
    assert!(before.contains("# Standing instructions") && before.contains("--- AGENTS.md ---\n\nUse tabs."), "{told}");
    assert!(!context.contains("Use tabs."), "{told}");

    let strange = RunSettings { workspace_trusted: false, ..trusted.clone() };
    let told = prompt_with_instructions(&world, "two", strange, EngineOptions::default()).await;
    let (before, context) = told.split_once("# Context\n").unwrap();
    assert!(!before.contains("# Standing instructions"), "{told}");
    assert!(context.contains("## Documents\n\n--- AGENTS.md ---\n\nUse tabs."), "{told}");

    // Trusted, but another run has written words from outside to it.
    let marks = MarkStore::at(&world.folder.path().join("marks"));
    let words = [("AGENTS.md".to_owned(), Origins::of("https://example.com"))].into();
    let by = RunId::parse("other").unwrap();
    marks.book(&trusted.workspace).add(&by, &words, updraft_run::Timestamp(1)).unwrap();
    let options = EngineOptions { marks: Some(marks), ..EngineOptions::default() };
    let told = prompt_with_instructions(&world, "three", trusted, options).await;
    let (before, context) = told.split_once("# Context\n").unwrap();
    assert!(!before.contains("# Standing instructions") && context.contains("Use tabs."), "{told}");
}
