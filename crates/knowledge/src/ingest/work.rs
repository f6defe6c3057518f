//! Reads files on several threads and hands the results on in order.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::IngestOptions;
use super::walk::FileEntry;
use crate::cancel::Cancel;
use crate::entry::{DocumentEntry, NewDocument};
use crate::error::Error;

/// Results that wait to be written, for each thread: enough to keep all busy, few enough to keep memory small.
const WAITING: usize = 16;

/// What became of a file.
pub(super) enum Outcome {
    /// To be stored. Boxed: results wait in a queue.
    Document(Box<NewDocument>),
    /// It could not be opened.
    Failed(String),
}

/// Reads all files and calls `take` for each, in the order of the list. An error of `take`, or a stop, ends the work.
pub(super) fn read_all(
    files: &[&FileEntry],
    known: &HashMap<String, DocumentEntry>,
    options: &IngestOptions<'_>,
    cancel: &Cancel,
    take: &mut dyn FnMut(&FileEntry, Outcome) -> Result<(), Error>,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let threads = options.threads.clamp(1, 64).min(files.len().max(1));
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING * threads);
        for _ in 0..threads {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || work((files, known), options, (next, cancel), &sender));
        }
        drop(sender);
        // Dropping the receiver at the end makes every thread stop at its next file.
        in_order(files, &receiver, cancel, take)
    })
}

fn work(
    (files, known): (&[&FileEntry], &HashMap<String, DocumentEntry>),
    options: &IngestOptions<'_>,
    (next, cancel): (&AtomicUsize, &Cancel),
    sender: &SyncSender<(usize, Outcome)>,
) {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(file) = files.get(at).filter(|_| !cancel.is_cancelled()) else { return };
        let outcome = read_one(file, known.get(&file.name), options);
        if sender.send((at, outcome)).is_err() {
            return;
        }
    }
}

fn in_order(
    files: &[&FileEntry],
    receiver: &Receiver<(usize, Outcome)>,
    cancel: &Cancel,
    take: &mut dyn FnMut(&FileEntry, Outcome) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut early: BTreeMap<usize, Outcome> = BTreeMap::new();
    let mut next = 0;
    for (at, outcome) in receiver {
        cancel.check()?;
        early.insert(at, outcome);
        while let Some(outcome) = early.remove(&next) {
            take(files[next], outcome)?;
            next += 1;
        }
    }
    cancel.check()
}

fn read_one(file: &FileEntry, known: Option<&DocumentEntry>, options: &IngestOptions<'_>) -> Outcome {
    let document = if file.bytes > options.largest {
        let problem = format!("larger than {} bytes", options.largest);
        NewDocument { problem: Some(problem), ..NewDocument::unread(&file.name, &file.changed.to_le_bytes()) }
    } else {
        let content = match (options.load)(&file.path) {
            Ok(content) => content,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let unread = NewDocument::unread(&file.name, &content);
        if known.is_some_and(|known| known.hash == unread.hash) {
            // The content is as before: only the time is written.
            unread
        } else {
            match (options.read)(&file.path, &content) {
                Ok(document) => NewDocument::new(&file.name, &content, &document),
                Err(error) => NewDocument { problem: Some(error.to_string()), ..unread },
            }
        }
    };
    let date = file.changed.div_euclid(1_000_000_000);
    Outcome::Document(Box::new(NewDocument { bytes: file.bytes, modified: file.modified, date, ..document }))
}
