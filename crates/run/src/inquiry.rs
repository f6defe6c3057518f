//! Questions to a person from a tool or server that is being called: how they are shown, and whether an answer fits.
//!
//! Forms are flat: an object whose fields are texts, numbers, yes or no, or choices from a list.

use serde_json::{Map, Value};

use crate::effect::Inquiry;
use crate::schema::bounds_misfit;

/// How many bytes of a question or a description a person is shown.
const LONGEST: usize = 4_000;

/// One field of a form, as a person is asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct FormField {
    /// Its name in the answer.
    pub name: String,
    /// Its title and description, if there are any.
    pub about: String,
    /// The kind of value that is expected: `text`, `a number`, `one of red, blue`.
    pub wants: String,
    /// Whether it must be given.
    pub is_needed: bool,
    /// The value that is used if it is left out.
    pub default: Option<Value>,
    schema: Value,
}

impl Inquiry {
    /// The question as a person sees it: who asks, what is asked, and a warning not to enter secrets.
    pub fn words(&self) -> String {
        let mut words = format!("{} asks: {}", self.from, head(&self.text, LONGEST));
        if let Some(url) = &self.url {
            words.push_str("\nIt asks you to open ");
            words.push_str(head(url, LONGEST));
            words.push_str("\nCheck the address first; answer `yes` when you are done there.");
        }
        if self.form.is_some() {
            for field in self.fields() {
                words.push_str("\n  ");
                words.push_str(&field.words());
            }
            words.push_str("\nYour answer is sent to it: enter no passwords or keys.");
        }
        words
    }

    /// The fields of the form, in the order of their names.
    pub fn fields(&self) -> Vec<FormField> {
        let form = self.form.as_ref();
        let needed = |name: &str| {
            let required = form.and_then(|form| form.get("required")).and_then(Value::as_array);
            required.is_some_and(|names| names.iter().any(|one| one == name))
        };
        let fields = form.and_then(|form| form.get("properties")).and_then(Value::as_object).into_iter().flatten();
        let field = |(name, schema): (&String, &Value)| {
            let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
            let about = [text("title"), text("description")].into_iter().filter(|text| !text.is_empty());
            FormField {
                name: name.clone(),
                about: head(&about.collect::<Vec<_>>().join(": "), LONGEST).to_owned(),
                wants: wants(schema),
                is_needed: needed(name),
                default: schema.get("default").cloned(),
                schema: schema.clone(),
            }
        };
        fields.map(field).collect()
    }

    /// Turns a person's text into the answer: the expected object, as JSON. A form with one field accepts the bare
    /// value. The error says what does not fit.
    pub fn read(&self, text: &str) -> Result<String, String> {
        if self.form.is_none() {
            return match text.trim().to_lowercase().as_str() {
                "yes" | "y" | "ok" | "done" | "{}" => Ok("{}".into()),
                _ => Err("answer `yes`, or decline".into()),
            };
        }
        let fields = self.fields();
        let given = match (serde_json::from_str::<Value>(text.trim()), fields.as_slice()) {
            (Ok(Value::Object(given)), _) => given,
            (_, [only]) => Map::from_iter([(only.name.clone(), only.read(text)?)]),
            (_, []) if text.trim().to_lowercase() == "yes" => Map::new(),
            _ => {
                let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                return Err(format!("expected a JSON object with the fields {}", names.join(", ")));
            }
        };
        self.check(given).map(|given| Value::Object(given).to_string())
    }

    /// The answer with defaults for missing fields, if it fits.
    pub fn check(&self, mut given: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let fields = self.fields();
        if let Some(unknown) = given.keys().find(|name| !fields.iter().any(|field| field.name == **name)) {
            return Err(format!("there is no field `{unknown}`"));
        }
        for field in &fields {
            if let Some(value) = given.get_mut(&field.name) {
                field.means(value);
            }
            match (given.get(&field.name), &field.default) {
                (Some(value), _) => field.check(value)?,
                (None, Some(default)) => drop(given.insert(field.name.clone(), default.clone())),
                (None, None) if field.is_needed => return Err(format!("`{}` is missing", field.name)),
                (None, None) => {}
            }
        }
        Ok(given)
    }
}

fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit.min(text.len()))]
}

