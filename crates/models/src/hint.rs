//! Hints for users about a model that gave no answer, depending on the provider.

use crate::providers::{DialectKind, Provider, provider};

/// What to do if the key was refused.
pub(crate) fn about_key(model: &str) -> String {
    let known = match known(model) {
        Ok(known) => known,
        Err(name) => return format!("check the key of `{name}` in the settings"),
    };
    match known.speech {
        DialectKind::Ollama => "run `ollama signin`, or set OLLAMA_API_KEY".to_owned(),
        DialectKind::Vertex => "sign in with `gcloud auth application-default login`, or set VERTEX_ACCESS_TOKEN or \
             GOOGLE_APPLICATION_CREDENTIALS; the project must allow Vertex AI"
            .to_owned(),
        DialectKind::Chat | DialectKind::Responses | DialectKind::Anthropic | DialectKind::Gemini => {
            format!("set {} to a key that may use this model", known.keys.join(" or "))
        }
    }
}

/// Phrases with which providers reject a key.
const KEY: [&str; 5] =
    ["api_key_invalid", "api key not valid", "api key expired", "invalid api key", "invalid x-api-key"];

/// Phrases with which they report an account without credit.
const MONEY: [&str; 4] = ["insufficient_quota", "credit balance", "payment required", "billing"];

fn has(said: &str, words: &[&str]) -> bool {
    let said = said.to_lowercase();
    words.iter().any(|word| said.contains(word))
}

/// Whether a refusal says that the key is invalid.
pub(crate) fn is_about_key(message: &str) -> bool {
    has(message, &KEY)
}

/// Whether a refusal is about the key or the account, and not about the request.
pub(crate) fn is_about_account(message: &str) -> bool {
    has(message, &KEY) || has(message, &MONEY)
}

/// What to do about a refusal with an explanation.
pub(crate) fn about_refusal(model: &str, message: &str) -> Option<String> {
    let has = |words: &[&str]| has(message, words);
    if has(&KEY) {
        return Some(about_key(model));
    }
    if has(&MONEY) {
        return Some("the account has no credit left: check its billing, or use another model".to_owned());
    }
    None
}

/// What to check if the model, or its path, was not found.
pub(crate) fn about_name(model: &str) -> String {
    let name = model.split_once('/').map_or(model, |(_, name)| name);
    let known = match known(model) {
        Ok(known) => known,
        Err(name) => return format!("check the model's name, and the address of `{name}` in the settings"),
    };
    match known.speech {
        DialectKind::Ollama => format!("run `ollama pull {name}`; `ollama list` shows what is there"),
        DialectKind::Vertex => "check the model's name, GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION".to_owned(),
        DialectKind::Chat | DialectKind::Responses => match known.bases.first() {
            Some(base) => format!("check the model's name, and that {base} ends with `/v1`"),
            None => "check the model's name".to_owned(),
        },
        DialectKind::Anthropic | DialectKind::Gemini => match known.bases.first() {
            Some(base) => format!("check the model's name, and {base} where it is set"),
            None => "check the model's name".to_owned(),
        },
    }
}

/// Asked if a remote provider cannot be reached: the likeliest cause is this machine's own network.
pub(crate) const ONLINE: &str = "are you online?";

/// What to check if there was no answer. A provider that answered with a status was reached.
pub(crate) fn about_reach(model: &str, message: &str) -> Option<String> {
    if message.contains(ONLINE) {
        return None;
    }
    let was_reached = message.starts_with("status ");
    let known = match known(model) {
        Ok(known) => known,
        Err(name) => return (!was_reached).then(|| format!("check the address of `{name}` in the settings")),
    };
    Some(match (known.name, known.bases.first()) {
        (_, _) if was_reached => return None,
        ("ollama", _) => "start it with `ollama serve`, or set OLLAMA_HOST to where it runs".to_owned(),
        ("openai" | "openai-compatible" | "openai-responses", Some(base)) => {
            format!("check that the server runs, and {base}")
        }
        (_, Some(base)) => format!("check the network, and {base} where it is set"),
        (_, None) => "check the network".to_owned(),
    })
}

