//! Builds our tree from what html5ever finds, with the line of each element.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, local_name, ns, parse_document};

use crate::tree::Tree;

/// Parses a page. Whatever the text is, there is a tree.
pub(super) fn parse(text: &str) -> Tree {
    let document = SinkNode { index: 0, name: Rc::new(QualName::new(None, ns!(), local_name!(""))) };
    let sink = Sink { tree: RefCell::new(Tree::new()), line: Cell::new(1), document };
    parse_document(sink, ParseOpts::default()).one(text)
}

struct Sink {
    tree: RefCell<Tree>,
    line: Cell<u32>,
    document: SinkNode,
}

/// A node with its name, which the parser asks for all the time.
#[derive(Clone)]
struct SinkNode {
    index: u32,
    name: Rc<QualName>,
}

impl Sink {
    fn node(&self, name: &str, attributes: Vec<(Box<str>, Box<str>)>) -> u32 {
        self.tree.borrow_mut().create(name, String::new(), attributes, self.line.get())
    }

    /// Adds text to the text that stands before it, or as a node of its own by `place`.
    fn add_text(&self, before: Option<u32>, text: &str, place: impl FnOnce(&mut Tree, u32)) {
        let mut tree = self.tree.borrow_mut();
        if let Some(known) = before.and_then(|before| tree.text_mut(before)) {
            known.push_str(text);
            return;
        }
        // The parser says the line where a piece of text ends.
        let line = self.line.get().saturating_sub(text.matches('\n').count() as u32).max(1);
        let node = tree.create("", text.to_owned(), Vec::new(), line);
        place(&mut tree, node);
    }
}

fn owned(attributes: Vec<Attribute>) -> Vec<(Box<str>, Box<str>)> {
    attributes.into_iter().map(|one| ((*one.name.local).into(), (*one.value).into())).collect()
}

impl TreeSink for Sink {
    type Handle = SinkNode;
    type Output = Tree;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Tree {
        self.tree.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> SinkNode {
        self.document.clone()
    }

    fn elem_name<'a>(&'a self, target: &'a SinkNode) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> SinkNode {
        let index = self.node(&name.local, owned(attributes));
        SinkNode { index, name: Rc::new(name) }
    }

    fn create_comment(&self, _: StrTendril) -> SinkNode {
        SinkNode { index: self.node("#comment", Vec::new()), name: self.document.name.clone() }
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> SinkNode {
        self.create_comment(StrTendril::new())
    }

    fn append(&self, parent: &SinkNode, child: NodeOrText<SinkNode>) {
        match child {
            NodeOrText::AppendNode(node) => self.tree.borrow_mut().append(parent.index, node.index),
            NodeOrText::AppendText(text) => {
                let last = self.tree.borrow().last_child_of(parent.index);
                self.add_text(last, &text, |tree, node| tree.append(parent.index, node));
            }
        }
    }

    fn append_before_sibling(&self, sibling: &SinkNode, child: NodeOrText<SinkNode>) {
        match child {
            NodeOrText::AppendNode(node) => self.tree.borrow_mut().insert_before(sibling.index, node.index),
            NodeOrText::AppendText(text) => {
                let before = self.tree.borrow().previous_of(sibling.index);
                self.add_text(before, &text, |tree, node| tree.insert_before(sibling.index, node));
            }
        }
    }

    fn append_based_on_parent_node(&self, element: &SinkNode, previous: &SinkNode, child: NodeOrText<SinkNode>) {
        let has_parent = self.tree.borrow().parent_of(element.index).is_some();
        if has_parent { self.append_before_sibling(element, child) } else { self.append(previous, child) }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &SinkNode) -> SinkNode {
        target.clone()
    }

    fn same_node(&self, one: &SinkNode, other: &SinkNode) -> bool {
        one.index == other.index
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn add_attrs_if_missing(&self, target: &SinkNode, attributes: Vec<Attribute>) {
        for (name, value) in owned(attributes) {
            self.tree.borrow_mut().add_attribute(target.index, &name, &value);
        }
    }

    fn remove_from_parent(&self, target: &SinkNode) {
        self.tree.borrow_mut().detach(target.index);
    }

    fn reparent_children(&self, node: &SinkNode, new_parent: &SinkNode) {
        let mut tree = self.tree.borrow_mut();
        while let Some(child) = tree.first_child_of(node.index) {
            tree.append(new_parent.index, child);
        }
    }

    fn set_current_line(&self, line: u64) {
        self.line.set(line as u32);
    }
}
