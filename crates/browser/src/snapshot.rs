//! The page as one tree: the elements of all frames and shadow roots, where they are, and what they mean.
//!
//! Two sources are joined by the browser's number of each node. `DOMSnapshot` has every node with its box, its style
//! and whether it listens for clicks; the accessibility tree has roles, names and states.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::error::Error;
use crate::tab::Tab;

const STYLES: [&str; 5] = ["display", "visibility", "cursor", "background-color", "fill"];
/// Most frames whose meaning is asked for; each costs a question.
const MOST_FRAMES: usize = 30;

/// Deeper trees are not followed: the parser makes none, and a script that does means no good.
pub(crate) const DEEPEST: usize = 1500;

/// A node of the page.
#[derive(Default)]
pub(crate) struct PageNode {
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
    /// Lower case: `div`, `#text`, `#document`, `#document-fragment`.
    pub(crate) tag: String,
    /// Of a text, what it shows.
    pub(crate) text: String,
    pub(crate) number: i64,
    pub(crate) attributes: Vec<(String, String)>,
    /// Listens for clicks.
    pub(crate) listens: bool,
    pub(crate) is_svg: bool,
    /// What the browser itself draws inside of inputs and the like.
    pub(crate) is_internal: bool,
    /// In the window: left, top, width, height. None if it is not drawn.
    pub(crate) bounds: Option<[f64; 4]>,
    pub(crate) style: HashMap<&'static str, String>,
    pub(crate) meaning: Option<Meaning>,
}

/// What the accessibility tree says about a node.
#[derive(Default, Clone)]
pub(crate) struct Meaning {
    pub(crate) role: String,
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) states: HashMap<String, String>,
}

/// All nodes, the main document first.
#[derive(Default)]
pub(crate) struct PageTree {
    pub(crate) nodes: Vec<PageNode>,
    pub(crate) title: String,
    pub(crate) url: String,
    /// How far the page is scrolled down, and its height.
    pub(crate) scrolled: f64,
    pub(crate) height: f64,
}

impl PageNode {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn style(&self, name: &str) -> &str {
        self.style.get(name).map_or("", String::as_str)
    }

    /// Whether it is drawn where somebody could see it.
    pub(crate) fn is_visible(&self) -> bool {
        self.bounds.is_some() && self.style("visibility") != "hidden" && self.style("visibility") != "collapse"
    }

    pub(crate) fn role(&self) -> &str {
        self.meaning.as_ref().map_or("", |meaning| meaning.role.as_str())
    }

    pub(crate) fn name(&self) -> &str {
        self.meaning.as_ref().map_or("", |meaning| meaning.name.as_str())
    }
}

impl Tab {
    /// Takes in the whole page. With `meaning`, roles and names are asked for too.
    pub(crate) async fn page_tree(&self, with_meaning: bool) -> Result<PageTree, Error> {
        let params = json!({"computedStyles": STYLES, "includeDOMRects": true});
        // Tens of thousands of elements take Chromium seconds.
        let limit = self.limits().load;
        let snapshot = self.call_within("DOMSnapshot.captureSnapshot", params, limit).await?;
        let mut tree = PageTree::of(&snapshot);
        if !with_meaning {
            return Ok(tree);
        }
        let mut meanings = HashMap::new();
        for frame in frames(&snapshot) {
            // A frame may be gone by now; the others are still worth reading.
            let asked = json!({"frameId": frame});
            let answer = match self.call_within("Accessibility.getFullAXTree", asked, limit).await {
                Err(Error::Protocol { .. }) => continue,
                other => other?,
            };
            for node in answer["nodes"].as_array().into_iter().flatten() {
                if let (Some(number), Some(meaning)) = (node["backendDOMNodeId"].as_i64(), meaning_of(node)) {
                    meanings.insert(number, meaning);
                }
            }
        }
        for node in &mut tree.nodes {
            node.meaning = meanings.get(&node.number).cloned();
        }
        Ok(tree)
    }
}

fn frames(snapshot: &Value) -> Vec<&str> {
    let documents = snapshot["documents"].as_array().into_iter().flatten();
    let frame = |document: &Value| string(&snapshot["strings"], &document["frameId"]);
    documents.map(frame).filter(|frame| !frame.is_empty()).take(MOST_FRAMES).collect()
}

fn meaning_of(node: &Value) -> Option<Meaning> {
    if node["ignored"] == true {
        return None;
    }
    let text = |value: &Value| match &value["value"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let properties = node["properties"].as_array().into_iter().flatten();
    let states = properties.map(|property| (text_of(&property["name"]), text(&property["value"])));
    Some(Meaning {
        role: text(&node["role"]),
        name: text(&node["name"]),
        value: text(&node["value"]),
        states: states.collect(),
    })
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn string<'a>(strings: &'a Value, index: &Value) -> &'a str {
    let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| strings[index].as_str()).unwrap_or_default()
}

impl PageTree {
    fn of(snapshot: &Value) -> Self {
        let strings = &snapshot["strings"];
        let mut tree = Self::default();
        let documents: Vec<&Value> = snapshot["documents"].as_array().into_iter().flatten().collect();
        if let Some(main) = documents.first() {
            string(strings, &main["title"]).clone_into(&mut tree.title);
            string(strings, &main["documentURL"]).clone_into(&mut tree.url);
            tree.scrolled = main["scrollOffsetY"].as_f64().unwrap_or(0.0);
            tree.height = main["contentHeight"].as_f64().unwrap_or(0.0);
        }
        // The first document is the page; frames are put below the element that shows them.
        let mut places: HashMap<usize, (usize, [f64; 2])> = HashMap::new();
        for (at, document) in documents.iter().enumerate() {
            let place = places.get(&at).copied();
            if at > 0 && place.is_none() {
                continue;
            }
            tree.add(document, strings, place, &mut places);
        }
        tree
    }