/// What to check if the name of the host cannot be resolved.
pub(crate) fn about_host(model: &str) -> String {
    let network = "this machine's network (DNS, VPN, proxy)";
    match known(model) {
        Ok(known) => match known.bases.first() {
            Some(base) => format!("check {network}, and the address in {base} where it is set"),
            None => format!("check {network}"),
        },
        Err(name) => format!("check the address of `{name}` in the settings, and {network}"),
    }
}

/// What to check if the answer did not come from a model.
pub(crate) fn about_address(model: &str) -> Option<String> {
    let known = known(model).ok()?;
    let base = known.bases.first()?;
    Some(match known.speech {
        DialectKind::Chat | DialectKind::Responses => format!("check that {base} ends with `/v1`"),
        DialectKind::Anthropic | DialectKind::Gemini | DialectKind::Vertex | DialectKind::Ollama => {
            format!("check {base}")
        }
    })
}

/// The provider of a model, or its name if only the settings define it.
fn known(model: &str) -> Result<Provider, &str> {
    let name = model.split('/').next().unwrap_or(model);
    provider(name).ok_or(name)
}

#[cfg(test)]
mod tests {
    use crate::Error;

    fn refused(model: &str, status: u16) -> String {
        let error = Error::Refused { model: model.to_owned(), status, message: String::new() };
        error.hint().unwrap()
    }

    fn unreachable(model: &str, message: &str) -> Option<String> {
        Error::Unreachable { model: model.to_owned(), attempts: 4, message: message.to_owned() }.hint()
    }

    #[test]
    fn each_provider_has_advice_of_its_own() {
        assert_eq!(refused("gemini/x", 401), "set GEMINI_API_KEY or GOOGLE_API_KEY to a key that may use this model");
        assert_eq!(refused("groq/x", 403), "set GROQ_API_KEY to a key that may use this model");
        assert_eq!(refused("house/x", 401), "check the key of `house` in the settings");
        assert_eq!(refused("ollama/qwen3:8b", 404), "run `ollama pull qwen3:8b`; `ollama list` shows what is there");
        assert_eq!(refused("openai/x", 404), "check the model's name, and that OPENAI_BASE_URL ends with `/v1`");
        assert_eq!(refused("groq/org/x", 404), "check the model's name");
        assert_eq!(
            unreachable("ollama/x", "connection refused").unwrap(),
            "start it with `ollama serve`, or set OLLAMA_HOST to where it runs"
        );
        assert_eq!(unreachable("mistral/x", "no route").unwrap(), "check the network");
        assert_eq!(unreachable("ollama/x", "status 503: busy"), None);
        let garbled = Error::Garbled { model: "anthropic/x".to_owned(), message: String::new() };
        assert_eq!(garbled.hint().unwrap(), "check ANTHROPIC_BASE_URL");
    }

    #[test]
    fn a_host_that_cannot_be_found_is_named_with_what_to_check() {
        let error = |model: &str| Error::NoHost {
            model: model.to_owned(),
            host: "api.exmaple.com".to_owned(),
            attempts: 4,
            why: "no such name".to_owned(),
        };
        let said = error("house/x").to_string();
        assert_eq!(said, "`house/x` cannot be reached: the host `api.exmaple.com` cannot be found (no such name)");
        let network = "this machine's network (DNS, VPN, proxy)";
        assert_eq!(
            error("house/x").hint().unwrap(),
            format!("check the address of `house` in the settings, and {network}")
        );
        let openai = error("openai/x").hint().unwrap();
        assert_eq!(openai, format!("check {network}, and the address in OPENAI_BASE_URL where it is set"));
    }

    #[test]
    fn no_provider_is_left_without_advice() {
        for provider in crate::providers() {
            let model = format!("{}/x", provider.name);
            assert!(refused(&model, 401).contains(provider.keys[0]), "{model}");
            assert!(!refused(&model, 404).is_empty());
            assert!(unreachable(&model, "no route").is_some());
        }
    }
}
