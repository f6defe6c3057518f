//! Writes metrics in the text format of Prometheus, version 0.0.4.

use std::fmt::Write as _;

use super::histogram::{DurationHistogram, LIMITS};

/// What the values of a metric mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows while the process lives.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// Metrics as text. Each metric is begun once, with all its samples after it.
#[derive(Debug, Default)]
pub struct MetricsText {
    text: String,
    name: String,
}

impl MetricsText {
    /// The type of the text, for `Content-Type`.
    pub const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a metric.
    pub fn begin(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
        };
        self.head(name, kind, help);
    }

    /// Adds a sample of the metric that was begun last.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        let name = std::mem::take(&mut self.name);
        self.line(&name, labels, value);
        self.name = name;
    }

    /// A metric with one sample.
    pub fn single(&mut self, name: &str, kind: MetricKind, help: &str, value: f64) {
        self.begin(name, kind, help);
        self.sample(&[], value);
    }

    pub(super) fn begin_histogram(&mut self, name: &str, help: &str) {
        self.head(name, "histogram", help);
    }

    pub(super) fn histogram(&mut self, labels: &[(&str, &str)], durations: &DurationHistogram) {
        let name = self.name.clone();
        let counts = durations.cumulative();
        let limits = LIMITS.iter().map(|limit| (*limit as f64 / 1e3).to_string()).chain(["+Inf".to_owned()]);
        for (limit, count) in limits.zip(counts) {
            let labels: Vec<_> = labels.iter().copied().chain([("le", limit.as_str())]).collect();
            self.line(&format!("{name}_bucket"), &labels, count as f64);
        }
        self.line(&format!("{name}_sum"), labels, durations.seconds());
        self.line(&format!("{name}_count"), labels, counts[LIMITS.len()] as f64);
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.text
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {}\n# TYPE {name} {kind}", escaped(help, false));
        name.clone_into(&mut self.name);
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<_> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value, true))).collect();
            let _ = write!(self.text, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }
}

fn escaped(text: &str, is_label: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if is_label { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_help_are_escaped() {
        let mut text = MetricsText::default();
        text.begin("a_total", MetricKind::Counter, "one\ntwo \\ \"three\"");
        text.sample(&[("tool", "say \"hi\"\n\\")], 1.5);
        text.sample(&[], 3.0);
        assert_eq!(
            text.finish(),
            "# HELP a_total one\\ntwo \\\\ \"three\"\n# TYPE a_total counter\n\
             a_total{tool=\"say \\\"hi\\\"\\n\\\\\"} 1.5\na_total 3\n"
        );
    }
}
