//! What happens beside the page: dialogs, downloads, uploads, tabs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use updraft_browser::{BrowserEvent, ClickKind, DownloadDecision, Error, PageDialog, PageWait, UploadFile};

use crate::site::html;
use crate::world::{World, end_of, find, spot};

const DIALOGS: &str = "<button onclick=\"alert('careful'); document.title = 'told'\">tell</button>\
    <button onclick=\"document.title = confirm('Sure?')\">ask</button>\
    <button onclick=\"document.title = prompt('Name?', 'nobody')\">name</button>";

fn dialog(tab: &str, kind: &str, message: &str, default: &str) -> BrowserEvent {
    let dialog = PageDialog { kind: kind.to_owned(), message: message.to_owned(), default: default.to_owned() };
    BrowserEvent::Dialog { tab: tab.to_owned(), dialog, is_open: kind != "alert" }
}

#[tokio::test]
async fn dialogs_are_reported_and_answered() {
    let Some(world) = World::with(vec![html("/", DIALOGS)]) else { return };
    let tab = world.open("/").await.unwrap();
    let title = async || tab.evaluate("document.title").await.unwrap().text;
    tab.click(&spot(&tab, "tell").await.unwrap(), ClickKind::Single).await.unwrap();
    assert_eq!(title().await, "\"told\"");
    let (ask, name) = (spot(&tab, "ask").await.unwrap(), spot(&tab, "name").await.unwrap());
    tab.click(&ask, ClickKind::Single).await.unwrap();
    let error = tab.text(0).await.unwrap_err();
    assert_eq!(error.to_string(), "a dialog is open (confirm: \"Sure?\"); answer it first");
    tab.answer_dialog(false, None).await.unwrap();
    assert_eq!(title().await, "\"false\"");
    tab.click(&name, ClickKind::Single).await.unwrap();
    tab.answer_dialog(true, Some("Ada")).await.unwrap();
    assert_eq!(title().await, "\"Ada\"");
    assert!(matches!(tab.answer_dialog(true, None).await, Err(Error::NoDialog)));
    let expected = [
        dialog("t1", "alert", "careful", ""),
        dialog("t1", "confirm", "Sure?", ""),
        dialog("t1", "prompt", "Name?", "nobody"),
    ];
    assert_eq!(world.events().await, expected);
}

#[tokio::test]
async fn a_page_that_does_not_want_to_be_left_is_left_and_reported() {
    let page = "<input aria-label=draft><script>onbeforeunload = event => event.preventDefault()</script>";
    let Some(world) = World::with(vec![html("/", page), html("/next", "next")]) else { return };
    let tab = world.open("/").await.unwrap();
    tab.type_into(&find(&tab, "draft").await.unwrap(), "words", false).await.unwrap();
    tab.open(&world.site.url("/next")).await.unwrap();
    assert_eq!(tab.text(0).await.unwrap().text, "next");
    let events = world.events().await;
    assert!(
        matches!(&events[..], [BrowserEvent::Dialog { dialog, is_open: false, .. }] if dialog.kind == "beforeunload"),
        "{events:?}"
    );
}

fn file_site() -> Vec<crate::site::Page> {
    let file = ("/file", "Content-Type: text/csv\r\nContent-Disposition: attachment; filename=\"data.csv\"");
    vec![html("/", "<a href=/file>get</a>"), (file.0, file.1, "a,b\n1,2\n".to_owned())]
}

#[tokio::test]
async fn a_download_is_saved_where_the_policy_says() {
    let target = tempfile::tempdir().unwrap();
    let (path, offers) = (target.path().to_owned(), Arc::new(Mutex::new(Vec::new())));
    let seen = offers.clone();
    let world = World::configured(file_site(), move |config| {
        config.downloads = Arc::new(move |offer| {
            seen.lock().unwrap().push(offer.name.clone());
            DownloadDecision::Save(path.clone())
        });
    });
    let Some(world) = world else { return };
    let tab = world.open("/").await.unwrap();
    let link = spot(&tab, "get").await.unwrap();
    for _ in 0..2 {
        tab.click(&link, ClickKind::Single).await.unwrap();
        let saved = world.event(|event| matches!(event, BrowserEvent::DownloadSaved { .. })).await;
        assert!(saved.is_some());
    }
    world.browser.wait_downloads().await.unwrap();
    assert_eq!(std::fs::read_to_string(target.path().join("data.csv")).unwrap(), "a,b\n1,2\n");
    assert_eq!(std::fs::read_to_string(target.path().join("data (2).csv")).unwrap(), "a,b\n1,2\n");
    assert_eq!(*offers.lock().unwrap(), ["data.csv", "data.csv"]);
    let error = tab.open(&world.site.url("/file")).await.unwrap_err();
    assert!(error.to_string().contains("is a download, not a page"), "{error}");
}

