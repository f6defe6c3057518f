//! `browser_read`: reads a page as an outline with references, or as plain text, perhaps after waiting for something.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_browser::{OutlineOptions, PageWait};
use updraft_run::{EffectClass, ToolOutput, ToolSpec};

use super::GROUP;
use super::pool::BrowserPool;
use super::report::{BrowserFault, reply};
use crate::builtin::{parse, spec, whole};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// How long is waited for a text, unless the call says how long.
const USUAL_WAIT: u64 = 10;

pub(super) struct BrowserRead {
    spec: ToolSpec,
    pool: Arc<BrowserPool>,
}

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    text: bool,
    #[serde(default)]
    under: Option<String>,
    #[serde(default)]
    boxes: bool,
    #[serde(default)]
    everything: bool,
    #[serde(default, deserialize_with = "whole")]
    from: Option<u64>,
    #[serde(default)]
    wait_for: Option<String>,
    #[serde(default)]
    wait_gone: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    seconds: Option<u64>,
}

impl BrowserRead {
    pub(super) fn new(pool: Arc<BrowserPool>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "tab": { "type": "string" },
                "text": { "type": "boolean", "description": "The visible text alone, for long articles and tables." },
                "under": { "type": "string", "description": "Only what is inside this reference." },
                "boxes": { "type": "boolean", "description": "With left, top, width and height of every element." },
                "everything": { "type": "boolean", "description": "Plain boxes too, such as tiles told by colour alone." },
                "from": { "type": "integer", "minimum": 0, "description": "The character to read on from, if it was cut." },
                "wait_for": { "type": "string", "description": "Wait first until this text is on the page." },
                "wait_gone": { "type": "string", "description": "Wait first until this text is gone." },
                "seconds": { "type": "integer", "minimum": 1, "maximum": 600, "description": format!("How long to wait; default {USUAL_WAIT}.") }
            },
            "required": ["tab"],
            "additionalProperties": false
        });
        let description = "Read the page in a tab: an outline with references, or its text. Tells dialogs, downloads and \
                           new tabs too.";
        Self { spec: spec("browser_read", description, parameters), pool }
    }

    async fn read(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, BrowserFault> {
        let open = self.pool.named_tab(&args, cx)?;
        let Args { text, under, boxes, everything, from, wait_for, wait_gone, seconds } = parse(&args)?;
        let _turn = open.turn.clone().lock_owned().await;
        let url = open.tab.url();
        let failed = |error: updraft_browser::Error| BrowserFault::of(&error, &url);
        // A little less than the time of the call, so that the answer says what was waited for.
        let most = self.pool.options.time.mul_f32(0.9);
        let limit = Duration::from_secs(seconds.unwrap_or(USUAL_WAIT)).min(most);
        for wait in [wait_for.map(PageWait::Text), wait_gone.map(PageWait::TextGone)].into_iter().flatten() {
            open.tab.wait(&wait, limit).await.map_err(failed)?;
        }
        let from = from.unwrap_or(0) as usize;
        let words = if text {
            open.tab.text(from).await
        } else {
            let options = OutlineOptions { under, with_boxes: boxes, with_everything: everything, from };
            open.tab.read(&options).await
        };
        self.pool.page(&open, &words.map_err(failed)?.with_note()).await
    }
}

impl Tool for BrowserRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let (class, time) = (EffectClass::Pure, self.pool.options.time);
        ToolTraits { class, group: GROUP, time, ..ToolTraits::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.read(args, cx).await) })
    }
}
