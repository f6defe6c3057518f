//! What operators see of runs: metrics of the runs that this process drives.
//!
//! Everything here is a function of the records of runs, and takes its times from them.
//!
//! | file | what it is about |
//! |---|---|
//! | `effect_times.rs` | when model calls and tool calls began and ended |
//! | `metrics.rs`, `histogram.rs` | counts and durations, since the process began |
//! | `metrics_text.rs` | the text format of Prometheus |

mod effect_times;
mod histogram;
mod metrics;
mod metrics_text;

pub use metrics::RunMetrics;
pub use metrics_text::{MetricKind, MetricsText};
