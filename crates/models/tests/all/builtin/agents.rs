//! What the built-in model does in place of each agent.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_models::TaskBrief;
use updraft_run::{AgentRole, EffectKind, Graph, Message, ToolSpec};

use super::world::{World, ask, tools};

fn brief(agent: &str, goal: &str) -> TaskBrief {
    let role = match agent {
        "planner" => AgentRole::Planner,
        "router" => AgentRole::Router,
        "distiller" => AgentRole::Distiller,
        "qa" | "reviewer" => AgentRole::Judge,
        _ => AgentRole::Work,
    };
    TaskBrief {
        agent: agent.into(),
        role,
        goal: goal.into(),
        step: "only".into(),
        task: "Do it.".into(),
        ..TaskBrief::default()
    }
}

fn told(text: &str) -> Message {
    Message::User(text.into())
}

#[test]
fn a_plan_finds_each_part_then_composes() {
    let goal = "What does this project do, and how does it survive a crash?";
    let plan: Graph = serde_json::from_str(&ask(&brief("planner", goal), &[], &[]).text).unwrap();
    let steps: Vec<_> =
        plan.steps.iter().map(|s| format!("{} {} {:?} {:?}", s.agent, s.id, s.reads, s.writes)).collect();
    assert_eq!(
        steps,
        [
            r#"retriever find_1 [] ["findings_1"]"#,
            r#"retriever find_2 [] ["findings_2"]"#,
            r#"summarizer compose ["findings_1", "findings_2"] ["answer"]"#,
        ]
    );
}

#[test]
fn a_plan_after_a_failure_uses_no_name_twice() {
    let messages = [told("The plan met a failure. Write a new plan.\n\n# Failed\n\nfind_1")];
    let plan: Graph = serde_json::from_str(&ask(&brief("planner", "Who is Tom?"), &messages, &[]).text).unwrap();
    assert!(
        plan.steps.iter().all(|step| step.id.to_string().ends_with("_2") && step.writes[0].ends_with("_2")),
        "{plan:?}"
    );
}

#[test]
fn a_swarm_researches_reviews_and_answers() {
    let goal = "How much does the tank at Marlowe hold?";
    let world = World::new().with("a.md", "The tank at Marlowe holds 40 litres.\n");
    let plan: Graph = serde_json::from_str(&ask(&brief("router", goal), &[], &[]).text).unwrap();
    assert_eq!(
        plan.steps.iter().map(|step| step.agent.as_str()).collect::<Vec<_>>(),
        ["researcher", "reviewer", "thinker"]
    );
    let found = world.converse(&TaskBrief { writes: vec!["findings".into()], ..brief("researcher", goal) });
    let findings: Value = serde_json::from_str::<Value>(&found).unwrap()["findings"].clone();
    let inputs = [("findings".to_owned(), Arc::new(findings))].into();
    let answer = world.converse(&TaskBrief { inputs, writes: vec!["answer".into()], ..brief("thinker", goal) });
    assert!(answer.starts_with("- [1] a.md:1: \"The tank at Marlowe holds 40 litres.\""), "{answer}");
}

#[test]
fn an_agent_by_itself_does_it_all_in_one_step() {
    let world = World::new().with("a.md", "The tank at Marlowe holds 40 litres.\n");
    let answer = world.converse(&brief("helper", "How much does the tank at Marlowe hold?"));
    assert!(answer.starts_with("- [1] a.md:1: \"The tank at Marlowe holds 40 litres.\""), "{answer}");
}

#[test]
fn the_last_turn_is_an_answer() {
    let messages = [told("Do it."), told("This is your last turn: no further tool call will be made.")];
    let answer = ask(&brief("helper", "Who is Tom?"), &messages, &tools());
    assert!(answer.calls.is_empty() && answer.text.starts_with("I found no line"), "{answer:?}");
}

#[test]
fn without_tools_it_quotes_its_inputs() {
    let inputs = [("notes".to_owned(), Arc::new(json!("Some text.\nTom is the cook.\n")))].into();
    let answer = ask(&TaskBrief { inputs, ..brief("thinker", "Who is Tom?") }, &[], &[]).text;
    assert!(answer.contains("Tom is the cook."), "{answer}");
    assert!(ask(&brief("thinker", "Who is Tom?"), &[], &[]).text.contains("nothing to read"));
}

