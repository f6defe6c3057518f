//! What messages contain: text, and pictures as `data:` addresses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use updraft_run::EarlierMessage;

use super::failure::OpenAiFailure;

/// A conversation as a request contains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SentConversation {
    /// What the program wants to hold besides: system and developer messages.
    pub(super) instructions: Vec<String>,
    /// All other messages, oldest first.
    pub(super) messages: Vec<EarlierMessage>,
    /// Pictures of all messages: names and bytes.
    pub(super) pictures: Vec<(String, Vec<u8>)>,
}

impl SentConversation {
    /// Adds a message of a role; `param` is its place in the request.
    pub(super) fn add(&mut self, role: &str, content: &Value, param: &str) -> Result<(), OpenAiFailure> {
        let text = self.text_of(content, param)?;
        match role {
            "system" | "developer" => self.instructions.push(text),
            "user" | "assistant" | "tool" | "function" => {
                self.messages.push(EarlierMessage { role: role.to_owned(), content: text });
            }
            other => {
                return Err(OpenAiFailure::invalid(
                    &format!("{param}.role"),
                    format!("`{other}` is not a role; expected `system`, `developer`, `user`, `assistant` or `tool`"),
                ));
            }
        }
        Ok(())
    }

    fn text_of(&mut self, content: &Value, param: &str) -> Result<String, OpenAiFailure> {
        match content {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            Value::Array(parts) => {
                let mut text = Vec::new();
                for (n, part) in parts.iter().enumerate() {
                    let param = format!("{param}.content[{n}]");
                    if let Some(piece) = self.part(part, &param)? {
                        text.push(piece);
                    }
                }
                Ok(text.join("\n"))
            }
            _ => Err(OpenAiFailure::invalid(
                &format!("{param}.content"),
                "the content must be a string or a list of parts",
            )),
        }
    }

    /// The text of a part; a picture has none.
    fn part(&mut self, part: &Value, param: &str) -> Result<Option<String>, OpenAiFailure> {
        let said = |key: &str| {
            let text = part[key].as_str().map(str::to_owned);
            text.map(Some).ok_or_else(|| OpenAiFailure::invalid(&format!("{param}.{key}"), "text is missing"))
        };
        let address = match part["type"].as_str().unwrap_or_default() {
            "text" | "input_text" | "output_text" => return said("text"),
            "refusal" => return said("refusal"),
            "image_url" => part["image_url"]["url"].as_str(),
            "input_image" => part["image_url"].as_str(),
            other => {
                return Err(OpenAiFailure::unsupported(
                    &format!("{param}.type"),
                    format!("a part `{other}` is not taken; parts are text and images. Put files into the workspace"),
                ));
            }
        };
        let number = self.pictures.len() + 1;
        let picture = address.and_then(picture).ok_or_else(|| {
            OpenAiFailure::invalid(
                &format!("{param}.image_url"),
                "an image must be sent itself, as `data:image/png;base64,…`: the server fetches nothing for a client",
            )
        })?;
        self.pictures.push((format!("image-{number}.{}", picture.0), picture.1));
        Ok(None)
    }

    /// The last message, which is what is asked now, and those before it.
    pub(super) fn split(mut self, param: &str) -> Result<(EarlierMessage, Self), OpenAiFailure> {
        match self.messages.pop() {
            Some(last) if last.is_users() && !last.content.trim().is_empty() => Ok((last, self)),
            Some(last) if last.is_users() => Err(OpenAiFailure::invalid(param, "the last message says nothing")),
            Some(_) => Err(OpenAiFailure::invalid(param, "the last message must be from the user: it is what is done")),
            None => Err(OpenAiFailure::invalid(param, "there is no message of the user: say what you want done")),
        }
    }
}

/// The ending and the bytes of a picture in a `data:` address.
fn picture(address: &str) -> Option<(String, Vec<u8>)> {
    let (head, data) = address.strip_prefix("data:")?.split_once(',')?;
    let kind = head.strip_suffix(";base64")?.split(';').next()?.strip_prefix("image/")?;
    let ending: String = kind.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    Some((ending, STANDARD.decode(data.trim()).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_a_text_or_parts_with_text_and_images() {
        let mut sent = SentConversation::default();
        sent.add("system", &json!("Be brief."), "messages[0]").unwrap();
        let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAEC" } });
        let parts = json!([{ "type": "text", "text": "What" }, image, { "type": "text", "text": "is it?" }]);
        sent.add("user", &parts, "messages[1]").unwrap();
        assert_eq!(sent.instructions, ["Be brief."]);
        assert_eq!(sent.pictures, [("image-1.png".to_owned(), vec![0, 1, 2])]);
        let (last, rest) = sent.split("messages").unwrap();
        assert_eq!((last.content.as_str(), rest.messages.len()), ("What\nis it?", 0));
        let wrong = [
            json!([{ "type": "image_url", "image_url": { "url": "https://a.example/x.png" } }]),
            json!([{ "type": "input_file", "file_id": "x" }]),
            json!([{ "type": "text" }]),
            json!(5),
        ];
        for content in wrong {
            let failure = SentConversation::default().add("user", &content, "messages[0]").unwrap_err();
            assert!(failure.param.unwrap().starts_with("messages[0].content"), "{content}");
        }
        assert!(SentConversation::default().add("robot", &json!("x"), "messages[0]").is_err());
    }
}
