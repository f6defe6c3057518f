//! What a prompt contains: text, pictures, and files that the editor names or sends along.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use updraft_run::Origins;

use crate::rpc::RpcFailure;

/// A prompt as a goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PromptContent {
    /// What the user wrote, with the names of files where they were mentioned.
    pub(crate) words: String,
    /// Files that were sent along: their names and texts.
    attached: Vec<(String, String)>,
    /// Pictures: names and bytes.
    pub(crate) pictures: Vec<(String, Vec<u8>)>,
    /// Where attached text came from that is not the user's own.
    pub(crate) origins: Origins,
}

impl PromptContent {
    /// Reads the blocks of a prompt.
    pub(crate) fn read(blocks: &Value, folder: &Path) -> Result<Self, RpcFailure> {
        let mut content = Self::default();
        let blocks = blocks.as_array().ok_or_else(|| RpcFailure::invalid_params("`prompt` is a list of blocks"))?;
        for block in blocks {
            content.add(block, folder)?;
        }
        if content.words.trim().is_empty() {
            return Err(RpcFailure::invalid_params("the prompt says nothing; write what you want done"));
        }
        Ok(content)
    }

    /// The whole text of the goal.
    pub(crate) fn text(&self) -> String {
        let mut text = self.words.clone();
        for (name, attached) in &self.attached {
            let longest = attached.split(|c| c != '`').map(str::len).max().unwrap_or_default();
            let fence = "`".repeat(longest.max(2) + 1);
            text.extend(["\n\nAttached, ", name, ":\n\n", &fence, "\n", attached.trim_end(), "\n", &fence]);
        }
        text
    }

    fn add(&mut self, block: &Value, folder: &Path) -> Result<(), RpcFailure> {
        let said = |key: &str| {
            let missing = || RpcFailure::invalid_params(format!("a block of the prompt has no `{key}`"));
            block[key].as_str().ok_or_else(missing)
        };
        match said("type")? {
            "text" => self.words.push_str(said("text")?),
            "image" => {
                let kind = said("mimeType")?;
                self.picture(kind, said("data")?)?;
            }
            "resource_link" => {
                let name = mention(said("uri")?, folder).0;
                self.words.push_str(&name);
            }
            "resource" => self.resource(&block["resource"], folder)?,
            other => {
                let why = format!("a block of the kind `{other}` is not taken; send text, pictures or files");
                return Err(RpcFailure::invalid_params(why));
            }
        }
        Ok(())
    }

    fn picture(&mut self, kind: &str, data: &str) -> Result<(), RpcFailure> {
        let bytes = STANDARD.decode(data.trim()).map_err(|_| RpcFailure::invalid_params("a picture is not base64"))?;
        let ending = kind.rsplit('/').next().unwrap_or_default();
        let ending: String = ending.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        self.pictures.push((format!("image-{}.{ending}", self.pictures.len() + 1), bytes));
        Ok(())
    }

    /// A file that was sent along.
    fn resource(&mut self, resource: &Value, folder: &Path) -> Result<(), RpcFailure> {
        let uri = resource["uri"].as_str().unwrap_or_default();
        let (name, is_inside) = mention(uri, folder);
        let kind = resource["mimeType"].as_str().unwrap_or_default();
        let text = match (resource["text"].as_str(), resource["blob"].as_str()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(data)) if kind.starts_with("image/") => {
                self.words.push_str(&name);
                return self.picture(kind, data);
            }
            (None, data) => {
                let bytes = data.and_then(|data| STANDARD.decode(data.trim()).ok());
                bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
                    RpcFailure::invalid_params(format!("`{name}` is not text; put it into the folder and name it"))
                })?
            }
        };
        if !is_inside {
            self.origins.merge(&Origins::of(uri));
        }
        self.words.push_str(&name);
        self.attached.push((name, text));
        Ok(())
    }
}

/// How an address is named in a text, and whether it is a file of the folder.
fn mention(uri: &str, folder: &Path) -> (String, bool) {
    let (address, place) = uri.split_once('#').map_or((uri, None), |(address, place)| (address, Some(place)));
    let Some(path) = file(address) else { return (uri.to_owned(), false) };
    let inside = path.strip_prefix(folder).ok().map(Path::to_owned).or_else(|| {
        let real = path.canonicalize().ok()?;
        real.strip_prefix(folder).ok().map(Path::to_owned)
    });
    let name = inside.as_ref().unwrap_or(&path).display().to_string();
    let lines = place.map(|place| format!(" ({place})")).unwrap_or_default();
    (format!("`{name}`{lines}"), inside.is_some())
}

/// The path in a `file:` address.
fn file(address: &str) -> Option<PathBuf> {
    let path = address.strip_prefix("file://")?;
    let path = &path[path.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mentions_stand_where_they_were_written_and_attachments_follow() {
        let blocks = json!([
            { "type": "text", "text": "Compare " },
            { "type": "resource_link", "uri": "file:///w/src/a%20b.rs#L3:9", "name": "a b.rs" },
            { "type": "text", "text": " with " },
            { "type": "resource", "resource": { "uri": "https://a.example/x", "text": "```\ncode\n```" } },
            { "type": "image", "mimeType": "image/png", "data": "AAEC" },
        ]);
        let content = PromptContent::read(&blocks, Path::new("/w")).unwrap();
        assert_eq!(content.words, "Compare `src/a b.rs` (L3:9) with https://a.example/x");
        let attached = "\n\nAttached, https://a.example/x:\n\n````\n```\ncode\n```\n````";
        assert_eq!(content.text(), format!("{}{attached}", content.words));
        assert_eq!(content.origins, Origins::of("https://a.example/x"));
        assert_eq!(content.pictures, [("image-1.png".to_owned(), vec![0, 1, 2])]);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let wrong = [
            json!("text"),
            json!([]),
            json!([{ "type": "text", "text": " " }]),
            json!([{ "type": "text" }]),
            json!([{ "type": "audio", "data": "", "mimeType": "audio/wav" }]),
            json!([{ "type": "text", "text": "x" }, { "type": "image", "mimeType": "image/png", "data": "!" }]),
            json!([{ "type": "resource", "resource": { "uri": "file:///w/x", "blob": "/w==" } }]),
        ];
        for blocks in wrong {
            assert!(PromptContent::read(&blocks, Path::new("/w")).is_err(), "{blocks}");
        }
    }
}
