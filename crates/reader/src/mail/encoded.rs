//! How messages write bytes that are not ASCII: base64, quoted-printable, and encoded words in the head.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::text;

/// Decodes base64 and stops where it is damaged.
pub(super) fn base64(bytes: &[u8]) -> Vec<u8> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&STANDARD, config);
    let clean: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let end = clean.iter().position(|byte| !is_letter(byte)).unwrap_or(clean.len());
    let whole = &clean[..end];
    engine.decode(whole).or_else(|_| engine.decode(&whole[..end / 4 * 4])).unwrap_or_default()
}

/// Decodes `=C3=A9` and lines that end with `=`.
pub(super) fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'=' {
            decoded.push(byte);
        } else if let Some(value) = hex(tail) {
            decoded.push(value);
            rest = &tail[2..];
        } else {
            rest = tail.strip_prefix(b"\r\n").or_else(|| tail.strip_prefix(b"\n")).unwrap_or(tail);
        }
    }
    decoded
}

/// Decodes `%C3%A9`.
pub(super) fn percent(text: &str) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let value = if byte == b'%' { hex(tail) } else { None };
        decoded.push(value.unwrap_or(byte));
        rest = if value.is_some() { &tail[2..] } else { tail };
    }
    decoded
}

fn hex(bytes: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(bytes.get(..2)?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}

/// Decodes `=?utf-8?Q?caf=C3=A9?=` and `=?utf-8?B?…?=`. White space between two such words is not part of the text.
pub(super) fn words(value: &str) -> String {
    let mut decoded = String::new();
    let mut rest = value;
    let mut after_word = false;
    while let Some(at) = rest.find("=?") {
        let before = &rest[..at];
        let Some((text, after)) = word(&rest[at..]) else {
            decoded.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            after_word = false;
            continue;
        };
        if !(after_word && before.trim().is_empty()) {
            decoded.push_str(before);
        }
        decoded.push_str(&text);
        rest = after;
        after_word = true;
    }
    decoded.push_str(rest);
    decoded
}

fn word(text: &str) -> Option<(String, &str)> {
    let mut pieces = text.strip_prefix("=?")?.splitn(3, '?');
    let (charset, coding, rest) = (pieces.next()?, pieces.next()?, pieces.next()?);
    let (content, after) = rest.split_once("?=")?;
    let bytes = match coding {
        "B" | "b" => base64(content.as_bytes()),
        "Q" | "q" => quoted_printable(content.replace('_', " ").as_bytes()),
        _ => return None,
    };
    let charset = charset.split('*').next();
    Some((text::decode(&bytes, charset), after))
}
