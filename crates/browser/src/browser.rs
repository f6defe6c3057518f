//! The browser of a run: started when the first tab is wanted, started again after it has ended.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::cdp::Cdp;
use crate::config::BrowserConfig;
use crate::error::Error;
use crate::event::BrowserEvent;
use crate::profile::Profile;
use crate::program::{command, find_chromium};
use crate::proxy::GuardProxy;
use crate::starter::{LOG, ProcessHandle};
use crate::state::State;
use crate::tab::Tab;

/// A browser that is started on demand. Dropping it kills the process and removes the profile.
pub struct Browser {
    config: BrowserConfig,
    running: Mutex<Option<Arc<Running>>>,
}

/// A process that was started, and everything that lives as long. Fields are dropped in this order: the process is killed before
/// its folder is removed.
pub(crate) struct Running {
    pub(crate) cdp: Cdp,
    pub(crate) state: Arc<State>,
    handle: std::sync::Mutex<Option<Box<dyn ProcessHandle>>>,
    pub(crate) proxy: GuardProxy,
    _tasks: JoinSet<()>,
    _profile: Profile,
}

/// A tab, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabInfo {
    /// Its name, such as `t1`.
    pub id: String,
    /// Who opened it: what was given to `open_tab`, or the owner of the page that opened it.
    pub owner: String,
    /// Its address.
    pub url: String,
    /// The title of its page.
    pub title: String,
}

impl Browser {
    /// A browser that is not started yet.
    pub fn new(config: BrowserConfig) -> Self {
        Self { config, running: Mutex::new(None) }
    }

    /// Opens an empty tab for `owner` (a step of a run, say), after starting the browser if there is none.
    ///
    /// A page in an endless loop can keep Chromium from making tabs. Then the browser is started again, once: all its
    /// tabs are gone, and [`BrowserEvent::Restarted`] names them.
    pub async fn open_tab(&self, owner: &str) -> Result<Tab, Error> {
        let running = self.running().await?;
        match self.open_in(running.clone(), owner).await {
            Err(Error::TimedOut { .. }) => self.open_in(self.restart(&running).await?, owner).await,
            other => other,
        }
    }

    async fn open_in(&self, running: Arc<Running>, owner: &str) -> Result<Tab, Error> {
        let limits = self.config.limits;
        if running.state.inner().tabs.len() >= limits.tabs {
            return Err(Error::TooManyTabs { most: limits.tabs });
        }
        let made = running.cdp.call(None, "Target.createTarget", json!({"url": "about:blank"}), limits.call).await?;
        let target = made["targetId"].as_str().unwrap_or_default();
        // The tab was attached before the answer came: messages are in order.
        let state = running.state.tab_of(target).ok_or(Error::TabGone)?;
        owner.clone_into(&mut state.inner().owner);
        let tab = Tab { running, state };
        // A page that is sent elsewhere before its empty document runs crashes Chromium 156.
        tab.settle().await?;
        Ok(tab)
    }

    /// Ends a browser that hangs and starts another, unless somebody else has done that meanwhile.
    async fn restart(&self, hung: &Arc<Running>) -> Result<Arc<Running>, Error> {
        let mut slot = self.running.lock().await;
        if let Some(current) = slot.as_ref().filter(|current| !Arc::ptr_eq(current, hung)) {
            return Ok(current.clone());
        }
        *slot = None;
        let tabs = hung.state.inner().tabs.clone();
        let lost = tabs.iter().map(|tab| tab.info(String::new())).collect();
        hung.kill().await;
        let running = Arc::new(Running::start(&self.config).await?);
        let before = hung.state.take_events().into_iter();
        before.chain([BrowserEvent::Restarted { lost }]).for_each(|event| running.state.push(event));
        *slot = Some(running.clone());
        Ok(running)
    }

    /// The tab with this name.
    pub async fn tab(&self, id: &str) -> Result<Tab, Error> {
        let missing = || Error::NoSuchTab { id: id.chars().take(40).collect() };
        let running = self.alive().await.ok_or_else(missing)?;
        let state = running.state.inner().tabs.iter().find(|tab| tab.id == id).cloned().ok_or_else(missing)?;
        Ok(Tab { running, state })
    }

    /// All open tabs, oldest first.
    pub async fn tabs(&self) -> Result<Vec<TabInfo>, Error> {
        let Some(running) = self.alive().await else { return Ok(Vec::new()) };
        let answer = running.cdp.call(None, "Target.getTargets", json!({}), self.config.limits.call).await?;
        let targets = answer["targetInfos"].as_array();
        let title = |target: &str| {
            let info = targets.into_iter().flatten().find(|info| info["targetId"] == target);
            info.and_then(|info| info["title"].as_str()).unwrap_or_default().to_owned()
        };
        let tabs = running.state.inner().tabs.clone();
        Ok(tabs.iter().map(|tab| tab.info(title(&tab.target))).collect())
    }

    /// Takes what happened since the last look, refused connections included. Those come last.
    pub async fn take_events(&self) -> Vec<BrowserEvent> {
        let Some(running) = self.running.lock().await.clone() else { return Vec::new() };
        let mut events = running.state.take_events();
        events.extend(running.proxy.take_refused().into_iter().map(BrowserEvent::Refused));
        events
    }

