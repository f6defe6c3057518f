//! Plain text in, the same text out: whatever an answer looks like, it is the result word for word.

#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use std::sync::Arc;

use crate::support::{World, given, gives, plan, says, start, writes};
use proptest::prelude::*;
use updraft_run::{RunMode, RunStart};

/// Pieces of which answers are made: code, data, protocols, quoted failures and verdicts.
const PIECES: [&str; 24] = [
    "Here is how:\n",
    "```rust\nfn main() { let x: i32 = 5; }\n```\n",
    "```json\n{\"x\": 1, \"port\": 8080}\n```\n",
    "{\"error\": \"unauthorized\"}",
    "{\"status\": \"failed\"}",
    "{\"verdict\": \"retry\", \"feedback\": \"no\"}",
    "{\"call_self\": true, \"next_instruction\": \"go on\"}",
    "TOOL_CALL: write\nARGUMENTS: {\"q\": \"a\"}\n",
    "Action: read\nAction Input: {\"q\": \"x\"}\n",
    "{\"tool\": \"read\", \"args\": {\"q\": \"x\"}}",
    "<tool_call>{\"name\": \"read\", \"arguments\": {}}</tool_call>",
    "a <think>thought</think> b",
    "body { color: red; }\n",
    "key: {a: 1, b: [2, 3]}\n",
    "<a href=\"x\">y</a>",
    "2026-11-16T00:00:00Z ERROR {\"code\": 5}\n",
    "| a | b |\n|---|---|\n",
    "\"quoted\" 'text' `code`",
    "{{mustache}} ${shell} {% jinja %}",
    "\\n \\u0000 \\\\",
    "naïve 日本語 🙂",
    "\n\n",
    " ",
    "}",
];

fn answers() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{0,40}",
        1 => any::<String>(),
    ];
    // It begins like prose. What is an object as a whole, and nothing else, may be a result.
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| format!("So: {}", pieces.concat()))
}

/// The ways in which one answer becomes the result of a run.
fn ways() -> [(&'static str, RunStart); 4] {
    let mut one_variable = given(&["a"]);
    Arc::make_mut(one_variable.plan.as_mut().unwrap()).steps[0].writes = vec!["x".into()];
    [
        ("a", given(&["a"])),
        ("a", one_variable),
        ("coder", start(RunMode::Agent("coder".into()))),
        ("a", start(RunMode::Plan)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_answer_is_the_result_word_for_word(text in answers()) {
        for (step, start) in ways() {
            let world = World::of(start).says("plan", [plan(&["a"])]).says(step, [says(&text)]).go();
            prop_assert_eq!(world.run.status_word(), "done");
            prop_assert_eq!(world.answer(), text.as_str());
        }
    }

    #[test]
    fn a_model_that_writes_its_calls_may_still_quote_them(text in answers()) {
        // It is told once that a call among text is none, and gives its answer again.
        let world = World::of(given(&["a"])).says("a", [writes(&text), writes(&text)]).go();
        prop_assert_eq!(world.answer(), text.as_str());
    }
}

#[test]
fn a_call_is_read_only_where_it_is_the_message_and_tools_were_told_in_words() {
    for call in [
        "TOOL_CALL: read\nARGUMENTS: {\"q\": \"x\"}",
        "```json\n{\"tool\": \"read\", \"args\": {\"q\": \"x\"}}\n```",
        "Thought: I need it.\nAction: read\nAction Input: {\"q\": \"x\"}",
        "<think>hm</think>{\"action\": \"read\", \"args\": {\"q\": \"x\"}}",
    ] {
        let told = World::of(given(&["a"])).says("a", [writes(call), writes("it says hello")]);
        let world = told.gives("read", gives("hello")).go();
        assert!(world.transcript().contains("a/0/0/call.0 gives hello"), "{call}\n{}", world.transcript());
        let native = World::of(given(&["a"])).says("a", [says(call)]).go();
        assert_eq!((native.run.status_word(), native.answer().as_str()), ("done", call));
    }
}

#[test]
fn a_written_call_to_a_tool_there_is_not_is_refused_in_words() {
    let world = World::of(given(&["a"]))
        .says("a", [writes("{\"tool\": \"teleport\", \"args\": {\"to\": \"x\"}}"), writes("then I answer so")])
        .go();
    assert!(world.transcript().contains("`thinker` may not use `teleport`"), "{}", world.transcript());
    assert_eq!(world.answer(), "then I answer so");
}

#[test]
fn a_planner_that_answers_in_prose_makes_a_plan_of_one_step() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [says("The capital is Paris."), says("The capital is Paris.")])
        .says("answer", [says("Paris.")])
        .go();
    assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", "Paris."));
    assert_eq!(world.run.variables()["planner_answer"].value.as_str(), Some("The capital is Paris."));
}
