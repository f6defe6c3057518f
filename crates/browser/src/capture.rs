//! Screenshots.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::element::Spot;
use crate::error::Error;
use crate::tab::Tab;

/// What a screenshot shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenshotArea {
    /// What is in the window.
    Window,
    /// The whole page, up to a limit.
    Page,
    /// One element.
    Element(String),
}

/// A picture of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screenshot {
    /// The picture.
    pub png: Vec<u8>,
    /// Whether the page goes on below the limit.
    pub is_cut: bool,
}

impl Tab {
    /// Takes a picture as PNG.
    pub async fn screenshot(&self, area: &ScreenshotArea) -> Result<Screenshot, Error> {
        let most = f64::from(self.limits().screenshot_height);
        let mut params = json!({"format": "png"});
        let mut is_cut = false;
        match area {
            ScreenshotArea::Window => {}
            ScreenshotArea::Page => {
                let metrics = self.call("Page.getLayoutMetrics", json!({})).await?;
                let size = &metrics["cssContentSize"];
                let (width, height) = (size["width"].as_f64().unwrap_or(1.0), size["height"].as_f64().unwrap_or(1.0));
                is_cut = height > most || width > most;
                let (width, height) = (width.clamp(1.0, most), height.clamp(1.0, most));
                params["clip"] = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
                params["captureBeyondViewport"] = true.into();
            }
            ScreenshotArea::Element(reference) => {
                self.locate(&Spot::Element(reference.clone())).await?;
                let [left, top, right, bottom] = self.element_box(reference).await?;
                let metrics = self.call("Page.getLayoutMetrics", json!({})).await?;
                let scrolled = |key: &str| metrics["cssVisualViewport"][key].as_f64().unwrap_or(0.0);
                let (width, height) = ((right - left).max(1.0), (bottom - top).max(1.0));
                is_cut = width > most || height > most;
                params["clip"] = json!({"x": left + scrolled("pageX"), "y": top + scrolled("pageY"),
                    "width": width.min(most), "height": height.min(most), "scale": 1});
                params["captureBeyondViewport"] = true.into();
            }
        }
        let answer = self.call("Page.captureScreenshot", params).await?;
        let png = STANDARD.decode(answer["data"].as_str().unwrap_or_default());
        let png = png.map_err(|_| Error::Protocol {
            method: "Page.captureScreenshot".to_owned(),
            message: "no picture".to_owned(),
        })?;
        Ok(Screenshot { png, is_cut })
    }
}
