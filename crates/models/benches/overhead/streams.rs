//! Answers as the providers stream them, event by event, with all the fields that they send along.

/// A provider's dialect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speech {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
}

/// What each event adds to the answer.
pub(crate) const WORD: &str = " word";

/// What a plain client posts: about what ours does.
pub(crate) const REQUEST: &str = r#"{"model":"test","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Tell me everything."}],"max_tokens":1024}"#;

impl Speech {
    pub(crate) const ALL: [Self; 5] = [Self::Chat, Self::Responses, Self::Anthropic, Self::Gemini, Self::Ollama];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::Chat => "openai",
            Self::Responses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    pub(crate) fn model(self) -> &'static str {
        match self {
            Self::Chat => "openai/gpt-4.1-mini",
            Self::Responses => "openai-responses/gpt-5.4",
            Self::Anthropic => "anthropic/claude-sonnet-5-5",
            Self::Gemini => "gemini/gemini-2.5-flash",
            Self::Ollama => "ollama/qwen3",
        }
    }

    pub(crate) fn base(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => "/v1",
            Self::Gemini => "/v1beta",
            Self::Anthropic | Self::Ollama => "",
        }
    }

    pub(crate) fn content(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            Self::Chat | Self::Responses | Self::Anthropic | Self::Gemini => "text/event-stream",
        }
    }

    /// An answer of so many words, one an event, with what comes before and after them.
    pub(crate) fn events(self, words: usize) -> Vec<String> {
        let (before, after) = match self {
            Self::Chat => (vec![], chat_end(words)),
            Self::Responses => (responses_begin(), responses_end(words)),
            Self::Anthropic => (anthropic_begin(), anthropic_end(words)),
            Self::Gemini => (vec![], vec![]),
            Self::Ollama => (vec![], vec![ollama_end(words)]),
        };
        let word = |n| match self {
            Self::Chat => data(&chat_word()),
            Self::Responses => named("response.output_text.delta", &responses_word(n)),
            Self::Anthropic => named("content_block_delta", &anthropic_word()),
            Self::Gemini => data(&gemini_word(n + 1, n + 1 == words)),
            Self::Ollama => format!("{}\n", ollama_word()),
        };
        before.into_iter().chain((0..words).map(word)).chain(after).collect()
    }
}

fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn named(name: &str, json: &str) -> String {
    format!("event: {name}\ndata: {json}\n\n")
}

fn chat(choices: &str, usage: &str) -> String {
    format!(
        r#"{{"id":"chatcmpl-C8fXq0mVYt2Lr5sJ1aQeWbN7kZpUd","object":"chat.completion.chunk","created":1767225600,"model":"gpt-4.1-mini-2025-04-14","service_tier":"default","system_fingerprint":"fp_6f2eabb9a5","choices":[{choices}],"usage":{usage},"obfuscation":"k3Jd9"}}"#
    )
}

fn chat_word() -> String {
    let choice = format!(r#"{{"index":0,"delta":{{"content":"{WORD}"}},"logprobs":null,"finish_reason":null}}"#);
    chat(&choice, "null")
}

fn chat_end(words: usize) -> Vec<String> {
    let stop = chat(r#"{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}"#, "null");
    let usage = format!(
        r#"{{"prompt_tokens":12,"completion_tokens":{words},"total_tokens":{},"prompt_tokens_details":{{"cached_tokens":0,"audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":0,"audio_tokens":0}}}}"#,
        words + 12
    );
    vec![data(&stop), data(&chat("", &usage)), data("[DONE]")]
}

fn responses_word(n: usize) -> String {
    format!(
        r#"{{"type":"response.output_text.delta","sequence_number":{},"item_id":"msg_68a1f0c2b5d081a3b7c9e2d4f6081357","output_index":0,"content_index":0,"delta":"{WORD}","logprobs":[],"obfuscation":"Qm4xT8aZ0p"}}"#,
        n + 4
    )
}

fn responses_begin() -> Vec<String> {
    let item = r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_68a1f0c2b5d081a3b7c9e2d4f6081357","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#;
    let created = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_68a1f0c2","object":"response","created_at":1767225600,"status":"in_progress","model":"gpt-5.4","output":[],"usage":null}}"#;
    vec![named("response.created", created), named("response.output_item.added", item)]
}

fn responses_end(words: usize) -> Vec<String> {
    let text = WORD.repeat(words);
    let item = format!(
        r#"{{"id":"msg_68a1f0c2b5d081a3b7c9e2d4f6081357","type":"message","status":"completed","content":[{{"type":"output_text","annotations":[],"logprobs":[],"text":"{text}"}}],"role":"assistant"}}"#
    );
    let done =
        format!(r#"{{"type":"response.output_item.done","sequence_number":{words},"output_index":0,"item":{item}}}"#);
    let completed = format!(
        r#"{{"type":"response.completed","sequence_number":{words},"response":{{"id":"resp_68a1f0c2","object":"response","status":"completed","error":null,"incomplete_details":null,"model":"gpt-5.4","output":[{item}],"usage":{{"input_tokens":12,"input_tokens_details":{{"cached_tokens":0}},"output_tokens":{words},"output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":{}}}}}}}"#,
        words + 12
    );
    vec![named("response.output_item.done", &done), named("response.completed", &completed)]
}

fn anthropic_word() -> String {
    format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{WORD}"}}}}"#)
}

fn anthropic_begin() -> Vec<String> {
    let start = r#"{"type":"message_start","message":{"id":"msg_01XAbCdEfGhIjKlMnOpQrStU","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    vec![named("message_start", start), named("content_block_start", block), named("ping", r#"{"type": "ping"}"#)]
}

fn anthropic_end(words: usize) -> Vec<String> {
    let delta = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn","stop_sequence":null}},"usage":{{"output_tokens":{words}}}}}"#
    );
    vec![
        named("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
        named("message_delta", &delta),
        named("message_stop", r#"{"type":"message_stop"}"#),
    ]
}

fn gemini_word(written: usize, is_last: bool) -> String {
    let finish = if is_last { r#","finishReason":"STOP""# } else { "" };
    format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{WORD}"}}],"role":"model"}}{finish},"index":0}}],"usageMetadata":{{"promptTokenCount":12,"candidatesTokenCount":{written},"totalTokenCount":{},"promptTokensDetails":[{{"modality":"TEXT","tokenCount":12}}]}},"modelVersion":"gemini-2.5-flash","responseId":"x7QLaK2nMZ6kvdIP0dfJ-AQ"}}"#,
        written + 12
    )
}

fn ollama_word() -> String {
    format!(
        r#"{{"model":"qwen3","created_at":"2026-01-01T00:00:00.123456789Z","message":{{"role":"assistant","content":"{WORD}"}},"done":false}}"#
    )
}

fn ollama_end(words: usize) -> String {
    format!(
        "{}\n",
        format_args!(
            r#"{{"model":"qwen3","created_at":"2026-01-01T00:00:01.123456789Z","message":{{"role":"assistant","content":""}},"done_reason":"stop","done":true,"total_duration":1012345678,"load_duration":2345678,"prompt_eval_count":12,"prompt_eval_duration":34567890,"eval_count":{words},"eval_duration":967890123}}"#
        )
    )
}
