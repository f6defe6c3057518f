//! What can be done with pages.

use std::time::Duration;

use updraft_browser::{ClickKind, Error, PageWait, Spot};

use crate::site::html;
use crate::world::{World, find, read, spot};

const STEP_ONE: &str = "<form action=/two><input name=name aria-label=Name><select name=size aria-label=Size><option>S<option>M\
    </select><label><input type=checkbox name=gift> Gift</label><input type=date name=day aria-label=Day>\
    <button>Next</button></form>";
const STEP_TWO: &str = "<form action=/done method=post><label><input type=radio name=pay value=card> Card</label>\
    <textarea name=note aria-label=Note></textarea><div contenteditable aria-label=Free role=textbox>old</div>\
    <button>Send</button></form>";

#[tokio::test]
async fn a_form_of_several_pages_is_filled() {
    let pages = vec![html("/", STEP_ONE), html("/two", STEP_TWO), html("/done", "<h1>Thank you</h1>")];
    let Some(world) = World::with(pages) else { return };
    let tab = world.open("/").await.unwrap();
    tab.fill(&find(&tab, "textbox Name").await.unwrap(), "Ada Łovelace", false).await.unwrap();
    let chosen = tab.select(&find(&tab, "combobox Size").await.unwrap(), &["M"]).await.unwrap();
    assert_eq!(chosen, ["M"]);
    tab.click(&spot(&tab, "checkbox Gift").await.unwrap(), ClickKind::Single).await.unwrap();
    tab.fill(&find(&tab, "date Day").await.unwrap(), "2026-03-31", false).await.unwrap();
    tab.click(&spot(&tab, "button Next").await.unwrap(), ClickKind::Single).await.unwrap();
    assert!(tab.url().contains("/two?name=Ada+%C5%81ovelace&size=M&gift=on&day=2026-03-31"), "{}", tab.url());

    tab.click(&spot(&tab, "radio Card").await.unwrap(), ClickKind::Single).await.unwrap();
    tab.type_into(&find(&tab, "textbox Note").await.unwrap(), "Two lines\nof 50% & more", false).await.unwrap();
    let free = find(&tab, "textbox Free").await.unwrap();
    tab.fill(&free, "new", false).await.unwrap();
    assert!(read(&tab).await.unwrap().contains("=\"new\"") && !read(&tab).await.unwrap().contains("old"));
    tab.click(&spot(&tab, "button Send").await.unwrap(), ClickKind::Single).await.unwrap();
    assert_eq!(tab.text(0).await.unwrap().text, "Thank you");
    let sent = "POST /done HTTP/1.1 pay=card&note=Two+lines%0D%0Aof+50%25+%26+more".to_owned();
    assert!(world.site.requests().contains(&sent), "{:?}", world.site.requests());

    assert!(tab.back().await.unwrap().url.contains("/two"));
    assert!(tab.back().await.unwrap().url.ends_with('/'));
    assert!(tab.forward().await.unwrap().url.contains("/two"));
    tab.back().await.unwrap();
    tab.back().await.unwrap();
    assert!(matches!(tab.back().await, Err(Error::NoHistory { direction: "back" })));
}

#[tokio::test]
async fn a_stale_reference_says_to_read_again() {
    let page = "<button onclick=\"document.getElementById('b').remove()\">remove</button><button id=b>gone</button><a href=/x>away</a>";
    let Some(world) = World::with(vec![html("/", page), html("/x", "<button>other</button>")]) else { return };
    let tab = world.open("/").await.unwrap();
    let (gone, kept) = (spot(&tab, "gone").await.unwrap(), spot(&tab, "remove").await.unwrap());
    tab.click(&kept, ClickKind::Single).await.unwrap();
    let error = tab.click(&gone, ClickKind::Single).await.unwrap_err();
    assert!(error.to_string().contains("read the page again"), "{error}");
    tab.click(&spot(&tab, "away").await.unwrap(), ClickKind::Single).await.unwrap();
    let error = tab.click(&kept, ClickKind::Single).await.unwrap_err();
    assert!(matches!(error, Error::StaleReference { .. }), "{error}");
    assert!(matches!(tab.fill("12", "x", false).await, Err(Error::NotAReference { .. })));
}

const COVERED: &str = "<button onclick=\"document.title = 'clicked'\">below</button><div style='position:fixed;inset:0' id=veil>a veil</div>";

#[tokio::test]
async fn a_covered_element_names_what_covers_it() {
    let Some(world) = World::with(vec![html("/", COVERED)]) else { return };
    let tab = world.open("/").await.unwrap();
    let error = tab.click(&spot(&tab, "below").await.unwrap(), ClickKind::Single).await.unwrap_err();
    assert!(error.to_string().contains("covered by div#veil \"a veil\""), "{error}");
    // A part that is not covered is enough.
    tab.evaluate("document.getElementById('veil').style.left = '25px'").await.unwrap();
    tab.click(&spot(&tab, "below").await.unwrap(), ClickKind::Single).await.unwrap();
    assert_eq!(tab.evaluate("document.title").await.unwrap().text, "\"clicked\"");
}

const CLICKS: &str = "<div id=pad tabindex=0 style='width:200px;height:80px'>pad</div><pre id=log></pre><script>\
    const log = text => document.getElementById('log').textContent += text + ' ';\
    const pad = document.getElementById('pad');\
    for (const name of ['click', 'dblclick', 'contextmenu', 'mouseenter', 'wheel'])\
        pad.addEventListener(name, event => { event.preventDefault(); log(name + (name === 'click' ? '@' + event.offsetX : '')) });\
    pad.addEventListener('keydown', event => log(event.key + (event.ctrlKey ? '^' : '') + '/' + event.code))</script>";

