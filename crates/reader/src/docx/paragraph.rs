//! A paragraph: its runs of text with emphasis, links and formulas, and what hangs on it.

use std::collections::BTreeMap;

use super::formula;
use crate::office::{Relation, picture};
use crate::tree::TreeNode;

/// What a paragraph says, and what is anchored in it.
#[derive(Debug, Default)]
pub(super) struct Paragraph<'t> {
    /// The text as Markdown.
    pub(super) text: String,
    /// The text without marks, for code.
    pub(super) plain: String,
    pub(super) pictures: Vec<String>,
    /// Ids of references to charts.
    pub(super) charts: Vec<&'t str>,
    pub(super) text_boxes: Vec<TreeNode<'t>>,
    /// How many pages end in it.
    pub(super) page_breaks: u32,
}

/// The emphasis of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Emphasis {
    bold: bool,
    italic: bool,
    strike: bool,
    raised: bool,
    lowered: bool,
}

/// Reads paragraphs of one part of a document.
pub(super) struct ParagraphReader<'r, 't> {
    relations: &'r BTreeMap<String, Relation>,
    nesting: u32,
    paragraph: Paragraph<'t>,
    runs: Vec<(Emphasis, String)>,
    /// How deep the text is in field codes, which are instructions to Word.
    in_code: Vec<bool>,
}

impl<'r, 't> ParagraphReader<'r, 't> {
    pub(super) fn new(relations: &'r BTreeMap<String, Relation>, nesting: u32) -> Self {
        Self { relations, nesting, paragraph: Paragraph::default(), runs: Vec::new(), in_code: Vec::new() }
    }

