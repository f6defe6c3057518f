//! The child's side: takes a file from its standard input, and writes the document to its standard output.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use updraft_reader::{Block, Document, ReadError, ReadOptions};

/// The argument that tells a program to act as the child.
pub const ARGUMENT: &str = "__read";

/// What comes before the bytes of the file, as one line of JSON.
#[derive(Serialize, Deserialize)]
struct ReadOrder {
    name: String,
    options: ReadOptions,
    length: usize,
    /// Most bytes of the blocks as JSON.
    output: u64,
}

pub(super) fn order(name: &str, options: &ReadOptions, length: usize, output: u64) -> Vec<u8> {
    let order = ReadOrder { name: name.to_owned(), options: options.clone(), length, output };
    let mut line = serde_json::to_vec(&order).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The entry point of the child. A program calls it if its first argument is [`ARGUMENT`].
pub fn main() -> ! {
    let is_done = serve(&mut io::stdin().lock(), &mut io::stdout().lock()).is_ok();
    std::process::exit(i32::from(!is_done))
}

fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let order: ReadOrder = serde_json::from_str(&line)?;
    // Exactly as much as is needed: a vector that grows has up to twice that.
    let mut bytes = vec![0; order.length];
    input.read_exact(&mut bytes)?;
    let read = updraft_reader::read(&bytes, &order.name, &order.options);
    drop(bytes);
    let fitting = read.map(|document| cut(document, order.output));
    let mut output = io::BufWriter::new(output);
    serde_json::to_writer::<_, Result<Document, ReadError>>(&mut output, &fitting)?;
    output.flush()
}

/// Leaves out the end of a document that would be longer than `most` bytes as JSON.
fn cut(mut document: Document, most: u64) -> Document {
    let mut left = most;
    let fits = |block: &&Block| {
        let size = serde_json::to_vec(block).map_or(0, |json| json.len() as u64 + 1);
        let rest = left.checked_sub(size);
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let count = document.blocks.iter().take_while(fits).count();
    if let Some(first) = document.blocks.get(count) {
        document.warnings.push(format!("cut off at {}: the rest is too long", first.place));
        document.blocks.truncate(count);
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(file: &[u8], name: &str, most: u64) -> Result<Document, ReadError> {
        let mut input = order(name, &ReadOptions::default(), file.len(), most);
        input.extend(file);
        let mut output = Vec::new();
        serve(&mut &input[..], &mut output).unwrap();
        serde_json::from_slice(&output).unwrap()
    }

    #[test]
    fn a_document_and_an_error_come_back_as_they_are() {
        let document = answer(b"a,b\n1,2\n", "x.csv", 1 << 20);
        assert_eq!(document, updraft_reader::read(b"a,b\n1,2\n", "x.csv", &ReadOptions::default()));
        assert_eq!(answer(b"\0\x01", "x", 1 << 20), Err(ReadError::Unknown("it begins with 00 01".to_owned())));
    }

    #[test]
    fn a_document_that_is_too_long_loses_its_end() {
        let document = answer(b"a,b\n1,2\n3,4\n", "x.csv", 150).unwrap();
        assert_eq!(document.to_markdown(), "| a | b |\n| --- | --- |\n| 1 | 2 |\n");
        assert_eq!(document.warnings, ["cut off at line 3: the rest is too long"]);
    }

    #[test]
    fn an_order_that_promises_more_than_comes_is_an_error() {
        let input = order("x", &ReadOptions::default(), 5, 1);
        assert!(serve(&mut &input[..], &mut Vec::new()).is_err());
        assert!(serve(&mut &b"not json\n"[..], &mut Vec::new()).is_err());
    }
}
