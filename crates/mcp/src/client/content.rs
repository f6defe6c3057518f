//! Converts the result of a call into what an agent sees: text, data and pictures, marked as untrusted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use updraft_run::{PictureRef, ToolOutput};
use updraft_tools::{CallContext, LARGEST_PICTURE, mime_of};

use super::repair::UNKNOWN;
use crate::error::cut;

/// Maximum number of pictures of one result: each costs as much as a page of text.
const PICTURES: usize = 8;

/// The result of a call to a tool of `server`.
pub(super) fn output(result: CallToolResult, server: &str, hosts: Vec<String>, cx: &CallContext) -> ToolOutput {
    let mut out = ToolOutput {
        is_error: result.is_error.unwrap_or(false),
        untrusted: true,
        origins: vec![format!("MCP server {server}")],
        hosts,
        ..ToolOutput::default()
    };
    let mut texts = Vec::new();
    for block in result.content {
        texts.push(shown(block, &mut out, server, cx));
    }
    out.text = texts.join("\n");
    if let Some(data) = result.structured_content {
        if out.text.trim().is_empty() {
            out.text = serde_json::to_string_pretty(&data).unwrap_or_default();
        }
        out.value = Some(data);
    }
    if out.text.is_empty() && out.pictures.is_empty() {
        "(the tool returned nothing)".clone_into(&mut out.text);
    }
    out
}

fn shown(block: ContentBlock, out: &mut ToolOutput, server: &str, cx: &CallContext) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => picture(&image.data, &image.mime_type, out, server, cx),
        ContentBlock::Audio(audio) => {
            format!(
                "[sound of type {}, {} bytes; sound is not supported]",
                cut(&audio.mime_type, 60),
                decoded(&audio.data)
            )
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{}]\n{text}", cut(&uri, 500)),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.unwrap_or_default();
                if kind.starts_with("image/") {
                    return picture(&blob, &kind, out, server, cx);
                }
                format!("[{} of type {}, {} bytes]", cut(&uri, 500), cut(&kind, 60), decoded(&blob))
            }
            _ => "[a resource of an unknown form]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            let about = link.description.map(|about| format!(": {}", cut(&about, 300))).unwrap_or_default();
            format!("[{} at {}{about}]", cut(&link.name, 200), cut(&link.uri, 500))
        }
        _ => UNKNOWN.to_owned(),
    }
}

/// Keeps a picture if it is one and not too large; otherwise returns a text that describes it.
fn picture(data: &str, claimed: &str, out: &mut ToolOutput, server: &str, cx: &CallContext) -> String {
    let left_out = |why: &str| format!("[picture of type {}, {why}]", cut(claimed, 60));
    if data.len() as u64 / 4 * 3 > LARGEST_PICTURE {
        return left_out("too large to be shown");
    }
    let Ok(bytes) = STANDARD.decode(data.trim()) else { return left_out("damaged") };
    let Some(mime) = mime_of(&bytes) else { return left_out("in a format that models do not accept") };
    if out.pictures.len() >= PICTURES {
        return left_out("left out: there are too many");
    }
    let name = format!("picture {} of {server}", out.pictures.len() + 1);
    out.pictures.push(PictureRef { name: name.clone(), mime: mime.to_owned(), blob: cx.keep(bytes) });
    format!("[{name}]")
}

/// The number of bytes that a base64 text decodes to.
fn decoded(data: &str) -> usize {
    data.trim_end_matches('=').len() * 3 / 4
}
