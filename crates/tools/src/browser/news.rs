//! What happened beside a call: dialogs, downloads, tabs that pages open, connections that were refused.

use std::sync::PoisonError;

use updraft_browser::BrowserEvent;

use super::pool::{BrowserPool, HeldDownload, OpenTab, RunBrowser};
use crate::truncate;

/// Most events that wait for a call about their tab.
const MOST_WAITING: usize = 200;
/// Most lines about connections that were refused: a page can try thousands.
const MOST_REFUSALS: usize = 20;

impl BrowserPool {
    /// What happened since the last call, as lines for the model. Pages' own words are in quotes. Events of other tabs
    /// wait for a call about them.
    pub(super) async fn news(&self, open: &OpenTab) -> Vec<String> {
        let of = &open.of;
        let mut events = std::mem::take(&mut *of.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        events.extend(of.browser.take_events().await);
        let mut lines = Vec::new();
        let mut refused = 0;
        for event in events {
            if of_other_tab(&event, open.tab.id()) {
                let mut waiting = of.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if waiting.len() < MOST_WAITING {
                    waiting.push(event);
                }
                continue;
            }
            refused += usize::from(matches!(event, BrowserEvent::Refused(_)));
            if refused <= MOST_REFUSALS || !matches!(event, BrowserEvent::Refused(_)) {
                lines.extend(self.line(of, event).await);
            }
        }
        if refused > MOST_REFUSALS {
            lines.push(format!("refused: {} more connections", refused - MOST_REFUSALS));
        }
        lines
    }

    async fn line(&self, of: &std::sync::Arc<RunBrowser>, event: BrowserEvent) -> Option<String> {
        Some(match event {
            BrowserEvent::Dialog { dialog, is_open, .. } => {
                let next = if is_open { "it waits: `accept` or `dismiss` it" } else { "it was accepted" };
                format!("dialog: {} says {}; {next}", dialog.kind, quoted(&dialog.message))
            }
            // Chromium asks for an icon of every page, that of a refusal included.
            BrowserEvent::Refused(refusal) if refusal.url.ends_with("/favicon.ico") => return None,
            BrowserEvent::Refused(refusal) => {
                format!("refused: a connection to {}: {}", quoted(&refusal.url), refusal.why)
            }
            BrowserEvent::DownloadRefused { url, name, why } => {
                format!("download: {} from {} was refused: {why}", quoted(&name), quoted(&url))
            }
            BrowserEvent::DownloadSaved { url, path, bytes } => {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let mut downloads = of.downloads.lock().unwrap_or_else(PoisonError::into_inner);
                let id = format!("d{}", downloads.len() + 1);
                let line = format!(
                    "download: {id} is {} with {bytes} bytes; browser_save puts it into the workspace",
                    quoted(&name)
                );
                downloads.push(HeldDownload { id, url, path });
                line
            }
            BrowserEvent::FilesAsked { reference, is_multiple, .. } => {
                let count = if is_multiple { "files" } else { "a file" };
                let at = reference.map(|reference| format!(" for `{reference}`")).unwrap_or_default();
                format!("files: the page asks for {count}{at}; browser_upload gives them")
            }
            BrowserEvent::TabOpened { tab, url } => {
                // It may be closed again by now.
                let opened = of.browser.tab(&tab).await.ok()?;
                self.register(of.clone(), opened);
                format!("tab: the page opened `{tab}` at {}", quoted(&url))
            }
            BrowserEvent::TabClosed { tab } => {
                self.forget_tab(&tab);
                format!("tab: `{tab}` was closed")
            }
            BrowserEvent::TabCrashed { tab } => format!("tab: the page in `{tab}` crashed; open it again"),
            BrowserEvent::Restarted { lost } => {
                let tabs: Vec<String> =
                    lost.iter().map(|tab| format!("`{}` at {}", tab.id, quoted(&tab.url))).collect();
                for tab in &lost {
                    self.forget_tab(&tab.id);
                }
                format!("browser: it hung and was started again; these tabs are gone: {}", tabs.join(", "))
            }
            _ => return None,
        })
    }
}

fn of_other_tab(event: &BrowserEvent, id: &str) -> bool {
    match event {
        BrowserEvent::Dialog { tab, .. } | BrowserEvent::FilesAsked { tab, .. } | BrowserEvent::TabCrashed { tab } => {
            tab != id
        }
        _ => false,
    }
}

/// A page's words: one line, in quotes, at most 300 bytes.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", truncate::line(&crate::builtin::outside_text::visible(text), 300))
}
