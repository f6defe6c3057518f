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

Everything that happens in a run is one of these events. `updraft events RUN --json` prints one object for each: `event` is an object
with the event's name as its only key (or the name alone, if the event holds nothing), `seq` its number, `at` its time. No event is ever
renamed, removed or given another meaning; new ones and optional fields may be added, so ignore what you do not know. Types are those of the
crate `run`; `Option` may be missing. [ARCHITECTURE](../../ARCHITECTURE.md#the-run-closer) shows the events in groups.
";

const LINES: &str = "
## What `--json` prints

`updraft run --json`, `chat`, `resume`, `fork`, `rerun` and `attach` print lines for those who follow a run, not the journal itself: each has
`schema`, `run`, `seq` (the number of the event it comes from), `type`, and what belongs to its type. Answers in the making are `item.updated`.
";

/// The page, from the sources of the events and of the lines that `--json` prints.
pub(super) fn page(source: &str, lines: &str) -> String {
    let mut text = BEGINNING.to_owned();
    let types: Vec<String> = line_types(lines).iter().map(|name| format!("`{name}`")).collect();
    let _ = write!(text, "{LINES}\nTypes: {}.\n", types.join(", "));
    for event in events(source) {
        let _ = write!(text, "\n## `{}`\n\n{}\n", event.name, event.about);
        if let Some(value) = &event.value {
            let _ = write!(text, "\nHolds `{value}`.\n");
        }
        if !event.fields.is_empty() {
            text += "\n| field | type | means |\n|---|---|---|\n";
        }
        for field in &event.fields {
            let _ =
                writeln!(text, "| `{}` | `{}` | {} |", field.name, field.type_name, field.about.replace('|', "\\|"));
        }
    }
    text
}

/// The names of lines, which are texts of two words with a dot between them; and `error`.
fn line_types(source: &str) -> Vec<&str> {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let is_type = |text: &&str| text.split_once('.').is_some_and(|(one, other)| is_word(one) && is_word(other));
    let mut found: Vec<&str> = source.split('"').filter(is_type).chain(["error"]).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The variants of `pub enum Event`. The file is formatted, so its lines tell.
fn events(source: &str) -> Vec<EventDescription> {
    let lines = source.lines().skip_while(|line| *line != "pub enum Event {").skip(1).take_while(|line| *line != "}");
    let (mut found, mut about) = (Vec::<EventDescription>::new(), String::new());
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if let Some(words) = line.strip_prefix("///") {
            let separator = if about.is_empty() { "" } else { " " };
            about.extend([separator, words.trim()]);
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
    fn the_types_of_lines_are_found() {
        let source = r#"line("run.told", x); format!("{}.md"); one("item.updated", json!({ "id": "a b.c" }))"#;
        assert_eq!(line_types(source), ["error", "item.updated", "run.told"]);
    }

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
        let field =
            FieldDescription { name: "step".into(), type_name: "Option<StepId>".into(), about: "Which.".into() };
        let event = |name: &str, about: &str| EventDescription {
            name: name.into(),
            about: about.into(),
            ..EventDescription::default()
        };
        let started =
            EventDescription { value: Some("RunStart".into()), ..event("started", "It began. Holds everything.") };
        let done = EventDescription { fields: vec![field], ..event("step_done", "A step ended.") };
        assert_eq!(events(source), [started, done, event("paused", "Over.")]);
    }
}
