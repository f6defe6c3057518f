//! ZIP archives, read from memory: the list of files, and single files with a limit on what they become.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::DeflateDecoder;
use memchr::memmem;

use crate::document::DocumentKind;
use crate::error::ReadError;
use crate::options::ReadLimits;

const END_OF_LIST: &[u8] = b"PK\x05\x06";
const END_OF_LIST_64: &[u8] = b"PK\x06\x06";
const LIST_ENTRY: &[u8] = b"PK\x01\x02";
const FILE_HEADER: &[u8] = b"PK\x03\x04";
/// The fixed part of the end of the list, and the longest comment after it.
const END_SIZE: usize = 22;
const LONGEST_COMMENT: usize = 65_535;
const MOST_ENTRIES: usize = 200_000;

/// An archive and its list of files.
#[derive(Debug)]
pub(crate) struct Archive<'b> {
    bytes: &'b [u8],
    pub(crate) entries: Vec<ArchiveEntry>,
    by_name: BTreeMap<String, usize>,
    kind: DocumentKind,
    limit: u64,
    /// What may still be unpacked, over all files.
    left: Cell<u64>,
}

/// A file in an archive.
#[derive(Debug)]
pub(crate) struct ArchiveEntry {
    pub(crate) name: String,
    /// Its size when unpacked, as the list says.
    pub(crate) size: u64,
    packed: u64,
    method: u16,
    is_encrypted: bool,
    offset: u64,
}

impl<'b> Archive<'b> {
    /// Reads the list of files.
    pub(crate) fn open(bytes: &'b [u8], kind: DocumentKind, limits: &ReadLimits) -> Result<Self, ReadError> {
        let fault = || ReadError::Damaged { kind, why: "it has no list of its files; is it cut off?".to_owned() };
        let entries = list(bytes).ok_or_else(fault)?;
        let limit = limits.decompressed;
        // Of two files with one name the first counts.
        let by_name = entries.iter().enumerate().rev().map(|(index, entry)| (plain_name(&entry.name), index)).collect();
        Ok(Self { bytes, entries, by_name, kind, limit, left: Cell::new(limit) })
    }

    fn entry(&self, name: &str) -> Option<&ArchiveEntry> {
        self.entries.get(*self.by_name.get(&plain_name(name))?)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// A file's content, or nothing if there is no such file.
    pub(crate) fn file(&self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.entry(name).map(|entry| self.unpack(entry)).transpose()
    }

    fn unpack(&self, entry: &ArchiveEntry) -> Result<Vec<u8>, ReadError> {
        if entry.is_encrypted {
            return Err(ReadError::Encrypted(self.kind));
        }
        let fault = |why: &str| ReadError::Damaged { kind: self.kind, why: format!("`{}` {why}", entry.name) };
        let packed = self.packed(entry).ok_or_else(|| fault("lies outside of the file"))?;
        let allowed = self.left.get();
        let mut content = Vec::new();
        match entry.method {
            0 => content.extend_from_slice(packed),
            8 => {
                // What stands before a fault is still worth reading.
                let read = DeflateDecoder::new(packed).take(allowed + 1).read_to_end(&mut content);
                if read.is_err() && content.is_empty() {
                    return Err(fault("cannot be unpacked"));
                }
            }
            other => return Err(fault(&format!("is packed by method {other}, which is not known here"))),
        }
        let size = content.len() as u64;
        if size > allowed {
            return Err(ReadError::TooLarge { kind: self.kind, limit: self.limit });
        }
        self.left.set(allowed - size);
        Ok(content)
    }

    fn packed(&self, entry: &ArchiveEntry) -> Option<&'b [u8]> {
        let header = self.bytes.get(usize::try_from(entry.offset).ok()?..)?;
        if !header.starts_with(FILE_HEADER) {
            return None;
        }
        let start = 30 + usize::from(short(header, 26)?) + usize::from(short(header, 28)?);
        let rest = header.get(start..)?;
        Some(&rest[..rest.len().min(usize::try_from(entry.packed).ok()?)])
    }
}

/// A name as it is looked up: Office programs do not tell capitals apart, and some write `\`.
fn plain_name(name: &str) -> String {
    name.replace('\\', "/").to_ascii_lowercase()
}

/// Reads the list at the end of the file.
fn list(bytes: &[u8]) -> Option<Vec<ArchiveEntry>> {
    let tail = bytes.len().saturating_sub(END_SIZE + LONGEST_COMMENT);
    let end = tail + memmem::rfind(&bytes[tail..], END_OF_LIST)?;
    let mut at = usize::try_from(long(bytes, end + 16)?).ok()?;
    if at == u32::MAX as usize {
        // The 64-bit form stands right before the old one.
        let end_64 = memmem::rfind(&bytes[..end], END_OF_LIST_64)?;
        at = usize::try_from(quad(bytes, end_64 + 48)?).ok()?;
    }
    let mut entries = Vec::new();
    while entries.len() < MOST_ENTRIES && bytes.get(at..at + 4) == Some(LIST_ENTRY) {
        let (entry, size) = entry_at(&bytes[at..])?;
        entries.push(entry);
        at += size;
    }
    (!entries.is_empty() || short(bytes, end + 10)? == 0).then_some(entries)
}

/// An entry of the list, and how long the entry is.
fn entry_at(bytes: &[u8]) -> Option<(ArchiveEntry, usize)> {
    let name_length = usize::from(short(bytes, 28)?);
    let extra_length = usize::from(short(bytes, 30)?);
    let comment_length = usize::from(short(bytes, 32)?);
    let name = String::from_utf8_lossy(bytes.get(46..46 + name_length)?).into_owned();
    let extra = bytes.get(46 + name_length..46 + name_length + extra_length)?;
    let mut large = large_sizes(extra).into_iter();
    let mut size = |short_form: u32| match short_form {
        u32::MAX => large.next(),
        size => Some(u64::from(size)),
    };
    let entry = ArchiveEntry {
        name,
        size: size(long(bytes, 24)?)?,
        packed: size(long(bytes, 20)?)?,
        offset: size(long(bytes, 42)?)?,
        method: short(bytes, 10)?,
        is_encrypted: short(bytes, 8)? & 1 == 1,
    };
    Some((entry, 46 + name_length + extra_length + comment_length))
}

/// The sizes and the offset that do not fit into 32 bits, in their fixed order.
fn large_sizes(extra: &[u8]) -> Vec<u64> {
    let mut at = 0;
    while let (Some(id), Some(size)) = (short(extra, at), short(extra, at + 2)) {
        let end = (at + 4 + usize::from(size)).min(extra.len());
        if id == 1 {
            return extra[at + 4..end].chunks_exact(8).filter_map(|chunk| quad(chunk, 0)).collect();
        }
        at = end;
    }
    Vec::new()
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn quad(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}
