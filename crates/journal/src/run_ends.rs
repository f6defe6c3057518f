//! A small file next to the journal with the last acknowledged end of each run.
//!
//! To SQLite, a write-ahead log that was damaged or deleted looks like one that was cut off by a crash: it rolls back
//! silently. This file records how many events each run had. It is written after a commit and before the commit is
//! acknowledged, without being flushed. So after a crash or a power cut it may be behind the journal, but it is never
//! ahead: a run that ends before its entry says has lost records.
//!
//! A missing or damaged entry checks nothing, and is written again with the run's next record.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::chain::{self, ChainEnd, ChainHash};
use crate::location;
use crate::records::RecordPosition;

/// The length of an entry. The position of an entry is its run's key in the table `runs`, and no entry crosses a sector
/// boundary.
const LEN: usize = 128;
/// Where the parts of an entry begin: first the numbers, then the hash of the last record, then the name, then a hash
/// over all.
const LINK: usize = 16;
const NAME: usize = LINK + size_of::<ChainHash>();
const CHECK: usize = LEN - size_of::<ChainHash>();

/// The last known end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunEnd {
    pub(crate) name: String,
    pub(crate) end: ChainEnd,
}

/// The file.
#[derive(Debug)]
pub(crate) struct RunEndsFile {
    path: PathBuf,
    /// Opened when it is first needed, if it exists.
    file: Mutex<Option<File>>,
}

impl RunEndsFile {
    pub(crate) fn beside(journal: &Path) -> Self {
        Self { path: location::beside(journal, "-heads"), file: Mutex::new(None) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Records the ends of runs. If this fails, an older entry stays, which does no harm.
    pub(crate) fn write(&self, ends: &BTreeMap<i64, RunEnd>) {
        let mut ends = ends.iter().peekable();
        while let Some((first, end)) = ends.next() {
            let mut bytes = encode(*first, end).to_vec();
            let mut last = *first;
            // Adjacent entries are written together.
            while let Some((key, end)) = ends.next_if(|(key, _)| **key == last + 1) {
                bytes.extend(encode(*key, end));
                last = *key;
            }
            let _ = self.with(true, |file| {
                file.seek(SeekFrom::Start(offset(*first)))?;
                file.write_all(&bytes)
            });
        }
    }

    /// The recorded end of a run, if there is one.
    pub(crate) fn of(&self, key: i64, name: &str) -> Option<ChainEnd> {
        let mut bytes = [0; LEN];
        let read = self.with(false, |file| {
            file.seek(SeekFrom::Start(offset(key)))?;
            file.read_exact(&mut bytes)
        });
        read.ok().and_then(|()| decode(key, &bytes)).filter(|found| found.name == name).map(|found| found.end)
    }

    /// All recorded runs.
    pub(crate) fn all(&self) -> BTreeMap<i64, RunEnd> {
        let mut bytes = Vec::new();
        let _ = self.with(false, |file| {
            file.seek(SeekFrom::Start(0))?;
            file.read_to_end(&mut bytes)
        });
        let entries = (0..).zip(bytes.chunks_exact(LEN));
        entries.filter_map(|(key, bytes)| Some((key, decode(key, bytes)?))).collect()
    }

    /// A key that no entry uses.
    pub(crate) fn next_key(&self) -> i64 {
        let len = self.with(false, |file| Ok(file.metadata()?.len())).unwrap_or_default();
        (len / LEN as u64) as i64
    }

    /// The run with this name.
    pub(crate) fn named(&self, name: &str) -> Option<(i64, ChainEnd)> {
        self.all().into_iter().find(|(_, found)| found.name == name).map(|(key, found)| (key, found.end))
    }

    /// Removes a run's entry, and returns once that is on disk. Must be called before the run is removed from the
    /// journal; otherwise a power cut between the two would look like a loss.
    pub(crate) fn forget(&self, key: i64) -> std::io::Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        self.with(true, |file| {
            if file.metadata()?.len() <= offset(key) {
                return Ok(());
            }
            file.seek(SeekFrom::Start(offset(key)))?;
            file.write_all(&[0; LEN])?;
            file.sync_data()
        })
    }

    fn with<T>(&self, create: bool, work: impl FnOnce(&mut File) -> std::io::Result<T>) -> std::io::Result<T> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(location::open_private(&self.path, create)?),
        };
        work(file)
    }
}

fn offset(key: i64) -> u64 {
    key.unsigned_abs() * LEN as u64
}

fn encode(key: i64, run: &RunEnd) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    put(&mut bytes, 0, &run.end.place.seq.to_le_bytes());
    put(&mut bytes, 8, &run.end.place.part.to_le_bytes());
    put(&mut bytes, LINK, &run.end.link.unwrap_or_default());
    put(&mut bytes, NAME, run.name.as_bytes());
    let check = check(key, &bytes);
    put(&mut bytes, CHECK, &check);
    bytes
}

fn put(bytes: &mut [u8; LEN], at: usize, part: &[u8]) {
    bytes.iter_mut().skip(at).zip(part).for_each(|(to, from)| *to = *from);
}

fn decode(key: i64, bytes: &[u8]) -> Option<RunEnd> {
    let part = |at: usize, len: usize| bytes.get(at..at + len);
    // In an old file, most entries belong to runs that were removed.
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    if part(CHECK, size_of::<ChainHash>())? != check(key, bytes) {
        return None;
    }
    let number = |at| part(at, 8)?.try_into().ok().map(i64::from_le_bytes);
    let link: ChainHash = part(LINK, size_of::<ChainHash>())?.try_into().ok()?;
    let name = part(NAME, CHECK - NAME)?.split(|byte| *byte == 0).next()?;
    Some(RunEnd {
        name: String::from_utf8(name.to_vec()).ok()?,
        end: ChainEnd {
            place: RecordPosition { seq: number(0)?, part: number(8)? },
            link: Some(link).filter(|link| *link != ChainHash::default()),
        },
    })
}

/// The hash of an entry, which is valid only at its own position.
fn check(key: i64, bytes: &[u8]) -> ChainHash {
    let covered = bytes.iter().take(CHECK).copied();
    chain::of_bytes(&key.to_le_bytes().into_iter().chain(covered).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written_and_at_its_own_place_only() {
        let end = ChainEnd { place: RecordPosition { seq: 17, part: 3 }, link: Some([7; 16]) };
        let run = RunEnd { name: "r".repeat(64), end };
        let bytes = encode(5, &run);
        assert_eq!(decode(5, &bytes), Some(run));
        assert_eq!(decode(6, &bytes), None);
        for place in 0..LEN {
            let mut flipped = bytes;
            flipped[place] ^= 1;
            assert_eq!(decode(5, &flipped), None);
        }
        assert_eq!(decode(0, &[0; LEN]), None);
    }
}
