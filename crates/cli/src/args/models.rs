//! Arguments of `updraft models`, and how thinking is written.

use clap::Args;
use updraft_run::ThinkingEffort;

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Only this provider, with all its models that have a known price
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Ask a model for a word and for a tool call, and say how it did (default: the one that `auto` takes)
    #[arg(long, value_name = "MODEL", num_args = 0..=1, default_missing_value = "auto")]
    pub(crate) check: Option<String>,
    /// Do not look for model servers on this machine
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// How much to think, as people write it.
pub(super) fn thinking(text: &str) -> Result<String, String> {
    match ThinkingEffort::parse(text) {
        Some(_) => Ok(text.trim().to_owned()),
        None => Err("expected auto, off, low, medium, high or a number of tokens".to_owned()),
    }
}
