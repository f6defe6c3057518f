//! Protocol buffers and frames, as far as invocations use them.

use thiserror::Error;

/// Bytes that do not follow the protocol.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the invocation cannot be read: {0}")]
pub(crate) struct WireFault(pub(crate) &'static str);

/// The value of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValue<'a> {
    /// A number of up to 64 bits.
    Number(u64),
    /// Bytes, a text or a message.
    Bytes(&'a [u8]),
}

/// Reads the fields of one message, in the order they were written.
#[derive(Clone, Debug)]
pub(crate) struct FieldReader<'a>(pub(crate) &'a [u8]);

impl<'a> FieldReader<'a> {
    fn varint(&mut self) -> Result<u64, WireFault> {
        let mut value = 0_u64;
        for place in 0..10 {
            let (byte, rest) = self.0.split_first().ok_or(WireFault("a number is cut off"))?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(7 * place).unwrap_or_default();
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireFault("a number is too long"))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], WireFault> {
        let length = usize::try_from(length).map_err(|_| WireFault("a field is too long"))?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(WireFault("a field is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<(u64, FieldValue<'a>), WireFault> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => FieldValue::Number(self.varint()?),
            1 => FieldValue::Bytes(self.take(8)?),
            2 => {
                let length = self.varint()?;
                FieldValue::Bytes(self.take(length)?)
            }
            5 => FieldValue::Bytes(self.take(4)?),
            _ => return Err(WireFault("a field has an unknown form")),
        };
        Ok((tag >> 3, value))
    }

    /// The bytes of a field; empty if it is absent. If it is there several times, the last one counts.
    pub(crate) fn bytes_of(self, wanted: u64) -> Result<&'a [u8], WireFault> {
        let mut found: &[u8] = &[];
        for field in self {
            if let (number, FieldValue::Bytes(bytes)) = field?
                && number == wanted
            {
                found = bytes;
            }
        }
        Ok(found)
    }
}

impl<'a> Iterator for FieldReader<'a> {
    type Item = Result<(u64, FieldValue<'a>), WireFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Writes the fields of one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageWriter(pub(crate) Vec<u8>);

impl MessageWriter {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number. Zero is the default and is left out.
    #[must_use]
    pub(crate) fn number(mut self, field: u64, value: u64) -> Self {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
        self
    }

    /// Bytes, a text or a message.
    #[must_use]
    pub(crate) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint((field << 3) | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }
}

/// Appends a message with its header: 16 bits of type, 16 bits of flags, 32 bits of length.
pub(crate) fn put_frame(out: &mut Vec<u8>, kind: u16, message: &[u8]) {
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(message);
}

/// Splits a stream into messages with their types.
pub(crate) fn frames(mut stream: &[u8]) -> Result<Vec<(u16, &[u8])>, WireFault> {
    let mut frames = Vec::new();
    while let Some((header, rest)) = stream.split_first_chunk::<8>() {
        let kind = u16::from_be_bytes([header[0], header[1]]);
        let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let (message, rest) = rest.split_at_checked(length as usize).ok_or(WireFault("a message is cut off"))?;
        frames.push((kind, message));
        stream = rest;
    }
    if stream.is_empty() { Ok(frames) } else { Err(WireFault("a header is cut off")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let message = MessageWriter::default().number(3, 300).number(4, 0).bytes(14, b"abc").number(7, u64::MAX).0;
        let fields: Result<Vec<_>, _> = FieldReader(&message).collect();
        let expected =
            vec![(3, FieldValue::Number(300)), (14, FieldValue::Bytes(b"abc")), (7, FieldValue::Number(u64::MAX))];
        assert_eq!(fields, Ok(expected));
        let mut stream = Vec::new();
        put_frame(&mut stream, 0x0403, &message);
        put_frame(&mut stream, 3, &[]);
        assert_eq!(frames(&stream), Ok(vec![(0x0403, message.as_slice()), (3, &[][..])]));
    }

    #[test]
    fn bytes_that_end_early_are_a_fault_at_every_place() {
        let message = MessageWriter::default().bytes(1, b"key").number(2, 1 << 40).0;
        let mut stream = Vec::new();
        put_frame(&mut stream, 0, &message);
        for end in 1..stream.len() {
            assert!(frames(&stream[..end]).is_err(), "{end}");
        }
        for end in [1, 2, 4, message.len() - 1] {
            let read: Result<Vec<_>, _> = FieldReader(&message[..end]).collect();
            assert!(read.is_err(), "{end}");
        }
    }
}
