//! `browser_tabs`: lists the tabs of the run, or closes one.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, ToolOutput, ToolSpec};

use super::GROUP;
use super::news::quoted;
use super::pool::BrowserPool;
use super::report::{BrowserFault, reply};
use crate::builtin::{parse, spec};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) struct BrowserTabs {
    spec: ToolSpec,
    pool: Arc<BrowserPool>,
}

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    close: Option<String>,
}

impl BrowserTabs {
    pub(super) fn new(pool: Arc<BrowserPool>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { "close": { "type": "string", "description": "A tab to close." } },
            "additionalProperties": false
        });
        let description = "List the open tabs of this run with their addresses, or close one.";
        Self { spec: spec("browser_tabs", description, parameters), pool }
    }

    async fn list(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, BrowserFault> {
        let Args { close } = parse(&args)?;
        let of = self.pool.browser_of(&cx.around.run);
        let failed = |error: updraft_browser::Error| BrowserFault::of(&error, "");
        if let Some(id) = close {
            let tab = of.browser.tab(&id).await.map_err(failed)?;
            tab.close().await.map_err(failed)?;
            self.pool.forget_tab(&id);
        }
        let (mut text, mut origins) = (String::new(), Vec::new());
        for tab in of.browser.tabs().await.map_err(failed)? {
            // A tab that a page opened can be used as soon as it was listed.
            if let Ok(opened) = of.browser.tab(&tab.id).await {
                self.pool.register(of.clone(), opened);
            }
            let (title, url) = (quoted(&tab.title), quoted(&tab.url));
            let _ = writeln!(text, "{} {title} {url} (step {})", tab.id, tab.owner);
            origins.push(crate::truncate::line(&tab.url, 200));
        }
        if text.is_empty() {
            return Ok(ToolOutput { text: "no tab is open\n".to_owned(), ..ToolOutput::default() });
        }
        Ok(ToolOutput { text, untrusted: true, origins, ..ToolOutput::default() })
    }
}

impl Tool for BrowserTabs {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        // Closing a tab twice does no harm.
        let (class, time) = (EffectClass::Pure, self.pool.options.time);
        ToolTraits { class, group: GROUP, time, ..ToolTraits::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.list(args, cx).await) })
    }
}
