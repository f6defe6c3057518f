//! What a browser is started with.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::download::{DownloadDecision, DownloadOffer};
use crate::guard::{NetworkGuard, Resolver, system_resolver};
use crate::starter::{PlainStarter, Starter};

/// Decides about a download before it is written anywhere but into the profile. It must not wait: it is called between two
/// messages of the browser.
pub type DownloadPolicy = Arc<dyn Fn(&DownloadOffer) -> DownloadDecision + Send + Sync>;

/// Everything a browser needs to be told.
#[derive(Clone)]
pub struct BrowserConfig {
    /// The program; if none, it is looked for in `search` and the usual places.
    pub program: Option<PathBuf>,
    /// Folders to look for the program in, usually those of `PATH`.
    pub search: Vec<PathBuf>,
    /// The folder for throw-away profiles. What killed processes left there is cleared by the next start.
    pub folder: PathBuf,
    /// Decides about every connection.
    pub guard: Arc<dyn NetworkGuard>,
    /// Finds the addresses of names.
    pub resolver: Resolver,
    /// Starts the process.
    pub starter: Arc<dyn Starter>,
    /// Decides about downloads; all are refused by default.
    pub downloads: DownloadPolicy,
    /// Whether Chromium may use its own sandbox. It cannot as root, nor inside most sandboxes.
    pub has_own_sandbox: bool,
    /// Width and height of the window.
    pub window: (u32, u32),
    /// Counts tabs. Browsers that share it never give a name twice, and neither does one that was started again.
    pub tab_numbers: Arc<AtomicU32>,
    /// Time and size limits.
    pub limits: BrowserLimits,
}

impl BrowserConfig {
    /// A browser with a guard, profiles in `folder`, and the defaults.
    pub fn new(guard: Arc<dyn NetworkGuard>, folder: PathBuf) -> Self {
        Self {
            program: None,
            search: Vec::new(),
            folder,
            guard,
            resolver: system_resolver(),
            starter: Arc::new(PlainStarter),
            downloads: Arc::new(|_| DownloadDecision::Refuse("downloads are not allowed".to_owned())),
            has_own_sandbox: !is_root(),
            window: (1280, 800),
            tab_numbers: Arc::default(),
            limits: BrowserLimits::default(),
        }
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

/// How long things may take, and how large they may be.
#[derive(Clone, Copy, Debug)]
pub struct BrowserLimits {
    /// Until the browser answers for the first time.
    pub start: Duration,
    /// For one command to the browser.
    pub call: Duration,
    /// For a page to load. A page that is not loaded then can be used all the same.
    pub load: Duration,
    /// For what follows an action: a page that loads after a click.
    pub settle: Duration,
    /// For a script of the caller.
    pub script: Duration,
    /// Most characters of a reading, a text or the value of a script.
    pub characters: usize,
    /// Most pixels of a screenshot's height.
    pub screenshot_height: u32,
    /// Most bytes of a download.
    pub download_bytes: u64,
    /// Most tabs at the same time.
    pub tabs: usize,
}

impl Default for BrowserLimits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_secs(20),
            load: Duration::from_secs(30),
            settle: Duration::from_secs(10),
            script: Duration::from_secs(30),
            characters: 30_000,
            screenshot_height: 10_000,
            download_bytes: 1 << 30,
            tabs: 16,
        }
    }
}
