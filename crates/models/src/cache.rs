//! An optional cache on disk: stores answers for identical requests.
//!
//! A request is identified by a hash over everything that is sent except the key, so a different model, setting, tool
//! or word is a different request. Only the answer is stored. If something is wrong with the files, the model is asked:
//! the cache never causes an error. Files are read and written by the calling thread, which blocks.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use updraft_run::{FinishReason, ModelAnswer};

use crate::tokens;

/// Default limits on the number of files and on their total size.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 256 << 20;

/// Maximum bytes of one answer: larger answers are rare, and not worth the space.
const LARGEST_ENTRY: u64 = 8 << 20;

/// Identifies the request that an answer belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The key of a request: the provider, the path it is posted to and the whole body.
    pub fn of(provider: &str, path: &str, body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        for part in [provider.as_bytes(), path.as_bytes(), body] {
            // With its length, so that the parts of two requests cannot be confused.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    fn hex(&self) -> String {
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}…)", &self.hex()[..12])
    }
}

/// A cache in a folder. Clones share it; several processes may use the same folder.
#[derive(Clone, Debug)]
pub struct AnswerCache(Arc<CacheFolder>);

#[derive(Debug)]
struct CacheFolder {
    folder: PathBuf,
    files: usize,
    bytes: u64,
    /// How many answers this process has stored.
    puts: AtomicU64,
}

impl AnswerCache {
    /// A cache in this folder, which is created when first needed.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self::holding(folder, MOST_FILES, MOST_BYTES)
    }

    /// The same with other limits. They are checked from time to time, so they may be exceeded slightly for a while.
    pub fn holding(folder: impl Into<PathBuf>, files: usize, bytes: u64) -> Self {
        Self(Arc::new(CacheFolder { folder: folder.into(), files, bytes, puts: AtomicU64::new(0) }))
    }

    /// The stored answer to this request, if there is one. Its usage is zero, because nothing was spent.
    pub fn get(&self, key: &CacheKey) -> Option<ModelAnswer> {
        let mut text = Vec::new();
        File::open(self.path(key)).ok()?.take(LARGEST_ENTRY + 1).read_to_end(&mut text).ok()?;
        let answer: ModelAnswer = serde_json::from_slice(&text).ok()?;
        is_whole(&answer).then(|| ModelAnswer { usage: tokens::none(), ..answer })
    }

    /// Stores an answer, if it is complete.
    pub fn put(&self, key: &CacheKey, answer: &ModelAnswer) {
        if !is_whole(answer) {
            return;
        }
        let number = self.0.puts.fetch_add(1, Ordering::Relaxed);
        if let Err(why) = self.write(key, answer, number) {
            tracing::debug!(%why, "an answer is not kept");
        }
        let now_and_then = (self.0.files as u64 / 16).clamp(1, 64);
        if number.is_multiple_of(now_and_then) {
            self.drop_oldest();
        }
    }

    /// The path of an answer: `ab/cdef….json`.
    fn path(&self, key: &CacheKey) -> PathBuf {
        let hex = key.hex();
        self.0.folder.join(&hex[..2]).join(format!("{}.json", &hex[2..]))
    }

    /// Writes to a temporary file and renames it, so that no reader sees half an answer.
    fn write(&self, key: &CacheKey, answer: &ModelAnswer, number: u64) -> io::Result<()> {
        let text = serde_json::to_vec(answer)?;
        if text.len() as u64 > LARGEST_ENTRY {
            return Ok(());
        }
        let path = self.path(key);
        let beside = path.with_extension(format!("{}-{number}.new", std::process::id()));
        make_folder(path.parent().unwrap_or(&self.0.folder))?;
        let written =
            create(&beside).and_then(|mut file| file.write_all(&text)).and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }

    /// Removes the oldest files until the folder is somewhat below its limits, so that this is rarely needed.
    fn drop_oldest(&self) {
        let mut entries = entries_in(&self.0.folder);
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        let mut files = entries.len();
        if files <= self.0.files && bytes <= self.0.bytes {
            return;
        }
        let less = |limit: u64| limit - limit / 10;
        entries.sort();
        for entry in entries {
            if files <= less(self.0.files as u64) as usize && bytes <= less(self.0.bytes) {
                break;
            }
            if fs::remove_file(&entry.path).is_ok() {
                files -= 1;
                bytes -= entry.bytes;
            }
        }
    }
}

/// Whether the answer is complete: not truncated, not malformed, not empty.
fn is_whole(answer: &ModelAnswer) -> bool {
    let says_something = !answer.text.is_empty() || !answer.calls.is_empty();
    answer.finish == FinishReason::Stop && says_something && answer.calls.iter().all(|call| call.fault.is_none())
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CacheFile {
    written: SystemTime,
    path: PathBuf,
    bytes: u64,
}

/// All files two levels down, including files that a process left half written.
fn entries_in(folder: &Path) -> Vec<CacheFile> {
    let below = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries = Vec::new();
    for file in below(folder).flat_map(|shelf| below(&shelf.path())) {
        if let Ok(facts) = file.metadata()
            && facts.is_file()
            && let Ok(written) = facts.modified()
        {
            entries.push(CacheFile { written, path: file.path(), bytes: facts.len() });
        }
    }
    entries
}

/// Answers are private: only the user may read them.
fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Files are read and written on a thread that may block.
pub(crate) async fn look_up(cache: &AnswerCache, key: &CacheKey) -> Option<ModelAnswer> {
    let (cache, key) = (cache.clone(), *key);
    tokio::task::spawn_blocking(move || cache.get(&key)).await.ok().flatten()
}

/// Stores an answer.
pub(crate) async fn keep(cache: &AnswerCache, key: CacheKey, answer: &ModelAnswer) {
    let (cache, answer) = (cache.clone(), answer.clone());
    // If storing fails, the model is asked again the next time.
    let _ = tokio::task::spawn_blocking(move || cache.put(&key, &answer)).await;
}
