//! Finds secrets in a text: keys and tokens whose kind shows, and values that are called a secret and look random.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// A kind of secret: its name, its form, and how random its characters must be at least, in bits per character.
type SecretKind = (&'static str, &'static str, f64);

/// The kinds whose form is unmistakable. The groups of letters are those that the providers document.
const KINDS: &[SecretKind] = &[
    ("1Password service account token", r"\bops_eyJ[A-Za-z0-9+/]{250,}={0,3}", 4.0),
    ("age key", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", 3.0),
    ("Alibaba access key", r"\bLTAI[A-Za-z0-9]{20}\b", 2.0),
    ("Anthropic API key", r"\bsk-ant-(?:api|admin)\d\d-[\w-]{93}AA\b", 3.5),
    ("Atlassian API token", r"\bATATT3[\w=-]{186}\b", 3.5),
    ("AWS access key", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", 3.0),
    ("Azure AD client secret", r#"(?:^|[\\'"`\s>=:(,)])([\w~.]{3}\dQ~[\w~.-]{31,34})(?:$|[\\'"`\s<),])"#, 3.0),
    ("Cloudflare origin CA key", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b", 2.0),
    ("Databricks API token", r"\bdapi[a-f0-9]{32}(?:-\d)?\b", 3.0),
    ("DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b", 3.0),
    ("Doppler API token", r"\bdp\.pt\.[A-Za-z0-9]{43}\b", 2.0),
    ("Dropbox token", r"\bsl\.[\w=-]{135}\b", 3.5),
    ("EasyPost API token", r"\bEZ[AT]K[A-Za-z0-9]{54}\b", 2.0),
    ("Fly.io token", r"\b(?:fo1_[\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3})", 4.0),
    ("GitHub token", r"\bgh[oprsu]_[0-9A-Za-z]{36}\b", 3.0),
    ("GitHub fine-grained token", r"\bgithub_pat_\w{82}\b", 3.0),
    ("GitLab token", r"\bgl(?:pat|oas|dt|rt|ptt|ft|imt|agent|soat|cbt|ffct)-[0-9A-Za-z_.-]{20,}", 3.0),
    ("Google API key", r"\bAIza[\w-]{35}\b", 4.0),
    ("Google OAuth client secret", r"\bGOCSPX-[\w-]{28}\b", 3.0),
    ("Grafana token", r"\b(?:glc_[A-Za-z0-9+/]{32,400}={0,3}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})", 3.0),
    ("HashiCorp Vault token", r"\b(?:hvs|hvb|hvr)\.[\w-]{90,300}\b", 3.5),
    ("Heroku API key", r"\bHRKU-AA[\w-]{58}\b", 4.0),
    ("Hugging Face token", r"\b(?:hf_|api_org_)[A-Za-z]{34}\b", 2.0),
    ("JSON web token", r"\bey[A-Za-z0-9]{17,}\.ey[A-Za-z0-9/\\_-]{17,}\.(?:[A-Za-z0-9/\\_-]{10,}={0,2})?", 3.0),
    ("Linear API key", r"\blin_api_[A-Za-z0-9]{40}\b", 2.0),
    ("Mailchimp API key", r"\b[a-f0-9]{32}-us\d\d?\b", 3.0),
    ("Mailgun key", r"\b(?:key|pubkey)-[a-f0-9]{32}\b", 3.0),
    ("New Relic key", r"\bNRAK-[A-Za-z0-9]{27}\b", 3.0),
    ("Notion token", r"\bntn_\d{11}[A-Za-z0-9]{35}\b", 4.0),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b", 2.0),
    ("OpenAI API key", r"\bsk-(?:(?:proj|svcacct|admin)-)?[\w-]{20,74}T3BlbkFJ[\w-]{20,74}\b", 3.0),
    ("Perplexity API key", r"\bpplx-[A-Za-z0-9]{48}\b", 4.0),
    ("PlanetScale token", r"\bpscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}\b", 3.0),
    ("Postman API key", r"\bPMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}\b", 3.0),
    ("private key", r"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----[\s\S]{64,}?KEY(?: BLOCK)?-----", 0.0),
    ("Pulumi token", r"\bpul-[a-f0-9]{40}\b", 2.0),
    ("PyPI token", r"\bpypi-AgEIcHlwaS5vcmc[\w-]{50,1000}", 3.0),
    ("RubyGems token", r"\brubygems_[a-f0-9]{48}\b", 2.0),
    ("SendGrid key", r"\bSG\.[\w=.-]{66}\b", 2.0),
    ("Sentry token", r"\bsntry[su]_[A-Za-z0-9+/=_]{64,250}", 3.0),
    ("Shopify token", r"\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}\b", 2.0),
    ("Slack token", r"\bxox[abeoprs]-(?:\d-[A-Za-z0-9]{30,}|(?:\d{8,}-){1,3}[A-Za-z0-9-]{16,}|[0-9a-f-]{40,})", 3.0),
    ("Slack configuration token", r"\bxoxe(?:\.xox[bp])?-\d-[A-Za-z0-9]{140,}", 3.0),
    ("Slack app token", r"\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+\b", 2.0),
    ("Slack webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}", 3.0),
    ("Square token", r"\b(?:EAAA|sq0[a-z]{3}-)[\w-]{22,60}\b", 2.0),
    ("Stripe key", r"\b(?:sk|rk)_(?:test|live|prod)_[A-Za-z0-9]{10,99}\b", 2.0),
    ("Telegram bot token", r"\b\d{5,16}:A[\w-]{34}\b", 3.0),
    ("Terraform API token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}", 3.5),
    ("Twilio API key", r"\bSK[0-9a-fA-F]{32}\b", 3.0),
];

/// Something called a key, token, password or secret, and the value that is assigned to it.
const CALLED_SECRET: &str = concat!(
    r#"(?i)([\w.-]{0,50}?(?:access|auth|(?:[^a-z]|^)api|credential|creds|key|passw(?:or)?d|secret|token)[ \t\w.-]{0,20})"#,
    r#"[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[`'"\s=]{0,5}"#,
    r#"([\w.=-]{10,150}|[a-z0-9][a-z0-9+/]{11,}={0,3})(?:[`'"\s;]|\\[nr]|$)"#
);
/// How random such a value must be, in bits per character.
const RANDOM: f64 = 3.5;
/// The least length of a part of it that is no word: `NEXUS-GPT4-API-KEY` is made of words.
const LONGEST_WORD: usize = 10;

/// Parts of names whose values are no secrets, although the name looks like it.
const HARMLESS_NAMES: [&str; 18] = [
    "accessor", "accessib", "_id", "csrf", "file", "id:", "ids", "keyboard", "keyword", "length", "monkey", "name",
    "path", "public", "pubkey", "size", "vault", "version",
];

/// What values often are instead of secrets.
const HARMLESS: [&str; 13] = [
    "example",
    "sample",
    "dummy",
    "placeholder",
    "changeme",
    "your",
    "xxxx",
    "none",
    "null",
    "undefined",
    "process.env",
    "getenv",
    "12345678",
];

/// The kinds of secrets in a text, each once, with the beginning of the value.
pub(crate) fn secrets_in(text: &str) -> Vec<String> {
    let Some(patterns) = patterns() else { return vec!["unknown, because the patterns cannot be used".to_owned()] };
    let mut found: Vec<String> = Vec::new();
    for ((kind, _, least), pattern) in KINDS.iter().zip(&patterns.each) {
        let is_random = |value: &&str| entropy(value) >= *least && !is_example(value);
        if let Some(value) = values(pattern, text).find(is_random) {
            found.push(in_words(kind, value));
        }
    }
    if found.is_empty() {
        let called = patterns.called.captures_iter(text.as_bytes());
        let called =
            called.filter_map(|found| Some((text.get(found.get(1)?.range())?, text.get(found.get(2)?.range())?)));
        let secret = called.into_iter().find(|(name, value)| is_secret_name(name) && looks_random(value));
        found.extend(secret.map(|(_, value)| in_words("value that is called a secret", value)));
    }
    found
}

/// What a pattern finds: its group, or all of it.
fn values<'a>(pattern: &Regex, text: &'a str) -> impl Iterator<Item = &'a str> {
    let found = pattern.captures_iter(text.as_bytes()).filter_map(|found| found.iter().flatten().last());
    found.filter_map(|value| text.get(value.range())).collect::<Vec<_>>().into_iter()
}

/// The kind and the first characters: enough to find it, too little to use it.
fn in_words(kind: &str, value: &str) -> String {
    let start: String = value.chars().take(6).collect();
    format!("{kind} ({start}…)")
}

/// Whether a value that is called a secret is one: random, with digits and letters, and no word of the language.
fn looks_random(value: &str) -> bool {
    let has = |test: fn(char) -> bool| value.chars().any(test);
    let is_mixed = has(|c| c.is_ascii_digit()) && has(|c| c.is_ascii_alphabetic());
    let longest = value.split(['-', '_', '.', '=']).map(str::len).max().unwrap_or_default();
    let is_uuid = value.len() == 36 && value.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    is_mixed && entropy(value) >= RANDOM && longest >= LONGEST_WORD && !is_uuid && !is_example(value)
}

/// Whether what has this name may be a secret.
fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let ends_as_id = name.trim_end().ends_with("Id") || name.trim_end().ends_with("ID");
    !ends_as_id && !HARMLESS_NAMES.iter().any(|part| lower.contains(part))
}

fn is_example(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    HARMLESS.iter().any(|word| lower.contains(word))
}

/// Shannon's entropy of the characters, in bits.
fn entropy(value: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::<char, f64>::new();
    value.chars().for_each(|c| *counts.entry(c).or_default() += 1.0);
    let all: f64 = counts.values().sum();
    counts.values().map(|count| -(count / all) * (count / all).log2()).sum()
}

struct SecretPatterns {
    each: Vec<Regex>,
    called: Regex,
}

/// The patterns, compiled once. A test checks that all of them can be.
fn patterns() -> Option<&'static SecretPatterns> {
    static PATTERNS: OnceLock<Option<SecretPatterns>> = OnceLock::new();
    let compile = || {
        // Secrets are ASCII; patterns for all of Unicode would be a hundred times as large.
        let pattern = |form: &str| RegexBuilder::new(form).unicode(false).build();
        let each = KINDS.iter().map(|(_, form, _)| pattern(form)).collect::<Result<_, _>>().ok()?;
        Some(SecretPatterns { each, called: pattern(CALLED_SECRET).ok()? })
    };
    PATTERNS.get_or_init(compile).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_form_and_examples_are_spared() {
        assert!(patterns().is_some(), "a pattern does not compile");
        let token = ["ghp", "_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
        assert_eq!(secrets_in(&format!("push with {token} please")), ["GitHub token (ghp_aB…)"]);
        let key = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
        assert_eq!(secrets_in(&format!("aws_access_key_id={key}")), ["AWS access key (AKIAQY…)"]);
        let own = "api_token = \"k3J9fLq0Zx8Vb2Nm7TyW1c\"";
        assert_eq!(secrets_in(own), ["value that is called a secret (k3J9fL…)"]);
        for harmless in [
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "AKIAIOSFODNN7EXAMPLE",
            "the key to success is patience and good work",
            "password = getenv(\"DATABASE_PASSWORD_1\")",
            "token: your-token-goes-here-1",
            "tokenizer = tokenizer_from_pretrained",
        ] {
            assert_eq!(secrets_in(harmless), Vec::<String>::new(), "{harmless}");
        }
    }

    /// Measures on lines of other people's test data: `NAME<tab>expected<tab>text as JSON` per line. Not run by default.
    #[test]
    #[ignore = "needs a file with test data, named by UPDRAFT_SECRETS"]
    #[expect(clippy::disallowed_methods, reason = "a measurement takes its data from where it is told")]
    fn how_many_are_found_and_spared() {
        let file = std::env::var("UPDRAFT_SECRETS").unwrap();
        let (mut found, mut all, mut spared, mut harmless) = (0, 0, 0, 0);
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let mut parts = line.splitn(3, '\t');
            let (name, expected, text) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
            let text: String = serde_json::from_str(text).unwrap();
            let is_found = !secrets_in(&text).is_empty();
            if expected == "secret" {
                (all, found) = (all + 1, found + u32::from(is_found));
            } else {
                (harmless, spared) = (harmless + 1, spared + u32::from(!is_found));
            }
            if is_found != (expected == "secret") {
                println!("{expected}\t{name}\t{text:?}\t{:?}", secrets_in(&text));
            }
        }
        println!("found {found} of {all}, spared {spared} of {harmless}");
    }
}
