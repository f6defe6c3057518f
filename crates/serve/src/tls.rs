//! Encryption: a certificate and its key from files, read again when they have changed, and connections that begin with
//! the handshake.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};
use webpki::EndEntityCert;

use crate::admission::{AdmissionSlot, PendingStream};

/// How often the files are looked at, at most.
const LOOK: Duration = Duration::from_secs(10);

/// The certificate of a server, and its key. Cheap to clone.
#[derive(Clone)]
pub struct TlsIdentity(Arc<Mutex<TlsFiles>>);

struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    /// When the two files were changed, as far as is known.
    changed: [Option<SystemTime>; 2],
    looked: Instant,
    chain: Vec<CertificateDer<'static>>,
    config: Arc<ServerConfig>,
}

impl TlsIdentity {
    /// Reads a certificate with its chain, and its key, from PEM files.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let changed = [certificate, key].map(changed);
        let (chain, config) = load(certificate, key)?;
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        let files = TlsFiles { certificate, key, changed, looked: Instant::now(), chain, config };
        Ok(Self(Arc::new(Mutex::new(files))))
    }

    /// The host names in the certificate.
    pub fn names(&self) -> Vec<String> {
        self.with_certificate(|certificate| certificate.valid_dns_names().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    /// Whether the certificate is for this host name or address.
    pub(crate) fn is_for(&self, host: &str) -> bool {
        let Ok(name) = ServerName::try_from(host.trim_matches(['[', ']'])) else { return false };
        self.with_certificate(|certificate| certificate.verify_is_valid_for_subject_name(&name).is_ok())
            .unwrap_or(false)
    }

    fn with_certificate<T>(&self, look: impl FnOnce(&EndEntityCert<'_>) -> T) -> Option<T> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(look(&EndEntityCert::try_from(files.chain.first()?).ok()?))
    }

    /// Begins the handshake on a new connection, with the files as they are now.
    pub(crate) fn greet(&self, stream: PendingStream) -> Accept<PendingStream> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if files.looked.elapsed() >= LOOK {
            files.looked = Instant::now();
            files.renew();
        }
        TlsAcceptor::from(Arc::clone(&files.config)).accept(stream)
    }
}

impl TlsFiles {
    /// Reads the files again if they have changed. While they do not fit together, the certificate stays as it was.
    fn renew(&mut self) {
        let changed = [&*self.certificate, &*self.key].map(changed);
        if changed == self.changed {
            return;
        }
        match load(&self.certificate, &self.key) {
            Ok((chain, config)) => {
                (self.chain, self.config, self.changed) = (chain, config, changed);
                tracing::info!("the certificate was read again");
            }
            Err(why) => tracing::warn!("the certificate stays as it was: {why}"),
        }
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|about| about.modified()).ok()
}

fn load(certificate: &Path, key: &Path) -> Result<(Vec<CertificateDer<'static>>, Arc<ServerConfig>), String> {
    let wrong = |file: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain = chain.map_err(|error| wrong(certificate, &error))?;
    if chain.is_empty() {
        return Err(wrong(certificate, &"there is no certificate in it (in PEM format)"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain.clone(), secret));
    let mut config = config.map_err(|error| wrong(key, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((chain, Arc::new(config)))
}

/// A connection to the server, encrypted or not.
pub(crate) struct ServerStream {
    /// Its place in the waiting room.
    pub(crate) seat: AdmissionSlot,
    wire: Wire,
}

enum Wire {
    Plain(PendingStream),
    /// The handshake is made when the first byte is wanted, by the task of the connection.
    Greeting(Box<Accept<PendingStream>>),
    Encrypted(Box<TlsStream<PendingStream>>),
}

/// A stream of either kind.
trait ByteStream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> ByteStream for T {}

impl ServerStream {
    /// A connection that was accepted; encrypted if there is a certificate.
    pub(crate) fn new(stream: PendingStream, tls: Option<&TlsIdentity>) -> Self {
        let seat = stream.seat.clone();
        let wire = match tls {
            Some(tls) => Wire::Greeting(Box::new(tls.greet(stream))),
            None => Wire::Plain(stream),
        };
        Self { seat, wire }
    }

    /// The stream, after the handshake.
    fn poll_stream(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut dyn ByteStream>>> {
        if let Wire::Greeting(handshake) = &mut self.wire {
            let stream = ready!(Pin::new(&mut **handshake).poll(cx))?;
            self.wire = Wire::Encrypted(Box::new(stream));
        }
        match &mut self.wire {
            Wire::Plain(stream) => Poll::Ready(Ok(Pin::new(stream))),
            Wire::Encrypted(stream) => Poll::Ready(Ok(Pin::new(&mut **stream))),
            Wire::Greeting(_) => Poll::Pending,
        }
    }
}

impl AsyncRead for ServerStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_stream(cx))?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for ServerStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_stream(cx))?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_stream(cx))?.poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(stream) => stream.is_write_vectored(),
            Wire::Greeting(_) | Wire::Encrypted(_) => true,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_stream(cx))?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            // A client that never made the handshake gets no farewell.
            Wire::Greeting(_) => Poll::Ready(Ok(())),
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Encrypted(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str) -> [PathBuf; 2] {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let files = ["cert.pem", "key.pem"].map(|name| folder.join(name));
        std::fs::write(&files[0], made.cert.pem()).unwrap();
        std::fs::write(&files[1], made.signing_key.serialize_pem()).unwrap();
        files
    }

    fn renew(identity: &TlsIdentity) {
        let mut files = identity.0.lock().unwrap();
        // Files that change within one tick of the clock would look the same.
        files.changed = [None, None];
        files.renew();
    }

    #[test]
    fn a_certificate_that_has_changed_is_read_again_and_a_broken_one_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let [certificate, key] = write(folder.path(), "old.example");
        let identity = TlsIdentity::read(&certificate, &key).unwrap();
        assert!(identity.is_for("old.example") && !identity.is_for("new.example"));
        write(folder.path(), "new.example");
        renew(&identity);
        assert_eq!(identity.names(), ["new.example"]);
        let other = tempfile::tempdir().unwrap();
        let [_, foreign] = write(other.path(), "other.example");
        std::fs::copy(&foreign, &key).unwrap();
        renew(&identity);
        assert!(identity.is_for("new.example"), "the key does not fit, so the last pair stays");
        assert!(TlsIdentity::read(&certificate, &key).is_err());
        std::fs::write(&certificate, "").unwrap();
        assert!(TlsIdentity::read(&certificate, &foreign).err().unwrap().contains("cert.pem"));
    }
}
