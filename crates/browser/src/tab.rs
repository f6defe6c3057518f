//! One tab: what is known about it, and how its page is spoken to. The operations are in the files beside this one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::{Running, TabInfo};
use crate::error::Error;
use crate::event::PageDialog;
use crate::reference::References;

/// How long the browser may take to begin with a page that another one has asked for.
const BEGIN: Duration = Duration::from_secs(1);

/// Resolves once the page has drawn what an action changed. The second arm is for pages that draw nothing.
const DRAWN: &str =
    "new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 200) })";

/// What events say about a tab.
pub(crate) struct TabState {
    /// The name for callers: `t1`.
    pub(crate) id: String,
    /// The browser's name for it, which is that of its main frame too.
    pub(crate) target: String,
    pub(crate) session: String,
    inner: Mutex<TabInner>,
}

#[derive(Default)]
pub(crate) struct TabInner {
    pub(crate) owner: String,
    pub(crate) url: String,
    target: String,
    /// The page that is shown, by the browser's id, and the last one that has loaded.
    pub(crate) loader: String,
    pub(crate) loaded: String,
    pub(crate) is_loading: bool,
    /// The page has asked for another one, which does not load yet.
    asks_for_another: bool,
    pub(crate) is_closed: bool,
    pub(crate) is_crashed: bool,
    pub(crate) dialog: Option<PageDialog>,
    pub(crate) references: References,
    /// What is being dragged, if the page has begun a drag of the system's kind.
    pub(crate) drag: Option<Value>,
}

impl TabState {
    pub(crate) fn new(id: &str, target: &str, session: &str, owner: String) -> Self {
        let inner = TabInner { owner, target: target.to_owned(), url: "about:blank".to_owned(), ..TabInner::default() };
        let (id, target, session) = (id.to_owned(), target.to_owned(), session.to_owned());
        Self { id, target, session, inner: Mutex::new(inner) }
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, TabInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn owner(&self) -> String {
        self.inner().owner.clone()
    }

    pub(crate) fn info(&self, title: String) -> TabInfo {
        let inner = self.inner();
        TabInfo { id: self.id.clone(), owner: inner.owner.clone(), url: inner.url.clone(), title }
    }

    /// Why nothing can be done with the page at this moment.
    fn obstacle(&self) -> Option<Error> {
        let inner = self.inner();
        if inner.is_closed {
            return Some(Error::TabGone);
        }
        if inner.is_crashed {
            return Some(Error::TabCrashed);
        }
        let dialog = inner.dialog.as_ref()?;
        Some(Error::DialogOpen { kind: dialog.kind.clone(), message: dialog.message.clone() })
    }
}

impl TabInner {
    pub(crate) fn page_event(&mut self, method: &str, params: &Value) {
        let is_main = params["frameId"].as_str() == Some(&self.target);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match method {
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => {
                let frame = &params["frame"];
                self.url = text(&frame["url"]) + frame["urlFragment"].as_str().unwrap_or_default();
                self.loader = text(&frame["loaderId"]);
                self.references.forget();
            }
            "Page.navigatedWithinDocument" if is_main => self.url = text(&params["url"]),
            "Page.lifecycleEvent" if is_main && params["name"] == "load" => self.loaded = text(&params["loaderId"]),
            // Said by the page itself, in time; that it loads is said by the browser, perhaps late.
            "Page.frameScheduledNavigation" if is_main => self.asks_for_another = true,
            "Page.frameRequestedNavigation" if is_main && params["disposition"] == "currentTab" => {
                self.asks_for_another = true;
            }
            "Page.frameStartedLoading" if is_main => (self.is_loading, self.asks_for_another) = (true, false),
            "Page.frameStoppedLoading" if is_main => self.is_loading = false,
            _ => {}
        }
    }
}

/// A tab of the browser. Clones are the same tab.
#[derive(Clone)]
pub struct Tab {
    pub(crate) running: Arc<Running>,
    pub(crate) state: Arc<TabState>,
}

impl Tab {
    /// The tab's name, such as `t1`.
    pub fn id(&self) -> &str {
        &self.state.id
    }

    /// The address that the tab shows.
    pub fn url(&self) -> String {
        self.state.inner().url.clone()
    }

    /// The dialog that waits for an answer.
    pub fn dialog(&self) -> Option<PageDialog> {
        self.state.inner().dialog.clone()
    }

    /// Answers the open `confirm` or `prompt`; `text` is what is entered into a prompt.
    pub async fn answer_dialog(&self, accept: bool, text: Option<&str>) -> Result<(), Error> {
        if self.state.inner().dialog.is_none() {
            return Err(Error::NoDialog);
        }
        let mut params = json!({"accept": accept});
        if let Some(text) = text {
            params["promptText"] = text.into();
        }
        self.raw("Page.handleJavaScriptDialog", params, self.limits().call).await?;
        self.state.inner().dialog = None;
        self.settle().await
    }

