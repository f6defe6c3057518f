//! Pictures of timelines: waits, attempts, the critical path, the axis.

use updraft_drawing::{SpanKind, Timeline, TimelineRow, TimelineSpan, draw_timeline};

fn span(kind: SpanKind, from: u64, to: u64) -> TimelineSpan {
    TimelineSpan { kind, from, to }
}

fn timeline() -> Timeline {
    Timeline {
        title: "Timeline of 1 step, 20 s".to_owned(),
        from: 1_000,
        to: 21_000,
        rows: vec![TimelineRow {
            id: "T031".to_owned(),
            label: "T031 retriever".to_owned(),
            state: "done".to_owned(),
            link: "/runs/7/steps/T031".to_owned(),
            critical: true,
            spans: vec![
                span(SpanKind::Attempt(2), 11_000, 21_000),
                span(SpanKind::Waiting, 1_000, 3_000),
                span(SpanKind::FailedAttempt(1), 3_000, 11_000),
                span(SpanKind::HeldUp, 3_000, 4_000),
            ],
        }],
        selected: None,
    }
}

#[test]
fn a_row_says_what_its_bars_show() {
    let svg = draw_timeline(&timeline());
    for part in [
        r#"<a class="track state-done critical" href="/runs/7/steps/T031" data-step="T031""#,
        "T031 retriever, done, on the critical path: worked, attempt 2 10 s, waited for its turn 2 s, \
         attempt 1 failed after 8 s, waited for its model 1 s",
        r#"<rect class="span working failed" x="304.6""#,
        r#"<rect class="span held-up" x="304.6""#,
        r#"<text class="time" x="230" y="18">0 s</text>"#,
        r#"<text class="time" x="976" y="18">20 s</text>"#,
    ] {
        assert!(svg.contains(part), "no {part} in\n{svg}");
    }
    assert!(!svg.contains("style="));
}

#[test]
fn bars_are_drawn_in_order_of_time_and_inside_the_picture() {
    let mut timeline = timeline();
    timeline.rows[0].spans.push(span(SpanKind::Asking, 0, u64::MAX));
    timeline.rows[0].spans.push(span(SpanKind::Attempt(3), 500, 400));
    let svg = draw_timeline(&timeline);
    let ends: Vec<(f64, f64)> = svg
        .split("<rect class=\"span ")
        .skip(1)
        .map(|bar| {
            let number =
                |name: &str| bar.split_once(name).unwrap().1.split('"').next().unwrap().parse::<f64>().unwrap();
            (number(" x=\""), number(" width=\""))
        })
        .collect();
    assert_eq!(ends.len(), 6);
    assert!(ends.is_sorted_by(|a, b| a.0 <= b.0), "{ends:?}");
    assert!(ends.iter().all(|(x, width)| *x >= 230.0 && x + width <= 1_000.0), "{ends:?}");
}

#[test]
fn a_run_that_has_just_begun_has_a_timeline() {
    let svg = draw_timeline(&Timeline { from: 5, to: 5, ..timeline() });
    assert!(svg.contains(">0 s</text>"));
}
