//! The price table, loaded one provider at a time.

use std::sync::LazyLock;

use genai_prices::Calculator;

/// A provider's part of the table. Loading never fails: a test loads them all.
type ProviderPrices = LazyLock<Option<Calculator>>;

macro_rules! parts {
    ($($name:ident $id:literal,)*) => {
        $(static $name: ProviderPrices =
            LazyLock::new(|| Calculator::from_json(include_bytes!(concat!("../../data/prices/", $id, ".json"))).ok());)*

        /// A provider's part, by the table's name for it.
        pub(super) fn of(provider: &str) -> Option<&'static Calculator> {
            match provider {
                $($id => $name.as_ref(),)*
                _ => None,
            }
        }

        #[cfg(test)]
        pub(super) const PROVIDERS: &[&str] = &[$($id,)*];
    };
}

parts! {
    ANTHROPIC "anthropic",
    CEREBRAS "cerebras",
    DEEPSEEK "deepseek",
    FIREWORKS "fireworks",
    GOOGLE "google",
    GROQ "groq",
    MISTRAL "mistral",
    OPENAI "openai",
    OPENROUTER "openrouter",
    TOGETHER "together",
    X_AI "x-ai",
}
