//! Renders Markdown for a terminal: wrapped at words, with readable headings, lists, code and tables.

mod flow;
mod table;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::out::{self, Paint};
use flow::{Flow, Style};
use table::Table;

/// The longest line, however wide the terminal is: longer ones are hard to read.
const WIDEST: usize = 110;

/// Renders the text in this many columns. Control characters are escaped.
pub(crate) fn render(text: &str, columns: usize, paint: Paint) -> String {
    let text = out::harmless(&text.replace("\r\n", "\n"));
    // JSON is shown unchanged.
    if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
        return text.trim_end().to_owned();
    }
    let text = with_citations(&text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = MarkdownPage::new(columns.clamp(20, WIDEST), paint);
    for event in Parser::new_ext(&text, options) {
        page.take(event);
    }
    page.end()
}

/// Keeps a list of citations (`[1]: notes.md:3 "quoted words"`) readable: Markdown would take each line for the target of a
/// link and not show it. Targets that a link uses as `[text][1]` stay what they are.
fn with_citations(text: &str) -> String {
    let is_citation = |line: &str| {
        let label = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(label, _)| label);
        label.is_some_and(|label| {
            label.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(&format!("][{label}]"))
        })
    };
    let mut is_code = false;
    let shown = |line: &str| {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code && is_citation(line) { format!("\\{line}") } else { line.to_owned() }
    };
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// The page while it is rendered.
struct MarkdownPage {
    columns: usize,
    paint: Paint,
    lines: Vec<String>,
    /// The margins of open quotes and list items, the outermost first.
    margins: Vec<Margin>,
    /// The next number of each open list; `None` for one without numbers.
    lists: Vec<Option<u64>>,
    flow: Flow,
    style: Style,
    links: Vec<String>,
    code: Option<String>,
    table: Option<Table>,
}

/// What is printed before the lines of a block: a mark before the first, spaces of the same width before the others.
struct Margin {
    mark: Option<String>,
    rest: String,
}

impl MarkdownPage {
    fn new(columns: usize, paint: Paint) -> Self {
        Self {
            columns,
            paint,
            lines: Vec::new(),
            margins: Vec::new(),
            lists: Vec::new(),
            flow: Flow::default(),
            style: Style::default(),
            links: Vec::new(),
            code: None,
            table: None,
        }
    }

    fn end(mut self) -> String {
        self.paragraph();
        while self.lines.last().is_some_and(|line| line.trim().is_empty()) {
            self.lines.pop();
        }
        self.lines.join("\n")
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.flow.push(&text, self.style),
            },
            Event::Code(text) => {
                // Without colours, backticks mark the code.
                let marked = if self.paint.is_on() { text.to_string() } else { format!("`{text}`") };
                self.flow.push_whole(&marked, Style { code: true, ..self.style });
            }
            // Line breaks of people and models are kept.
            Event::SoftBreak | Event::HardBreak => self.flow.break_line(),
            Event::Rule => {
                self.gap();
                let rule = "─".repeat(self.room().min(40));
                self.line(&self.paint.dim(&rule));
            }
            Event::Html(text) => self.verbatim(&text, ""),
            Event::InlineHtml(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.flow.push(&text, self.style);
            }
            Event::FootnoteReference(name) => self.flow.push(&format!("[{name}]"), self.style),
            Event::TaskListMarker(done) => self.flow.push(if done { "[x] " } else { "[ ] " }, self.style),
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.style.bold = true;
                self.style.underlined = level == HeadingLevel::H1;
                if !self.paint.is_on() {
                    self.flow.push(&format!("{} ", "#".repeat(level as usize)), self.style);
                }
            }
            Tag::BlockQuote(_) => {
                self.gap();
                let bar = self.paint.dim("│ ");
                self.margins.push(Margin { mark: None, rest: bar });
            }
            Tag::CodeBlock(kind) => {
                self.paragraph();
                self.gap();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.line(&self.paint.dim(&format!("  {language}:")));
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.paragraph();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.margins.push(Margin { rest: " ".repeat(super::fit::width(&mark)), mark: Some(mark) });
            }
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(Table::begin_row),
            Tag::Emphasis => self.style.italic = true,
            Tag::Strong => self.style.bold = true,
            Tag::Strikethrough => self.style.struck = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.style.underlined = true;
                self.links.push(dest_url.to_string());
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.paragraph(),
            TagEnd::Heading(_) => {
                self.paragraph();
                self.style = Style::default();
            }
            TagEnd::BlockQuote(_) => {
                self.paragraph();
                self.margins.pop();
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.verbatim(&code, "    ");
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Item => {
                self.paragraph();
                if self.margins.last().is_some_and(|margin| margin.mark.is_some()) {
                    self.line("");
                }
                self.margins.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.flow);
                self.table.iter_mut().for_each(|table| table.cell(cell.clone()));
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                for line in table.lines(self.room(), self.paint) {
                    self.line(&line);
                }
            }
            TagEnd::Emphasis => self.style.italic = false,
            TagEnd::Strong => self.style.bold = false,
            TagEnd::Strikethrough => self.style.struck = false,
            TagEnd::Link | TagEnd::Image => {
                self.style.underlined = false;
                let address = self.links.pop().unwrap_or_default();
                if !address.is_empty() && !self.flow.ends_with(&address) {
                    self.flow.push(&format!(" ({address})"), self.style);
                }
            }
            _ => {}
        }
    }

    /// The columns left beside the margins.
    fn room(&self) -> usize {
        let margins = self.margins.iter().map(|margin| super::fit::width(&out::without_colours(&margin.rest)));
        self.columns.saturating_sub(margins.sum()).max(10)
    }

    /// Writes the collected words.
    fn paragraph(&mut self) {
        let flow = std::mem::take(&mut self.flow);
        for line in flow.lines(self.room(), self.paint) {
            self.line(&line);
        }
    }

    /// Writes an empty line before a block, unless it is the first, or the first of its item.
    fn gap(&mut self) {
        let is_first = self.margins.last().is_some_and(|margin| margin.mark.is_some());
        if !self.lines.is_empty() && !is_first && self.lines.last().is_some_and(|line| !line.trim().is_empty()) {
            self.line("");
        }
    }

    fn verbatim(&mut self, text: &str, indent: &str) {
        for line in text.trim_end_matches('\n').split('\n') {
            self.line(&format!("{indent}{line}"));
        }
    }

    fn line(&mut self, text: &str) {
        let mut line = String::new();
        for margin in &mut self.margins {
            line.push_str(&margin.mark.take().unwrap_or_else(|| margin.rest.clone()));
        }
        line.push_str(text);
        self.lines.push(line.trim_end().to_owned());
    }
}

#[cfg(test)]
mod tests;
