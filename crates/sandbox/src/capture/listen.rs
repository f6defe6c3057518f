//! Forwards the output of a child line by line while it runs.

use std::fmt;
use std::sync::Arc;

/// Most bytes that are forwarded at once; a longer line is split.
const LONGEST: usize = 4 << 10;

/// The function called with each line.
type LineCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// Receives each line that a child prints, as it is printed. It is called by the task that reads the pipes, so it
/// must not block.
#[derive(Clone, Default)]
pub struct LineListener(Option<LineCallback>);

impl LineListener {
    /// Passes every line to `hear`.
    pub fn to(hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hear)))
    }
}

impl LineListener {
    /// Passes on a line of our own.
    pub(crate) fn hear(&self, line: &str) {
        if let Some(hear) = &self.0 {
            hear(line);
        }
    }
}

impl fmt::Debug for LineListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Listener(..)" } else { "Listener(none)" })
    }
}

/// Two listeners are equal only if they are the same: captures with different listeners differ.
impl PartialEq for LineListener {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Eq for LineListener {}

/// Splits one stream into lines.
pub(crate) struct LineSplitter {
    listener: LineListener,
    /// The beginning of a line that is not complete yet.
    begun: Vec<u8>,
}

impl LineSplitter {
    pub(crate) fn new(listener: LineListener) -> Self {
        Self { listener, begun: Vec::new() }
    }

    /// Takes bytes as they arrive, and forwards the lines that they complete. A carriage return ends a line too,
    /// since progress bars use it.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.listener.0.is_none() {
            return;
        }
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") || piece.ends_with(b"\r") || self.begun.len() >= LONGEST {
                self.end();
            }
        }
    }

    /// Forwards a last line without a line ending.
    pub(crate) fn end(&mut self) {
        let line = std::mem::take(&mut self.begun);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        if let Some(hear) = &self.listener.0
            && !text.is_empty()
        {
            hear(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn lines_are_heard_when_they_end_however_the_bytes_come() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ears = Arc::clone(&heard);
        let mut lines = LineSplitter::new(LineListener::to(move |line| ears.lock().unwrap().push(line.to_owned())));
        lines.take(b"one\ntw");
        assert_eq!(*heard.lock().unwrap(), ["one"]);
        lines.take(b"o\r\n10%\r20%\r");
        lines.take("gr\u{fc}n".as_bytes());
        lines.end();
        assert_eq!(*heard.lock().unwrap(), ["one", "two", "10%", "20%", "gr\u{fc}n"]);
    }
}
