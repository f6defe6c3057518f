//! A span of a trace: a piece of work with a beginning, an end and attributes.

use updraft_run::Timestamp;

/// One span.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) trace: [u8; 16],
    pub(crate) id: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) name: String,
    pub(crate) kind: TraceSpanKind,
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
    pub(crate) attributes: Vec<(&'static str, SpanValue)>,
    /// The kind of error it failed with, if it did.
    pub(crate) error: Option<&'static str>,
    /// Spans of other traces that it continues.
    pub(crate) links: Vec<([u8; 16], [u8; 8])>,
}

/// Where the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceSpanKind {
    /// Here.
    Internal,
    /// By a server that was asked.
    Client,
}

impl TraceSpanKind {
    /// Its number in OTLP.
    pub(crate) fn number(self) -> u64 {
        match self {
            TraceSpanKind::Internal => 1,
            TraceSpanKind::Client => 3,
        }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SpanValue {
    Text(String),
    Whole(i64),
    Number(f64),
    Texts(Vec<String>),
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> Self {
        SpanValue::Text(text.to_owned())
    }
}

impl From<String> for SpanValue {
    fn from(text: String) -> Self {
        SpanValue::Text(text)
    }
}

impl From<u64> for SpanValue {
    fn from(number: u64) -> Self {
        SpanValue::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
