//! What is known about a browser that runs: its tabs, and what happened. Updated by events, read by operations.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cdp::{Cdp, CdpEvent, EventHandler};
use crate::config::BrowserConfig;
use crate::download::{self, Downloads};
use crate::event::{BrowserEvent, PageDialog};
use crate::profile::Profile;
use crate::tab::TabState;

/// Most events that wait to be taken; older ones are dropped.
const MOST_EVENTS: usize = 1000;

/// Shared by the reader of the pipe and all operations.
pub(crate) struct State {
    pub(crate) config: BrowserConfig,
    /// The folder that the browser writes to.
    pub(crate) profile: PathBuf,
    /// The folder that it only reads.
    pub(crate) uploads: PathBuf,
    /// The folder that downloads are held in.
    pub(crate) held: PathBuf,
    /// The folder that its downloads arrive in.
    pub(crate) received: Arc<File>,
    inner: Mutex<StateInner>,
    /// Counts changes, so that operations can wait for one.
    pub(crate) changes: watch::Sender<u64>,
}

#[derive(Default)]
pub(crate) struct StateInner {
    pub(crate) tabs: Vec<Arc<TabState>>,
    pub(crate) downloads: Downloads,
    events: VecDeque<BrowserEvent>,
}

impl State {
    pub(crate) fn new(config: BrowserConfig, profile: &Profile) -> Self {
        let (received, uploads) = (profile.downloads(), profile.uploads());
        let (held, profile) = (profile.held(), profile.path());
        Self { config, profile, uploads, held, received, inner: Mutex::default(), changes: watch::Sender::new(0) }
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, StateInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, event: BrowserEvent) {
        let mut inner = self.inner();
        if inner.events.len() == MOST_EVENTS {
            inner.events.pop_front();
        }
        inner.events.push_back(event);
        drop(inner);
        self.changed();
    }

    pub(crate) fn has_ended_download(&self) -> bool {
        let is_end = |event: &BrowserEvent| {
            matches!(event, BrowserEvent::DownloadSaved { .. } | BrowserEvent::DownloadRefused { .. })
        };
        self.inner().events.iter().any(is_end)
    }

    pub(crate) fn take_events(&self) -> Vec<BrowserEvent> {
        self.inner().events.drain(..).collect()
    }

    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The tab of a target.
    pub(crate) fn tab_of(&self, target: &str) -> Option<Arc<TabState>> {
        self.inner().tabs.iter().find(|tab| tab.target == target).cloned()
    }

    fn tab_in(&self, session: &str) -> Option<Arc<TabState>> {
        self.inner().tabs.iter().find(|tab| tab.session == session).cloned()
    }

    /// `Target.attachedToTarget`: a page of ours, or one that a page opened.
    fn attach(&self, cdp: &Cdp, params: &Value) {
        let info = &params["targetInfo"];
        let (Some(session), Some(target)) = (params["sessionId"].as_str(), info["targetId"].as_str()) else { return };
        if info["type"] != "page" {
            cdp.post(Some(session), "Runtime.runIfWaitingForDebugger", &json!({}));
            cdp.post(None, "Target.detachFromTarget", &json!({"sessionId": session}));
            return;
        }
        let opener = info["openerId"].as_str().and_then(|opener| self.tab_of(opener));
        let mut inner = self.inner();
        if inner.tabs.len() >= self.config.limits.tabs && opener.is_some() {
            drop(inner);
            cdp.post(None, "Target.closeTarget", &json!({"targetId": target}));
            return;
        }
        let id = format!("t{}", self.config.tab_numbers.fetch_add(1, Ordering::Relaxed) + 1);
        let owner = opener.as_ref().map_or_else(String::new, |opener| opener.owner());
        inner.tabs.push(Arc::new(TabState::new(&id, target, session, owner)));
        drop(inner);
        let (width, height) = self.config.window;
        for (method, params) in [
            ("Page.enable", json!({})),
            (
                "Emulation.setDeviceMetricsOverride",
                json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
            ),
            ("Page.setLifecycleEventsEnabled", json!({"enabled": true})),
            ("Page.setInterceptFileChooserDialog", json!({"enabled": true})),
            ("DOM.enable", json!({})),
            ("Inspector.enable", json!({})),
            ("Emulation.setFocusEmulationEnabled", json!({"enabled": true})),
            ("Runtime.runIfWaitingForDebugger", json!({})),
        ] {
            cdp.post(Some(session), method, &params);
        }
        if opener.is_some() {
            self.push(BrowserEvent::TabOpened { tab: id, url: info["url"].as_str().unwrap_or_default().to_owned() });
        }
        self.changed();
    }

    fn remove(&self, target: &str) {
        let mut inner = self.inner();
        let Some(at) = inner.tabs.iter().position(|tab| tab.target == target) else { return };
        let tab = inner.tabs.remove(at);
        drop(inner);
        tab.inner().is_closed = true;
        self.push(BrowserEvent::TabClosed { tab: tab.id.clone() });
    }

    fn crash(&self, tab: &TabState) {
        let was_crashed = std::mem::replace(&mut tab.inner().is_crashed, true);
        if !was_crashed {
            self.push(BrowserEvent::TabCrashed { tab: tab.id.clone() });
        }
    }

    /// A dialog with one possible answer gets it at once.
    fn dialog(&self, cdp: &Cdp, tab: &TabState, params: &Value) {
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        let dialog = PageDialog { kind: text("type"), message: text("message"), default: text("defaultPrompt") };
        let is_open = dialog.kind == "confirm" || dialog.kind == "prompt";
        if is_open {
            tab.inner().dialog = Some(dialog.clone());
        } else {
            cdp.post(Some(&tab.session), "Page.handleJavaScriptDialog", &json!({"accept": true}));
        }
        self.push(BrowserEvent::Dialog { tab: tab.id.clone(), dialog, is_open });
    }

    fn page_event(&self, cdp: &Cdp, tab: &TabState, method: &str, params: &Value) {
        match method {
            "Page.javascriptDialogOpening" => self.dialog(cdp, tab, params),
            "Page.javascriptDialogClosed" => tab.inner().dialog = None,
            "Page.fileChooserOpened" => {
                let reference = params["backendNodeId"].as_i64().map(|node| tab.inner().references.name(node));
                let is_multiple = params["mode"] == "selectMultiple";
                self.push(BrowserEvent::FilesAsked { tab: tab.id.clone(), reference, is_multiple });
            }
            "Input.dragIntercepted" => tab.inner().drag = Some(params["data"].clone()),
            // `Target.targetCrashed` says the same a little later, when the page may have been opened again.
            "Inspector.targetCrashed" => self.crash(tab),
            _ => tab.inner().page_event(method, params),
        }
        self.changed();
    }
}

impl EventHandler for State {
    fn handle(&self, cdp: &Cdp, event: &CdpEvent<'_>) {
        let target = || event.params["targetId"].as_str().unwrap_or_default();
        match (event.method, event.session) {
            ("Target.attachedToTarget", _) => self.attach(cdp, event.params),
            ("Target.targetDestroyed", _) => self.remove(target()),
            ("Browser.downloadWillBegin", _) => download::begin(self, cdp, event.params),
            ("Browser.downloadProgress", _) => download::progress(self, cdp, event.params),
            (method, Some(session)) => {
                if let Some(tab) = self.tab_in(session) {
                    self.page_event(cdp, &tab, method, event.params);
                }
            }
            (_, None) => {}
        }
    }
}
