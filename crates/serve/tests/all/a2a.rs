//! A2A by hand: what the specification and its test kit demand of every agent, over both bindings, and what must outlive
//! the server.

use serde_json::{Value, json};
use updraft_serve::UserRole;

use crate::world::{Answer, World};

pub(crate) fn script() -> Value {
    let question = json!({ "name": "ask_user", "args": { "question": "Which colour?", "options": ["red", "blue"] } });
    let file = json!({ "name": "write_file", "args": { "path": "door.txt", "content": "painted\n" } });
    json!({ "rules": [
        { "when": { "contains": "Slowly" }, "answer": { "text": "late", "delay_ms": 600_000 } },
        { "when": { "contains": "Fail" }, "answer": { "fail": "no more" } },
        { "when": { "agent": "clarification", "turn": 0 }, "answer": { "calls": [question] } },
        { "when": { "agent": "coder", "turn": 0 }, "answer": { "calls": [file] } },
    ], "default": { "text": "A loom." } })
}

/// An agent that speaks A2A.
pub(crate) struct Peer<'a> {
    pub(crate) world: &'a World,
    pub(crate) token: String,
}

impl<'a> Peer<'a> {
    pub(crate) fn of(world: &'a World) -> Self {
        Self { world, token: world.token.reveal().to_owned() }
    }

    fn headers(&self) -> String {
        format!("Authorization: Bearer {}\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n", self.token)
    }

    /// One request over JSON-RPC, as it is answered.
    async fn raw(&self, body: &str) -> Answer {
        self.world.send("POST", "/a2a", &self.headers(), body).await
    }

