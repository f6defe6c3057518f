//! Prices of models, from a table that comes with the program (that of `genai-prices`, one file for each provider).
//!
//! A price that is not in the table is unknown, which is not the same as zero. A provider's part of the table is loaded
//! when first needed, which takes a few milliseconds at most.

mod cache;
mod table;

use std::time::SystemTime;

use genai_prices::{ModelInfo, PriceCalculation, PriceRequest, Usage as Counted, UsageKey};
use updraft_run::TokenUsage;

use crate::Price;

pub(crate) use self::cache::CachedPrice;

/// More tokens than any model reads at once: the price of the largest prompts applies.
const LARGEST: u64 = 1_000_000_000;

/// The highest price of a model today, for any size of the prompt; `None` if it is not in the table.
pub fn price_of(provider: &str, model: &str) -> Option<Price> {
    PriceLookup::find(provider, model)?.highest(None)
}

/// The price of a model today for a call like this one: some models cost more for large prompts.
pub fn price_for(provider: &str, model: &str, usage: &TokenUsage) -> Option<Price> {
    PriceLookup::find(provider, model)?.price(usage.input, None)
}

/// How many tokens a model can read and write in one call.
pub fn context_window(provider: &str, model: &str) -> Option<u64> {
    match PriceLookup::find(provider, model)? {
        PriceLookup::Local => None,
        PriceLookup::Listed { provider, model } => {
            let id = calculate(provider, model, &Counted::new(), None)?.model_id;
            let listed = table::of(provider)?.providers().find(|listed| listed.id() == provider)?;
            listed.models().find(|model| model.id() == id)?.context_window()
        }
    }
}

/// The models of a provider that write text at a known price, in alphabetical order.
pub fn known_models(provider: &str) -> Vec<&'static str> {
    let Some(id) = listed_as(provider) else { return Vec::new() };
    let listed = table::of(id).and_then(|table| table.providers().find(|listed| listed.id() == id));
    let Some(listed) = listed else { return Vec::new() };
    let writes =
        |model: &&str| price_for(provider, model, &TokenUsage::default()).is_some_and(|price| price.output > 0);
    // Google also sells other vendors' models, in other dialects.
    let is_own = |model: &&str| id != "google" || model.starts_with("gemini") || model.starts_with("gemma");
    let mut names: Vec<&str> = listed.models().map(ModelInfo::id).filter(is_own).filter(writes).collect();
    names.sort_unstable();
    names
}

/// Where a model's price is found.
enum PriceLookup<'a> {
    /// It runs on a local machine, and costs nothing.
    Local,
    Listed {
        provider: &'static str,
        model: &'a str,
    },
}

impl<'a> PriceLookup<'a> {
    fn find(provider: &str, model: &'a str) -> Option<Self> {
        if provider == "ollama" {
            // Some of its models run in the cloud and cost money, which their names show.
            let is_local = !model.ends_with("-cloud") && !model.ends_with(":cloud");
            return is_local.then_some(Self::Local);
        }
        Some(Self::Listed { provider: listed_as(provider)?, model: model.strip_prefix("models/").unwrap_or(model) })
    }

    fn highest(&self, at: Option<SystemTime>) -> Option<Price> {
        let (small, large) = (self.rates(1, at)?, self.rates(LARGEST, at)?);
        Some(small.or_more(&large).price())
    }

    fn price(&self, tokens: u64, at: Option<SystemTime>) -> Option<Price> {
        Some(self.rates(tokens, at)?.price())
    }

    /// The rates for prompts of this size. The table returns sums, so each rate is requested separately.
    fn rates(&self, tokens: u64, at: Option<SystemTime>) -> Option<DollarRates> {
        let (provider, model) = match self {
            Self::Local => return Some(DollarRates::default()),
            Self::Listed { provider, model } => (*provider, *model),
        };
        let tokens = tokens.max(1) as f64;
        let sum = |key| {
            let usage = Counted::from([(UsageKey::INPUT_TOKENS, tokens), (key, tokens)]);
            calculate(provider, model, &usage, at)
        };
        let per_million = |dollars: f64| dollars / tokens * 1e6;

        let plain = sum(UsageKey::OUTPUT_TOKENS)?;
        let (input, output) = (per_million(plain.input_price), per_million(plain.output_price));
        // A charge per request cannot be expressed as a price per token.
        let is_by_token = plain.total_price <= (plain.input_price + plain.output_price) * 1.000_001;
        // Models that are priced by the hour or the page have no price here, and the table returns zero for them.
        let is_priced = input > 0.0 || output > 0.0 || model.ends_with(":free");
        if !is_by_token || !is_priced {
            return None;
        }
        let cached = per_million(sum(UsageKey::CACHE_READ_TOKENS)?.input_price);
        let stored = per_million(sum(UsageKey::CACHE_WRITE_TOKENS)?.input_price);
        Some(DollarRates { input, output, cached, stored })
    }
}

/// Dollars per million tokens.
#[derive(Default)]
struct DollarRates {
    input: f64,
    output: f64,
    cached: f64,
    stored: f64,
}

impl DollarRates {
    fn or_more(self, other: &Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cached: self.cached.max(other.cached),
            stored: self.stored.max(other.stored),
        }
    }

    fn price(self) -> Price {
        Price::per_million(self.input, self.output, Some(self.cached), Some(self.stored))
    }
}

/// The table's name for a provider. `None` if any vendor may be behind the name.
fn listed_as(provider: &str) -> Option<&'static str> {
    Some(match provider {
        "openai" | "openai-responses" => "openai",
        "anthropic" => "anthropic",
        "gemini" | "vertex" => "google",
        "xai" => "x-ai",
        "openrouter" => "openrouter",
        "groq" => "groq",
        "mistral" => "mistral",
        "deepseek" => "deepseek",
        "together" => "together",
        "fireworks" => "fireworks",
        "cerebras" => "cerebras",
        _ => return None,
    })
}

fn calculate(provider: &str, model: &str, usage: &Counted, at: Option<SystemTime>) -> Option<PriceCalculation> {
    let mut request = PriceRequest::new(model, usage).with_provider_id(provider);
    request.timestamp = at;
    table::of(provider)?.calculate(&request).ok()
}

#[cfg(test)]
#[path = "prices/tests.rs"]
mod tests;
