//! The known providers: their dialects, addresses, keys and default models.

/// The dialect a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialectKind {
    /// OpenAI's Chat Completions API.
    Chat,
    /// OpenAI's Responses API.
    Responses,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's `generateContent`, with a key.
    Gemini,
    /// The same in a Google Cloud project.
    Vertex,
    /// Ollama's own API.
    Ollama,
}

/// A provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provider {
    /// The first half of its models' names.
    pub name: &'static str,
    /// A description for people.
    pub about: &'static str,
    /// Its dialect.
    pub speech: DialectKind,
    /// Its default address.
    pub base: &'static str,
    /// Variables that may contain its key, in order of precedence; empty if it needs none.
    pub keys: &'static [&'static str],
    /// Variables that may contain its address.
    pub bases: &'static [&'static str],
    /// Whether it can be used without a key.
    pub is_open: bool,
    /// Its models by purpose.
    pub models: ProviderModels,
}

/// A provider's models by purpose; empty if it has none that every user can access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderModels {
    /// Fast, and supports tools: the default.
    pub fast: &'static str,
    /// The most capable.
    pub strong: &'static str,
    /// The cheapest.
    pub cheap: &'static str,
    /// Accepts pictures.
    pub vision: &'static str,
}

const NONE: ProviderModels = ProviderModels { fast: "", strong: "", cheap: "", vision: "" };

/// Other providers with Chat Completions: name, address, key variable.
const OTHERS: [(&str, &str, &str, &[&str]); 8] = [
    ("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"]),
    ("groq", "Groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    ("mistral", "Mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    ("deepseek", "DeepSeek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"]),
    ("xai", "xAI", "https://api.x.ai/v1", &["XAI_API_KEY"]),
    ("together", "Together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"]),
    ("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1", &["FIREWORKS_API_KEY"]),
    ("cerebras", "Cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"]),
];

const GPT: ProviderModels =
    ProviderModels { fast: "gpt-5.4-mini", strong: "gpt-5.4", cheap: "gpt-5.4-nano", vision: "gpt-5.4-mini" };
const GPT_BY_RESPONSES: ProviderModels =
    ProviderModels { fast: "gpt-6-luna", strong: "gpt-6.1-sol", cheap: "gpt-6-luna", vision: "gpt-6-luna" };
const GEMINI: ProviderModels = ProviderModels {
    fast: "gemini-3.8-flash",
    strong: "gemini-3.1-pro-preview",
    cheap: "gemini-3.5-flash-lite",
    vision: "gemini-3.8-flash",
};
const CLAUDE: ProviderModels = ProviderModels {
    fast: "claude-haiku-5-5",
    strong: "claude-sonnet-5-5",
    cheap: "claude-haiku-5-5",
    vision: "claude-haiku-5-5",
};

/// Providers with special settings, in `auto`'s order of preference.
const OWN: [Provider; 7] = [
    Provider {
        name: "gemini",
        about: "Google's Gemini by AI Studio",
        speech: DialectKind::Gemini,
        base: "https://generativelanguage.googleapis.com/v1beta",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        bases: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        is_open: false,
        models: GEMINI,
    },
    Provider {
        name: "openai",
        about: "OpenAI by chat completions",
        speech: DialectKind::Chat,
        base: "https://api.openai.com/v1",
        keys: &["OPENAI_API_KEY"],
        bases: &["OPENAI_BASE_URL"],
        is_open: false,
        models: GPT,
    },
    Provider {
        name: "openai-responses",
        about: "OpenAI by responses",
        speech: DialectKind::Responses,
        base: "https://api.openai.com/v1",
        keys: &["OPENAI_API_KEY"],
        bases: &["OPENAI_BASE_URL"],
        is_open: false,
        models: GPT_BY_RESPONSES,
    },
    Provider {
        name: "anthropic",
        about: "Anthropic",
        speech: DialectKind::Anthropic,
        base: "https://api.anthropic.com",
        keys: &["ANTHROPIC_API_KEY"],
        bases: &["ANTHROPIC_BASE_URL"],
        is_open: false,
        models: CLAUDE,
    },
    Provider {
        name: "vertex",
        about: "Gemini in a Google Cloud project",
        speech: DialectKind::Vertex,
        base: "",
        keys: &["VERTEX_ACCESS_TOKEN"],
        bases: &["VERTEX_BASE_URL", "GOOGLE_VERTEX_BASE_URL"],
        is_open: true,
        models: GEMINI,
    },
    Provider {
        name: "ollama",
        about: "Ollama, on this machine or at OLLAMA_HOST",
        speech: DialectKind::Ollama,
        base: "http://127.0.0.1:11434",
        keys: &["OLLAMA_API_KEY"],
        bases: &["OLLAMA_HOST"],
        is_open: true,
        models: NONE,
    },
    Provider {
        name: "openai-compatible",
        about: "any server with /chat/completions: llama.cpp, vLLM, LM Studio and others",
        speech: DialectKind::Chat,
        base: "http://127.0.0.1:8080/v1",
        keys: &["OPENAI_API_KEY"],
        bases: &["OPENAI_BASE_URL"],
        is_open: true,
        models: NONE,
    },
];

/// All providers, in `auto`'s order of preference.
pub fn providers() -> Vec<Provider> {
    let others = OTHERS.map(|(name, about, base, keys)| Provider {
        name,
        about,
        speech: DialectKind::Chat,
        base,
        keys,
        bases: &[],
        is_open: false,
        models: NONE,
    });
    OWN.into_iter().chain(others).collect()
}

/// A provider by its name.
pub fn provider(name: &str) -> Option<Provider> {
    providers().into_iter().find(|provider| provider.name == name)
}