    /// The answer to one operation.
    async fn call(&self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": "r1", "method": method, "params": params }).to_string();
        let answer = self.raw(&body).await;
        assert_eq!(answer.status, 200, "{method}: {}", answer.body);
        let answer = answer.json();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!("r1")), "{answer}");
        answer
    }

    pub(crate) async fn result(&self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    pub(crate) async fn code(&self, method: &str, params: Value) -> i64 {
        let answer = self.call(method, params).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    pub(crate) async fn rest(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.world.send(method, &format!("/a2a/v1{path}"), &self.headers(), &body).await
    }

    /// Sends a message to an agent, and gives the task.
    pub(crate) async fn send(&self, agent: &str, message: Value) -> Value {
        self.result("SendMessage", json!({ "tenant": agent, "message": message })).await["task"].take()
    }

    async fn begin(&self, agent: &str, message: Value) -> Value {
        let params = json!({ "tenant": agent, "message": message, "configuration": { "returnImmediately": true } });
        self.result("SendMessage", params).await["task"].take()
    }

    /// The data of a stream.
    async fn stream(&self, method: &str, params: Value) -> Vec<Value> {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string();
        let answer = self.raw(&body).await;
        assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"), "{}", answer.body);
        let events = frames(&answer.body);
        assert!(events.iter().all(|event| event["id"] == 7 && event["jsonrpc"] == "2.0"), "{events:?}");
        events.into_iter().map(|mut event| event["result"].take()).collect()
    }

    async fn until(&self, task: &str, state: &str) -> Value {
        loop {
            let now = self.result("GetTask", json!({ "id": task })).await;
            if now["status"]["state"] == state {
                return now;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

fn frames(body: &str) -> Vec<Value> {
    body.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

pub(crate) fn says(id: &str, text: &str) -> Value {
    json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] })
}

pub(crate) fn in_context(mut message: Value, context: &str) -> Value {
    message["contextId"] = context.into();
    message
}

pub(crate) fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

pub(crate) fn id(task: &Value) -> String {
    task["id"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned()
}

#[tokio::test]
async fn everybody_may_read_the_card_and_those_with_a_token_the_one_with_the_agents() {
    let world = World::new(&script()).await;
    let answer = world.send("GET", "/.well-known/agent-card.json", "", "").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{}", answer.body);
    assert_eq!(answer.header("cache-control"), Some("max-age=300"));
    let known = format!("If-None-Match: {}\r\n", answer.header("etag").unwrap());
    assert_eq!(world.send("GET", "/.well-known/agent-card.json", &known, "").await.status, 304);
    let card = answer.json();
    for field in ["name", "description", "version"] {
        assert!(card[field].as_str().is_some_and(|text| !text.trim().is_empty()), "{card}");
    }
    for field in ["skills", "defaultInputModes", "defaultOutputModes", "supportedInterfaces"] {
        assert!(card[field].as_array().is_some_and(|list| !list.is_empty()), "{card}");
    }
    let origin = world.origin();
    for (n, (binding, path)) in [("JSONRPC", "/a2a"), ("HTTP+JSON", "/a2a/v1")].into_iter().enumerate() {
        let interface =
            json!({ "url": format!("{origin}{path}"), "protocolBinding": binding, "protocolVersion": "1.0" });
        assert_eq!(card["supportedInterfaces"][n], interface);
    }
    assert_eq!(
        card["capabilities"],
        json!({ "streaming": true, "pushNotifications": true, "extendedAgentCard": true })
    );
    assert_eq!(card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
    assert_eq!(card["securityRequirements"], json!([{ "schemes": { "bearer": { "list": [] } } }]));
    assert!(!answer.body.contains("thinker"), "what agents there are is not for everybody");
    assert_eq!(world.send("GET", "/.well-known/agent-card.json", "Host: evil.example\r\n", "").await.status, 403);
    let peer = Peer::of(&world);
    let extended = peer.result("GetExtendedAgentCard", Value::Null).await;
    let skills = extended["skills"].as_array().unwrap();
    assert!(skills.iter().any(|skill| skill["id"] == "thinker" && skill["tags"].is_array()), "{extended}");
    assert_eq!(peer.rest("GET", "/extendedAgentCard", &Value::Null).await.json(), extended);
    world.close().await;
}

#[tokio::test]
async fn only_programs_with_a_token_and_the_role_come_in() {
    let world = World::new(&script()).await;
    let owner = Peer::of(&world);
    let viewer = Peer { world: &world, token: world.users.add("viewer", UserRole::See).unwrap() };
    let driver = Peer { world: &world, token: world.users.add("driver", UserRole::Steer).unwrap() };
    let task = id(&owner.send("thinker", says("m1", "What is it?")).await);
    let places = [("POST", "/a2a"), ("POST", "/a2a/v1/message:send"), ("GET", "/a2a/v1/tasks"), ("GET", "/a2a/v1/x")];
    for (method, path) in places {
        let cookie = format!("Cookie: {}\r\nA2A-Version: 1.0\r\n", world.cookie);
        for headers in ["", &cookie, "Authorization: Bearer x\r\n", "Authorization: Basic x\r\n"] {
            let answer = world.send(method, path, headers, "{}").await;
            assert_eq!(answer.status, 401, "{method} {path}: {}", answer.body);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"updraft\""));
        }
        let elsewhere = format!("{}Host: evil.example\r\n", owner.headers());
        assert_eq!(world.send(method, path, &elsewhere, "{}").await.status, 403, "{method} {path}");
        let page = format!("{}Origin: https://evil.example\r\n", owner.headers());
        assert_eq!(world.send(method, path, &page, "{}").await.status, 403, "{method} {path}");
    }
    let send = json!({ "tenant": "thinker", "message": says("m2", "x") });
    let push = json!({ "taskId": task, "url": "http://127.0.0.1:9/" });
    let asked = json!({ "id": task });
    assert_eq!(id(&viewer.result("GetTask", asked.clone()).await), task);
    for (method, params) in [("SendMessage", &send), ("CancelTask", &asked)] {
        assert_eq!(viewer.code(method, params.clone()).await, -32000, "{method}");
    }
    let refused = viewer.rest("POST", "/message:send", &send).await;
    assert_eq!((refused.status, &refused.json()["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    assert_eq!(driver.code("CreateTaskPushNotificationConfig", push.clone()).await, -32000);
    let mut with_push = send;
    with_push["configuration"] = json!({ "taskPushNotificationConfig": { "url": "http://127.0.0.1:9/" } });
    assert_eq!(driver.code("SendMessage", with_push).await, -32000);
    assert_eq!(id(&driver.send("thinker", says("m3", "y")).await).len(), task.len());
    world.close().await;
}

#[tokio::test]
async fn json_rpc_is_kept_to_and_only_version_1_is_spoken() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{}", "[".repeat(100_000));
    let wrong = [
        ("{\"jsonrpc\": \"2.0\", \"method\": \"SendMessage\", \"params\": {\"foo\": \"bar\"}", -32700),
        ("", -32700),
        (&deep, -32700),
        ("[]", -32600),
        ("{\"jsonrpc\":\"aaa\",\"id\":1,\"method\":\"SendMessage\",\"params\":{}}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{}}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"ListTasks\",\"params\":{}}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{\"bad\":1},\"method\":\"SendMessage\",\"params\":{}}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessageXXX\",\"params\":{}}", -32601),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"message/send\",\"params\":{}}", -32601),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":{\"\":\"not_a_dict\"}}", -32602),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":[]}", -32602),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":{\"message\":{\"parts\":\"x\"}}}",
            -32602,
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{}}", -32602),
    ];
    for (body, code) in wrong {
        let answer = peer.raw(body).await;
        assert_eq!(answer.status, 200, "{}", &body[..body.len().min(90)]);
        let error = &answer.json()["error"];
        assert_eq!(error["code"], code, "{}: {error}", &body[..body.len().min(90)]);
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
    }
    let bearer = format!("Authorization: Bearer {}\r\n", peer.token);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {} }).to_string();
    for version in ["", "A2A-Version: 0.3\r\n", "A2A-Version: 2.0\r\n"] {
        let answer = world.send("POST", "/a2a", &format!("{bearer}{version}"), &body).await.json();
        assert_eq!(answer["error"]["code"], -32009, "{answer}");
        let answer = world.send("GET", "/a2a/v1/tasks", &format!("{bearer}{version}"), "").await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED");
    }
    assert_eq!(world.send("GET", "/a2a/v1/tasks?A2A-Version=1.0", &bearer, "").await.status, 200);
    assert_eq!(world.service.runs.heads().unwrap(), [], "nothing was started");
    world.close().await;
}