#[test]
fn files_handed_over_are_profiled() {
    let world = World::new().with("a.md", "\n# Tanks\n\nText.\n");
    let answer = world.converse(&TaskBrief { files: vec!["a.md".into()], ..brief("distiller", "") });
    let profile: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(profile, json!({ "files": [{ "path": "a.md", "kind": "document", "lines": 4, "title": "# Tanks" }] }));
}

#[test]
fn the_profile_of_a_table_names_its_columns() {
    let world = World::new()
        .with("a.csv", "city;\"people\"\nOslo;717710\n")
        .with("b.md", "# Tanks\n\n## Sizes\n\n| tank | litres |\n| --- | --- |\n| a | 5 |\n");
    let files = vec!["a.csv".into(), "b.md".into()];
    let answer = world.converse(&TaskBrief { files, ..brief("distiller", "") });
    let profile: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(profile["files"][0]["columns"], json!(["city", "people"]));
    assert_eq!(profile["files"][1]["columns"], json!(["tank", "litres"]));
    assert_eq!(profile["files"][1]["headings"], json!(["# Tanks", "## Sizes"]));
}

#[test]
fn a_file_handed_over_is_quoted_even_if_the_index_leaves_it_out() {
    let world = World::new().with(".gitignore", "out/\n").with("out/a.md", "The Zorgon valve opens at 41 bar.\n");
    let asked = brief("helper", "At what pressure does the Zorgon valve open?");
    let answer = world.converse(&TaskBrief { files: vec!["out/a.md".into()], ..asked });
    assert!(answer.starts_with("- [1] out/a.md:1: \"The Zorgon valve opens at 41 bar.\""), "{answer}");
}

#[test]
fn a_person_is_asked_once() {
    let spec = ToolSpec { name: "ask_user".into(), description: String::new(), parameters: json!({}) };
    let brief =
        TaskBrief { task: "Which colour?".into(), writes: vec!["colour".into()], ..brief("clarification", "Paint it") };
    let first = ask(&brief, &[], std::slice::from_ref(&spec));
    assert_eq!(first.calls[0].args, json!({ "question": "Which colour?" }));
    let result = updraft_run::ToolResult {
        call: first.calls[0].id.clone(),
        name: "ask_user".into(),
        text: "blue".into(),
        is_error: false,
    };
    let messages = [told("Ask."), Message::Assistant(Arc::new(first)), Message::Results(vec![result])];
    assert_eq!(ask(&brief, &messages, &[spec]).text, "blue");
}

#[test]
fn judges_accept_and_reviewers_say_that_they_did_not_judge() {
    let judged = TaskBrief { side_question: Some(EffectKind::Judge), ..brief("retriever", "Who is Tom?") };
    let verdict: Value = serde_json::from_str(&ask(&judged, &[], &[]).text).unwrap();
    assert_eq!(verdict, json!({ "verdict": "accept", "feedback": "" }));
    let review = TaskBrief { writes: vec!["review".into()], ..brief("qa", "Who is Tom?") };
    let verdict: Value = serde_json::from_str(&ask(&review, &[], &[]).text).unwrap();
    assert_eq!(verdict["review"]["verdict"], "accept");
}

#[test]
fn a_summary_is_shorter_than_what_it_replaces() {
    let messages = [told(&"Find Tom.\n".repeat(100)), told("Summarise the conversation so far.")];
    let compacts = TaskBrief { side_question: Some(EffectKind::Compact), ..brief("retriever", "Who is Tom?") };
    let summary = ask(&compacts, &messages, &tools());
    assert!(
        summary.calls.is_empty() && summary.text.starts_with("Find Tom.") && summary.text.len() < 200,
        "{summary:?}"
    );
}

#[test]
fn what_takes_a_language_model_is_declined_in_one_sentence() {
    for agent in ["coder", "browser"] {
        let answer = ask(&brief(agent, "Write a parser"), &[], &tools());
        assert!(answer.calls.is_empty() && answer.text.contains("cannot") && !answer.text.contains('\n'), "{answer:?}");
    }
}

#[test]
fn a_formatter_hands_its_input_on() {
    let inputs = [("draft".to_owned(), Arc::new(json!("As it is.")))].into();
    let brief = TaskBrief { inputs, writes: vec!["report".into()], ..brief("formatter", "A report") };
    assert_eq!(ask(&brief, &[], &[]).text, "As it is.");
}
