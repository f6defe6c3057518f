//! Lenient parsing of token counts: an invalid count becomes `None`, and the rest of the answer is still read.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// More than anyone is ever charged for; sums of counts do not overflow.
const MOST: f64 = 1e15;

/// Parses a count: an integer, a number with a fraction (`12.0`), or either as text. Anything else becomes `None`.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    let number = raw.get().trim_matches('"').trim().parse().ok();
    Ok(number.filter(|number| (0.0..=MOST).contains(number)).map(|number: f64| number.round() as u64))
}

/// Parses an object of counts. Anything else becomes `None`.
pub(crate) fn counts<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Used {
        #[serde(default, deserialize_with = "count")]
        n: Option<u64>,
    }

    #[derive(Deserialize)]
    struct Answer {
        #[serde(default, deserialize_with = "counts")]
        usage: Option<Used>,
    }

    #[test]
    fn what_is_no_count_is_none() {
        for (written, meant) in [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("12.6", Some(13)),
            ("\"12\"", Some(12)),
            ("\" 12.4\"", Some(12)),
            ("-1", None),
            ("1e300", None),
            ("18446744073709551615", None),
            ("\"many\"", None),
            ("\"NaN\"", None),
            ("null", None),
            ("[1]", None),
            ("{\"a\":1}", None),
            ("true", None),
        ] {
            let read: Used = serde_json::from_str(&format!("{{\"n\":{written}}}")).unwrap();
            assert_eq!(read.n, meant, "{written}");
        }
        assert_eq!(serde_json::from_str::<Used>("{}").unwrap(), Used { n: None });
    }

    #[test]
    fn what_is_no_object_of_counts_is_none() {
        for (written, meant) in [("{\"n\":1}", Some(Used { n: Some(1) })), ("null", None), ("\"x\"", None), ("7", None)]
        {
            let read: Answer = serde_json::from_str(&format!("{{\"usage\":{written}}}")).unwrap();
            assert_eq!(read.usage, meant, "{written}");
        }
    }
}
