//! Reads the server name from the first message of TLS, the ClientHello.

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;

/// Whether this is the beginning of an incomplete ClientHello.
pub(super) fn is_unfinished(bytes: &[u8]) -> bool {
    let (joined, is_cut) = joined(bytes);
    let is_short = match joined.as_slice() {
        [CLIENT_HELLO, high, middle, low, rest @ ..] => {
            rest.len() < u32::from_be_bytes([0, *high, *middle, *low]) as usize
        }
        [] | [CLIENT_HELLO, ..] => bytes.first() == Some(&HANDSHAKE),
        _ => false,
    };
    is_cut || is_short
}

/// The content of the TLS records at the beginning, joined, and whether the last one is incomplete. A client may
/// split a ClientHello over any number of records.
fn joined(bytes: &[u8]) -> (Vec<u8>, bool) {
    let (mut joined, mut rest) = (Vec::new(), bytes);
    loop {
        rest = match rest {
            [HANDSHAKE, 3, _, high, low, carried @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                let Some((whole, rest)) = carried.split_at_checked(length) else { return (joined, true) };
                joined.extend_from_slice(whole);
                rest
            }
            [HANDSHAKE] | [HANDSHAKE, 3] | [HANDSHAKE, 3, _] | [HANDSHAKE, 3, _, _] => return (joined, true),
            _ => return (joined, false),
        }
    }
}

/// The host that a client asks for, if this is a ClientHello with a server name.
pub(super) fn server_name(bytes: &[u8]) -> Option<String> {
    let (joined, _) = joined(bytes);
    let mut message = HelloReader(&joined);
    if message.number(1)? != u64::from(CLIENT_HELLO) {
        return None;
    }
    let mut hello = HelloReader(message.block(3)?);
    hello.take(2 + 32)?;
    hello.block(1)?;
    hello.block(2)?;
    hello.block(1)?;
    let mut extensions = HelloReader(hello.block(2)?);
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let content = extensions.block(2)?;
        if kind == u64::from(SERVER_NAME) {
            let mut list = HelloReader(HelloReader(content).block(2)?);
            list.take(1)?;
            return String::from_utf8(list.block(2)?.to_vec()).ok();
        }
    }
    None
}

/// Parses a message from the front.
struct HelloReader<'a>(&'a [u8]);

impl<'a> HelloReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Reads a length of so many bytes, then that many bytes.
    fn block(&mut self, length: usize) -> Option<&'a [u8]> {
        let mut ahead = HelloReader(self.0);
        let count = usize::try_from(ahead.number(length)?).ok()?;
        let block = ahead.take(count)?;
        self.0 = ahead.0;
        Some(block)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The shortest client hello that names a host.
    pub(in crate::proxy) fn hello(name: &str) -> Vec<u8> {
        let block = |length: usize, content: &[u8]| {
            let mut block = (content.len() as u64).to_be_bytes()[8 - length..].to_vec();
            block.extend(content);
            block
        };
        let entry = [&[0][..], &block(2, name.as_bytes())].concat();
        let extension = [&[0, 0][..], &block(2, &block(2, &entry))].concat();
        let other = [&[0, 23][..], &block(2, &[])].concat();
        let hello = [
            &[3, 3][..],
            &[7; 32],
            &block(1, &[]),
            &block(2, &[0x13, 1]),
            &block(1, &[0]),
            &block(2, &[other, extension].concat()),
        ];
        let message = [&[1][..], &block(3, &hello.concat())].concat();
        [&[22, 3, 1][..], &block(2, &message)].concat()
    }

    #[test]
    fn the_name_is_found() {
        assert_eq!(server_name(&hello("example.com")).as_deref(), Some("example.com"));
        assert!(!is_unfinished(&hello("example.com")));
    }

    #[test]
    fn a_greeting_in_several_records_has_the_same_name() {
        let whole = hello("example.com");
        let carried = &whole[5..];
        for size in [1, 7, 60] {
            let record = |part: &[u8]| [&[22, 3, 1, 0, part.len() as u8][..], part].concat();
            let parts: Vec<u8> = carried.chunks(size).flat_map(record).collect();
            assert_eq!(server_name(&parts).as_deref(), Some("example.com"), "{size}");
            assert!(!is_unfinished(&parts));
            assert!((1..parts.len()).all(|end| is_unfinished(&parts[..end])), "{size}");
        }
    }

    #[test]
    fn a_cut_or_other_message_has_no_name_and_does_no_harm() {
        let whole = hello("example.com");
        for end in 0..whole.len() {
            assert_eq!(server_name(&whole[..end]), None, "{end}");
        }
        assert!(is_unfinished(&whole[..20]) && !is_unfinished(b"GET / HTTP/1.1"));
        assert_eq!(server_name(b"GET / HTTP/1.1\r\n"), None);
    }
}
