//! A page that tries to reach private addresses in every way a page has. Nothing arrives, and everything is reported.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use updraft_browser::{BrowserEvent, PageWait};

use crate::site::{Page, html};
use crate::world::World;

/// Somebody's private service: counts who connects.
struct Victim {
    port: u16,
    connections: Arc<AtomicUsize>,
    datagrams: UdpSocket,
}

impl Victim {
    fn listen() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let datagrams = UdpSocket::bind(("127.0.0.1", port))?;
        datagrams.set_nonblocking(true)?;
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        std::thread::spawn(move || {
            for _ in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(Self { port, connections, datagrams })
    }
}

/// Ways that name a path, and so can be told apart in the report. `V` is the victim.
const BY_MARKUP: &str = "<img src=http://V/img><script src=http://V/script></script><link rel=stylesheet href=http://V/style>\
    <link rel=preload as=image href=http://V/preload><link rel=prefetch href=http://V/prefetch>\
    <link rel=modulepreload href=http://V/modulepreload><link rel=preconnect href=http://V>\
    <link rel=dns-prefetch href=//dns-prefetch.example><link rel=icon href=http://V/icon>\
    <iframe src=http://V/iframe></iframe><iframe src=/redirect></iframe>\
    <iframe srcdoc=\"<meta http-equiv=refresh content='0;url=http://V/refresh'>\"></iframe>\
    <object data=http://V/object></object><embed src=http://V/embed><video src=http://V/video></video>\
    <style>@import url(http://V/import); @font-face{font-family:f;src:url(http://V/font)} p{font-family:f;background:url(http://V/background)}</style>\
    <p>text</p><input type=image src=http://V/input><svg><image href=http://V/svg /></svg>\
    <form id=form target=form action=http://V/form method=post></form><iframe name=form></iframe>\
    <script type=speculationrules>{\"prefetch\":[{\"source\":\"list\",\"urls\":[\"http://V/speculation\"]}]}</script>";

const BY_SCRIPT: &str = "<script>
    const ends = [];
    const attempt = (name, start) => ends.push(Promise.race([
        new Promise(done => { try { Promise.resolve(start(done)).catch(done) } catch (error) { done(error) } }),
        new Promise(done => setTimeout(done, 2500)),
    ]));
    attempt('fetch', done => fetch('http://V/fetch', {mode: 'no-cors'}).finally(done));
    attempt('post', done => fetch('http://V/post', {mode: 'no-cors', method: 'POST', body: 'x'}).finally(done));
    attempt('keepalive', done => fetch('http://V/keepalive', {mode: 'no-cors', keepalive: true}).finally(done));
    attempt('redirected', done => fetch('/redirect', {mode: 'no-cors'}).finally(done));
    attempt('link-local', done => fetch('http://169.254.169.254/latest', {mode: 'no-cors'}).finally(done));
    attempt('ten', done => fetch('http://10.0.0.1/ten', {mode: 'no-cors'}).finally(done));
    attempt('six', done => fetch('http://[::1]:PORT/six', {mode: 'no-cors'}).finally(done));
    attempt('decimal', done => fetch('http://2130706433:PORT/decimal', {mode: 'no-cors'}).finally(done));
    attempt('zero', done => fetch('http://0.0.0.0:PORT/zero', {mode: 'no-cors'}).finally(done));
    attempt('name', done => fetch('http://localhost:PORT/name', {mode: 'no-cors'}).finally(done));
    attempt('tls', done => fetch('https://V/tls', {mode: 'no-cors'}).finally(done));
    attempt('xhr', done => { const x = new XMLHttpRequest(); x.open('GET', 'http://V/xhr'); x.onloadend = done; x.send() });
    attempt('beacon', done => { navigator.sendBeacon('http://V/beacon', 'x'); setTimeout(done, 500) });
    attempt('events', done => { const e = new EventSource('http://V/events'); e.onerror = () => { e.close(); done() } });
    attempt('socket', done => { const s = new WebSocket('ws://V/socket'); s.onerror = s.onopen = done });
    attempt('worker', done => { const w = new Worker('/worker.js'); w.onmessage = w.onerror = done });
    attempt('shared', done => { const w = new SharedWorker('/shared.js'); w.port.onmessage = w.onerror = done });
    attempt('service', async done => {
        await navigator.serviceWorker.register('/service.js');
        await navigator.serviceWorker.ready;
        navigator.serviceWorker.onmessage = done;
        (await navigator.serviceWorker.ready).active.postMessage('go');
    });
    attempt('transport', done => { const t = new WebTransport('https://V/transport'); t.closed.catch(done); t.ready.catch(done) });
    attempt('rtc', done => {
        const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:V'}, {urls: 'turn:V', username: 'u', credential: 'c'}]});
        peer.createDataChannel('x');
        peer.createOffer().then(offer => peer.setLocalDescription(offer));
        setTimeout(done, 1500);
    });
    document.getElementById('form').submit();
    Promise.all(ends).then(() => document.body.append('everything tried'));
</script>";

const WORKER: &str = "fetch('http://V/NAME', {mode: 'no-cors'}).catch(() => 0).then(() => {
    try { new WebSocket('ws://V/NAME-socket') } catch {}
    try { importScripts('http://V/NAME-import') } catch {}
    try { postMessage(1) } catch {}
});
self.onconnect = event => setTimeout(() => event.ports[0].postMessage(1), 800);
self.onmessage = event => fetch('http://V/NAME-message', {mode: 'no-cors'}).catch(() => 0)
    .then(() => event.source && event.source.postMessage(1));";