#[tokio::test]
async fn a_message_becomes_a_task_with_artifacts_and_the_next_one_in_its_context_follows_it() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let task = peer.send("thinker", says("m1", "What is it?")).await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED", "{task}");
    let answer = json!({ "artifactId": "answer", "name": "answer",
                         "parts": [{ "text": "A loom.", "mediaType": "text/markdown" }] });
    assert_eq!(task["artifacts"], json!([answer]));
    let (first, context) = (id(&task), task["contextId"].as_str().unwrap().to_owned());
    let sent = &task["history"][0];
    assert_eq!((&sent["messageId"], &sent["taskId"]), (&json!("m1"), &json!(first)), "{sent}");
    assert_eq!(sent["contextId"], context.as_str());
    let again = peer.send("thinker", in_context(says("m2", "And this?"), &context)).await;
    assert_eq!(again["contextId"], context.as_str());
    assert_ne!(id(&again), first);
    let goal = world.service.runs.events(&world.service.runs.find(&id(&again)).unwrap(), 1, 1).unwrap();
    let goal = serde_json::to_value(&goal[0].event).unwrap();
    assert_eq!(goal["started"]["goal"]["follows"], first.as_str());
    assert_eq!(goal["started"]["goal"]["door"], "a2a");
    // A context may be named by the client; files come with a message and go with the result.
    let parts = json!([{ "text": "Paint it" }, { "raw": "aGk=", "filename": "colour.txt" }, { "data": { "n": 1 } }]);
    let message = json!({ "messageId": "m3", "role": "ROLE_USER", "contextId": "mine", "parts": parts });
    let painted = peer.send("coder", message).await;
    assert_eq!((state(&painted), &painted["contextId"]), ("TASK_STATE_COMPLETED", &json!("mine")), "{painted}");
    assert_eq!(std::fs::read_to_string(world.file("uploads/colour.txt")).unwrap(), "hi");
    let file = json!({ "text": "painted\n", "filename": "door.txt", "mediaType": "text/plain" });
    assert_eq!(painted["artifacts"][1], json!({ "artifactId": "file door.txt", "name": "door.txt", "parts": [file] }));
    let by_address = json!({ "messageId": "m4", "role": "ROLE_USER", "parts": [{ "url": "https://a.example/x" }] });
    assert_eq!(peer.code("SendMessage", json!({ "message": by_address })).await, -32005);
    let nobody = json!({ "tenant": "nobody", "message": says("m5", "x") });
    assert_eq!(peer.code("SendMessage", nobody).await, -32602);
    let failed = peer.send("thinker", says("m6", "Fail")).await;
    assert_eq!(state(&failed), "TASK_STATE_FAILED", "{failed}");
    assert!(failed["status"]["message"]["parts"][0]["text"].is_string(), "{failed}");
    world.close().await;
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let working = peer.begin("thinker", says("m1", "Slowly")).await;
    assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state(&working)), "{working}");
    let task = id(&working);
    let cancelled = peer.result("CancelTask", json!({ "id": task })).await;
    assert_eq!(state(&cancelled), "TASK_STATE_CANCELED", "{cancelled}");
    assert_eq!(peer.code("CancelTask", json!({ "id": task })).await, -32002);
    let again = peer.rest("POST", &format!("/tasks/{task}:cancel"), &json!({})).await;
    assert_eq!((again.status, &again.json()["error"]["details"][0]["reason"]), (400, &json!("TASK_NOT_CANCELABLE")));
    assert_eq!(peer.code("CancelTask", json!({ "id": "nobody" })).await, -32001);
    assert_eq!(peer.code("SubscribeToTask", json!({ "id": task })).await, -32004);
    assert_eq!(peer.code("SubscribeToTask", json!({ "id": "nobody" })).await, -32001);
    world.close().await;
}

