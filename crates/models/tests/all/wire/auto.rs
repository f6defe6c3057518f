//! What `auto` takes where a server is configured but no key is.

use updraft_models::{ModelAccess, ProviderAccess, choose};

use super::server::{Server, status};

async fn chosen(server: &Server) -> (String, String) {
    let reach = ProviderAccess { base: Some(server.base()), ..ProviderAccess::default() };
    let access = ModelAccess { reach: [("openai-compatible".to_owned(), reach)].into(), ..ModelAccess::default() };
    let chosen = choose("auto", &access).await.unwrap();
    (chosen.model.name().to_owned(), chosen.why.replace(&server.base(), "BASE"))
}

#[tokio::test]
async fn the_first_model_a_server_lists_is_taken() {
    let server = Server::always(status(200, "", r#"{"object":"list","data":[{"id":"qwen"},{"id":"other"}]}"#)).await;

    let (name, why) = chosen(&server).await;

    assert_eq!(name, "openai-compatible/qwen");
    assert_eq!(why, "openai-compatible/qwen: it is listed at BASE");
    assert!(server.heads()[0].starts_with("GET /v1/models HTTP/1.1"));
}

#[tokio::test]
async fn a_server_that_is_still_loading_is_passed_over() {
    let server = Server::always(status(503, "", r#"{"error":{"message":"Loading model"}}"#)).await;

    let (name, why) = chosen(&server).await;

    assert_eq!(name, "builtin");
    assert_eq!(why, "builtin: BASE lists no models, so no language model is connected");
}
