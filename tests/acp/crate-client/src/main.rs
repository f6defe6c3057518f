//! An editor made of the official crate: holds a conversation with an agent, loads it in a second process of the agent, and prints what
//! it saw as one JSON object. Usage: acp-crate-client FOLDER AGENT ARGS…

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, InitializeRequest, InitializeResponse, ListSessionsRequest, LoadSessionRequest,
    NewSessionRequest, PermissionOptionKind, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionId, SessionNotification, SessionUpdate, StopReason,
    TextContent,
};
use agent_client_protocol::{AcpAgent, AcpAgentConfig, Agent, Client, Error};
use futures::channel::oneshot;
use serde_json::{Value, json};

/// What the editor was told and asked, in order.
#[derive(Clone, Default)]
struct Diary {
    updates: Arc<Mutex<Vec<SessionUpdate>>>,
    asked: Arc<Mutex<Vec<RequestPermissionRequest>>>,
}

impl Diary {
    fn as_json(&self) -> Value {
        json!({ "updates": *self.updates.lock().unwrap(), "asked": *self.asked.lock().unwrap() })
    }
}

/// Talks with a new process of the agent. Permissions are given once.
async fn connected<R>(
    agent: &AcpAgentConfig,
    diary: &Diary,
    talk: impl AsyncFnOnce(ConnectionTo<Agent>, InitializeResponse) -> Result<R, Error>,
) -> Result<R, Error> {
    let (updates, asked) = (diary.updates.clone(), diary.asked.clone());
    Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _| {
                updates.lock().unwrap().push(notification.update);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let once = request.options.iter().find(|option| option.kind == PermissionOptionKind::AllowOnce);
                let outcome = match once {
                    Some(once) => {
                        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(once.option_id.clone()))
                    }
                    None => RequestPermissionOutcome::Cancelled,
                };
                asked.lock().unwrap().push(request);
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(AcpAgent::new(agent.clone()), async move |connection: ConnectionTo<Agent>| {
            let introduced = connection.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
            talk(connection, introduced).await
        })
        .await
}

fn prompt(session: &SessionId, text: &str) -> PromptRequest {
    PromptRequest::new(session.clone(), vec![ContentBlock::Text(TextContent::new(text))])
}

/// Long enough for the agent to begin, which then takes ten minutes.
async fn a_moment() {
    let (over, is_over) = oneshot::channel();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        let _ = over.send(());
    });
    let _ = is_over.await;
}

async fn conversation(folder: PathBuf, agent: AcpAgentConfig) -> Result<Value, Error> {
    let (diary, work) = (Diary::default(), folder.clone());
    let (introduced, session, stops) = connected(&agent, &diary, async move |connection, introduced| {
        let session = connection.send_request(NewSessionRequest::new(work)).block_task().await?.session_id;
        let mut stops: Vec<StopReason> = Vec::new();
        for text in ["What is it?", "Inscribe the notes", "Graft the hook"] {
            stops.push(connection.send_request(prompt(&session, text)).block_task().await?.stop_reason);
        }
        let turn = connection.send_request(prompt(&session, "Dawdle")).block_task();
        let cancel = async {
            a_moment().await;
            connection.send_notification(CancelNotification::new(session.clone()))
        };
        let (turn, cancelled) = futures::join!(turn, cancel);
        cancelled?;
        stops.push(turn?.stop_reason);
        Ok((introduced, session, stops))
    })
    .await?;
    let (again, loaded, id) = (Diary::default(), Diary::default(), session.clone());
    let (diary_of_load, updates) = (loaded.clone(), again.updates.clone());
    let (listed, stop) = connected(&agent, &again, async move |connection, _| {
        let listed = connection.send_request(ListSessionsRequest::new()).block_task().await?;
        connection.send_request(LoadSessionRequest::new(id.clone(), folder)).block_task().await?;
        // What is told before the answer is the replay.
        diary_of_load.updates.lock().unwrap().extend(updates.lock().unwrap().drain(..));
        let stop = connection.send_request(prompt(&id, "And now?")).block_task().await?.stop_reason;
        Ok((listed, stop))
    })
    .await?;
    Ok(json!({
        "introduced": introduced, "session": session, "stops": stops, "talk": diary.as_json(),
        "listed": listed, "loaded": loaded.as_json(), "after": { "stop": stop, "talk": again.as_json() },
    }))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(folder), Some(program)) = (words.next(), words.next()) else {
        return Err("usage: acp-crate-client FOLDER AGENT ARGS…".into());
    };
    let agent = AcpAgentConfig::new(program).args(words);
    println!("{}", futures::executor::block_on(conversation(folder.into(), agent))?);
    Ok(())
}
