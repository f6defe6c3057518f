//! One action on a page, as a model writes it.

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_browser::{ClickKind, Error, Spot, Tab};
use updraft_run::{Failure, FailureKind};

/// What a scroll without any number moves by, in pixels: most of a window.
const SCREEN: f64 = 600.0;

/// The names of actions, as the schema lists them.
const ACTIONS: [&str; 15] = [
    "click",
    "double_click",
    "right_click",
    "hover",
    "fill",
    "type",
    "select",
    "press",
    "scroll",
    "drag",
    "accept",
    "dismiss",
    "back",
    "forward",
    "reload",
];

/// One action and everything it may need.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PageAction {
    pub(super) action: String,
    #[serde(default, rename = "ref")]
    reference: Option<String>,
    #[serde(default)]
    x: Option<f64>,
    #[serde(default)]
    y: Option<f64>,
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    to_x: Option<f64>,
    #[serde(default)]
    to_y: Option<f64>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    submit: bool,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    down: Option<f64>,
    #[serde(default)]
    right: Option<f64>,
}

impl PageAction {
    pub(super) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ACTIONS, "description": "fill replaces what a field holds, type \
                    adds key by key; accept and dismiss answer a dialog." },
                "ref": { "type": "string", "description": "The element, such as e12." },
                "x": { "type": "number", "description": "A point: from the left of the element, or of the window." },
                "y": { "type": "number" },
                "text": { "type": "string", "description": "For fill, type, and accept of a prompt." },
                "submit": { "type": "boolean", "description": "Press Enter after fill or type." },
                "options": { "type": "array", "items": { "type": "string" }, "description": "For select: labels." },
                "keys": { "type": "array", "items": { "type": "string" }, "description": "For press: Enter, Control+a, …" },
                "to": { "type": "string", "description": "For drag: the element to drop on." },
                "to_x": { "type": "number" },
                "to_y": { "type": "number" },
                "down": { "type": "number", "description": "For scroll: pixels; with a ref alone, scrolls to it." },
                "right": { "type": "number" }
            },
            "required": ["action"],
            "additionalProperties": false
        })
    }

    /// Whether it tells the page nothing but where the reader looks.
    pub(super) fn only_looks(action: &str) -> bool {
        matches!(action, "hover" | "scroll" | "back" | "forward")
    }

    /// Carries it out, and waits for what follows.
    pub(super) async fn perform(&self, tab: &Tab) -> Result<(), ActionError> {
        match self.action.as_str() {
            "click" => tab.click(&self.spot()?, ClickKind::Single).await?,
            "double_click" => tab.click(&self.spot()?, ClickKind::Double).await?,
            "right_click" => tab.click(&self.spot()?, ClickKind::Right).await?,
            "hover" => tab.hover(&self.spot()?).await?,
            "fill" => tab.fill(self.element()?, self.words()?, self.submit).await?,
            "type" => match &self.reference {
                Some(reference) => tab.type_into(reference, self.words()?, self.submit).await?,
                None => tab.type_text(self.words()?).await?,
            },
            "select" => {
                let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
                tab.select(self.element()?, &options).await?;
            }
            "press" => {
                let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
                tab.press(&keys).await?;
            }
            "scroll" => self.scroll(tab).await?,
            "drag" => tab.drag(&self.spot()?, &[], &self.end()?).await?,
            "accept" | "dismiss" => tab.answer_dialog(self.action == "accept", self.text.as_deref()).await?,
            "back" => drop(tab.back().await?),
            "forward" => drop(tab.forward().await?),
            "reload" => drop(tab.reload().await?),
            other => return Err(missing(other, "a known action")),
        }
        Ok(())
    }

    async fn scroll(&self, tab: &Tab) -> Result<(), ActionError> {
        match (&self.reference, self.down.is_some() || self.right.is_some()) {
            (Some(reference), false) => tab.scroll_to(reference).await?,
            (_, has_way) => {
                let down = if has_way { self.down.unwrap_or(0.0) } else { SCREEN };
                tab.scroll(self.spot().ok().as_ref(), self.right.unwrap_or(0.0), down).await?;
            }
        }
        Ok(())
    }

    fn element(&self) -> Result<&str, ActionError> {
        self.reference.as_deref().ok_or_else(|| missing(&self.action, "`ref`"))
    }

    fn words(&self) -> Result<&str, ActionError> {
        self.text.as_deref().ok_or_else(|| missing(&self.action, "`text`"))
    }

    fn spot(&self) -> Result<Spot, ActionError> {
        spot(self.reference.as_ref(), self.x, self.y).ok_or_else(|| missing(&self.action, "`ref`, or `x` and `y`"))
    }

    fn end(&self) -> Result<Spot, ActionError> {
        spot(self.to.as_ref(), self.to_x, self.to_y).ok_or_else(|| missing(&self.action, "`to`, or `to_x` and `to_y`"))
    }
}

/// Why an action was not done.
pub(super) enum ActionError {
    Arguments(Failure),
    Browser(Error),
}

impl From<Error> for ActionError {
    fn from(error: Error) -> Self {
        ActionError::Browser(error)
    }
}

fn missing(action: &str, what: &str) -> ActionError {
    ActionError::Arguments(Failure::new(FailureKind::Validation, format!("the action `{action}` lacks {what}")))
}

fn spot(reference: Option<&String>, x: Option<f64>, y: Option<f64>) -> Option<Spot> {
    match (reference, x, y) {
        (Some(reference), Some(x), Some(y)) => Some(Spot::Within(reference.clone(), x, y)),
        (Some(reference), _, _) => Some(Spot::Element(reference.clone())),
        (None, Some(x), Some(y)) => Some(Spot::At(x, y)),
        (None, _, _) => None,
    }
}
