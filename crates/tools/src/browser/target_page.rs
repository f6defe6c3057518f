//! Which page a call means, and what the call may be allowed to do there.

use serde_json::Value;
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall};
use url::Url;

use super::pool::{BrowserPool, OpenTab};
use crate::tool::CallContext;
use crate::truncate;

impl BrowserPool {
    /// The tab that a call names.
    pub(super) fn named_tab(&self, args: &Value, cx: &CallContext) -> Result<OpenTab, Failure> {
        let id = args["tab"].as_str().unwrap_or_default();
        self.tab(id, &cx.around.run).ok_or_else(|| {
            let id = truncate::line(id, 40);
            let why =
                "open the page again (browser_open); a browser ends with the process that ran it, and with a crash";
            Failure::new(FailureKind::Tool, format!("there is no tab `{id}`: {why}"))
        })
    }

    /// A call that sends something to the page of a tab: needs permission for that page's host.
    pub(super) fn sending(&self, tool: &str, args: &Value) -> PreparedCall {
        let url = self.url_of(args["tab"].as_str().unwrap_or_default());
        let host = url.as_deref().and_then(host_of);
        self.judge(key(tool, args), host.clone().unwrap_or_default());
        PreparedCall {
            class: EffectClass::Opaque,
            outside: true,
            sends: true,
            elsewhere: true,
            hosts: host.into_iter().collect(),
            ..PreparedCall::default()
        }
    }

    /// Fails unless the tab still shows a page of the host that a call, prepared by [`Self::sending`], was allowed for.
    /// Called while the tab is locked, before everything that sends: an earlier call may have led elsewhere.
    pub(super) fn check_host(&self, tool: &str, args: &Value, open: &OpenTab) -> Result<(), Failure> {
        let host = host_of(&open.tab.url()).unwrap_or_default();
        match self.judged(&key(tool, args)) {
            Some(judged) if judged != host => {
                let shown = |host: String| if host.is_empty() { "no host".to_owned() } else { host };
                let why = format!(
                    "not done: the call was allowed for {}, and the tab has moved to {} since; read the page and call again",
                    shown(judged),
                    shown(host)
                );
                Err(Failure::new(FailureKind::Security, why))
            }
            Some(_) => Ok(()),
            // It was judged in an earlier process, where the tab of this name was another one, or so long ago that it is
            // forgotten.
            None => {
                let why = "not done: read the page with browser_read and call again";
                Err(Failure::new(FailureKind::Security, why))
            }
        }
    }
}

/// The host of a page, if it has one.
pub(super) fn host_of(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

fn key(tool: &str, args: &Value) -> String {
    format!("{tool} {args}")
}
