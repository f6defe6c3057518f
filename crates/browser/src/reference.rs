//! The short names of elements: `e12` stays the same element for as long as its page is open.

use std::collections::HashMap;

use crate::error::Error;

/// The names that were given in one tab. Numbers are never used twice, so a name from an earlier page is noticed.
#[derive(Default)]
pub(crate) struct References {
    newest: u32,
    nodes: HashMap<u32, i64>,
    names: HashMap<i64, u32>,
}

impl References {
    /// The name of an element, by the browser's number for it.
    pub(crate) fn name(&mut self, node: i64) -> String {
        let number = *self.names.entry(node).or_insert_with(|| {
            self.newest += 1;
            self.nodes.insert(self.newest, node);
            self.newest
        });
        format!("e{number}")
    }

    /// The element of a name.
    pub(crate) fn node(&self, reference: &str) -> Result<i64, Error> {
        let number = reference.strip_prefix('e').and_then(|digits| digits.parse::<u32>().ok());
        let Some(number) = number.filter(|number| (1..=self.newest).contains(number)) else {
            return Err(Error::NotAReference { text: reference.chars().take(40).collect() });
        };
        let node = self.nodes.get(&number).copied();
        node.ok_or_else(|| Error::StaleReference { reference: reference.to_owned() })
    }

    /// Another page: its elements may have the numbers of the last one's.
    pub(crate) fn forget(&mut self) {
        self.nodes.clear();
        self.names.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stable_and_gone_with_its_page() {
        let mut references = References::default();
        assert_eq!(
            (references.name(7), references.name(9), references.name(7)),
            ("e1".into(), "e2".into(), "e1".into())
        );
        assert_eq!(references.node("e2").unwrap(), 9);
        assert!(matches!(references.node("e3"), Err(Error::NotAReference { .. })));
        references.forget();
        assert!(matches!(references.node("e2"), Err(Error::StaleReference { .. })));
        assert_eq!(references.name(7), "e3");
    }
}
