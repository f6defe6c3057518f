//! Zip archives: wheels, and the release archive for Windows.

use std::io::Write as _;

use flate2::{Compression, Crc};

use super::PackageFile;

/// 1980-01-01, 00:00, as MS-DOS wrote it.
const DATE: u16 = 0x21;
const DEFLATE: u16 = 8;
/// Made on Unix (3) by the format's version 2.0, so that the upper half of the attributes is the mode.
const MADE_BY: u16 = 0x0314;
const REGULAR_FILE: u32 = 0o100_000;

/// The archive of the files, in the order given.
pub(super) fn make(files: &[PackageFile], level: u32) -> Result<Vec<u8>, String> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let place = u32_of(archive.len())?;
        let mut crc = Crc::new();
        crc.update(&file.bytes);
        let packed = deflate(&file.bytes, level)?;
        let mut common = Vec::new();
        for number in [20, 0, DEFLATE, 0, DATE] {
            common.extend(u16::to_le_bytes(number));
        }
        for number in [crc.sum(), u32_of(packed.len())?, u32_of(file.bytes.len())?] {
            common.extend(number.to_le_bytes());
        }
        common.extend(u16_of(file.path.len())?.to_le_bytes());
        common.extend([0; 2]); // no extra field

        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(file.path.as_bytes());
        archive.extend(packed);

        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(&common);
        directory.extend([0; 6]); // no comment, first disk, not known to be text
        directory.extend(((REGULAR_FILE | file.mode()) << 16).to_le_bytes());
        directory.extend(place.to_le_bytes());
        directory.extend(file.path.as_bytes());
    }
    let (count, place) = (u16_of(files.len())?, u32_of(archive.len())?);
    let size = u32_of(directory.len())?;
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(size.to_le_bytes());
    archive.extend(place.to_le_bytes());
    archive.extend([0; 2]); // no comment
    Ok(archive)
}

fn deflate(bytes: &[u8], level: u32) -> Result<Vec<u8>, String> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::new(level));
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map_err(|error| format!("could not compress: {error}"))
}

fn u32_of(number: usize) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| "a zip archive of 4 GB or more is not supported".to_owned())
}

fn u16_of(number: usize) -> Result<u16, String> {
    u16::try_from(number).map_err(|_| "too much for a zip archive".to_owned())
}
