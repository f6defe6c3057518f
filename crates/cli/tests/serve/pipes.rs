//! Over standard input and output, in both eras.

use serde_json::{Value, json};

use crate::client::{Client, Era, text};
use crate::world::World;

fn serve(world: &World, script: &Value, era: Era, capabilities: Value) -> Client {
    let model = world.script("script.json", script);
    Client::of(world.command(&["mcp", "serve", "--model", &model]), era, capabilities)
}

fn answers() -> Value {
    json!({"rules": [
        {"when": {"contains": "Who wrote it?"}, "answer": {"text": "It was Ada."}},
    ], "default": {"text": "A loom."}})
}

fn asks() -> Value {
    json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "Which colour?", "options": ["red", "blue"]}}]}},
        {"when": {"contains": "blue"}, "answer": {"text": "Blue it is."}},
    ], "default": {"text": "Some colour."}})
}

#[test]
fn files_are_read_written_listed_searched_and_fetched_in_both_eras() {
    for era in [Era::Old, Era::New] {
        let world = World::new();
        let mut client = serve(&world, &answers(), era, json!({}));
        let read = client.data("read_file", json!({ "path": "a.txt" }));
        assert_eq!((&read["path"], &read["text"]), (&json!("a.txt"), &json!("hello\n")));
        client.call("write_file", json!({ "path": "notes/weaving.md", "content": "warp and weft\n" }));
        assert_eq!(std::fs::read_to_string(world.ws().join("notes/weaving.md")).unwrap(), "warp and weft\n");
        let listed = client.call("list_files", json!({}));
        assert_eq!(text(&listed), "a.txt\nnotes/weaving.md\n");

        let found = client.call("search", json!({ "query": "the weft" }));
        assert_eq!(found["structuredContent"], serde_json::from_str::<Value>(&text(&found)).unwrap());
        let hit = &found["structuredContent"]["results"][0];
        assert_eq!((&hit["id"], &hit["title"]), (&json!("notes/weaving.md"), &json!("notes/weaving.md")));
        assert!(hit["url"].as_str().unwrap().starts_with("file:///"), "{hit}");
        let document = client.data("fetch", json!({ "id": hit["id"] }));
        assert_eq!((&document["text"], &document["url"]), (&json!("warp and weft\n"), &hit["url"]));

        assert!(client.refused("read_file", json!({ "path": "../../etc/passwd" })).contains("workspace"));
        assert!(client.refused("read_file", json!({ "file": "a.txt" })).contains("do not fit its schema"));
        assert_eq!(client.ask("tools/call", json!({ "name": "nothing" })).unwrap_err()["code"], -32602);
        assert_eq!(client.leave(), Some(0));
    }
}

/// The messages that a run's agents got before its goal, one a line.
fn earlier(world: &World, answer: &Value) -> String {
    let events = world.updraft(&["events", answer["run"].as_str().unwrap(), "--json"]).json();
    let history = events[0]["event"]["started"]["goal"]["earlier"]["history"].as_array().unwrap().clone();
    let line =
        |message: &Value| format!("{}: {}", message["role"].as_str().unwrap(), message["content"].as_str().unwrap());
    history.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_query_gives_an_answer_and_a_conversation_to_go_on_with() {
    let world = World::new();
    let mut client = serve(&world, &answers(), Era::New, json!({}));
    let first = client.data("query", json!({ "query": "What is it?", "agent": "thinker", "history": true }));
    assert_eq!((&first["answer"], &first["status"]), (&json!("A loom."), &json!("done")));
    assert_eq!((&first["statistics"]["turns"], first["messages"].as_array().unwrap().len()), (&json!(1), 2));
    assert_eq!((&first["messages"][0]["role"], &first["messages"][0]["text"]), (&json!("user"), &json!("What is it?")));

    let again = json!({ "query": "Who wrote it?", "agent": "thinker", "session": first["session"] });
    let second = client.data("query", again);
    assert_eq!((&second["answer"], &second["session"]), (&json!("It was Ada."), &first["session"]));
    assert_eq!(second["goal"], "Who wrote it?");
    assert_eq!(earlier(&world, &second), "user: What is it?\nassistant: A loom.");
    assert!(client.refused("query", json!({ "query": "?", "session": "guessed" })).contains("omit `session`"));

    // They are ordinary runs.
    let runs = world.runs();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0]["run"], second["run"]);
    let listed = client.ask("resources/list", json!({})).unwrap();
    assert_eq!(listed["resources"].as_array().unwrap().len(), 3);
    let uri = |end: &str| json!({ "uri": format!("updraft://runs/{}{end}", first["run"].as_str().unwrap()) });
    let output = client.ask("resources/read", uri("/output")).unwrap();
    assert_eq!(output["contents"][0]["text"], "A loom.");
    let graph = client.ask("resources/read", uri("/graph")).unwrap();
    let graph: Value = serde_json::from_str(graph["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(graph["nodes"][0]["id"], "ROOT");
    let missing = client.ask("resources/read", json!({ "uri": "updraft://runs/none" })).unwrap_err();
    assert_eq!(missing["code"], -32602);
}

#[test]
fn a_conversation_goes_on_after_the_server_was_killed() {
    let world = World::new();
    let mut client = serve(&world, &answers(), Era::New, json!({}));
    let first = client.data("query", json!({ "query": "What is it?", "agent": "thinker" }));
    client.child.kill().unwrap();
    drop(client);
    let mut client = serve(&world, &answers(), Era::Old, json!({}));
    let again = json!({ "query": "Who wrote it?", "agent": "thinker", "session": first["session"] });
    let second = client.data("query", again);
    assert_eq!((&second["answer"], &second["session"]), (&json!("It was Ada."), &first["session"]));
    assert_eq!(earlier(&world, &second), "user: What is it?\nassistant: A loom.");
}

#[test]
fn progress_names_the_steps() {
    let world = World::new();
    let mut client = serve(&world, &answers(), Era::Old, json!({}));
    let arguments = json!({ "query": "What is it?", "agent": "thinker" });
    let params = json!({ "name": "query", "arguments": arguments, "_meta": { "progressToken": "p" } });
    client.ask("tools/call", params).unwrap();
    let told: Vec<(f64, String)> = client
        .heard
        .iter()
        .filter(|told| told["method"] == "notifications/progress")
        .map(|told| (told["params"]["progress"].as_f64().unwrap(), told["params"]["message"].to_string()))
        .collect();
    assert!(told.iter().any(|(_, message)| message.contains("thinker")), "{told:?}");
    assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0), "{told:?}");
}

