//! The form of messages (RFC 2045): a head of named lines, a body, and parts within parts.

use super::encoded;
use crate::text;

/// No message has more parts.
const MOST_PARTS: usize = 1_000;

/// A message or a part of one.
#[derive(Debug)]
pub(super) struct MailPart<'b> {
    headers: Vec<(String, String)>,
    body: &'b [u8],
}

/// Splits a message into head and body.
pub(super) fn parse(bytes: &[u8]) -> MailPart<'_> {
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        let line = text::decode(line.trim_ascii_end(), None);
        if line.is_empty() {
            rest = after;
            break;
        }
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        } else if !headers.is_empty() {
            // The body of a message without the empty line.
            break;
        }
        rest = after;
    }
    MailPart { headers, body: rest }
}

impl<'b> MailPart<'b> {
    fn raw(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// A line of the head, decoded.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.raw(name).map(encoded::words)
    }

    /// The media type without parameters, in small letters.
    pub(super) fn media_type(&self) -> String {
        let value = self.raw("Content-Type").unwrap_or("text/plain");
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// A parameter of a line of the head; also in its extended form, `name*=utf-8''…`.
    pub(super) fn parameter(&self, header: &str, name: &str) -> Option<String> {
        let value = self.raw(header)?;
        let parameters = split_parameters(value);
        let find = |wanted: &str| parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(wanted));
        if let Some((_, value)) = find(name) {
            return Some(encoded::words(value));
        }
        let (_, value) = find(&format!("{name}*")).or_else(|| find(&format!("{name}*0*")))?;
        let mut pieces = value.splitn(3, '\'');
        let (charset, _, text) = (pieces.next()?, pieces.next(), pieces.next()?);
        Some(text::decode(&encoded::percent(text), Some(charset)))
    }

    /// The name of a part that is meant as a file.
    pub(super) fn file_name(&self) -> Option<String> {
        let name = self.parameter("Content-Disposition", "filename").or_else(|| self.parameter("Content-Type", "name"));
        name.filter(|name| !name.trim().is_empty())
    }

    /// The body, decoded.
    pub(super) fn content(&self) -> Vec<u8> {
        let coding = self.raw("Content-Transfer-Encoding").unwrap_or_default().trim().to_ascii_lowercase();
        match coding.as_str() {
            "base64" => encoded::base64(self.body),
            "quoted-printable" => encoded::quoted_printable(self.body),
            _ => self.body.to_vec(),
        }
    }

    /// The parts of a body that has several.
    pub(super) fn parts(&self) -> Vec<MailPart<'b>> {
        let Some(boundary) = self.parameter("Content-Type", "boundary") else { return Vec::new() };
        let mark = format!("--{boundary}");
        let mut parts = Vec::new();
        let mut begin: Option<usize> = None;
        let mut at = 0;
        for line in self.body.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(mark.as_bytes()) {
                if let Some(begin) = begin {
                    parts.push(parse(&self.body[begin..at]));
                }
                let is_last = line[mark.len()..].starts_with(b"--");
                begin = (!is_last).then_some(at + line.len());
                if is_last || parts.len() >= MOST_PARTS {
                    return parts;
                }
            }
            at += line.len();
        }
        // A message that was cut off.
        if let Some(begin) = begin {
            parts.push(parse(&self.body[begin.min(self.body.len())..]));
        }
        parts
    }
}

/// `; name="value"` pairs; quotes may hold semicolons.
fn split_parameters(value: &str) -> Vec<(String, String)> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut is_quoted = false;
    for character in value.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ';' if !is_quoted => pieces.push(std::mem::take(&mut piece)),
            other => piece.push(other),
        }
    }
    pieces.push(piece);
    let pairs = pieces.iter().skip(1).filter_map(|piece| piece.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}
