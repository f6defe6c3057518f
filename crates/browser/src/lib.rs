//! A real browser for agents: Chromium, started on demand, confined to the network it was granted, never left behind.
//!
//! ```no_run
//! # async fn example() -> Result<(), updraft_browser::Error> {
//! use std::sync::Arc;
//! use updraft_browser::{Browser, BrowserConfig, ClickKind, Decision, OutlineOptions, Spot};
//!
//! let public = |_: &str, address: std::net::IpAddr, _: u16| match address.is_loopback() {
//!     true => Decision::Refuse("it is this machine".to_owned()),
//!     false => Decision::Allow,
//! };
//! let browser = Browser::new(BrowserConfig::new(Arc::new(public), std::env::temp_dir()));
//! let tab = browser.open_tab("step 1").await?;
//! tab.open("https://example.com").await?;
//! println!("{}", tab.read(&OutlineOptions::default()).await?.with_note());
//! tab.click(&Spot::Element("e3".to_owned()), ClickKind::Single).await?;
//! browser.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Everything a page says is a stranger's word: nothing here treats it as an instruction, and callers must not either.
//!
//! | to read | file |
//! |---|---|
//! | the browser's life | `browser.rs`, `program.rs`, `profile.rs`, `starter.rs` |
//! | the debugging protocol | `cdp.rs`, `state.rs` |
//! | which connections are made | `guard.rs`, `proxy.rs` |
//! | what is on a page | `snapshot.rs`, `outline.rs`, `visible.rs`, `capture.rs` |
//! | what can be done with it | `navigate.rs`, `mouse.rs`, `keys.rs`, `form.rs`, `script.rs`, `download.rs` |

mod browser;
mod capture;
mod cdp;
mod config;
mod cut;
mod download;
mod element;
mod error;
mod event;
mod form;
mod guard;
mod keys;
mod mouse;
mod navigate;
mod outline;
mod profile;
mod program;
mod proxy;
mod reference;
mod script;
mod snapshot;
mod starter;
mod state;
mod tab;
mod visible;

pub use browser::{Browser, TabInfo};
pub use capture::{Screenshot, ScreenshotArea};
pub use config::{BrowserConfig, BrowserLimits, DownloadPolicy};
pub use cut::CutText;
pub use download::{DownloadDecision, DownloadOffer};
pub use element::Spot;
pub use error::Error;
pub use event::{BrowserEvent, PageDialog};
pub use form::UploadFile;
pub use guard::{Decision, NetworkGuard, RefusedConnection, ResolveFuture, Resolver, system_resolver};
pub use mouse::ClickKind;
pub use navigate::{PageView, PageWait};
pub use outline::OutlineOptions;
pub use program::find_chromium;
pub use starter::{BrowserProcess, LaunchCommand, PlainStarter, ProcessHandle, StartFuture, Starter};
pub use tab::Tab;
