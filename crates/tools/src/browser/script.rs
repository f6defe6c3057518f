//! `browser_script`: runs JavaScript in a page. It can do whatever the page can, so it counts as beyond undoing.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::GROUP;
use super::pool::BrowserPool;
use super::report::{BrowserFault, reply};
use crate::builtin::{parse, spec};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

const NAME: &str = "browser_script";

pub(super) struct BrowserScript {
    spec: ToolSpec,
    pool: Arc<BrowserPool>,
}

#[derive(Deserialize)]
struct Args {
    script: String,
}

impl BrowserScript {
    pub(super) fn new(pool: Arc<BrowserPool>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "tab": { "type": "string" },
                "script": { "type": "string", "description": "An expression, or a function such as () => document.title." }
            },
            "required": ["tab", "script"],
            "additionalProperties": false
        });
        let description =
            "Run JavaScript in the page of a tab, and return its value as JSON. Only if no other tool does it.";
        Self { spec: spec(NAME, description, parameters), pool }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, BrowserFault> {
        let open = self.pool.named_tab(&args, cx)?;
        let Args { script } = parse(&args)?;
        let _turn = open.turn.clone().lock_owned().await;
        self.pool.check_host(NAME, &args, &open)?;
        let url = open.tab.url();
        let value = open.tab.evaluate(&script).await.map_err(|error| BrowserFault::of(&error, &url))?;
        self.pool.page(&open, &format!("value: {}", value.with_note())).await
    }
}

impl Tool for BrowserScript {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let time = self.pool.options.time;
        ToolTraits { group: GROUP, outside: true, sends: true, destroys: true, time, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, _place: &Place) -> PreparedCall {
        PreparedCall { destroys: true, ..self.pool.sending(NAME, args) }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.run(args, cx).await) })
    }
}
