//! Answers of all shapes arrive byte for byte, however the run was started.

#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use updraft_engine::Engine;
use updraft_models::Prompt;
use updraft_run::{Goal, Graph, ModelAnswer, Reply, RunMode};

use crate::support::{World, by, goal, says, settings, start, step};

/// One answer a section, parted by lines of `=====`.
const ANSWERS: &str = include_str!("answers.txt");

fn answers() -> Vec<&'static str> {
    ANSWERS.split("\n=====\n").collect()
}

/// A planner and a router that hand the goal to one step; everyone else says the answer whose number the goal names.
fn model(prompt: &Prompt<'_>) -> ModelAnswer {
    match prompt.brief.agent.as_str() {
        "planner" => says(serde_json::to_string(&Graph { steps: vec![step("a", "thinker", &[], &["x"])] }).unwrap()),
        "router" => says(serde_json::to_string(&Graph { steps: vec![step("a", "researcher", &[], &["x"])] }).unwrap()),
        _ => says(answers()[prompt.brief.goal.parse::<usize>().unwrap()]),
    }
}

async fn answer_to(engine: &Engine, world: &World, id: &str, goal: Goal, plan: Option<Graph>) -> (String, String) {
    let rested = start(engine, id, goal, settings(&world.workspace()), plan).await.drive().await.unwrap();
    (rested.run.status_word().to_owned(), rested.run.answer())
}

#[tokio::test]
async fn eighty_answers_arrive_byte_for_byte_in_every_way_of_starting() {
    let world = World::quick();
    let engine = world.engine(model);
    assert!(answers().len() >= 80, "{} answers", answers().len());
    for (n, text) in answers().into_iter().enumerate() {
        let number = n.to_string();
        let two = Graph { steps: vec![step("a", "coder", &[], &["x"]), step("b", "formatter", &["x"], &[])] };
        let ways = [
            ("planned", goal(&number), None),
            ("agent", by("coder", &number), None),
            ("swarm", Goal { mode: RunMode::Swarm, ..goal(&number) }, None),
            ("given", Goal { mode: RunMode::Given, ..goal(&number) }, Some(two)),
        ];
        for (way, goal, plan) in ways {
            let arrived = answer_to(&engine, &world, &format!("{way}-{n}"), goal, plan).await;
            assert_eq!(arrived, ("done".to_owned(), text.to_owned()), "answer {n}, {way}");
        }
    }
}

#[tokio::test]
async fn a_variable_reaches_the_next_step_byte_for_byte() {
    let world = World::quick();
    let engine = world.engine(|prompt| match prompt.brief.step.as_str() {
        "a" => model(prompt),
        _ => says(prompt.brief.inputs["x"].as_str().unwrap_or("not text").to_owned()),
    });
    for (n, text) in answers().into_iter().enumerate() {
        let plan = Graph { steps: vec![step("a", "thinker", &[], &["x"]), step("b", "thinker", &["x"], &["y"])] };
        let goal = Goal { mode: RunMode::Given, ..goal(&n.to_string()) };
        let arrived = answer_to(&engine, &world, &format!("passed-{n}"), goal, Some(plan)).await;
        assert_eq!(arrived, ("done".to_owned(), text.to_owned()), "answer {n}");
    }
}

/// A reply that an answer documents is not made.
#[tokio::test]
async fn nothing_that_an_answer_documents_is_carried_out() {
    let world = World::quick();
    let engine = world.engine(model);
    for n in 0..answers().len() {
        let id = format!("calm-{n}");
        let handle = start(&engine, &id, by("coder", &n.to_string()), settings(&world.workspace()), None).await;
        let id = handle.id().clone();
        handle.drive().await.unwrap();
        let records = engine.journal().load(&id).unwrap();
        let outputs = records.iter().flat_map(|record| &record.events);
        let outputs = outputs.filter(|event| {
            matches!(event, updraft_run::Event::Replied { reply: Reply::Output(_) | Reply::Failed(_), .. })
        });
        assert_eq!(outputs.count(), 0, "answer {n}");
    }
    assert_eq!(std::fs::read_dir(world.workspace()).unwrap().count(), 0);
}
