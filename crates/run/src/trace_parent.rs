//! The place of an effect in a distributed trace, as it is passed on to others (W3C Trace Context).

use std::fmt;

/// A trace and the span in it that caused something. Shown as the header `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: [u8; 16],
    /// The span.
    pub span: [u8; 8],
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("00-")?;
        self.trace.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("-")?;
        self.span.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("-01")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_form_that_others_read() {
        let parent = TraceParent { trace: [0x0a; 16], span: [0xf1; 8] };
        assert_eq!(parent.to_string(), "00-0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a-f1f1f1f1f1f1f1f1-01");
    }
}
