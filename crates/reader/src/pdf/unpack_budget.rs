//! Keeps packed streams from growing beyond all measure: they are measured before they are unpacked.

use std::io::Read;

use flate2::read::ZlibDecoder;
use hayro_font::hayro_syntax::object::Stream;
use memchr::memmem;

use crate::document::DocumentKind;
use crate::error::ReadError;

/// The most that a byte can become by Deflate.
const WORST: u64 = 1032;
/// A stream begins within this many bytes of the name of its type.
const HEAD: usize = 2048;

/// What may still be unpacked.
#[derive(Debug)]
pub(super) struct UnpackBudget {
    limit: u64,
    left: u64,
}

impl UnpackBudget {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, left: limit }
    }

    /// Takes a stream's size off. Small streams cannot grow far, so only their worst case over all is watched.
    pub(super) fn take(&mut self, stream: &Stream<'_>) -> Result<(), ReadError> {
        let packed = stream.raw_data();
        let filters = stream.filters().len() as u32;
        let size = match filters {
            0 => packed.len() as u64,
            1 => grown(&packed, self.left),
            // Packed twice, a stream can grow by the square. No program writes such text.
            _ => (packed.len() as u64)
                .saturating_mul(WORST.saturating_pow(filters.min(3) - 1))
                .min(grown(&packed, self.left).saturating_mul(WORST)),
        };
        self.left = self.left.checked_sub(size).ok_or_else(|| too_large(self.limit))?;
        Ok(())
    }
}

fn too_large(limit: u64) -> ReadError {
    ReadError::TooLarge { kind: DocumentKind::Pdf, limit }
}

/// How large packed bytes become; counting stops after `most`.
fn grown(packed: &[u8], most: u64) -> u64 {
    let worst = (packed.len() as u64).saturating_mul(WORST);
    if worst < most / 64 {
        // Not worth the time of unpacking twice. A typical ratio stands in for the truth.
        return packed.len() as u64 * 8;
    }
    let mut counted = 0;
    let mut decoder = ZlibDecoder::new(packed);
    let mut buffer = vec![0; 64 << 10];
    while counted <= most {
        match decoder.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => counted += read as u64,
        }
    }
    counted.max(packed.len() as u64)
}

/// Measures the streams that hold other objects. They are unpacked while the file is opened.
pub(super) fn check_objects(bytes: &[u8], limit: u64) -> Result<(), ReadError> {
    let mut left = limit;
    for name in [b"/ObjStm".as_slice(), b"/XRef"] {
        let mut rest = bytes;
        while let Some(at) = memmem::find(rest, name) {
            rest = &rest[at + name.len()..];
            let Some(start) = memmem::find(&rest[..rest.len().min(HEAD)], b"stream") else { continue };
            let packed = rest[start + 6..].trim_ascii_start();
            let end = memmem::find(packed, b"endstream").unwrap_or(packed.len());
            left = left.checked_sub(grown(&packed[..end], left)).ok_or_else(|| too_large(limit))?;
            // Each byte is looked at once, however often the name is repeated.
            rest = &packed[end..];
        }
    }
    Ok(())
}
