//! An element by its reference: where it is, and functions that run on it.

use serde_json::{Value, json};

use crate::error::Error;
use crate::tab::{Tab, script_value};

/// Where something is done on the page. Coordinates count from the top left of the window, in CSS pixels.
#[derive(Clone, Debug, PartialEq)]
pub enum Spot {
    /// The middle of an element.
    Element(String),
    /// A point of an element, from its top left: for pictures, canvases and sliders.
    Within(String, f64, f64),
    /// A point of the window.
    At(f64, f64),
}

/// A point of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// Resolves when the page has drawn once, or would have had the time to.
pub(crate) const NEXT_FRAME: &str =
    "new Promise(done => { requestAnimationFrame(done); setTimeout(done, 100) }).then(() => 0)";
/// How often the position of a moving element is read before the last one is used.
const LOOKS: usize = 5;
/// JavaScript: `null` if a click that hits `other` reaches this element, because one contains the other or `other` is its
/// label; otherwise a description of `other`, which covers it.
const COVERED_BY: &str = "function(other) {
    const up = node => node.parentNode || node.host || null;
    const holds = (outer, inner) => { for (let at = inner; at; at = up(at)) if (at === outer) return true; return false };
    if (holds(this, other) || holds(other, this)) return null;
    const label = this.labels && [...this.labels].some(label => holds(label, other));
    if (label) return null;
    const name = other.tagName ? other.tagName.toLowerCase() : other.nodeName;
    const text = (other.innerText || other.textContent || '').trim().slice(0, 40);
    return name + (other.id ? '#' + other.id : '') + (text ? ' ' + JSON.stringify(text) : '');
}";

impl Tab {
    /// The browser's number of an element.
    pub(crate) fn node(&self, reference: &str) -> Result<i64, Error> {
        self.state.inner().references.node(reference)
    }

    /// Runs a function with the element as `this`.
    pub(crate) async fn on_element(&self, reference: &str, function: &str, arguments: Value) -> Result<Value, Error> {
        let object = self.object(reference).await?;
        // What was removed from the page can still be resolved for a while.
        let wrapped =
            format!("function(...args) {{ return this.isConnected ? [({function}).apply(this, args)] : null }}");
        let arguments = arguments.as_array().into_iter().flatten().map(|value| json!({"value": value}));
        let params = json!({
            "objectId": object,
            "functionDeclaration": wrapped,
            "arguments": arguments.collect::<Vec<_>>(),
            "returnByValue": true,
            "userGesture": true,
        });
        let mut value = script_value(self.call("Runtime.callFunctionOn", params).await?)?;
        if value.is_null() {
            return Err(stale(reference));
        }
        Ok(value[0].take())
    }

    async fn object(&self, reference: &str) -> Result<Value, Error> {
        let node = self.node(reference)?;
        let params = json!({"backendNodeId": node, "objectGroup": "updraft"});
        let resolved = self.call("DOM.resolveNode", params).await;
        let mut resolved = resolved.map_err(|error| stale_if_refused(reference, error))?;
        Ok(resolved["object"]["objectId"].take())
    }

    /// Scrolls to a spot and says where it is in the window.
    pub(crate) async fn locate(&self, spot: &Spot) -> Result<Point, Error> {
        match spot {
            Spot::At(x, y) => Ok(Point { x: *x, y: *y }),
            Spot::Element(reference) => {
                let [left, top, right, bottom] = self.steady_box(reference).await?;
                Ok(Point { x: f64::midpoint(left, right), y: f64::midpoint(top, bottom) })
            }
            Spot::Within(reference, x, y) => {
                let [left, top, ..] = self.steady_box(reference).await?;
                Ok(Point { x: left + x, y: top + y })
            }
        }
    }

    /// Like [`Self::locate`], for a click: a point where the element is what is hit. The middle, if that is one.
    pub(crate) async fn locate_uncovered(&self, spot: &Spot) -> Result<Point, Error> {
        let Spot::Element(reference) = spot else { return self.locate(spot).await };
        let [left, top, right, bottom] = self.steady_box(reference).await?;
        let mut cover = String::new();
        for (across, down) in [(0.5, 0.5), (0.15, 0.5), (0.85, 0.5), (0.5, 0.15), (0.5, 0.85), (0.1, 0.1), (0.9, 0.9)] {
            let point = Point { x: left + (right - left) * across, y: top + (bottom - top) * down };
            match self.cover_at(reference, point).await? {
                None => return Ok(point),
                Some(other) => cover = if cover.is_empty() { other } else { cover },
            }
        }
        let why = format!("it is covered by {cover}; close or click that first, or click by coordinates");
        Err(Error::NotVisible { reference: reference.clone(), why })
    }