    /// Closes the tab.
    pub async fn close(&self) -> Result<(), Error> {
        let limit = self.limits().call;
        self.running.cdp.call(None, "Target.closeTarget", json!({"targetId": self.state.target}), limit).await?;
        self.until(limit, |_| self.state.inner().is_closed.then_some(())).await.map(drop)
    }

    pub(crate) fn limits(&self) -> &crate::config::BrowserLimits {
        &self.running.state.config.limits
    }

    /// Sends a command to the page. Ends early if the page gets stuck in a dialog, crashes or is closed.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.call_within(method, params, self.limits().call).await
    }

    pub(crate) async fn call_within(&self, method: &str, params: Value, limit: Duration) -> Result<Value, Error> {
        self.ready()?;
        let mut changes = self.running.state.changes.subscribe();
        let answer = self.raw(method, params, limit);
        tokio::pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => return answer.map_err(|error| match error {
                    Error::TimedOut { what, limit } => {
                        Error::TimedOut { what: format!("the page is busy or hangs: its answer to {what}"), limit }
                    }
                    other => other,
                }),
                _ = changes.changed() => self.ready()?,
            }
        }
    }

    async fn raw(&self, method: &str, params: Value, limit: Duration) -> Result<Value, Error> {
        self.running.cdp.call(Some(&self.state.session), method, params, limit).await
    }

    /// An error if the page can take no command.
    pub(crate) fn ready(&self) -> Result<(), Error> {
        if let Some(how) = self.running.cdp.ended() {
            return Err(Error::BrowserGone { how });
        }
        self.state.obstacle().map_or(Ok(()), Err)
    }

    /// Does something with the page, then waits for what follows from it. A dialog that opens meanwhile, or a page that
    /// closes itself, ends the action: it was done, and the event tells what happened.
    pub(crate) async fn act<T: Default>(&self, action: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.ready()?;
        let done = match action.await {
            Err(Error::DialogOpen { .. } | Error::TabGone) => return Ok(T::default()),
            other => other?,
        };
        match self.settle().await {
            Ok(()) | Err(Error::DialogOpen { .. } | Error::TabGone) => Ok(done),
            Err(error) => Err(error),
        }
    }

    /// Waits until an action's effects are drawn and a page that began to load has loaded, within a limit.
    pub(crate) async fn settle(&self) -> Result<(), Error> {
        let limit = self.limits().settle;
        let drawn = json!({"expression": DRAWN, "awaitPromise": true, "returnByValue": true});
        match self.call_within("Runtime.evaluate", drawn, limit).await {
            // The page was left while it drew, or is busy.
            Ok(_) | Err(Error::Protocol { .. } | Error::TimedOut { .. }) => {}
            Err(error) => return Err(error),
        }
        // What it asked for may be a download, or refused: then nothing loads.
        let begun = self.until(BEGIN, |_| (!self.state.inner().asks_for_another).then_some(())).await;
        self.state.inner().asks_for_another = false;
        match begun {
            Ok(()) | Err(Error::TimedOut { .. }) => {}
            Err(error) => return Err(error),
        }
        let waited = self.until(limit, |_| (!self.state.inner().is_loading).then_some(())).await;
        match waited {
            // A page that loads for ever can be used all the same.
            Ok(()) | Err(Error::TimedOut { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits until `look` finds something, looking after each event.
    pub(crate) async fn until<T>(&self, limit: Duration, look: impl Fn(&Self) -> Option<T>) -> Result<T, Error> {
        let mut changes = self.running.state.changes.subscribe();
        let waiting = async {
            loop {
                if let Some(seen) = look(self) {
                    return Ok(seen);
                }
                self.ready()?;
                tokio::select! {
                    _ = changes.changed() => {}
                    () = self.running.cdp.closed() => {}
                }
            }
        };
        let timed_out = |_| Error::TimedOut { what: "the page".to_owned(), limit };
        tokio::time::timeout(limit, waiting).await.map_err(timed_out)?
    }

    /// Runs an expression in a world of our own, where scripts of the page cannot interfere.
    pub(crate) async fn ask(&self, expression: &str) -> Result<Value, Error> {
        let world = json!({"frameId": self.state.target, "worldName": "updraft"});
        let world = self.call("Page.createIsolatedWorld", world).await?;
        let params = json!({
            "expression": expression,
            "contextId": world["executionContextId"],
            "returnByValue": true,
            "awaitPromise": true,
        });
        let answer = self.call("Runtime.evaluate", params).await?;
        script_value(answer)
    }
}

/// The value in an answer of `Runtime.evaluate` or `Runtime.callFunctionOn`.
pub(crate) fn script_value(mut answer: Value) -> Result<Value, Error> {
    let Some(thrown) = answer.get("exceptionDetails") else { return Ok(answer["result"]["value"].take()) };
    let told = thrown["exception"]["description"].as_str().or_else(|| thrown["exception"]["value"].as_str());
    let message = told.or_else(|| thrown["text"].as_str()).unwrap_or("no reason");
    Err(Error::Script { message: message.chars().take(2000).collect() })
}
