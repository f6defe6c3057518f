//! Ids and addresses: run ids, step ids, effect addresses, content hashes, times and amounts.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a piece of text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}: {expected}")]
pub struct BadId {
    /// What was read.
    pub text: String,
    /// What it was read as.
    pub what: &'static str,
    /// What would have been accepted.
    pub expected: &'static str,
}

/// Cuts a text for an error message, so that even a huge id stays readable.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// Names a run. An id made by the engine cannot be guessed; people may use any unique prefix.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(Arc<str>);

impl RunId {
    /// Checks a run id: 1 to 64 letters, digits, `_`, `-`.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let fits =
            (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(BadId { text: shown(text), what: "run id", expected: "1 to 64 letters, digits, `_`, `-`" })
        }
    }

    /// Encodes 80 random bits, given by the caller, as 16 lower-case letters and digits.
    pub fn from_bits(bits: [u8; 10]) -> Self {
        const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let mut value = bits.iter().fold(0u128, |sum, byte| (sum << 8) | u128::from(*byte));
        let mut text = [0u8; 16];
        for place in text.iter_mut().rev() {
            *place = ALPHABET[(value & 31) as usize];
            value >>= 5;
        }
        Self(text.iter().map(|b| *b as char).collect::<String>().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Names a step of a graph: 1 to 64 letters, digits, `_`, `-`, `.`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(Arc<str>);

impl StepId {
    /// Checks an id from a model or a file.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let fits = (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(BadId { text: shown(text), what: "step id", expected: "1 to 64 letters, digits, `_`, `-`, `.`" })
        }
    }

    /// An id from a constant in our own code.
    pub(crate) fn known(name: &'static str) -> Self {
        Self(name.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The kind of effect at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKind {
    /// A question to the step's model: one turn.
    Ask,
    /// A tool call of that turn.
    Call,
    /// A person's approval of a call.
    Approve,
    /// A model's judgement of the step's result.
    Judge,
    /// A summary of older turns.
    Compact,
    /// A check by the guardrails: of the goal before a step's first question, or of its answer.
    Guard,
}

impl EffectKind {
    const ALL: [(EffectKind, &'static str); 6] = [
        (EffectKind::Ask, "ask"),
        (EffectKind::Call, "call"),
        (EffectKind::Approve, "approve"),
        (EffectKind::Judge, "judge"),
        (EffectKind::Compact, "compact"),
        (EffectKind::Guard, "guard"),
    ];

    fn name(self) -> &'static str {
        match self {
            EffectKind::Ask => "ask",
            EffectKind::Call => "call",
            EffectKind::Approve => "approve",
            EffectKind::Judge => "judge",
            EffectKind::Compact => "compact",
            EffectKind::Guard => "guard",
        }
    }
}

/// The address of an effect: `step/visit/turn/kind.n`, and `/k` for the k-th call made from inside code.
///
/// An address is never used twice, so a reply cannot be mistaken for the reply to another effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EffectAddress {
    /// The step that wants it.
    pub step: StepId,
    /// How often the step was entered before.
    pub visit: u32,
    /// Which question of this visit, from 0.
    pub turn: u32,
    /// The kind of effect.
    pub kind: EffectKind,
    /// Which effect of this kind in this turn.
    pub n: u32,
    /// Which call, if it was made by code that this call runs.
    pub inner: Option<u32>,
}

impl EffectAddress {
    /// The address of the only effect of a kind in a turn.
    pub fn of(step: &StepId, visit: u32, turn: u32, kind: EffectKind) -> Self {
        Self { step: step.clone(), visit, turn, kind, n: 0, inner: None }
    }

    /// The address of the k-th call made by the code that this call runs.
    #[must_use]
    pub fn within(&self, k: u32) -> Self {
        Self { inner: Some(k), ..self.clone() }
    }

    /// Whether it was made by the code of the call at `outer`.
    pub fn is_within(&self, outer: &EffectAddress) -> bool {
        let Self { step, visit, turn, kind, n, inner } = self;
        let same_turn = (visit, turn) == (&outer.visit, &outer.turn) && *step == outer.step;
        inner.is_some() && outer.inner.is_none() && same_turn && (kind, n) == (&outer.kind, &outer.n)
    }

    /// The call whose code made this one.
    pub fn outer(&self) -> Option<Self> {
        self.inner.map(|_| Self { inner: None, ..self.clone() })
    }

    /// The address of another kind and number in the same turn.
    #[must_use]
    pub fn sibling(&self, kind: EffectKind, n: u32) -> Self {
        Self { kind, n, inner: None, ..self.clone() }
    }
}

impl fmt::Display for EffectAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}.{}", self.step, self.visit, self.turn, self.kind.name(), self.n)?;
        self.inner.map_or(Ok(()), |k| write!(f, "/{k}"))
    }
}

