//! Text as it stands in files: encodings and line endings, kept when a file is edited.

/// How text is written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8 without a mark.
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Marked,
    /// UTF-16, the low byte first.
    Utf16Little,
    /// UTF-16, the high byte first.
    Utf16Big,
}

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";
const LITTLE_MARK: &[u8] = b"\xFF\xFE";
const BIG_MARK: &[u8] = b"\xFE\xFF";

impl Encoding {
    /// What the first bytes of a file say. Without a mark, UTF-8 is assumed.
    pub(crate) fn of(start: &[u8]) -> Self {
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
    pub(crate) fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"",
            Self::Utf8Marked => UTF8_MARK,
            Self::Utf16Little => LITTLE_MARK,
            Self::Utf16Big => BIG_MARK,
        }
    }

    /// The bytes of a text, with the mark.
    pub(crate) fn encode(self, text: &str) -> Vec<u8> {
        let mut bytes = self.mark().to_vec();
        match self {
            Self::Utf8 | Self::Utf8Marked => bytes.extend_from_slice(text.as_bytes()),
            Self::Utf16Little => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Self::Utf16Big => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        }
        bytes
    }
}

/// The text of a file without its mark; `None` if it is not text.
pub(crate) fn decode(bytes: &[u8]) -> Option<(String, Encoding)> {
    let encoding = Encoding::of(bytes);
    let body = &bytes[encoding.mark().len()..];
    let text = match encoding {
        Encoding::Utf8 | Encoding::Utf8Marked => std::str::from_utf8(body).ok()?.to_owned(),
        Encoding::Utf16Little => from_utf16(body, u16::from_le_bytes)?,
        Encoding::Utf16Big => from_utf16(body, u16::from_be_bytes)?,
    };
    (!text.contains('\0')).then_some((text, encoding))
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<String, _>>().ok()
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endings {
    /// All with `\n`, or there is one line only.
    Lf,
    /// All with `\r\n`.
    CrLf,
    /// Some one way, some the other.
    Mixed,
}

impl Endings {
    /// How the lines of a text end.
    pub(crate) fn of(text: &str) -> Self {
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

    /// A text with all its lines ending this way; as it is, if there is no one way.
    pub(crate) fn apply(self, text: &str) -> String {
        match self {
            Self::Lf => text.replace("\r\n", "\n"),
            Self::CrLf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Mixed => text.to_owned(),
        }
    }
}
