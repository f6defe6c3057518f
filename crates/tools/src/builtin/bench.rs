//! `echo` and `nap`: tools that only serve benchmarks.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Reply, ToolOutput, ToolSpec};

use super::{parse, spec, whole};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// The longest nap, in milliseconds.
const LONGEST: u64 = 60_000;

/// How `nap` sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NapMode {
    /// Yields its thread to other tasks.
    Async,
    /// Blocks its thread.
    Blocking,
}

pub(super) struct EchoTool(ToolSpec);

impl EchoTool {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { "x": { "type": "integer" } },
            "required": ["x"],
            "additionalProperties": false
        });
        Self(spec("echo", "Return a number.", parameters))
    }
}

impl Tool for EchoTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn traits(&self) -> ToolTraits {
        traits(Duration::from_secs(1), NapMode::Async)
    }

    fn call<'a>(&'a self, args: Value, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { said(format!("echo {}", args["x"])) })
    }
}

pub(super) struct NapTool {
    spec: ToolSpec,
    nap: NapMode,
}

impl NapTool {
    pub(super) fn new(nap: NapMode) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "ms": { "type": "integer", "minimum": 0, "maximum": LONGEST },
                "i": { "type": "integer", "description": "Tells naps apart." }
            },
            "required": ["ms"],
            "additionalProperties": false
        });
        Self { spec: spec("nap", "Sleep for some milliseconds.", parameters), nap }
    }
}

#[derive(Deserialize)]
struct NapArgs {
    #[serde(deserialize_with = "whole")]
    ms: Option<u64>,
}

impl Tool for NapTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        traits(Duration::from_millis(LONGEST + 1_000), self.nap)
    }

    fn call<'a>(&'a self, args: Value, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let length = match parse::<NapArgs>(&args) {
                Ok(NapArgs { ms }) => Duration::from_millis(ms.unwrap_or_default().min(LONGEST)),
                Err(failure) => return Reply::Failed(failure),
            };
            match self.nap {
                NapMode::Async => tokio::time::sleep(length).await,
                NapMode::Blocking => std::thread::sleep(length),
            }
            said(format!("slept {} ms", length.as_millis()))
        })
    }
}

fn traits(time: Duration, nap: NapMode) -> ToolTraits {
    ToolTraits {
        class: EffectClass::Pure,
        group: "bench",
        time,
        blocking: nap == NapMode::Blocking,
        ..ToolTraits::default()
    }
}

fn said(text: String) -> Reply {
    Reply::Output(Arc::new(ToolOutput { text, ..ToolOutput::default() }))
}
