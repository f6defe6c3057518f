//! Turn a `Prompt` into an answer, whichever provider answers.
//!
//! A [`Model`] answers a [`Prompt`], streaming the parts to whoever listens. [`resolve`] goes from a name as people
//! write it (`openai/gpt-5-mini`, `openai-compatible/qwen`, `scripted/answers.json`, `builtin`) to a model, and [`choose`]
//! also takes `auto`. Nothing here reads the environment: what a model needs to be reached stands in [`ModelAccess`].
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
//! | module | holds |
//! |---|---|
//! | `model` | the trait and what passes through it |
//! | `openai` | any server with `/chat/completions` |
//! | `anthropic` | Anthropic's messages |
//! | `gemini`, `google` | Gemini by AI Studio or in a Google Cloud project, and its credentials |
//! | `responses` | OpenAI's responses |
//! | `ollama` | Ollama by its own API |
//! | `scripted` | answers written down beforehand, for tests |
//! | `recorded`, `cache` | answers that were heard before |
//! | `resolve` | names, prices and the choice of `auto` |
//! | `limits` | how often providers may be asked, kept by all processes together |
//! | `prices` | what models cost |
//! | `http`, `sse`, `retry`, `tokens` | what providers over HTTP share |

mod access;
mod anthropic;
mod arguments;
mod auth;
mod auto;
mod builtin;
mod cache;
mod counts;
mod dialect;
mod discover;
mod draft;
mod endpoint;
mod error;
mod fallback;
mod fold;
mod frames;
mod gemini;
mod google;
mod hint;
mod http;
mod ids;
mod legible;
mod limits;
mod lines;
mod manner;
mod model;
mod ollama;
mod openai;
mod prices;
mod providers;
mod recorded;
mod refusal;
mod remote;
mod resolve;
mod responses;
mod retry;
mod scripted;
mod spec;
mod sse;
mod text;
mod tokens;
mod told;
mod watch;

pub use access::{GoogleProject, KeySource, ModelAccess, ProviderAccess, RecordingFinder, Recordings, shown};
pub use auth::{Auth, TokenMinter};
pub use auto::{ModelChoice, choose, for_purpose, is_purpose};
pub use builtin::BuiltinModel;
pub use cache::{AnswerCache, CacheKey};
pub use draft::RequestDraft;
pub use endpoint::{Endpoint, ModelTuning};
pub use error::{Error, Outage};
pub use http::{Http, SecretString};
pub use limits::{RateLimit, RateLimiter, RequestPermit, exhausted_for, reset_after};
pub use manner::ToolCallStyle;
pub use model::{Delta, DeltaCallback, Model, ModelFuture, Prompt, TaskBrief};
pub use prices::{context_window, known_models, price_for, price_of};
pub use providers::{DialectKind, Provider, ProviderModels, provider, providers};
pub use recorded::{AnswerPlace, RecordedModel};
pub use resolve::{ModelNameForm, known, resolve};
pub use retry::RetryPolicy;
pub use scripted::ScriptedModel;
pub use spec::ModelSpec;
pub use updraft_run::Price;
