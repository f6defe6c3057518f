//! One invocation: what Restate sends to a handler, and the commands that the handler answers with.
//!
//! Handlers here never wait for anything that Restate does, so a request holds all there is to know, and one answer ends
//! the invocation. If the answer was stored only in part, the request comes again with that part: `replayed`.

use std::collections::BTreeMap;

use crate::wire::{FieldReader, FieldValue, MessageWriter, WireFault, frames, put_frame};

const START: u16 = 0x0000;
const ERROR: u16 = 0x0002;
const END: u16 = 0x0003;
const INPUT: u16 = 0x0400;
const OUTPUT: u16 = 0x0401;
const SET_STATE: u16 = 0x0403;
const ONE_WAY_CALL: u16 = 0x040E;
/// Commands have types from here on.
const FIRST_COMMAND: u16 = 0x0400;
/// Notifications have types from here on.
const FIRST_NOTIFICATION: u16 = 0x8000;

/// What Restate sends to a handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// Its id, which no other has.
    pub(crate) id: Vec<u8>,
    /// The key of the object; empty for a service.
    pub(crate) key: String,
    /// The object's state.
    pub(crate) state: BTreeMap<String, Vec<u8>>,
    /// The body of the request.
    pub(crate) input: Vec<u8>,
    /// The body of each command that was stored before: what was set, or the body of a call.
    pub(crate) replayed: Vec<Vec<u8>>,
}

impl Invocation {
    /// Reads a request.
    pub(crate) fn read(stream: &[u8]) -> Result<Self, WireFault> {
        let mut invocation = Self::default();
        let mut has_begun = false;
        for (kind, message) in frames(stream)? {
            match kind {
                START => {
                    invocation.start(message)?;
                    has_begun = true;
                }
                INPUT => invocation.input = content(message, 14)?.to_vec(),
                SET_STATE => invocation.replayed.push(content(message, 3)?.to_vec()),
                ONE_WAY_CALL => invocation.replayed.push(FieldReader(message).bytes_of(3)?.to_vec()),
                other if (FIRST_COMMAND..FIRST_NOTIFICATION).contains(&other) => invocation.replayed.push(Vec::new()),
                _ => {}
            }
        }
        if has_begun { Ok(invocation) } else { Err(WireFault("it has no beginning")) }
    }

    fn start(&mut self, message: &[u8]) -> Result<(), WireFault> {
        for field in FieldReader(message) {
            match field? {
                (1, FieldValue::Bytes(id)) => self.id = id.to_vec(),
                (4, FieldValue::Bytes(entry)) => {
                    let key = text(FieldReader(entry).bytes_of(1)?)?;
                    self.state.insert(key, FieldReader(entry).bytes_of(2)?.to_vec());
                }
                (6, FieldValue::Bytes(key)) => self.key = text(key)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The content of a value, which is a message with one field.
fn content(message: &[u8], field: u64) -> Result<&[u8], WireFault> {
    FieldReader(FieldReader(message).bytes_of(field)?).bytes_of(1)
}

fn text(bytes: &[u8]) -> Result<String, WireFault> {
    String::from_utf8(bytes.to_vec()).map_err(|_| WireFault("a key is not text"))
}

/// One thing that a handler does. All of them take place, or none and the invocation is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Changes the object's state.
    Set { key: &'static str, value: Vec<u8> },
    /// Calls another handler without waiting for it.
    Send { service: String, key: String, handler: &'static str, body: Vec<u8> },
    /// The result.
    Output(Vec<u8>),
    /// Refuses the request for good, with a status of HTTP.
    Refuse { status: u16, why: String },
}

/// The answer to an invocation, without the commands that were stored before.
pub(crate) fn answer(commands: &[Command], stored: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, command) in commands.iter().enumerate().skip(stored) {
        match command {
            Command::Set { key, value } => {
                let value = MessageWriter::default().bytes(1, value).0;
                put_frame(&mut out, SET_STATE, &MessageWriter::default().bytes(1, key.as_bytes()).bytes(3, &value).0);
            }
            Command::Send { service, key, handler, body } => {
                let call = MessageWriter::default().bytes(1, service.as_bytes()).bytes(2, handler.as_bytes());
                let call = call.bytes(3, body).bytes(6, key.as_bytes());
                // Restate tells the id of the call under this number, which must be unique; nobody here asks for it.
                put_frame(&mut out, ONE_WAY_CALL, &call.number(10, at as u64 + 1).0);
            }
            Command::Output(value) => {
                let value = MessageWriter::default().bytes(1, value).0;
                put_frame(&mut out, OUTPUT, &MessageWriter::default().bytes(14, &value).0);
            }
            Command::Refuse { status, why } => {
                let failure = MessageWriter::default().number(1, u64::from(*status)).bytes(2, why.as_bytes()).0;
                put_frame(&mut out, OUTPUT, &MessageWriter::default().bytes(15, &failure).0);
            }
        }
    }
    put_frame(&mut out, END, &[]);
    out
}

/// Says that the handler could not do its work now. Restate tries again.
pub(crate) fn failure(why: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_frame(&mut out, ERROR, &MessageWriter::default().number(1, 500).bytes(2, why.as_bytes()).0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(commands: &[Command]) -> Vec<u8> {
        let entry = MessageWriter::default().bytes(1, b"head").bytes(2, b"7").0;
        let start = MessageWriter::default().bytes(1, b"id").number(3, 1).bytes(4, &entry).bytes(6, b"run-1").0;
        let value = MessageWriter::default().bytes(1, b"{}").0;
        let mut stream = Vec::new();
        put_frame(&mut stream, START, &start);
        put_frame(&mut stream, INPUT, &MessageWriter::default().bytes(14, &value).0);
        // Restate sends back what was stored, and what it told about the calls.
        let stored = answer(commands, 0);
        for (kind, message) in frames(&stored).unwrap().into_iter().filter(|(kind, _)| *kind != END) {
            put_frame(&mut stream, kind, message);
            if kind == ONE_WAY_CALL {
                put_frame(&mut stream, 0x800E, &MessageWriter::default().number(1, 1).0);
            }
        }
        stream
    }

    #[test]
    fn a_request_that_comes_again_holds_what_was_stored() {
        let send = Command::Send { service: "Log".into(), key: "k".into(), handler: "put", body: b"entry".to_vec() };
        let set = Command::Set { key: "head", value: b"8".to_vec() };
        let first = Invocation::read(&request(&[])).unwrap();
        let state = BTreeMap::from([("head".to_owned(), b"7".to_vec())]);
        let expected =
            Invocation { id: b"id".to_vec(), key: "run-1".into(), state, input: b"{}".to_vec(), replayed: Vec::new() };
        assert_eq!(first, expected);
        let again = Invocation::read(&request(&[send.clone(), set.clone()])).unwrap();
        assert_eq!(again.replayed, [b"entry".to_vec(), b"8".to_vec()]);
        let all = [send, set, Command::Output(b"done".to_vec())];
        let kinds = |stored| -> Vec<u16> {
            let out = answer(&all, stored);
            frames(&out).unwrap().into_iter().map(|(kind, _)| kind).collect()
        };
        assert_eq!(kinds(0), [ONE_WAY_CALL, SET_STATE, OUTPUT, END]);
        assert_eq!(kinds(again.replayed.len()), [OUTPUT, END], "what is stored is not said again");
    }

    #[test]
    fn noise_is_refused() {
        assert!(Invocation::read(b"GET / HTTP/1.1").is_err());
        assert!(Invocation::read(&[]).is_err());
    }
}
