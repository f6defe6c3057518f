//! Caches the price of one model for a while, because a lookup takes as long as parsing a short answer.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use updraft_run::TokenUsage;

use super::{PriceLookup, price_for};
use crate::Price;

/// How long a price is cached: some prices change with the hour.
const FRESH: Duration = Duration::from_mins(1);

/// The cached price, and when it was looked up.
#[derive(Debug, Default)]
pub(crate) struct CachedPrice(Mutex<Option<(Instant, HighestPrice)>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HighestPrice {
    highest: Option<Price>,
    /// Whether large prompts cost no more than small ones.
    is_flat: bool,
}

impl CachedPrice {
    /// The highest price of a model today, for any size of the prompt.
    pub(crate) fn highest(&self, provider: &str, model: &str) -> Option<Price> {
        self.look(provider, model).highest
    }

    /// The price of a model today for a call like this one.
    pub(crate) fn price_for(&self, provider: &str, model: &str, usage: &TokenUsage) -> Option<Price> {
        let found = self.look(provider, model);
        if found.is_flat { found.highest } else { price_for(provider, model, usage) }
    }

    fn look(&self, provider: &str, model: &str) -> HighestPrice {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = kept.filter(|(when, _)| when.elapsed() < FRESH) {
            return found;
        }
        let entry = PriceLookup::find(provider, model);
        let highest = entry.as_ref().and_then(|entry| entry.highest(None));
        let found = HighestPrice { highest, is_flat: entry.and_then(|entry| entry.price(1, None)) == highest };
        *kept = Some((Instant::now(), found));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::price_of;

    #[test]
    fn what_is_kept_is_what_the_table_says_for_prompts_of_any_size() {
        // The second costs more from 200,000 tokens on, the third is unknown.
        for (provider, model) in [("openai", "gpt-4.1-mini"), ("gemini", "gemini-2.5-pro"), ("openai", "nobody")] {
            let kept = CachedPrice::default();
            for input in [0, 1, 1_000, 300_000, 1_000] {
                let usage = TokenUsage { input, ..TokenUsage::default() };
                assert_eq!(
                    kept.price_for(provider, model, &usage),
                    price_for(provider, model, &usage),
                    "{model} {input}"
                );
                assert_eq!(kept.highest(provider, model), price_of(provider, model), "{model}");
            }
        }
        let small = price_for("gemini", "gemini-2.5-pro", &TokenUsage::default());
        assert_ne!(small, price_of("gemini", "gemini-2.5-pro"), "or the table has changed");
    }
}