impl FromStr for EffectAddress {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId { text: shown(text), what: "effect address", expected: "`step/visit/turn/kind.n`" };
        let mut parts = text.split('/');
        let mut next = || parts.next().ok_or_else(bad);
        let step = StepId::parse(next()?)?;
        let visit = next()?.parse().map_err(|_| bad())?;
        let turn = next()?.parse().map_err(|_| bad())?;
        let (name, n) = next()?.split_once('.').ok_or_else(bad)?;
        let kind = EffectKind::ALL.iter().find(|(_, known)| *known == name).ok_or_else(bad)?.0;
        let n = n.parse().map_err(|_| bad())?;
        let inner = parts.next().map(|k| k.parse().map_err(|_| bad())).transpose()?;
        if parts.next().is_some() {
            return Err(bad());
        }
        Ok(Self { step, visit, turn, kind, n, inner })
    }
}

/// The SHA-256 of a stored value. It is computed where the bytes are; this crate only passes it on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromStr for ContentHash {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId { text: shown(text), what: "content hash", expected: "64 hexadecimal digits" };
        if text.len() != 64 || !text.is_ascii() {
            return Err(bad());
        }
        let mut bytes = [0u8; 32];
        for (place, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
            *place = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

macro_rules! as_text {
    ($($type:ty: $parse:expr),* $(,)?) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                $parse(&text).map_err(serde::de::Error::custom)
            }
        }
    )*};
}

as_text! { RunId: RunId::parse, StepId: StepId::parse, EffectAddress: EffectAddress::from_str, ContentHash: ContentHash::from_str }

macro_rules! shows_as_text {
    ($($type:ty),*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}

shows_as_text!(RunId, StepId);

/// A point in time, in milliseconds since 1970. Always given by the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time since `earlier`; zero if the clock went backwards.
    pub fn since(self, earlier: Timestamp) -> Millis {
        Millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

/// An amount of money in billionths of a US dollar: whole, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(pub u64);

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.0 as f64 / 1e9;
        if self.0 == 0 || dollars >= 0.01 { write!(f, "${dollars:.2}") } else { write!(f, "${dollars:.6}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_it_was_written() {
        let step = StepId::parse("find.it-2").unwrap();
        let plain = EffectAddress::of(&step, 1, 4, EffectKind::Call);
        let inside = EffectAddress { inner: Some(3), n: 2, ..plain.clone() };
        for address in [plain, inside] {
            assert_eq!(address.to_string().parse::<EffectAddress>().unwrap(), address);
        }
        assert!("a/0/0/ask.0/1/2".parse::<EffectAddress>().is_err());
        assert!("a/0/ask.0".parse::<EffectAddress>().is_err());
    }

    #[test]
    fn run_ids_spell_all_their_bits() {
        assert_eq!(RunId::from_bits([0; 10]).as_str(), "0000000000000000");
        assert_eq!(RunId::from_bits([255; 10]).as_str(), "zzzzzzzzzzzzzzzz");
    }
}
