//! Names, redirects and odd addresses at the network guard.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use updraft_browser::{
    BrowserEvent, BrowserProcess, Decision, Error, LaunchCommand, PlainStarter, StartFuture, Starter,
};

use crate::site::html;
use crate::world::World;

fn refused(error: &Error) -> bool {
    matches!(error, Error::Refused { .. })
}

#[tokio::test]
async fn a_private_page_is_refused_with_the_reason() {
    let location = "Location: http://10.1.2.3/inner";
    let Some(world) = World::with(vec![("/away", location, String::new())]) else { return };
    let tab = world.browser.open_tab("test").await.unwrap();
    let error = tab.open("http://192.168.1.1/router").await.unwrap_err();
    assert_eq!(error.to_string(), "`http://192.168.1.1/router` was refused: 192.168.1.1 is not granted");
    let error = tab.open("https://127.0.0.1:8443/").await.unwrap_err();
    assert!(refused(&error), "{error}");
    let error = tab.open(&world.site.url("/away")).await.unwrap_err();
    assert_eq!(error.to_string(), "`http://10.1.2.3/inner` was refused: 10.1.2.3 is not granted");
    let urls: Vec<String> = world
        .events()
        .await
        .into_iter()
        .filter_map(|event| match event {
            // Chromium asks for an icon of every page, the refusal included.
            BrowserEvent::Refused(refusal) if !refusal.url.ends_with("/favicon.ico") => Some(refusal.url),
            _ => None,
        })
        .collect();
    assert_eq!(urls, ["http://192.168.1.1/router", "127.0.0.1:8443", "http://10.1.2.3/inner"]);
}

#[tokio::test]
async fn only_pages_of_the_web_are_opened() {
    let page = "<a href=file:///etc/passwd>file</a><a href=chrome://version>chrome</a><p id=p></p>";
    let Some(world) = World::with(vec![html("/", page)]) else { return };
    let tab = world.open("/").await.unwrap();
    for url in
        ["file:///etc/passwd", "chrome://version", "view-source:http://127.0.0.1/", "data:text/html,x", "javascript:1"]
    {
        assert!(matches!(tab.open(url).await, Err(Error::BadAddress { .. })), "{url}");
    }
    for name in ["file", "chrome"] {
        let link = crate::world::spot(&tab, name).await.unwrap();
        tab.click(&link, updraft_browser::ClickKind::Single).await.unwrap();
        assert_eq!(tab.url(), world.site.url("/"));
        tab.evaluate(&format!("void open(document.links[{}].href)", usize::from(name == "chrome"))).await.unwrap();
    }
    for tab in world.browser.tabs().await.unwrap() {
        assert!(!tab.url.starts_with("file") && !tab.url.starts_with("chrome"), "{tab:?}");
    }
}

/// A name that is public when it is checked and private when it is used.
#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let turns = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (count, asked) = (turns.clone(), seen.clone());
    let world = World::configured(vec![html("/", "<p>private words</p>")], move |config| {
        config.resolver = Arc::new(move |name| {
            let turn = count.fetch_add(usize::from(name == "rebind.example"), Ordering::SeqCst);
            // 192.0.2.1 is for documentation: nobody answers there.
            let public = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
            let private = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let addresses = match name.as_str() {
                "both.example" => vec![public, private],
                _ if turn == 0 => vec![public],
                _ => vec![private],
            };
            Box::pin(async move { Ok(addresses) })
        });
        config.guard = Arc::new(move |host: &str, address: IpAddr, port: u16| {
            asked.lock().unwrap().push(format!("{host} {address} {port}"));
            if address.is_loopback() { Decision::Refuse("it is this machine".to_owned()) } else { Decision::Allow }
        });
        config.limits.load = std::time::Duration::from_secs(3);
    });
    let Some(world) = world else { return };
    let port = world.site.port;
    let tab = world.browser.open_tab("test").await.unwrap();
    let error = tab.open(&format!("http://rebind.example:{port}/")).await.unwrap_err();
    assert!(!refused(&error), "the first address is public: {error}");
    for name in ["rebind.example", "both.example"] {
        let error = tab.open(&format!("http://{name}:{port}/")).await.unwrap_err();
        assert!(refused(&error), "{name}: {error}");
    }
    assert_eq!(world.site.requests(), [""; 0]);
    assert!(seen.lock().unwrap().contains(&format!("both.example 127.0.0.1 {port}")));
}

/// Remembers which port the proxy has.
struct Watching(Arc<Mutex<u16>>);

impl Starter for Watching {
    fn start(&self, command: LaunchCommand) -> StartFuture {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = command.proxy_port;
        PlainStarter.start(command)
    }
}

#[tokio::test]
async fn the_proxy_does_not_connect_to_itself() {
    let port = Arc::new(Mutex::new(0));
    let watching = Arc::new(Watching(port.clone()));
    let world = World::configured(vec![], |config| {
        config.starter = watching;
        config.guard = Arc::new(|_: &str, _: IpAddr, _: u16| Decision::Allow);
    });
    let Some(world) = world else { return };
    let tab = world.browser.open_tab("test").await.unwrap();
    let own = *port.lock().unwrap();
    let error = tab.open(&format!("http://localhost:{own}/")).await.unwrap_err();
    assert!(error.to_string().ends_with("was refused: it is the browser's own proxy"), "{error}");
}

/// Gives the browser a socket of its own as its proxy, as a sandbox does whose network has nothing else.
struct InOwnNetwork;

impl Starter for InOwnNetwork {
    fn start(&self, mut command: LaunchCommand) -> StartFuture {
        Box::pin(async move {
            let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
            let address = format!("http://{}", listener.local_addr()?);
            command.environment.push(("UPDRAFT_BROWSER_PROXY".to_owned(), address));
            let process = PlainStarter.start(command).await?;
            Ok(BrowserProcess { listener: Some(listener), ..process })
        })
    }
}

#[tokio::test]
async fn a_starter_can_hand_in_the_socket_of_the_proxy() {
    let world = World::configured(vec![html("/", "through the other socket")], |config| {
        config.starter = Arc::new(InOwnNetwork);
    });
    let Some(world) = world else { return };
    let tab = world.open("/").await.unwrap();
    assert_eq!(tab.text(0).await.unwrap().text, "through the other socket");
    assert!(refused(&tab.open("http://192.168.1.1/").await.unwrap_err()));
}
