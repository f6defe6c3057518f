//! Writes messages of protocol buffers: as much of the format as OTLP needs.

/// A message that is being written. Fields are numbered as in its `.proto` file.
#[derive(Clone, Debug, Default)]
pub(super) struct ProtobufMessage(Vec<u8>);

impl ProtobufMessage {
    /// A field with text. Empty texts are written too, since a missing value means something else in a list.
    pub(super) fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.variable(field << 3 | 2);
        self.variable(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn message(&mut self, field: u64, message: &ProtobufMessage) {
        self.bytes(field, &message.0);
    }

    /// A field with a whole number, shorter for small ones.
    pub(super) fn whole(&mut self, field: u64, number: u64) {
        self.variable(field << 3);
        self.variable(number);
    }

    /// A field with eight bytes.
    pub(super) fn fixed(&mut self, field: u64, number: u64) {
        self.variable(field << 3 | 1);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A field with four bytes.
    pub(super) fn fixed_32(&mut self, field: u64, number: u32) {
        self.variable(field << 3 | 5);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    fn variable(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_format_says() {
        let mut inner = ProtobufMessage::default();
        inner.whole(1, 150);
        let mut message = ProtobufMessage::default();
        message.text(2, "testing");
        message.message(3, &inner);
        message.fixed_32(16, 1);
        let expected = [&[0x12, 7][..], b"testing", &[0x1a, 3, 0x08, 0x96, 0x01], &[0x85, 0x01, 1, 0, 0, 0]].concat();
        assert_eq!(message.finish(), expected);
    }
}