    /// What would be hit at a point instead of the element.
    async fn cover_at(&self, reference: &str, point: Point) -> Result<Option<String>, Error> {
        let at = json!({"x": point.x as i64, "y": point.y as i64, "includeUserAgentShadowDOM": false});
        // Outside of the window, or on nothing: the click shows.
        let Ok(hit) = self.call("DOM.getNodeForLocation", at).await else { return Ok(None) };
        if hit["backendNodeId"].as_i64() == Some(self.node(reference)?) {
            return Ok(None);
        }
        let object = self.object(reference).await?;
        let hit = json!({"backendNodeId": hit["backendNodeId"], "objectGroup": "updraft"});
        let hit = self.call("DOM.resolveNode", hit).await?;
        let params = json!({
            "objectId": object,
            "functionDeclaration": COVERED_BY,
            "arguments": [{"objectId": hit["object"]["objectId"]}],
            "returnByValue": true,
        });
        // Objects of two frames cannot be compared.
        let Ok(answer) = self.call("Runtime.callFunctionOn", params).await else { return Ok(None) };
        Ok(script_value(answer)?.as_str().map(str::to_owned))
    }

    /// The box of an element once it stands still: left, top, right, bottom.
    async fn steady_box(&self, reference: &str) -> Result<[f64; 4], Error> {
        let node = self.node(reference)?;
        let scrolled = self.call("DOM.scrollIntoViewIfNeeded", json!({"backendNodeId": node})).await;
        scrolled.map_err(|error| self.invisible(reference, error))?;
        let mut last = self.element_box(reference).await?;
        for _ in 0..LOOKS {
            self.ask(NEXT_FRAME).await?;
            let now = self.element_box(reference).await?;
            let is_steady = now.iter().zip(&last).all(|(now, last)| (now - last).abs() < 0.5);
            last = now;
            if is_steady {
                break;
            }
        }
        Ok(last)
    }

    /// The box of an element in the window: of the first piece that has a size.
    pub(crate) async fn element_box(&self, reference: &str) -> Result<[f64; 4], Error> {
        let node = self.node(reference)?;
        let quads = self.call("DOM.getContentQuads", json!({"backendNodeId": node})).await;
        let quads = quads.map_err(|error| self.invisible(reference, error))?;
        let boxes = quads["quads"].as_array().into_iter().flatten().filter_map(quad_box);
        let mut with_size = boxes.filter(|[left, top, right, bottom]| right - left >= 1.0 && bottom - top >= 1.0);
        if let Some(found) = with_size.next() {
            return Ok(found);
        }
        // Lines of SVG may have no height at all.
        let first = quads["quads"].get(0).and_then(quad_box);
        first.ok_or_else(|| self.invisible(reference, Error::TabGone))
    }

    fn invisible(&self, reference: &str, error: Error) -> Error {
        match error {
            Error::Protocol { message, .. } if message.contains("node") && message.contains("find") => stale(reference),
            Error::Protocol { .. } | Error::TabGone if self.ready().is_ok() => Error::NotVisible {
                reference: reference.to_owned(),
                why: "it has no visible box; it may be hidden, or gone: read the page again".to_owned(),
            },
            other => other,
        }
    }
}

fn quad_box(quad: &Value) -> Option<[f64; 4]> {
    let numbers: Vec<f64> = quad.as_array()?.iter().filter_map(Value::as_f64).collect();
    if numbers.len() != 8 {
        return None;
    }
    let (across, down) = (numbers.iter().copied().step_by(2), numbers.iter().copied().skip(1).step_by(2));
    let low = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(f64::INFINITY, f64::min);
    let high = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(f64::NEG_INFINITY, f64::max);
    Some([low(&mut across.clone()), low(&mut down.clone()), high(&mut across.clone()), high(&mut down.clone())])
}

pub(crate) fn stale(reference: &str) -> Error {
    Error::StaleReference { reference: reference.to_owned() }
}

fn stale_if_refused(reference: &str, error: Error) -> Error {
    if matches!(error, Error::Protocol { .. }) { stale(reference) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_quad_has_its_outer_box() {
        assert_eq!(quad_box(&json!([5, 0, 10, 5, 5, 10, 0, 5])), Some([0.0, 0.0, 10.0, 10.0]));
        assert_eq!(quad_box(&json!([1, 2])), None);
    }
}
