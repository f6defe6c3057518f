//! Downloads: offered to the policy, received in the profile, then moved to where the policy said.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cdp::Cdp;
use crate::event::BrowserEvent;
use crate::state::State;

/// Most bytes of a file's name.
const LONGEST_NAME: usize = 150;

/// A file that a page wants to hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadOffer {
    /// Where it comes from.
    pub url: String,
    /// The name the page gives it, made safe: no folders, no control characters, no leading dot.
    pub name: String,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadDecision {
    /// It is saved in this folder, under a name that is free there.
    Save(PathBuf),
    /// It is held where only we can write, for as long as the browser runs.
    Hold,
    /// It is cancelled.
    Refuse(String),
}

/// Downloads under way, by the browser's id.
#[derive(Default)]
pub(crate) struct Downloads {
    running: HashMap<String, (DownloadOffer, PathBuf)>,
}

impl Downloads {
    pub(crate) fn count(&self) -> usize {
        self.running.len()
    }
}

/// `Browser.downloadWillBegin`.
pub(crate) fn begin(state: &State, cdp: &Cdp, params: &Value) {
    let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
    let (id, offer) = (text("guid"), DownloadOffer { url: text("url"), name: safe_name(&text("suggestedFilename")) });
    match (state.config.downloads)(&offer) {
        DownloadDecision::Save(folder) => {
            state.inner().downloads.running.insert(id, (offer, folder));
        }
        DownloadDecision::Hold => {
            state.inner().downloads.running.insert(id, (offer, state.held.clone()));
        }
        DownloadDecision::Refuse(why) => refuse(state, cdp, &id, offer, why),
    }
}

fn refuse(state: &State, cdp: &Cdp, id: &str, offer: DownloadOffer, why: String) {
    cdp.post(None, "Browser.cancelDownload", &json!({"guid": id}));
    state.push(BrowserEvent::DownloadRefused { url: offer.url, name: offer.name, why });
}

/// `Browser.downloadProgress`.
pub(crate) fn progress(state: &State, cdp: &Cdp, params: &Value) {
    let id = params["guid"].as_str().unwrap_or_default();
    let bytes =
        params["receivedBytes"].as_f64().unwrap_or(0.0).max(params["totalBytes"].as_f64().unwrap_or(0.0)) as u64;
    let most = state.config.limits.download_bytes;
    let is_over = params["state"] != "inProgress";
    if !is_over && bytes <= most {
        return;
    }
    let Some((offer, folder)) = state.inner().downloads.running.remove(id) else { return };
    if bytes > most {
        return refuse(state, cdp, id, offer, format!("it has more than {most} bytes"));
    }
    let event = if params["state"] == "completed" {
        match keep(&state.received, id, &folder, &offer.name) {
            Ok((path, bytes)) => BrowserEvent::DownloadSaved { url: offer.url, path, bytes },
            Err(error) => BrowserEvent::DownloadRefused {
                url: offer.url,
                name: offer.name,
                why: format!("it could not be saved: {error}"),
            },
        }
    } else {
        BrowserEvent::DownloadRefused {
            url: offer.url,
            name: offer.name,
            why: "the download was interrupted".to_owned(),
        }
    };
    state.push(event);
}

/// Moves a received file to a free name in the folder. A browser that was taken over may leave something else in its
/// place, or name one elsewhere.
fn keep(received: &File, id: &str, folder: &Path, name: &str) -> io::Result<(PathBuf, u64)> {
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(io::Error::other("the browser gave an invalid id"));
    }
    let (path, mut to) = free_name(folder, name)?;
    let kept = take(received, id).and_then(|mut from| io::copy(&mut from, &mut to));
    match kept {
        Ok(bytes) => Ok((path, bytes)),
        Err(error) => {
            let _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

/// Opens a regular file in the folder, never a link, and removes its name.
#[cfg(unix)]
fn take(received: &File, id: &str) -> io::Result<File> {
    use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(received, id, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    unlinkat(received, id, AtFlags::empty())?;
    Ok(file)
}

#[cfg(not(unix))]
fn take(_: &File, _: &str) -> io::Result<File> {
    Err(io::Error::other("downloads are not supported on this system"))
}

fn free_name(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    let (stem, ending) =
        name.rsplit_once('.').map_or((name, String::new()), |(stem, ending)| (stem, format!(".{ending}")));
    for number in 1..1000 {
        let name = if number == 1 { name.to_owned() } else { format!("{stem} ({number}){ending}") };
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

pub(crate) fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut safe: String = last.chars().filter(|c| !c.is_control()).collect();
    while safe.len() > LONGEST_NAME {
        safe.pop();
    }
    let safe = safe.trim_start_matches(['.', ' ', '-']).trim_end();
    if safe.is_empty() { "download".to_owned() } else { safe.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        let names = ["../../etc/passwd", "..", ".bashrc", "a\u{0}b\n.txt", "C:\\x\\y.exe", "-rf", "plain.csv"];
        let safe = ["passwd", "download", "bashrc", "ab.txt", "y.exe", "rf", "plain.csv"];
        assert_eq!(names.map(safe_name), safe);
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.csv"), "old").unwrap();
        fs::write(folder.path().join("1f-2"), "new").unwrap();
        let received = File::open(folder.path()).unwrap();
        let (path, bytes) = keep(&received, "1f-2", folder.path(), "a.csv").unwrap();
        assert_eq!((path, bytes), (folder.path().join("a (2).csv"), 3));
        assert!(!folder.path().join("1f-2").exists());
    }

    #[test]
    fn nothing_but_a_received_file_is_taken() {
        let (folder, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join("received")).unwrap();
        fs::write(folder.path().join("secret"), "of ours").unwrap();
        std::os::unix::fs::symlink("../secret", folder.path().join("received/link")).unwrap();
        let received = File::open(folder.path().join("received")).unwrap();
        for id in ["link", "../secret", "", "missing"] {
            assert!(keep(&received, id, target.path(), "a.csv").is_err(), "{id}");
        }
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }
}
