//! What a test has: a browser that may reach the test's own site, and nothing else.

use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use updraft_browser::{
    Browser, BrowserConfig, BrowserEvent, Decision, Error, NetworkGuard, OutlineOptions, PageWait, Spot, Tab,
    find_chromium,
};

use crate::site::{Page, Site};

/// Allows the hosts and ports it was given.
struct TestGuard {
    granted: Vec<(String, u16)>,
}

impl NetworkGuard for TestGuard {
    fn allow(&self, host: &str, address: IpAddr, port: u16) -> Decision {
        if self.granted.iter().any(|(granted, at)| granted == host && *at == port) {
            return Decision::Allow;
        }
        Decision::Refuse(format!("{address} is not granted"))
    }
}

pub(crate) struct World {
    pub(crate) browser: Browser,
    pub(crate) site: Site,
    pub(crate) folder: tempfile::TempDir,
}

/// Chromium's path, or a loud word that there is none.
pub(crate) fn chromium() -> Option<PathBuf> {
    let found = find_chromium(&[]);
    if let Err(error) = &found {
        let _ = writeln!(std::io::stderr(), "!!\n!! SKIP: no browser is tried: {error}\n!!");
    }
    found.ok()
}

impl World {
    pub(crate) fn with(pages: Vec<Page>) -> Option<Self> {
        Self::configured(pages, |_| {})
    }

    pub(crate) fn configured(pages: Vec<Page>, change: impl FnOnce(&mut BrowserConfig)) -> Option<Self> {
        let program = chromium()?;
        let site = Site::serve(pages).ok()?;
        let granted = vec![("127.0.0.1".to_owned(), site.port), ("localhost".to_owned(), site.port)];
        let guard = Arc::new(TestGuard { granted });
        let folder = tempfile::tempdir().ok()?;
        let mut config = BrowserConfig::new(guard, folder.path().join("profiles"));
        config.program = Some(program);
        change(&mut config);
        Some(Self { browser: Browser::new(config), site, folder })
    }

    /// A tab that shows a page of the site.
    pub(crate) async fn open(&self, path: &str) -> Result<Tab, Error> {
        let tab = self.browser.open_tab("test").await?;
        tab.open(&self.site.url(path)).await?;
        Ok(tab)
    }

    /// The first event of a kind, waited for within a limit. Others before it are dropped.
    pub(crate) async fn event(&self, is_wanted: impl Fn(&BrowserEvent) -> bool) -> Option<BrowserEvent> {
        for _ in 0..400 {
            let found = self.events().await.into_iter().find(|event| is_wanted(event));
            if found.is_some() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        None
    }

    pub(crate) async fn events(&self) -> Vec<BrowserEvent> {
        self.browser.take_events().await
    }
}

/// What a reading says, without the line about the page.
pub(crate) async fn read(tab: &Tab) -> Result<String, Error> {
    let whole = tab.read(&OutlineOptions::default()).await?.with_note();
    Ok(whole.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default())
}

/// The reference of the first line that contains all of the words.
pub(crate) async fn find(tab: &Tab, words: &str) -> anyhow::Result<String> {
    let text = read(tab).await?;
    let line = text.lines().find(|line| words.split(' ').all(|word| line.contains(word)));
    let line = line.ok_or_else(|| anyhow::anyhow!("no line with `{words}` in\n{text}"))?;
    let start = line.find("[e").ok_or_else(|| anyhow::anyhow!("no reference in `{line}`"))? + 1;
    let end = line[start..].find(']').ok_or_else(|| anyhow::anyhow!("no reference in `{line}`"))?;
    Ok(line[start..start + end].to_owned())
}

pub(crate) async fn spot(tab: &Tab, words: &str) -> anyhow::Result<Spot> {
    Ok(Spot::Element(find(tab, words).await?))
}

/// Why the tab cannot be used any more, waited for within a limit.
pub(crate) async fn end_of(tab: &Tab) -> Error {
    let never = PageWait::Text("words that are on no page".to_owned());
    tab.wait(&never, Duration::from_secs(20)).await.err().unwrap_or(Error::NoDialog)
}
