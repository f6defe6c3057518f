//! OAuth logins for remote servers: derived from the server's refusal, done by a person in a browser, stored by the
//! embedding program.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use rmcp::transport::ScopeUpgradeConfig;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    ClientCredentialsConfig, CredentialStore, StoredCredentials, WWWAuthenticateParams,
};
use serde_json::Value;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use tokio::task::JoinSet;
use url::Url;

use super::host::{LoginBrowser, McpHost, SecretStore};
use crate::config::{LoginConfig, ServerConfig, TransportConfig};
use crate::error::cut;

/// How many times in a row more scopes are requested: a person is asked each time.
const UPGRADES: u32 = 2;

/// A token is renewed this many seconds before it expires. The SDK uses a smaller margin, so we are always first.
const MARGIN: u64 = 60;
/// How long closing waits for the answer to a renewal in progress.
const LAST_ANSWER: Duration = Duration::from_secs(10);

type ManagerGuard = OwnedMutexGuard<Option<AuthorizationManager>>;

/// The login state for one server.
pub(super) struct ServerLogin {
    server: String,
    url: Option<Url>,
    login: LoginConfig,
    /// Whether the user has configured an `Authorization` header: then there is no login.
    has_own: bool,
    host: Arc<McpHost>,
    manager: Arc<Mutex<Option<AuthorizationManager>>>,
    /// Held while a login is renewed: a refresh token can be used only once, so the answer must be stored.
    renewing: Mutex<()>,
    is_closing: AtomicBool,
    tasks: std::sync::Mutex<JoinSet<()>>,
    /// Why the last login failed.
    failure: std::sync::Mutex<Option<String>>,
}

/// How a request was refused, and the token it was sent with.
#[derive(Debug)]
pub(super) enum AuthDenial {
    /// The token is missing or not accepted.
    Unknown { challenge: Option<String>, token: Option<String> },
    /// The token is valid, but its scopes are not sufficient.
    Narrow { challenge: String, token: Option<String> },
}

