//! Signing in at a remote server, by OAuth: found out from the refusal, done by a person, remembered by the caller.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::transport::ScopeUpgradeConfig;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    ClientCredentialsConfig, CredentialStore, StoredCredentials, WWWAuthenticateParams,
};
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::host::{Doorman, Host, Keys};
use crate::config::{Link, Login, ServerConfig};

/// How often in a row more is asked for than was granted: a person would be asked each time.
const UPGRADES: u32 = 2;

/// Where one signs in at one server.
pub(super) struct Desk {
    server: String,
    url: Option<Url>,
    login: Login,
    /// The user's own `Authorization` header: then nobody signs in.
    has_own: bool,
    host: Arc<Host>,
    manager: Mutex<Option<AuthorizationManager>>,
}

/// How a request was turned away, and with what it had come.
#[derive(Debug)]
pub(super) enum Denied {
    /// Nobody is known by that token, or it came without.
    Unknown { challenge: Option<String>, token: Option<String> },
    /// The token is good, but not for this.
    Narrow { challenge: String, token: Option<String> },
}

impl Desk {
    pub(super) fn new(host: Arc<Host>, config: &ServerConfig) -> Self {
        let (url, has_own) = match &config.link {
            Link::Remote { url, headers, .. } => {
                (Some(url.clone()), headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")))
            }
            Link::Stdio { .. } => (None, true),
        };
        Self { server: config.name.clone(), url, login: config.login.clone(), has_own, host, manager: Mutex::default() }
    }

    /// The token of the last login, fresh. None if there was none, or it is of no use any longer.
    pub(super) async fn token(&self) -> Option<String> {
        if self.has_own {
            return None;
        }
        let mut manager = self.manager.lock().await;
        if manager.is_none() && self.has_kept() {
            *manager = self.remembered(None).await.ok().flatten();
        }
        manager.as_ref()?.get_access_token().await.ok()
    }

    /// Notes that a request was let in, so that more may be asked for again.
    pub(super) async fn let_in(&self) {
        if let Some(known) = self.manager.lock().await.as_ref() {
            known.reset_scope_upgrade_attempts().await;
        }
    }

    /// Signs in, or asks for more. False if that cannot be done here; the error says why it failed.
    pub(super) async fn sign_in(&self, denied: &Denied) -> Result<bool, String> {
        if self.has_own {
            return Ok(false);
        }
        let mut manager = self.manager.lock().await;
        let (Denied::Unknown { token, .. } | Denied::Narrow { token, .. }) = denied;
        if let Some(known) = manager.as_ref()
            && let Ok(now) = known.get_access_token().await
            && Some(&now) != token.as_ref()
        {
            return Ok(true); // somebody else signed in meanwhile
        }
        let outcome = match (denied, manager.as_ref()) {
            (Denied::Narrow { challenge, token: Some(_) }, Some(known)) if !self.login.is_for_machines => {
                self.widen(known, challenge).await
            }
            (Denied::Narrow { challenge, .. }, _) => self.renew(&mut manager, Some(challenge)).await,
            (Denied::Unknown { challenge, .. }, _) => self.renew(&mut manager, challenge.as_deref()).await,
        };
        outcome.map_err(|why| format!("the login failed: {why}"))
    }

    /// Refreshes what was kept if it still counts, or signs in with what is configured, or has a person sign in.
    async fn renew(&self, manager: &mut Option<AuthorizationManager>, challenge: Option<&str>) -> Result<bool, String> {
        if self.has_kept() || manager.is_some() {
            *manager = None;
            if let Some(kept) = self.remembered(challenge).await.map_err(|error| error.to_string())?
                && kept.refresh_token().await.is_ok()
            {
                *manager = Some(kept);
                return Ok(true);
            }
        }
        let (machine, doorman) = (self.machine(challenge), self.host.doorman.as_ref());
        if machine.is_none() && doorman.is_none() {
            return Ok(false);
        }
        let words = |error: AuthError| error.to_string();
        let mut fresh = self.manager().await.map_err(words)?;
        let found = fresh.resolve_metadata_from_challenge(challenge).await.map_err(words)?;
        let only_machines = is_for_machines_only(found.metadata.additional_fields.get("grant_types_supported"));
        fresh.set_metadata(found.metadata);
        if let Some(client) = machine.filter(|_| self.login.is_for_machines || only_machines) {
            fresh.validate_client_credentials_metadata(&client).map_err(words)?;
            fresh.configure_client_credentials(&client).map_err(words)?;
            fresh.exchange_client_credentials(&client).await.map_err(words)?;
            *manager = Some(fresh);
            return Ok(true);
        }
        let Some(doorman) = doorman else { return Ok(false) };
        *manager = Some(self.authorize(fresh, doorman.as_ref()).await?);
        Ok(true)
    }

    /// Who we are without a person, if an id and a secret were given, and what is asked for.
    fn machine(&self, challenge: Option<&str>) -> Option<ClientCredentialsConfig> {
        let url = self.url.as_ref()?;
        let asked = || challenge.and_then(|challenge| WWWAuthenticateParams::parse(challenge, url).scope);
        let scopes = if self.login.scopes.is_empty() {
            asked().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
        } else {
            self.login.scopes.clone()
        };
        Some(ClientCredentialsConfig::ClientSecret {
            client_id: self.login.client_id.clone()?,
            client_secret: self.login.client_secret.as_ref()?.reveal().to_owned(),
            scopes,
            resource: Some(url.to_string()),
        })
    }

    async fn authorize(
        &self,
        manager: AuthorizationManager,
        doorman: &dyn Doorman,
    ) -> Result<AuthorizationManager, String> {
        let mut request = AuthorizationRequest::new(doorman.comes_back_to())
            .with_client_name("Updraft")
            .with_initial_scope_selection();
        if !self.login.scopes.is_empty() {
            request = request.with_scopes(self.login.scopes.iter().cloned());
        }
        if let Some(id) = &self.login.client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = &self.login.client_secret {
            request = request.with_client_secret(secret.reveal());
        }
        if let Some(address) = doorman.describes_itself_at() {
            request = request.with_client_metadata_url(address);
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error.to_string())?;
        let back = doorman.visit(&self.server, session.get_authorization_url()).await?;
        session.handle_callback_url(&back).await.map_err(|error| error.to_string())?;
        Ok(session.auth_manager)
    }

    /// Asks for more than was granted, a few times at most.
    async fn widen(&self, known: &AuthorizationManager, challenge: &str) -> Result<bool, String> {
        let (Some(doorman), Some(url)) = (&self.host.doorman, &self.url) else { return Ok(false) };
        let wanted = WWWAuthenticateParams::parse(challenge, url).scope.unwrap_or_default();
        if !known.can_attempt_scope_upgrade().await {
            return Ok(false);
        }
        let words = |error: AuthError| error.to_string();
        let page = known.request_scope_upgrade(&wanted).await.map_err(words)?;
        let back = doorman.visit(&self.server, &page).await?;
        let back = AuthorizationCallback::from_redirect_url(&back).map_err(words)?;
        known
            .exchange_code_for_token_with_issuer(&back.code, &back.csrf_token, back.issuer.as_deref())
            .await
            .map_err(words)?;
        Ok(true)
    }

    fn address(&self) -> String {
        self.url.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    fn has_kept(&self) -> bool {
        self.host.keys.as_ref().is_some_and(|keys| keys.load(&self.server, &self.address()).is_some())
    }

    /// What was kept of the last login, if it was with those who are in charge now.
    async fn remembered(&self, challenge: Option<&str>) -> Result<Option<AuthorizationManager>, AuthError> {
        let mut manager = self.manager().await?;
        let found = manager.resolve_metadata_from_challenge(challenge).await?;
        manager.set_metadata(found.metadata);
        Ok(manager.initialize_from_store().await?.then_some(manager))
    }

    async fn manager(&self) -> Result<AuthorizationManager, AuthError> {
        // Fails where one is installed already, and that one will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Some(url) = self.url.clone() else { return Err(AuthError::NoAuthorizationSupport) };
        let mut manager = AuthorizationManager::new(url).await?;
        let mut few = ScopeUpgradeConfig::default();
        few.max_upgrade_attempts = UPGRADES;
        manager.set_scope_upgrade_config(few);
        if let Some(keys) = &self.host.keys {
            let (server, address) = (self.server.clone(), self.address());
            manager.set_credential_store(Kept { server, address, keys: Arc::clone(keys) });
        }
        Ok(manager)
    }
}

/// Whether those in charge know clients by id and secret, and no persons.
fn is_for_machines_only(grants: Option<&Value>) -> bool {
    let has = |kind: &str| grants.and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == kind));
    has("client_credentials") && !has("authorization_code")
}

/// The caller's store of secrets, in the form the SDK wants it.
struct Kept {
    server: String,
    address: String,
    keys: Arc<dyn Keys>,
}

#[async_trait]
impl CredentialStore for Kept {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.keys.load(&self.server, &self.address).and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let failed = |why: String| AuthError::CredentialStoreError(why);
        let bytes = serde_json::to_vec(&credentials).map_err(|error| failed(error.to_string()))?;
        self.keys.save(&self.server, &self.address, Some(bytes)).map_err(|error| failed(error.to_string()))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let cleared = self.keys.save(&self.server, &self.address, None);
        cleared.map_err(|error| AuthError::CredentialStoreError(error.to_string()))
    }
}
