//! `run_python` with a real Python in the real sandbox.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod calling;
mod running;

use std::sync::Arc;

use crate::common::confined;
use serde_json::{Value, json};
use updraft_run::{Reply, ToolOutput};
use updraft_tools::worker::PythonConfig;
use updraft_tools::{CallContext, Registry, ToolLimits};

struct World {
    inner: crate::common::World,
}

impl World {
    async fn new() -> Option<Self> {
        let registry = Registry::default().with_python(confined::confinement().await?, PythonConfig::default());
        Some(Self { inner: crate::common::World::of(registry, ToolLimits::default()) })
    }

    async fn call(&self, args: Value) -> Reply {
        self.call_in(args, &self.inner.cx()).await
    }

    async fn call_in(&self, args: Value, cx: &CallContext) -> Reply {
        self.inner.dispatcher.call(&crate::common::call("run_python", args), cx).await.reply
    }

    async fn output(&self, args: Value) -> Arc<ToolOutput> {
        output(self.call(args).await)
    }

    /// What comes of code that succeeds.
    async fn result(&self, code: &str) -> Value {
        let output = self.output(json!({ "code": code })).await;
        assert!(!output.is_error, "{}", output.text);
        output.value.as_ref().unwrap()["result"].clone()
    }

    /// What is told of code that fails, without its time.
    async fn error(&self, code: &str) -> String {
        let output = self.output(json!({ "code": code, "seconds": 20 })).await;
        assert!(output.is_error, "{}", output.text);
        told(&output)
    }

    fn with(&self, change: impl FnOnce(&mut CallContext)) -> CallContext {
        let mut cx = self.inner.cx();
        change(&mut cx);
        cx
    }
}

fn output(reply: Reply) -> Arc<ToolOutput> {
    match reply {
        Reply::Output(output) => output,
        other => panic!("expected an output, found {other:?}"),
    }
}

/// The text after the line with the time.
fn told(output: &ToolOutput) -> String {
    let (head, rest) = output.text.split_once('\n').unwrap();
    assert!(head.starts_with("[done in ") || head.starts_with("[failed after "), "{head}");
    rest.trim_end().to_owned()
}
