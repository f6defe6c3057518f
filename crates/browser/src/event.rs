//! What happens in the browser without being an answer: dialogs, refusals, downloads, tabs that come and go.

use std::path::PathBuf;

use crate::browser::TabInfo;
use crate::guard::RefusedConnection;

/// Something that happened. Taken with [`Browser::take_events`](crate::Browser::take_events).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrowserEvent {
    /// A page showed a dialog. `alert` and `beforeunload` were accepted at once; others wait for an answer.
    Dialog {
        /// The tab.
        tab: String,
        /// The dialog.
        dialog: PageDialog,
        /// Whether it still waits for an answer.
        is_open: bool,
    },
    /// A connection was refused.
    Refused(RefusedConnection),
    /// A download was refused, with the reason.
    DownloadRefused {
        /// Where it came from.
        url: String,
        /// The name the page gave it.
        name: String,
        /// Why.
        why: String,
    },
    /// A download is complete.
    DownloadSaved {
        /// Where it came from.
        url: String,
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A page asks for files: `upload` them to the reference.
    FilesAsked {
        /// The tab.
        tab: String,
        /// The input, if it is an element of the page.
        reference: Option<String>,
        /// Whether several may be given.
        is_multiple: bool,
    },
    /// A page opened a tab.
    TabOpened {
        /// The new tab.
        tab: String,
        /// Its address.
        url: String,
    },
    /// A tab was closed.
    TabClosed {
        /// The tab.
        tab: String,
    },
    /// A page has crashed.
    TabCrashed {
        /// The tab.
        tab: String,
    },
    /// The browser hung and was started again. These tabs are gone.
    Restarted {
        /// What was open.
        lost: Vec<TabInfo>,
    },
}

/// A dialog of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageDialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// What a `prompt` proposes.
    pub default: String,
}