    /// Adds one document. `place` is the element that shows it, and where the frame begins in the window.
    fn add(
        &mut self,
        document: &Value,
        strings: &Value,
        place: Option<(usize, [f64; 2])>,
        places: &mut HashMap<usize, (usize, [f64; 2])>,
    ) {
        let base = self.nodes.len();
        let nodes = &document["nodes"];
        let (parent, [x, y]) = place.map_or((None, [0.0, 0.0]), |(parent, at)| (Some(parent), at));
        let scrolled = |key: &str| document[key].as_f64().unwrap_or(0.0);
        let shift = [x - scrolled("scrollOffsetX"), y - scrolled("scrollOffsetY")];
        let listening = numbers(&nodes["isClickable"]["index"]);
        let internal: HashSet<usize> = pairs(&nodes["shadowRootType"])
            .filter(|(_, kind)| string(strings, kind) == "user-agent")
            .map(|(index, _)| index)
            .collect();
        let pseudo: HashSet<usize> = pairs(&nodes["pseudoType"]).map(|(index, _)| index).collect();
        let names = nodes["nodeName"].as_array().map_or(0, Vec::len);
        for at in 0..names {
            let up = nodes["parentIndex"][at].as_i64().and_then(|up| usize::try_from(up).ok()).map(|up| base + up);
            let up = if at == 0 { parent } else { up };
            let tag = string(strings, &nodes["nodeName"][at]).to_ascii_lowercase();
            let is_svg =
                tag == "svg" || up.is_some_and(|up| self.nodes[up].is_svg && self.nodes[up].tag != "foreignobject");
            let above = up.is_some_and(|up| self.nodes[up].is_internal);
            let attributes: Vec<&Value> = nodes["attributes"][at].as_array().into_iter().flatten().collect();
            let attributes = attributes
                .chunks_exact(2)
                .map(|pair| (string(strings, pair[0]).to_ascii_lowercase(), string(strings, pair[1]).to_owned()));
            self.nodes.push(PageNode {
                parent: up,
                text: if tag == "#text" { string(strings, &nodes["nodeValue"][at]).to_owned() } else { String::new() },
                number: nodes["backendNodeId"][at].as_i64().unwrap_or(0),
                attributes: attributes.collect(),
                listens: listening.contains(&at),
                is_internal: above || internal.contains(&at) || pseudo.contains(&at),
                is_svg,
                tag,
                ..PageNode::default()
            });
            if let Some(up) = up {
                self.nodes[up].children.push(base + at);
            }
        }
        self.lay_out(&document["layout"], strings, base, shift);
        for (index, inner) in pairs(&nodes["contentDocumentIndex"]) {
            let at = base + index;
            let Some([left, top, ..]) = self.nodes[at].bounds else { continue };
            let border = client_corner(&document["layout"], index);
            if let Some(inner) = inner.as_u64() {
                places.insert(inner as usize, (at, [left + border[0], top + border[1]]));
            }
        }
    }

    fn lay_out(&mut self, layout: &Value, strings: &Value, base: usize, shift: [f64; 2]) {
        for (at, index) in layout["nodeIndex"].as_array().into_iter().flatten().enumerate() {
            let Some(node) = index.as_u64().and_then(|index| self.nodes.get_mut(base + index as usize)) else {
                continue;
            };
            if node.bounds.is_some() {
                continue;
            }
            let number = |part: usize| layout["bounds"][at][part].as_f64().unwrap_or(0.0);
            node.bounds = Some([number(0) + shift[0], number(1) + shift[1], number(2), number(3)]);
            let styles = layout["styles"][at].as_array().into_iter().flatten();
            node.style = STYLES.into_iter().zip(styles.map(|style| string(strings, style).to_owned())).collect();
            // Texts are taken as shown: with `text-transform`, without folded blanks.
            let shown = string(strings, &layout["text"][at]);
            if node.tag == "#text" && !shown.is_empty() {
                shown.clone_into(&mut node.text);
            }
        }
        // The style of a text is its element's.
        for at in base..self.nodes.len() {
            if self.nodes[at].tag == "#text"
                && let Some(parent) = self.nodes[at].parent
            {
                self.nodes[at].style = self.nodes[parent].style.clone();
            }
        }
    }
}

/// Width of the left and top border of a frame's element.
fn client_corner(layout: &Value, node: usize) -> [f64; 2] {
    let at = layout["nodeIndex"].as_array().into_iter().flatten().position(|index| index.as_u64() == Some(node as u64));
    let corner = |part: usize| at.and_then(|at| layout["clientRects"][at][part].as_f64()).unwrap_or(0.0);
    [corner(0), corner(1)]
}

fn numbers(list: &Value) -> HashSet<usize> {
    list.as_array().into_iter().flatten().filter_map(|value| value.as_u64().map(|value| value as usize)).collect()
}

/// The entries of a sparse list: index and value.
fn pairs(sparse: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let indices = sparse["index"].as_array().into_iter().flatten();
    let values = sparse["value"].as_array().into_iter().flatten();
    indices.zip(values).filter_map(|(index, value)| Some((index.as_u64()? as usize, value)))
}
