//! Turns questions and approvals of a run into forms for the client's user, and passes the answers back to the run.

use serde_json::{Value, json};
use updraft_mcp::server::model::{
    ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest, InputRequests, InputResponses,
};
use updraft_workbench::Fault;
use updraft_workbench::service::{CLIENT, LiveRuns, PendingQuestion, RunView};

/// Whether any answer was passed to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryStatus {
    Something,
    Nothing,
}

/// What a run waits for, as forms. The key is the position in the run, which is never used again.
pub(super) fn requests(view: &RunView) -> InputRequests {
    view.waits.iter().filter_map(|wait| Some((wait.id.clone(), request(wait)?))).collect()
}

fn request(wait: &PendingQuestion) -> Option<InputRequest> {
    let (message, schema) = if wait.is_approval { approval(wait) } else { question(wait) };
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    let form = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    Some(InputRequest::Elicitation(ElicitRequest::new(form)))
}

fn question(wait: &PendingQuestion) -> (String, Value) {
    if wait.is_inquiry {
        let nothing = || json!({ "type": "object", "properties": {} });
        return (wait.text.clone(), wait.form.clone().unwrap_or_else(nothing));
    }
    let answer = if wait.options.is_empty() {
        json!({ "type": "string", "title": "Answer", "minLength": 1 })
    } else {
        json!({ "type": "string", "title": "Answer", "enum": wait.options })
    };
    (wait.text.clone(), json!({ "type": "object", "properties": { "answer": answer }, "required": ["answer"] }))
}

fn approval(wait: &PendingQuestion) -> (String, Value) {
    let name = wait.call["name"].as_str().unwrap_or("a call");
    let arguments = updraft_run::argument_lines(&wait.call["args"]).join("\n");
    let message = format!("Allow `{name}`? {}.\n{arguments}", wait.text);
    let properties = json!({
        "allow": { "type": "boolean", "title": "Allow it", "default": false },
        "because": { "type": "string", "title": "Why not (the agent is told)" }
    });
    (message, json!({ "type": "object", "properties": properties, "required": ["allow"] }))
}

/// Passes a run the answers it waits for. Unknown keys are ignored.
pub(super) async fn give(runs: &LiveRuns, view: &RunView, replies: &InputResponses) -> Result<DeliveryStatus, Fault> {
    let mut gave = DeliveryStatus::Nothing;
    for wait in &view.waits {
        let Some(reply) = replies.get(&wait.id) else { continue };
        let (run, id) = (&view.run, Some(wait.id.as_str()));
        let content = &reply["content"];
        match (reply["action"].as_str(), wait.is_approval) {
            (Some("accept"), true) => {
                let because = content["because"].as_str().unwrap_or_default().to_owned();
                runs.approve(run, id, content["allow"].as_bool() == Some(true), because).await?;
            }
            (Some("accept"), false) if wait.is_inquiry => {
                let given = if content.is_object() { content.to_string() } else { "{}".to_owned() };
                runs.answer(run, id, given).await?;
            }
            (Some("accept"), false) => {
                let Some(text) = content["answer"].as_str() else { continue };
                runs.answer(run, id, text.to_owned()).await?;
            }
            (Some("decline"), true) => {
                runs.approve(run, id, false, String::new()).await?;
            }
            (Some("decline"), false) if wait.is_inquiry => {
                runs.decline(run, &wait.id, CLIENT).await?;
            }
            (Some("decline"), false) => {
                runs.answer(run, id, "(The person declined to answer this.)".to_owned()).await?;
            }
            // Dismissed: the run keeps waiting.
            _ => continue,
        }
        gave = DeliveryStatus::Something;
    }
    Ok(gave)
}
