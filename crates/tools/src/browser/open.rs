//! `browser_open`: opens an address in a new tab, or in one that is open.

use std::pin::Pin;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_browser::Error;
use updraft_run::{EffectClass, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::GROUP;
use super::pool::{BrowserPool, OpenTab};
use super::report::{BrowserFault, reply};
use crate::builtin::{parse, spec};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::web::Target;

pub(super) struct BrowserOpen {
    spec: ToolSpec,
    pool: Arc<BrowserPool>,
}

#[derive(Deserialize)]
struct Args {
    url: String,
    #[serde(default)]
    tab: Option<String>,
}

impl BrowserOpen {
    pub(super) fn new(pool: Arc<BrowserPool>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "url": { "type": "string", "description": "The full address, with https://." },
                "tab": { "type": "string", "description": "An open tab to use; default: a new one." }
            },
            "required": ["url"],
            "additionalProperties": false
        });
        let description = "Open a page in a real browser. Returns its tab (`t1`) and an outline in which every element \
                           has a reference (`e12`).";
        Self { spec: spec("browser_open", description, parameters), pool }
    }

    async fn open(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, BrowserFault> {
        let Args { url, tab } = parse(&args)?;
        let mut address = Target::parse(&url, &self.pool.web)?.url;
        // It is not sent, but pages of one document tell their parts by it.
        address.set_fragment(url.split_once('#').map(|(_, fragment)| fragment));
        let url = address.as_str();
        let is_new = tab.is_none();
        let open = match tab {
            Some(_) => self.pool.named_tab(&args, cx)?,
            None => self.pool.open_tab(cx).await.map_err(|error| BrowserFault::of(&error, url))?,
        };
        let _turn = open.turn.clone().lock_owned().await;
        let shown = self.show(&open, url).await;
        if shown.is_err() && is_new {
            // Nobody was told of this tab.
            let _ = open.tab.close().await;
            self.pool.forget_tab(open.tab.id());
        }
        shown
    }

    async fn show(&self, open: &OpenTab, url: &str) -> Result<ToolOutput, BrowserFault> {
        match open.tab.open(url).await {
            Ok(view) => {
                let status = view.status.filter(|status| *status >= 400).map(|status| format!("status {status}"));
                let loading = (!view.is_loaded).then(|| "it is still loading".to_owned());
                let head: Vec<String> = status.into_iter().chain(loading).collect();
                self.pool.page_after(open, &head.join(", ")).await
            }
            Err(Error::IsDownload { .. }) => {
                let arrived = open.of.browser.wait_download_end().await;
                arrived.map_err(|error| BrowserFault::of(&error, url))?;
                self.pool.page(open, "The address is a download, not a page.").await
            }
            // The page is there, and waits for the answer.
            Err(Error::DialogOpen { .. }) => self.pool.page_after(open, "").await,
            Err(error) => Err(BrowserFault::of(&error, url)),
        }
    }
}

impl Tool for BrowserOpen {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        // As for `web_fetch`: opening a page only reads, but the address itself can carry data.
        let time = self.pool.options.time;
        let class = EffectClass::Pure;
        ToolTraits { class, group: GROUP, outside: true, sends: true, time, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, _place: &Place) -> PreparedCall {
        let ToolTraits { class, outside, sends, .. } = self.traits();
        let prepared = PreparedCall { class, outside, sends, ..PreparedCall::default() };
        match Target::parse(args["url"].as_str().unwrap_or_default(), &self.pool.web) {
            Ok(target) => PreparedCall { hosts: vec![target.host().to_owned()], ..prepared },
            Err(fault) => PreparedCall { fault: Some(fault), ..prepared },
        }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.open(args, cx).await) })
    }

    fn release<'a>(&'a self, run: Option<&'a str>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.pool.release(run))
    }
}
