//! Texts of chunks as they are stored: deflated where that saves room, which halves the largest table.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use rusqlite::types::{FromSqlError, Value, ValueRef};

/// Levels above gain a few percent for twice the time.
const LEVEL: u32 = 4;

/// Packs texts, one after the other: its tables are large and made once.
pub(crate) struct Packer(Compress);

impl Packer {
    pub(crate) fn new() -> Self {
        Self(Compress::new(Compression::new(LEVEL), false))
    }

    /// A blob if the text could be made smaller, else the text.
    pub(crate) fn pack(&mut self, text: &str) -> Value {
        self.0.reset();
        let mut packed = Vec::with_capacity(text.len());
        // It never grows beyond the capacity, so a text that would not become smaller does not reach its end.
        match self.0.compress_vec(text.as_bytes(), &mut packed, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Value::Blob(packed),
            Ok(Status::Ok | Status::BufError) | Err(_) => Value::Text(text.to_owned()),
        }
    }
}

/// Gives texts back.
pub(crate) struct Unpacker {
    state: Decompress,
    text: Vec<u8>,
}

impl Unpacker {
    pub(crate) fn new() -> Self {
        Self { state: Decompress::new(false), text: Vec::with_capacity(8_192) }
    }

    /// The text of a stored value, until the next call.
    pub(crate) fn unpack<'a>(&'a mut self, value: ValueRef<'a>) -> rusqlite::Result<&'a str> {
        let packed = match value {
            ValueRef::Blob(packed) => packed,
            ValueRef::Text(_) => return Ok(value.as_str()?),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => return Err(FromSqlError::InvalidType.into()),
        };
        self.state.reset(false);
        self.text.clear();
        loop {
            let done = self.state.total_in() as usize;
            let rest = packed.get(done..).unwrap_or_default();
            match self.state.decompress_vec(rest, &mut self.text, FlushDecompress::None) {
                Ok(Status::StreamEnd) => break,
                Ok(Status::Ok | Status::BufError) if self.text.len() == self.text.capacity() => {
                    self.text.reserve(self.text.capacity());
                }
                Ok(Status::Ok | Status::BufError) => return Err(FromSqlError::InvalidType.into()),
                Err(error) => return Err(FromSqlError::Other(Box::new(error)).into()),
            }
        }
        std::str::from_utf8(&self.text).map_err(|error| FromSqlError::Other(Box::new(error)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_size_come_back() {
        let mut packer = Packer::new();
        let mut unpacker = Unpacker::new();
        for text in ["", "x", "no two alike", &"a line of some length\n".repeat(100), &"梅雨 ".repeat(40_000)] {
            let packed = packer.pack(text);
            assert_eq!(unpacker.unpack(ValueRef::from(&packed)).unwrap(), text);
            assert_eq!(matches!(packed, Value::Blob(_)), text.len() > 100, "{}", text.len());
        }
    }

    #[test]
    fn a_damaged_text_is_an_error() {
        let packed = Packer::new().pack(&"a line of some length\n".repeat(100));
        let Value::Blob(mut bytes) = packed else { panic!("{packed:?}") };
        bytes.truncate(bytes.len() / 2);
        assert!(Unpacker::new().unpack(ValueRef::Blob(&bytes)).is_err());
    }
}
