//! Reading JSON that models wrote.

use serde_json::{Value, json};
use updraft_lenient::{JsonFault, repair, repair_with};

/// Each text reads as the value, and the fault is among those reported.
#[track_caller]
fn reads(fault: JsonFault, cases: &[(&str, Value)]) {
    for (text, wanted) in cases {
        let repaired = repair(text);
        assert_eq!(repaired.as_ref().map(|r| &r.value), Some(wanted), "{text}");
        let faults: Vec<JsonFault> = repaired.into_iter().flat_map(|r| r.repairs).map(|r| r.what).collect();
        assert!(faults.contains(&fault), "{text}: {fault:?} is not among {faults:?}");
    }
}

#[test]
fn valid_json_comes_back_unchanged() {
    for text in [
        "{}",
        "[]",
        "1",
        "\"x\"",
        "null",
        " {\"a\": [1, -2.5e3, true, null]} ",
        r#"{"a":"// \"no\" # comment, {x}"}"#,
        r#"{"a":"\u00e9\ud83d\ude00"}"#,
    ] {
        let repaired = repair(text).map(|r| (r.value, r.repairs.len()));
        assert_eq!(repaired, serde_json::from_str(text).ok().map(|v: Value| (v, 0)), "{text}");
    }
}

#[test]
fn the_bodies_of_the_garbling_model_are_read() {
    let bodies = [
        (
            "Sure! Here it is:\n```json\n{\"output\": \"fenced\", \"n\": 1}\n```\nHope that helps.",
            json!({"output": "fenced", "n": 1}),
        ),
        (
            "{\"output\": \"trailing comma\", \"list\": [1, 2, 3,],}",
            json!({"output": "trailing comma", "list": [1, 2, 3]}),
        ),
        (
            "{'output': 'single quotes', 'ok': True, 'none': None}",
            json!({"output": "single quotes", "ok": true, "none": null}),
        ),
        ("{output: \"bare key\", n: 01}", json!({"output": "bare key", "n": 1})),
        (
            "{\"output\": \"cut off\", \"steps\": [{\"id\": \"a\", \"text\": \"unfin",
            json!({"output": "cut off", "steps": [{"id": "a", "text": "unfin"}]}),
        ),
        ("{\"output\": \"raw\nnewline and \"inner\" quotes\"}", json!({"output": "raw\nnewline and \"inner\" quotes"})),
        ("// a comment\n{\"output\": \"comment\", /* here */ \"n\": 1}", json!({"output": "comment", "n": 1})),
        (
            "\u{201c}output\u{201d}: {\"output\": \"smart quotes\u{201d}} {\"output\": \"second object\"}",
            json!({"output": "second object"}),
        ),
    ];
    for (text, wanted) in bodies {
        assert_eq!(repair(text).map(|r| r.value), Some(wanted), "{text}");
    }
}

#[test]
fn fences_and_prose_are_left_out() {
    reads(
        JsonFault::Fence,
        &[
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
            ("```\n[1, 2]\n```\nDone.", json!([1, 2])),
            ("```json{\"a\":1}```", json!({"a": 1})),
            ("```json\n{\"a\": 1", json!({"a": 1})),
            ("```json\n{\"a\": 1\n```\nIt is {open}.", json!({"a": 1})),
            ("```json\n{\"a\": \"x\n```\nbye", json!({"a": "x"})),
            ("text ```json\n{\"code\": \"```py\\nx\\n```\"}\n``` end", json!({"code": "```py\nx\n```"})),
        ],
    );
    reads(
        JsonFault::Prose,
        &[
            ("The answer is {\"a\": 1}", json!({"a": 1})),
            ("As [1] says, see [docs](x): {\"a\": {\"b\": 2}} ok?", json!({"a": {"b": 2}})),
            ("Use { as a sign. Here: {\"a\": 1}", json!({"a": 1})),
            ("- [ ] todo\n{\"a\": 1}", json!({"a": 1})),
            ("Template {{\"a\": 1}}", json!({"a": 1})),
            ("Result: [1, 2, 3].", json!([1, 2, 3])),
        ],
    );
    reads(
        JsonFault::TrailingText,
        &[("{\"a\": 1} is it", json!({"a": 1})), ("[1, 2] trailing", json!([1, 2])), ("{\"a\": 1};", json!({"a": 1}))],
    );
}

