//! A way to the disk that writes down everything SQLite does, so that a power cut can be played at any moment.
//!
//! `Tape::install` gives SQLite a VFS of that name: the ordinary one, with every write, truncation, deletion and sync
//! noted in order. `Replay` then builds the disk as it may be after the power went at some point of the tape: what was
//! synced is there for certain, and what was not is lost, kept, or kept in part and torn at 512-byte sectors.
//!
//! Beside the files of SQLite nothing is noted: large values are ordinary files. Other crates include this file with
//! `#[path]`.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(unsafe_code, reason = "a VFS is a table of C functions; it exists in tests only")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of tests fails by panicking")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::ffi;

/// What a disk promises to write whole or not at all.
const SECTOR: usize = 512;

/// Everything that was done to the files of a journal, in order.
#[derive(Debug, Default)]
pub(crate) struct Tape(Mutex<Vec<Done>>);

/// One thing done to one file.
#[derive(Clone, Debug)]
struct Done {
    file: Arc<str>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Write {
        offset: usize,
        bytes: Vec<u8>,
    },
    Truncate(usize),
    Delete {
        synced: bool,
    },
    Sync,
    /// The names in the folder: what was deleted before stays deleted.
    SyncFolder,
}

impl Tape {
    /// Makes SQLite know a VFS of this name. It stays until the process ends.
    pub(crate) fn install(name: &str) -> Arc<Self> {
        let tape = Arc::new(Self::default());
        // SAFETY: the default VFS lives as long as the process, and so does ours, which is leaked. Ours is a copy of it, so
        // that the functions we do not replace find everything they look for.
        unsafe {
            let real = ffi::sqlite3_vfs_find(std::ptr::null());
            assert!(!real.is_null(), "SQLite has no VFS");
            let mut vfs = std::ptr::read(real);
            vfs.zName = CString::new(name).unwrap().into_raw();
            vfs.pNext = std::ptr::null_mut();
            vfs.szOsFile = extra_at(real) as c_int + size_of::<Extra>() as c_int;
            vfs.xOpen = Some(open);
            vfs.xDelete = Some(delete);
            let ours = Box::leak(Box::new(Vfs { table: vfs, real, tape: Arc::clone(&tape) }));
            assert_eq!(ffi::sqlite3_vfs_register(&raw mut ours.table, 0), ffi::SQLITE_OK);
        }
        tape
    }

    /// How much was noted so far: the moment just now.
    pub(crate) fn position(&self) -> usize {
        self.done().len()
    }

    /// How often a file was synced.
    pub(crate) fn syncs(&self) -> usize {
        self.done().iter().filter(|done| matches!(done.what, What::Sync)).count()
    }

    /// Begins to play it from the start. What is noted later is not seen.
    pub(crate) fn replay(&self) -> Replay {
        Replay { tape: self.done().clone(), at: 0, files: BTreeMap::new() }
    }

    fn note(&self, file: &Arc<str>, what: What) {
        self.done().push(Done { file: Arc::clone(file), what });
    }

    fn done(&self) -> MutexGuard<'_, Vec<Done>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What becomes of writes that were not synced when the power goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unsynced {
    /// None of them reached the disk.
    Lost,
    /// All of them did.
    Kept,
    /// Some did, by this seed: any of them in any order, and of each only some sectors.
    Torn(u64),
}

/// Plays a tape forwards.
#[derive(Debug)]
pub(crate) struct Replay {
    tape: Vec<Done>,
    at: usize,
    files: BTreeMap<Arc<str>, File>,
}

#[derive(Debug, Default)]
struct File {
    /// What is on the disk for certain; `None` if that is no file at all.
    synced: Option<Vec<u8>>,
    /// What was done since.
    since: Vec<What>,
}

impl File {
    fn keep_deleted(&mut self) {
        if let Some(last) = self.since.iter().rposition(|what| matches!(what, What::Delete { .. })) {
            self.synced = None;
            self.since.drain(..=last);
        }
    }
}

