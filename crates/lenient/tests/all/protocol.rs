//! Reading calls and reasoning out of plain text.

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::{Just, Strategy};
use serde_json::{Value, json};
use updraft_lenient::{JsonFault, ParsedText, TextCall, read_calls as read, split_reasoning};

fn known(name: &str) -> bool {
    matches!(name, "search" | "write_file" | "run")
}

fn call(name: &str, args: Value) -> TextCall {
    TextCall { name: name.to_owned(), args, repairs: Vec::new() }
}

/// Checks text and calls; what was repaired has tests of its own.
#[track_caller]
fn reads(text: &str, answer: &str, calls: &[(&str, Value)]) {
    let mut parsed = read(text, &known);
    for call in &mut parsed.calls {
        call.repairs.clear();
    }
    let calls = calls.iter().map(|(name, args)| call(name, args.clone())).collect();
    assert_eq!(parsed, ParsedText { reasoning: String::new(), text: answer.to_owned(), calls }, "{text}");
}

#[test]
fn every_pair_of_name_and_argument_keys_is_a_call() {
    for name in ["action", "tool", "tool_name", "name", "function"] {
        for args in ["args", "input", "arguments", "parameters", "action_input", "tool_input"] {
            let text = json!({name: "search", args: {"q": "rust"}}).to_string();
            reads(&text, "", &[("search", json!({"q": "rust"}))]);
        }
    }
}

