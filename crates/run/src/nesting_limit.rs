//! Limits how deeply values may be nested, so that everything written can be read again.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Arguments and results nested deeper than this are refused when they arrive.
pub const DEEPEST: usize = 100;

/// Records nested deeper than this are not written. Larger than `DEEPEST`, so that everything written before there was
/// a limit (repaired answers have up to 200 levels) can be read, forked and imported.
const DEEPEST_RECORD: usize = 255;

/// Whether a value is nested deeper than `DEEPEST`.
pub fn is_too_deep(value: &Value) -> bool {
    exceeds(value, DEEPEST)
}

fn exceeds(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| exceeds(item, levels - 1)),
        Value::Object(members) => levels == 0 || members.values().any(|member| exceeds(member, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Refuses the JSON of a record that is nested too deeply to be read again.
pub(crate) fn check(json: &[u8]) -> Result<(), serde_json::Error> {
    // Few texts have this many brackets at all, and counting is cheaper than parsing.
    let brackets = json.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if brackets > DEEPEST_RECORD && nesting(json) > DEEPEST_RECORD {
        return Err(serde::de::Error::custom(format!("it is nested deeper than {DEEPEST_RECORD} levels")));
    }
    Ok(())
}

fn nesting(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Reads JSON that is nested deeper than `serde_json` allows by itself (127 levels). It is the same code that reads other
/// records: to read them from a `Value` instead would generate all of it a second time.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    check(json)?;
    let mut reader = serde_json::Deserializer::from_slice(json);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::{ForkChange, Input, Record, RunId, Timestamp};

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!("[{\\\"[{"), |inner, n| if n % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) })
    }

    #[test]
    fn a_value_may_have_as_many_levels_as_the_limit_says() {
        assert!(!is_too_deep(&nested(DEEPEST)));
        assert!(is_too_deep(&nested(DEEPEST + 1)));
    }

    /// Before the limit, repaired answers of up to 200 levels were written.
    #[test]
    fn a_record_from_before_there_was_a_limit_can_be_read() {
        let variables = BTreeMap::from([("deep".to_owned(), nested(199))]);
        let change = Box::new(ForkChange { variables, ..ForkChange::default() });
        let input = Input::Fork { from: RunId::parse("r").unwrap(), at: 1, change };
        let record = Record { at: Timestamp(1), input, events: Vec::new() };
        assert_eq!(Record::from_json(Timestamp(1), &record.to_json().unwrap()).unwrap(), record);
    }

    #[test]
    fn levels_are_counted_outside_of_strings() {
        assert_eq!(nesting(nested(7).to_string().as_bytes()), 7);
    }

    #[test]
    fn what_may_be_written_can_be_read() {
        for levels in [1, 127, 128, DEEPEST_RECORD] {
            let value = nested(levels);
            assert_eq!(read::<Value>(value.to_string().as_bytes()).unwrap(), value);
        }
        assert!(check(nested(DEEPEST_RECORD + 1).to_string().as_bytes()).is_err());
        let endless = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(read::<Value>(endless.as_bytes()).is_err());
    }
}
