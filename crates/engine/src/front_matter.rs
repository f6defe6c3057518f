//! Reads the front matter of a Markdown file: YAML between two lines of `---`, with the line number of every field.
//!
//! Scalars stay text; the code that reads a field knows its type.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};
use serde_json::Value;

/// Values nested deeper are refused: nobody writes them, and they are built by recursion.
const DEEPEST: usize = 32;

/// A Markdown file, split into front matter and body.
pub(crate) struct FrontMatter {
    /// The fields, in the order they were written; no key twice.
    pub(crate) fields: Vec<Field>,
    /// The text after the front matter.
    pub(crate) body: String,
}

/// One `key: value`.
pub(crate) struct Field {
    pub(crate) key: String,
    /// Its line in the file, from 1.
    pub(crate) line: usize,
    pub(crate) value: Node,
}

/// A value.
pub(crate) enum Node {
    Text { text: String, style: ScalarStyle },
    List(Vec<Node>),
    Map(Vec<Field>),
}

/// Why front matter cannot be read, and where.
#[derive(Debug)]
pub(crate) struct Misread {
    /// The line in the file, from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// Splits a Markdown file. Accepts a byte order mark and any kind of line ending.
pub(crate) fn read(text: &str) -> Result<FrontMatter, Misread> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines();
    if lines.next().is_none_or(|first| first.trim_end() != "---") {
        return Err(Misread { line: 1, what: "expected `---` and front matter with `name` and `purpose`".into() });
    }
    let lines: Vec<&str> = lines.collect();
    let Some(closing) = lines.iter().position(|line| line.trim_end() == "---") else {
        let what = "the front matter has no closing `---`".into();
        return Err(Misread { line: lines.len() + 1, what });
    };
    let front = prose_in_quotes(&lines[..closing]);
    // Many tools write prose with colons without quotes, and accept it.
    let fields = fields(&front.join("\n")).or_else(|fault| fields(&with_quotes(&front)).map_err(|_| fault))?;
    Ok(FrontMatter { fields, body: lines[closing + 1..].join("\n").trim().to_owned() })
}

/// Reads a file that is a YAML mapping, as JSON. Aliases are refused.
pub fn read_yaml(text: &str) -> Result<Value, String> {
    let fields = fields(text).map_err(|Misread { line, what }| format!("line {}: {what}", line.saturating_sub(1)))?;
    Ok(Node::Map(fields).json())
}

/// The same lines, with quotes around sentences that YAML would cut short (` #` begins a comment) or misread.
fn prose_in_quotes(lines: &[&str]) -> Vec<String> {
    let goes_on = |at: usize| lines.get(at + 1).is_some_and(|next| next.starts_with([' ', '\t']));
    let quoted = lines.iter().enumerate().map(|(at, line)| match line.split_once(": ") {
        Some((key @ ("purpose" | "description"), value)) if !goes_on(at) && is_misleading(value.trim()) => {
            in_quotes(key, value)
        }
        _ => (*line).to_owned(),
    });
    quoted.collect()
}

fn is_misleading(sentence: &str) -> bool {
    match sentence.chars().next() {
        Some('|' | '>') | None => false,
        Some(quote @ ('"' | '\'')) => sentence.len() < 2 || !sentence.ends_with(quote),
        Some('[' | '{' | '&' | '*' | '!') => true,
        Some(_) => sentence.contains(" #"),
    }
}

fn in_quotes(key: &str, value: &str) -> String {
    format!("{key}: '{}'", value.trim().replace('\'', "''"))
}

/// The same lines, with quotes around prose that is not valid YAML without them.
fn with_quotes(lines: &[String]) -> String {
    let quoted = lines.iter().map(|line| match line.split_once(": ") {
        Some((key, value)) if !key.contains([' ', '"', '\'', '#']) && needs_quotes(value.trim()) => {
            in_quotes(key, value)
        }
        _ => line.clone(),
    });
    quoted.collect::<Vec<_>>().join("\n")
}

