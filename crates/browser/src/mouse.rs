//! The mouse: click, hover, scroll and drag.

use std::time::Duration;

use serde_json::{Value, json};

use crate::element::{NEXT_FRAME, Point, Spot};
use crate::error::Error;
use crate::tab::Tab;

/// Moves of a drag between its ends; libraries for dragging want to see some.
const STEPS: u32 = 8;

/// How many frames are waited for an element that changes when the pointer comes.
const HOVER_LOOKS: usize = 10;

/// How an element is clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ClickKind {
    /// Once, with the left button.
    #[default]
    Single,
    /// Twice.
    Double,
    /// With the right button.
    Right,
    /// With the middle button.
    Middle,
}

impl Tab {
    /// Clicks, and waits for what follows: a page that loads, or a dialog.
    pub async fn click(&self, spot: &Spot, kind: ClickKind) -> Result<(), Error> {
        self.act(async {
            let point = self.locate_uncovered(spot).await?;
            let (button, times) = match kind {
                ClickKind::Single => ("left", 1),
                ClickKind::Double => ("left", 2),
                ClickKind::Right => ("right", 1),
                ClickKind::Middle => ("middle", 1),
            };
            self.mouse("mouseMoved", point, "none", 0).await?;
            if let Spot::Element(reference) = spot {
                self.await_hover(reference, point).await;
            }
            for count in 1..=times {
                self.mouse("mousePressed", point, button, count).await?;
                self.mouse("mouseReleased", point, button, count).await?;
            }
            Ok(())
        })
        .await
    }

    /// Moves the mouse somewhere and leaves it there.
    pub async fn hover(&self, spot: &Spot) -> Result<(), Error> {
        self.act(async {
            let point = self.locate(spot).await?;
            self.mouse("mouseMoved", point, "none", 0).await
        })
        .await
    }

    /// Turns the wheel over a spot, or over the middle of the window: `down` and `right` in pixels.
    pub async fn scroll(&self, spot: Option<&Spot>, right: f64, down: f64) -> Result<(), Error> {
        self.act(async {
            let point = match spot {
                Some(spot) => self.locate(spot).await?,
                None => self.middle().await?,
            };
            let wheel = json!({"type": "mouseWheel", "x": point.x, "y": point.y, "deltaX": right, "deltaY": down});
            self.call("Input.dispatchMouseEvent", wheel).await.map(drop)
        })
        .await
    }

    /// Scrolls until the element is in the window.
    pub async fn scroll_to(&self, reference: &str) -> Result<(), Error> {
        self.act(async { self.locate(&Spot::Element(reference.to_owned())).await.map(drop) }).await
    }

    /// Presses the button at one spot, moves through others, and lets go at the last. Both ways that pages do this work:
    /// listeners of the mouse, and `draggable` elements.
    pub async fn drag(&self, from: &Spot, through: &[Spot], to: &Spot) -> Result<(), Error> {
        self.act(async {
            // Scrolls the end into view, then the start, which must be.
            self.locate(to).await?;
            let mut points = vec![self.locate(from).await?];
            for spot in through.iter().chain([to]) {
                points.push(self.where_is(spot).await?);
            }
            self.state.inner().drag = None;
            self.call("Input.setInterceptDrags", json!({"enabled": true})).await?;
            let dragged = self.drag_along(&points).await;
            let freed = self.call("Input.setInterceptDrags", json!({"enabled": false})).await;
            dragged.and(freed.map(drop))
        })
        .await
    }

    async fn drag_along(&self, points: &[Point]) -> Result<(), Error> {
        let (Some(&start), Some(&end)) = (points.first(), points.last()) else { return Ok(()) };
        self.mouse("mouseMoved", start, "none", 0).await?;
        self.mouse("mousePressed", start, "left", 1).await?;
        let steps = if points.len() > 2 { 1 } else { STEPS };
        for pair in points.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            for step in 1..=steps {
                let part = f64::from(step) / f64::from(steps);
                let point = Point { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
                self.mouse("mouseMoved", point, "left", 0).await?;
            }
        }
        // Some listeners only look at the last move but one.
        self.mouse("mouseMoved", end, "left", 0).await?;
        let taken = self.until(Duration::from_millis(100), |tab| tab.state.inner().drag.take()).await;
        if let Ok(data) = taken {
            for kind in ["dragEnter", "dragOver", "drop"] {
                let event = json!({"type": kind, "x": end.x, "y": end.y, "data": data});
                self.call("Input.dispatchDragEvent", event).await?;
            }
        }
        self.mouse("mouseReleased", end, "left", 1).await
    }

    /// Waits until the element is below the pointer again: some change their picture or size when the pointer comes. Whether
    /// it is there in the end is for the click to show.
    async fn await_hover(&self, reference: &str, point: Point) {
        for _ in 0..HOVER_LOOKS {
            let _ = self.ask(NEXT_FRAME).await;
            let is_below = self.element_box(reference).await.is_ok_and(|[left, top, right, bottom]| {
                (left..=right).contains(&point.x) && (top..=bottom).contains(&point.y)
            });
            if is_below {
                return;
            }
        }
    }

    /// Where a spot is now, without scrolling.
    async fn where_is(&self, spot: &Spot) -> Result<Point, Error> {
        Ok(match spot {
            Spot::At(x, y) => Point { x: *x, y: *y },
            Spot::Within(reference, x, y) => {
                let [left, top, ..] = self.element_box(reference).await?;
                Point { x: left + x, y: top + y }
            }
            Spot::Element(reference) => {
                let [left, top, right, bottom] = self.element_box(reference).await?;
                Point { x: f64::midpoint(left, right), y: f64::midpoint(top, bottom) }
            }
        })
    }

    async fn middle(&self) -> Result<Point, Error> {
        let size = self.ask("[innerWidth, innerHeight]").await?;
        let half = |value: &Value| value.as_f64().unwrap_or(0.0) / 2.0;
        Ok(Point { x: half(&size[0]), y: half(&size[1]) })
    }

    async fn mouse(&self, kind: &str, at: Point, button: &str, count: u32) -> Result<(), Error> {
        let is_held = kind == "mousePressed" || (kind == "mouseMoved" && button == "left");
        let buttons = match (is_held, button) {
            (true, "left") => 1,
            (true, "right") => 2,
            (true, "middle") => 4,
            _ => 0,
        };
        let event =
            json!({"type": kind, "x": at.x, "y": at.y, "button": button, "buttons": buttons, "clickCount": count});
        self.call("Input.dispatchMouseEvent", event).await.map(drop)
    }
}
