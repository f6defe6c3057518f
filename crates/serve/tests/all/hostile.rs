//! What models, users and strangers send stays text, and leads nowhere.

use serde_json::json;

use crate::world::World;

const NAUGHTY: [&str; 12] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'onmouseover='alert(1)",
    "</textarea><svg onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "[x](javascript:alert(1)) ![y](javascript:alert(1))",
    "<!--<img src=\"--><img src=x onerror=alert(1)//\">",
    "```html\n<script>alert(1)</script>\n```",
    "<math><mi//xlink:href=\"data:x,<script>alert(1)</script>\">",
    "\u{202e}gnp.exe \u{0}\u{7f}\u{feff} 田中さん 👩‍👩‍👧",
    "{{7*7}} ${7*7} <%= 7*7 %> #{7*7}",
    "<a href=\"java\tscript:alert(1)\">x</a>",
];

fn is_harmless(body: &str) -> bool {
    let lower = body.to_lowercase();
    let script = lower.matches("<script").count();
    let own = lower.matches("<script type=\"module\" src=\"/assets/page.js").count();
    let tags =
        ["<img", "<iframe", "<svg onload", "<math", "<a href=\"javascript", "<a href=\"java\tscript", "<a href=\"data"];
    script == own && !tags.iter().any(|tag| lower.contains(tag))
}

#[tokio::test]
async fn what_a_model_or_a_user_writes_never_becomes_markup() {
    for naughty in NAUGHTY {
        let calls = json!([{ "name": naughty, "args": { naughty: naughty } },
                           { "name": "ask_user", "args": { "question": naughty, "options": [naughty, "b"] } }]);
        let script = json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "text": naughty, "calls": calls } }],
                             "default": { "text": naughty } });
        let world = World::new(&script).await;
        let file = naughty.replace(['\r', '\n', '"', '\0'], "");
        let started = world.start(&[("goal", naughty), ("mode", "agent:clarification")], Some((&file, naughty))).await;
        if naughty.contains('\0') && started.status != 303 {
            assert!(is_harmless(&started.body));
            world.close().await;
            continue;
        }
        let run = started.run();
        let mut events = world.watch(&format!("/runs/{run}/stream?after=1&view=events&step=clarification"), "").await;
        let mut html = String::new();
        while !html.contains("/answer") {
            let patch = events.patch().await;
            let pieces =
                patch["replace"].as_object().unwrap().values().chain(patch["append"].as_object().unwrap().values());
            html.extend(pieces.filter_map(|piece| piece.as_str()));
        }
        assert!(is_harmless(&html), "{naughty}: {html}");
        let paths = ["", "?view=timeline&step=clarification", "?view=events", "?at=5"]
            .map(|query| format!("/runs/{run}{query}"));
        for path in paths.iter().map(String::as_str).chain(["/", "/inbox"]) {
            let page = world.get(path).await;
            assert_eq!(page.status, 200, "{path}");
            assert!(is_harmless(&page.body), "{naughty} at {path}: {}", page.body);
        }
        world.post(&format!("/runs/{run}/cancel"), &[]).await;
        world.close().await;
    }
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    for query in ["at=99999999999999999999", "at=-1", "step=%3Cscript%3E", "view=%22%3E", "from=0", "before=x"] {
        let answer = world.get(&format!("/runs/none?{query}")).await;
        assert!(matches!(answer.status, 400 | 404), "{query}: {}", answer.status);
        assert!(is_harmless(&answer.body), "{query}: {}", answer.body);
    }
    world.close().await;
}

#[tokio::test]
async fn forms_that_make_no_sense_are_refused_with_a_reason() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    assert_eq!(world.start(&[("goal", "  ")], None).await.status, 400);
    assert_eq!(world.start(&[("goal", "x"), ("mode", "agent:nobody")], None).await.status, 400);
    for path in ["/runs/none/cancel", "/runs/none/pause", "/runs/none/resume"] {
        assert!(world.post(path, &[]).await.status >= 400, "{path}");
    }
    assert!(world.post("/runs/none/fork", &[("at", "x")]).await.status >= 400);
    assert_eq!(world.post("/memory", &[("act", "forget"), ("id", "77")]).await.status, 400);
    world.close().await;
}
