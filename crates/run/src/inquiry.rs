//! What someone who is called wants to know of a person: in words, and whether an answer fits.
//!
//! Forms are flat: an object whose fields are texts, numbers, yes or no, or choices from a list.

use serde_json::{Map, Value};

use crate::effect::Inquiry;

/// Bytes of a question or a description that a person is shown.
const LONGEST: usize = 4_000;

/// One field of a form, as a person is asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// What it is called, and what it is for, where that is said.
    pub about: String,
    /// What is wanted: `text`, `a number`, `one of red, blue`.
    pub wants: String,
    /// Whether it may be left out.
    pub is_needed: bool,
    /// What counts where it is left out.
    pub default: Option<Value>,
    schema: Value,
}

impl Inquiry {
    /// The question as a person is shown it: who asks, what, and what not to say.
    pub fn words(&self) -> String {
        let mut words = format!("{} asks: {}", self.from, head(&self.text, LONGEST));
        if let Some(address) = &self.visit {
            words.push_str("\nIt wants you to visit ");
            words.push_str(head(address, LONGEST));
            words.push_str("\nLook at the address first; answer `yes` when you are done there.");
        }
        if self.form.is_some() {
            for field in self.fields() {
                words.push_str("\n  ");
                words.push_str(&field.words());
            }
            words.push_str("\nWhat you answer goes to it: enter no passwords or keys.");
        }
        words
    }

    /// The fields of the form, in the order of their names.
    pub fn fields(&self) -> Vec<Field> {
        let form = self.form.as_ref();
        let needed = |name: &str| {
            let required = form.and_then(|form| form.get("required")).and_then(Value::as_array);
            required.is_some_and(|names| names.iter().any(|one| one == name))
        };
        let fields = form.and_then(|form| form.get("properties")).and_then(Value::as_object).into_iter().flatten();
        let field = |(name, schema): (&String, &Value)| {
            let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
            let about = [text("title"), text("description")].into_iter().filter(|text| !text.is_empty());
            Field {
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

    /// What a person's words give as an answer: the object that is wanted, as JSON. A form with one field takes its value
    /// alone. The error says what does not fit.
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

    /// The answer with defaults for what was left out, if it fits.
    pub fn check(&self, mut given: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let fields = self.fields();
        if let Some(unknown) = given.keys().find(|name| !fields.iter().any(|field| field.name == **name)) {
            return Err(format!("there is no field `{unknown}`"));
        }
        for field in &fields {
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

impl Field {
    /// The field in one line.
    pub fn words(&self) -> String {
        let about = if self.about.is_empty() { String::new() } else { format!(" ({})", self.about) };
        let default = self.default.as_ref().map(|value| format!("; {value} if left out")).unwrap_or_default();
        let needed = if self.is_needed || self.default.is_some() { "" } else { "; may be left out" };
        format!("{}{about}: {}{default}{needed}", self.name, self.wants)
    }

    /// A person's words as the value that is wanted.
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

    /// The choice that is meant: by its value, or by what it is called.
    fn choice(&self, text: &str) -> String {
        let titles = |key: &str| {
            let list = self.schema.get(key).or_else(|| self.schema.get("items").and_then(|items| items.get(key)));
            list.and_then(Value::as_array).into_iter().flatten()
        };
        let called = titles("oneOf").chain(titles("anyOf")).find(|one| one.get("title").is_some_and(|t| t == text));
        let meant = called.and_then(|one| one.get("const")).and_then(Value::as_str);
        meant.unwrap_or(text).to_owned()
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        if fits(&self.schema, value) { Ok(()) } else { Err(format!("`{}` wants {}", self.name, self.wants)) }
    }
}

/// The values to choose from, where a schema lists them.
fn choices(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        return Some(list.iter().collect());
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    Some(titled.iter().filter_map(|one| one.get("const")).collect())
}

fn wants(schema: &Value) -> String {
    let listed = |schema: &Value| {
        let all: Vec<String> = choices(schema)?.into_iter().map(crate::extract::plain).collect();
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
    if choices(schema).is_some_and(|list| !list.contains(&value)) {
        return false;
    }
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let within = |n: f64, low: &str, high: &str| {
        number(low).is_none_or(|low| n >= low) && number(high).is_none_or(|high| n <= high)
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => value.is_boolean(),
        Some(kind @ ("integer" | "number")) => {
            value.as_f64().is_some_and(|n| (kind == "number" || n.fract() == 0.0) && within(n, "minimum", "maximum"))
        }
        Some("array") => value.as_array().is_some_and(|entries| {
            let each = entries.iter().all(|entry| schema.get("items").is_none_or(|items| fits(items, entry)));
            each && within(entries.len() as f64, "minItems", "maxItems")
        }),
        Some("string") => value.as_str().is_some_and(|text| {
            within(text.chars().count() as f64, "minLength", "maxLength")
                && has_form(schema.get("format").and_then(Value::as_str), text)
        }),
        // A choice is known by its values; what else there may be, the one who asks will check.
        _ => true,
    }
}

/// Whether a text has the named form, as far as a glance tells: mistakes are caught here, lies are not.
fn has_form(form: Option<&str>, text: &str) -> bool {
    let digits = |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_date = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        matches!(parts.as_slice(), [y, m, d] if digits(y, 4) && digits(m, 2) && digits(d, 2))
    };
    match form {
        Some("email") => text.split_once('@').is_some_and(|(who, at)| !who.is_empty() && at.contains('.')),
        Some("uri") => text.split_once(':').is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty()),
        Some("date") => is_date(text),
        Some("date-time") => {
            text.split_once(['T', 't', ' ']).is_some_and(|(day, time)| is_date(day) && !time.is_empty())
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inquiry(form: Value) -> Inquiry {
        Inquiry { from: "MCP server `shop`".into(), text: "How many?".into(), form: Some(form), visit: None, key: None }
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
             extras: some of a of at most 1 entries; may be left out\n  gift: yes or no; false if left out\n  \
             mail: text (email); may be left out\n  size: one of s, m\n\
             What you answer goes to it: enter no passwords or keys."
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
            (r#"{"size": "m", "count": 1, "extras": ["b"]}"#, "`extras` wants some of a of at most 1 entries"),
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
    fn a_visit_wants_a_word_of_consent() {
        let visit = Some("https://example.com/pay".to_owned());
        let inquiry = Inquiry { from: "MCP server `shop`".into(), text: "Pay".into(), form: None, visit, key: None };
        assert_eq!((inquiry.read("yes"), inquiry.read("maybe").is_err()), (Ok("{}".into()), true));
        assert!(inquiry.words().contains("https://example.com/pay"));
    }
}