/// The files of a disk, by name.
pub(crate) type Disk = BTreeMap<Arc<str>, Vec<u8>>;

impl Replay {
    /// How long the tape is.
    pub(crate) fn len(&self) -> usize {
        self.tape.len()
    }

    /// Goes on to a later moment.
    pub(crate) fn advance_to(&mut self, position: usize) {
        assert!(position >= self.at, "a tape plays forwards");
        for done in &self.tape[self.at..position] {
            if matches!(done.what, What::SyncFolder) {
                self.files.values_mut().for_each(File::keep_deleted);
                continue;
            }
            let file = self.files.entry(Arc::clone(&done.file)).or_default();
            match &done.what {
                What::Sync => {
                    let since = std::mem::take(&mut file.since);
                    for what in &since {
                        do_to(&mut file.synced, what);
                    }
                    file.synced.get_or_insert_default();
                }
                What::Delete { synced: true } => *file = File::default(),
                what => file.since.push(what.clone()),
            }
        }
        self.at = position;
    }

    /// The disk, if the power went now.
    pub(crate) fn disk(&self, unsynced: Unsynced) -> Disk {
        let mut chance = Chance(if let Unsynced::Torn(seed) = unsynced { seed } else { 0 } ^ self.at as u64);
        let mut disk = Disk::new();
        for (name, file) in &self.files {
            let mut content = file.synced.clone();
            match unsynced {
                Unsynced::Lost => {}
                Unsynced::Kept => file.since.iter().for_each(|what| do_to(&mut content, what)),
                Unsynced::Torn(_) => tear(&mut content, &file.since, &mut chance),
            }
            if let Some(content) = content {
                disk.insert(Arc::clone(name), content);
            }
        }
        disk
    }
}

/// Puts a disk's files into a folder.
pub(crate) fn write_to(disk: &Disk, folder: &Path) {
    for (name, content) in disk {
        std::fs::write(folder.join(&**name), content).unwrap();
    }
}

fn do_to(content: &mut Option<Vec<u8>>, what: &What) {
    match what {
        What::Write { offset, bytes } => put(content.get_or_insert_default(), *offset, bytes),
        What::Truncate(len) => content.get_or_insert_default().resize(*len, 0),
        What::Delete { .. } => *content = None,
        What::Sync | What::SyncFolder => {}
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if content.len() < offset + bytes.len() {
        content.resize(offset + bytes.len(), 0);
    }
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Does some of what was done, and some of that only in part.
fn tear(content: &mut Option<Vec<u8>>, since: &[What], chance: &mut Chance) {
    for what in since {
        match what {
            What::Write { offset, bytes } => match chance.of(4) {
                0 => {}
                1 => do_to(content, what),
                _ => sectors(*offset, bytes)
                    .filter(|_| chance.of(2) == 0)
                    .for_each(|(offset, part)| put(content.get_or_insert_default(), offset, part)),
            },
            What::Truncate(_) if chance.of(2) == 0 => do_to(content, what),
            What::Delete { .. } if chance.of(2) == 0 => do_to(content, what),
            // The old file is still there under its name, so what was written to the new one is nowhere.
            What::Delete { .. } => return,
            What::Truncate(_) | What::Sync | What::SyncFolder => {}
        }
    }
}

/// The parts of a write that lie in different sectors.
fn sectors(offset: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let len = (SECTOR - (offset + at) % SECTOR).min(bytes.len() - at);
        let part = (offset + at, &bytes[at..at + len]);
        at += len;
        (len > 0).then_some(part)
    })
}

/// The same numbers every time, from a seed.
#[derive(Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// One of so many.
    pub(crate) fn of(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % n
    }
}

/// Our VFS: the ordinary one's table with two functions replaced, and what they need.
#[repr(C)]
struct Vfs {
    table: ffi::sqlite3_vfs,
    real: *mut ffi::sqlite3_vfs,
    tape: Arc<Tape>,
}

