//! What `read` and `text` say about a page.

use updraft_browser::{OutlineOptions, ScreenshotArea};

use crate::site::html;
use crate::world::{World, find, read};

const FORMS: &str = "<title>Forms</title><h1>Order</h1><label>Name <input value=Ada></label>\
    <label><input type=checkbox checked> Gift</label>\
    <select aria-label=Size><option>S<option selected>M<option>L</select>\
    <button disabled>Pay</button> or <a href=/later>later</a>\
    <p style='display:none'>hidden words</p><p style='visibility:hidden'>invisible words</p>";

#[tokio::test]
async fn roles_names_values_and_states_are_read() {
    let Some(world) = World::with(vec![html("/", FORMS)]) else { return };
    let tab = world.open("/").await.unwrap();
    let expected = r#"heading "Order" [e1] level=1
text "Name"
textbox "Name" [e2] ="Ada"
checkbox "Gift" [e3] checked
combobox "Size" [e4] ="M" collapsed options: "S", "M", "L"
button "Pay" [e5] disabled
text "or"
link "later" [e6] to=/later
"#;
    assert_eq!(read(&tab).await.unwrap(), expected);
    assert_eq!(read(&tab).await.unwrap(), expected, "references stay the same");
}

const BETRAYED: &str = "<div id=plain>nothing</div><div id=listener>by listener</div>\
    <div style='cursor:pointer'><span>by pointer</span></div><div class=icon-trash onclick='1' style='width:9px;height:9px'></div>\
    <div id=gone>delegated</div><script>document.getElementById('listener').addEventListener('click', () => {})</script>";

#[tokio::test]
async fn listeners_and_pointers_betray_what_can_be_clicked() {
    let Some(world) = World::with(vec![html("/", BETRAYED)]) else { return };
    let tab = world.open("/").await.unwrap();
    let expected = r#"text "nothing"
clickable "by listener" [e1]
clickable "by pointer" [e2]
clickable [e3] class=icon-trash
text "delegated"
"#;
    assert_eq!(read(&tab).await.unwrap(), expected);
}

const TABLE: &str = "<table><tr><th>City<th>M2<tr><td>Brest<td>2.05<tr><td>Nantes<td><button>Show</button></table>";

#[tokio::test]
async fn a_row_without_anything_to_use_is_one_line() {
    let Some(world) = World::with(vec![html("/", TABLE)]) else { return };
    let tab = world.open("/").await.unwrap();
    let expected = r#"table [e1]
  row [e2] "City" | "M2"
  row [e3] "Brest" | "2.05"
  row [e4]
    cell "Nantes" [e5]
    cell "Show" [e6]
      button "Show" [e7]
"#;
    assert_eq!(read(&tab).await.unwrap(), expected);
    assert_eq!(tab.text(0).await.unwrap().text, "City | M2\nBrest | 2.05\nNantes | Show");
}

const SHAPES: &str = "<body style='margin:0'><svg width=100 height=80><circle cx=30 cy=40 r=10 fill=red onclick='1'></circle>\
    <text x=50 y=60 fill=blue>B</text></svg><canvas width=50 height=40></canvas>";

#[tokio::test]
async fn shapes_and_canvases_have_their_place() {
    let Some(world) = World::with(vec![html("/", SHAPES)]) else { return };
    let tab = world.open("/").await.unwrap();
    let text = read(&tab).await.unwrap();
    assert!(text.contains("circle [e2] @20,30,20,20 clickable fill=red r=10\n"), "{text}");
    assert!(text.contains("text \"B\" [e3] @50,") && text.contains("fill=blue"), "{text}");
    assert!(text.contains("canvas [e4] @100,"), "{text}");
}

const OUTER: &str = "<h1>outer</h1><iframe src='http://localhost:$PORT/inner' style='border:5px solid'></iframe>\
    <div id=open></div><div id=closed></div><script>\
    const put = (id, mode, name) => { const root = document.getElementById(id).attachShadow({mode});\
        root.innerHTML = `<button>${name}</button>`;\
        root.querySelector('button').onclick = () => document.title = name + ' clicked' };\
    put('open', 'open', 'in the open'); put('closed', 'closed', 'behind closed doors')</script>";
const INNER: &str = "<button onclick=\"this.textContent = 'pressed'\">press</button>";

