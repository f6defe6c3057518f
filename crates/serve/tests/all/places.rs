//! What runs have around them: tools, memory, knowledge and settings.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use updraft_workbench::schedules::{NewSchedule, ScheduleWork};

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
    assert!(settings.contains("href=\"/schedules\""));
    assert!(world.get("/schedules").await.body.contains("There are none in this folder."));
    let work = ScheduleWork { goal: "Say <b>hello</b>".to_owned(), ..ScheduleWork::default() };
    let cron = Some("0 7 * * *".to_owned());
    let zone = Some("UTC".to_owned());
    world.service.runs.add_schedule(NewSchedule { cron, zone, work, ..NewSchedule::default() }).await.unwrap();
    let listed = world.get("/schedules").await.body;
    assert!(listed.contains("Say &lt;b&gt;hello&lt;/b&gt;") && listed.contains("07:00 UTC"), "{listed}");
    world.close().await;
}

#[tokio::test]
async fn the_doctor_says_what_works_and_servers_say_why_they_do_not() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    // Somebody who leaves before the answer is there blocks nobody.
    let mut left = world.connect().await;
    let request = format!("GET /doctor HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\n\r\n", world.address, world.cookie);
    left.write_all(request.as_bytes()).await.unwrap();
    drop(left);
    let doctor = world.get("/doctor").await;
    assert_eq!(doctor.status, 200);
    for part in
        ["<strong>journal</strong>", "can be written; 0 runs", "<strong>workspace</strong>", "<strong>model</strong>"]
    {
        assert!(doctor.body.contains(part), "{part} in {}", doctor.body);
    }
    assert!(world.get("/settings").await.body.contains("href=\"/doctor\""));
    assert!(world.get("/tools").await.body.contains("0 MCP servers"));
    world.close().await;

    let broken = json!({ "mcpServers": { "broken": { "command": "/no/such/program" },
                                         "off": { "command": "true", "disabled": true } } });
    let world = World::with_servers(&json!([{ "text": "done" }]), &broken).await;
    let tools = world.get("/tools").await.body;
    assert!(tools.contains("2 MCP servers") && tools.contains("data-state=\"disabled\""), "{tools}");
    let (_, of_broken) = tools.split_once("data-state=\"failed\"").unwrap();
    assert!(of_broken.contains("/no/such/program"), "{tools}");
    world.close().await;
}

#[tokio::test]
async fn files_are_brought_into_the_index_from_the_page() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    std::fs::create_dir(world.file("notes")).unwrap();
    std::fs::write(world.file("notes/loom.md"), "# Loom\n\nThe loom weaves blue cloth.\n").unwrap();
    std::fs::write(world.file("other.md"), "Another matter.\n").unwrap();
    assert!(world.get("/knowledge").await.body.contains("0 documents in the index"));
    for (path, why) in [("no/such", "does not exist"), ("../..", "leaves the workspace")] {
        let refused = world.post("/knowledge", &[("path", path)]).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.contains(why), "{}", refused.body);
    }
    let begun = world.post("/knowledge", &[("path", "notes/")]).await;
    assert_eq!((begun.status, begun.header("location")), (303, Some("/knowledge#ingestion")));
    let done = loop {
        let page = world.get("/knowledge").await.body;
        if !page.contains("data-refresh") {
            break page;
        }
    };
    assert!(done.contains("1 file: 1 written in 1 passage"), "{done}");
    assert!(done.contains("1 document in the index") && done.contains("<code>notes/loom.md</code>"), "{done}");
    assert!(!done.contains("other.md"), "{done}");
    world.close().await;
}

#[tokio::test]
async fn uploads_obey_the_rules_about_writing_files() {
    let script = json!([{ "text": "done" }]);
    let fields = [("goal", "Read it"), ("mode", "agent:researcher")];
    let world = World::with_settings(&script, "[rules]\ndeny = [\"write_file(uploads/**)\"]\n").await;
    let refused = world.start(&fields, Some(("a.txt", "hello"))).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(!world.file("uploads").exists() && refused.body.contains("uploads/"), "{}", refused.body);
    world.start(&fields, None).await.run();
    world.close().await;

    let world = World::with_settings(&script, "[rules]\nask = [\"write_file\"]\n").await;
    world.start(&fields, Some(("a.txt", "hello"))).await.run();
    assert_eq!(std::fs::read_to_string(world.file("uploads/a.txt")).unwrap(), "hello");
    world.close().await;
}

#[tokio::test]
async fn pages_and_their_files_are_packed_for_those_who_can_unpack() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let headers = format!("Cookie: {}\r\nAccept-Encoding: br, gzip;q=0.5\r\n", world.cookie);
    for (path, has) in [("/assets/page.css", "color-scheme"), ("/new", "What do you want done?")] {
        let plain = world.get(path).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
        assert!(plain.body.contains(has), "{}", plain.body);
        let packed = world.send("GET", path, &headers, "").await;
        assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")), "{path}");
        assert_eq!(packed.header("vary"), Some("accept-encoding"), "{path}");
        let sent: usize = packed.header("content-length").unwrap().parse().unwrap();
        assert!(sent < plain.body.len() * 2 / 3, "{path}: {sent} of {}", plain.body.len());
        let refusing = format!("Cookie: {}\r\nAccept-Encoding: gzip;q=0, br\r\n", world.cookie);
        assert_eq!(world.send("GET", path, &refusing, "").await.header("content-encoding"), None, "{path}");
    }
    world.close().await;
}