impl FormField {
    /// The field in one line.
    pub fn words(&self) -> String {
        let about = if self.about.is_empty() { String::new() } else { format!(" ({})", self.about) };
        let default = self.default.as_ref().map(|value| format!("; {value} if left out")).unwrap_or_default();
        let needed = if self.is_needed || self.default.is_some() { "" } else { "; may be left out" };
        format!("{}{about}: {}{default}{needed}", self.name, self.wants)
    }

    /// Turns a person's text into the expected value.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let misfit = || format!("`{}` wants {}", self.name, self.wants);
        let value = match self.schema.get("type").and_then(Value::as_str) {
            Some("boolean") => match text.to_lowercase().as_str() {
                "yes" | "y" | "true" => Value::Bool(true),
                "no" | "n" | "false" => Value::Bool(false),
                _ => return Err(misfit()),
            },
            Some("integer" | "number") => {
                serde_json::from_str(text).ok().filter(Value::is_number).ok_or_else(misfit)?
            }
            Some("array") => serde_json::from_str(text)
                .ok()
                .filter(Value::is_array)
                .unwrap_or_else(|| text.split(',').map(|one| Value::String(self.choice(one.trim()))).collect()),
            _ => Value::String(self.choice(text)),
        };
        self.check(&value).map(|()| value)
    }

    /// The choice that the person means, by its value or by its title.
    fn choice(&self, text: &str) -> String {
        let choices = choices(&self.schema).or_else(|| choices(self.schema.get("items")?)).unwrap_or_default();
        let is_value = choices.iter().any(|(value, _)| *value == text);
        let called = choices.iter().find(|(_, title)| !is_value && *title == Some(text));
        called.and_then(|(value, _)| value.as_str()).unwrap_or(text).to_owned()
    }

    /// Replaces titles of choices by their values.
    fn means(&self, given: &mut Value) {
        match given {
            Value::String(text) => *text = self.choice(text),
            Value::Array(all) => all.iter_mut().for_each(|one| {
                if let Value::String(text) = one {
                    *text = self.choice(text);
                }
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        if fits(&self.schema, value) { Ok(()) } else { Err(format!("`{}` wants {}", self.name, self.wants)) }
    }
}

/// The values to choose from, with their titles, if a schema lists them.
fn choices(schema: &Value) -> Option<Vec<(&Value, Option<&str>)>> {
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let name = |k: usize| names.and_then(|names| names.get(k)?.as_str());
        return Some(list.iter().enumerate().map(|(k, value)| (value, name(k))).collect());
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    Some(titled.iter().filter_map(|one| Some((one.get("const")?, one.get("title").and_then(Value::as_str)))).collect())
}

fn wants(schema: &Value) -> String {
    let shown = |(value, title): (&Value, Option<&str>)| {
        let value = crate::extract::plain(value);
        match title.filter(|title| *title != value) {
            Some(title) => format!("{value} ({title})"),
            None => value,
        }
    };
    let listed = |schema: &Value| {
        let all: Vec<String> = choices(schema)?.into_iter().map(shown).collect();
        Some(all.join(", "))
    };
    if let Some(list) = listed(schema) {
        return format!("one of {list}");
    }
    let bound = |key: &str| schema.get(key).map(ToString::to_string);
    let range = |low: Option<String>, high: Option<String>, unit: &str| match (low, high) {
        (Some(low), Some(high)) => format!(" of {low} to {high}{unit}"),
        (Some(low), None) => format!(" of at least {low}{unit}"),
        (None, Some(high)) => format!(" of at most {high}{unit}"),
        (None, None) => String::new(),
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => "yes or no".into(),
        Some("integer") => format!("a whole number{}", range(bound("minimum"), bound("maximum"), "")),
        Some("number") => format!("a number{}", range(bound("minimum"), bound("maximum"), "")),
        Some("array") => {
            let list = schema.get("items").and_then(listed).unwrap_or_default();
            format!("some of {list}{}", range(bound("minItems"), bound("maxItems"), " entries"))
        }
        _ => {
            let form = schema.get("format").and_then(Value::as_str).map(|form| format!(" ({form})"));
            let length = range(bound("minLength"), bound("maxLength"), " characters");
            format!("text{}{length}", form.unwrap_or_default())
        }
    }
}

fn fits(schema: &Value, value: &Value) -> bool {
    if choices(schema).is_some_and(|list| !list.iter().any(|(one, _)| *one == value)) {
        return false;
    }
    if schema.as_object().is_some_and(|schema| bounds_misfit(schema, value).is_some()) {
        return false;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        Some("number") => value.is_number(),
        Some("array") => value.as_array().is_some_and(|entries| {
            entries.iter().all(|entry| schema.get("items").is_none_or(|items| fits(items, entry)))
        }),
        Some("string") => {
            value.as_str().is_some_and(|text| has_form(schema.get("format").and_then(Value::as_str), text))
        }
        // A choice is checked by its values; the asker checks everything else.
        _ => true,
    }
}

/// Whether a text has the named format. E-mail addresses are checked only roughly.
fn has_form(form: Option<&str>, text: &str) -> bool {
    match form {
        Some("email") => {
            let parts = text.split_once('@').filter(|_| !text.contains(char::is_whitespace));
            parts.is_some_and(|(who, at)| !who.is_empty() && at.contains('.'))
        }
        Some("uri") => is_address(text),
        Some("date") => is_date(text),
        Some("date-time") => text.split_once(['T', 't']).is_some_and(|(day, time)| is_date(day) && is_time(time)),
        _ => true,
    }
}

fn is_address(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}');
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    text.chars().all(is_plain)
        && text.split_once(':').is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty())
}