#[test]
fn of_several_values_the_largest_is_taken_and_the_last_of_equals() {
    reads(
        JsonFault::SeveralValues,
        &[
            ("{\"a\":1} or {\"b\":2,\"c\":3}", json!({"b": 2, "c": 3})),
            ("{\"a\":{\"x\":1}}, not\n{\"b\":1}", json!({"a": {"x": 1}})),
            ("{\"a\":1} or {\"a\":2}", json!({"a": 2})),
            ("First {\"a\":1} then {\"b\":2, \"c\": 3}", json!({"b": 2, "c": 3})),
            ("```json\n{\"a\":1}\n```\n```json\n{\"b\":[1,2]}\n```", json!({"b": [1, 2]})),
        ],
    );
    assert_eq!(repair("[] {\"k\": \"v\"}").map(|r| r.value), Some(json!({"k": "v"})));
    assert_eq!(
        repair("<think>{\"a\": [1, 2, 3]}?</think> {\"a\": 1}").map(|r| r.value),
        Some(json!({"a": 1})),
        "what was thought aloud is not the answer"
    );
}

#[test]
fn values_with_nothing_between_them_are_a_list_and_two_alike_a_correction() {
    reads(
        JsonFault::SeveralValues,
        &[
            ("{\"a\":1} {\"b\":2,\"c\":3}", json!([{"a": 1}, {"b": 2, "c": 3}])),
            ("{\"a\":1}, {\"a\":2}", json!([{"a": 1}, {"a": 2}])),
            ("{\"a\":1}\n{\"a\":2}\n{\"a\":3}", json!([{"a": 1}, {"a": 2}, {"a": 3}])),
            ("{\"a\":1}\n{\"a\":2}", json!({"a": 2})),
            ("{\"a\":1}\n{\"a\":1}\n{\"a\":1}", json!({"a": 1})),
        ],
    );
}

#[test]
fn commas_are_added_and_dropped() {
    reads(
        JsonFault::MissingComma,
        &[
            ("{\"a\": 1 \"b\": 2}", json!({"a": 1, "b": 2})),
            ("[1 2 3]", json!([1, 2, 3])),
            ("[\"a\" \"b\" \"c\" 1]", json!(["a", "b", "c", 1])),
            ("{\"a\":\"x\"\n\"b\":\"y\"}", json!({"a": "x", "b": "y"})),
            ("[{\"a\":1}{\"b\":2}]", json!([{"a": 1}, {"b": 2}])),
            ("[[1][2]]", json!([[1], [2]])),
            ("[true false null]", json!([true, false, null])),
            ("{\"a\":{\"x\":1}\"b\":2}", json!({"a": {"x": 1}, "b": 2})),
            ("{name: \"x\" age: 3}", json!({"name": "x", "age": 3})),
        ],
    );
    reads(
        JsonFault::ExtraComma,
        &[
            ("{\"a\": 1,, \"b\": 2}", json!({"a": 1, "b": 2})),
            ("[1, 2, 3,]", json!([1, 2, 3])),
            ("[1,,2]", json!([1, 2])),
            ("{,\"a\":1}", json!({"a": 1})),
            ("{\"a\":[1,2,],}", json!({"a": [1, 2]})),
            ("[,]", json!([])),
        ],
    );
}

#[test]
fn missing_quotes_are_added() {
    reads(
        JsonFault::MissingQuote,
        &[
            ("{\"a: 1}", json!({"a": 1})),
            ("{a\": 1}", json!({"a": 1})),
            ("{\"a\": \"x}", json!({"a": "x"})),
            ("{\"a\": x\"}", json!({"a": "x"})),
            ("{\"a\": \"x, \"b\": 2}", json!({"a": "x", "b": 2})),
            ("{\"a\": \"one, \"b\": \"two, \"c\": \"three\"}", json!({"a": "one", "b": "two", "c": "three"})),
            ("{\"a\": \"x\",\"b: \"y\"}", json!({"a": "x", "b": "y"})),
            ("{\"a\": \"x\n\"b\": 2}", json!({"a": "x", "b": 2})),
            ("[\"a\", \"b, \"c\"]", json!(["a", "b", "c"])),
            ("[\"lorem, ipsum]", json!(["lorem, ipsum"])),
            ("{\"name\": John\", \"age\": 30}", json!({"name": "John", "age": 30})),
        ],
    );
    reads(
        JsonFault::ExtraQuote,
        &[
            ("{\"a\": \"\"x\"\"}", json!({"a": "x"})),
            ("{\"\"a\"\": 1}", json!({"a": 1})),
            ("{\"a\": \"\"x\", \"b\": 1}", json!({"a": "x", "b": 1})),
            ("{\"a\": \"\"\"say \"hi\" now\"\"\"}", json!({"a": "say \"hi\" now"})),
        ],
    );
}

