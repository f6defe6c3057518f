//! A bucket in use, with a store in memory; the real one is in tests/restate.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use tokio::net::TcpListener;

use super::*;

/// A store in memory.
#[derive(Default)]
struct MemoryStore {
    objects: BTreeMap<String, Vec<u8>>,
    /// How many requests are answered with 503.
    busy: usize,
    /// Whether it knows conditions.
    is_old: bool,
    /// Whether a proxy answers that does not find it.
    is_astray: bool,
    writes: usize,
    /// What requests said about temporary credentials, and whether that was signed.
    tokens: BTreeSet<(String, bool)>,
}

type SharedStore = Arc<Mutex<MemoryStore>>;

fn answer(store: &SharedStore, request: (Method, Uri, HeaderMap), body: &Bytes) -> (StatusCode, Vec<u8>) {
    let (method, uri, headers) = request;
    let mut store = store.lock().unwrap();
    let name = uri.path().to_owned();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_signed = header("authorization").contains("x-amz-date;x-amz-security-token,");
    store.tokens.insert((header("x-amz-security-token").to_owned(), is_signed));
    if store.busy > 0 {
        store.busy -= 1;
        return (StatusCode::SERVICE_UNAVAILABLE, b"<Error><Code>SlowDown</Code></Error>".to_vec());
    }
    if store.is_astray {
        return (StatusCode::NOT_FOUND, b"<html>no such site</html>".to_vec());
    }
    let is_conditional = headers.contains_key("if-none-match");
    match method {
        Method::PUT if is_conditional && store.is_old => (StatusCode::NOT_IMPLEMENTED, Vec::new()),
        Method::PUT if is_conditional && store.objects.contains_key(&name) => {
            (StatusCode::PRECONDITION_FAILED, Vec::new())
        }
        Method::PUT => {
            store.writes += 1;
            store.objects.insert(name, body.to_vec());
            (StatusCode::OK, Vec::new())
        }
        Method::DELETE => {
            store.objects.remove(&name);
            (StatusCode::NO_CONTENT, Vec::new())
        }
        _ => match store.objects.get(&name) {
            Some(bytes) => (StatusCode::OK, bytes.clone()),
            None => (StatusCode::NOT_FOUND, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
        },
    }
}

async fn store() -> (SharedStore, BucketSettings, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = BucketSettings {
        place: "s3://looms/warp".into(),
        endpoint: Some(format!("http://{}", listener.local_addr().unwrap())),
        access_key: Some("ann".into()),
        secret_key: Some("secret".into()),
        session_token: Some("temporary".into()),
        ..BucketSettings::default()
    };
    let store = SharedStore::default();
    let answering = |State(store): State<SharedStore>, request: (Method, Uri, HeaderMap), body: Bytes| {
        std::future::ready(answer(&store, request, &body))
    };
    let router = axum::Router::new().fallback(answering).with_state(Arc::clone(&store));
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
    (store, settings, serving)
}

async fn open(settings: &BucketSettings, fresh: &str) -> BlobBucket {
    BlobBucket::open(settings, fresh, || Timestamp(1), CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn values_are_read_back_although_the_store_is_busy_and_changed_ones_are_not() {
    let (store, settings, _serving) = store().await;
    let bucket = open(&settings, "one").await;
    let blobs: Vec<Blob> = (0..20_u8).map(|number| Blob::new(vec![number; 100])).collect();
    store.lock().unwrap().busy = 3;
    bucket.put(&blobs).await.unwrap();
    let writes = store.lock().unwrap().writes;
    bucket.put(&blobs).await.unwrap();
    assert_eq!(store.lock().unwrap().writes, writes, "what was written is not written again");
    store.lock().unwrap().busy = 3;
    let absent = Blob::new(b"absent".to_vec());
    let asked = || blobs.iter().chain([&absent]).map(Blob::hash);
    let mut found = bucket.get(asked()).await.unwrap();
    found.sort_by_key(|blob| blob.bytes().first().copied());
    assert_eq!(found, blobs);
    let name = format!("/looms/warp/{}", object_of(&blobs[0].hash()));
    *store.lock().unwrap().objects.get_mut(&name).unwrap() = b"changed".to_vec();
    assert_eq!(bucket.get(asked()).await.unwrap().len(), 19);
    // Another process writes it anew.
    open(&settings, "two").await.put(&blobs).await.unwrap();
    assert_eq!(bucket.get(asked()).await.unwrap().len(), 20);
    // What a proxy does not find is not missing for that.
    store.lock().unwrap().is_astray = true;
    let fault = bucket.get([absent.hash()]).await.unwrap_err();
    assert!(matches!(&fault, BucketFault::Refused { refusal, .. } if refusal.status == 404), "{fault}");
}

#[tokio::test]
async fn everyone_who_has_the_bucket_finds_the_same_id_and_the_check_leaves_nothing() {
    for is_old in [false, true] {
        let (store, settings, _serving) = store().await;
        store.lock().unwrap().is_old = is_old;
        let (one, two) = (open(&settings, "one").await, open(&settings, "two").await);
        assert_eq!((one.id(), two.id()), ("one", "one"));
        let objects: Vec<String> = store.lock().unwrap().objects.keys().cloned().collect();
        assert_eq!(objects, ["/looms/warp/updraft-blobs"]);
        assert_eq!(store.lock().unwrap().tokens, BTreeSet::from([("temporary".to_owned(), true)]));
    }
    let (_, settings, _serving) = store().await;
    let (one, two) = tokio::join!(open(&settings, "one"), open(&settings, "two"));
    assert_eq!(one.id(), two.id(), "whoever comes first wins");
}

#[tokio::test]
async fn a_store_that_is_away_is_said() {
    let (_, mut settings, mut serving) = store().await;
    serving.shutdown().await;
    let stop = CancellationToken::new();
    stop.cancel();
    let fault = BlobBucket::check(&settings, "one", || Timestamp(1), stop.clone()).await.unwrap_err();
    assert!(fault.to_string().starts_with("s3://looms/warp at http://127.0.0.1:"), "{fault}");
    assert!(matches!(fault, BucketFault::Unreachable { .. }) && fault.hint().contains("AWS_ENDPOINT_URL"));
    settings.secret_key = None;
    let fault = BlobBucket::check(&settings, "one", || Timestamp(1), stop).await.unwrap_err();
    assert!(fault.hint().contains("AWS_SECRET_ACCESS_KEY"), "{fault}");
}