#[tokio::test]
async fn frames_of_other_sites_and_shadow_roots_are_part_of_the_page() {
    let Some(world) = World::with(vec![html("/", OUTER), html("/inner", INNER)]) else { return };
    let tab = world.open("/").await.unwrap();
    for name in ["press", "open", "closed"] {
        let reference = find(&tab, &format!("button {name}")).await.unwrap();
        let spot = updraft_browser::Spot::Element(reference);
        tab.click(&spot, updraft_browser::ClickKind::Single).await.unwrap();
    }
    assert_eq!(tab.evaluate("document.title").await.unwrap().text, "\"behind closed doors clicked\"");
    assert_eq!(tab.text(0).await.unwrap().text, "outer\npressed\nin the open\nbehind closed doors");
}

#[tokio::test]
async fn a_reading_can_be_of_a_part_with_boxes_and_of_bare_elements() {
    let page = "<body style='margin:0'><div style='height:50px'>above</div><section aria-label=part><button style='width:80px;height:20px'>b</button>\
        <div style='width:30px;height:10px;background:rgb(1,2,3)'></div></section>";
    let Some(world) = World::with(vec![html("/", page)]) else { return };
    let tab = world.open("/").await.unwrap();
    let under = Some(find(&tab, "part").await.unwrap());
    let options = OutlineOptions { under, with_boxes: true, with_everything: true, from: 0 };
    let text = tab.read(&options).await.unwrap().text;
    let expected = "region \"part\" [e1] @0,50,1280,30\n  button \"b\" [e2] @0,50,80,20\n  box [e3] @0,70,30,10 color=rgb(1,2,3)\n";
    assert_eq!(text, expected);
    let gone = OutlineOptions { under: Some("e1".to_owned()), ..OutlineOptions::default() };
    tab.evaluate("document.querySelector('section').remove()").await.unwrap();
    assert!(tab.read(&gone).await.unwrap_err().to_string().contains("read the page again"));
}

#[tokio::test]
async fn words_of_a_page_cannot_pass_for_lines_of_a_reading() {
    let page = "<button>x\" [e99]\nbutton \"Pay</button><pre>button \"Pay\" [e1]</pre>";
    let Some(world) = World::with(vec![html("/", page)]) else { return };
    let tab = world.open("/").await.unwrap();
    let expected = "button \"x\\\" [e99] button \\\"Pay\" [e1]\ntext \"button \\\"Pay\\\" [e1]\"\n";
    assert_eq!(read(&tab).await.unwrap(), expected);
}

#[tokio::test]
async fn a_long_page_is_cut_and_says_how_to_go_on() {
    let page: String = (0..300).map(|number| format!("<p>paragraph {number}</p>")).collect::<Vec<_>>().concat();
    let world = World::configured(vec![html("/", &page)], |config| config.limits.characters = 1000);
    let Some(world) = world else { return };
    let tab = world.open("/").await.unwrap();
    let (mut from, mut whole, mut parts) = (0, String::new(), 0);
    loop {
        let part = tab.read(&OutlineOptions { from, ..OutlineOptions::default() }).await.unwrap();
        assert!(part.text.chars().count() <= 1000);
        whole.push_str(&part.text);
        parts += 1;
        let Some(next) = part.next() else { break };
        assert!(part.with_note().ends_with(&format!("ask again with from={next} for the rest]\n")));
        from = next;
    }
    assert!(parts > 5 && whole.contains("paragraph 299") && whole.lines().count() == 301, "{parts} parts");
    assert!(tab.text(0).await.unwrap().with_note().contains("from="));
}

#[tokio::test]
async fn screenshots_show_the_window_the_page_or_an_element() {
    let page =
        "<body style='margin:0'><div style='height:3000px'>long</div><button style='width:70px;height:30px'>b</button>";
    let Some(world) = World::with(vec![html("/", page)]) else { return };
    let tab = world.open("/").await.unwrap();
    let button = find(&tab, "button").await.unwrap();
    let size = |png: &[u8]| {
        assert_eq!(&png[1..4], b"PNG");
        let number = |at: usize| u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]);
        (number(16), number(20))
    };
    let picture = tab.screenshot(&ScreenshotArea::Page).await.unwrap();
    assert!(size(&picture.png).1 >= 3030 && !picture.is_cut);
    let window = tab.screenshot(&ScreenshotArea::Window).await.unwrap();
    assert_eq!(size(&window.png), (1280, 800));
    let element = tab.screenshot(&ScreenshotArea::Element(button)).await.unwrap();
    assert_eq!(size(&element.png), (70, 30));
}
