//! Reads what models write: JSON that is nearly right, and tool calls and reasoning inside plain text.
//!
//! ```
//! use serde_json::json;
//! use updraft_lenient::{JsonFault, read_calls, repair};
//!
//! let repaired = repair("{'city': 'Oslo', 'days': 3,}").unwrap();
//! assert_eq!(repaired.value, json!({"city": "Oslo", "days": 3}));
//! assert_eq!(repaired.repairs[0].what, JsonFault::SingleQuotes);
//!
//! let read = read_calls(r#"I look it up. {"name": "search", "arguments": {"q": "Oslo"}}"#, &|name| name == "search");
//! assert_eq!((read.text.as_str(), read.calls[0].name.as_str()), ("I look it up.", "search"));
//! ```
//!
//! The same text always gives the same value: nothing here uses a clock, a file or a random number, so that `run` may
//! base decisions on it. Time and memory grow linearly with the length of the text, whatever it contains.
//!
//! | to read | file |
//! |---|---|
//! | JSON in text, repaired | `repair.rs` |
//! | calls and reasoning in text | `protocol.rs` |
//! | a text that is one object | `object.rs` |

#![deny(clippy::wildcard_enum_match_arm)]

mod object;
mod protocol;
mod repair;

pub use object::whole_object;
pub use protocol::{ParsedText, TextCall, calls_alone, read as read_calls, split_reasoning};
pub use repair::{JsonFault, Repair, RepairedJson, repair, repair_with};
