//! Language models: turns a [`Prompt`] into an answer, for all providers.
//!
//! A [`Model`] answers a [`Prompt`], and streams the parts of the answer to a callback. [`resolve`] turns a name
//! (`openai/gpt-5-mini`, `openai-compatible/qwen`, `scripted/answers.json`, `builtin`) into a model, and [`choose`]
//! also accepts `auto`. This crate does not read the environment: everything that is needed to reach a model is in
//! [`ModelAccess`].
//!
//! ```
//! use updraft_models::{Error, ModelAccess, resolve};
//!
//! let refused = resolve("openai/gpt-5-mini", &ModelAccess::default());
//! assert!(matches!(refused, Err(Error::Config { .. })), "a key is needed");
//! assert_eq!(resolve("openai-compatible/qwen", &ModelAccess::default())?.name(), "openai-compatible/qwen");
//! # Ok::<(), Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `model` | the trait and its types |
//! | `openai` | any server with `/chat/completions` |
//! | `anthropic` | Anthropic's Messages API |
//! | `gemini`, `google` | Gemini through AI Studio or in a Google Cloud project, and its credentials |
//! | `responses` | OpenAI's Responses API |
//! | `ollama` | Ollama's own API |
//! | `embeddings` | texts as vectors, by a provider |
//! | `scripted` | answers from a file, for tests |
//! | `recorded`, `cache` | answers of earlier requests |
//! | `text_tools`, `written_calls`, `call_styles` | tools for models that write their calls as text |
//! | `resolve` | names, prices and the choice of `auto` |
//! | `limits` | rate limits, shared by all processes |
//! | `prices` | prices of models |
//! | `edit_form` | which models change files by patches |
//! | `http`, `sse`, `retry`, `tokens` | code shared by all HTTP providers |

mod access;
mod answer_builder;
mod anthropic;
mod argument_schema;
mod auth;
mod auto;
mod builtin;
mod cache;
mod call_styles;
mod counts;
mod dialect;
mod discover;
mod draft;
mod edit_form;
mod embeddings;
mod endpoint;
mod error;
mod fallback;
mod features;
mod gemini;
mod google;
mod hint;
mod http;
mod ids;
mod json_repair;
mod known_features;
mod limits;
mod lines;
mod member_order;
mod model;
mod observed_style;
mod ollama;
mod openai;
mod prices;
mod providers;
mod recorded;
mod refusal;
mod remote;
mod resolve;
mod response_content;
mod responses;
mod retry;
mod schema_support;
mod scripted;
mod silence_timer;
mod spec;
mod sse;
mod stream_splitter;
mod text;
mod text_tools;
mod tokens;
mod too_long;
mod unreached;
mod written_calls;

pub use access::{GoogleProject, KeySource, ModelAccess, ProviderAccess, RecordingFinder, Recordings, shown};
pub use auth::{Auth, TokenMinter};
pub use auto::{ModelChoice, choose, for_purpose, is_purpose};
pub use builtin::BuiltinModel;
pub use cache::{AnswerCache, CacheKey};
pub use call_styles::CallStyles;
pub use draft::RequestDraft;
pub use edit_form::uses_patches;
pub use embeddings::EmbeddingModel;
pub use endpoint::{Endpoint, ModelTuning};
pub use error::{Error, Outage};
pub use features::ToolCallStyle;
pub use http::{Http, PostResult, SecretString};
pub use limits::{LimitFuture, RateLimit, RateLimiter, RequestPermit, SharedLimits, exhausted_for, reset_after};
pub use model::{Delta, DeltaCallback, Model, ModelFuture, Prompt, TaskBrief};
pub use prices::{context_window, known_models, price_for, price_of};
pub use providers::{DialectKind, Provider, ProviderModels, provider, providers};
pub use recorded::{AnswerPlace, RecordedModel};
pub use resolve::{ModelNameForm, known, resolve};
pub use retry::RetryPolicy;
pub use scripted::ScriptedModel;
pub use spec::ModelSpec;
pub use too_long::stated_window;
pub use updraft_run::Price;