fn pages(victim: u16) -> Vec<Page> {
    let address = format!("127.0.0.1:{victim}");
    let fill = |text: &str| {
        text.replace("//V", &format!("//{address}"))
            .replace(":V'", &format!(":{address}'"))
            .replace("PORT", &victim.to_string())
    };
    let script =
        |path: &'static str, name: &str| (path, "Content-Type: text/javascript", fill(WORKER).replace("NAME", name));
    let location: &'static str = Box::leak(format!("Location: http://{address}/redirected").into_boxed_str());
    vec![
        html("/", &fill(&format!("{BY_MARKUP}{BY_SCRIPT}"))),
        ("/redirect", location, String::new()),
        script("/worker.js", "worker"),
        script("/shared.js", "shared"),
        script("/service.js", "service"),
    ]
}

/// What must be in the report; each a path, or the host of what has none.
const EXPECTED: [&str; 38] = [
    "/img",
    "/script",
    "/style",
    "/preload",
    "/prefetch",
    "/modulepreload",
    "/iframe",
    "/redirected",
    "/refresh",
    "/object",
    "/embed",
    "/video",
    "/import",
    "/font",
    "/background",
    "/input",
    "/svg",
    "/form",
    "/fetch",
    "/post",
    "/keepalive",
    "/latest",
    "/ten",
    "/six",
    "/decimal",
    "/zero",
    "/name",
    "/xhr",
    "/beacon",
    "/events",
    "/worker",
    "/worker-import",
    "/shared",
    "/shared-import",
    "/service",
    "/service-message",
    "/popup",
    "tunnel",
];

#[tokio::test]
async fn nothing_of_a_page_reaches_a_private_address() {
    let victim = Victim::listen().unwrap();
    let names = Arc::new(Mutex::new(BTreeSet::new()));
    let asked = names.clone();
    let world = World::configured(pages(victim.port), |config| {
        config.resolver = Arc::new(move |name| {
            asked.lock().unwrap().insert(name);
            Box::pin(async { Ok(vec![Ipv4Addr::LOCALHOST.into()]) })
        });
    });
    let Some(world) = world else { return };
    let tab = world.open("/").await.unwrap();
    tab.wait(&PageWait::Text("everything tried".to_owned()), Duration::from_mins(1)).await.unwrap();
    // A page opens no tab by itself, so somebody clicks.
    tab.evaluate(&format!("void open('http://127.0.0.1:{}/popup')", victim.port)).await.unwrap();
    let mut reported = BTreeSet::new();
    let mut missing = EXPECTED.to_vec();
    // Prefetches are begun when the page is idle.
    for _ in 0..200 {
        for event in world.events().await {
            if let BrowserEvent::Refused(refusal) = event {
                let path =
                    refusal.url.split_once("://").and_then(|(_, rest)| Some(format!("/{}", rest.split_once('/')?.1)));
                reported.insert(path.unwrap_or_else(|| "tunnel".to_owned()));
                assert!(!refusal.why.is_empty());
            }
        }
        missing.retain(|path| !reported.contains(*path));
        if missing.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(victim.connections.load(Ordering::SeqCst), 0, "somebody connected");
    assert!(victim.datagrams.recv(&mut [0; 2000]).is_err(), "a datagram arrived");
    assert_eq!(missing, [""; 0], "not reported; reported were {reported:?}");
    assert_eq!(*names.lock().unwrap(), BTreeSet::from(["localhost".to_owned()]), "the browser itself asks for nobody");
}
