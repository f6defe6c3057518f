//! What runs have around them: tools, memory, knowledge and settings.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn memories_are_seen_changed_and_forgotten() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let added = world.post("/memory", &[("act", "add"), ("text", "The roof is <b>blue</b>."), ("pinned", "yes")]).await;
    assert_eq!(added.status, 303);
    let listed = world.get("/memory").await.body;
    assert!(listed.contains("The roof is &lt;b&gt;blue&lt;/b&gt;.") && listed.contains(" checked"), "{listed}");
    let id = world.service.runs.memories().unwrap()[0].id.to_string();
    world.post("/memory", &[("act", "change"), ("id", &id), ("text", "The roof is red.")]).await;
    let memories = world.service.runs.memories().unwrap();
    assert_eq!((memories[0].content.text.as_str(), memories[0].content.pinned), ("The roof is red.", false));
    world.post("/memory", &[("act", "forget"), ("id", &id)]).await;
    assert!(world.service.runs.memories().unwrap().is_empty());
    world.close().await;
}

#[tokio::test]
async fn a_tool_is_tried_under_the_rules_for_clients() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    std::fs::write(world.file("a.txt"), "hello from a file\n").unwrap();
    assert!(world.get("/tools").await.body.contains("href=\"/tools/read_file\""));
    let form = world.get("/tools/read_file").await.body;
    assert!(form.contains("name=\"field.path\""), "{form}");
    let called = world.post("/tools/read_file", &[("field.path", "a.txt")]).await.body;
    assert!(called.contains("hello from a file"), "{called}");
    let outside = world.post("/tools/read_file", &[("field.path", "../../secret")]).await.body;
    assert!(outside.contains("Refused"), "{outside}");
    let wrong = world.post("/tools/read_file", &[("field.path", "a.txt"), ("field.start_line", "x")]).await.body;
    assert!(wrong.contains("Refused"), "{wrong}");
    assert_eq!(world.get("/tools/no_such_tool").await.status, 404);
    world.close().await;
}

#[tokio::test]
async fn files_are_found_and_settings_are_listed_without_secrets() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    std::fs::write(world.file("loom.md"), "# Loom\n\nThe loom weaves blue cloth.\n").unwrap();
    let found = world.get("/knowledge?q=loom").await;
    assert_eq!(found.status, 200, "{}", found.body);
    assert!(found.body.contains("loom.md") && found.body.contains("weaves"), "{}", found.body);
    let settings = world.get("/settings").await.body;
    assert!(settings.contains("OPENAI_API_KEY") && settings.contains("approvals"), "{settings}");
    assert!(!settings.contains(world.token.reveal()));
    world.close().await;
}
