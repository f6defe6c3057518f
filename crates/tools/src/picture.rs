//! Recognizes pictures by their first bytes, and limits their size to what providers accept.

/// Most bytes of a picture. Some providers refuse larger ones.
pub const LARGEST_PICTURE: u64 = 5 << 20;

/// The media type of a picture, by its first bytes; `None` for files that models are not shown as pictures.
pub fn mime_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_told_by_their_first_bytes() {
        assert_eq!(mime_of(b"\x89PNG\r\n\x1a\n...."), Some("image/png"));
        assert_eq!(mime_of(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(mime_of(b"GIF89a"), Some("image/gif"));
        assert_eq!(mime_of(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(mime_of(b"RIFF\0\0\0\0WAVEfmt "), None);
        assert_eq!(mime_of(b""), None);
    }
}
