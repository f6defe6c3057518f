//! The server name in the first message of TLS.

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;

/// Whether this begins a TLS message whose end has not come yet.
pub(super) fn is_unfinished(bytes: &[u8]) -> bool {
    match bytes {
        [HANDSHAKE, 3, _, high, low, rest @ ..] => rest.len() < usize::from(u16::from_be_bytes([*high, *low])),
        [HANDSHAKE] | [HANDSHAKE, 3] | [HANDSHAKE, 3, _] | [HANDSHAKE, 3, _, _] => true,
        _ => false,
    }
}

/// The host that a client asks for, if this is the first message of TLS and names one.
pub(super) fn server_name(bytes: &[u8]) -> Option<String> {
    let mut record = Reader(bytes);
    if record.number(1)? != u64::from(HANDSHAKE) {
        return None;
    }
    record.take(2)?;
    let mut message = Reader(record.block(2).unwrap_or(record.0));
    if message.number(1)? != u64::from(CLIENT_HELLO) {
        return None;
    }
    let mut hello = Reader(message.block(3).unwrap_or(message.0));
    hello.take(2 + 32)?;
    hello.block(1)?;
    hello.block(2)?;
    hello.block(1)?;
    let mut extensions = Reader(hello.block(2)?);
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let content = extensions.block(2)?;
        if kind == u64::from(SERVER_NAME) {
            let mut list = Reader(Reader(content).block(2)?);
            list.take(1)?;
            return String::from_utf8(list.block(2)?.to_vec()).ok();
        }
    }
    None
}

/// Takes a message apart from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// A length in so many bytes, then that many bytes.
    fn block(&mut self, length: usize) -> Option<&'a [u8]> {
        let mut ahead = Reader(self.0);
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
    fn a_cut_or_other_message_has_no_name_and_does_no_harm() {
        let whole = hello("example.com");
        for end in 0..whole.len() {
            assert_eq!(server_name(&whole[..end]), None, "{end}");
        }
        assert!(is_unfinished(&whole[..20]) && !is_unfinished(b"GET / HTTP/1.1"));
        assert_eq!(server_name(b"GET / HTTP/1.1\r\n"), None);
    }
}
