//! What can go wrong with a browser or a page.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why an operation of the browser has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No Chromium is installed where one was looked for.
    #[error(
        "no Chromium found; looked for {}. Install one (Debian: `apt install chromium`; Ubuntu: Google Chrome; Fedora: \
         `dnf install chromium`; macOS: `brew install --cask chromium`), or set the path of the program", listed(.looked)
    )]
    NoBrowser {
        /// The paths that were tried.
        looked: Vec<PathBuf>,
    },

    /// The only Chromium there is comes as a snap.
    #[error(
        "`{}` is a snap, which cannot be confined. Install another Chromium or Google Chrome (as a .deb package, for \
         example), or set the path of the program", .program.display()
    )]
    OnlySnap {
        /// The program.
        program: PathBuf,
    },

    /// The program could not be started.
    #[error("could not start `{program}`")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },

    /// The program was started and ended at once.
    #[error(
        "the browser ended while it started ({how}){}. As root, in a container, or where user namespaces are switched off, \
         its own sandbox does not work", said_by_it(.said)
    )]
    NotStarted {
        /// How it ended, as far as that is known.
        how: String,
        /// The last lines it wrote.
        said: String,
    },

    /// The browser has ended, or was closed. The next call for a tab starts a new one.
    #[error("the browser has ended ({how}); open the page again, which starts a new one")]
    BrowserGone {
        /// How it ended, as far as that is known.
        how: String,
    },

    /// The tab was closed, by its page or by `close`.
    #[error("this tab is closed; open the page again")]
    TabGone,

    /// The page's process has crashed.
    #[error("the page has crashed; open it again")]
    TabCrashed,

    /// There are too many tabs.
    #[error("{most} tabs are open already; close one first")]
    TooManyTabs {
        /// The limit.
        most: usize,
    },

    /// No tab has this number.
    #[error("there is no tab `{id}`; the list of tabs has the numbers")]
    NoSuchTab {
        /// The number that was given.
        id: String,
    },

    /// The reference belongs to an element that is gone.
    #[error("`{reference}` is no longer on the page; read the page again and use the new references")]
    StaleReference {
        /// The reference.
        reference: String,
    },

    /// The text is no reference.
    #[error("`{text}` is no reference of this page; expected one like `e12` from reading it")]
    NotAReference {
        /// What was given.
        text: String,
    },

    /// The element cannot be pointed at.
    #[error("`{reference}` cannot be pointed at: {why}")]
    NotVisible {
        /// The reference.
        reference: String,
        /// What is in the way.
        why: String,
    },

    /// The element is of another kind than the operation needs.
    #[error("`{reference}` {why}")]
    WrongElement {
        /// The reference.
        reference: String,
        /// What it is, and what was expected.
        why: String,
    },

    /// A dialog of the page is open, and nothing else goes on before it is answered.
    #[error("a dialog is open ({kind}: {message:?}); answer it first")]
    DialogOpen {
        /// `confirm`, `prompt` and so on.
        kind: String,
        /// What it says.
        message: String,
    },

    /// There is no dialog to answer.
    #[error("no dialog is open")]
    NoDialog,

    /// The address is not one that may be opened.
    #[error("`{url}` cannot be opened: {why}")]
    BadAddress {
        /// The address.
        url: String,
        /// Why.
        why: String,
    },

    /// The page was not loaded because the network guard refused it.
    #[error("`{url}` was refused: {why}")]
    Refused {
        /// The address.
        url: String,
        /// Which rule.
        why: String,
    },

    /// The page could not be loaded.
    #[error("`{url}` could not be loaded: {why}")]
    NotLoaded {
        /// The address.
        url: String,
        /// What the browser says.
        why: String,
    },

    /// The address is a file that is downloaded. The events say what becomes of it.
    #[error("`{url}` is a download, not a page")]
    IsDownload {
        /// The address.
        url: String,
    },

    /// There is no page before or after this one.
    #[error("there is no page to go {direction} to")]
    NoHistory {
        /// `back` or `forward`.
        direction: &'static str,
    },

    /// A key has no such name.
    #[error("`{key}` is no key; expected a character or a name such as `Enter`, `ArrowDown` or `Control+a`")]
    NoSuchKey {
        /// What was given.
        key: String,
    },

    /// JavaScript threw.
    #[error("the script failed: {message}")]
    Script {
        /// What it threw.
        message: String,
    },

    /// It took too long.
    #[error("{what} took longer than {limit:?}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
    },

    /// The browser refused a command. Rarely of use to anyone but us.
    #[error("the browser answers {method} with `{message}`")]
    Protocol {
        /// The command.
        method: String,
        /// What it says.
        message: String,
    },

    /// A file or socket of ours fails.
    #[error("{doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

fn said_by_it(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said: {said}") }
}