/// A number with exactly this many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// A date as in RFC 3339 that exists in the calendar.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// A time of day as in RFC 3339, with its offset.
fn is_time(text: &str) -> bool {
    let Some(at) = text.find(['Z', 'z', '+', '-']) else { return false };
    let (time, zone) = text.split_at(at);
    let (time, fraction) = time.split_once('.').map_or((time, None), |(time, fraction)| (time, Some(fraction)));
    let is_fraction = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let within = |text: &str, most: u32| number(text, 2).is_some_and(|n| n <= most);
    let parts: Vec<&str> = time.split(':').collect();
    let is_clock = matches!(parts.as_slice(), [h, m, s] if within(h, 23) && within(m, 59) && within(s, 60));
    let is_zone = zone.eq_ignore_ascii_case("z")
        || zone.get(1..).and_then(|zone| zone.split_once(':')).is_some_and(|(h, m)| within(h, 23) && within(m, 59));
    is_clock && is_zone && fraction.is_none_or(is_fraction)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inquiry(form: Value) -> Inquiry {
        Inquiry { from: "MCP server `shop`".into(), text: "How many?".into(), form: Some(form), url: None, key: None }
    }

    fn whole() -> Inquiry {
        inquiry(json!({ "type": "object", "required": ["size", "count"], "properties": {
            "size": { "type": "string", "enum": ["s", "m"] },
            "count": { "type": "integer", "minimum": 1, "maximum": 5, "title": "Count" },
            "gift": { "type": "boolean", "default": false },
            "extras": { "type": "array", "items": { "anyOf": [{ "const": "a", "title": "Apple" }] }, "maxItems": 1 },
            "mail": { "type": "string", "format": "email" }
        } }))
    }

    #[test]
    fn the_person_sees_who_asks_what_is_wanted_and_what_not_to_say() {
        assert_eq!(
            whole().words(),
            "MCP server `shop` asks: How many?\n  count (Count): a whole number of 1 to 5\n  \
             extras: some of a (Apple) of at most 1 entries; may be left out\n  gift: yes or no; false if left out\n  \
             mail: text (email); may be left out\n  size: one of s, m\n\
             Your answer is sent to it: enter no passwords or keys."
        );
    }

    #[test]
    fn an_answer_that_fits_gets_defaults_and_one_that_does_not_says_why() {
        let read = |text: &str| whole().read(text);
        assert_eq!(read(r#"{"size": "m", "count": 2}"#), Ok(r#"{"count":2,"gift":false,"size":"m"}"#.into()));
        let faults = [
            ("medium", "expected a JSON object with the fields count, extras, gift, mail, size"),
            (r#"{"count": 2}"#, "`size` is missing"),
            (r#"{"size": "l", "count": 2}"#, "`size` wants one of s, m"),
            (r#"{"size": "m", "count": 6}"#, "`count` wants a whole number of 1 to 5"),
            (r#"{"size": "m", "count": 1.5}"#, "`count` wants a whole number of 1 to 5"),
            (r#"{"size": "m", "count": 1, "more": 1}"#, "there is no field `more`"),
            (r#"{"size": "m", "count": 1, "mail": "me"}"#, "`mail` wants text (email)"),
            (r#"{"size": "m", "count": 1, "extras": ["b"]}"#, "`extras` wants some of a (Apple) of at most 1 entries"),
        ];
        for (text, fault) in faults {
            assert_eq!(read(text), Err(fault.into()), "{text}");
        }
    }

    #[test]
    fn a_form_with_one_field_takes_its_value_alone() {
        let one = |schema: Value| inquiry(json!({ "type": "object", "properties": { "x": schema } }));
        assert_eq!(one(json!({ "type": "boolean" })).read("yes"), Ok(r#"{"x":true}"#.into()));
        assert_eq!(one(json!({ "type": "number" })).read("2.5"), Ok(r#"{"x":2.5}"#.into()));
        assert_eq!(one(json!({ "type": "string" })).read("two words"), Ok(r#"{"x":"two words"}"#.into()));
        let titled = json!({ "type": "string", "oneOf": [{ "const": "r", "title": "Red" }] });
        assert_eq!(one(titled).read("Red"), Ok(r#"{"x":"r"}"#.into()));
        let several = json!({ "type": "array", "items": { "enum": ["a", "b"], "type": "string" } });
        assert_eq!(one(several).read("a, b"), Ok(r#"{"x":["a","b"]}"#.into()));
    }

    #[test]
    fn choices_are_shown_with_what_they_are_called_and_taken_by_either() {
        let titled = json!([{ "const": "pet-1", "title": "Cats" }, { "const": "pet-2", "title": "pet-1" }]);
        let named = json!({ "type": "string", "enum": ["pet-1", "pet-2"], "enumNames": ["Cats", "pet-1"] });
        for schema in
            [named, json!({ "type": "string", "oneOf": titled }), json!({ "type": "string", "anyOf": titled })]
        {
            let one = inquiry(json!({ "type": "object", "properties": { "x": schema } }));
            assert!(one.words().contains("x: one of pet-1 (Cats), pet-2 (pet-1)"), "{}", one.words());
            for text in ["Cats", "pet-1", r#"{"x": "Cats"}"#] {
                assert_eq!(one.read(text), Ok(r#"{"x":"pet-1"}"#.into()), "{text}");
            }
            assert!(one.read("Dogs").is_err());
        }
        let several = inquiry(json!({ "type": "object", "properties": {
            "x": { "type": "array", "items": { "anyOf": titled } },
            "y": { "type": "string" },
        } }));
        assert_eq!(
            several.read(r#"{"x": ["Cats", "pet-2"], "y": "Cats"}"#),
            Ok(r#"{"x":["pet-1","pet-2"],"y":"Cats"}"#.into())
        );
    }

    #[test]
    fn days_moments_and_addresses_are_those_there_are() {
        let is = |form: &str, text: &str| has_form(Some(form), text);
        for text in ["2024-02-29", "2000-02-29", "2026-12-31"] {
            assert!(is("date", text), "{text}");
        }
        for text in [
            "2026-02-30",
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-01-00",
            "26-01-01",
            "+026-01-01",
        ] {
            assert!(!is("date", text), "{text}");
        }
        for text in ["2026-01-05T10:00:00Z", "2026-01-05t10:00:00.25+02:00"] {
            assert!(is("date-time", text), "{text}");
        }
        let wrong = [
            "2026-01-05 10:00",
            "2026-01-05T10:00:00",
            "2026-01-05T10:00Z",
            "2026-01-05T25:00:00Z",
            "2026-02-30T10:00:00Z",
            "2026-01-05T10:00:00.Z",
            "2026-01-05T10:00:00+2",
        ];
        for text in wrong {
            assert!(!is("date-time", text), "{text}");
        }
        assert!(is("uri", "https://example.com/a?b=c#d") && is("uri", "mailto:a@example.com"));
        for text in ["https://x y", "x", ":x", "1x:y", "https:", "https://x/<y>"] {
            assert!(!is("uri", text), "{text}");
        }
    }

    #[test]
    fn a_visit_wants_a_word_of_consent() {
        let url = Some("https://example.com/pay".to_owned());
        let inquiry = Inquiry { from: "MCP server `shop`".into(), text: "Pay".into(), form: None, url, key: None };
        assert_eq!((inquiry.read("yes"), inquiry.read("maybe").is_err()), (Ok("{}".into()), true));
        assert!(inquiry.words().contains("https://example.com/pay"));
    }
}