#[test]
fn a_question_reaches_the_person_behind_an_old_client() {
    let world = World::new();
    let mut client = serve(&world, &asks(), Era::Old, json!({ "elicitation": {} }));
    client.person = json!({ "action": "accept", "content": { "answer": "blue" } });
    let answered = client.data("query", json!({ "query": "choose", "agent": "clarification" }));
    assert_eq!(answered["answer"], "Blue it is.");
    let asked = client.heard.iter().find(|heard| heard["method"] == "elicitation/create").unwrap();
    assert_eq!(asked["params"]["message"], "Which colour?");
    assert_eq!(asked["params"]["requestedSchema"]["properties"]["answer"]["enum"], json!(["red", "blue"]));
}

#[test]
fn a_question_is_a_result_for_a_new_client() {
    let world = World::new();
    let mut client = serve(&world, &asks(), Era::New, json!({ "elicitation": { "form": {} } }));
    let params = json!({ "name": "query", "arguments": { "query": "choose", "agent": "clarification" } });
    let asked = client.ask("tools/call", params.clone()).unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(
        (&request["method"], &request["params"]["message"]),
        (&json!("elicitation/create"), &json!("Which colour?"))
    );

    let mut forged = params.clone();
    forged["requestState"] = json!("rs1.Zm9yZ2Vk.Zm9yZ2Vk");
    assert_eq!(client.ask("tools/call", forged).unwrap_err()["code"], -32602);

    let mut again = params;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({ key: { "action": "accept", "content": { "answer": "blue" } } });
    let answered = client.ask("tools/call", again.clone()).unwrap();
    assert_eq!(answered["structuredContent"]["answer"], "Blue it is.", "{answered}");
    assert_eq!(world.runs().len(), 1);

    // Whoever comes again, because the answer was lost on the way, gets the same.
    let repeated = client.ask("tools/call", again).unwrap();
    let (first, second) = (&answered["structuredContent"], &repeated["structuredContent"]);
    for part in ["run", "status", "answer", "statistics", "session"] {
        assert!(!second[part].is_null() && first[part] == second[part], "{part}: {repeated}");
    }
}

#[test]
fn a_client_that_fails_to_ask_is_told_which_run_waits() {
    let world = World::new();
    let mut client = serve(&world, &asks(), Era::Old, json!({ "elicitation": {} }));
    client.person = json!({ "code": -32603, "message": "no window" });
    let said = client.refused("query", json!({ "query": "choose", "agent": "clarification" }));
    let run = world.runs().pop().unwrap();
    assert!(said.contains("no window") && said.contains("it waits for an answer"), "{said}");
    let run = run["run"].as_str().unwrap();
    assert!(said.contains(run), "{said}");
    client.call("answer_question", json!({ "run": run, "answer": "blue" }));
}