#[test]
fn quotes_inside_strings_stay_inside() {
    reads(
        JsonFault::InnerQuote,
        &[
            (r#"{"a": "he said "hi" to me"}"#, json!({"a": r#"he said "hi" to me"#})),
            (r#"{"a": "he said "hi""}"#, json!({"a": r#"he said "hi""#})),
            (r#"{"a": ""hi" he said"}"#, json!({"a": r#""hi" he said"#})),
            (r#"{"a": "x "y" z", "b": "p "q" r"}"#, json!({"a": r#"x "y" z"#, "b": r#"p "q" r"#})),
            (r#"{"a": "say "hi", then go", "b": 2}"#, json!({"a": r#"say "hi", then go"#, "b": 2})),
            (r#"{"html": "<a href="x" id="y">z</a>", "k": 1}"#, json!({"html": r#"<a href="x" id="y">z</a>"#, "k": 1})),
            (r#"{"code": "x = {"k": 1}"}"#, json!({"code": r#"x = {"k": 1}"#})),
            (r#"{"code": "x = {"k": "v", "j": 1}"}"#, json!({"code": r#"x = {"k": "v", "j": 1}"#})),
            (r#"{"code": "f("a", "b")", "n": 1}"#, json!({"code": r#"f("a", "b")"#, "n": 1})),
            (r#"{"code": "d["k"] = 1", "n": 1}"#, json!({"code": r#"d["k"] = 1"#, "n": 1})),
            (r#"{"a": "first "second": third"}"#, json!({"a": r#"first "second": third"#})),
            (r#"["say "x" now", "b"]"#, json!([r#"say "x" now"#, "b"])),
            (r#"["a "b"", "c"]"#, json!([r#"a "b""#, "c"])),
            (r#"{"h": "6' 2"", "b": 1}"#, json!({"h": "6' 2\"", "b": 1})),
            (r#"{"a": "5" tall", "b": 1}"#, json!({"a": "5\" tall", "b": 1})),
            ("{'text': 'don't do it', 'n': 1}", json!({"text": "don't do it", "n": 1})),
            (
                r#"{"cmd": "grep -r "foo bar" .", "cwd": "/tmp"}"#,
                json!({"cmd": r#"grep -r "foo bar" ."#, "cwd": "/tmp"}),
            ),
        ],
    );
}

#[test]
fn quotes_of_other_kinds_are_read() {
    reads(
        JsonFault::SingleQuotes,
        &[
            ("{'a': 'b'}", json!({"a": "b"})),
            ("['a', \"b\"]", json!(["a", "b"])),
            ("{'a': \"it's\"}", json!({"a": "it's"})),
            ("{'a': 'it\\'s'}", json!({"a": "it's"})),
            ("{'a': 'say \"hi\"'}", json!({"a": "say \"hi\""})),
            ("{'a': ''}", json!({"a": ""})),
        ],
    );
    reads(
        JsonFault::CurlyQuotes,
        &[
            ("{“a”: “b”, “c”: [1, “d”]}", json!({"a": "b", "c": [1, "d"]})),
            ("{\"a\": “b”}", json!({"a": "b"})),
            ("{“a”: “it’s”}", json!({"a": "it’s"})),
            ("{‘a’: ‘b’}", json!({"a": "b"})),
            ("{\"a\": \"b”}", json!({"a": "b"})),
        ],
    );
    assert_eq!(repair("{\"a\": \"she said “hi”\",}").map(|r| r.value), Some(json!({"a": "she said “hi”"})));
}

#[test]
fn literals_of_other_languages_are_read() {
    reads(
        JsonFault::PythonLiteral,
        &[
            ("{\"a\": True, \"b\": [None, False]}", json!({"a": true, "b": [null, false]})),
            ("{\"a\": TRUE, \"b\": NULL}", json!({"a": true, "b": null})),
            ("{\"a\": (1, 2)}", json!({"a": [1, 2]})),
            ("{\"a\", \"b\"}", json!(["a", "b"])),
            ("None", json!(null)),
        ],
    );
    reads(
        JsonFault::JavaScriptLiteral,
        &[
            ("{\"a\": undefined, \"b\": 1}", json!({"a": null, "b": 1})),
            ("[NaN, Infinity, -Infinity]", json!([null, null, null])),
        ],
    );
}

#[test]
fn comments_are_left_out() {
    reads(
        JsonFault::Comment,
        &[
            ("{\"a\": 1 // x\n}", json!({"a": 1})),
            ("{\"a\": 1, // \"b\": 2\n\"c\": 3}", json!({"a": 1, "c": 3})),
            ("{\"a\": /* c */ 1}", json!({"a": 1})),
            ("// c\n{\"a\": 1}", json!({"a": 1})),
            ("# c\n{\"a\": 1}", json!({"a": 1})),
            ("{\"a\": 1, # c\n\"b\": 2}", json!({"a": 1, "b": 2})),
            ("[1, // one\n2]", json!([1, 2])),
            ("{\"a\": {\"b\": \"c\" # note }, \"d\": 1}", json!({"a": {"b": "c"}, "d": 1})),
            ("{\"url\": \"http://x.y\", // c\n\"b\": 1}", json!({"url": "http://x.y", "b": 1})),
            ("{\"a\": 1 /* open", json!({"a": 1})),
        ],
    );
}

#[test]
fn keys_and_values_without_quotes_are_read() {
    reads(
        JsonFault::UnquotedKey,
        &[
            ("{a: 1, b_c: \"x\"}", json!({"a": 1, "b_c": "x"})),
            ("{a-b: 1, $c: 2, d.e: 3}", json!({"a-b": 1, "$c": 2, "d.e": 3})),
            ("{1: \"x\"}", json!({"1": "x"})),
            ("{a: {b: [{c: 1}]}}", json!({"a": {"b": [{"c": 1}]}})),
            ("{a = 1}", json!({"a": 1})),
        ],
    );
    reads(
        JsonFault::UnquotedString,
        &[
            ("{\"a\": hello world, \"b\": 1}", json!({"a": "hello world", "b": 1})),
            ("[a, b, c]", json!(["a", "b", "c"])),
            ("{\"date\": 2024-01-02}", json!({"date": "2024-01-02"})),
            ("{\"t\": 12:30:00, \"b\": 1}", json!({"t": "12:30:00", "b": 1})),
            ("{\"a\": http://x.y/z}", json!({"a": "http://x.y/z"})),
            ("{\"a\": true story}", json!({"a": "true story"})),
            ("{\"a\": 5 kg}", json!({"a": "5 kg"})),
            ("{\"a\": 1,000, \"b\": 2}", json!({"a": "1,000", "b": 2})),
            ("{\"a\": #fff}", json!({"a": "#fff"})),
            ("{\"a\": /usr/bin}", json!({"a": "/usr/bin"})),
        ],
    );
}

#[test]
fn brackets_are_added_and_dropped() {
    reads(
        JsonFault::MissingBracket,
        &[
            ("{\"a\": 1", json!({"a": 1})),
            ("{\"a\": [1, 2}", json!({"a": [1, 2]})),
            ("[{\"a\": 1]", json!([{"a": 1}])),
            ("{\"a\": [1, {\"b\": 2], \"c\": 3}", json!({"a": [1, {"b": 2}], "c": 3})),
            ("{\"a\": [{\"b\": 1}, {\"c\": 2}}", json!({"a": [{"b": 1}, {"c": 2}]})),
            ("{\"a\": [1, 2, \"b\": 3}", json!({"a": [1, 2], "b": 3})),
            ("{\"l\": [{\"x\": 1}, \"n\": \"m\"}", json!({"l": [{"x": 1}], "n": "m"})),
            ("{\"l\": [{\"x\": 1}, \"x\": 2}]}", json!({"l": [{"x": 1}, {"x": 2}]})),
            ("[{\"a\": \"x\", {\"a\": \"y\"}]", json!([{"a": "x"}, {"a": "y"}])),
            ("[{\"a\": \"x\"\n{\"b\": \"y\"}]", json!([{"a": "x"}, {"b": "y"}])),
            ("\"a\": 1}", json!({"a": 1})),
        ],
    );
    reads(
        JsonFault::ExtraBracket,
        &[
            ("{\"a\":1}}", json!({"a": 1})),
            ("[1,2]]", json!([1, 2])),
            ("{\"a\":[1,2]]}", json!({"a": [1, 2]})),
            ("{\"a\": 1]", json!({"a": 1})),
        ],
    );
}

#[test]
fn a_text_cut_off_anywhere_keeps_what_was_said() {
    reads(
        JsonFault::Truncated,
        &[
            ("{\"a\": 1, \"b\":", json!({"a": 1, "b": null})),
            ("{\"a\": 1,", json!({"a": 1})),
            ("{\"a\": tr", json!({"a": true})),
            ("{\"a\": 12.", json!({"a": 12.0})),
            ("[1, -2e", json!([1, -2])),
            ("{\"a\": \"x\", b", json!({"a": "x"})),
            ("{\"a\": \"x\", \"b\"", json!({"a": "x"})),
        ],
    );
    reads(
        JsonFault::TruncatedString,
        &[
            ("{\"a\": \"unfin", json!({"a": "unfin"})),
            ("{\"a\": [{\"b\": \"c d", json!({"a": [{"b": "c d"}]})),
            ("{\"a\": 1, \"b", json!({"a": 1})),
            ("{\"a\": \"x\\", json!({"a": "x"})),
            ("{\"a\": \"x\\u00", json!({"a": "x"})),
            ("{\"a\": \"if (x) { y }", json!({"a": "if (x) { y }"})),
            ("[{\"a\": 1}, {\"", json!([{"a": 1}])),
        ],
    );
    let whole = r#"{"output": "cut \"off\"", "steps": [{"id": "é", "n": 12.5, "ok": true}, [null]], "done": false}"#;
    for (end, _) in whole.char_indices().skip(1) {
        let repaired = repair(&whole[..end]);
        assert!(repaired.is_some_and(|r| r.value.is_object() && !r.repairs.is_empty()), "{}", &whole[..end]);
    }
}

#[test]
fn control_characters_and_escapes_in_strings_are_kept_as_they_were_meant() {
    reads(
        JsonFault::ControlCharacter,
        &[
            ("{\"a\": \"x\ny\"}", json!({"a": "x\ny"})),
            ("{\"a\": \"x\ty\u{1}\"}", json!({"a": "x\ty\u{1}"})),
            (
                "{\"md\": \"# T\n\n- i\n```py\nx\n```\n\", \"n\": 1}",
                json!({"md": "# T\n\n- i\n```py\nx\n```\n", "n": 1}),
            ),
        ],
    );
    reads(
        JsonFault::BadEscape,
        &[
            (r#"{"a": "\d+\s"}"#, json!({"a": r"\d+\s"})),
            (r#"{"a": "C:\Users\me"}"#, json!({"a": r"C:\Users\me"})),
            (r#"{"a": "\x41"}"#, json!({"a": "A"})),
            (r#"{"a": "\u12"}"#, json!({"a": r"\u12"})),
            (r#"{"a": "\ud83d"}"#, json!({"a": "\u{FFFD}"})),
        ],
    );
    reads(
        JsonFault::NeedlessEscape,
        &[(r#"{"a": "it\'s"}"#, json!({"a": "it's"})), (r#"{\"a\": \"b\"}"#, json!({"a": "b"}))],
    );
    for text in ["\u{FEFF}{\"a\":1}", "{\u{200b}\"a\"\u{a0}: 1}"] {
        assert_eq!(repair(text).map(|r| r.value), Some(json!({"a": 1})), "{text:?}");
    }
}

#[test]
fn numbers_are_read_as_people_write_them() {
    reads(
        JsonFault::BadNumber,
        &[
            ("[01, 007, 00]", json!([1, 7, 0])),
            ("[+1, .5, -.5, 1., 1.e3]", json!([1, 0.5, -0.5, 1.0, 1000.0])),
            ("{\"a\": 1_000}", json!({"a": 1000})),
            ("{\"a\": 1e}", json!({"a": 1})),
            ("[0x1F, 0o17, -0b101, 10n]", json!([31, 15, -5, 10])),
            ("{\"a\": 1e1000}", json!({"a": null})),
        ],
    );
}

#[test]
fn what_is_missing_or_astray_is_told() {
    reads(
        JsonFault::MissingColon,
        &[
            ("{\"a\" 1}", json!({"a": 1})),
            ("{\"a\" \"b\"}", json!({"a": "b"})),
            ("{\"a\" => 1}", json!({"a": 1})),
            ("{\"a\" {\"b\": 1}}", json!({"a": {"b": 1}})),
            ("{\"a\" true, \"b\": 1}", json!({"a": true, "b": 1})),
        ],
    );
    reads(
        JsonFault::MissingValue,
        &[
            ("{\"a\": }", json!({"a": null})),
            ("{\"a\": , \"b\": 1}", json!({"a": null, "b": 1})),
            ("{\"a\": 1, \"b\"}", json!({"a": 1})),
        ],
    );
    reads(JsonFault::MissingKey, &[("{\"a\": 1, : 2}", json!({"a": 1}))]);
    reads(
        JsonFault::Ellipsis,
        &[
            ("[1, 2, ...]", json!([1, 2])),
            ("{\"a\": 1, ...}", json!({"a": 1})),
            ("[\"a\", …, \"z\"]", json!(["a", "z"])),
        ],
    );
    reads(
        JsonFault::Concatenation,
        &[
            ("{\"a\": \"x\" + \"y\" +\n\"z\", \"b\": 1}", json!({"a": "xyz", "b": 1})),
            ("[\"a\" + \"b\"]", json!(["ab"])),
        ],
    );
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    assert_eq!(repair("{\"a\":1,\"a\":2,}").map(|r| r.value), Some(json!({"a": 2})));
}

#[test]
fn text_without_a_value_gives_none() {
    for text in
        ["", "  ", "hello", "no json here", "```\n```", "}", ",", "see [docs](x)", "as [1] says", "a {b} c", "\"\"\"\""]
    {
        assert_eq!(repair(text), None, "{text}");
    }
}

#[test]
fn a_guess_at_text_is_risky_and_punctuation_is_not() {
    for text in ["{\"a\": 1,}", "{'a': True} // x", "```json\n[1 2]\n```", "{\"a\": [1}", "{a: 01}"] {
        assert!(repair(text).is_some_and(|r| !r.is_risky() && !r.repairs.is_empty()), "{text}");
    }
    for text in [
        "{\"a\": \"b \"c\" d\"}",
        "{\"a\": \"b",
        "{\"a\": b c}",
        "{\"a\": \"x, \"b\": 1}",
        "{\"a\": 1, \"b\":",
        "{\"a\": \"C:\\dir\"}",
    ] {
        assert!(repair(text).is_some_and(|r| r.is_risky()), "{text}");
    }
}

#[test]
fn a_repair_says_where() {
    let repairs = repair("{\"a\": 1 \"b\": True}").map(|r| r.repairs).unwrap_or_default();
    let shown: Vec<String> = repairs.iter().map(|r| format!("{}: {}", r.at, r.what)).collect();
    assert_eq!(shown, ["8: a missing comma", "13: a Python literal"]);
}

#[test]
fn a_schema_guides_the_reading() {
    let schema = json!({"type": "object", "required": ["q"], "properties": {
        "q": {"type": "string"}, "n": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}},
        "on": {"type": "boolean"}, "deep": {"$ref": "#/$defs/deep"}, "maybe": {"type": ["string", "null"]}
    }, "$defs": {"deep": {"type": "object", "properties": {"x": {"type": "number"}}}}});
    for (text, wanted) in [
        (r#"{"q": 12}"#, json!({"q": "12"})),
        (r#"{"q": "x", "n": "12", "on": "true"}"#, json!({"q": "x", "n": 12, "on": true})),
        (r#"{"q": "x", "n": "a few"}"#, json!({"q": "x", "n": "a few"})),
        (r#"{"q": "x", "tags": "one"}"#, json!({"q": "x", "tags": ["one"]})),
        (r#"{"q": "x", "tags": "[1, 'two']"}"#, json!({"q": "x", "tags": ["1", "two"]})),
        (r#"{"q": "x", "deep": {"x": "1.5"}}"#, json!({"q": "x", "deep": {"x": 1.5}})),
        (r#"{"q": "x", "maybe": null}"#, json!({"q": "x", "maybe": null})),
        (r#"{"Q": 12}"#, json!({"q": "12"})),
        (r#""{\"q\": 1}""#, json!({"q": "1"})),
        (r#"{"q": "small"} and {"a": 1, "b": 2, "c": 3}"#, json!({"q": "small"})),
    ] {
        assert_eq!(repair_with(text, Some(&schema)).map(|r| r.value), Some(wanted), "{text}");
    }
    let repairs = repair_with(r#"{"q": 12}"#, Some(&schema)).map(|r| r.repairs).unwrap_or_default();
    assert_eq!(repairs.iter().map(|r| r.what).collect::<Vec<_>>(), [JsonFault::WrongType]);
}

#[test]
fn brackets_nested_too_deep_are_cut_off() {
    let text = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let repaired = repair(&text);
    assert!(repaired.is_some_and(|r| r.repairs.iter().any(|r| r.what == JsonFault::TooDeep)));
}
