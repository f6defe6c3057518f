//! `updraft mcp trust`: lets what a server says about its tools count as the user's own words, after showing it.

use super::meant;
use crate::args::McpTrust;
use crate::fault::{Code, Fault, Outcome};
use crate::places::Places;
use crate::servers::vouched;
use crate::{out, view};

pub(super) async fn vouch(places: &Places, args: &McpTrust) -> Outcome {
    let name = &args.name;
    if args.remove {
        let was = vouched::keep(places, name, None)?;
        let words = if was { "are a stranger's words again" } else { "were not trusted" };
        out::note(&format!("the descriptions by `{name}` {words}"));
        return Ok(Code::Done);
    }
    let (found, settings, workspace) = meant(places, &args.place)?;
    let servers = found.servers(places, &settings, &workspace).await?;
    let server = servers.get(name).map_err(|error| Fault::usage(error.to_string()))?;
    let known = server.check().await;
    servers.close().await;
    let known = known.map_err(|error| Fault::failed(format!("`{name}`: {error}")))?;
    out::line(&format!("`{name}` says this about its tools:"));
    for tool in &known.tools {
        out::line(&out::harmless(&format!("\n  {}\n  {}\n  {}", tool.name, tool.description, tool.input)));
    }
    if !args.yes {
        if !out::can_ask() {
            return Err(Fault::new(Code::NeedsPerson, "nobody is there to say yes")
                .hint(format!("read the descriptions, then `updraft mcp trust {name} --yes`")));
        }
        if !view::confirm("Take these words as your own?") {
            out::note("nothing changed");
            return Ok(Code::Failed);
        }
    }
    vouched::keep(places, name, Some(&known.seal(name)))?;
    out::note(&format!("the descriptions by `{name}` count as yours until they change"));
    Ok(Code::Done)
}
