//! What a model is told: a page between two marker lines, what happened, and what went wrong.

use std::error::Error as _;
use std::sync::Arc;

use serde_json::json;
use updraft_browser::{Error, OutlineOptions};
use updraft_run::{Failure, FailureKind, Reply, ToolOutput};

use super::pool::{BrowserPool, OpenTab};
use super::target_page::host_of;
use crate::builtin::outside_text::{enclosed, visible};
use crate::truncate;

/// Most characters of a page that follow an action. `browser_read` gives more.
const PAGE_AFTER: usize = 8_000;

/// Why a call has no page to show.
pub(super) enum BrowserFault {
    /// It is ours: no browser, no such tab.
    Own(Failure),
    /// It is about the page at this address, and may hold its words.
    OfPage { url: String, why: String },
}

impl From<Failure> for BrowserFault {
    fn from(failure: Failure) -> Self {
        BrowserFault::Own(failure)
    }
}

impl BrowserFault {
    /// An error of the browser while it worked on the page at an address.
    pub(super) fn of(error: &Error, url: &str) -> Self {
        let why = chain(error);
        match error {
            Error::NoBrowser { .. } | Error::OnlySnap { .. } => BrowserFault::Own(Failure::new(
                FailureKind::Config,
                format!("{why} (`program` under `[browser]` in the settings, or UPDRAFT_BROWSER)"),
            )),
            Error::Start { .. } | Error::NotStarted { .. } | Error::Io { .. } => {
                BrowserFault::Own(Failure::new(FailureKind::Config, why))
            }
            // Nothing in them is a page's.
            Error::NoSuchTab { .. } | Error::TooManyTabs { .. } => {
                BrowserFault::Own(Failure::new(FailureKind::Tool, why))
            }
            _ => BrowserFault::OfPage { url: url.to_owned(), why },
        }
    }
}

/// The reply of a call.
pub(super) fn reply(result: Result<ToolOutput, BrowserFault>) -> Reply {
    match result.or_else(|fault| match fault {
        BrowserFault::Own(failure) => Err(failure),
        BrowserFault::OfPage { url, why } => {
            let text = enclosed(&format!("at {}", shown(&url)), &visible(&format!("error: {why}")))?;
            Ok(ToolOutput { text, is_error: true, ..from_outside(&url) })
        }
    }) {
        Ok(output) => Reply::Output(Arc::new(output)),
        Err(failure) => Reply::Failed(failure),
    }
}

impl BrowserPool {
    /// A page, or a part of it, after what happened.
    pub(super) async fn page(&self, open: &OpenTab, words: &str) -> Result<ToolOutput, BrowserFault> {
        let url = open.tab.url();
        let mut lines = self.news(open).await;
        lines.push(words.trim_end().to_owned());
        let text =
            enclosed(&format!("tab {} at {}", open.tab.id(), shown(&url)), visible(&lines.join("\n")).trim_end())?;
        let value = json!({ "tab": open.tab.id(), "url": truncate::line(&url, 2000) });
        Ok(ToolOutput { text, value: Some(value), ..from_outside(&url) })
    }

    /// The page as it is after an action, with `head` before it.
    pub(super) async fn page_after(&self, open: &OpenTab, head: &str) -> Result<ToolOutput, BrowserFault> {
        let words = match open.tab.read(&OutlineOptions::default()).await {
            Ok(cut) if cut.text.len() > PAGE_AFTER => {
                let text = &cut.text[..cut.text.floor_char_boundary(PAGE_AFTER)];
                let text = text.rsplit_once('\n').map_or(text, |(whole, _)| whole);
                format!("{text}\n[cut; browser_read gives the whole page]")
            }
            Ok(cut) => cut.with_note(),
            // It says so itself, in the news.
            Err(Error::DialogOpen { .. } | Error::TabGone) => String::new(),
            Err(error) => format!("error: {}", chain(&error)),
        };
        let words = if head.is_empty() { words } else { format!("{head}\n{words}") };
        self.page(open, &words).await
    }
}

fn from_outside(url: &str) -> ToolOutput {
    let hosts = host_of(url).into_iter().collect();
    ToolOutput { untrusted: true, origins: vec![shown(url)], hosts, ..ToolOutput::default() }
}

fn shown(url: &str) -> String {
    truncate::line(url, 200)
}

/// An error and its causes in one line.
fn chain(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(this) = cause {
        words = format!("{words}: {this}");
        cause = this.source();
    }
    words
}
