//! A conversation to have with a server, and what was heard.

use std::time::Duration;

use updraft_models::{Brief, Delta, Draft, Endpoint, Error, Http, Model, OpenAi, Patience, Prompt, Token};
use updraft_run::{Answer, Message, ToolSpec};

use crate::server::Server;

pub(crate) struct Talk {
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) messages: Vec<Message>,
    pub(crate) schema: Option<serde_json::Value>,
    pub(crate) draft: Draft,
    pub(crate) heard: Vec<String>,
    brief: Brief,
}

impl Talk {
    pub(crate) fn new() -> Self {
        Self {
            tools: Vec::new(),
            messages: vec![Message::User("Hello".into())],
            schema: None,
            draft: Draft::default(),
            heard: Vec::new(),
            brief: Brief::default(),
        }
    }

    pub(crate) async fn ask(&mut self, model: &OpenAi) -> Result<Answer, Error> {
        let prompt = Prompt {
            system: "Be brief.",
            tools: &self.tools,
            messages: &self.messages,
            max_output: 100,
            schema: self.schema.as_ref(),
            brief: &self.brief,
        };
        let heard = &mut self.heard;
        let mut hear = |delta: Delta<'_>| {
            heard.push(match delta {
                Delta::Text(text) => format!("text {text}"),
                Delta::Reasoning(text) => format!("reasoning {text}"),
                Delta::Call(name) => format!("call {name}"),
                Delta::Again(why) => format!("again: {why}"),
                Delta::Waiting(why) => format!("waiting: {why}"),
                other => format!("{other:?}"),
            });
        };
        let asking = model.ask(&prompt, &mut self.draft, &mut hear);
        assert!(std::mem::size_of_val(&*asking) < 4096, "an ask takes {} bytes", std::mem::size_of_val(&*asking));
        asking.await
    }
}

pub(crate) fn endpoint(server: &Server) -> Endpoint {
    Endpoint {
        provider: "openai-compatible".to_owned(),
        model: "test".to_owned(),
        base: server.base(),
        key: Some(Token::new("sk-secret-of-ours")),
        price: None,
        patience: Patience {
            first_wait: Duration::from_millis(1),
            stall: Duration::from_millis(300),
            ..Patience::default()
        },
        http: Http::default(),
    }
}

pub(crate) fn model(server: &Server) -> OpenAi {
    OpenAi::new(endpoint(server)).unwrap()
}

/// One exchange: what the answer is, and what was heard.
pub(crate) async fn hear(exchange: Vec<crate::server::Act>) -> (Answer, Vec<String>) {
    let server = Server::new(vec![exchange]).await;
    let mut talk = Talk::new();
    let answer = talk.ask(&model(&server)).await.unwrap();
    (answer, talk.heard)
}
