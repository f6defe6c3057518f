//! What operators see of runs: metrics, traces and logs of the runs that this process drives.
//!
//! Everything here is a function of the records of runs, and takes its times from them.
//!
//! | file | what it is about |
//! |---|---|
//! | `effect_times.rs` | when model calls and tool calls began and ended |
//! | `metrics.rs`, `histogram.rs` | counts and durations, since the process began |
//! | `metrics_text.rs` | the text format of Prometheus |
//! | `run_spans.rs`, `span.rs`, `genai.rs` | the spans of a run's trace, with the names of OpenTelemetry's conventions |
//! | `trace_target.rs`, `trace_exporter.rs`, `otlp.rs`, `protobuf.rs` | where spans are sent, and in which form |
//! | `run_log.rs`, `log_line.rs`, `log_files.rs`, `prompt_files.rs` | the logs of runs, and files with their prompts |
//! | `journal_follower.rs` | the thread that reads runs back from the journal |

mod effect_times;
mod genai;
mod histogram;
pub(crate) mod journal_follower;
pub(crate) mod log_files;
mod log_line;
mod metrics;
mod metrics_text;
mod otlp;
mod prompt_files;
mod protobuf;
mod run_log;
mod run_spans;
mod span;
pub(crate) mod trace_exporter;
pub(crate) mod trace_target;

pub use log_files::{log_folder, prune_logs, remove_logs};
pub use log_line::{LogFormat, LogKind, LogLine};
pub use metrics::RunMetrics;
pub use metrics_text::{MetricKind, MetricsText};
pub use prompt_files::PromptFiles;
pub use run_log::read_log;
