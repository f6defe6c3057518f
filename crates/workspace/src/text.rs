//! The encodings and line endings of text files, which are kept when a file is edited.

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a byte order mark.
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Marked,
    /// UTF-16, little-endian.
    Utf16Little,
    /// UTF-16, big-endian.
    Utf16Big,
}

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";
const LITTLE_MARK: &[u8] = b"\xFF\xFE";
const BIG_MARK: &[u8] = b"\xFE\xFF";

impl Encoding {
    /// The encoding that the first bytes of a file indicate. Without a byte order mark, UTF-8 is assumed.
    pub fn of(start: &[u8]) -> Self {
        if start.starts_with(UTF8_MARK) {
            Self::Utf8Marked
        } else if start.starts_with(LITTLE_MARK) {
            Self::Utf16Little
        } else if start.starts_with(BIG_MARK) {
            Self::Utf16Big
        } else {
            Self::Utf8
        }
    }

    /// The byte order mark.
    pub fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"",
            Self::Utf8Marked => UTF8_MARK,
            Self::Utf16Little => LITTLE_MARK,
            Self::Utf16Big => BIG_MARK,
        }
    }

    /// Encodes a text, with the byte order mark.
    pub fn encode(self, text: &str) -> Vec<u8> {
        let mut bytes = self.mark().to_vec();
        self.encode_into(&mut bytes, text);
        bytes
    }

    /// Encodes a line to append after the given end of a file, with the file's line ending. If the last line has no
    /// line ending, it gets one.
    pub fn line_behind(self, end: &[u8], line: &str) -> Vec<u8> {
        let units: Vec<u16> = match self {
            Self::Utf8 | Self::Utf8Marked => end.iter().map(|byte| u16::from(*byte)).collect(),
            Self::Utf16Little => end.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect(),
            Self::Utf16Big => end.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect(),
        };
        let last_end = units.iter().rposition(|unit| *unit == u16::from(b'\n'));
        let before = last_end.and_then(|at| units.get(at.checked_sub(1)?));
        let ending = if before == Some(&u16::from(b'\r')) { "\r\n" } else { "\n" };
        let is_whole = end.len() <= self.mark().len() || last_end.is_some_and(|at| at + 1 == units.len());
        let mut bytes = Vec::new();
        if !is_whole {
            self.encode_into(&mut bytes, ending);
        }
        self.encode_into(&mut bytes, line);
        self.encode_into(&mut bytes, ending);
        bytes
    }

    fn encode_into(self, bytes: &mut Vec<u8>, text: &str) {
        match self {
            Self::Utf8 | Self::Utf8Marked => bytes.extend_from_slice(text.as_bytes()),
            Self::Utf16Little => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Self::Utf16Big => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        }
    }
}

/// Encodes a new text with the encoding and line endings of the text that it replaces, and describes what was kept.
/// If the new text has its own line endings or byte order mark, it keeps them.
pub fn with_style_of(old: &[u8], new: &str) -> (Vec<u8>, Option<String>) {
    let Some((text, encoding)) = decode(old) else {
        let was_text = !old.contains(&0);
        return (new.as_bytes().to_vec(), was_text.then(|| "now UTF-8, which it was not before".to_owned()));
    };
    let ends_differently = LineEndings::of(&text) == LineEndings::CrLf && !new.contains('\r') && new.contains('\n');
    let marked = encoding != Encoding::Utf8 && !new.starts_with('\u{feff}');
    let new = if ends_differently { LineEndings::CrLf.apply(new) } else { new.to_owned() };
    let bytes = if marked { encoding.encode(&new) } else { new.into_bytes() };
    let encoding = match encoding {
        Encoding::Utf8Marked => "byte order mark",
        Encoding::Utf16Little | Encoding::Utf16Big => "encoding (UTF-16)",
        Encoding::Utf8 => "",
    };
    let kept = [encoding, "line endings (CRLF)"];
    let kept: Vec<&str> =
        kept.into_iter().zip([marked, ends_differently]).filter(|kept| kept.1).map(|kept| kept.0).collect();
    (bytes, (!kept.is_empty()).then(|| format!("with its {} kept", kept.join(" and "))))
}

/// Decodes a file, without the byte order mark; `None` if it is not text.
pub fn decode(bytes: &[u8]) -> Option<(String, Encoding)> {
    let encoding = Encoding::of(bytes);
    let body = &bytes[encoding.mark().len()..];
    let text = match encoding {
        Encoding::Utf8 | Encoding::Utf8Marked => std::str::from_utf8(body).ok()?.to_owned(),
        Encoding::Utf16Little => from_utf16(body, u16::from_le_bytes)?,
        Encoding::Utf16Big => from_utf16(body, u16::from_be_bytes)?,
    };
    (!text.contains('\0')).then_some((text, encoding))
}

/// Why a line cannot be added to a file without corrupting it; `None` if it can.
pub fn why_not_added(bytes: &[u8], line: &str) -> Option<&'static str> {
    const NOT_TEXT: &str = "is not text: expected UTF-8, or UTF-16 with a byte order mark";
    if decode(bytes).is_some() {
        return None;
    }
    // A text in an older encoding has bytes that are not UTF-8, but no control characters.
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0b | 0x0c | 0x1b);
    let is_older = Encoding::of(bytes) == Encoding::Utf8 && !bytes.iter().any(is_control);
    match (is_older, line.is_ascii()) {
        (false, _) => Some(NOT_TEXT),
        (true, true) => None,
        (true, false) => Some("is not UTF-8, and the line contains non-ASCII characters; write the line in ASCII"),
    }
}

/// The same, given only the beginning and the end of a file, which may cut a character in two.
pub fn why_not_added_between(start: &[u8], end: &[u8], line: &str) -> Option<&'static str> {
    let is_wide = matches!(Encoding::of(start), Encoding::Utf16Little | Encoding::Utf16Big);
    if is_wide {
        return None;
    }
    let is_rest = |byte: &u8| byte & 0xC0 == 0x80;
    let cut = end.iter().take(3).take_while(|byte| is_rest(byte)).count();
    let whole = match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => start.len(),
    };
    why_not_added(&start[..whole], line).or_else(|| why_not_added(&end[cut..], line))
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<String, _>>().ok()
}

/// The line endings of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEndings {
    /// All lines end with `\n`, or there is only one line.
    Lf,
    /// All lines end with `\r\n`.
    CrLf,
    /// Some lines end one way, some the other.
    Mixed,
}

impl LineEndings {
    /// Detects the line endings of a text.
    pub fn of(text: &str) -> Self {
        let crlf = text.matches("\r\n").count();
        let all = text.matches('\n').count();
        if crlf == 0 {
            Self::Lf
        } else if crlf == all {
            Self::CrLf
        } else {
            Self::Mixed
        }
    }

    /// The text with all lines ending this way; unchanged if the endings are mixed.
    pub fn apply(self, text: &str) -> String {
        match self {
            Self::Lf => text.replace("\r\n", "\n"),
            Self::CrLf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Mixed => text.to_owned(),
        }
    }
}