#[tokio::test]
async fn a_download_without_permission_is_refused_and_reported() {
    let Some(world) = World::with(file_site()) else { return };
    let tab = world.open("/").await.unwrap();
    tab.click(&spot(&tab, "get").await.unwrap(), ClickKind::Single).await.unwrap();
    let event = world.event(|event| matches!(event, BrowserEvent::DownloadRefused { .. })).await;
    let refused = BrowserEvent::DownloadRefused {
        url: world.site.url("/file"),
        name: "data.csv".to_owned(),
        why: "downloads are not allowed".to_owned(),
    };
    assert_eq!(event, Some(refused));
}

const UPLOAD: &str = "<input type=file aria-label=File onchange=\"this.files[0].text().then(text => document.title = this.files[0].name + ': ' + text)\">";

#[tokio::test]
async fn files_are_uploaded_to_inputs_only() {
    let Some(world) = World::with(vec![html("/", &format!("{UPLOAD}<button>plain</button>"))]) else { return };
    let tab = world.open("/").await.unwrap();
    let file = || vec![UploadFile { name: "../note.txt".to_owned(), content: b"from a file".to_vec() }];
    let input = find(&tab, "File").await.unwrap();
    // Clicking it opens a chooser that nobody sees; the event says where the files go.
    tab.click(&updraft_browser::Spot::Element(input.clone()), ClickKind::Single).await.unwrap();
    let asked = BrowserEvent::FilesAsked { tab: "t1".to_owned(), reference: Some(input.clone()), is_multiple: false };
    assert_eq!(world.events().await, [asked]);
    tab.upload(&input, file()).await.unwrap();
    // The page reads the file by itself, which takes a moment.
    let mut title = "\"\"".to_owned();
    while title == "\"\"" {
        title = tab.evaluate("document.title").await.unwrap().text;
    }
    assert_eq!(title, "\"note.txt: from a file\"");
    let button = find(&tab, "plain").await.unwrap();
    assert!(tab.upload(&button, file()).await.unwrap_err().to_string().contains("takes no files"));
}

#[tokio::test]
async fn tabs_that_pages_open_are_listed_and_closed() {
    let pages = vec![
        html("/", "<title>First</title><button onclick=\"window.open('/two')\">open</button>"),
        html("/two", "<title>Second</title><button onclick=window.close()>bye</button>"),
    ];
    let world = World::configured(pages, |config| config.limits.tabs = 2);
    let Some(world) = world else { return };
    let tab = world.open("/").await.unwrap();
    tab.click(&spot(&tab, "open").await.unwrap(), ClickKind::Single).await.unwrap();
    let opened = world.event(|event| matches!(event, BrowserEvent::TabOpened { .. })).await;
    assert!(opened.is_some());
    let second = world.browser.tab("t2").await.unwrap();
    second.wait(&PageWait::Text("bye".to_owned()), Duration::from_secs(20)).await.unwrap();
    let tabs = world.browser.tabs().await.unwrap();
    assert_eq!(tabs[1].title, "Second");
    let owners: Vec<(&str, &str)> = tabs.iter().map(|tab| (tab.id.as_str(), tab.owner.as_str())).collect();
    assert_eq!(owners, [("t1", "test"), ("t2", "test")]);
    assert!(matches!(world.browser.open_tab("x").await, Err(Error::TooManyTabs { most: 2 })));
    second.click(&spot(&second, "bye").await.unwrap(), ClickKind::Single).await.unwrap();
    assert!(matches!(end_of(&second).await, Error::TabGone));
    assert!(matches!(world.browser.tab("t2").await, Err(Error::NoSuchTab { .. })));
    assert_eq!(world.events().await, [BrowserEvent::TabClosed { tab: "t2".to_owned() }]);
}
