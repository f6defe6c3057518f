//! A web server on loopback that says what a test wants, over HTTP, or HTTPS with an authority of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// What the server says to a request.
pub(crate) enum Answer {
    /// This, and that is all.
    Whole(Vec<u8>),
    /// This, and then that again and again, for as long as anyone listens.
    Endless(Vec<u8>, Vec<u8>),
    /// This, and then nothing while the other side holds on.
    Stalled(Vec<u8>),
}

/// A page of a kind.
pub(crate) fn page(kind: &str, body: impl AsRef<[u8]>) -> Answer {
    with("200 OK", &[("content-type", kind)], body)
}

/// An answer with status, headers and body.
pub(crate) fn with(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    Answer::Whole([head.as_bytes(), body].concat())
}

type Says = dyn Fn(&str) -> Answer + Send + Sync;

pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    /// The certificate of its authority, if it speaks TLS.
    pub(crate) authority: String,
    /// How many requests it was sent.
    hits: Arc<AtomicUsize>,
    /// Told when the other side ended a connection that was still being answered.
    pub(crate) left: Arc<Notify>,
    _serving: JoinSet<()>,
}

impl Site {
    /// Over HTTP. `says` is given the path.
    pub(crate) async fn plain(says: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::serve(None, String::new(), Arc::new(says)).await
    }

    /// Over HTTPS, with a certificate for these names.
    pub(crate) async fn secure(names: &[&str], says: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        let provider = rustls::crypto::ring::default_provider();
        let config =
            ServerConfig::builder_with_provider(provider.into()).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
        Self::serve(Some(TlsAcceptor::from(Arc::new(config))), authority.pem(), Arc::new(says)).await
    }

    async fn serve(tls: Option<TlsAcceptor>, authority: String, says: Arc<Says>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, hits, left) =
            (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let mut serving = JoinSet::new();
        let (count, told) = (Arc::clone(&hits), Arc::clone(&left));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, says, count, told) = (tls.clone(), Arc::clone(&says), Arc::clone(&count), Arc::clone(&told));
                connections.spawn(async move {
                    match tls {
                        None => answer(stream, &*says, &count, &told).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => answer(stream, &*says, &count, &told).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self { address, authority, hits, left, _serving: serving }
    }

    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// An address on it, as a plain one on this machine.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.address.port())
    }
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    says: &Says,
    count: &AtomicUsize,
    left: &Notify,
) -> Option<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.ok()?);
    }
    count.fetch_add(1, Ordering::SeqCst);
    let request = String::from_utf8_lossy(&request).into_owned();
    match says(request.split(' ').nth(1)?) {
        Answer::Whole(bytes) => {
            stream.write_all(&bytes).await.ok()?;
        }
        Answer::Endless(head, piece) => {
            let mut wrote = stream.write_all(&head).await;
            while wrote.is_ok() {
                wrote = stream.write_all(&piece).await;
            }
            left.notify_one();
        }
        Answer::Stalled(head) => {
            stream.write_all(&head).await.ok()?;
            stream.flush().await.ok()?;
            // Nothing more comes but the end.
            let _ = stream.read_u8().await;
            left.notify_one();
        }
    }
    stream.shutdown().await.ok()
}