fn needs_quotes(value: &str) -> bool {
    let is_prose = !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#']);
    is_prose && (value.contains(": ") || value.ends_with(':') || value.starts_with(['`', '@', '%']))
}

/// The fields of a mapping.
pub(crate) fn fields(yaml: &str) -> Result<Vec<Field>, Misread> {
    let mut reader = Reader { events: Parser::new_from_str(yaml), line: 2 };
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Vec::new()),
            event => match reader.node(event, 0)? {
                Node::Map(fields) => {
                    return match (reader.next()?, reader.next()?) {
                        (Event::DocumentEnd, Event::StreamEnd) => Ok(fields),
                        _ => Err(reader.misread("expected nothing more before the closing `---`")),
                    };
                }
                Node::Text { text, .. } if text.is_empty() => return Ok(Vec::new()),
                Node::Text { .. } | Node::List(_) => {
                    return Err(reader.misread("expected lines of the form `key: value`"));
                }
            },
        }
    }
}

struct Reader<'y> {
    events: Parser<'y, StrInput<'y>>,
    /// The line of the last event in the file; the first line of the file is `---`.
    line: usize,
}

impl<'y> Reader<'y> {
    fn next(&mut self) -> Result<Event<'y>, Misread> {
        match self.events.next() {
            Some(Ok((event, span))) => {
                self.line = span.start.line() + 1;
                Ok(event)
            }
            Some(Err(error)) => Err(misread(&error)),
            None => Ok(Event::StreamEnd),
        }
    }

    fn node(&mut self, event: Event<'y>, depth: usize) -> Result<Node, Misread> {
        if depth > DEEPEST {
            return Err(self.misread("it is nested too deeply"));
        }
        match event {
            Event::Scalar(text, style, ..) => Ok(Node::Text { text: text.into_owned(), style }),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Node::List(items)),
                        event => items.push(self.node(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => self.map(depth).map(Node::Map),
            Event::Alias(_) => {
                Err(self.misread("`*` refers to nothing here; write the value out, or put it in quotes"))
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Err(self.misread("expected a value")),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Field>, Misread> {
        let mut fields: Vec<Field> = Vec::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(fields),
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err(self.misread("expected a key that is one word")),
            };
            let line = self.line;
            if fields.iter().any(|field| field.key == key) {
                return Err(self.misread(&format!("`{key}` is given twice")));
            }
            let event = self.next()?;
            fields.push(Field { key, line, value: self.node(event, depth + 1)? });
        }
    }

    fn misread(&self, what: &str) -> Misread {
        Misread { line: self.line, what: what.to_owned() }
    }
}

fn misread(error: &ScanError) -> Misread {
    let what = format!("{}; put text in quotes if it contains `: ` or begins with a special character", error.info());
    Misread { line: error.marker().line() + 1, what }
}

impl Node {
    /// The text of a scalar; empty for `null`.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Node::Text { text, style: ScalarStyle::Plain } if matches!(text.as_str(), "~" | "null") => Some(""),
            Node::Text { text, .. } => Some(text),
            Node::List(_) | Node::Map(_) => None,
        }
    }

    /// The words of a list, or of a text separated by commas.
    pub(crate) fn words(&self) -> Option<Vec<String>> {
        let words: Vec<&str> = match self {
            Node::List(items) => items.iter().map(Node::text).collect::<Option<_>>()?,
            Node::Text { .. } => self.text()?.split(',').collect(),
            Node::Map(_) => return None,
        };
        Some(words.into_iter().map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }

    /// The value as JSON.
    pub(crate) fn json(&self) -> Value {
        match self {
            Node::Text { text, style: ScalarStyle::Plain } if text.is_empty() || text == "~" => Value::Null,
            Node::Text { text, style: ScalarStyle::Plain } => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
            }
            Node::Text { text, .. } => Value::String(text.clone()),
            Node::List(items) => items.iter().map(Node::json).collect(),
            Node::Map(fields) => fields.iter().map(|field| (field.key.clone(), field.value.json())).collect(),
        }
    }
}
