//! `ask_model`: one model asks another, within the budget.

use serde_json::{Value, json};

use crate::world::World;

/// An agent that asks the profile `second`, and what each model says.
fn world(price: f64) -> (World, String) {
    let world = World::new();
    let question = json!({"model": "second", "question": "what is six times seven?", "system": "Be brief."});
    let first = world.script(
        "first.json",
        &json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [{"name": "ask_model", "args": question}]}}],
                "default": {"text": "it says so"}, "price": {"input": 0.1, "output": 0.1}}),
    );
    let second = world.script(
        "second.json",
        &json!({"rules": [{"when": {"contains": "six times seven"},
                           "answer": {"text": "forty-two", "usage": {"input": 100, "output": 10}}}],
                "price": {"input": price, "output": price}}),
    );
    world.config("config.toml", &format!("[profiles.second]\nmodel = {second:?}\n"));
    world.config("agents/asker.md", "---\nname: asker\npurpose: Asks.\ntools: [ask_model]\n---\nAsk.\n");
    (world, first)
}

fn events(world: &World) -> Vec<Value> {
    world.updraft(&["events", "last", "--json"]).json()
}

#[test]
fn another_model_is_asked_and_its_bill_is_the_runs() {
    let (world, first) = world(1.0);
    world.updraft(&["run", "--model", &first, "--agent", "asker", "--budget", "1", "go"]).code(0);
    let prompts = world.updraft(&["show", "last", "--prompts"]).out;
    assert!(prompts.contains("[result of ask_model]\nforty-two"), "{prompts}");
    let shown = world.updraft(&["show", "last", "--json"]).value();
    let said = shown.to_string();
    assert!(said.contains("forty-two"), "{said}");
    let text = events(&world).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let reserved = text.lines().filter(|line| line.contains("reserved") && line.contains("call.0")).count();
    assert_eq!(reserved, 1, "{text}");
    world.updraft(&["replay", "last", "--strict"]).code(0);
}

#[test]
fn a_budget_that_is_too_small_stops_before_the_question_and_a_larger_one_goes_on() {
    let (world, first) = world(100.0);
    world
        .updraft(&["run", "--model", &first, "--agent", "asker", "--budget", "0.05", "go"])
        .code(4)
        .says("limit reached: cost");
    assert!(!world.updraft(&["show", "last", "--json"]).out.contains("forty-two"));
    assert_eq!(world.updraft(&["resume", "last", "--budget", "50"]).code(0).out, "it says so\n");
}

#[test]
fn a_model_that_is_not_set_up_is_refused_with_those_that_are() {
    let (world, _) = world(1.0);
    for name in ["third", "openai/gpt-5", "scripted//etc/passwd", "openai-compatible/x?base=http://127.0.0.1:9/v1"] {
        let call = json!({"name": "ask_model", "args": {"model": name, "question": "?"}});
        let script = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [call]}}], "default": {"text": "no"}});
        let model = world.script("refused.json", &script);
        world.updraft(&["run", "--model", &model, "--agent", "asker", "go"]).code(0);
        let prompts = world.updraft(&["show", "last", "--prompts"]).out;
        assert!(prompts.contains("is not a model that is set up here") && prompts.contains("second"), "{prompts}");
    }
}
