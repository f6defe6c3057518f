//! Tokens, estimated from text where a provider reports none.

use updraft_run::{Answer, Cost, Usage};

/// Bytes of English or of code to one token, in the common vocabularies.
const BYTES_PER_TOKEN: usize = 4;

/// Nothing was asked of a provider, so nothing was used.
pub(crate) fn none() -> Usage {
    Usage { cost: Some(Cost(0)), ..Usage::default() }
}

/// What an exchange probably used: `sent` bytes of request, and this answer.
pub(crate) fn estimate(sent: usize, answer: &Answer) -> Usage {
    let calls: usize = answer.calls.iter().map(|call| call.name.len() + call.args.to_string().len()).sum();
    let reasoning = tokens(answer.reasoning.len());
    Usage {
        input: tokens(sent),
        output: tokens(answer.text.len() + calls) + reasoning,
        reasoning,
        estimated: true,
        ..Usage::default()
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
        let answer = Answer { text: "twelve bytes".to_owned(), reasoning: "hm".to_owned(), ..Answer::default() };

        let usage = estimate(400, &answer);

        assert_eq!(usage, Usage { input: 100, output: 4, reasoning: 1, estimated: true, ..Usage::default() });
    }
}
