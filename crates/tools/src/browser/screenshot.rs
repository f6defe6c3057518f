//! `browser_screenshot`: a picture of a page, shown to the model or saved in the workspace.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_browser::{Screenshot, ScreenshotArea};
use updraft_run::{EffectClass, Failure, FailureKind, PictureRef, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::GROUP;
use super::pool::BrowserPool;
use super::report::{BrowserFault, reply};
use crate::builtin::write_plan::{self, WritePlan};
use crate::builtin::{parse, spec};
use crate::picture::LARGEST_PICTURE;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::truncate;

pub(super) struct BrowserScreenshot {
    spec: ToolSpec,
    pool: Arc<BrowserPool>,
}

#[derive(Deserialize)]
struct Args {
    #[serde(default, rename = "ref")]
    reference: Option<String>,
    #[serde(default)]
    whole: bool,
    #[serde(default)]
    path: Option<String>,
}

impl BrowserScreenshot {
    pub(super) fn new(pool: Arc<BrowserPool>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "tab": { "type": "string" },
                "ref": { "type": "string", "description": "Only this element." },
                "whole": { "type": "boolean", "description": "The whole page, not only what is in the window." },
                "path": { "type": "string", "description": "Save it as this PNG file of the workspace." }
            },
            "required": ["tab"],
            "additionalProperties": false
        });
        let description = "Take a picture of the page in a tab: to look at it, or to save it with `path`.";
        Self { spec: spec("browser_screenshot", description, parameters), pool }
    }

    async fn shoot(&self, args: Value, cx: &CallContext) -> Result<Reply, BrowserFault> {
        let open = self.pool.named_tab(&args, cx)?;
        let Args { reference, whole, path } = parse(&args)?;
        let area = match (reference, whole) {
            (Some(reference), _) => ScreenshotArea::Element(reference),
            (None, true) => ScreenshotArea::Page,
            (None, false) => ScreenshotArea::Window,
        };
        let turn = open.turn.clone().lock_owned().await;
        let url = open.tab.url();
        let Screenshot { png, is_cut } =
            open.tab.screenshot(&area).await.map_err(|error| BrowserFault::of(&error, &url))?;
        drop(turn);
        let cut = if is_cut { "; the page goes on below" } else { "" };
        if let Some(path) = path {
            return Ok(match save(path, png, args, cx, cut).await {
                Reply::Output(output) => {
                    let origins = vec![truncate::line(&url, 200)];
                    let output = ToolOutput { untrusted: true, origins, ..Arc::unwrap_or_clone(output) };
                    Reply::Output(Arc::new(output))
                }
                other => other,
            });
        }
        if png.len() as u64 > LARGEST_PICTURE {
            let why = format!("the picture has {} bytes; models are shown at most {LARGEST_PICTURE}", png.len());
            return Err(Failure::new(FailureKind::Tool, format!("{why}: take one of an element (`ref`)")).into());
        }
        let mut output = self.pool.page(&open, &format!("A picture of the page is shown next{cut}.")).await?;
        let name = format!("{}.png", open.tab.id());
        output.pictures = vec![PictureRef { name, mime: "image/png".to_owned(), blob: cx.keep(png) }];
        Ok(Reply::Output(Arc::new(output)))
    }
}

/// Writes the picture like `write_file`.
async fn save(path: String, png: Vec<u8>, args: Value, cx: &CallContext, cut: &'static str) -> Reply {
    let context = cx.clone();
    let writing = tokio::task::spawn_blocking(move || {
        write_plan::make(&args, &context, |place| {
            let path = place.workspace.locate_for_writing(&path)?;
            let before = place.workspace.existing(&path, png.len())?;
            let text = format!("saved the picture as `{path}`: {} bytes{cut}\n", png.len());
            Ok(WritePlan { path, before, after: png.clone(), text })
        })
    });
    let broken = || Reply::Failed(Failure::new(FailureKind::Tool, "the picture could not be written"));
    writing.await.unwrap_or_else(|_| broken())
}

impl Tool for BrowserScreenshot {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits { group: GROUP, time: self.pool.options.time, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        // Nobody can tell after a crash which picture was written, so one that is saved is not taken again.
        match args["path"].as_str() {
            Some(_) => write_plan::prepare(args, EffectClass::Opaque, place),
            None => PreparedCall { class: EffectClass::Pure, ..PreparedCall::default() },
        }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { self.shoot(args, cx).await.unwrap_or_else(|fault| reply(Err(fault))) })
    }
}
