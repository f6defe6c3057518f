//! Recognises a request that was refused because it is longer than the model's context window, and how large the window
//! is according to the refusal. Each server has words of its own for it.

/// Phrases of such refusals, in lower case.
const PHRASES: [&str; 23] = [
    "context length",
    "context_length",
    "context window",
    "context size",
    "context_size",
    "context limit",
    "maximum context",
    "maximum prompt length",
    "maximum model length",
    "maximum number of tokens",
    "maximum allowed length",
    "prompt is too long",
    "input is too long",
    "request is too long",
    "conversation is too long",
    "too many tokens",
    "too many input tokens",
    "tokens + `max_new_tokens`",
    "reduce the length",
    "request too large",
    "request_too_large",
    "input length",
    "exceeds the maximum number of tokens",
];

/// Phrases after which the size of the window stands.
const BEFORE_SIZE: [&str; 16] = [
    "maximum context length is",
    "maximum context length of",
    "context length of only",
    "context length is only",
    "context window of",
    "context window is",
    "maximum number of tokens allowed",
    "available context size",
    "maximum prompt length is",
    "maximum model length of",
    "maximum allowed length",
    "model's context length",
    "must be <=",
    "n_ctx",
    "context limit of",
    " > ",
];

/// Whether a refusal says that the request is too long.
pub(crate) fn is_said_in(message: &str) -> bool {
    let message = message.to_lowercase();
    PHRASES.iter().any(|phrase| message.contains(phrase))
}

/// The size of the context window in tokens that a refusal for length states.
pub fn stated_window(message: &str) -> Option<u64> {
    let message = message.to_lowercase();
    let after = BEFORE_SIZE.iter().filter_map(|phrase| {
        let (_, rest) = message.rsplit_once(phrase)?;
        number_at(rest.trim_start_matches(|letter: char| !letter.is_ascii_digit() && NEAR.contains(letter)))
    });
    // "… too large for model with 32768 maximum context length"
    let before = || number_before(message.split_once(" maximum")?.0);
    after.into_iter().next().or_else(before).filter(|tokens| *tokens >= LEAST)
}

/// What may stand between a phrase and its number.
const NEAR: &str = " :=(\"'`";
/// No model has a smaller window, so a smaller number is about something else.
const LEAST: u64 = 512;

fn number_at(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != ',').unwrap_or(text.len());
    text[..end].replace(',', "").parse().ok()
}

fn number_before(text: &str) -> Option<u64> {
    let begin = text.rfind(|letter: char| !letter.is_ascii_digit() && letter != ',').map_or(0, |at| at + 1);
    number_at(text.get(begin..)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_every_server_are_recognised_with_the_size_they_state() {
        let refusals = [
            (
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 200123 tokens.",
                Some(128_000),
            ),
            ("context_length_exceeded: Your input exceeds the context window of this model.", None),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, decrease input length",
                Some(200_000),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            ("the request exceeds the available context size (8192 tokens), try increasing it", Some(8_192)),
            ("request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it", Some(4_096)),
            ("the input length exceeds the context length", None),
            ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", Some(8_192)),
            ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", Some(32_768)),
            ("Please reduce the length of the messages or completion.", None),
            ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000", Some(4_097)),
            ("This model's maximum prompt length is 131072 but the request contains 200000 tokens.", Some(131_072)),
            (
                "Trying to keep the first 8000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
                Some(4_096),
            ),
            ("Input is too long for requested model.", None),
            (
                "This endpoint's maximum context length is 32,768 tokens. However, you requested about 40000",
                Some(32_768),
            ),
            ("Input length (40000 tokens) exceeds the maximum allowed length (32768 tokens).", Some(32_768)),
            ("too many tokens: size limit exceeded by 2000 tokens", None),
        ];
        for (message, window) in refusals {
            assert!(is_said_in(message), "{message}");
            assert_eq!(stated_window(message), window, "{message}");
        }
        for other in [
            "invalid tool schema",
            "Invalid 'tools': array too long. Expected an array with maximum length 128",
            "upstream took too long",
            "rate limit reached",
            "unknown parameter `max_tokens`",
        ] {
            assert!(!is_said_in(other), "{other}");
        }
    }
}
