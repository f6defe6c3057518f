//! Pages kept on disk for some minutes, so that the same page is not fetched again and again.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use updraft_workspace::{hash, replace_private};

use super::fetch::RawPage;

/// Most bytes of all pages together; the oldest go first.
const LARGEST: u64 = 100 << 20;
/// The longest time a page is kept, whatever its server says.
const LONGEST: Duration = Duration::from_hours(24);

/// Where pages are kept, and for how long if their server does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCache {
    /// The folder.
    pub folder: PathBuf,
    /// How long a page is kept whose server says nothing about that.
    pub age: Duration,
}

/// The first line of a file; the body follows.
#[derive(Serialize, Deserialize)]
struct CachedHead {
    /// The address that was asked for.
    asked: String,
    /// Seconds since 1970.
    stored: u64,
    page: RawPage,
}

impl PageCache {
    /// The page for an address, and how old it is, if it is kept and not too old.
    pub(super) fn get(&self, asked: &str, now: SystemTime) -> Option<(RawPage, Duration)> {
        let bytes = std::fs::read(self.file(asked)).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let head: CachedHead = serde_json::from_slice(&bytes[..end]).ok()?;
        let age = Duration::from_secs(seconds(now).checked_sub(head.stored)?);
        let is_fresh = head.asked == asked && age <= self.lifetime(&head.page)?;
        is_fresh.then(|| (RawPage { body: bytes[end + 1..].to_vec(), ..head.page }, age))
    }

    /// Keeps a page, if its server allows it. Failing to is no error: the page is fetched again next time.
    pub(super) fn put(&self, asked: &str, page: &RawPage, now: SystemTime) {
        if page.status != 200 || page.is_cut || self.lifetime(page).is_none() {
            return;
        }
        let kept = RawPage { body: Vec::new(), ..page.clone() };
        let head = CachedHead { asked: asked.to_owned(), stored: seconds(now), page: kept };
        let Ok(mut bytes) = serde_json::to_vec(&head) else { return };
        bytes.push(b'\n');
        bytes.extend_from_slice(&page.body);
        if let Err(error) = replace_private(&self.file(asked), &bytes) {
            tracing::debug!(%error, "could not keep a page");
        }
        self.tidy(now);
    }

    /// How long a page may be kept; nothing if not at all.
    fn lifetime(&self, page: &RawPage) -> Option<Duration> {
        let control = page.cache_control.to_ascii_lowercase();
        let mut words = control.split(',').map(str::trim);
        let is_forbidden = |word: &str| {
            matches!(word.split('=').next(), Some("no-store" | "no-cache" | "private")) || word == "max-age=0"
        };
        if self.age.is_zero() || words.clone().any(is_forbidden) {
            return None;
        }
        let said = words.find_map(|word| word.strip_prefix("max-age=")?.trim_matches('"').parse().ok());
        Some(said.map_or(self.age, Duration::from_secs).min(LONGEST))
    }

    /// Removes pages that are too old, and the oldest until the rest fits.
    fn tidy(&self, now: SystemTime) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let about = |entry: std::fs::DirEntry| {
            let about = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries.filter_map(about).collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
        for (modified, len, path) in files {
            let is_old = now.duration_since(modified).is_ok_and(|age| age > LONGEST);
            if !is_old && total <= LARGEST {
                break;
            }
            total -= len;
            // Another process may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }

    fn file(&self, asked: &str) -> PathBuf {
        Path::new(&self.folder).join(hash(asked.as_bytes()).to_string())
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(cache_control: &str) -> RawPage {
        RawPage {
            url: "https://a.example/x".to_owned(),
            status: 200,
            content_type: "text/plain".to_owned(),
            cache_control: cache_control.to_owned(),
            hosts: vec!["a.example".to_owned()],
            is_cut: false,
            body: b"body\nof it".to_vec(),
        }
    }

    fn is_kept(cache_control: &str, after: u64) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let cache = PageCache { folder: folder.path().join("web"), age: Duration::from_secs(100) };
        let now = crate::builtin::now();
        cache.put("https://a.example/", &page(cache_control), now);
        assert!(cache.get("https://b.example/", now).is_none());
        let got = cache.get("https://a.example/", now + Duration::from_secs(after));
        if let Some((page, age)) = &got {
            assert_eq!((page.body.as_slice(), age.as_secs()), (b"body\nof it".as_slice(), after));
        }
        got.is_some()
    }

    #[test]
    fn a_page_is_kept_as_long_as_its_server_says() {
        assert!(is_kept("", 100) && !is_kept("", 101));
        assert!(is_kept("public, max-age=300", 299) && !is_kept("max-age=10", 11));
        assert!(is_kept("max-age=999999999", 86_400) && !is_kept("max-age=999999999", 86_401));
        for never in ["no-store", "private", "no-cache, max-age=60", "Max-Age=0"] {
            assert!(!is_kept(never, 0), "{never}");
        }
    }

    #[test]
    fn a_page_from_the_future_or_one_that_is_damaged_is_fetched_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PageCache { folder: folder.path().to_owned(), age: Duration::from_secs(100) };
        let now = crate::builtin::now();
        cache.put("a", &page(""), now);
        assert!(cache.get("a", now - Duration::from_secs(5)).is_none());
        std::fs::write(cache.file("a"), "{broken").unwrap();
        assert!(cache.get("a", now).is_none());
        cache.put("a", &RawPage { status: 404, ..page("") }, now);
        assert!(cache.get("a", now).is_none());
    }
}
