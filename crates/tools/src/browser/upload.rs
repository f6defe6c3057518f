//! `browser_upload`: gives files of the workspace to a page.

use std::io::Read;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_browser::UploadFile;
use updraft_run::{Failure, FailureKind, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::{LinkPolicy, Place};

use super::GROUP;
use super::pool::BrowserPool;
use super::report::{BrowserFault, reply};
use crate::builtin::{parse, spec};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

const NAME: &str = "browser_upload";

pub(super) struct BrowserUpload {
    spec: ToolSpec,
    pool: Arc<BrowserPool>,
    /// Most bytes of one file.
    largest: usize,
}

#[derive(Deserialize)]
struct Args {
    #[serde(rename = "ref")]
    reference: String,
    paths: Vec<String>,
}

impl BrowserUpload {
    pub(super) fn new(pool: Arc<BrowserPool>, largest: usize) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "tab": { "type": "string" },
                "ref": { "type": "string", "description": "The field for files." },
                "paths": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 20, "description": "Files of the workspace." }
            },
            "required": ["tab", "ref", "paths"],
            "additionalProperties": false
        });
        let description = "Put files of the workspace into a field for files. The page can then send them.";
        Self { spec: spec(NAME, description, parameters), pool, largest }
    }

    async fn upload(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, BrowserFault> {
        let open = self.pool.named_tab(&args, cx)?;
        let Args { reference, paths } = parse(&args)?;
        let (place, most) = (cx.place.clone(), self.largest);
        let reading = tokio::task::spawn_blocking(move || {
            paths.iter().map(|path| read(&place, path, most)).collect::<Result<Vec<UploadFile>, Failure>>()
        });
        let broken = |_| Failure::new(FailureKind::Tool, "the files could not be read");
        let files = reading.await.map_err(broken)??;
        let _turn = open.turn.clone().lock_owned().await;
        self.pool.check_host(NAME, &args, &open)?;
        let url = open.tab.url();
        open.tab.upload(&reference, files).await.map_err(|error| BrowserFault::of(&error, &url))?;
        self.pool.page_after(&open, "").await
    }
}

fn read(place: &Place, path: &str, most: usize) -> Result<UploadFile, Failure> {
    let path = place.workspace.locate(path)?;
    let failed = |why: String| Failure::new(FailureKind::Tool, format!("`{path}` {why}"));
    let (file, about) = place.workspace.open_file(&path, LinkPolicy::Inside)?;
    if about.len > most as u64 {
        return Err(failed(format!("has {} bytes; at most {most} are uploaded", about.len)));
    }
    let mut content = Vec::new();
    file.take(most as u64).read_to_end(&mut content).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let name = path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    Ok(UploadFile { name, content })
}

impl Tool for BrowserUpload {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let time = self.pool.options.time;
        ToolTraits { group: GROUP, outside: true, sends: true, time, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let paths = args["paths"].as_array().into_iter().flatten().filter_map(Value::as_str);
        // A path that leads nowhere makes the call fail later, not here.
        let located = paths.filter_map(|path| place.workspace.locate(path).ok());
        let reads = located.flat_map(|path| place.workspace.with_its_target(&path)).collect();
        PreparedCall { reads, ..self.pool.sending(NAME, args) }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.upload(args, cx).await) })
    }
}
