//! Who we are in Google Cloud, and what that costs in requests.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use tempfile::TempDir;
use updraft_models::{Error, GoogleProject, Http, ModelAccess, resolve};

use super::gemini::says;
use super::server::{Server, status, stream};
use super::talk::{Talk, access};

const MODEL: &str = "vertex/gemini-2.5-flash";
const KEY: &str = include_str!("gemini_key.pem");
const GRANTED: &str = r#"{"access_token":"ya29.first","expires_in":3599,"token_type":"Bearer"}"#;

/// A project on this server, with a file of credentials and no token.
fn project(server: &Server, credentials: Option<Value>) -> (ModelAccess, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    let mut access = access(server);
    if let Some(reach) = access.reach.get_mut("vertex") {
        reach.key = None;
    }
    access.google =
        GoogleProject { project: Some("mine".to_owned()), location: Some("eu".to_owned()), ..GoogleProject::default() };
    if let Some(credentials) = credentials {
        std::fs::write(&path, credentials.to_string()).unwrap();
        access.google.credentials = Some(path);
    }
    (access, folder)
}

fn person(server: &Server) -> Value {
    json!({
        "type": "authorized_user", "client_id": "the id", "client_secret": "shh-secret",
        "refresh_token": "1//refresh", "quota_project_id": "payer", "token_uri": format!("{}/token", server.root()),
    })
}

fn service(server: &Server) -> Value {
    json!({
        "type": "service_account", "client_email": "bot@mine.example", "private_key": KEY, "private_key_id": "k1",
        "project_id": "theirs", "token_uri": format!("{}/token", server.root()),
    })
}

#[tokio::test]
async fn a_person_s_token_is_fetched_once_and_used_while_it_is_good() {
    let server =
        Server::new(vec![status(200, "", GRANTED), stream(&says("a")), stream(&says("b")), stream(&says("c"))]).await;
    let (access, _folder) = project(&server, Some(person(&server)));
    let model = resolve(MODEL, &access).unwrap();

    for text in ["a", "b", "c"] {
        assert_eq!(Talk::new().ask(&*model).await.unwrap().text, text);
    }

    let heads = server.heads();
    assert!(heads[0].starts_with("POST /token HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[0].contains("content-type: application/x-www-form-urlencoded"), "{}", heads[0]);
    let form = "grant_type=refresh_token&client_id=the+id&client_secret=shh-secret&refresh_token=1%2F%2Frefresh";
    assert_eq!(server.bodies()[0], form);
    let path =
        "POST /v1/projects/mine/locations/eu/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse ";
    for head in &heads[1..] {
        assert!(head.starts_with(path), "{head}");
        assert!(head.contains("authorization: Bearer ya29.first\r\n"), "{head}");
        assert!(head.contains("x-goog-user-project: payer\r\n"), "{head}");
    }
    assert_eq!(heads.len(), 4);
}

#[tokio::test]
async fn many_who_ask_at_once_cost_one_request_for_a_token() {
    let google = Server::always(status(200, "", GRANTED)).await;
    let server = Server::always(stream(&says("hi"))).await;
    let (mut access, _folder) = project(&server, Some(person(&google)));
    access.patience.stall = std::time::Duration::from_secs(30);
    let model = resolve(MODEL, &access).unwrap();

    let asks = (0..50).map(|_| async { Talk::new().ask(&*model).await.map(|answer| answer.text) });
    let answers = futures_util::future::join_all(asks).await;

    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|text| text == "hi")));
    assert_eq!((google.bodies().len(), server.bodies().len()), (1, 50));
}

#[tokio::test]
async fn a_token_that_has_ended_is_replaced() {
    let ended = r#"{"access_token":"ya29.ended","expires_in":0}"#;
    let server =
        Server::new(vec![status(200, "", ended), stream(&says("a")), status(200, "", GRANTED), stream(&says("b"))])
            .await;
    let (access, _folder) = project(&server, Some(person(&server)));
    let model = resolve(MODEL, &access).unwrap();

    Talk::new().ask(&*model).await.unwrap();
    Talk::new().ask(&*model).await.unwrap();

    assert!(server.heads()[1].contains("Bearer ya29.ended"));
    assert!(server.heads()[3].contains("Bearer ya29.first"));
}

#[tokio::test]
async fn a_service_account_signs_its_request() {
    let server = Server::new(vec![status(200, "", GRANTED), stream(&says("hi"))]).await;
    let (mut access, _folder) = project(&server, Some(service(&server)));
    access.google.project = None;

    Talk::new().ask(&*resolve(MODEL, &access).unwrap()).await.unwrap();

    let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let body = server.bodies().remove(0);
    let parts: Vec<&str> = body.strip_prefix(grant).unwrap().split('.').collect();
    let read = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    let object = |part: &str| serde_json::from_slice::<Value>(&read(part)).unwrap();
    assert_eq!(object(parts[0]), json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}));
    let claims = object(parts[1]);
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!("bot@mine.example"), &service(&server)["token_uri"]));
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3_600);

    let der: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
    let der = base64::engine::general_purpose::STANDARD.decode(der).unwrap();
    let public = ring::signature::RsaKeyPair::from_pkcs8(&der).unwrap().public_key().as_ref().to_vec();
    let text = format!("{}.{}", parts[0], parts[1]);
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public).verify(text.as_bytes(), &read(parts[2])).unwrap();

    let head = server.heads().remove(1);
    assert!(head.starts_with("POST /v1/projects/theirs/"), "{head}");
    assert!(head.contains("Bearer ya29.first") && !head.contains("x-goog-user-project"), "{head}");
}