#[test]
fn calls_stand_in_lists_and_wrappers() {
    let rust = || ("search", json!({"q": "rust"}));
    let go = || ("search", json!({"q": "go"}));
    reads(r#"[{"tool":"search","args":{"q":"rust"}},{"tool":"search","args":{"q":"go"}}]"#, "", &[rust(), go()]);
    reads(r#"{"tool_calls":[{"function":{"name":"search","arguments":"{\"q\":\"rust\"}"}}]}"#, "", &[rust()]);
    reads(
        r#"{"tool_calls":[{"id":"1","type":"function","function":{"name":"search","arguments":{"q":"rust"}}},{"name":"search","arguments":{"q":"go"}}]}"#,
        "",
        &[rust(), go()],
    );
    reads(r#"{"call_tool":{"tool_name":"search","arguments":{"q":"rust"}}}"#, "", &[rust()]);
    reads(r#"{"call_tool":{"name":"search","args":{"q":"rust"}}}"#, "", &[rust()]);
    reads(
        r#"{"call_tool":[{"name":"search","args":{"q":"rust"}},{"tool_name":"search","arguments":{"q":"go"}}]}"#,
        "",
        &[rust(), go()],
    );
    reads(r#"{"action":{"name":"search","args":{"q":"rust"}}}"#, "", &[rust()]);
    reads(r#"{"type":"function","name":"search","parameters":{"q":"rust"}}"#, "", &[rust()]);
    reads(r#"{"tool":"search"}"#, "", &[("search", json!({}))]);
    reads(r#"{"tool":"search","args":null}"#, "", &[("search", json!({}))]);
}

#[test]
fn prose_around_a_call_is_the_answer() {
    reads(
        "I will look.\n{\"tool\": \"search\", \"args\": {\"q\": \"a\"}}\nThen I tell you.",
        "I will look.\n\nThen I tell you.",
        &[("search", json!({"q": "a"}))],
    );
}

#[test]
fn fences_around_calls_go_with_them() {
    for lang in ["json", "tool_call", "tool_code", ""] {
        let text =
            format!("Looking.\n```{lang}\n{{\"name\": \"search\", \"arguments\": {{\"q\": \"a\"}}}}\n```\nDone.");
        reads(&text, "Looking.\n\n\nDone.", &[("search", json!({"q": "a"}))]);
    }
    reads(
        "```json\n{\"tool\":\"run\",\"args\":{\"n\":1}}\n{\"tool\":\"run\",\"args\":{\"n\":2}}\n```",
        "",
        &[("run", json!({"n": 1})), ("run", json!({"n": 2}))],
    );
}

#[test]
fn json_that_is_no_call_stays_text() {
    for text in [
        r#"{"output": "done", "n": 1}"#,
        r#"{"name": "search"}"#,
        r#"{"name": "Bob", "input": {"a": 1}}"#,
        r#"{"tool": "unknown", "args": {}}"#,
        r#"[{"tool": "search", "args": {}}, {"tool": "unknown", "args": {}}]"#,
        r#"{"call_self": {"tool_name": "search", "arguments": {}}}"#,
        r#"{"call_self": true, "tool": "search", "args": {"q": "x"}}"#,
        r#"{"name": "search", "description": "d", "parameters": {"type": "object", "properties": {}}}"#,
        "```json\n{\"output\": 1}\n```",
        "fn main() { let x = [1, 2]; }",
        "<tool_call>{\"name\": \"unknown\", \"arguments\": {}}</tool_call>",
        "Action: unknown\nAction Input: {}",
        "Action: we should search\nand then stop",
        "if a < b and c > d { run }",
        "",
    ] {
        reads(text, text, &[]);
    }
}

#[test]
fn action_lines_are_calls_and_an_invented_observation_is_dropped() {
    reads("Action: search\nAction Input: {\"q\": \"a\"}", "", &[("search", json!({"q": "a"}))]);
    reads("Thought: hm\nAction: search\nArgs: {\"q\": \"a\"}\n", "Thought: hm", &[("search", json!({"q": "a"}))]);
    reads("**Action:** `search`\n**Action Input:** {\"q\": 1}", "", &[("search", json!({"q": 1}))]);
    reads("Action: search\nAction Input: ```json\n{\"q\": 1}\n```\nok", "ok", &[("search", json!({"q": 1}))]);
    reads("Action: search\nAction Input: rust async\nObservation: none", "", &[("search", json!("rust async"))]);
    reads("Action: run\n", "", &[("run", json!({}))]);
    reads(
        "Thought: I look\nAction: search\nAction Input: {\"q\": \"a\"}\nObservation: found it\nThought: done\nAction: run\nAction Input: {}\nFinal Answer: 1",
        "Thought: I look",
        &[("search", json!({"q": "a"}))],
    );
    reads(
        "Action: search\nAction Input: {\"q\": \"a\"}\nAction: run\nAction Input: {\"n\": 2}",
        "",
        &[("search", json!({"q": "a"})), ("run", json!({"n": 2}))],
    );
    reads("Observation: I saw a bird", "Observation: I saw a bird", &[]);
}

#[test]
fn tool_call_lines_come_in_pairs() {
    reads(
        "TOOL_CALL: search\nARGUMENTS: {\"q\": \"a\"}\n\nTOOL_CALL: run\nARGUMENTS: {\"n\": [1, 2]}\n",
        "",
        &[("search", json!({"q": "a"})), ("run", json!({"n": [1, 2]}))],
    );
    reads("TOOL_CALL: search\nARGUMENTS: {\"q\": \"a\"}\nI wait.", "I wait.", &[("search", json!({"q": "a"}))]);
    reads(
        "TOOL_CALL: search\nARGUMENTS: {'q': 'a',\nTOOL_CALL: run",
        "",
        &[("search", json!({"q": "a"})), ("run", json!({}))],
    );
}

#[test]
fn tags_are_calls() {
    let a = || ("search", json!({"q": "a"}));
    reads("<tool_call>{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}}</tool_call>", "", &[a()]);
    reads(
        "Hm.\n<tool_call>\n{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}}\n</tool_call>\nOk.",
        "Hm.\n\nOk.",
        &[a()],
    );
    reads("<tool_call>{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}}", "", &[a()]);
    reads("<tool_call>{\"name\": \"search\", \"arguments\": {\"q\": \"a\"", "", &[a()]);
    reads("<tool_call>{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}</tool_call> bye", "bye", &[a()]);
    reads(
        "<tool_call>{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}}\n<tool_call>{\"name\": \"run\", \"arguments\": {}}</tool_call>",
        "",
        &[a(), ("run", json!({}))],
    );
    reads("<function_call>{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}}</function_call>", "", &[a()]);
    reads(
        "<tool_call>{\"name\": \"search\", \"arguments\": {\"q\": \"</tool_call>\"}}</tool_call>x",
        "x",
        &[("search", json!({"q": "</tool_call>"}))],
    );
    reads("<function=search><parameter=q>a</parameter></function>", "", &[a()]);
    reads(
        "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=lines>\n[1, 2]\n</parameter>\n<parameter=text>\nif x:\n    pass\n</parameter>\n</function>\n</tool_call>",
        "",
        &[("write_file", json!({"path": "a.py", "lines": [1, 2], "text": "if x:\n    pass"}))],
    );
    reads("<function=search><parameter=q>a", "", &[a()]);
    reads("<function=search>{\"q\": \"a\"}</function>", "", &[a()]);
    reads(
        "<function_calls>\n<invoke name=\"search\">\n<parameter name=\"q\">a</parameter>\n<parameter name=\"n\">3</parameter>\n</invoke>\n</function_calls>",
        "",
        &[("search", json!({"q": "a", "n": 3}))],
    );
    reads("<invoke name=\"run\"></invoke>", "", &[("run", json!({}))]);
}

#[test]
fn broken_arguments_are_repaired_and_the_call_says_so() {
    let parsed = read("Ok: {\"tool\": \"search\", \"args\": {\"q\": \"say \"hi\" now\",}}", &known);
    assert_eq!(parsed.calls.len(), 1);
    assert_eq!(parsed.calls[0].args, json!({"q": "say \"hi\" now"}));
    let faults: Vec<JsonFault> = parsed.calls[0].repairs.iter().map(|r| r.what).collect();
    assert_eq!(faults, [JsonFault::InnerQuote, JsonFault::InnerQuote, JsonFault::ExtraComma]);
    assert!(parsed.calls[0].repairs.iter().all(|r| r.at < 60));
}

#[test]
fn a_call_after_broken_json_is_still_found() {
    reads(
        "Like {a: 1, b\n<tool_call>{\"name\": \"run\", \"arguments\": {}}</tool_call>",
        "Like {a: 1, b",
        &[("run", json!({}))],
    );
}

#[test]
fn reasoning_is_told_from_the_answer() {
    for (text, reasoning, rest) in [
        ("<think>hm</think>answer", "hm", "answer"),
        ("<think>hm", "hm", ""),
        ("hm\n</think>\n\nanswer", "hm", "answer"),
        ("<thinking>a</thinking> <thinking>c</thinking> d", "a\n\nc", "d"),
        ("It thinks in <think>a</think> tags.", "", "It thinks in <think>a</think> tags."),
        ("It ends\n```\n</think>\n```\nso.", "", "It ends\n```\n</think>\n```\nso."),
        ("See [Thinking: x] there.", "", "See [Thinking: x] there."),
        ("<reasoning>\nhm\n</reasoning>\n\nanswer", "hm", "answer"),
        ("[Thinking: a [b] c] answer", "a [b] c", "answer"),
        ("[Thinking: a", "a", ""),
        ("<THINK>hm</THINK>answer", "hm", "answer"),
        ("<think></think>\n\nanswer", "", "answer"),
        ("use the `<think>` tag", "", "use the `<think>` tag"),
        ("{\"a\": \"<think>x</think>\"}", "", "{\"a\": \"<think>x</think>\"}"),
        ("no marks", "", "no marks"),
        ("a < b", "", "a < b"),
        ("", "", ""),
    ] {
        assert_eq!(split_reasoning(text), (reasoning.to_owned(), rest.to_owned()), "{text}");
    }
}

#[test]
fn reasoning_and_calls_come_apart() {
    let parsed = read("<think>look</think>I look.\n{\"tool\":\"search\",\"args\":{\"q\":\"a\"}}", &known);
    let wanted = ParsedText {
        reasoning: "look".to_owned(),
        text: "I look.".to_owned(),
        calls: vec![call("search", json!({"q": "a"}))],
    };
    assert_eq!(parsed, wanted);
    let unclosed = read("<think>look <tool_call>{\"name\":\"run\",\"arguments\":{}}</tool_call>", &known);
    assert_eq!((unclosed.reasoning.as_str(), unclosed.calls.len()), ("look", 1));
}

#[test]
fn a_megabyte_of_anything_is_read() {
    for unit in [
        "{",
        "[",
        "<tool_call>",
        "<tool_call>{\"",
        "<function=run><parameter=a>",
        "Action: run\n",
        "```\n",
        "<think>",
        "{a: <tool_call></tool_call>",
        "<tool_call>{\"name\": \"run\"",
        "</think>",
        "TOOL_CALL: run\nARGUMENTS: {\"a\n",
        "[Thinking:",
        "<invoke name=\"run\">",
        "{\"tool\":\"run\",\"args\":{}}",
        "<",
        "\n ",
        "Action: run\nAction Input: {\n",
        "<function=run>",
        "<parameter=",
        "{\"a\": \"",
        "{a: 1, <tool_call>",
    ] {
        let text = unit.repeat(1_000_000 / unit.len());
        let parsed = read(&text, &known);
        assert!(parsed.text.len() <= text.len(), "{unit}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{\"tool\": \"search\", \"args\": {"),
        Just("}}"),
        Just("<tool_call>"),
        Just("</tool_call>"),
        Just("\n"),
        Just("Action: search\n"),
        Just("Action Input: "),
        Just("Observation:"),
        Just("<think>"),
        Just("</think>"),
        Just("```json\n"),
        Just("```"),
        Just("<function=search>"),
        Just("<parameter=a>"),
        Just("</parameter>"),
        Just("<invoke name=\"run\">"),
        Just("[Thinking:"),
        Just("]"),
        Just("\"é\": “x”"),
        Just("TOOL_CALL: run\n"),
        Just("ARGUMENTS: {"),
        Just("\\"),
        Just("'"),
        Just("</function>"),
        Just("{\"call_tool\": [")
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn nothing_a_model_writes_makes_it_panic(text in any::<String>()) {
        let parsed = read(&text, &|_| true);
        prop_assert!(parsed.text.len() + parsed.reasoning.len() <= text.len());
    }

    #[test]
    fn nothing_that_looks_like_calls_makes_it_panic(text in pieces()) {
        let parsed = read(&text, &known);
        prop_assert!(parsed.calls.iter().all(|call| known(&call.name)));
        prop_assert_eq!(read(&text, &|_| false).calls.len(), 0);
    }
}
