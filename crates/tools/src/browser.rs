//! The browser as tools: pages are opened, read and used in Chromium, which runs in the sandbox.
//!
//! A run has one browser, started by the first page it opens and ended with the run. Its pages are tabs, and every call
//! names the tab it means, so that steps that work at the same time do not meet. Everything that a page says is text
//! from outside. What is sent to a page (clicks, texts, files, scripts) needs permission for the host of that page.
//!
//! | file | holds |
//! |---|---|
//! | `pool` | the browsers of all runs, and their tabs |
//! | `starter`, `guard` | how Chromium is confined, and what it may connect to |
//! | `target_page` | which page a call means, and what it may be allowed to do there |
//! | `report` | what a model is told: a page, what happened, what went wrong |
//! | `open`, `read`, `act`, `tabs`, `screenshot`, `upload`, `save`, `script` | the tools |

mod act;
mod action;
mod guard;
mod news;
mod open;
mod pool;
mod read;
mod report;
mod save;
mod screenshot;
mod script;
mod starter;
mod tabs;
mod target_page;
mod upload;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::confinement::Confinement;
use crate::limits::ToolLimits;
use crate::tool::Tool;
use crate::web::WebConfig;
use pool::BrowserPool;

/// The group by which agents get these tools. Others that only fetch pages have the group `browser`.
const GROUP: &str = "page";

/// How the browser is found and started.
#[derive(Clone, Debug)]
pub struct BrowserOptions {
    /// The program; if none, Chromium is looked for in `search` and where systems keep it.
    pub program: Option<PathBuf>,
    /// Folders to look in, usually those of `PATH`.
    pub search: Vec<PathBuf>,
    /// The folder for throw-away profiles.
    pub folder: PathBuf,
    /// How long one call may take.
    pub time: Duration,
}

impl BrowserOptions {
    /// Chromium wherever the system has it, with profiles in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { program: None, search: Vec::new(), folder: folder.into(), time: Duration::from_mins(1) }
    }

    /// The program that would be started, or a text that says what to install.
    pub fn find(&self) -> Result<PathBuf, String> {
        match &self.program {
            Some(program) if program.is_file() => Ok(program.clone()),
            Some(program) => Err(format!("`{}` does not exist", program.display())),
            None => updraft_browser::find_chromium(&self.search).map_err(|error| error.to_string()),
        }
    }
}

/// The tools. No browser is started before the first page is opened.
pub(crate) fn tools(
    options: BrowserOptions,
    web: WebConfig,
    confinement: Confinement,
    limits: &ToolLimits,
) -> Vec<Arc<dyn Tool>> {
    let pool = Arc::new(BrowserPool::new(options, web, confinement, limits.file as u64));
    vec![
        Arc::new(open::BrowserOpen::new(pool.clone())),
        Arc::new(read::BrowserRead::new(pool.clone())),
        Arc::new(act::BrowserAct::new(pool.clone())),
        Arc::new(tabs::BrowserTabs::new(pool.clone())),
        Arc::new(screenshot::BrowserScreenshot::new(pool.clone())),
        Arc::new(upload::BrowserUpload::new(pool.clone(), limits.file)),
        Arc::new(save::BrowserSave::new(pool.clone(), limits)),
        Arc::new(script::BrowserScript::new(pool)),
    ]
}
