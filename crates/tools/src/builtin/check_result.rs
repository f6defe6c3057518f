//! `check_result`: looks whether a file exists, hashes it, and checks it or a value against a JSON Schema. The run calls it
//! itself to prove what was required; no agent is offered it.

use std::io::Read;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use updraft_run::{ContentHash, EffectClass, Failure, FailureKind, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_workspace::{LinkPolicy, Place};

use super::{failed, parse, reply, spec};
use crate::limits::ToolLimits;
use crate::schema::Schema;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// The largest file that is checked against a schema.
const LARGEST_DATA: u64 = 64 << 20;

pub(super) struct CheckResult {
    spec: ToolSpec,
    time: Duration,
}

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    value: Option<Value>,
    #[serde(default)]
    schema: Option<String>,
}

impl CheckResult {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "A file that must exist, relative to the workspace." },
                "value": { "description": "A value to check instead of a file." },
                "schema": { "type": "string", "description": "A file with the JSON Schema that the file or value must fit." }
            },
            "additionalProperties": false
        });
        let description = "Check that a file exists, and that it or a value fits a JSON Schema.";
        Self { spec: spec("check_result", description, parameters), time: limits.time }
    }
}

impl Tool for CheckResult {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Pure,
            group: "proof",
            only_by_name: true,
            time: self.time,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, _place: &Place) -> PreparedCall {
        let named = ["path", "schema"].iter().filter_map(|key| args[*key].as_str().map(str::to_owned));
        PreparedCall { class: EffectClass::Pure, reads: named.collect(), ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            if cx.cancel.is_cancelled() {
                return Reply::Cancelled;
            }
            reply(check(&args, &cx.place))
        })
    }
}

fn check(args: &Value, place: &Place) -> Result<ToolOutput, Failure> {
    let Args { path, value, schema } = parse(args)?;
    let schema = schema.as_deref().map(|file| Ok::<_, Failure>((schema_in(place, file)?, file))).transpose()?;
    let Some(path) = path else {
        let Some((schema, file)) = schema else { return failed("there is nothing to check: give a path or a schema") };
        return Ok(match schema.judge(&value.unwrap_or_default()) {
            Ok(()) => output(format!("it fits `{file}`"), json!({ "fits": true }), false),
            Err(mismatch) => output(format!("it does not fit `{file}`: {mismatch}"), json!({ "fits": false }), true),
        });
    };
    let located = place.workspace.locate(&path)?;
    let (mut file, about) = match place.workspace.open_file(&located, LinkPolicy::Inside) {
        Ok(opened) => opened,
        Err(why) => return Ok(output(why.message, json!({ "path": path, "exists": false }), true)),
    };
    let cannot = |error: std::io::Error| Failure::new(FailureKind::Tool, format!("`{path}` cannot be read: {error}"));
    let mut bytes = Vec::new();
    let mut hasher = Sha256::new();
    if schema.is_some() {
        file.by_ref().take(LARGEST_DATA + 1).read_to_end(&mut bytes).map_err(cannot)?;
        if bytes.len() as u64 > LARGEST_DATA {
            return failed(format!("`{path}` is larger than {LARGEST_DATA} bytes, so it was not checked"));
        }
        hasher.update(&bytes);
    } else {
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece).map_err(cannot)? {
                0 => break,
                read => hasher.update(&piece[..read]),
            }
        }
    }
    let hash = ContentHash(hasher.finalize().into()).to_string();
    let mut facts = json!({ "path": path, "sha256": hash, "bytes": about.len });
    let Some((schema, name)) = schema else {
        return Ok(output(format!("`{path}` exists: {} bytes, SHA-256 {hash}", about.len), facts, false));
    };
    let fault = match serde_json::from_slice::<Value>(&bytes) {
        Ok(data) => schema.judge(&data).err().map(|mismatch| mismatch.to_string()),
        Err(error) => Some(format!("it is not JSON: {error}")),
    };
    facts["fits"] = fault.is_none().into();
    Ok(match fault {
        None => output(format!("`{path}` fits `{name}`, SHA-256 {hash}"), facts, false),
        Some(fault) => output(format!("`{path}` does not fit `{name}`: {fault}"), facts, true),
    })
}

/// The schema in a file. A schema that cannot be used is a failure of the check, not of what is checked.
fn schema_in(place: &Place, file: &str) -> Result<Schema, Failure> {
    let unusable =
        |why: String| Failure::new(FailureKind::Validation, format!("the schema `{file}` cannot be used: {why}"));
    let located = place.workspace.locate(file)?;
    let opened = place.workspace.open_file(&located, LinkPolicy::Inside);
    let (opened, _) = opened.map_err(|_| unusable("there is no such file".to_owned()))?;
    let mut bytes = Vec::new();
    opened.take(LARGEST_DATA).read_to_end(&mut bytes).map_err(|error| unusable(error.to_string()))?;
    let source = serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
    let schema = Schema::new(&source).map_err(unusable)?;
    schema.check().map_err(unusable)?;
    Ok(schema)
}

fn output(text: String, value: Value, is_error: bool) -> ToolOutput {
    ToolOutput { text: text + "\n", value: Some(value), is_error, ..ToolOutput::default() }
}
