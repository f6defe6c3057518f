//! Asks a local server about a model: whether its chat template supports tools, and whether it accepts pictures.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Url};
use serde_json::{Value, json};

use crate::features::ToolCallStyle;
use crate::http::short_body;

/// A running server answers well within this time; without an answer, the defaults are used.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// The API to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryQuery {
    /// llama.cpp's `/props`, above the `/v1` of the base address.
    Props,
    /// Ollama's `/api/show`.
    Show,
}

/// The answer of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiscoveredModel {
    pub(crate) tools: Option<ToolCallStyle>,
    pub(crate) sees: Option<bool>,
    pub(crate) thinks: Option<bool>,
    /// Size of its context window, in tokens.
    pub(crate) context: Option<u64>,
    /// Whether it closes the connection after each stream, although it promises to keep it open.
    pub(crate) closes: bool,
}

impl DiscoveryQuery {
    /// Whether it says more than how tools and pictures are passed.
    pub(crate) fn says_more(self) -> bool {
        match self {
            DiscoveryQuery::Props => false,
            DiscoveryQuery::Show => true,
        }
    }

    /// Asks the server. A server that does not support the request leaves everything open; one that cannot be reached
    /// is asked again the next time.
    pub(crate) async fn ask(
        self,
        client: &Client,
        base: &Url,
        headers: &HeaderMap,
        model: &str,
    ) -> Option<DiscoveredModel> {
        let asked = async {
            let request = match self {
                DiscoveryQuery::Props => {
                    let mut url = base.clone();
                    let path = base.path().trim_end_matches('/');
                    url.set_path(&format!("{}/props", path.strip_suffix("/v1").unwrap_or(path)));
                    client.get(url)
                }
                DiscoveryQuery::Show => {
                    let mut url = base.clone();
                    url.set_path(&format!("{}/api/show", base.path().trim_end_matches('/')));
                    client.post(url).body(json!({ "model": model }).to_string())
                }
            };
            let response = request.headers(headers.clone()).send().await.ok()?;
            // A server that is still loading will know more later.
            if response.status() == 503 {
                return None;
            }
            let Ok(response) = response.error_for_status() else { return Some(DiscoveredModel::default()) };
            let bytes = short_body(response).await?;
            Some(self.understand(&serde_json::from_slice(&bytes).unwrap_or_default()))
        };
        tokio::time::timeout(LONGEST_WAIT, asked).await.ok().flatten()
    }

    /// Asks for the size of the context window: first as in `ask`, then in the server's list of models.
    pub(crate) async fn ask_window(self, client: &Client, base: &Url, headers: &HeaderMap, model: &str) -> Option<u64> {
        let found = self.ask(client, base, headers, model).await?;
        if found.context.is_some() || self != DiscoveryQuery::Props {
            return found.context;
        }
        let asked = async {
            let request = client.get(crate::endpoint::below(base, "/models")).headers(headers.clone());
            let response = request.send().await.ok()?.error_for_status().ok()?;
            let listed: Value = serde_json::from_slice(&short_body(response).await?).ok()?;
            window_of(&listed, model)
        };
        tokio::time::timeout(LONGEST_WAIT, asked).await.ok().flatten()
    }

    fn understand(self, said: &Value) -> DiscoveredModel {
        let by = |has: bool| if has { ToolCallStyle::Native } else { ToolCallStyle::Text };
        match self {
            DiscoveryQuery::Props => DiscoveredModel {
                tools: said["chat_template_caps"]["supports_tools"].as_bool().map(by),
                sees: said["modalities"]["vision"].as_bool(),
                // llama.cpp passes thinking settings to the template; a template that does not mention thinking ignores
                // them.
                thinks: said["chat_template"].as_str().map(|template| template.contains("think")),
                context: said["default_generation_settings"]["n_ctx"].as_u64().filter(|length| *length > 0),
                // Only llama.cpp reports this.
                closes: said["chat_template_caps"].is_object(),
            },
            DiscoveryQuery::Show => {
                let context = context_of(&said["model_info"]);
                let Some(list) = said["capabilities"].as_array() else {
                    return DiscoveredModel { context, ..DiscoveredModel::default() };
                };
                let has = |name: &str| list.iter().any(|capability| capability == name);
                let (sees, thinks) = (Some(has("vision")), Some(has("thinking")));
                DiscoveredModel { tools: Some(by(has("tools"))), sees, thinks, context, closes: false }
            }
        }
    }
}

/// The context window of a model in a list of models: llama.cpp, vLLM and others each have a name of their own for it.
fn window_of(listed: &Value, model: &str) -> Option<u64> {
    let models = listed["data"].as_array()?;
    let is_meant = |one: &&Value| one["id"] == model;
    let own = models.iter().find(is_meant).or_else(|| models.first().filter(|_| models.len() == 1))?;
    let names = ["/meta/n_ctx", "/max_model_len", "/context_length", "/context_window", "/max_context_length"];
    names.iter().find_map(|name| own.pointer(name)?.as_u64().filter(|length| *length > 0))
}

/// The context length, whose key begins with the model's family.
fn context_of(facts: &Value) -> Option<u64> {
    let mut facts = facts.as_object()?.iter();
    facts.find_map(|(name, value)| value.as_u64().filter(|length| *length > 0 && name.ends_with(".context_length")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_models_tells_the_window() {
        let listed = json!({"data": [{"id": "a", "meta": {"n_ctx": 4096}}, {"id": "b", "max_model_len": 32768}]});
        assert_eq!((window_of(&listed, "a"), window_of(&listed, "b")), (Some(4_096), Some(32_768)));
        assert_eq!((window_of(&listed, "c"), window_of(&Value::Null, "a")), (None, None));
    }

    #[test]
    fn what_a_server_does_not_say_stays_open() {
        assert_eq!(DiscoveryQuery::Props.understand(&Value::Null), DiscoveredModel::default());
        let props = json!({"chat_template_caps": {"supports_tools": false}, "modalities": {"vision": true},
            "chat_template": "{% if enable_thinking %}", "default_generation_settings": {"n_ctx": 4096}});
        let (tools, sees, thinks, context) = (Some(ToolCallStyle::Text), Some(true), Some(true), Some(4_096));
        let found = DiscoveredModel { tools, sees, thinks, context, closes: true };
        assert_eq!(DiscoveryQuery::Props.understand(&props), found);
        let facts = json!({"general.architecture": "qwen3", "qwen3.context_length": 40960, "qwen3.block_count": 36});
        let show = json!({"capabilities": ["completion", "tools"], "model_info": facts});
        let (sees, thinks, context) = (Some(false), Some(false), Some(40_960));
        let found = DiscoveredModel { tools: Some(ToolCallStyle::Native), sees, thinks, context, closes: false };
        assert_eq!(DiscoveryQuery::Show.understand(&show), found);
        let old = json!({"model_info": facts});
        assert_eq!(DiscoveryQuery::Show.understand(&old), DiscoveredModel { context, ..DiscoveredModel::default() });
    }
}