    /// Waits until a download has ended, within the time for a page to load. Its event stays to be taken.
    pub async fn wait_download_end(&self) -> Result<(), Error> {
        let Some(running) = self.alive().await else { return Ok(()) };
        let limit = self.config.limits.load;
        let mut changes = running.state.changes.subscribe();
        let waiting = async {
            while !running.state.has_ended_download() && running.cdp.ended().is_none() {
                tokio::select! {
                    _ = changes.changed() => {}
                    () = running.cdp.closed() => {}
                }
            }
        };
        let timed_out = |_| Error::TimedOut { what: "the download".to_owned(), limit };
        tokio::time::timeout(limit, waiting).await.map_err(timed_out)
    }

    /// Waits until no download is under way, within the time for a page to load.
    pub async fn wait_downloads(&self) -> Result<(), Error> {
        let Some(running) = self.alive().await else { return Ok(()) };
        let limit = self.config.limits.load;
        let mut changes = running.state.changes.subscribe();
        let waiting = async {
            while running.state.inner().downloads.count() > 0 && running.cdp.ended().is_none() {
                tokio::select! {
                    _ = changes.changed() => {}
                    () = running.cdp.closed() => {}
                }
            }
        };
        let timed_out = |_| Error::TimedOut { what: "the download".to_owned(), limit };
        tokio::time::timeout(limit, waiting).await.map_err(timed_out)
    }

    /// Ends the browser and waits until it is gone, profile included. The next call for a tab starts another.
    pub async fn close(&self) {
        let Some(running) = self.running.lock().await.take() else { return };
        let limit = self.config.limits.call;
        // It answers, or is gone at once; both are fine, and whoever hangs is killed.
        let _ = tokio::time::timeout(limit, async {
            let _ = running.cdp.call(None, "Browser.close", json!({}), limit).await;
            running.cdp.closed().await;
        })
        .await;
        running.kill().await;
    }

    async fn alive(&self) -> Option<Arc<Running>> {
        self.running.lock().await.clone().filter(|running| running.cdp.ended().is_none())
    }

    async fn running(&self) -> Result<Arc<Running>, Error> {
        let mut slot = self.running.lock().await;
        if let Some(running) = slot.as_ref() {
            if running.cdp.ended().is_none() {
                return Ok(running.clone());
            }
            running.kill().await;
        }
        *slot = None;
        let running = Arc::new(Running::start(&self.config).await?);
        *slot = Some(running.clone());
        Ok(running)
    }
}

impl Running {
    async fn start(config: &BrowserConfig) -> Result<Self, Error> {
        let io = |doing| move |source| Error::Io { doing, source };
        let browser = match &config.program {
            Some(program) if program.is_file() => program.clone(),
            Some(program) => return Err(Error::NoBrowser { looked: vec![program.clone()] }),
            None => find_chromium(&config.search)?,
        };
        let folder = config.folder.clone();
        let profile = tokio::task::spawn_blocking(move || Profile::create(&folder)).await;
        let profile = profile.map_err(std::io::Error::other).and_then(|made| made);
        let profile = profile.map_err(io("could not make a folder for the browser's profile"))?;
        let listener =
            std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(io("could not open the browser's proxy"))?;
        let port = listener.local_addr().map_err(io("could not open the browser's proxy"))?.port();
        let command = command(config, &browser, &profile, port);
        let program = browser.display().to_string();
        let process = config.starter.start(command).await.map_err(|source| Error::Start { program, source })?;
        let listener = process.listener.unwrap_or(listener);
        let proxy = GuardProxy::start(listener, config.guard.clone(), config.resolver.clone())
            .map_err(io("could not start the browser's proxy"))?;
        let state = Arc::new(State::new(config.clone(), &profile));
        let mut tasks = JoinSet::new();
        let cdp = Cdp::connect(process.input, process.output, state.clone(), &mut tasks);
        let handle = std::sync::Mutex::new(Some(process.handle));
        let running = Self { cdp, state, handle, proxy, _tasks: tasks, _profile: profile };
        match running.greet().await {
            Ok(()) => Ok(running),
            Err(Error::BrowserGone { how }) => Err(Error::NotStarted { said: last_words(&running.state.profile), how }),
            Err(error) => Err(error),
        }
    }

    /// The first commands: events about all tabs, and downloads only by way of the policy.
    async fn greet(&self) -> Result<(), Error> {
        let limit = self.state.config.limits.start;
        let pages = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true,
            "filter": [{"type": "page"}, {"exclude": true}]});
        let downloads = json!({"behavior": "allowAndName", "eventsEnabled": true,
            "downloadPath": self.state.profile.join("downloads")});
        for (method, params) in [
            ("Browser.getVersion", json!({})),
            ("Target.setDiscoverTargets", json!({"discover": true, "filter": [{"type": "page"}, {"exclude": true}]})),
            ("Target.setAutoAttach", pages),
            ("Browser.setDownloadBehavior", downloads),
        ] {
            self.cdp.call(None, method, params, limit).await?;
        }
        Ok(())
    }

    async fn kill(&self) {
        let handle = self.handle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(handle) = handle {
            handle.end().await;
        }
    }
}

/// The last lines of the browser's error output, without the times and places that it writes before them.
fn last_words(profile: &Path) -> String {
    let log = std::fs::read(profile.join(LOG)).unwrap_or_default();
    let text = String::from_utf8_lossy(&log[log.len().saturating_sub(4000)..]).into_owned();
    let lines: Vec<&str> =
        text.lines().map(|line| line.rsplit_once(")] ").map_or(line, |(_, words)| words).trim()).collect();
    let told = lines.iter().rev().filter(|line| !line.is_empty() && !line.starts_with('#')).take(3);
    let mut told: Vec<&str> = told.copied().collect();
    told.reverse();
    told.join("; ").chars().take(600).collect()
}
