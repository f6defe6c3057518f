//! Where spans are sent, by OpenTelemetry's own environment variables and the table `[telemetry]`.

use std::time::Duration;

use super::otlp::OtlpEncoding;
use super::run_spans::SpanContent;
use crate::settings::TelemetrySettings;

/// Where collectors listen if nothing else is said.
const USUAL: &str = "http://localhost:4318";

/// Where spans are sent, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceTarget {
    pub(crate) url: String,
    /// Headers of every request. They may contain secrets.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) encoding: OtlpEncoding,
    /// What is said about this process.
    pub(crate) resource: Vec<(String, String)>,
    /// How long a request may take.
    pub(crate) timeout: Duration,
    /// How long spans wait for others before they are sent.
    pub(crate) delay: Duration,
    /// Most spans that wait; more are lost.
    pub(crate) queue: usize,
    /// Most spans in one request.
    pub(crate) batch: usize,
    pub(crate) content: SpanContent,
}

impl TraceTarget {
    /// Where spans are sent: `None` if nowhere. `find` looks up an environment variable.
    pub(crate) fn of(
        settings: &TelemetrySettings,
        find: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let is_on = |name: &str| find(name).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        // What is said for traces alone comes first.
        let signal = |name: &str| {
            find(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}")).or_else(|| find(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        let exporter = find("OTEL_TRACES_EXPORTER");
        match exporter.as_deref().map(str::trim) {
            _ if is_on("OTEL_SDK_DISABLED") => return Ok(None),
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(other) => return Err(format!("OTEL_TRACES_EXPORTER is `{other}`; expected otlp or none")),
        }
        let base =
            find("OTEL_EXPORTER_OTLP_ENDPOINT").or_else(|| settings.endpoint()).or(exporter.map(|_| USUAL.into()));
        let below = |base: String| format!("{}/v1/traces", base.trim().trim_end_matches('/'));
        let Some(url) = find("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| base.map(below)) else { return Ok(None) };
        let encoding = match signal("PROTOCOL").as_deref().map(str::trim) {
            None | Some("http/protobuf") => OtlpEncoding::Protobuf,
            Some("http/json") => OtlpEncoding::Json,
            Some(other) => {
                return Err(format!(
                    "OTEL_EXPORTER_OTLP_PROTOCOL is `{other}`; set it to http/protobuf or http/json, with the address of \
                     the collector's HTTP port (usually 4318)"
                ));
            }
        };
        let number = |text: Option<String>, usual: u64| text.and_then(|text| text.trim().parse().ok()).unwrap_or(usual);
        let mut resource = pairs(&find("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        let service = find("OTEL_SERVICE_NAME").unwrap_or_else(|| settings.service().to_owned());
        if find("OTEL_SERVICE_NAME").is_some() || resource.iter().all(|(key, _)| key != "service.name") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".into(), service));
        }
        resource.push(("service.version".into(), env!("CARGO_PKG_VERSION").into()));
        let includes = is_on("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") || settings.content();
        let batch = number(find("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), 512).clamp(1, 10_000) as usize;
        Ok(Some(Self {
            url,
            headers: pairs(&signal("HEADERS").unwrap_or_default()),
            encoding,
            resource,
            timeout: Duration::from_millis(number(signal("TIMEOUT"), 10_000).clamp(100, 60_000)),
            delay: Duration::from_millis(number(find("OTEL_BSP_SCHEDULE_DELAY"), 5_000).clamp(1, 600_000)),
            queue: (number(find("OTEL_BSP_MAX_QUEUE_SIZE"), 2_048).clamp(1, 100_000) as usize).max(batch),
            batch,
            content: if includes { SpanContent::Included } else { SpanContent::Left },
        }))
    }
}

/// Reads `key=value,key=value`, in which values are percent-encoded.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.trim().to_owned(), decoded(value.trim())))
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(variables: &[(&str, &str)]) -> Result<Option<TraceTarget>, String> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        TraceTarget::of(&TelemetrySettings::default(), &find)
    }

    #[test]
    fn nothing_is_sent_unless_somebody_says_where() {
        assert_eq!(target(&[]), Ok(None));
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        assert_eq!(target(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")]), Ok(None));
        assert_eq!(target(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]), Ok(None));
        let url = |variables: &[(&str, &str)]| target(variables).unwrap().unwrap().url;
        assert_eq!(url(&[endpoint]), "http://c:4318/v1/traces");
        assert_eq!(url(&[("OTEL_TRACES_EXPORTER", "otlp")]), "http://localhost:4318/v1/traces");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d/spans");
        assert_eq!(url(&[endpoint, own]), "http://d/spans");
        assert!(target(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err().contains("http/protobuf"));
    }

    #[test]
    fn headers_and_attributes_are_decoded_and_the_service_has_one_name() {
        let found = target(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20abc, x-team = a%2Cb,broken"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=test"),
            ("OTEL_SERVICE_NAME", "mine"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ]);
        let found = found.unwrap().unwrap();
        let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(found.headers, [text("authorization", "Basic abc"), text("x-team", "a,b")]);
        assert_eq!(found.resource[..2], [text("deployment.environment.name", "test"), text("service.name", "mine")]);
        assert_eq!((found.encoding, found.content), (OtlpEncoding::Json, SpanContent::Left));
    }
}
