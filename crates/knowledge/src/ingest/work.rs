//! Reads files on several threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

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

/// Reads all files and calls `take` for each, in any order. An error of `take`, or a stop, ends the work.
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
        // As they come: a slow file must not hold up the others. After a stop each thread finishes its file, and what it
        // has read is taken too. Dropping the receiver makes every thread stop at its next file.
        for (at, outcome) in &receiver {
            take(files[at], outcome)?;
        }
        cancel.check()
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
        let is_tried_again = options.tries_again && known.is_some_and(|known| known.problem.is_some());
        if let Some(known) = known.filter(|known| known.hash == unread.hash && !is_tried_again) {
            // The content is as before: only the time is written.
            NewDocument { problem: known.problem.clone(), ..unread }
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