impl ServerLogin {
    pub(super) fn new(host: Arc<McpHost>, config: &ServerConfig) -> Self {
        let (url, has_own) = match &config.link {
            TransportConfig::Remote { url, headers, .. } => {
                (Some(url.clone()), headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")))
            }
            TransportConfig::Stdio { .. } => (None, true),
        };
        Self {
            server: config.name.clone(),
            url,
            login: config.login.clone(),
            has_own,
            host,
            manager: Arc::default(),
            renewing: Mutex::default(),
            is_closing: AtomicBool::new(false),
            tasks: std::sync::Mutex::default(),
            failure: std::sync::Mutex::default(),
        }
    }

    /// Allows renewals until `close` is called.
    pub(super) fn open(&self) {
        self.is_closing.store(false, Ordering::Relaxed);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Starts no more renewals: the end of the process would interrupt them.
    pub(super) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Waits until a renewal in progress is stored, with a time limit.
    pub(super) async fn closed(&self) {
        let _ = tokio::time::timeout(LAST_ANSWER, self.renewing.lock()).await;
    }

    /// Why the last attempt to sign in failed.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A valid token of the last login. `None` if there was no login, or it can no longer be used.
    pub(super) async fn token(self: &Arc<Self>) -> Option<String> {
        if self.has_own || self.is_to_be_widened() {
            return None;
        }
        let mut manager = Arc::clone(&self.manager).lock_owned().await;
        if manager.is_none() && self.has_kept() {
            *manager = self.remembered(None).await.ok().flatten();
        }
        let known = manager.as_ref()?;
        if self.kept().is_some_and(|kept| is_fresh(&kept)) {
            return known.get_access_token().await.ok();
        }
        self.renewed(manager, None).await.ok()?.1
    }

    /// A new token in place of one that is too old, or of the one that was refused. Only one process renews at a time,
    /// and it takes over the result if another has just done so. A renewal always runs to its end, even if nobody waits
    /// for it any longer.
    async fn renewed(
        self: &Arc<Self>,
        manager: ManagerGuard,
        refused: Option<String>,
    ) -> Result<(ManagerGuard, Option<String>), String> {
        let own = Arc::clone(self);
        let renewing = async move {
            let _one = own.renewing.lock().await;
            if own.is_closing.load(Ordering::Relaxed) {
                return (manager, None);
            }
            let address = own.address();
            let _alone = match &own.host.keys {
                Some(keys) => keys.alone(&own.server, &address).await,
                None => None,
            };
            let token = match manager.as_ref() {
                Some(known) => own.renew_now(known, refused.as_deref()).await,
                None => None,
            };
            (manager, token)
        };
        let (done, renewed) = oneshot::channel();
        {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move {
                // The waiting side may be gone: the token is stored anyway.
                let _ = done.send(renewing.await);
            });
        }
        renewed.await.map_err(|_| "it could not be renewed".to_owned())
    }

    async fn renew_now(&self, known: &AuthorizationManager, refused: Option<&str>) -> Option<String> {
        let before = self.kept();
        let is_other = |kept: &Value| refused.is_some() && access(kept).as_deref() != refused && is_fresh(kept);
        if let Some(other) = before.as_ref().filter(|kept| is_other(kept)) {
            return access(other); // another process was faster
        }
        let renewed = match refused {
            Some(_) => known.refresh_token().await.map(drop),
            None => known.get_access_token().await.map(drop),
        };
        // If our renewal was refused, another process that does not take the lock may have renewed the token before us.
        let is_good = renewed.is_ok() || self.kept() != before;
        if is_good { known.get_access_token().await.ok() } else { None }
    }

    /// The missing scopes that a refusal names.
    pub(super) fn scope_of(&self, challenge: &str) -> Option<String> {
        WWWAuthenticateParams::parse(challenge, self.url.as_ref()?).scope
    }

    /// Notes that a request succeeded, so that more scopes may be requested again.
    pub(super) async fn let_in(&self) {
        if let Some(known) = self.manager.lock().await.as_ref() {
            known.reset_scope_upgrade_attempts().await;
        }
    }

    /// Signs in, or requests more scopes. Returns false if that is not possible here; an error says why it failed.
    pub(super) async fn sign_in(self: &Arc<Self>, denied: &AuthDenial) -> Result<bool, String> {
        if self.has_own {
            return Ok(false);
        }
        let manager = Arc::clone(&self.manager).lock_owned().await;
        let (AuthDenial::Unknown { token, .. } | AuthDenial::Narrow { token, .. }) = denied;
        if let Some(known) = manager.as_ref().filter(|_| !self.is_to_be_widened())
            && self.kept().is_none_or(|kept| is_fresh(&kept))
            && let Ok(now) = known.get_access_token().await
            && Some(&now) != token.as_ref()
        {
            return Ok(true); // somebody else signed in meanwhile
        }
        let refused = token.clone();
        let outcome = match (denied, manager.as_ref()) {
            (AuthDenial::Narrow { challenge, token: Some(_) }, Some(known)) if !self.login.is_for_machines => {
                self.widen(known, challenge).await
            }
            (AuthDenial::Narrow { challenge, .. }, _) => self.renew(manager, Some(challenge), refused).await,
            (AuthDenial::Unknown { challenge, .. }, _) => self.renew(manager, challenge.as_deref(), refused).await,
        };
        let outcome = outcome.map_err(|why| format!("the login failed: {why}"));
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = outcome.as_ref().err().cloned();
        outcome
    }

    /// Refreshes the stored login if it is still valid, or signs in with the configured credentials, or lets a person
    /// sign in.
    async fn renew(
        self: &Arc<Self>,
        mut manager: ManagerGuard,
        challenge: Option<&str>,
        refused: Option<String>,
    ) -> Result<bool, String> {
        if (self.has_kept() || manager.is_some()) && !self.is_to_be_widened() {
            *manager = None;
            if let Some(kept) = self.remembered(challenge).await.map_err(|error| error.to_string())? {
                *manager = Some(kept);
                let token;
                (manager, token) = self.renewed(manager, Some(refused.unwrap_or_default())).await?;
                if token.is_some() {
                    return Ok(true);
                }
                *manager = None;
            }
        }
        let (machine, login_handler) = (self.machine(challenge), self.host.login_handler.as_ref());
        if machine.is_none() && login_handler.is_none() {
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
        let Some(login_handler) = login_handler else { return Ok(false) };
        *manager = Some(self.authorize(fresh, login_handler.as_ref()).await?);
        Ok(true)
    }

    /// The client credentials to sign in without a person, if an id and a secret are configured, and the scopes to
    /// request.
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
        login_handler: &dyn LoginBrowser,
    ) -> Result<AuthorizationManager, String> {
        let mut request = AuthorizationRequest::new(login_handler.comes_back_to())
            .with_client_name("Updraft")
            .with_initial_scope_selection();
        let missing = self.missing_scopes();
        if !missing.is_empty() {
            let granted = self.kept().and_then(|kept| kept["granted_scopes"].as_array().cloned()).unwrap_or_default();
            let granted = granted.iter().filter_map(Value::as_str).map(str::to_owned);
            let all: BTreeSet<String> = granted.chain(self.login.scopes.iter().cloned()).chain(missing).collect();
            request = request.with_scopes(all);
        } else if !self.login.scopes.is_empty() {
            request = request.with_scopes(self.login.scopes.iter().cloned());
        }
        if let Some(id) = &self.login.client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = &self.login.client_secret {
            request = request.with_client_secret(secret.reveal());
        }
        if let Some(address) = login_handler.describes_itself_at() {
            request = request.with_client_metadata_url(address);
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| self.unregistered(&error))?;
        let back = login_handler.visit(&self.server, session.get_authorization_url()).await?;
        session.handle_callback_url(&back).await.map_err(|error| error.to_string())?;
        self.note_missing(&[]);
        Ok(session.auth_manager)
    }

    /// Why a person could not even be sent to the login page.
    fn unregistered(&self, error: &AuthError) -> String {
        let is_unknown_there = matches!(error, AuthError::RegistrationFailed(_)) && self.login.client_id.is_none();
        let hint = "; register Updraft there yourself, and write the id you get as `oauth.clientId` into the entry of the server";
        format!("{error}{}", if is_unknown_there { hint } else { "" })
    }

    /// Requests more scopes than were granted, a few times at most.
    async fn widen(&self, known: &AuthorizationManager, challenge: &str) -> Result<bool, String> {
        let Some(url) = &self.url else { return Ok(false) };
        let wanted = WWWAuthenticateParams::parse(challenge, url).scope.unwrap_or_default();
        let Some(login_handler) = &self.host.login_handler else {
            // The next login requests them.
            self.note_missing(&wanted.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
            return Ok(false);
        };
        if !known.can_attempt_scope_upgrade().await {
            return Ok(false);
        }
        let words = |error: AuthError| error.to_string();
        let page = known.request_scope_upgrade(&wanted).await.map_err(words)?;
        let back = login_handler.visit(&self.server, &page).await?;
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

    /// What is currently stored of the last login.
    fn kept(&self) -> Option<Value> {
        serde_json::from_slice(&self.host.keys.as_ref()?.load(&self.server, &self.address())?).ok()
    }

    /// The key under which missing scopes are stored, next to the login. It is not the address of a server.
    fn beside(&self) -> String {
        format!("{} missing scopes", self.address())
    }

    /// The scopes that calls needed and the login does not have.
    fn missing_scopes(&self) -> Vec<String> {
        let kept = self.host.keys.as_ref().and_then(|keys| keys.load(&self.server, &self.beside()));
        kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn note_missing(&self, scopes: &[String]) {
        let Some(keys) = &self.host.keys else { return };
        let before = self.missing_scopes();
        let all: BTreeSet<&String> = before.iter().chain(scopes).collect();
        let kept = (!scopes.is_empty()).then(|| serde_json::to_vec(&all).unwrap_or_default());
        if (kept.is_some() || !before.is_empty())
            && let Err(error) = keys.save(&self.server, &self.beside(), kept)
        {
            tracing::debug!(%error, "the missing scopes could not be saved");
        }
    }

    /// Whether scopes are missing and a person is present who can sign in again.
    fn is_to_be_widened(&self) -> bool {
        self.host.login_handler.is_some() && !self.login.is_for_machines && !self.missing_scopes().is_empty()
    }

    /// The stored login, if it is from the authorization server that is responsible now.
    async fn remembered(&self, challenge: Option<&str>) -> Result<Option<AuthorizationManager>, AuthError> {
        let mut manager = self.manager().await?;
        let found = manager.resolve_metadata_from_challenge(challenge).await?;
        manager.set_metadata(found.metadata);
        Ok(manager.initialize_from_store().await?.then_some(manager))
    }

    async fn manager(&self) -> Result<AuthorizationManager, AuthError> {
        // Fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Some(url) = self.url.clone() else { return Err(AuthError::NoAuthorizationSupport) };
        let mut manager = AuthorizationManager::new(url).await?;
        let mut few = ScopeUpgradeConfig::default();
        few.max_upgrade_attempts = UPGRADES;
        manager.set_scope_upgrade_config(few);
        if let Some(keys) = &self.host.keys {
            let (server, address) = (self.server.clone(), self.address());
            manager.set_credential_store(CredentialAdapter { server, address, keys: Arc::clone(keys) });
        }
        Ok(manager)
    }
}

/// Why a login page redirected a person back without a code, if it did. `back` is the address, or its path and query.
pub fn refused_login(back: &str) -> Option<String> {
    let back = Url::parse("http://localhost/").ok()?.join(back).ok()?;
    let said = |name: &str| back.query_pairs().find(|(key, _)| key == name).map(|(_, value)| cut(&value, 500));
    let error = said("error")?;
    Some(match said("error_description") {
        Some(words) => format!("{words} ({error})"),
        None => error,
    })
}

/// Whether a stored login stays valid for a while, according to its own expiry time.
#[expect(clippy::disallowed_methods, reason = "compared with what the SDK took from the same clock")]
fn is_fresh(kept: &Value) -> bool {
    let (Some(lasts), Some(since)) =
        (kept["token_response"]["expires_in"].as_u64(), kept["token_received_at"].as_u64())
    else {
        return true;
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    now + MARGIN < since.saturating_add(lasts)
}

/// The access token in a stored login.
fn access(kept: &Value) -> Option<String> {
    kept["token_response"]["access_token"].as_str().map(str::to_owned)
}

/// Whether the authorization server supports only client credentials, and no logins by persons.
fn is_for_machines_only(grants: Option<&Value>) -> bool {
    let has = |kind: &str| grants.and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == kind));
    has("client_credentials") && !has("authorization_code")
}

/// The embedding program's secret store, as the SDK's credential store.
struct CredentialAdapter {
    server: String,
    address: String,
    keys: Arc<dyn SecretStore>,
}

#[async_trait]
impl CredentialStore for CredentialAdapter {
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