    pub(super) fn read(mut self, node: TreeNode<'t>) -> Paragraph<'t> {
        self.content(node, 0);
        let mut texts = self.runs.iter().map(|(_, text)| text.trim()).filter(|text| !text.is_empty()).peekable();
        if texts.peek().is_some() && texts.all(is_formula) {
            // A paragraph of nothing but formulas shows each on its own line.
            let formulas = self.runs.iter().map(|(_, text)| text.trim()).filter(|text| !text.is_empty());
            self.paragraph.text = formulas.map(|formula| format!("${formula}$")).collect::<Vec<_>>().join("\n\n");
        } else {
            self.paragraph.text = marked(&self.runs);
        }
        self.paragraph.plain = self.runs.into_iter().map(|(_, text)| text).collect();
        self.paragraph
    }

    fn content(&mut self, parent: TreeNode<'t>, depth: u32) {
        if depth > self.nesting {
            return;
        }
        for node in parent.elements() {
            match node.name() {
                "r" => self.run(node, depth + 1),
                "hyperlink" => self.link(node, depth),
                "oMath" => self.runs.push((Emphasis::default(), formula::inline(node, self.nesting))),
                "oMathPara" => {
                    for part in node.elements().filter(|part| part.name() == "oMath") {
                        self.runs.push((Emphasis::default(), formula::inline(part, self.nesting)));
                    }
                }
                "sdt" => self.control(node, depth),
                "AlternateContent" => {
                    if let Some(choice) = node.child("Choice").or_else(|| node.child("Fallback")) {
                        self.content(choice, depth + 1);
                    }
                }
                "ins" | "moveTo" | "smartTag" | "customXml" | "fldSimple" | "dir" | "bdo" => {
                    self.content(node, depth + 1);
                }
                _ => {}
            }
        }
    }

    /// A content control; a check box is written as in task lists.
    fn control(&mut self, node: TreeNode<'t>, depth: u32) {
        let check = node.child("sdtPr").and_then(|properties| properties.child("checkbox"));
        if let Some(check) = check {
            let is_checked = matches!(check.value("checked"), Some("1" | "true"));
            self.push(Emphasis::default(), if is_checked { "[x] " } else { "[ ] " });
        } else if let Some(content) = node.child("sdtContent") {
            self.content(content, depth + 1);
        }
    }

    fn link(&mut self, node: TreeNode<'t>, depth: u32) {
        let outer = std::mem::take(&mut self.runs);
        self.content(node, depth + 1);
        let inner = std::mem::replace(&mut self.runs, outer);
        let relation = node.attribute("r:id").and_then(|id| self.relations.get(id));
        let text = marked(&inner);
        match relation {
            Some(relation) if !text.trim().is_empty() && relation.kind == "hyperlink" => {
                self.push(Emphasis::default(), &format!("[{}]({})", text.trim(), relation.target));
            }
            _ => self.runs.extend(inner),
        }
    }

    fn run(&mut self, node: TreeNode<'t>, depth: u32) {
        let emphasis = node.child("rPr").map(emphasis_of).unwrap_or_default();
        if node.path(&["rPr", "vanish"]).is_some_and(|flag| is_on(Some(flag))) {
            return;
        }
        for part in node.elements() {
            self.run_part(part, emphasis, depth);
        }
    }

    fn run_part(&mut self, part: TreeNode<'t>, emphasis: Emphasis, depth: u32) {
        if depth > self.nesting {
            return;
        }
        match part.name() {
            "t" if !self.in_code.contains(&true) => self.push(emphasis, &part.all_text()),
            "tab" => self.push(emphasis, "\t"),
            "br" if part.attribute("type") == Some("page") => {}
            "br" | "cr" => self.push(emphasis, "\n"),
            "noBreakHyphen" => self.push(emphasis, "-"),
            "sym" => self.symbol(part, emphasis),
            "lastRenderedPageBreak" => self.paragraph.page_breaks += 1,
            "fldChar" => match part.attribute("fldCharType") {
                Some("begin") => self.in_code.push(true),
                Some("separate") => {
                    if let Some(last) = self.in_code.last_mut() {
                        *last = false;
                    }
                }
                _ => {
                    self.in_code.pop();
                }
            },
            "footnoteReference" | "endnoteReference" => {
                if let Some(id) = part.attribute("id") {
                    self.push(Emphasis::default(), &format!("[^{id}]"));
                }
            }
            "drawing" | "pict" | "object" => self.drawing(part),
            "AlternateContent" => {
                if let Some(choice) = part.child("Choice").or_else(|| part.child("Fallback")) {
                    for inner in choice.elements() {
                        self.run_part(inner, emphasis, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    fn symbol(&mut self, part: TreeNode<'t>, emphasis: Emphasis) {
        let code = part.attribute("char").and_then(|code| u32::from_str_radix(code, 16).ok());
        // Fonts of symbols use a private range over ASCII.
        let code = code.map(|code| if (0xf020..=0xf0ff).contains(&code) { code - 0xf000 } else { code });
        let is_check_box = part.attribute("font").is_some_and(|font| font.starts_with("Wingdings"));
        match code {
            Some(0xfe | 0xfd | 0x78 | 0x52) if is_check_box => self.push(emphasis, "[x] "),
            Some(0xa8 | 0xa3 | 0x6f) if is_check_box => self.push(emphasis, "[ ] "),
            _ => self.push(emphasis, &code.and_then(char::from_u32).map(String::from).unwrap_or_default()),
        }
    }

    /// Pictures, charts and text boxes of a drawing.
    fn drawing(&mut self, drawing: TreeNode<'t>) {
        let description = drawing.find("docPr").and_then(|properties| properties.attribute("descr"));
        self.drawn(drawing, description.unwrap_or_default());
    }

    /// Goes down to what is drawn. The tree is no deeper than the reader of XML allows.
    fn drawn(&mut self, parent: TreeNode<'t>, description: &str) {
        let has_choice = parent.child("Choice").is_some();
        for node in parent.elements() {
            match node.name() {
                "Fallback" if has_choice => {}
                "txbxContent" => self.paragraph.text_boxes.push(node),
                "blip" | "imagedata" => {
                    let id = node.attribute("r:embed").or(node.attribute("r:id")).or(node.attribute("r:link"));
                    let target = id.and_then(|id| self.relations.get(id)).map(|relation| relation.target.as_str());
                    self.paragraph.pictures.push(picture(description, target.unwrap_or_default()));
                }
                "chart" => self.paragraph.charts.extend(node.attribute("r:id")),
                _ => self.drawn(node, description),
            }
        }
    }

    fn push(&mut self, emphasis: Emphasis, text: &str) {
        match self.runs.last_mut() {
            Some((known, run)) if *known == emphasis && !run.starts_with('$') => run.push_str(text),
            _ => self.runs.push((emphasis, text.to_owned())),
        }
    }
}

fn is_formula(text: &str) -> bool {
    text.len() > 2 && text.starts_with('$') && text.ends_with('$')
}

fn emphasis_of(properties: TreeNode<'_>) -> Emphasis {
    let raised = properties.value("vertAlign");
    Emphasis {
        bold: is_on(properties.child("b")),
        italic: is_on(properties.child("i")),
        strike: is_on(properties.child("strike")) || is_on(properties.child("dstrike")),
        raised: raised == Some("superscript"),
        lowered: raised == Some("subscript"),
    }
}

/// A switch is on if it is there, unless it says otherwise.
fn is_on(switch: Option<TreeNode<'_>>) -> bool {
    switch.is_some_and(|switch| !matches!(switch.attribute("val"), Some("0" | "false" | "none" | "off")))
}

/// Runs as Markdown: marks stand next to the words, white space outside.
fn marked(runs: &[(Emphasis, String)]) -> String {
    let mut text = String::new();
    for (emphasis, run) in runs {
        let core = run.trim();
        if core.is_empty() || core.starts_with('$') || core.contains('\n') {
            text.push_str(run);
            continue;
        }
        let before = &run[..run.len() - run.trim_start().len()];
        let after = &run[run.trim_end().len()..];
        let marks = [
            (emphasis.strike, "~~"),
            (emphasis.bold, "**"),
            (emphasis.italic, "*"),
            (emphasis.raised, "^"),
            (emphasis.lowered, "~"),
        ];
        let open: String = marks.iter().filter(|(is_on, _)| *is_on).map(|(_, mark)| *mark).collect();
        let close: String = marks.iter().rev().filter(|(is_on, _)| *is_on).map(|(_, mark)| *mark).collect();
        text.extend([before, &open, core, &close, after]);
    }
    text.replace("****", "")
}