/// What we keep behind the ordinary VFS's own part of an open file.
struct Extra {
    /// The ordinary table with three functions replaced. Everything else (locks, shared memory) goes straight through.
    ours: ffi::sqlite3_io_methods,
    real: *const ffi::sqlite3_io_methods,
    tape: *const Tape,
    /// Leaked, like the VFS: a test opens few files.
    name: &'static Arc<str>,
    /// The ordinary VFS syncs the folder when it first syncs a log or a rollback journal that it may have created.
    syncs_folder: Cell<bool>,
}

/// Where our part of an open file begins.
unsafe fn extra_at(real: *mut ffi::sqlite3_vfs) -> usize {
    // SAFETY: the default VFS, which lives as long as the process.
    unsafe { ((*real).szOsFile as usize).next_multiple_of(align_of::<Extra>()) }
}

unsafe fn extra_of<'a>(file: *mut ffi::sqlite3_file) -> &'a Extra {
    // SAFETY: called only for files that `open` below has set up; the default VFS never changes its `szOsFile`.
    unsafe { &*file.byte_add(extra_at(ffi::sqlite3_vfs_find(std::ptr::null()))).cast::<Extra>() }
}

unsafe fn name_of(path: *const c_char) -> Arc<str> {
    // SAFETY: SQLite hands over a path that ends with a zero.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
    path.rsplit('/').next().unwrap_or_default().into()
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    path: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls us with our own VFS and with room for `szOsFile` bytes at `file`.
    unsafe {
        let ours = &*vfs.cast::<Vfs>();
        let code = (*ours.real).xOpen.expect("xOpen")(ours.real, path, file, flags, out);
        if code == ffi::SQLITE_OK && !path.is_null() {
            let real = (*file).pMethods;
            let methods = ffi::sqlite3_io_methods {
                xWrite: Some(write),
                xTruncate: Some(truncate),
                xSync: Some(sync),
                ..std::ptr::read(real)
            };
            let extra = file.byte_add(extra_at(ours.real)).cast::<Extra>();
            let name = Box::leak(Box::new(name_of(path)));
            let logs = ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL;
            let syncs_folder = Cell::new(flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & logs != 0);
            extra.write(Extra { ours: methods, real, tape: Arc::as_ptr(&ours.tape), name, syncs_folder });
            (*file).pMethods = &raw const (*extra).ours;
        }
        code
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, path: *const c_char, sync_folder: c_int) -> c_int {
    // SAFETY: as in `open`.
    unsafe {
        let ours = &*vfs.cast::<Vfs>();
        let code = (*ours.real).xDelete.expect("xDelete")(ours.real, path, sync_folder);
        if code == ffi::SQLITE_OK {
            ours.tape.note(&name_of(path), What::Delete { synced: sync_folder != 0 });
        }
        code
    }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, bytes: *const c_void, len: c_int, offset: i64) -> c_int {
    // SAFETY: as in `extra_of`; SQLite hands over `len` bytes.
    unsafe {
        let extra = extra_of(file);
        let code = (*extra.real).xWrite.expect("xWrite")(file, bytes, len, offset);
        if code == ffi::SQLITE_OK {
            let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), len as usize).to_vec();
            (*extra.tape).note(extra.name, What::Write { offset: offset as usize, bytes });
        }
        code
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, len: i64) -> c_int {
    // SAFETY: as in `extra_of`.
    unsafe {
        let extra = extra_of(file);
        let code = (*extra.real).xTruncate.expect("xTruncate")(file, len);
        if code == ffi::SQLITE_OK {
            (*extra.tape).note(extra.name, What::Truncate(len as usize));
        }
        code
    }
}

/// Notes the sync without waiting for a real disk: the disk of these tests is the tape.
unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: as in `extra_of`.
    unsafe {
        let extra = extra_of(file);
        (*extra.tape).note(extra.name, What::Sync);
        if extra.syncs_folder.take() {
            (*extra.tape).note(extra.name, What::SyncFolder);
        }
    }
    ffi::SQLITE_OK
}