#[tokio::test]
async fn tasks_are_listed_by_filters_and_in_pages() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let list = |params: Value| {
        let peer = &peer;
        async move { peer.result("ListTasks", params).await }
    };
    let none = list(json!({ "contextId": "empty" })).await;
    assert_eq!(none, json!({ "tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0 }));
    let mut made = Vec::new();
    for n in 0..5 {
        made.push(id(&peer.send("thinker", in_context(says(&format!("m{n}"), "x"), "c")).await));
    }
    let asks = id(&peer.send("clarification", says("asks", "x")).await);
    made.reverse();
    let ids = |page: &Value| page["tasks"].as_array().unwrap().iter().map(id).collect::<Vec<_>>();
    let all = list(json!({})).await;
    assert_eq!(ids(&all)[0], asks, "the last one changed is the first");
    assert_eq!((&all["totalSize"], &all["pageSize"]), (&json!(6), &json!(6)));
    assert!(all["tasks"].as_array().unwrap().iter().all(|task| task.get("artifacts").is_none()), "{all}");
    assert_eq!(ids(&list(json!({ "contextId": "c" })).await), made);
    assert_eq!(ids(&list(json!({ "status": "TASK_STATE_INPUT_REQUIRED" })).await), [asks.as_str()]);
    assert_eq!(ids(&list(json!({ "status": "TASK_STATE_COMPLETED" })).await), made);
    let newest = all["tasks"][0]["status"]["timestamp"].as_str().unwrap();
    assert_eq!(ids(&list(json!({ "statusTimestampAfter": newest })).await), [asks.as_str()]);
    let (mut token, mut paged) = (String::new(), Vec::new());
    for (size, more) in [(2, true), (2, true), (1, false)] {
        let page = list(json!({ "contextId": "c", "pageSize": 2, "pageToken": token })).await;
        assert_eq!((&page["pageSize"], &page["totalSize"]), (&json!(size), &json!(5)));
        page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
        assert_eq!(!token.is_empty(), more);
        paged.extend(ids(&page));
    }
    assert_eq!(paged, made);
    let whole = list(json!({ "contextId": "c", "includeArtifacts": true, "historyLength": 1 })).await;
    assert_eq!(whole["tasks"][0]["artifacts"][0]["parts"][0]["text"], "A loom.");
    assert_eq!(whole["tasks"][0]["history"].as_array().unwrap().len(), 1);
    assert!(list(json!({ "historyLength": 0 })).await["tasks"][0].get("history").is_none());
    let query = "/tasks?contextId=c&includeArtifacts=true&historyLength=1&pageSize=50";
    assert_eq!(peer.rest("GET", query, &Value::Null).await.json(), whole);
    let wrong = [
        json!({ "pageSize": 0 }),
        json!({ "pageSize": -1 }),
        json!({ "pageSize": 101 }),
        json!({ "pageToken": "x" }),
        json!({ "status": "done" }),
        json!({ "historyLength": -1 }),
        json!({ "statusTimestampAfter": "yesterday" }),
    ];
    for params in wrong {
        assert_eq!(peer.code("ListTasks", params.clone()).await, -32602, "{params}");
    }
    world.close().await;
}

#[tokio::test]
async fn a_run_that_no_agent_has_asked_for_is_a_task_in_a_context_of_its_own() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let order = updraft_workbench::service::RunOrder {
        goal: "What is it?".to_owned(),
        mode: updraft_run::RunMode::Agent("thinker".to_owned()),
        ..Default::default()
    };
    let own = world.service.runs.order(order).await.unwrap().to_string();
    let own_task = peer.until(&own, "TASK_STATE_COMPLETED").await;
    assert_eq!(
        (&own_task["contextId"], &own_task["history"][0]["parts"][0]["text"]),
        (&json!(own), &json!("What is it?"))
    );
    let next = peer.send("thinker", in_context(says("next", "And now?"), &own)).await;
    let listed = peer.result("ListTasks", json!({ "contextId": own })).await;
    let ids: Vec<String> = listed["tasks"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids, [id(&next), own]);
    // It remains its own context when an agent has answered its question.
    let order = updraft_workbench::service::RunOrder {
        goal: "Paint it".to_owned(),
        mode: updraft_run::RunMode::Agent("clarification".to_owned()),
        ..Default::default()
    };
    let own = world.service.runs.order(order).await.unwrap().to_string();
    peer.until(&own, "TASK_STATE_INPUT_REQUIRED").await;
    let mut reply = says("reply", "red");
    reply["taskId"] = own.as_str().into();
    peer.send("", reply).await;
    let listed = peer.result("ListTasks", json!({ "contextId": own })).await;
    assert_eq!(listed["tasks"].as_array().unwrap().iter().map(id).collect::<Vec<_>>(), [own]);
    world.close().await;
}

#[tokio::test]
async fn streams_begin_with_the_task_and_end_where_it_ends_or_asks() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let told = peer.stream("SendStreamingMessage", json!({ "tenant": "thinker", "message": says("m1", "x") })).await;
    assert_eq!(state(&told[0]["task"]), "TASK_STATE_SUBMITTED", "{told:?}");
    let task = id(&told[0]["task"]);
    assert!(told[1..].iter().all(|update| {
        let update = update.get("statusUpdate").or(update.get("artifactUpdate")).unwrap();
        update["taskId"] == task.as_str() && update["contextId"] == told[0]["task"]["contextId"]
    }));
    let artifact = &told[told.len() - 2]["artifactUpdate"]["artifact"];
    assert_eq!(artifact["parts"][0]["text"], "A loom.", "{told:?}");
    assert_eq!(state(&told[told.len() - 1]["statusUpdate"]), "TASK_STATE_COMPLETED");
    let body = json!({ "tenant": "clarification", "message": says("m2", "x") });
    let answer = peer.rest("POST", "/message:stream", &body).await;
    let asked = frames(&answer.body);
    assert_eq!(state(&asked[asked.len() - 1]["statusUpdate"]), "TASK_STATE_INPUT_REQUIRED", "{asked:?}");
    let task = id(&asked[0]["task"]);
    let mut reply = says("m3", "blue");
    reply["taskId"] = task.as_str().into();
    // Somebody else follows it, by either method.
    let place = format!("/clarification/tasks/{task}:subscribe");
    let (subscribed, followed, told) = tokio::join!(
        peer.rest("POST", &place, &Value::Null),
        peer.stream("SubscribeToTask", json!({ "id": task })),
        async {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            peer.stream("SendStreamingMessage", json!({ "message": &reply })).await
        }
    );
    for told in [frames(&subscribed.body), followed, told] {
        assert_eq!(id(&told[0]["task"]), task);
        assert_eq!(state(&told[told.len() - 1]["statusUpdate"]), "TASK_STATE_COMPLETED", "{told:?}");
    }
    // Whose connection broke off sends the message again, and is shown how the task stands.
    let told = peer.stream("SendStreamingMessage", json!({ "message": reply })).await;
    assert_eq!((told.len(), state(&told[0]["task"])), (1, "TASK_STATE_COMPLETED"), "{told:?}");
    let params =
        json!({ "tenant": "clarification", "message": says("m2", "x"), "configuration": { "historyLength": 0 } });
    let told = peer.stream("SendStreamingMessage", params).await;
    assert_eq!((told.len(), state(&told[0]["task"])), (1, "TASK_STATE_COMPLETED"), "{told:?}");
    assert_eq!((id(&told[0]["task"]), told[0]["task"].get("history")), (task, None), "{told:?}");
    let wrong = peer.rest("POST", "/message:stream", &json!({ "message": { "parts": [] } })).await;
    assert_eq!((wrong.status, &wrong.json()["error"]["status"]), (400, &json!("INVALID_ARGUMENT")));
    assert_eq!(peer.rest("GET", "/nothing/here", &Value::Null).await.status, 404);
    world.close().await;
}

#[tokio::test]
async fn the_same_message_is_one_task_also_after_a_restart() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let working = peer.begin("thinker", says("m1", "Slowly")).await;
    let (one, other) =
        tokio::join!(peer.begin("thinker", says("m2", "Slowly")), peer.begin("thinker", says("m2", "Slowly")));
    assert_eq!(id(&one), id(&other));
    let asks = peer.send("clarification", in_context(says("m3", "Paint it"), "mine")).await;
    let quick = json!({ "default": { "text": "After the restart." } });
    let world = world.restarted(&quick).await;
    let peer = Peer::of(&world);
    assert_eq!(id(&peer.begin("thinker", says("m2", "Slowly")).await), id(&one));
    let done = peer.until(&id(&working), "TASK_STATE_COMPLETED").await;
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "After the restart.");
    assert_eq!(done["history"][0]["messageId"], "m1");
    let mut reply = in_context(says("m4", "blue"), "mine");
    reply["taskId"] = asks["id"].clone();
    let done = peer.send("", reply).await;
    assert_eq!((state(&done), &done["contextId"]), ("TASK_STATE_COMPLETED", &json!("mine")), "{done}");
    world.close().await;
}
