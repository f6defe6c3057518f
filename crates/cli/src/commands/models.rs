//! `updraft models`: ways to name a model, and which can be used here.

use std::fmt::Write as _;

use serde_json::json;
use updraft_models::{Access, known};

use crate::args::Plain;
use crate::fault::{Code, Outcome};
use crate::out::{self, Paint};
use crate::places::Places;
use crate::settings::{Settings, Written};
use crate::wire;

pub(crate) fn run(places: &Places, args: &Plain) -> Outcome {
    let workspace = wire::workspace(None).unwrap_or_default();
    let settings = Settings::load(places, &workspace, Written::default())?;
    let access = wire::access(&settings, &workspace);
    let paint = Paint::for_stdout();
    let all = known();
    let width = all.iter().map(|known| known.spec.len()).max().unwrap_or_default();
    let mut text = String::new();
    for known in &all {
        let usable = is_usable(known.spec, &access);
        if args.json {
            let line = json!({ "model": known.spec, "about": known.about, "needs": known.needs, "usable": usable });
            let _ = writeln!(text, "{line}");
            continue;
        }
        let sign = if usable { paint.green("✓") } else { paint.dim("·") };
        let needs = if known.needs.is_empty() || usable {
            String::new()
        } else {
            paint.dim(&format!(" (needs {})", known.needs))
        };
        let _ = writeln!(text, "{sign} {:width$}  {}{needs}", known.spec, known.about);
    }
    out::print(&text);
    Ok(Code::Done)
}

/// Whether what it needs is set. Nothing is sent anywhere.
fn is_usable(spec: &str, access: &Access) -> bool {
    if spec.starts_with("openai/") { access.openai_key.is_some() } else { true }
}
