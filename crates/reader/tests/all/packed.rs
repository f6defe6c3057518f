//! Writes archives for tests: stored, or packed to the utmost.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// An archive of these files.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let files: Vec<(String, Vec<u8>, u32)> =
        files.iter().map(|(name, bytes)| ((*name).to_owned(), deflated(bytes), bytes.len() as u32)).collect();
    archive(&files)
}

/// An archive of these files, and one more file of `size` zeros that begins with `start`.
pub(crate) fn bomb(files: &[(&str, &[u8])], name: &str, start: &[u8], size: usize) -> Vec<u8> {
    let mut entries: Vec<(String, Vec<u8>, u32)> =
        files.iter().map(|(name, bytes)| ((*name).to_owned(), deflated(bytes), bytes.len() as u32)).collect();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let block = vec![b' '; 1 << 20];
    let written = encoder.write_all(start).and_then(|()| (0..size >> 20).try_for_each(|_| encoder.write_all(&block)));
    let packed = written.and_then(|()| encoder.finish()).unwrap_or_default();
    // The list lies about the size, as bombs do.
    entries.push((name.to_owned(), packed, 100));
    archive(&entries)
}

pub(crate) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn archive(files: &[(String, Vec<u8>, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut list = Vec::new();
    for (name, packed, size) in files {
        let offset = bytes.len() as u32;
        let common = |target: &mut Vec<u8>| {
            target.extend([20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            target.extend((packed.len() as u32).to_le_bytes());
            target.extend(size.to_le_bytes());
            target.extend((name.len() as u16).to_le_bytes());
            target.extend([0, 0]);
        };
        bytes.extend(b"PK\x03\x04");
        common(&mut bytes);
        bytes.extend(name.as_bytes());
        bytes.extend(packed);
        list.extend(b"PK\x01\x02\x14\x00");
        common(&mut list);
        list.extend([0; 10]);
        list.extend(offset.to_le_bytes());
        list.extend(name.as_bytes());
    }
    let at = bytes.len() as u32;
    bytes.extend(&list);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend((files.len() as u16).to_le_bytes());
    bytes.extend((files.len() as u16).to_le_bytes());
    bytes.extend((list.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}
