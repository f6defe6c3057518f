//! The kinds of faults in JSON that a model wrote.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What was wrong with a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JsonFault {
    /// There was a Markdown fence around the value.
    Fence,
    /// There was text before the value.
    Prose,
    /// There was text after the value.
    TrailingText,
    /// There was more than one value; the largest, or the one that the schema asks for, was taken.
    SeveralValues,
    /// There was no comma between two values.
    MissingComma,
    /// There was a comma without a value.
    ExtraComma,
    /// A string had only one of its quotes; where it ends or begins was guessed.
    MissingQuote,
    /// A string had doubled or tripled quotes.
    ExtraQuote,
    /// A quote inside a string was not escaped; which quote ends the string was guessed.
    InnerQuote,
    /// A string had single quotes.
    SingleQuotes,
    /// A string had typographic quotes.
    CurlyQuotes,
    /// There was a Python literal (`True`, `None`, a tuple, a set) that JSON writes differently.
    PythonLiteral,
    /// A JavaScript value without a JSON form (`undefined`, `NaN`, `Infinity`) became `null`.
    #[serde(rename = "javascript_literal")]
    JavaScriptLiteral,
    /// A value was inside a call, such as `Date("…")`; the call was left out.
    Call,
    /// A comment was left out.
    Comment,
    /// A key had no quotes.
    UnquotedKey,
    /// A text value had no quotes; where it ends was guessed.
    UnquotedString,
    /// The text ended between or inside values; the rest is lost.
    Truncated,
    /// The text ended inside a string; the rest of the string is lost.
    TruncatedString,
    /// A bracket was opened and not closed, or closed and not opened.
    MissingBracket,
    /// A bracket closed nothing.
    ExtraBracket,
    /// There was a control character, such as a raw line break, in a string.
    ControlCharacter,
    /// A backslash did not begin a known escape, so it was kept as a backslash.
    BadEscape,
    /// A character was escaped needlessly.
    NeedlessEscape,
    /// A number was not in JSON form.
    BadNumber,
    /// There was no colon between a key and its value.
    MissingColon,
    /// There was more than one colon between a key and its value.
    ExtraColon,
    /// There was a kind of white space between values that JSON does not allow.
    OddBlank,
    /// A value had no key and was left out.
    MissingKey,
    /// A key had no value: it became `null` if there was a colon, and was left out otherwise.
    MissingValue,
    /// Text that is neither key nor value was left out.
    StrayText,
    /// An ellipsis stood for values the model did not write.
    Ellipsis,
    /// Strings joined with `+` became one.
    Concatenation,
    /// Brackets were nested beyond the limit; what is deeper became `null`.
    TooDeep,
    /// A key was written differently from the schema, such as `fileName` for `file_name`.
    RenamedKey,
    /// Punctuation was in its full-width form.
    FullWidth,
    /// A value had another type than the schema says and was converted without loss.
    WrongType,
    /// The value was itself written as a string of JSON.
    DoubleEncoded,
}

impl JsonFault {
    /// Whether the repair guessed at, or lost, text that the model meant: too uncertain to act on without asking.
    pub fn is_risky(&self) -> bool {
        match self {
            Self::MissingQuote
            | Self::InnerQuote
            | Self::UnquotedString
            | Self::Truncated
            | Self::TruncatedString
            // One unknown escape means that backslashes were not escaped, so a `\n` nearby may be part of a path.
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
