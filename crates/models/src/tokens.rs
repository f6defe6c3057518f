//! Estimates token counts from text if a provider reports none.

use updraft_run::{Cost, ModelAnswer, TokenUsage};

/// Average bytes per token of English or code, in the common vocabularies.
const BYTES_PER_TOKEN: usize = 4;

/// The usage if no provider was asked: zero.
pub(crate) fn none() -> TokenUsage {
    TokenUsage { cost: Some(Cost(0)), ..TokenUsage::default() }
}

/// The estimated usage of an exchange: `sent` bytes of request, and this answer.
pub(crate) fn estimate(sent: usize, answer: &ModelAnswer) -> TokenUsage {
    let calls: usize = answer.calls.iter().map(|call| call.name.len() + call.args.to_string().len()).sum();
    let reasoning = tokens(answer.reasoning.len());
    TokenUsage {
        input: tokens(sent),
        output: tokens(answer.text.len() + calls) + reasoning,
        reasoning,
        estimated: true,
        ..TokenUsage::default()
    }
}

fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_says_that_it_is_one() {
        let answer =
            ModelAnswer { text: "twelve bytes".to_owned(), reasoning: "hm".to_owned(), ..ModelAnswer::default() };

        let usage = estimate(400, &answer);

        assert_eq!(usage, TokenUsage { input: 100, output: 4, reasoning: 1, estimated: true, ..TokenUsage::default() });
    }
}