#[tokio::test]
async fn the_machine_we_run_on_is_asked_where_that_is_said_and_never_by_a_proxy() {
    let server = Server::new(vec![status(200, "metadata-flavor: Google\r\n", GRANTED), stream(&says("hi"))]).await;
    let (mut access, _folder) = project(&server, None);
    access.google.metadata = Some(server.root().trim_start_matches("http://").to_owned());

    Talk::new().ask(&*resolve(MODEL, &access).unwrap()).await.unwrap();

    let head = server.heads().remove(0);
    assert!(head.starts_with("GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("metadata-flavor: Google"), "{head}");
    assert!(server.heads()[1].contains("Bearer ya29.first"));

    let proxy = Server::always(status(502, "", "")).await;
    let machine = Server::always(status(404, "", r#"{"error":"no service account"}"#)).await;
    access.google.metadata = Some(machine.root().trim_start_matches("http://").to_owned());
    access.http = Http::through(proxy.root(), None);
    let error = Talk::new().ask(&*resolve(MODEL, &access).unwrap()).await.unwrap_err();
    assert!(error.to_string().ends_with("no token from Google: status 404: no service account"), "{error}");
    assert_eq!((proxy.heads().len(), machine.heads().len()), (0, 1));
}

#[tokio::test]
async fn a_refused_sign_in_is_said_without_its_secrets_and_a_passing_fault_is_tried_again() {
    let refusal = r#"{"error":"invalid_grant","error_description":"Revoked: 1//refresh of shh-secret"}"#;
    let server = Server::new(vec![status(400, "", refusal)]).await;
    let (access, _folder) = project(&server, Some(person(&server)));
    let error = Talk::new().ask(&*resolve(MODEL, &access).unwrap()).await.unwrap_err();
    let words = "`vertex/gemini-2.5-flash` refused the request with status 401: \
                 no token from Google: status 400: invalid_grant: Revoked: (key) of (key)";
    assert_eq!(error.to_string(), words);
    assert_eq!(server.bodies().len(), 1);

    let server = Server::new(vec![status(503, "", "{}"), status(200, "", GRANTED), stream(&says("hi"))]).await;
    let (access, _folder) = project(&server, Some(person(&server)));
    assert_eq!(Talk::new().ask(&*resolve(MODEL, &access).unwrap()).await.unwrap().text, "hi");
}

#[tokio::test]
async fn an_echoed_token_is_taken_out_and_an_answer_without_one_is_not_quoted() {
    let echo = r#"{"error":{"code":403,"message":"ya29.first may not"}}"#;
    let server = Server::new(vec![status(200, "", GRANTED), status(403, "", echo)]).await;
    let (access, _folder) = project(&server, Some(person(&server)));
    let error = Talk::new().ask(&*resolve(MODEL, &access).unwrap()).await.unwrap_err();
    assert!(matches!(&error, Error::Refused { status: 403, message, .. } if message == "(key) may not"), "{error}");

    let server = Server::new(vec![status(200, "", r#"{"id_token":"hidden"}"#)]).await;
    let (access, _folder) = project(&server, Some(person(&server)));
    let error = Talk::new().ask(&*resolve(MODEL, &access).unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("no token in the answer") && !error.contains("hidden"), "{error}");
}

#[tokio::test]
async fn a_token_that_was_given_needs_no_credentials() {
    let server = Server::new(vec![stream(&says("hi"))]).await;
    let (mut given, _folder) = project(&server, None);
    given.reach = access(&server).reach;
    given.google.credentials = Some("/nowhere/at/all.json".into());
    given.google.location = None;

    Talk::new().ask(&*resolve(MODEL, &given).unwrap()).await.unwrap();

    let head = server.heads().remove(0);
    assert!(head.starts_with("POST /v1/projects/mine/locations/global/publishers/"), "{head}");
    assert!(head.contains("authorization: Bearer sk-secret-of-ours\r\n"), "{head}");
}

#[tokio::test]
async fn what_is_missing_or_not_supported_is_said_before_anything_is_sent() {
    let server = Server::new(Vec::new()).await;
    let (mut access, folder) = project(&server, Some(json!({"type": "external_account", "audience": "x"})));
    let said = |access: &ModelAccess| resolve(MODEL, access).err().unwrap().to_string();
    let words = said(&access);
    assert!(words.contains("`external_account` (workload identity federation), which is not supported"), "{words}");

    access.google.credentials = Some(folder.path().join("absent.json"));
    assert!(said(&access).contains("absent.json"));

    access.google = GoogleProject::default();
    assert_eq!(said(&access), "no Google Cloud project is set");
    assert_eq!(server.heads().len(), 0);
}
