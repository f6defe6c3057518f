//! Decodes text in any encoding: by its byte order mark, by what was declared, or by the bytes themselves.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes at the start of a file that are searched for a declared encoding, and by which text is told from other bytes.
const PROLOGUE: usize = 4096;
/// Bytes by which an encoding is guessed. More makes no difference to the guess, only to the time.
const SAMPLE: usize = 64 << 10;

/// Decodes bytes, with replacement characters for those that are not valid. A byte order mark is believed before
/// `declared`, and that before the file's own declaration.
pub(crate) fn decode(bytes: &[u8], declared: Option<&str>) -> String {
    decode_named(bytes, declared).0
}

/// Decodes bytes, and names the encoding.
pub(crate) fn decode_named(bytes: &[u8], declared: Option<&str>) -> (String, &'static str) {
    let encoding = encoding_of(bytes, declared);
    (encoding.decode(bytes).0.into_owned(), encoding.name())
}

fn encoding_of(bytes: &[u8], declared: Option<&str>) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    let by_label = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    by_label.or_else(|| declared_inside(bytes)).unwrap_or_else(|| guess(bytes))
}

/// `<meta charset=…>` or `<?xml … encoding="…"?>` at the start of a file. A declaration that can be read as ASCII cannot
/// be in UTF-16.
fn declared_inside(bytes: &[u8]) -> Option<&'static Encoding> {
    if !bytes.trim_ascii_start().starts_with(b"<") {
        return None;
    }
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(PROLOGUE)]).to_ascii_lowercase();
    let in_meta = start.find("<meta").and_then(|at| start[at..].find("charset=").map(|more| at + more + 8));
    let in_xml = || start.starts_with("<?xml").then(|| start.find("encoding=").map(|at| at + 9)).flatten();
    let label = start[in_meta.or_else(in_xml)?..].trim_start_matches(['"', '\'', ' ']);
    let label = &label[..label.find(['"', '\'', ' ', ';', '>', '/', '?']).unwrap_or(label.len())];
    let encoding = Encoding::for_label(label.as_bytes())?;
    let is_wrong = encoding == UTF_8 && !is_utf8(bytes);
    (!is_wrong).then_some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    if is_utf8(bytes) {
        return UTF_8;
    }
    if let Some(encoding) = wide(bytes) {
        return encoding;
    }
    if is_damaged_utf8(bytes) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(SAMPLE)], bytes.len() <= SAMPLE);
    detector.guess(None, Utf8Detection::Allow)
}

/// Whether bytes are UTF-8 without NULs. The last character may be cut off if they can be the beginning of a longer file.
fn is_utf8(bytes: &[u8]) -> bool {
    let may_be_cut = bytes.len() >= PROLOGUE;
    let is_valid = std::str::from_utf8(bytes).map_or_else(|error| may_be_cut && error.error_len().is_none(), |_| true);
    is_valid && !bytes[..bytes.len().min(PROLOGUE)].contains(&0)
}

/// Whether bytes are UTF-8 but for a few that are broken: other encodings have no ten right sequences for each wrong one.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut right, mut wrong) = (0_usize, 0_usize);
    for chunk in bytes[..bytes.len().min(SAMPLE)].utf8_chunks() {
        right += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        wrong += usize::from(!chunk.invalid().is_empty());
    }
    right > 0 && right >= 10 * wrong
}

/// UTF-16 without a mark: in most scripts the higher byte of nearly all characters is the same small number.
fn wide(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(PROLOGUE) & !1];
    let zeros = |from: usize| sample.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), sample.len() / 2);
    if pairs < 2 || (even + odd) * 3 < pairs {
        return None;
    }
    if even < odd && even * 20 <= pairs {
        Some(UTF_16LE)
    } else {
        (odd < even && odd * 20 <= pairs).then_some(UTF_16BE)
    }
}

/// Whether bytes are text in some encoding rather than something else.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    if Encoding::for_bom(bytes).is_some() || wide(bytes).is_some() {
        return true;
    }
    let sample = &bytes[..bytes.len().min(PROLOGUE)];
    let controls = sample.iter().filter(|byte| **byte < 32 && !b"\t\n\r\x0c\x08\x1b".contains(byte)).count();
    !sample.contains(&0) && controls * 50 <= sample.len()
}

/// The value of `charset` in a media type.
pub(crate) fn charset_of(media_type: &str) -> Option<&str> {
    let mut parameters = media_type.split(';').skip(1);
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    Some(value.trim().trim_matches(['"', '\'']))
}
