//! Ar archives, of which a Debian package is one.

use super::TIME;

/// The archive of the members, in the order given.
pub(super) fn make(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header = format!("{name:<16}{TIME:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len());
        archive.extend(header.into_bytes());
        archive.extend(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_sixty_bytes_and_members_begin_at_even_places() {
        let archive = make(&[("a", b"odd".to_vec()), ("b", Vec::new())]);
        assert_eq!(archive.len(), 8 + 60 + 4 + 60);
        assert_eq!(&archive[72..74], b"b ");
    }
}