#[tokio::test]
async fn mouse_and_keys_do_what_hands_do() {
    let Some(world) = World::with(vec![html("/", CLICKS)]) else { return };
    let tab = world.open("/").await.unwrap();
    let pad = find(&tab, "pad").await.unwrap();
    tab.click(&Spot::Within(pad.clone(), 20.0, 10.0), ClickKind::Single).await.unwrap();
    tab.click(&Spot::Within(pad.clone(), 30.0, 10.0), ClickKind::Double).await.unwrap();
    tab.click(&Spot::Element(pad.clone()), ClickKind::Right).await.unwrap();
    tab.scroll(Some(&Spot::Element(pad)), 0.0, 30.0).await.unwrap();
    tab.press(&["Enter", "Control+a", "ArrowDown", "é"]).await.unwrap();
    let log = tab.evaluate("document.getElementById('log').textContent").await.unwrap().text;
    let keys = "Enter/Enter Control^/ControlLeft a^/KeyA ArrowDown/ArrowDown é/ ";
    assert_eq!(log, format!("\"mouseenter click@20 click@30 click@30 dblclick contextmenu wheel {keys}\""));
}

const DRAGS: &str = "<body style='margin:0'><div id=own draggable=true style='width:50px;height:50px'>card</div>\
    <div id=target style='width:90px;height:90px;position:absolute;left:200px;top:0'>bin</div>\
    <div id=free style='width:40px;height:40px;position:absolute;left:10px;top:200px;cursor:move'>free</div><script>\
    const target = document.getElementById('target'), free = document.getElementById('free');\
    document.getElementById('own').ondragstart = event => event.dataTransfer.setData('text', 'the card');\
    target.ondragover = event => event.preventDefault();\
    target.ondrop = event => { event.preventDefault(); target.textContent = event.dataTransfer.getData('text') };\
    free.onmousedown = () => document.onmousemove = event => { free.style.left = event.pageX - 20 + 'px' };\
    document.onmouseup = () => document.onmousemove = null</script>";

#[tokio::test]
async fn both_kinds_of_drags_work() {
    let Some(world) = World::with(vec![html("/", DRAGS)]) else { return };
    let tab = world.open("/").await.unwrap();
    let bin = Spot::At(240.0, 40.0);
    tab.drag(&spot(&tab, "draggable own").await.unwrap(), &[], &bin).await.unwrap();
    tab.wait(&PageWait::Text("the card".to_owned()), Duration::from_secs(10)).await.unwrap();
    tab.drag(&spot(&tab, "free").await.unwrap(), &[], &Spot::At(320.0, 220.0)).await.unwrap();
    assert_eq!(tab.evaluate("document.getElementById('free').style.left").await.unwrap().text, "\"300px\"");
}

#[tokio::test]
async fn waiting_ends_with_the_text_or_with_the_limit() {
    let page = "<p id=p>loading</p><button onclick=\"setTimeout(() => document.getElementById('p').textContent = 'now   there', 300)\">go</button>";
    let Some(world) = World::with(vec![html("/", page)]) else { return };
    let tab = world.open("/").await.unwrap();
    tab.click(&spot(&tab, "go").await.unwrap(), ClickKind::Single).await.unwrap();
    tab.wait(&PageWait::Text("now there".to_owned()), Duration::from_secs(20)).await.unwrap();
    tab.wait(&PageWait::TextGone("loading".to_owned()), Duration::from_secs(20)).await.unwrap();
    let error = tab.wait(&PageWait::Text("never".to_owned()), Duration::from_millis(400)).await.unwrap_err();
    assert_eq!(error.to_string(), "waiting for the text `never` took longer than 400ms");
}

#[tokio::test]
async fn scripts_answer_throw_and_are_stopped() {
    let world = World::configured(vec![html("/", "<p>page</p>")], |config| {
        config.limits.script = Duration::from_millis(500);
        config.limits.characters = 50;
    });
    let Some(world) = world else { return };
    let tab = world.open("/").await.unwrap();
    assert_eq!(tab.evaluate("() => [1, document.body.innerText]").await.unwrap().text, "[1,\"page\"]");
    assert_eq!(tab.evaluate("const x = 2; await x * 3").await.unwrap().text, "6");
    let error = tab.evaluate("nothing.at.all").await.unwrap_err();
    assert!(error.to_string().starts_with("the script failed: ReferenceError: nothing is not defined"), "{error}");
    assert_eq!(tab.evaluate("'x'.repeat(1000)").await.unwrap().next(), Some(50));
    assert!(matches!(tab.evaluate("while (true) {}").await, Err(Error::TimedOut { .. })));
    assert_eq!(tab.text(0).await.unwrap().text, "page");
}

#[tokio::test]
async fn wrong_elements_are_named_with_what_they_are() {
    let page =
        "<button>b</button><select aria-label=s><option>one<option>two</select><input readonly aria-label=fixed>";
    let Some(world) = World::with(vec![html("/", page)]) else { return };
    let tab = world.open("/").await.unwrap();
    let button = find(&tab, "button b").await.unwrap();
    let error = tab.fill(&button, "x", false).await.unwrap_err().to_string();
    assert_eq!(error, format!("`{button}` is a button, not a field; click it and type"));
    let list = find(&tab, "combobox").await.unwrap();
    let error = tab.select(&list, &["three"]).await.unwrap_err().to_string();
    assert_eq!(error, format!("`{list}` has no option \"three\"; it has \"one\", \"two\""));
    let fixed = find(&tab, "fixed").await.unwrap();
    assert!(tab.fill(&fixed, "x", false).await.unwrap_err().to_string().contains("is read-only"));
    assert!(matches!(tab.press(&["Hyper+x"]).await, Err(Error::NoSuchKey { .. })));
}
