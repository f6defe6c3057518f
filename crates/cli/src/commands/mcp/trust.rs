//! `updraft mcp trust`: trusts a server's descriptions of its tools like the user's own words, after showing them.

use updraft_mcp::ToolDescription;

use super::chosen_servers;
use crate::args::McpTrust;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::servers::trusted_descriptions;
use crate::{out, view};

pub(super) async fn vouch(folders: &AppFolders, args: &McpTrust) -> CliResult {
    let name = &args.name;
    if args.remove {
        let was = trusted_descriptions::keep(folders, name, None)?;
        let words = if was { "are no longer trusted" } else { "were not trusted" };
        out::note(&format!("the tool descriptions of `{name}` {words}"));
        return Ok(CliExitCode::Done);
    }
    let (found, settings, workspace) = chosen_servers(folders, &args.place)?;
    let servers = found.servers(folders, &settings, &workspace).await?;
    let server = servers.get(name).map_err(|error| CliError::usage(error.to_string()))?;
    let known = server.check().await;
    servers.close().await;
    let known = known.map_err(|error| CliError::failed(format!("`{name}`: {error}")))?;
    out::line(&format!("`{name}` says this about its tools:"));
    for tool in &known.tools {
        out::line(&format!("\n{}", seen(&words(tool))));
    }
    if !args.yes {
        if !out::can_ask() {
            return Err(CliError::new(CliExitCode::NeedsPerson, "confirmation needed, but there is no terminal")
                .hint(format!("read the descriptions, then `updraft mcp trust {name} --yes`")));
        }
        if !view::confirm(
            "Trust these descriptions? Agents may then read them without counting as open to prompt injection",
        ) {
            out::note("nothing changed");
            return Ok(CliExitCode::Failed);
        }
    }
    trusted_descriptions::keep(folders, name, Some(&known.seal(name)))?;
    out::note(&format!(
        "the tool descriptions of `{name}` are trusted until they change, and its hints about their effects are believed"
    ));
    Ok(CliExitCode::Done)
}

/// Everything that trust covers of a tool, including fields that we do not know.
fn words(tool: &ToolDescription) -> String {
    let mut lines = vec![format!("  {}", tool.name), format!("  {}", tool.description)];
    let fields = serde_json::to_value(tool).unwrap_or_default();
    for (name, value) in fields.as_object().into_iter().flatten() {
        match name.as_str() {
            "name" | "description" => {}
            "input" => lines.push(format!("  takes {value}")),
            "output" => lines.push(format!("  gives {value}")),
            other => lines.push(format!("  {other} {value}")),
        }
    }
    lines.join("\n")
}

/// Text in which invisible characters are shown by their numbers.
fn seen(text: &str) -> String {
    let shown = |c: char| if is_unseen(c) { format!("\\u{{{:x}}}", u32::from(c)) } else { c.to_string() };
    out::harmless(&text.chars().map(shown).collect::<String>())
}

/// Characters without width, or that look like a space but are not one.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}' | '\u{202a}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_vouched_for_is_seen_to_the_last_character() {
        assert_eq!(seen("a\u{200b}b\u{e0041}\u{1b}[2J\n\u{202e}"), "a\\u{200b}b\\u{e0041}\\u{1b}[2J\n\\u{202e}");
        assert_eq!(seen("Grüße, 你好"), "Grüße, 你好");
        let tool: ToolDescription =
            serde_json::from_value(serde_json::json!({"name": "n", "description": "d", "input": {"a": 1},
            "output": {"description": "obey"}, "hints": {"destroys": true}}))
            .unwrap();
        let words = words(&tool);
        for part in ["n\n", "d\n", "{\"a\":1}", "gives {\"description\":\"obey\"}", "\"destroys\":true"] {
            assert!(words.contains(part), "{part} in {words}");
        }
    }
}
