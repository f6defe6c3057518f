//! Scripts answer by the prompt alone, whoever asks and however often.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use serde_json::json;
use updraft_models::{
    Error, Model, ModelAccess, Price, Prompt, ProviderAccess, RequestDraft, ScriptedModel, SecretString, TaskBrief,
    choose, known, resolve,
};
use updraft_run::{Cost, FinishReason, Message, ModelAnswer, TokenUsage, ToolCall, ToolResult};

struct Asked {
    brief: TaskBrief,
    messages: Vec<Message>,
}

impl Asked {
    fn by(agent: &str, step: &str) -> Self {
        let brief = TaskBrief { agent: agent.to_owned(), step: step.to_owned(), ..TaskBrief::default() };
        Self { brief, messages: vec![Message::User("begin".into())] }
    }

    fn then(mut self, text: &str) -> Self {
        self.messages.push(Message::Assistant(Arc::new(ModelAnswer::default())));
        self.messages.push(Message::User(text.into()));
        self
    }

    fn with_result(mut self, name: &str) -> Self {
        let result = ToolResult { call: "c".into(), name: name.into(), text: "gave".into(), is_error: false };
        self.messages.push(Message::Assistant(Arc::new(ModelAnswer::default())));
        self.messages.push(Message::Results(vec![result]));
        self
    }

    async fn ask(&self, model: &dyn Model) -> Result<ModelAnswer, Error> {
        let prompt = Prompt { messages: &self.messages, max_output: 10, ..Prompt::empty(&self.brief) };
        model.ask(&prompt, &mut RequestDraft::default(), &mut |_| {}).await
    }

    async fn text(&self, model: &dyn Model) -> String {
        self.ask(model).await.map_or_else(|error| error.to_string(), |answer| answer.text)
    }
}

