//! Pages used through the browser tools, by a real Chromium in the sandbox, on a site of the test's own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use updraft_run::{EffectClass, FailureKind, Reply};
use updraft_tools::{BrowserOptions, CallContext, Registry, RunContext, ToolLimits, WebConfig};

use crate::common::confined::confinement;
use crate::common::pages::{Page, PageSite, Request, html};
use crate::common::{World, call};

/// A workspace with the browser tools. Nothing, with a loud word, where there is no Chromium or no sandbox.
pub(crate) async fn browsing() -> Option<World> {
    let options = |folder: PathBuf| {
        let program = chromium_of_the_tests();
        BrowserOptions { program, ..BrowserOptions::new(folder) }
    };
    if let Err(why) = options(PathBuf::new()).find() {
        std::io::stderr().write_all(format!("!! SKIP: {why}\n").as_bytes()).unwrap();
        return None;
    }
    let limits = ToolLimits::default();
    let folder = tempfile::tempdir().unwrap();
    let profiles = folder.path().join("profiles");
    let web = WebConfig { loopback: true, ..WebConfig::default() };
    let registry = Registry::standard(&limits).with_browser(options(profiles), web, confinement().await?, &limits);
    Some(World::within(folder, registry, limits))
}

#[expect(clippy::disallowed_methods, reason = "how tests are told which browser to use")]
fn chromium_of_the_tests() -> Option<PathBuf> {
    std::env::var_os("UPDRAFT_TEST_CHROMIUM").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The reference in the first line of an outline that contains all of these words.
pub(crate) fn reference(outline: &str, words: &str) -> String {
    let line = outline.lines().find(|line| words.split(' ').all(|word| line.contains(word)) && line.contains("[e"));
    let line = line.unwrap_or_else(|| panic!("no line with `{words}` in\n{outline}"));
    let start = line.find("[e").unwrap() + 1;
    line[start..start + line[start..].find(']').unwrap()].to_owned()
}

pub(crate) fn act(actions: &Value) -> Value {
    json!({ "tab": "t1", "actions": actions })
}

const FIRST: &str = "<title>Order</title><h1>Order</h1><form action=/second method=post>\
    <label>Name <input name=name></label>\
    <label>Size <select name=size><option>Small<option>Large</select></label>\
    <label><input type=checkbox name=gift> A gift</label><button>Next</button></form>";

fn order(request: &Request) -> Option<Page> {
    let line = request.line.as_str();
    Some(match line {
        "GET /" => html(FIRST),
        "POST /second" => html(
            "<title>Confirm</title><form action=/third method=post onsubmit=\"return confirm('Really order?')\">\
             <label>Note <textarea name=note></textarea></label><button>Order</button></form>",
        ),
        "POST /third" => html("<title>Done</title><p>Order 4711 was taken</p>"),
        "GET /table" => html(
            "<table><tr><th>City<th>People<tr><td>Oslo<td>709,037<tr><td>Bergen<td>291,940</table>\
             <a href=/report.csv>the report</a>",
        ),
        "GET /report.csv" => Page {
            head: "Content-Type: text/csv\r\nContent-Disposition: attachment; filename=report.csv",
            body: "city,people\nOslo,709037\n".to_owned(),
        },
        "GET /files" => html(
            "<form action=/got method=post enctype=multipart/form-data><label>File <input type=file name=f></label>\
             <button>Send</button></form>",
        ),
        "POST /got" => html("<p>thank you</p>"),
        "GET /picture" => html(
            "<title>Picture</title><body style='margin:0;background:#fff'><h1 style='color:#06c'>Updraft browses</h1>\
             <div style='width:200px;height:100px;background:#c00'></div>",
        ),
        "GET /popup" => html("<title>Opener</title><button onclick=\"window.open('/table')\">open</button>"),
        _ => return None,
    })
}

#[tokio::test]
async fn a_form_of_several_pages_is_filled_and_its_dialog_answered() {
    let Some(world) = browsing().await else { return };
    let site = PageSite::serve(order).await;
    let first = world.output("browser_open", json!({ "url": site.url("/") })).await;
    assert!(first.untrusted && first.origins == [site.url("/")] && first.hosts == ["127.0.0.1"], "{first:?}");
    assert!(first.text.starts_with(&format!("[tab t1 at {}. Up to `end ", site.url("/"))), "{}", first.text);
    let at = |words: &str| reference(&first.text, words);
    let second = world
        .text(
            "browser_act",
            act(&json!([
                { "action": "fill", "ref": at("textbox Name"), "text": "Ada Lovelace" },
                { "action": "select", "ref": at("Size"), "options": ["Large"] },
                { "action": "click", "ref": at("checkbox") },
                { "action": "click", "ref": at("button Next") },
            ])),
        )
        .await;
    assert!(second.contains("page \"Confirm\""), "{second}");
    let (note, button) = (reference(&second, "textbox Note"), reference(&second, "button Order"));
    let asked = world
        .text(
            "browser_act",
            act(&json!([{ "action": "fill", "ref": note, "text": "soon" }, { "action": "click", "ref": button }])),
        )
        .await;
    assert!(asked.contains("dialog: confirm says \"Really order?\"; it waits: `accept` or `dismiss` it"), "{asked}");
    let read = world.output("browser_read", json!({ "tab": "t1" })).await;
    assert!(read.is_error && read.text.contains("answer it first"), "{}", read.text);
    let done = world.text("browser_act", act(&json!([{ "action": "accept" }]))).await;
    let done = if done.contains("4711") {
        done
    } else {
        world.text("browser_read", json!({ "tab": "t1", "wait_for": "4711" })).await
    };
    assert!(done.contains("Order 4711 was taken"), "{done}");
    let sent: Vec<String> =
        site.requests().into_iter().filter(|request| !request.body.is_empty()).map(|request| request.body).collect();
    assert_eq!(sent, ["name=Ada+Lovelace&size=Large&gift=on", "note=soon"]);
    // A reference of a page that was left is void, and what was not done is said.
    let stale = world.output("browser_act", act(&json!([{ "action": "click", "ref": at("button Next") }]))).await;
    assert!(stale.is_error && stale.text.contains("action 1 of 1 (click) was not done"), "{}", stale.text);
    world.dispatcher.release(None).await;
}

#[tokio::test]
async fn a_table_is_read_and_a_download_saved_in_the_workspace() {
    let Some(world) = browsing().await else { return };
    let site = PageSite::serve(order).await;
    let page = world.text("browser_open", json!({ "url": site.url("/table") })).await;
    let text = world.text("browser_read", json!({ "tab": "t1", "text": true })).await;
    assert!(text.contains("City | People\nOslo | 709,037\nBergen | 291,940"), "{text}");
    let link = reference(&page, "link report");
    let mut told = world.text("browser_act", act(&json!([{ "action": "click", "ref": link }]))).await;
    // Chromium may report a download only after the click has settled.
    for _ in 0..100 {
        if told.contains("download:") {
            break;
        }
        told = world.text("browser_read", json!({ "tab": "t1", "wait_for": "the report" })).await;
    }
    assert!(told.contains("download: d1 is \"report.csv\" with 24 bytes"), "{told}");
    let save = json!({ "download": "d1", "path": "data/report.csv" });
    let prepared = world.dispatcher.prepare(&call("browser_save", save.clone()), &world.place);
    assert_eq!((prepared.writes, prepared.outside), (vec!["data/report.csv".to_owned()], false));
    let hook = json!({ "download": "d1", "path": ".git/hooks/pre-commit" });
    assert!(world.dispatcher.prepare(&call("browser_save", hook), &world.place).outside);
    let saved = world.output("browser_save", save).await;
    assert_eq!(saved.text, format!("saved `data/report.csv`: 24 bytes from {}\n", site.url("/report.csv")));
    assert!(saved.untrusted && saved.origins == [site.url("/report.csv")] && saved.changes.len() == 2, "{saved:?}");
    assert_eq!(world.content("data/report.csv"), b"city,people\nOslo,709037\n");
    assert!(world.failure("browser_save", json!({ "download": "d2", "path": "x" })).await.message.contains("(d1)"));
    // An address that is a file is told as one.
    let direct = world.text("browser_open", json!({ "url": site.url("/report.csv") })).await;
    assert!(direct.contains("The address is a download") && direct.contains("download: d2 is"), "{direct}");
    world.dispatcher.release(None).await;
}

#[tokio::test]
async fn files_of_the_workspace_are_uploaded_and_no_others() {
    let Some(world) = browsing().await else { return };
    let site = PageSite::serve(order).await;
    world.put("notes/a.txt", "from the workspace");
    world.put("../secret", "not yours");
    let page = world.text("browser_open", json!({ "url": site.url("/files") })).await;
    let (field, button) = (reference(&page, "File"), reference(&page, "button Send"));
    let upload = |path: &str| json!({ "tab": "t1", "ref": field, "paths": [path] });
    let prepared = world.dispatcher.prepare(&call("browser_upload", upload("notes/a.txt")), &world.place);
    assert_eq!((prepared.reads, prepared.hosts), (vec!["notes/a.txt".to_owned()], vec!["127.0.0.1".to_owned()]));
    assert!(prepared.sends && prepared.outside && prepared.class == EffectClass::Opaque);
    for path in ["../secret", "/etc/passwd", "nothing"] {
        world.failure("browser_upload", upload(path)).await;
    }
    world.output("browser_upload", upload("notes/a.txt")).await;
    let sent = world.text("browser_act", act(&json!([{ "action": "click", "ref": button }]))).await;
    assert!(sent.contains("thank you"), "{sent}");
    let request = site.requests().into_iter().find(|request| request.line == "POST /got").unwrap();
    assert!(request.body.contains("filename=\"a.txt\"") && request.body.contains("from the workspace"), "{request:?}");
    world.dispatcher.release(None).await;
}

#[tokio::test]
async fn a_picture_of_a_page_is_shown_or_saved() {
    let Some(world) = browsing().await else { return };
    let site = PageSite::serve(order).await;
    world.output("browser_open", json!({ "url": site.url("/picture") })).await;
    let shot = call("browser_screenshot", json!({ "tab": "t1" }));
    assert_eq!(world.dispatcher.prepare(&shot, &world.place).class, EffectClass::Pure);
    let called = world.dispatcher.call(&shot, &world.cx()).await;
    let Reply::Output(output) = &called.reply else { panic!("{:?}", called.reply) };
    assert!(output.untrusted && output.pictures[0].mime == "image/png" && called.kept[0].starts_with(b"\x89PNG"));
    if let Some(path) = shot_path() {
        std::fs::write(path, &called.kept[0]).unwrap();
    }
    let save = json!({ "tab": "t1", "path": "shots/page.png", "whole": true });
    let saved = world.output("browser_screenshot", save).await;
    assert!(saved.text.starts_with("saved the picture as `shots/page.png`: "), "{}", saved.text);
    assert!(saved.untrusted && saved.origins == [site.url("/picture")], "{:?}", saved.origins);
    assert!(world.content("shots/page.png").starts_with(b"\x89PNG"));
    world.dispatcher.release(None).await;
}

#[expect(clippy::disallowed_methods, reason = "where a person wants to look at the picture")]
fn shot_path() -> Option<PathBuf> {
    std::env::var_os("UPDRAFT_TEST_SHOT").map(PathBuf::from)
}

#[tokio::test]
async fn tabs_belong_to_their_run_and_end_with_it() {
    let Some(world) = browsing().await else { return };
    let site = PageSite::serve(order).await;
    let of = |run: &str| {
        let mut cx = world.cx();
        cx.around = RunContext { run: run.to_owned(), step: "look".to_owned(), ..RunContext::default() };
        cx
    };
    let (one, two) = (of("one"), of("two"));
    let made = async |cx: &CallContext, name: &str, args: Value| {
        let call = call(name, args);
        world.dispatcher.prepare(&call, &world.place);
        world.dispatcher.call(&call, cx).await.reply
    };
    let text = async |cx: &CallContext, name: &str, args: Value| match made(cx, name, args).await {
        Reply::Output(output) => output.text.clone(),
        other => panic!("{other:?}"),
    };
    let page = text(&one, "browser_open", json!({ "url": site.url("/popup") })).await;
    let other = text(&two, "browser_open", json!({ "url": site.url("/table") })).await;
    assert!(other.starts_with("[tab t2 at"), "names are not used twice: {other}");
    assert!(matches!(made(&two, "browser_read", json!({ "tab": "t1" })).await, Reply::Failed(_)));
    let mut told =
        text(&one, "browser_act", act(&json!([{ "action": "click", "ref": reference(&page, "open") }]))).await;
    for _ in 0..100 {
        if told.contains("opened `t3`") {
            break;
        }
        told = text(&one, "browser_read", json!({ "tab": "t1" })).await;
    }
    assert!(told.contains("opened `t3`"), "{told}");
    assert!(text(&one, "browser_read", json!({ "tab": "t3", "wait_for": "Oslo" })).await.contains("Oslo"));
    let tabs = text(&one, "browser_tabs", json!({})).await;
    assert_eq!(tabs.lines().map(|line| &line[..2]).collect::<Vec<_>>(), ["t1", "t3"], "{tabs}");
    assert!(tabs.contains("(step look)"), "{tabs}");
    let closed = text(&one, "browser_tabs", json!({ "close": "t3" })).await;
    assert!(!closed.contains("t3"), "{closed}");
    world.dispatcher.release(Some("one")).await;
    let Reply::Failed(gone) = made(&one, "browser_read", json!({ "tab": "t1" })).await else { panic!("it is gone") };
    assert!(gone.message.contains("there is no tab `t1`: open the page again"), "{}", gone.message);
    assert!(text(&two, "browser_read", json!({ "tab": "t2" })).await.contains("Oslo"), "the other run's is not");
    world.dispatcher.release(None).await;
}

#[tokio::test]
async fn a_page_that_cannot_be_opened_leaves_no_tab() {
    let Some(world) = browsing().await else { return };
    let site = PageSite::serve(|request| match request.line.as_str() {
        "GET /" => Some(html("<title>Asks</title><script>confirm('Stay?')</script>")),
        _ => Some(Page { head: "Location: http://10.0.0.9/", body: String::new() }),
    })
    .await;
    let refused = world.output("browser_open", json!({ "url": site.url("/away") })).await;
    assert!(refused.is_error && refused.text.contains("not a public address"), "{}", refused.text);
    assert_eq!(world.text("browser_tabs", json!({})).await, "no tab is open\n");
    // One whose dialog waits is open, and stays so where another address fails in it.
    let asks = world.text("browser_open", json!({ "url": site.url("/") })).await;
    assert!(asks.starts_with("[tab t2 at") && asks.contains("confirm says \"Stay?\""), "{asks}");
    world.output("browser_act", json!({ "tab": "t2", "actions": [{ "action": "accept" }] })).await;
    let away = world.output("browser_open", json!({ "url": site.url("/away"), "tab": "t2" })).await;
    assert!(away.is_error, "{}", away.text);
    assert!(world.text("browser_tabs", json!({})).await.starts_with("t2 "));
    // That a tab does not exist is said by us, not by a page.
    let failure = world.failure("browser_tabs", json!({ "close": "t9" })).await;
    assert!(failure.message.contains("there is no tab `t9`"), "{}", failure.message);
    world.dispatcher.release(None).await;
}

#[tokio::test]
async fn without_chromium_it_says_what_to_install() {
    let Some(confinement) = confinement().await else { return };
    let limits = ToolLimits::default();
    let folder = tempfile::tempdir().unwrap();
    let program = Some(folder.path().join("no-chromium"));
    let options = BrowserOptions { program, ..BrowserOptions::new(folder.path()) };
    let web = WebConfig { loopback: true, ..WebConfig::default() };
    let world = World::of(Registry::default().with_browser(options, web, confinement, &limits), limits);
    let failure = world.failure("browser_open", json!({ "url": "http://127.0.0.1:1/" })).await;
    assert_eq!(failure.kind, FailureKind::Config);
    for part in ["apt install chromium", "`program` under `[browser]`", "UPDRAFT_BROWSER"] {
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}