#[test]
fn a_client_that_cannot_ask_is_told_what_the_run_waits_for() {
    let world = World::new();
    let mut client = serve(&world, &asks(), Era::New, json!({}));
    let waiting = client.data("query", json!({ "query": "choose", "agent": "clarification" }));
    assert_eq!((&waiting["status"], &waiting["waiting_for"][0]["text"]), (&json!("waiting"), &json!("Which colour?")));
    let run = waiting["run"].clone();
    assert!(client.refused("approve", json!({ "run": run })).contains("is not waiting for an approval"));
    client.call("answer_question", json!({ "run": run, "answer": "blue" }));
    let mut result = client.data("task_result", json!({ "run": run }));
    while result["status"] == "working" {
        result = client.data("task_result", json!({ "run": run }));
    }
    assert_eq!(result["answer"], "Blue it is.");
    assert!(client.refused("pause_task", json!({ "run": run })).contains("already ended"));
    assert!(client.refused("task_status", json!({ "run": "0000000000000000" })).contains("no run"));
}

#[test]
fn a_query_that_is_cancelled_cancels_its_run_and_one_that_is_left_goes_on_later() {
    let world = World::new();
    let slow = json!({ "default": { "text": "at last", "delay_ms": 60_000 } });
    let mut client = serve(&world, &slow, Era::Old, json!({}));
    let params = json!({ "name": "query", "arguments": { "query": "think", "agent": "thinker" } });
    let id = client.begin("tools/call", params.clone());
    let run = world.until_status("running");
    client.notify("notifications/cancelled", &json!({ "requestId": id }));
    assert_eq!(world.until_status("cancelled"), run);

    client.begin("tools/call", params);
    world.until_status("running");
    client.leave();
    assert_eq!(world.runs()[0]["status"], "interrupted", "{:?}", world.runs());
}

