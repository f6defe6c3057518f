//! The events of a run, from the doc comments of `event.rs`.

use std::fmt::Write as _;

/// One event, as its source describes it.
#[derive(Debug, Default, PartialEq, Eq)]
struct EventDescription {
    name: String,
    about: String,
    /// The type, if it holds one value and no fields.
    value: Option<String>,
    fields: Vec<FieldDescription>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct FieldDescription {
    name: String,
    type_name: String,
    about: String,
}

const BEGINNING: &str = "\
# Events

<!-- Written by `cargo xtask reference --write` from crates/run/src/event.rs: edit that file. -->

Everything that happens in a run is one of these events. `updraft events RUN --json` and `updraft run --json` print one object
for each: `event` is an object with the event's name as its only key (or the name alone, if the event holds nothing). No event is
ever renamed, removed or given another meaning; new ones and optional fields may be added, so ignore what you do not know.
Types are those of the crate `run`; `Option` may be missing. [ARCHITECTURE](../../ARCHITECTURE.md#the-run-closer) shows the events in groups.
";

/// The page.
pub(super) fn page(source: &str) -> String {
    let mut text = BEGINNING.to_owned();
    for event in events(source) {
        let _ = write!(text, "\n## `{}`\n\n{}\n", event.name, event.about);
        if let Some(value) = &event.value {
            let _ = write!(text, "\nHolds `{value}`.\n");
        }
        if !event.fields.is_empty() {
            text += "\n| field | type | |\n|---|---|---|\n";
        }
        for field in &event.fields {
            let _ = writeln!(text, "| `{}` | `{}` | {} |", field.name, field.type_name, field.about.replace('|', "\\|"));
        }
    }
    text
}

/// The variants of `pub enum Event`. The file is formatted, so its lines tell.
fn events(source: &str) -> Vec<EventDescription> {
    let lines = source.lines().skip_while(|line| *line != "pub enum Event {").skip(1).take_while(|line| *line != "}");
    let (mut found, mut about) = (Vec::<EventDescription>::new(), String::new());
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if let Some(words) = line.strip_prefix("///") {
            about = format!("{about} {}", words.trim()).trim().to_owned();
        } else if line.starts_with("#[") || line.starts_with("//") || line.is_empty() || line == "}," {
        } else if indent == 4 {
            let name = line.trim_end_matches([' ', '{', ',']);
            let (name, value) = match name.split_once('(') {
                Some((name, value)) => (name, Some(plain(value.trim_end_matches(')')))),
                None => (name, None),
            };
            let name = snake_case(name);
            found.push(EventDescription { name, about: std::mem::take(&mut about), value, fields: Vec::new() });
        } else if let (Some((name, type_name)), Some(event)) = (line.split_once(": "), found.last_mut()) {
            let type_name = plain(type_name.trim_end_matches(','));
            let about = std::mem::take(&mut about);
            event.fields.push(FieldDescription { name: name.to_owned(), type_name, about });
        }
    }
    found
}

/// A type without what only the program needs to know.
fn plain(type_name: &str) -> String {
    let inside = ["Box<", "Arc<"].iter().find_map(|outer| type_name.strip_prefix(outer)?.strip_suffix('>'));
    match (inside, type_name.strip_prefix("Option<").and_then(|rest| rest.strip_suffix('>'))) {
        (Some(inside), _) => plain(inside),
        (None, Some(inside)) => format!("Option<{}>", plain(inside)),
        (None, None) => type_name.to_owned(),
    }
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_and_fields_are_read_with_their_comments() {
        let source = "\
pub enum Event {
    /// It began. Holds
    /// everything.
    Started(Box<RunStart>),
    /// A step ended.
    StepDone {
        /// Which.
        #[serde(default)]
        step: Option<Arc<StepId>>,
    },
    /// Over.
    Paused,
}
";
        let field = FieldDescription { name: "step".into(), type_name: "Option<StepId>".into(), about: "Which.".into() };
        let event = |name: &str, about: &str| EventDescription {
            name: name.into(),
            about: about.into(),
            ..EventDescription::default()
        };
        let started = EventDescription { value: Some("RunStart".into()), ..event("started", "It began. Holds everything.") };
        let done = EventDescription { fields: vec![field], ..event("step_done", "A step ended.") };
        assert_eq!(events(source), [started, done, event("paused", "Over.")]);
    }
}
