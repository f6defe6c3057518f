//! `sizes.toml`: what may be longer than the limits, and why. One `"place" = "reason"` a line.

use std::collections::{BTreeMap, BTreeSet};

use crate::fault::Fault;

/// The file, as the root of the workspace has it.
pub(crate) const FILE: &str = "sizes.toml";

/// The places that may be longer. Remembers which were needed, so that the others can be taken out.
#[derive(Debug, Default)]
pub(crate) struct Exceptions {
    reasons: BTreeMap<String, String>,
    needed: BTreeSet<String>,
}

impl Exceptions {
    /// Reads the list. A line that is not `"place" = "reason"` is a fault.
    pub(crate) fn parse(text: &str) -> (Self, Vec<Fault>) {
        let mut exceptions = Self::default();
        let mut faults = Vec::new();
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match entry(line) {
                Some((place, reason)) => {
                    exceptions.reasons.insert(place, reason);
                }
                None => faults.push(Fault::new(
                    format!("{FILE}:{number} is `{line}`; expected `\"path\" = \"reason\"`"),
                    "write one line for each place, with a reason that is not empty",
                )),
            }
        }
        (exceptions, faults)
    }

    /// Whether this place may be longer. Asked only about places that are.
    pub(crate) fn excuse(&mut self, place: &str) -> bool {
        let is_listed = self.reasons.contains_key(place);
        if is_listed {
            self.needed.insert(place.to_owned());
        }
        is_listed
    }

    /// The places nobody asked about: they are within the limits again, or gone.
    pub(crate) fn unneeded(&self) -> Vec<Fault> {
        let unneeded = self.reasons.keys().filter(|place| !self.needed.contains(*place));
        let fault = |place: &String| {
            Fault::new(format!("{FILE} lists `{place}`, which is within the limits or gone"), "remove the line")
        };
        unneeded.map(fault).collect()
    }
}

fn entry(line: &str) -> Option<(String, String)> {
    let (place, reason) = line.split_once('=')?;
    Some((quoted(place)?, quoted(reason)?))
}

fn quoted(text: &str) -> Option<String> {
    let inside = text.trim().strip_prefix('"')?.strip_suffix('"')?.trim();
    (!inside.is_empty()).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_place_is_excused_and_the_unneeded_one_reported() {
        let (mut exceptions, faults) =
            Exceptions::parse("# note\n\n\"a.rs\" = \"a list\"\n\"b.rs::long\" = \"a table\"\n");
        assert_eq!(faults, []);
        assert!(exceptions.excuse("a.rs"));
        assert!(!exceptions.excuse("c.rs"));
        let unneeded: Vec<String> = exceptions.unneeded().into_iter().map(|fault| fault.what).collect();
        assert_eq!(unneeded, ["sizes.toml lists `b.rs::long`, which is within the limits or gone"]);
    }

    #[test]
    fn an_exception_without_a_reason_is_refused() {
        let (_, faults) = Exceptions::parse("\"a.rs\" = \"\"\n");
        assert_eq!(faults[0].what, "sizes.toml:1 is `\"a.rs\" = \"\"`; expected `\"path\" = \"reason\"`");
    }
}