#[test]
fn what_tools_give_fits_what_they_promise_and_only_what_is_there_is_declared() {
    let world = World::new();
    let mut client = serve(&world, &answers(), Era::New, json!({}));
    let about = client.ask("server/discover", json!({})).unwrap();
    let declared: Vec<&String> = about["capabilities"].as_object().unwrap().keys().collect();
    assert_eq!(declared, ["extensions", "prompts", "resources", "tools"]);
    assert_eq!(client.ask("subscriptions/listen", json!({ "notifications": {} })).unwrap_err()["code"], -32601);

    let listed = client.ask("tools/list", json!({})).unwrap();
    let tools = listed["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.len() == 14, "{names:?}");
    let run = client.data("query", json!({ "query": "What is it?", "agent": "thinker" }))["run"].clone();
    let calls = [
        ("query", json!({ "query": "What is it?", "agent": "thinker" })),
        ("dispatch_agent_task", json!({ "prompt": "What is it?", "agent": "thinker" })),
        ("task_status", json!({ "run": run })),
        ("task_result", json!({ "run": run })),
        ("search", json!({ "query": "hello" })),
        ("fetch", json!({ "id": "a.txt" })),
        ("read_file", json!({ "path": "a.txt" })),
        ("list_files", json!({})),
        ("write_file", json!({ "path": "b.txt", "content": "b" })),
    ];
    for (name, arguments) in calls {
        let promised = tools.iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"].clone();
        let data = client.data(name, arguments);
        updraft_tools::Schema::new(&promised)
            .unwrap()
            .judge(&data)
            .unwrap_or_else(|why| panic!("{name}: {why}: {data}"));
    }
    let prompts = client.ask("prompts/list", json!({})).unwrap();
    assert_eq!(prompts["prompts"][0]["name"], "plan-and-execute");
    let filled = json!({ "name": "review-and-fix", "arguments": { "subject": "the login page" } });
    let filled = client.ask("prompts/get", filled).unwrap();
    assert!(filled["messages"][0]["content"]["text"].as_str().unwrap().contains("the login page"));
    assert_eq!(client.ask("prompts/get", json!({ "name": "review-and-fix" })).unwrap_err()["code"], -32602);
}

#[test]
fn a_query_that_was_answered_later_is_part_of_its_conversation() {
    let world = World::new();
    let mut client = serve(&world, &asks(), Era::New, json!({}));
    let waiting = client.data("query", json!({ "query": "choose", "agent": "clarification", "history": true }));
    assert_eq!(waiting["status"], "waiting");
    assert_eq!((&waiting["messages"][0]["role"], &waiting["messages"][0]["text"]), (&json!("user"), &json!("choose")));
    client.call("answer_question", json!({ "run": waiting["run"], "answer": "blue" }));
    while client.data("task_status", json!({ "run": waiting["run"] }))["status"] == "working" {}
    // Across a restart too.
    client.child.kill().unwrap();
    drop(client);
    let mut client = serve(&world, &answers(), Era::New, json!({}));
    let next = json!({ "query": "Who wrote it?", "agent": "thinker", "session": waiting["session"] });
    let next = client.data("query", next);
    assert_eq!(earlier(&world, &next), "user: choose\nassistant: Blue it is.");
}

#[test]
fn a_message_that_is_too_large_is_answered() {
    let world = World::new();
    for era in [Era::Old, Era::New] {
        let mut client = serve(&world, &answers(), era, json!({}));
        client.call("read_file", json!({ "path": "a.txt" }));
        let large = "x".repeat(17 << 20);
        let arguments = json!({ "name": "write_file", "arguments": { "path": "b.txt", "content": large } });
        let error = client.ask("tools/call", arguments).unwrap_err();
        assert!(error["code"] == -32600 && error["message"].as_str().unwrap().contains("more than 16 MB"), "{error}");
        client.notify("notifications/large", &json!({ "id": 1, "text": large }));
        assert_eq!(text(&client.call("read_file", json!({ "path": "a.txt" }))), "hello\n");
        let unread = client.heard.iter().find(|heard| heard["error"].is_object()).unwrap();
        assert_eq!((&unread["error"]["code"], &unread["id"]), (&json!(-32700), &Value::Null));
        assert!(!world.ws().join("b.txt").exists());
        assert_eq!(client.leave(), Some(0));
    }
}

#[test]
fn a_document_is_whole_or_says_that_it_is_cut() {
    let world = World::new();
    let mut client = serve(&world, &answers(), Era::New, json!({}));
    for content in ["é\n".repeat(100_000), String::new()] {
        world.file("x.md", &content);
        let document = client.data("fetch", json!({ "id": "x.md" }));
        assert!(document["text"] == content && document["metadata"] == json!({ "source": "workspace" }));
    }
    let long = "é\n".repeat(400_000);
    world.file("x.md", &long);
    let document = client.data("fetch", json!({ "id": "x.md" }));
    let given = document["text"].as_str().unwrap();
    assert!(long.starts_with(given) && given.len() > 1_000_000);
    let metadata = &document["metadata"];
    assert_eq!((&metadata["truncated"], &metadata["bytes"]), (&json!(true), &json!(1_200_000)));
    assert_eq!(metadata["bytes_given"], given.len());
}

#[test]
fn what_is_no_text_and_what_was_ingested_from_elsewhere_is_fetched_as_it_was_indexed() {
    let world = World::new();
    let outside = world.home().parent().unwrap().join("papers");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("loom.md"), "# Looms\n\nA loom has a shuttle.\n").unwrap();
    // Text in an old encoding, which is no text for `read_file`.
    std::fs::write(world.ws().join("cafe.txt"), b"The caf\xE9 opens at nine, as every caf\xE9 does.\n").unwrap();
    assert_eq!(world.updraft(&["ingest", outside.to_str().unwrap()]).code, 0);
    let mut client = serve(&world, &answers(), Era::New, json!({}));
    for (query, end, text) in
        [("shuttle", "papers/loom.md", "A loom has a shuttle."), ("opens nine", "cafe.txt", "The café")]
    {
        let found = client.data("search", json!({ "query": query }));
        let hit = &found["results"][0];
        assert!(hit["id"].as_str().unwrap().ends_with(end), "{found}");
        let document = client.data("fetch", json!({ "id": hit["id"] }));
        assert!(document["text"].as_str().unwrap().contains(text), "{document}");
    }
    assert!(
        client.refused("fetch", json!({ "id": "/etc/passwd" })).contains("neither in the workspace nor in its index")
    );
}

#[test]
fn every_word_of_a_long_query_is_looked_for() {
    let world = World::new();
    world.file("notes.md", "the zeppelin\n");
    let mut client = serve(&world, &answers(), Era::New, json!({}));
    let query = "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike zeppelin";
    let found = client.data("search", json!({ "query": query }));
    assert_eq!(found["results"][0]["id"], "notes.md", "{found}");
}

#[test]
fn a_last_message_without_an_end_of_line_is_answered() {
    use std::io::Write as _;
    let world = World::new();
    let mut served = world.command(&["mcp", "serve"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "a pipe", "version": "1"}}});
    write!(served.stdin.take().unwrap(), "{hello}").unwrap();
    let said = String::from_utf8(served.wait_with_output().unwrap().stdout).unwrap();
    let answer: Value = serde_json::from_str(said.lines().next().unwrap_or_default()).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(1), &json!("2025-06-18")));
}
