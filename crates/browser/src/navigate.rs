//! Opening pages, going back and forward, and waiting.

use std::time::Duration;

use serde_json::{Value, json};

use crate::error::Error;
use crate::tab::Tab;

/// How often a page is looked at while something is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(150);
/// The longest address.
const LONGEST_URL: usize = 16 << 10;

/// The page that a tab shows after a navigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageView {
    /// Its address, after redirects.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The status of the answer, if it came over HTTP.
    pub status: Option<u16>,
    /// Whether it has loaded in time. If not, it can be used all the same.
    pub is_loaded: bool,
}

/// What can be waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageWait {
    /// The page has loaded.
    Load,
    /// The text is on the page.
    Text(String),
    /// The text is no longer on the page.
    TextGone(String),
    /// The address contains this.
    Url(String),
}

impl Tab {
    /// Opens an address and waits until it has loaded. Only `http`, `https` and `about:blank` are opened.
    pub async fn open(&self, url: &str) -> Result<PageView, Error> {
        check_address(url)?;
        // A crashed page is left behind by opening another.
        self.state.inner().is_crashed = false;
        let before = self.running.proxy.newest_failure();
        let answer = self.call_within("Page.navigate", json!({"url": url}), self.limits().load).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(Error::TimedOut { .. }) => {
                return Err(self.not_loaded(url, before, "the server does not answer in time"));
            }
            Err(error) => return Err(error),
        };
        if let Some(why) = answer["errorText"].as_str() {
            if answer["isDownload"] == true || self.running.state.inner().downloads.count() > 0 {
                return Err(Error::IsDownload { url: url.chars().take(300).collect() });
            }
            return Err(self.not_loaded(url, before, why));
        }
        let view = self.loaded(answer["loaderId"].as_str()).await?;
        self.failure(&view.url, before).map_or(Ok(view), Err)
    }

    /// Goes back one page.
    pub async fn back(&self) -> Result<PageView, Error> {
        self.travel(-1, "back").await
    }

    /// Goes forward one page.
    pub async fn forward(&self) -> Result<PageView, Error> {
        self.travel(1, "forward").await
    }

    /// Loads the page again.
    pub async fn reload(&self) -> Result<PageView, Error> {
        let before = self.state.inner().loader.clone();
        self.call("Page.reload", json!({})).await?;
        self.moved_on(&before).await?;
        self.loaded(None).await
    }

    /// Waits for something on the page.
    pub async fn wait(&self, what: &PageWait, limit: Duration) -> Result<(), Error> {
        let timed_out = |_| Error::TimedOut { what: describe(what), limit };
        tokio::time::timeout(limit, self.wait_for(what)).await.map_err(timed_out)?
    }

    async fn wait_for(&self, what: &PageWait) -> Result<(), Error> {
        loop {
            let is_there = match what {
                PageWait::Load => {
                    let inner = self.state.inner();
                    !inner.is_loading && inner.loaded == inner.loader
                }
                PageWait::Url(part) => self.url().contains(part),
                PageWait::Text(text) => self.whole_text().await?.contains(&squeezed(text)),
                PageWait::TextGone(text) => !self.whole_text().await?.contains(&squeezed(text)),
            };
            if is_there {
                return self.ready();
            }
            tokio::time::sleep(LOOK_EVERY).await;
            self.ready()?;
        }
    }

    /// The visible text with every run of white space as one blank, so that line breaks in it do not matter.
    async fn whole_text(&self) -> Result<String, Error> {
        // While a page is exchanged for the next one, there is none to look at.
        match self.visible_text().await {
            Err(Error::Protocol { .. }) => Ok(String::new()),
            other => other.map(|text| squeezed(&text)),
        }
    }

    async fn travel(&self, by: i64, direction: &'static str) -> Result<PageView, Error> {
        let history = self.call("Page.getNavigationHistory", json!({})).await?;
        let at = history["currentIndex"].as_i64().unwrap_or(0) + by;
        let entry = usize::try_from(at).ok().and_then(|at| history["entries"].get(at));
        let Some(entry) = entry.and_then(|entry| entry["id"].as_i64()) else {
            return Err(Error::NoHistory { direction });
        };
        let before = self.state.inner().loader.clone();
        let failures = self.running.proxy.newest_failure();
        self.call("Page.navigateToHistoryEntry", json!({"entryId": entry})).await?;
        self.moved_on(&before).await?;
        let view = self.loaded(None).await?;
        self.failure(&view.url, failures).map_or(Ok(view), Err)
    }

    /// Waits until another page is shown. A move within the page shows none, so a short wait has to do.
    async fn moved_on(&self, before: &str) -> Result<(), Error> {
        let limit = Duration::from_secs(2);
        match self.until(limit, |tab| (tab.state.inner().loader != before).then_some(())).await {
            Ok(()) | Err(Error::TimedOut { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits until the page has loaded (this one, or one it led to) and looks at it.
    async fn loaded(&self, loader: Option<&str>) -> Result<PageView, Error> {
        let is_there = |tab: &Tab| {
            let inner = tab.state.inner();
            let is_new = loader.is_none_or(|loader| inner.loader == loader || inner.loaded == loader);
            (is_new && inner.loaded == inner.loader && !inner.is_loading).then_some(())
        };
        let is_loaded = match self.until(self.limits().load, is_there).await {
            Ok(()) => true,
            Err(Error::TimedOut { .. }) => false,
            Err(error) => return Err(error),
        };
        let look = "[document.title, performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0]";
        // A page that is just being left has nothing to say.
        let seen = match self.ask(look).await {
            Err(Error::Protocol { .. } | Error::TimedOut { .. }) => Value::Null,
            other => other?,
        };
        let status = seen[1].as_u64().and_then(|status| u16::try_from(status).ok()).filter(|&status| status > 0);
        let title = seen[0].as_str().unwrap_or_default().chars().take(300).collect();
        Ok(PageView { url: self.url(), title, status, is_loaded })
    }

    fn not_loaded(&self, url: &str, before: u64, why: &str) -> Error {
        let shown = url.chars().take(300).collect::<String>();
        self.failure(url, before).unwrap_or(Error::NotLoaded { url: shown, why: why.to_owned() })
    }

    /// Why the proxy got no connection for this address since then.
    fn failure(&self, url: &str, before: u64) -> Option<Error> {
        let failure = self.running.proxy.failure_of(&at_proxy(url)?, before)?;
        let (url, why) = (url.chars().take(300).collect(), failure.why);
        Some(if failure.is_refused { Error::Refused { url, why } } else { Error::NotLoaded { url, why } })
    }
}

fn describe(what: &PageWait) -> String {
    let short = |text: &str| text.chars().take(80).collect::<String>();
    match what {
        PageWait::Load => "loading the page".to_owned(),
        PageWait::Text(text) => format!("waiting for the text `{}`", short(text)),
        PageWait::TextGone(text) => format!("waiting for the text `{}` to go", short(text)),
        PageWait::Url(part) => format!("waiting for `{}` in the address", short(part)),
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check_address(url: &str) -> Result<(), Error> {
    let bad = |why: &str| Err(Error::BadAddress { url: url.chars().take(200).collect(), why: why.to_owned() });
    if url.len() > LONGEST_URL {
        return bad("it is too long");
    }
    // Chromium drops blanks and line ends before it looks at the scheme.
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return bad("it holds a blank or a control character; write them as `%20` and so on");
    }
    let lower = url.to_ascii_lowercase();
    if lower == "about:blank" || (lower.starts_with("http://") && url.len() > 7) || lower.starts_with("https://") {
        return Ok(());
    }
    bad("only `http://` and `https://` pages are opened")
}

/// An address as the proxy gets it: `http` without its fragment, of others host and port.
fn at_proxy(url: &str) -> Option<String> {
    let whole = url.split('#').next()?;
    let (scheme, rest) = whole.split_once("://")?;
    let (authority, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let authority = authority.rsplit('@').next()?.to_ascii_lowercase();
    if scheme.eq_ignore_ascii_case("http") {
        let slash = if path.starts_with('/') { "" } else { "/" };
        return Some(format!("http://{}{slash}{path}", authority.strip_suffix(":80").unwrap_or(&authority)));
    }
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    Some(if has_port { authority } else { format!("{authority}:443") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_opened() {
        for good in ["http://a", "HTTPS://example.com/x?y#z", "about:blank"] {
            assert!(check_address(good).is_ok(), "{good}");
        }
        let bad =
            ["file:///etc/passwd", "chrome://settings", "view-source:http://a", "javascript:1", "data:text/html,x"];
        for bad in bad.into_iter().chain(["about:config", "", "example.com", " http://a", "ht\ntp://a", "devtools://x"])
        {
            assert!(check_address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses_are_known_as_the_proxy_gets_them() {
        assert_eq!(at_proxy("http://[::1]#x").as_deref(), Some("http://[::1]/"));
        assert_eq!(at_proxy("HTTP://A.example:80?q#x").as_deref(), Some("http://a.example/?q"));
        assert_eq!(at_proxy("https://u:p@EXAMPLE.com:8443/x").as_deref(), Some("example.com:8443"));
        assert_eq!(at_proxy("https://[::1]/").as_deref(), Some("[::1]:443"));
        assert_eq!(at_proxy("about:blank"), None);
    }
}