#[tokio::test]
async fn a_list_answers_in_order_however_often_a_turn_is_asked() {
    let model = ScriptedModel::parse("list", r#"[{"text": "one"}, {"json": {"b": 1, "a": [2]}}]"#).unwrap();
    let (first, second, third) =
        (Asked::by("a", "s"), Asked::by("a", "s").then(""), Asked::by("a", "s").then("").then(""));

    assert_eq!(second.text(&model).await, r#"{"a":[2],"b":1}"#);
    assert_eq!(first.text(&model).await, "one");
    assert_eq!(first.text(&model).await, "one");
    assert_eq!(
        third.text(&model).await,
        "the script has no answer: turn 2 of agent `a`, step `s`: it ends after 2 answers"
    );
}

#[tokio::test]
async fn the_first_rule_that_fits_answers() {
    let script = json!({
        "rules": [
            {"when": {"agent": "planner"}, "answer": {"text": "a plan"}},
            {"when": {"step": "find", "turn": 1}, "answer": {"text": "second turn"}},
            {"when": {"has_result": "grep"}, "answer": {"text": "grepped"}},
            {"when": {"contains": "magic"}, "answer": {"text": "magic"}},
            {"when": {"contains": "again"}, "answer": {"text": "not yet"}, "times": 2},
        ],
        "default": {"text": "default"},
    });
    let model = ScriptedModel::parse("rules", &script.to_string()).unwrap();

    assert_eq!(Asked::by("planner", "plan").text(&model).await, "a plan");
    assert_eq!(Asked::by("coder", "find").text(&model).await, "default");
    assert_eq!(Asked::by("coder", "find").then("magic").text(&model).await, "second turn");
    assert_eq!(Asked::by("coder", "edit").then("magic").text(&model).await, "magic");
    assert_eq!(Asked::by("coder", "edit").with_result("grep").text(&model).await, "grepped");
    assert_eq!(Asked::by("coder", "edit").with_result("read").text(&model).await, "default");
    let again = Asked::by("coder", "edit").then("again");
    assert_eq!(again.text(&model).await, "not yet");
    let again = again.then("again");
    assert_eq!(again.text(&model).await, "not yet");
    assert_eq!(again.then("again").text(&model).await, "default");
}

#[tokio::test]
async fn everything_an_answer_may_say_is_said() {
    let script = json!({
        "answers": [{
            "text": "Look:", "reasoning": "Hm.", "calls": [{"name": "read", "args": {"path": "a"}}, {"name": "list"}],
            "finish": "length", "delay_ms": 50, "usage": {"input": 10, "output": 20},
        }, {"fail": "out of order"}, {"usage": {"input": 1, "output": 0}, "price": {"input": 5.0, "output": 5.0}}],
        "price": {"input": 1.0, "output": 2.0},
    });
    let model = ScriptedModel::parse("s", &script.to_string()).unwrap();
    let begun = tokio::time::Instant::now();

    let answer = Asked::by("a", "s").ask(&model).await.unwrap();

    assert!(begun.elapsed().as_millis() >= 50);
    let call = |id: &str, name: &str, args| ToolCall { id: id.into(), name: name.into(), args, fault: None };
    let expected = ModelAnswer {
        text: "Look:".into(),
        reasoning: "Hm.".into(),
        calls: vec![call("c0.0", "read", json!({"path": "a"})), call("c0.1", "list", json!({}))],
        finish: FinishReason::Length,
        usage: TokenUsage { input: 10, output: 20, cost: Some(Cost(50_000)), ..TokenUsage::default() },
        ..ModelAnswer::default()
    };
    assert_eq!(answer, expected);
    assert_eq!(model.price(), Some(Price::per_million(1.0, 2.0, None, None)));
    assert_eq!(Asked::by("a", "s").then("").text(&model).await, "the script has no answer: out of order");
    let third = Asked::by("a", "s").then("").then("").ask(&model).await.unwrap();
    assert_eq!(third.usage.cost, Some(Cost(5_000)));
}

#[tokio::test]
async fn a_function_can_be_a_model() {
    let model = ScriptedModel::from_fn("echo", |prompt| ModelAnswer {
        text: format!("{} messages", prompt.messages.len()),
        ..ModelAnswer::default()
    });

    assert_eq!(Asked::by("a", "s").text(&model).await, "1 messages");
    assert_eq!((model.name(), model.price()), ("scripted/echo", Some(Price::default())));
}

#[test]
fn a_script_that_cannot_be_read_says_where_it_is_wrong() {
    let error = ScriptedModel::parse("s", r#"[{"txt": "typo"}]"#).unwrap_err();

    assert!(error.to_string().contains("unknown field `txt`"), "{error}");
    assert!(matches!(resolve("scripted/no/such/file.json", &ModelAccess::default()), Err(Error::Config { .. })));
}

fn keyed() -> ModelAccess {
    let reach = ProviderAccess { key: Some(SecretString::new("sk")), ..ProviderAccess::default() };
    ModelAccess { reach: [("openai".to_owned(), reach)].into(), ..ModelAccess::default() }
}

#[test]
fn names_become_models_with_their_prices() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[]").unwrap();
    let mut access = keyed();
    access.prices.insert("openai/gpt-5".into(), Price { input: 1, output: 2, cached: 1, stored: 1 });
    let path = format!("scripted/{}", file.path().display());
    let price = |spec: &str| resolve(spec, &access).unwrap().price();

    assert_eq!(price("openai/gpt-5"), Some(Price { input: 1, output: 2, cached: 1, stored: 1 }));
    assert_eq!(price("openai/gpt-6"), None);
    assert_eq!(price("openai-compatible/org/model"), None);
    assert_eq!(price(&path), Some(Price::default()));
    assert_eq!(price("builtin"), Some(Price::default()));
    assert_eq!(resolve("openai-compatible/org/model", &access).unwrap().name(), "openai-compatible/org/model");
    assert!(known().iter().any(|known| known.spec == "builtin"));
}

#[test]
fn unknown_names_are_answered_with_close_ones() {
    let close = |spec: &str| match resolve(spec, &ModelAccess::default()) {
        Err(Error::Unknown { close, .. }) => close,
        Err(other) => vec![other.to_string()],
        Ok(model) => vec![model.name().to_owned()],
    };

    assert_eq!(close("bultin"), ["builtin"]);
    assert_eq!(close("gpt-5.4-mini"), ["openai/gpt-5.4-mini"]);
    assert_eq!(close("opnai/gpt-5"), ["openai/gpt-5.4-mini", "openai/gpt-5.4", "openai/NAME"]);
    assert!(close("llama-3").contains(&"ollama/NAME".to_owned()));
}

#[tokio::test]
async fn auto_takes_a_key_first_and_the_built_in_model_last() {
    let keyed = keyed();

    assert_eq!(choose("auto", &keyed).await.unwrap().why, "openai/gpt-5.4-mini: a key for openai is set");
    let none = choose("auto", &ModelAccess::default()).await.unwrap();
    assert_eq!(none.model.name(), "builtin");
    assert_eq!(choose("builtin", &keyed).await.unwrap().why, "builtin, as asked for");
}
