//! Mail messages: who wrote what to whom, the text, and attachments, which are read as the files they are.

mod encoded;
mod mime;

use mime::MailPart;

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::options::ReadOptions;
use crate::{html, text};

/// What readers of a message are shown of its head.
const SHOWN: [&str; 6] = ["From", "To", "Cc", "Date", "Subject", "Reply-To"];
/// Attachments in messages in attachments go no deeper than this.
const DEEPEST: u32 = 8;

/// Reads a message.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Blocks, ReadError> {
    read_at(bytes, options, 0)
}

fn read_at(bytes: &[u8], options: &ReadOptions, depth: u32) -> Result<Blocks, ReadError> {
    let message = mime::parse(bytes);
    let usual = ["From", "To", "Subject", "Date", "Received", "MIME-Version", "Content-Type"];
    if !usual.iter().any(|name| message.header(name).is_some()) {
        return Err(ReadError::Damaged { kind: DocumentKind::Mail, why: "it has no head of a message".to_owned() });
    }
    let mut blocks = Blocks::new(DocumentKind::Mail, &options.limits);
    for name in SHOWN {
        if let Some(value) = message.header(name) {
            if name == "Subject" {
                blocks.title(&value);
            }
            blocks.push(SourcePlace::part("header"), BlockKind::Metadata, format!("{name}: {value}"));
        }
    }
    let mut body = MailBody { blocks: &mut blocks, options, depth, number: 0 };
    body.add(&message, 0)?;
    Ok(blocks)
}

struct MailBody<'m> {
    blocks: &'m mut Blocks,
    options: &'m ReadOptions,
    depth: u32,
    number: u32,
}

impl MailBody<'_> {
    fn add(&mut self, part: &MailPart<'_>, nesting: u32) -> Result<(), ReadError> {
        if nesting > DEEPEST || self.blocks.is_full() {
            return Ok(());
        }
        let media_type = part.media_type();
        if media_type.starts_with("multipart/") {
            let parts = part.parts();
            if media_type == "multipart/alternative" {
                return match best(&parts) {
                    Some(part) => self.add(part, nesting + 1),
                    None => Ok(()),
                };
            }
            return parts.iter().try_for_each(|part| self.add(part, nesting + 1));
        }
        self.number += 1;
        let content = part.content();
        let name = part.file_name();
        let charset = part.parameter("Content-Type", "charset");
        match (media_type.as_str(), &name) {
            ("text/html", None) => {
                let place = SourcePlace::part(format!("part {}", self.number));
                html::add(self.blocks, &text::decode(&content, charset.as_deref()), &place, &self.options.limits);
            }
            ("text/plain" | "", None) => self.paragraphs(&text::decode(&content, charset.as_deref())),
            _ => {
                let name = name.unwrap_or_else(|| format!("part {}", self.number));
                self.attachment(&content, &name, &media_type);
            }
        }
        Ok(())
    }

    fn paragraphs(&mut self, text: &str) {
        let place = SourcePlace::part(format!("part {}", self.number));
        for paragraph in text.replace("\r\n", "\n").split("\n\n") {
            self.blocks.push(place.clone(), BlockKind::Paragraph, paragraph.trim_matches('\n'));
        }
    }

    fn attachment(&mut self, content: &[u8], name: &str, media_type: &str) {
        let size = content.len();
        self.blocks.push(SourcePlace::part(name), BlockKind::Heading(2), format!("## Attachment: {name}"));
        if media_type.starts_with("image/") || self.depth >= DEEPEST {
            self.blocks.push(SourcePlace::part(name), BlockKind::Metadata, format!("{media_type}, {size} bytes"));
            return;
        }
        let inner = if media_type == "message/rfc822" {
            read_at(content, self.options, self.depth + 1)
        } else {
            let options = ReadOptions { media_type: Some(media_type.to_owned()), ..self.options.clone() };
            match crate::detect::kind_of(content, name, &options) {
                Some(DocumentKind::Mail) => read_at(content, &options, self.depth + 1),
                Some(kind) => crate::read_as(kind, content, name, &options),
                None => Err(ReadError::Unknown(media_type.to_owned())),
            }
        };
        match inner {
            Ok(inner) => self.blocks.extend(inner.finish(), name),
            Err(error) => {
                self.blocks.push(SourcePlace::part(name), BlockKind::Metadata, format!("{media_type}, {size} bytes"));
                self.blocks.warn(format!("{name}: {error}"));
            }
        }
    }
}

/// Of several forms of the same text, the plain one; senders put the best last, but that is for eyes.
fn best<'p, 'b>(parts: &'p [MailPart<'b>]) -> Option<&'p MailPart<'b>> {
    let says_something =
        |part: &&MailPart<'_>| part.media_type() == "text/plain" && !part.content().trim_ascii().is_empty();
    parts.iter().find(says_something).or_else(|| parts.last())
}
