//! Parses a file of application-default credentials: of a person who signed in, or of a service account.

use std::path::Path;

use serde::Deserialize;

use super::jwt::JwtSigner;
use super::unusable;
use crate::{Error, SecretString};

/// The default address for tokens.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";

/// The account of the file.
#[derive(Debug)]
pub(super) enum GoogleAccount {
    Person(UserAccount),
    Service(ServiceAccount),
}

/// A person who signed in with gcloud.
#[derive(Debug)]
pub(super) struct UserAccount {
    pub(super) client_id: String,
    pub(super) client_secret: SecretString,
    pub(super) refresh_token: SecretString,
    pub(super) token_uri: String,
    charged: Option<String>,
}

/// A service account, which signs its own requests for tokens.
#[derive(Debug)]
pub(super) struct ServiceAccount {
    pub(super) email: String,
    pub(super) signer: JwtSigner,
    pub(super) token_uri: String,
    project: Option<String>,
    charged: Option<String>,
}

/// The file as written.
#[derive(Deserialize)]
struct CredentialsFile {
    #[serde(rename = "type", default)]
    kind: String,
    client_id: Option<String>,
    client_secret: Option<String>,
    refresh_token: Option<String>,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    token_uri: Option<String>,
    project_id: Option<String>,
    quota_project_id: Option<String>,
}

impl GoogleAccount {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| unusable(path, &why.to_string()))?;
        Self::parse(&text).map_err(|why| unusable(path, &why))
    }

    fn parse(text: &str) -> Result<Self, String> {
        // serde's message could quote the content of the file.
        let written: CredentialsFile = serde_json::from_str(text).map_err(|why| {
            format!("it is not the JSON that was expected (line {}, column {})", why.line(), why.column())
        })?;
        match written.kind.as_str() {
            "authorized_user" => UserAccount::of(written).map(GoogleAccount::Person),
            "service_account" => ServiceAccount::of(written).map(GoogleAccount::Service),
            "external_account" | "external_account_authorized_user" => Err(format!(
                "they are of the type `{}` (workload identity federation), which is not supported",
                written.kind
            )),
            other => Err(format!(
                "they are of the type `{other}`, which is not supported; expected `authorized_user` or `service_account`"
            )),
        }
    }

    /// The project it belongs to.
    pub(super) fn project(&self) -> Option<String> {
        match self {
            GoogleAccount::Person(person) => person.charged.clone(),
            GoogleAccount::Service(service) => service.project.clone(),
        }
    }

    /// The project that is charged, if the file names one.
    pub(super) fn charged(&self) -> Option<String> {
        match self {
            GoogleAccount::Person(person) => person.charged.clone(),
            GoogleAccount::Service(service) => service.charged.clone(),
        }
    }

    /// An identifier of the account that is not secret.
    pub(super) fn identity(&self) -> String {
        match self {
            GoogleAccount::Person(person) => {
                format!("{} {}", person.client_id, person.charged.as_deref().unwrap_or(""))
            }
            GoogleAccount::Service(service) => service.email.clone(),
        }
    }

    /// The text without any secret of the file. A service account never sends its secret.
    pub(super) fn redact(&self, text: String) -> String {
        match self {
            GoogleAccount::Person(person) => person.client_secret.redact(person.refresh_token.redact(text)),
            GoogleAccount::Service(_) => text,
        }
    }
}

impl UserAccount {
    fn of(written: CredentialsFile) -> Result<Self, String> {
        Ok(Self {
            client_id: there("client_id", written.client_id)?,
            client_secret: SecretString::new(there("client_secret", written.client_secret)?),
            refresh_token: SecretString::new(there("refresh_token", written.refresh_token)?),
            token_uri: written.token_uri.unwrap_or_else(|| TOKEN_URI.to_owned()),
            charged: written.quota_project_id,
        })
    }
}

impl ServiceAccount {
    fn of(written: CredentialsFile) -> Result<Self, String> {
        Ok(Self {
            email: there("client_email", written.client_email)?,
            signer: JwtSigner::new(&there("private_key", written.private_key)?, written.private_key_id)?,
            token_uri: written.token_uri.unwrap_or_else(|| TOKEN_URI.to_owned()),
            project: written.project_id,
            charged: written.quota_project_id,
        })
    }
}

fn there(name: &str, value: Option<String>) -> Result<String, String> {
    value.filter(|value| !value.trim().is_empty()).ok_or_else(|| format!("`{name}` is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        GoogleAccount::parse(text).unwrap_err()
    }

    #[test]
    fn what_cannot_be_used_is_said_without_quoting_it() {
        assert!(fault(r#"{"type":"external_account","audience":"x"}"#).contains("not supported"));
        assert!(fault(r#"{"type":"impersonated_service_account"}"#).contains("`impersonated_service_account`"));
        assert_eq!(
            fault(r#"{"type":"authorized_user","client_id":"i","client_secret":"s"}"#),
            "`refresh_token` is missing"
        );
        assert!(fault("{\"refresh_token\": \"1//hidden\",,}").starts_with("it is not the JSON"));
        let bad = r#"{"type":"service_account","client_email":"a@b","private_key":"hidden"}"#;
        assert_eq!(fault(bad), "`private_key` is not a key in PEM");
    }

    #[test]
    fn secrets_do_not_print_and_are_taken_out_of_texts() {
        let file =
            r#"{"type":"authorized_user","client_id":"id","client_secret":"shh-secret","refresh_token":"1//refresh"}"#;
        let account = GoogleAccount::parse(file).unwrap();

        let shown = format!("{account:?}");
        assert!(!shown.contains("shh") && !shown.contains("1//refresh"), "{shown}");
        assert_eq!(account.redact("1//refresh and shh-secret".to_owned()), "(key) and (key)");
    }
}
