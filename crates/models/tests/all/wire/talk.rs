//! A conversation to have with a server, and what was heard.

use std::sync::Arc;
use std::time::Duration;

use updraft_models::{
    Delta, Error, Model, ModelAccess, Prompt, ProviderAccess, RateLimit, RequestDraft, RetryPolicy, SecretString,
    TaskBrief, resolve,
};
use updraft_run::{Message, ModelAnswer, ThinkingEffort, ToolSpec};

use super::server::Server;

pub(crate) struct Talk {
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) messages: Vec<Message>,
    pub(crate) schema: Option<serde_json::Value>,
    pub(crate) think: ThinkingEffort,
    pub(crate) attempt: u32,
    /// Whether what it cost is looked at: the table of prices changes with the world.
    pub(crate) priced: bool,
    pub(crate) draft: RequestDraft,
    pub(crate) heard: Vec<String>,
    pub(crate) brief: TaskBrief,
}

impl Talk {
    pub(crate) fn new() -> Self {
        Self {
            tools: Vec::new(),
            messages: vec![Message::User("Hello".into())],
            schema: None,
            think: ThinkingEffort::Auto,
            attempt: 1,
            priced: false,
            draft: RequestDraft::default(),
            heard: Vec::new(),
            brief: TaskBrief::default(),
        }
    }

    pub(crate) async fn ask(&mut self, model: &dyn Model) -> Result<ModelAnswer, Error> {
        let prompt = Prompt {
            system: "Be brief.",
            tools: &self.tools,
            messages: &self.messages,
            is_limited: true,
            max_output: 100,
            think: self.think,
            need: ThinkingEffort::Auto,
            attempt: self.attempt,
            schema: self.schema.as_ref(),
            brief: &self.brief,
            trace: None,
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
        let mut answer = asking.await?;
        if !self.priced {
            (answer.usage.price, answer.usage.cost) = (None, None);
        }
        Ok(answer)
    }
}

/// Everybody is where this server is.
pub(crate) fn access(server: &Server) -> ModelAccess {
    let reach = |path: &str| ProviderAccess {
        key: Some(SecretString::new("sk-secret-of-ours")),
        base: Some(format!("{}{path}", server.root())),
        speech: None,
    };
    let everybody = [
        ("openai", "/v1"),
        ("openai-compatible", "/v1"),
        ("openai-responses", "/v1"),
        ("anthropic", ""),
        ("gemini", "/v1beta"),
        ("vertex", "/v1"),
        ("ollama", ""),
    ];
    ModelAccess {
        limit: [("gemini".to_owned(), RateLimit::default())].into(),
        reach: everybody.iter().map(|(name, path)| ((*name).to_owned(), reach(path))).collect(),
        patience: RetryPolicy {
            first_wait: Duration::from_millis(1),
            silence: Duration::from_millis(1_500),
            stall: Duration::from_millis(300),
            ..RetryPolicy::default()
        },
        ..ModelAccess::default()
    }
}

/// The model that most tests ask, with nothing to find out about it.
pub(crate) const CHAT: &str = "openai-compatible/test?tools=native&images=yes";

pub(crate) fn model(server: &Server) -> Arc<dyn Model> {
    resolve(CHAT, &access(server)).unwrap()
}

/// One exchange: what the answer is, and what was heard.
pub(crate) async fn hear(exchange: Vec<super::server::Act>) -> (ModelAnswer, Vec<String>) {
    let server = Server::new(vec![exchange]).await;
    let mut talk = Talk::new();
    let answer = talk.ask(&*model(&server)).await.unwrap();
    (answer, talk.heard)
}
