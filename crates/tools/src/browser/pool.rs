//! The browsers of all runs of this process, one for each run, and their tabs.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use updraft_browser::{Browser, BrowserConfig, BrowserEvent, BrowserLimits, DownloadDecision, Error, Tab};
use updraft_sandbox::SandboxLevel;

use super::starter::ConfinedStarter;
use super::{BrowserOptions, guard};
use crate::confinement::Confinement;
use crate::tool::CallContext;
use crate::web::WebConfig;

/// Most calls whose pages are remembered between the permission and the call.
const MOST_JUDGED: usize = 256;

/// Browsers by run. Shared by all browser tools.
pub(super) struct BrowserPool {
    pub(super) options: BrowserOptions,
    pub(super) web: WebConfig,
    confinement: Confinement,
    /// Most bytes of a download.
    largest: u64,
    /// Shared by all browsers, so that a tab's name says which browser it is in.
    tab_numbers: Arc<AtomicU32>,
    inner: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    runs: HashMap<String, Arc<RunBrowser>>,
    tabs: BTreeMap<String, OpenTab>,
    /// The host of the page when a call was prepared, by the call's arguments. Empty if the page has no host.
    judged: VecDeque<(String, String)>,
}

/// The browser of one run.
pub(super) struct RunBrowser {
    pub(super) run: String,
    pub(super) browser: Browser,
    /// Events of tabs that were not asked about yet.
    pub(super) waiting: Mutex<Vec<BrowserEvent>>,
    pub(super) downloads: Mutex<Vec<HeldDownload>>,
}

/// A file that a page handed over and that is not in the workspace yet.
#[derive(Clone, Debug)]
pub(super) struct HeldDownload {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) path: PathBuf,
}

/// A tab and the browser it is in. Cheap to clone.
#[derive(Clone)]
pub(super) struct OpenTab {
    pub(super) tab: Tab,
    pub(super) of: Arc<RunBrowser>,
    /// One call at a time uses a tab; others wait for their turn.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
}

impl BrowserPool {
    pub(super) fn new(options: BrowserOptions, web: WebConfig, confinement: Confinement, largest: u64) -> Self {
        let (tab_numbers, inner) = (Arc::default(), Mutex::default());
        Self { options, web, confinement, largest, tab_numbers, inner }
    }

    /// Opens an empty tab in the browser of a call's run.
    pub(super) async fn open_tab(&self, cx: &CallContext) -> Result<OpenTab, Error> {
        let of = self.browser_of(&cx.around.run);
        let tab = of.browser.open_tab(&cx.around.step).await?;
        Ok(self.register(of, tab))
    }

    /// The browser of a run, which is not started before a tab is opened.
    pub(super) fn browser_of(&self, run: &str) -> Arc<RunBrowser> {
        let mut inner = self.inner();
        let made = || {
            Arc::new(RunBrowser {
                run: run.to_owned(),
                browser: Browser::new(self.config()),
                waiting: Mutex::default(),
                downloads: Mutex::default(),
            })
        };
        inner.runs.entry(run.to_owned()).or_insert_with(made).clone()
    }

    pub(super) fn register(&self, of: Arc<RunBrowser>, tab: Tab) -> OpenTab {
        let id = tab.id().to_owned();
        let open = OpenTab { tab, of, turn: Arc::default() };
        self.inner().tabs.entry(id).or_insert(open).clone()
    }

    /// The tab of this name, if it belongs to this run.
    pub(super) fn tab(&self, id: &str, run: &str) -> Option<OpenTab> {
        self.inner().tabs.get(id).filter(|open| open.of.run == run).cloned()
    }

    /// The address that a tab shows, whichever run it belongs to.
    pub(super) fn url_of(&self, id: &str) -> Option<String> {
        self.inner().tabs.get(id).map(|open| open.tab.url())
    }

    pub(super) fn forget_tab(&self, id: &str) {
        self.inner().tabs.remove(id);
    }

    /// Remembers which host a call was judged for.
    pub(super) fn judge(&self, call: String, host: String) {
        let mut inner = self.inner();
        inner.judged.retain(|(known, _)| *known != call);
        if inner.judged.len() == MOST_JUDGED {
            inner.judged.pop_front();
        }
        inner.judged.push_back((call, host));
    }

    /// The host a call was judged for; none if it was not judged here.
    pub(super) fn judged(&self, call: &str) -> Option<String> {
        self.inner().judged.iter().find(|(known, _)| known == call).map(|(_, host)| host.clone())
    }

    /// Ends the browser of a run, or all of them.
    pub(super) async fn release(&self, run: Option<&str>) {
        let ended: Vec<Arc<RunBrowser>> = {
            let mut inner = self.inner();
            let is_meant = |of: &str| run.is_none_or(|run| run == of);
            inner.tabs.retain(|_, open| !is_meant(&open.of.run));
            let ended = inner.runs.extract_if(|of, _| is_meant(of)).map(|(_, browser)| browser);
            ended.collect()
        };
        for of in ended {
            of.browser.close().await;
        }
    }

    fn config(&self) -> BrowserConfig {
        let BrowserOptions { program, search, folder, time } = &self.options;
        let part = |most: u64, of: u32| Duration::from_secs(most).min(*time / of);
        let limits = BrowserLimits {
            start: part(30, 2),
            call: part(20, 3),
            load: *time / 2,
            settle: part(10, 6),
            script: *time / 2,
            download_bytes: self.largest,
            ..BrowserLimits::default()
        };
        let mut config = BrowserConfig::new(guard::guard(&self.web), folder.clone());
        config.program.clone_from(program);
        config.search.clone_from(search);
        config.resolver = guard::resolver(&self.web);
        config.starter = Arc::new(ConfinedStarter(self.confinement.clone()));
        // In our sandbox Chromium cannot set up its own.
        config.has_own_sandbox &= self.confinement.level == Some(SandboxLevel::None);
        config.downloads = Arc::new(|_| DownloadDecision::Hold);
        config.tab_numbers = self.tab_numbers.clone();
        config.limits = limits;
        config
    }

    fn inner(&self) -> MutexGuard<'_, PoolState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
