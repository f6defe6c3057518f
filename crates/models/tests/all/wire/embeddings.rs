//! Vectors by providers: what is asked, what is understood, and what is asked again.

use serde_json::{Value, json};
use updraft_models::{EmbeddingModel, Error};

use super::server::{Server, status};
use super::talk::access;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn each_provider_is_asked_in_its_own_form() {
    let cases = [
        (
            "openai-compatible/e5",
            "POST /v1/embeddings ",
            json!({ "model": "e5", "input": ["a loom", "-"], "encoding_format": "float" }),
            json!({ "data": [{ "index": 1, "embedding": [0.0, 1.0] }, { "index": 0, "embedding": [1, 0.5] }], "usage": { "prompt_tokens": 3 } }),
        ),
        (
            "gemini/gemini-embedding-001",
            "POST /v1beta/models/gemini-embedding-001:batchEmbedContents ",
            json!({ "requests": [
                { "model": "models/gemini-embedding-001", "content": { "parts": [{ "text": "a loom" }] } },
                { "model": "models/gemini-embedding-001", "content": { "parts": [{ "text": "-" }] } },
            ] }),
            json!({ "embeddings": [{ "values": [1, 0.5] }, { "values": [0.0, 1.0] }] }),
        ),
        (
            "ollama/nomic-embed-text",
            "POST /api/embed ",
            json!({ "model": "nomic-embed-text", "input": ["a loom", ""], "truncate": true }),
            json!({ "embeddings": [[1, 0.5], [0.0, 1.0]], "prompt_eval_count": 3 }),
        ),
    ];
    for (name, head, body, answer) in cases {
        let server = Server::new(vec![status(503, "", "busy"), status(200, "", &answer.to_string())]).await;
        let model = EmbeddingModel::resolve(name, &access(&server)).unwrap();
        assert_eq!(model.name(), name);
        let vectors = model.embed(&texts(&["a loom", ""])).await.unwrap();
        assert_eq!(vectors, [[1.0, 0.5], [0.0, 1.0]], "{name}");
        assert!(server.heads()[1].starts_with(head), "{}", server.heads()[1]);
        assert!(server.heads()[1].contains("sk-secret-of-ours"), "{name}");
        assert_eq!(serde_json::from_str::<Value>(&server.bodies()[1]).unwrap(), body, "{name}");
    }
}

#[tokio::test]
async fn many_texts_are_several_requests_and_long_ones_are_cut() {
    let answer = |count: usize| json!({ "embeddings": vec![vec![1.0]; count] }).to_string();
    let server = Server::new(vec![status(200, "", &answer(64)), status(200, "", &answer(6))]).await;
    let model = EmbeddingModel::resolve("ollama/nomic-embed-text", &access(&server)).unwrap();
    let long = "é".repeat(10_000);
    assert_eq!(model.embed(&vec![long; 70]).await.unwrap().len(), 70);
    let second: Value = serde_json::from_str(&server.bodies()[1]).unwrap();
    assert_eq!(second["input"].as_array().unwrap().len(), 6);
    assert_eq!(second["input"][0].as_str().unwrap().len(), 6_000);
}

#[tokio::test]
async fn what_is_no_answer_is_said_without_the_key() {
    let wrong_count = json!({ "embeddings": [[1.0]] }).to_string();
    let server = Server::new(vec![
        status(401, "", "{\"error\": {\"message\": \"bad key sk-secret-of-ours\"}}"),
        status(200, "", &wrong_count),
        status(200, "", "no JSON"),
    ])
    .await;
    let model = EmbeddingModel::resolve("ollama/nomic-embed-text", &access(&server)).unwrap();
    let two = texts(&["a", "b"]);
    let refused = model.embed(&two).await.unwrap_err();
    assert!(matches!(refused, Error::Refused { status: 401, .. }), "{refused}");
    assert!(!refused.to_string().contains("sk-secret"), "{refused}");
    let short = model.embed(&two).await.unwrap_err();
    assert!(short.to_string().contains("does not hold 2 vectors"), "{short}");
    assert!(model.embed(&two).await.unwrap_err().to_string().contains("not JSON"));

    for (name, why) in
        [("anthropic/x", "makes no vectors"), ("ollama/a | ollama/b", "several models"), ("nobody/x", "no model")]
    {
        let error = EmbeddingModel::resolve(name, &access(&server)).unwrap_err();
        assert!(error.to_string().contains(why), "{name}: {error}");
    }
}
