//! Repairs data that is almost JSON before a dialect parses it: an answer that was paid for is not discarded because of
//! half a surrogate pair, or of a number that is not used.

use std::borrow::Cow;

use memchr::memmem;

/// May come before a text, and is not part of it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Numbers that are not valid JSON. The longest comes first, because it contains another.
const NO_NUMBERS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];

/// The text without a byte order mark.
pub(crate) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// The data of one part as valid JSON: unpaired surrogates (`\ud800` alone) become U+FFFD, `NaN` and `Infinity` become
/// `null`. Nearly always there is nothing to repair, which costs two or three searches.
pub(crate) fn legible(data: &[u8]) -> Cow<'_, [u8]> {
    let data = unmarked(data);
    let has_halves = memmem::find(data, b"\\ud").is_some() || memmem::find(data, b"\\uD").is_some();
    if !has_halves && memmem::find(data, b"NaN").is_none() && memmem::find(data, b"Infinity").is_none() {
        return Cow::Borrowed(data);
    }
    let mut mended = Vec::with_capacity(data.len());
    let mut rest = data;
    let mut in_text = false;
    while let [first, after @ ..] = rest {
        let (written, used): (&[u8], usize) = match (in_text, first) {
            (true, b'\\') => escape(rest),
            (false, b'N' | b'I' | b'-') => NO_NUMBERS
                .iter()
                .find(|word| rest.starts_with(word))
                .map_or((&rest[..1], 1), |word| (b"null", word.len())),
            (_, b'"') => {
                in_text = !in_text;
                (b"\"", 1)
            }
            _ => (&rest[..1], 1),
        };
        mended.extend_from_slice(written);
        rest = if used == 1 { after } else { &rest[used..] };
    }
    Cow::Owned(mended)
}

/// The escape at the beginning of a text, as it should be written, and its length in bytes.
fn escape(text: &[u8]) -> (&[u8], usize) {
    match (unit(text), text.get(6..).and_then(unit)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&text[..12], 12),
        (Some(0xd800..=0xdfff), _) => (b"\\ufffd", 6),
        _ => {
            let length = text.len().min(2);
            (&text[..length], length)
        }
    }
}

/// The number in `\u1234`.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        String::from_utf8(legible(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn halves_of_letters_become_a_mark_and_whole_ones_stay() {
        assert_eq!(read(r#"{"a":"\ud83d\ude00 \uD83D\uDE00"}"#), r#"{"a":"\ud83d\ude00 \uD83D\uDE00"}"#);
        assert_eq!(read(r#"{"a":"x\ud800y\udfff"}"#), r#"{"a":"x\ufffdy\ufffd"}"#);
        assert_eq!(read(r#"{"a":"\ud83d\ud83d\ude00"}"#), r#"{"a":"\ufffd\ud83d\ude00"}"#);
        assert_eq!(read(r#""\\ud800 \"\ud800\"""#), r#""\\ud800 \"\ufffd\"""#);
        // Not even a complete escape: left for the parser to report.
        for broken in [r#""\ud8"#, r#""\ud8zz""#, r#"{"a":"\ud"#, r#""\"#] {
            assert_eq!(read(broken), broken);
        }
    }

    #[test]
    fn numbers_that_are_none_become_null_outside_of_texts() {
        assert_eq!(
            read(r#"{"a":NaN,"b":[-Infinity,Infinity,-1],"c":"NaN \"Infinity","NaN":1}"#),
            r#"{"a":null,"b":[null,null,-1],"c":"NaN \"Infinity","NaN":1}"#
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_it() {
        assert_eq!(read("\u{feff}{\"a\":\"\u{feff}\"}"), "{\"a\":\"\u{feff}\"}");
    }
}
