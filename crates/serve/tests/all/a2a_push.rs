//! A2A's push notifications: servers that are told about a task, also after a restart.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::a2a::{Peer, id, says, script, state};
use crate::world::World;

/// Receives what a server is told, and answers with these statuses, the last one for ever.
async fn receiver(statuses: &'static [u16]) -> (String, tokio::sync::mpsc::UnboundedReceiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/told", listener.local_addr().unwrap());
    let (heard, told) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        for n in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            while !is_whole(&text) {
                let mut part = [0; 4096];
                let read = tokio::time::timeout(std::time::Duration::from_secs(2), stream.read(&mut part)).await;
                let read = read.map_or(0, |read| read.unwrap_or(0));
                // A connection that the client has opened in advance is left alone.
                if read == 0 {
                    break;
                }
                text += &String::from_utf8_lossy(&part[..read]);
            }
            if !is_whole(&text) {
                continue;
            }
            let status = statuses.get(n).or(statuses.last()).unwrap();
            let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            if *status == 200 && heard.send((head.to_owned(), serde_json::from_str(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (url, told)
}

/// Whether a request has arrived with all of its body.
fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}

#[tokio::test]
async fn other_servers_are_told_about_a_task_also_after_a_restart() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let asks = peer.send("clarification", says("m1", "Paint it")).await;
    let task = id(&asks);
    let (url, mut told) = receiver(&[503, 200]).await;
    let config = json!({ "taskId": task, "url": url, "token": "t", "authentication": { "scheme": "Bearer", "credentials": "c" } });
    let made = peer.result("CreateTaskPushNotificationConfig", config.clone()).await;
    assert_eq!((&made["id"], &made["taskId"], &made["url"]), (&json!("push-1"), &json!(task), &json!(url)));
    let (place, second) = (format!("/tasks/{task}/pushNotificationConfigs"), json!({ "id": "two", "url": url }));
    assert_eq!(peer.rest("POST", &place, &second).await.json()["id"], "two");
    let listed = peer.result("ListTaskPushNotificationConfigs", json!({ "taskId": task })).await;
    assert_eq!(listed["configs"].as_array().unwrap().len(), 2, "{listed}");
    let path = format!("/tasks/{task}/pushNotificationConfigs/two");
    assert_eq!(peer.rest("GET", &path, &Value::Null).await.json(), listed["configs"][1]);
    for _ in 0..2 {
        assert_eq!(peer.rest("DELETE", &path, &Value::Null).await.status, 200);
    }
    assert_eq!(peer.rest("GET", &path, &Value::Null).await.status, 404);
    let named = json!({ "taskId": task, "id": "push-1" });
    assert_eq!(peer.result("GetTaskPushNotificationConfig", named).await, made);
    let nowhere = json!({ "taskId": "nobody", "url": url });
    assert_eq!(peer.code("CreateTaskPushNotificationConfig", nowhere).await, -32001);
    assert_eq!(
        peer.code("CreateTaskPushNotificationConfig", json!({ "taskId": task, "url": "file:///x" })).await,
        -32602
    );
    let world = world.restarted(&script()).await;
    let peer = Peer::of(&world);
    let mut reply = says("m2", "blue");
    reply["taskId"] = task.as_str().into();
    assert_eq!(state(&peer.send("", reply).await), "TASK_STATE_COMPLETED");
    let mut states = Vec::new();
    loop {
        // What is never told fails the test; it does not hang.
        let heard = tokio::time::timeout(std::time::Duration::from_mins(1), told.recv()).await;
        let (head, update) = heard.expect("the end of the task is told").unwrap();
        let head = head.to_lowercase();
        assert!(head.contains("authorization: bearer c") && head.contains("x-a2a-notification-token: t"), "{head}");
        assert!(head.contains("content-type: application/a2a+json"), "{head}");
        if let Some(artifact) = update.get("artifactUpdate") {
            assert_eq!(artifact["artifact"]["parts"][0]["text"], "A loom.");
        }
        if let Some(status) = update.get("statusUpdate") {
            assert_eq!(status["taskId"], task.as_str());
            states.push(state(status).to_owned());
            if state(status) == "TASK_STATE_COMPLETED" {
                break;
            }
        }
    }
    assert!(!states.contains(&"TASK_STATE_INPUT_REQUIRED".to_owned()), "what was known is not told: {states:?}");
    world.close().await;
}
