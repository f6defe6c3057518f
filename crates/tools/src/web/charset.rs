//! Decodes the bytes of a page: by the byte order mark, the server's header, the page's own declaration, or by the
//! bytes themselves.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes at the start of a page that are searched for its declared encoding.
const PROLOGUE: usize = 1024;

/// Decodes the text, with replacement characters for invalid bytes.
pub(super) fn decode(bytes: &[u8], said: Option<&str>) -> String {
    let by_server = said.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = by_server.or_else(|| by_page(bytes)).unwrap_or_else(|| {
        // A page that was cut may end within a character.
        let is_utf8 = std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true);
        if is_utf8 { UTF_8 } else { WINDOWS_1252 }
    });
    // A byte order mark takes precedence over everything else.
    encoding.decode(bytes).0.into_owned()
}

/// `<meta charset=…>`, `<meta … content="…; charset=…">` or `<?xml … encoding="…"?>`.
fn by_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(PROLOGUE)]).to_ascii_lowercase();
    let from = start.find("<meta").and_then(|at| start[at..].find("charset=").map(|more| at + more + 8));
    let from =
        from.or_else(|| start.starts_with("<?xml").then(|| start.find("encoding=").map(|at| at + 9)).flatten())?;
    let label = start[from..].trim_start_matches(['"', '\'', ' ']);
    let label = &label[..label.find(['"', '\'', ' ', ';', '>', '/', '?']).unwrap_or(label.len())];
    // A declaration that could be read as ASCII cannot be in UTF-16.
    Encoding::for_label(label.as_bytes()).map(|found| if found.is_ascii_compatible() { found } else { UTF_8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_wins_over_the_server_and_the_server_over_the_page() {
        assert_eq!(decode(b"\xEF\xBB\xBF\xC3\xA9", Some("shift_jis")), "é");
        assert_eq!(decode(b"<meta charset=utf-8>\xE9", Some("iso-8859-1")), "<meta charset=utf-8>é");
        assert_eq!(decode(b"<meta charset=\"shift_jis\">\x93\xFA", None), "<meta charset=\"shift_jis\">日");
        assert_eq!(decode(b"<?xml version='1.0' encoding='iso-8859-2'?>\xB3", None).chars().last(), Some('ł'));
        assert_eq!(decode(b"caf\xE9s", None), "cafés");
        assert_eq!(decode("café".as_bytes(), Some("no such thing")), "café");
        assert_eq!(decode(b"\xFF\xFEh\0i\0", None), "hi");
    }
}
