//! A tree of elements and text, for XML and HTML alike. Nodes are in one vector, so that no depth can overflow a stack
//! when the tree is built or dropped.

const NONE: u32 = u32::MAX;

/// The nodes of a document. The first is the root.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<NodeRecord>,
}

#[derive(Debug)]
struct NodeRecord {
    /// The name without a prefix; empty for text.
    name: Box<str>,
    /// What a text node says.
    text: String,
    /// Names as written, with prefixes.
    attributes: Vec<(Box<str>, Box<str>)>,
    line: u32,
    parent: u32,
    first_child: u32,
    last_child: u32,
    previous: u32,
    next: u32,
}

/// A node, by which its tree is walked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeNode<'t> {
    tree: &'t Tree,
    index: u32,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let mut tree = Self { nodes: Vec::new() };
        tree.create("", String::new(), Vec::new(), 1);
        tree
    }

    pub(crate) fn root(&self) -> TreeNode<'_> {
        TreeNode { tree: self, index: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a node that is not yet anywhere in the tree.
    pub(crate) fn create(&mut self, name: &str, text: String, attributes: Vec<(Box<str>, Box<str>)>, line: u32) -> u32 {
        let links = NONE;
        self.nodes.push(NodeRecord {
            name: name.into(),
            text,
            attributes,
            line,
            parent: links,
            first_child: links,
            last_child: links,
            previous: links,
            next: links,
        });
        self.nodes.len() as u32 - 1
    }

    /// Puts a node at the end of another's children.
    pub(crate) fn append(&mut self, parent: u32, child: u32) {
        self.detach(child);
        let last = self.nodes[parent as usize].last_child;
        let record = &mut self.nodes[child as usize];
        record.parent = parent;
        record.previous = last;
        match last {
            NONE => self.nodes[parent as usize].first_child = child,
            last => self.nodes[last as usize].next = child,
        }
        self.nodes[parent as usize].last_child = child;
    }

    /// Puts a node in front of another. Does nothing if that one has no parent.
    pub(crate) fn insert_before(&mut self, sibling: u32, child: u32) {
        self.detach(child);
        let NodeRecord { parent, previous, .. } = self.nodes[sibling as usize];
        if parent == NONE {
            return;
        }
        let record = &mut self.nodes[child as usize];
        record.parent = parent;
        record.previous = previous;
        record.next = sibling;
        match previous {
            NONE => self.nodes[parent as usize].first_child = child,
            previous => self.nodes[previous as usize].next = child,
        }
        self.nodes[sibling as usize].previous = child;
    }

    /// Takes a node out of the tree, with everything below it.
    pub(crate) fn detach(&mut self, node: u32) {
        let NodeRecord { parent, previous, next, .. } = self.nodes[node as usize];
        if parent == NONE {
            return;
        }
        match previous {
            NONE => self.nodes[parent as usize].first_child = next,
            previous => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => self.nodes[parent as usize].last_child = previous,
            next => self.nodes[next as usize].previous = previous,
        }
        let record = &mut self.nodes[node as usize];
        (record.parent, record.previous, record.next) = (NONE, NONE, NONE);
    }

    pub(crate) fn parent_of(&self, node: u32) -> Option<u32> {
        known(self.nodes[node as usize].parent)
    }

    pub(crate) fn first_child_of(&self, node: u32) -> Option<u32> {
        known(self.nodes[node as usize].first_child)
    }

    pub(crate) fn last_child_of(&self, node: u32) -> Option<u32> {
        known(self.nodes[node as usize].last_child)
    }

    pub(crate) fn previous_of(&self, node: u32) -> Option<u32> {
        known(self.nodes[node as usize].previous)
    }

    /// The text of a text node, to be made longer.
    pub(crate) fn text_mut(&mut self, node: u32) -> Option<&mut String> {
        let record = &mut self.nodes[node as usize];
        (record.name.is_empty() && node != 0).then_some(&mut record.text)
    }

    pub(crate) fn add_attribute(&mut self, node: u32, name: &str, value: &str) {
        let attributes = &mut self.nodes[node as usize].attributes;
        if !attributes.iter().any(|(known, _)| &**known == name) {
            attributes.push((name.into(), value.into()));
        }
    }
}

fn known(index: u32) -> Option<u32> {
    (index != NONE).then_some(index)
}

impl<'t> TreeNode<'t> {
    fn record(self) -> &'t NodeRecord {
        &self.tree.nodes[self.index as usize]
    }

    fn at(self, index: u32) -> Option<Self> {
        known(index).map(|index| Self { tree: self.tree, index })
    }

    /// The name without a prefix; empty for text.
    pub(crate) fn name(self) -> &'t str {
        &self.record().name
    }

    pub(crate) fn is_text(self) -> bool {
        self.record().name.is_empty()
    }

    /// What a text node says; empty for an element.
    pub(crate) fn own_text(self) -> &'t str {
        &self.record().text
    }

    /// The line in the file where it begins.
    pub(crate) fn line(self) -> u32 {
        self.record().line
    }

    /// An attribute by its name as written, or else by its name without a prefix.
    pub(crate) fn attribute(self, name: &str) -> Option<&'t str> {
        let attributes = &self.record().attributes;
        let exact = attributes.iter().find(|(known, _)| &**known == name);
        let found = exact.or_else(|| {
            attributes.iter().find(|(known, _)| known.rsplit_once(':').is_some_and(|(_, local)| local == name))
        });
        found.map(|(_, value)| &**value)
    }

    pub(crate) fn parent(self) -> Option<Self> {
        self.at(self.record().parent)
    }

    pub(crate) fn children(self) -> impl Iterator<Item = Self> + use<'t> {
        std::iter::successors(self.at(self.record().first_child), |node| node.at(node.record().next))
    }

    pub(crate) fn elements(self) -> impl Iterator<Item = Self> + use<'t> {
        self.children().filter(|node| !node.is_text())
    }

    /// The first child element with this name.
    pub(crate) fn child(self, name: &str) -> Option<Self> {
        self.children().find(|node| node.name() == name)
    }

    /// The element at the end of a path of child elements.
    pub(crate) fn path(self, names: &[&str]) -> Option<Self> {
        names.iter().try_fold(self, |node, name| node.child(name))
    }

    /// The attribute `val` of a child element, as Office files have it.
    pub(crate) fn value(self, name: &str) -> Option<&'t str> {
        self.child(name)?.attribute("val")
    }

    /// Everything below it, in the order of the file, itself left out.
    pub(crate) fn descendants(self) -> impl Iterator<Item = Self> + use<'t> {
        let top = self.index;
        std::iter::successors(self.at(self.record().first_child), move |node| node.following(top))
    }

    /// The next node in the order of the file that is below `top`.
    fn following(self, top: u32) -> Option<Self> {
        if let Some(child) = self.at(self.record().first_child) {
            return Some(child);
        }
        let mut node = self;
        while node.index != top {
            if let Some(next) = node.at(node.record().next) {
                return Some(next);
            }
            node = node.parent()?;
        }
        None
    }

    /// The first element below it with this name, at any depth.
    pub(crate) fn find(self, name: &str) -> Option<Self> {
        self.descendants().find(|node| node.name() == name)
    }

    /// All text below it.
    pub(crate) fn all_text(self) -> String {
        self.descendants().map(Self::own_text).collect()
    }
}
