//! The kinds of thing that can be wrong with JSON a model wrote.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What was wrong with a piece of text, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JsonFault {
    /// A Markdown fence stood around the value.
    Fence,
    /// Text stood before the value.
    Prose,
    /// Text stood after the value.
    TrailingText,
    /// More than one value stood in the text; the largest, or the one the schema asks for, was taken.
    SeveralValues,
    /// Two values stood side by side.
    MissingComma,
    /// A comma separated nothing.
    ExtraComma,
    /// A string had only one of its quotes; where it ends or begins was guessed.
    MissingQuote,
    /// A string stood in doubled or tripled quotes.
    ExtraQuote,
    /// A quote inside a string was not escaped; which quote ends the string was guessed.
    InnerQuote,
    /// A string stood in single quotes.
    SingleQuotes,
    /// A string stood in typographic quotes.
    CurlyQuotes,
    /// A Python literal (`True`, `None`, a tuple, a set) stood where JSON has another.
    PythonLiteral,
    /// A JavaScript value without a JSON form (`undefined`, `NaN`, `Infinity`) became `null`.
    #[serde(rename = "javascript_literal")]
    JavaScriptLiteral,
    /// A value stood in a call, such as `Date("…")`; the call was left out.
    Call,
    /// A comment was left out.
    Comment,
    /// A key had no quotes.
    UnquotedKey,
    /// A text value had no quotes; where it ends was guessed.
    UnquotedString,
    /// The text stopped between or within values; what should follow is lost.
    Truncated,
    /// The text stopped inside a string; the rest of the string is lost.
    TruncatedString,
    /// A bracket was opened and not closed, or closed and not opened.
    MissingBracket,
    /// A bracket belonged to nothing.
    ExtraBracket,
    /// A control character, such as a raw line break, stood in a string.
    ControlCharacter,
    /// A backslash began no known escape, so it was kept as a backslash.
    BadEscape,
    /// A character was escaped that need not be.
    NeedlessEscape,
    /// A number was not written as JSON writes it.
    BadNumber,
    /// No colon stood between a key and its value.
    MissingColon,
    /// More than one colon stood between a key and its value.
    ExtraColon,
    /// A blank stood between values that JSON does not take for one.
    OddBlank,
    /// A value had no key and was left out.
    MissingKey,
    /// A key had no value: `null` after a colon, left out without one.
    MissingValue,
    /// Text that is neither key nor value was left out.
    StrayText,
    /// An ellipsis stood for values the model did not write.
    Ellipsis,
    /// Strings joined with `+` became one.
    Concatenation,
    /// Brackets were nested beyond the limit; what is deeper became `null`.
    TooDeep,
    /// A key was written otherwise than in the schema, such as `fileName` for `file_name`.
    RenamedKey,
    /// Punctuation stood in its full-width form.
    FullWidth,
    /// A value was of another type than the schema says and was converted without loss.
    WrongType,
    /// The value was itself written as a string of JSON.
    DoubleEncoded,
}

impl JsonFault {
    /// Whether the repair guessed at, or lost, text the model meant: too uncertain to act on unasked.
    pub fn is_risky(&self) -> bool {
        match self {
            Self::MissingQuote
            | Self::InnerQuote
            | Self::UnquotedString
            | Self::Truncated
            | Self::TruncatedString
            // One unknown escape means backslashes were not escaped, so a `\n` nearby may be a folder's name.
            | Self::BadEscape
            | Self::Call
            | Self::MissingKey
            | Self::MissingValue
            | Self::RenamedKey
            | Self::StrayText
            | Self::Ellipsis
            | Self::TooDeep => true,
            Self::Fence
            | Self::Prose
            | Self::TrailingText
            | Self::SeveralValues
            | Self::MissingComma
            | Self::ExtraComma
            | Self::ExtraQuote
            | Self::SingleQuotes
            | Self::CurlyQuotes
            | Self::PythonLiteral
            | Self::JavaScriptLiteral
            | Self::Comment
            | Self::UnquotedKey
            | Self::MissingBracket
            | Self::ExtraBracket
            | Self::ControlCharacter
            | Self::NeedlessEscape
            | Self::BadNumber
            | Self::MissingColon
            | Self::ExtraColon
            | Self::OddBlank
            | Self::FullWidth
            | Self::Concatenation
            | Self::WrongType
            | Self::DoubleEncoded => false,
        }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fence => "a code fence around the value",
            Self::Prose => "text before the value",
            Self::TrailingText => "text after the value",
            Self::SeveralValues => "more than one value",
            Self::MissingComma => "a missing comma",
            Self::ExtraComma => "a comma too many",
            Self::MissingQuote => "a missing quote",
            Self::ExtraQuote => "doubled quotes",
            Self::InnerQuote => "a quote inside a string that is not escaped",
            Self::SingleQuotes => "single quotes",
            Self::CurlyQuotes => "typographic quotes",
            Self::PythonLiteral => "a Python literal",
            Self::JavaScriptLiteral => "a JavaScript value that JSON lacks",
            Self::Call => "a value in a call",
            Self::Comment => "a comment",
            Self::UnquotedKey => "a key without quotes",
            Self::UnquotedString => "a string without quotes",
            Self::Truncated => "the end is missing",
            Self::TruncatedString => "the end of a string is missing",
            Self::MissingBracket => "a missing bracket",
            Self::ExtraBracket => "a bracket too many",
            Self::ControlCharacter => "a control character in a string",
            Self::BadEscape => "an unknown escape",
            Self::NeedlessEscape => "a needless escape",
            Self::BadNumber => "a number not written as JSON writes it",
            Self::MissingColon => "a missing colon",
            Self::ExtraColon => "a colon too many",
            Self::OddBlank => "a blank that JSON does not know",
            Self::MissingKey => "a value without a key",
            Self::MissingValue => "a key without a value",
            Self::StrayText => "text that is neither key nor value",
            Self::Ellipsis => "an ellipsis in place of values",
            Self::Concatenation => "strings joined with `+`",
            Self::TooDeep => "brackets nested too deep",
            Self::RenamedKey => "a key not written as the schema writes it",
            Self::FullWidth => "full-width punctuation",
            Self::WrongType => "a value of another type than the schema says",
            Self::DoubleEncoded => "JSON inside a string",
        })
    }
}
