//! Spans as an OTLP request, in either encoding that collectors read over HTTP: protobuf or JSON.

use serde_json::{Value, json};
use updraft_run::Timestamp;

use super::genai::SCHEMA;
use super::protobuf::ProtobufMessage;
use super::span::{Span, SpanValue};

/// The encoding of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OtlpEncoding {
    #[default]
    Protobuf,
    Json,
}

impl OtlpEncoding {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            OtlpEncoding::Protobuf => "application/x-protobuf",
            OtlpEncoding::Json => "application/json",
        }
    }
}

const SCOPE: &str = "updraft";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The trace was sampled, and the parent is known not to be remote.
const FLAGS: u64 = 0x101;
/// The status of a span that failed.
const FAILED: u64 = 2;

/// A request with these spans, which come from this resource.
pub(crate) fn request(resource: &[(String, String)], spans: &[Span], encoding: OtlpEncoding) -> Vec<u8> {
    match encoding {
        OtlpEncoding::Protobuf => in_protobuf(resource, spans),
        OtlpEncoding::Json => in_json(resource, spans).to_string().into_bytes(),
    }
}

fn in_json(resource: &[(String, String)], spans: &[Span]) -> Value {
    let about: Vec<Value> =
        resource.iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } })).collect();
    let scope = json!({ "name": SCOPE, "version": VERSION });
    let spans: Vec<Value> = spans.iter().map(span_in_json).collect();
    json!({ "resourceSpans": [{ "resource": { "attributes": about },
                                "scopeSpans": [{ "scope": scope, "schemaUrl": SCHEMA, "spans": spans }] }] })
}

fn span_in_json(span: &Span) -> Value {
    let value = |value: &SpanValue| match value {
        SpanValue::Text(text) => json!({ "stringValue": text }),
        // Whole numbers of 64 bits are text in the JSON of protobuf.
        SpanValue::Whole(number) => json!({ "intValue": number.to_string() }),
        SpanValue::Number(number) => json!({ "doubleValue": number }),
        SpanValue::Texts(texts) => {
            let values: Vec<Value> = texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
    };
    let attributes: Vec<Value> =
        span.attributes.iter().map(|(key, held)| json!({ "key": key, "value": value(held) })).collect();
    let links: Vec<Value> =
        span.links.iter().map(|(trace, id)| json!({ "traceId": hex(trace), "spanId": hex(id) })).collect();
    let mut written = json!({
        "traceId": hex(&span.trace), "spanId": hex(&span.id), "flags": FLAGS, "name": span.name,
        "kind": span.kind.number(), "startTimeUnixNano": nanos(span.began).to_string(),
        "endTimeUnixNano": nanos(span.ended.max(span.began)).to_string(), "attributes": attributes, "links": links,
    });
    if let Some(parent) = &span.parent {
        written["parentSpanId"] = hex(parent).into();
    }
    if let Some(error) = span.error {
        written["status"] = json!({ "code": FAILED, "message": error });
    }
    written
}

fn in_protobuf(resource: &[(String, String)], spans: &[Span]) -> Vec<u8> {
    let mut about = ProtobufMessage::default();
    for (key, value) in resource {
        about.message(1, &pair(key, &SpanValue::Text(value.clone())));
    }
    let mut scope = ProtobufMessage::default();
    scope.text(1, SCOPE);
    scope.text(2, VERSION);
    let mut scoped = ProtobufMessage::default();
    scoped.message(1, &scope);
    for span in spans {
        scoped.message(2, &span_in_protobuf(span));
    }
    scoped.text(3, SCHEMA);
    let mut of_resource = ProtobufMessage::default();
    of_resource.message(1, &about);
    of_resource.message(2, &scoped);
    let mut request = ProtobufMessage::default();
    request.message(1, &of_resource);
    request.finish()
}

fn span_in_protobuf(span: &Span) -> ProtobufMessage {
    let mut written = ProtobufMessage::default();
    written.bytes(1, &span.trace);
    written.bytes(2, &span.id);
    if let Some(parent) = &span.parent {
        written.bytes(4, parent);
    }
    written.text(5, &span.name);
    written.whole(6, span.kind.number());
    written.fixed(7, nanos(span.began));
    written.fixed(8, nanos(span.ended.max(span.began)));
    for (key, value) in &span.attributes {
        written.message(9, &pair(key, value));
    }
    for (trace, id) in &span.links {
        let mut link = ProtobufMessage::default();
        link.bytes(1, trace);
        link.bytes(2, id);
        written.message(13, &link);
    }
    if let Some(error) = span.error {
        let mut status = ProtobufMessage::default();
        status.text(2, error);
        status.whole(3, FAILED);
        written.message(15, &status);
    }
    written.fixed_32(16, FLAGS as u32);
    written
}

fn pair(key: &str, value: &SpanValue) -> ProtobufMessage {
    let text = |text: &str| {
        let mut held = ProtobufMessage::default();
        held.text(1, text);
        held
    };
    let held = match value {
        SpanValue::Text(held) => text(held),
        SpanValue::Whole(number) => {
            let mut held = ProtobufMessage::default();
            held.whole(3, *number as u64);
            held
        }
        SpanValue::Number(number) => {
            let mut held = ProtobufMessage::default();
            held.fixed(4, number.to_bits());
            held
        }
        SpanValue::Texts(texts) => {
            let mut list = ProtobufMessage::default();
            for held in texts {
                list.message(1, &text(held));
            }
            let mut held = ProtobufMessage::default();
            held.message(5, &list);
            held
        }
    };
    let mut pair = ProtobufMessage::default();
    pair.text(1, key);
    pair.message(2, &held);
    pair
}

fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.0).unwrap_or_default().saturating_mul(1_000_000)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
