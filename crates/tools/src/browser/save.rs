//! `browser_save`: puts a downloaded file into the workspace. A write like that of `write_file`.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::GROUP;
use super::pool::{BrowserPool, HeldDownload};
use crate::builtin::write_plan::{self, WritePlan};
use crate::builtin::{parse, spec};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::{read_plain, truncate};

pub(super) struct BrowserSave {
    spec: ToolSpec,
    pool: Arc<BrowserPool>,
    file: usize,
    time: Duration,
}

#[derive(Deserialize)]
struct Args {
    download: String,
}

impl BrowserSave {
    pub(super) fn new(pool: Arc<BrowserPool>, limits: &ToolLimits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "download": { "type": "string", "description": "The download, such as d1." },
                "path": { "type": "string", "description": "Relative to the workspace." }
            },
            "required": ["download", "path"],
            "additionalProperties": false
        });
        let description = "Save a file that a page gave as a download, as a file of the workspace.";
        let (file, time) = (limits.file, limits.time);
        Self { spec: spec("browser_save", description, parameters), pool, file, time }
    }

    fn held(&self, id: &str, run: &str) -> Result<HeldDownload, Failure> {
        let of = self.pool.browser_of(run);
        let downloads = of.downloads.lock().unwrap_or_else(PoisonError::into_inner);
        downloads.iter().find(|held| held.id == id).cloned().ok_or_else(|| {
            let known: Vec<&str> = downloads.iter().map(|held| held.id.as_str()).collect();
            let known = if known.is_empty() { "nothing was downloaded".to_owned() } else { known.join(", ") };
            let why = format!("there is no download `{}` ({known})", truncate::line(id, 40));
            Failure::new(FailureKind::Tool, why)
        })
    }

    fn plan(&self, args: &Value, held: &HeldDownload, place: &Place) -> Result<WritePlan, Failure> {
        let path = place.workspace.locate_for_writing(args["path"].as_str().unwrap_or_default())?;
        let gone = |error: std::io::Error| {
            let why = format!("the download is gone with its browser ({error}); download it again");
            Failure::new(FailureKind::Tool, why)
        };
        let after = read_plain(&held.path, self.file as u64).map_err(gone)?;
        let before = place.workspace.existing(&path, self.file)?;
        let text = format!("saved `{path}`: {} bytes from {}\n", after.len(), truncate::line(&held.url, 200));
        Ok(WritePlan { path, before, after, text })
    }
}

impl Tool for BrowserSave {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits { group: GROUP, time: self.time, blocking: true, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        // After a crash the download is gone with its browser, so the write cannot be made again.
        write_plan::prepare(args, EffectClass::Opaque, place)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let held = parse::<Args>(&args).and_then(|Args { download }| self.held(&download, &cx.around.run));
            let held = match held {
                Ok(held) => held,
                Err(failure) => return Reply::Failed(failure),
            };
            match write_plan::make(&args, cx, |place| self.plan(&args, &held, place)) {
                Reply::Output(output) => {
                    let origins = vec![truncate::line(&held.url, 200)];
                    let output = ToolOutput { untrusted: true, origins, ..Arc::unwrap_or_clone(output) };
                    Reply::Output(Arc::new(output))
                }
                other => other,
            }
        })
    }
}
