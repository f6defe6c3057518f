//! The browser as a program: one JSON request a line on standard input, one JSON answer a line on standard output.
//!
//! `driver [--grant HOST:PORT]… [--program PATH] [--folder PATH] [--downloads PATH]`
//!
//! `{"op": "open", "url": "http://127.0.0.1:8000/"}` answers `{"ok": …}` or `{"error": "…"}`. The first operation opens a
//! tab; `"tab": "t2"` chooses another.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use updraft_browser::{
    Browser, BrowserConfig, BrowserEvent, ClickKind, Decision, DownloadDecision, OutlineOptions, PageWait,
    ScreenshotArea, Spot, Tab, UploadFile,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let browser = Browser::new(config(std::env::args().skip(1))?);
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut out = tokio::io::stdout();
    let mut tab = None;
    while let Some(line) = lines.next_line().await? {
        let answer = match answer(&browser, &mut tab, &line).await {
            Ok(value) => json!({"ok": value}),
            Err(error) => json!({"error": format!("{error:#}")}),
        };
        out.write_all(format!("{answer}\n").as_bytes()).await?;
        out.flush().await?;
    }
    browser.close().await;
    Ok(())
}

fn config(mut arguments: impl Iterator<Item = String>) -> Result<BrowserConfig> {
    let mut grants = Vec::new();
    let (mut program, mut folder, mut downloads) = (None, std::env::temp_dir(), None);
    while let Some(name) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{name} lacks a value"))?;
        match name.as_str() {
            "--grant" => grants.push(value),
            "--program" => program = Some(PathBuf::from(value)),
            "--folder" => folder = PathBuf::from(value),
            "--downloads" => downloads = Some(PathBuf::from(value)),
            _ => bail!("unknown argument {name}"),
        }
    }
    // Only what is granted: this program is for tests on loopback.
    let guard = move |host: &str, _: IpAddr, port: u16| {
        let is_granted = grants.iter().any(|grant| *grant == format!("{host}:{port}"));
        if is_granted { Decision::Allow } else { Decision::Refuse("it is not granted".to_owned()) }
    };
    let mut config = BrowserConfig { program, ..BrowserConfig::new(Arc::new(guard), folder) };
    if let Some(folder) = downloads {
        config.downloads = Arc::new(move |_| DownloadDecision::Save(folder.clone()));
    }
    Ok(config)
}

async fn answer(browser: &Browser, current: &mut Option<Tab>, line: &str) -> Result<Value> {
    let request: Value = serde_json::from_str(line)?;
    let op = request["op"].as_str().context("no op")?;
    match op {
        "tabs" => {
            let tabs = browser.tabs().await?;
            let shown = tabs.iter().map(|tab| json!({"id": tab.id, "url": tab.url, "title": tab.title}));
            return Ok(shown.collect());
        }
        "events" => return Ok(browser.take_events().await.iter().map(event).collect()),
        "quit" => {
            browser.close().await;
            *current = None;
            return Ok(Value::Null);
        }
        _ => {}
    }
    let tab = match (&*current, request["tab"].as_str()) {
        (_, Some(id)) => browser.tab(id).await?,
        (Some(tab), None) => tab.clone(),
        (None, None) => browser.open_tab("driver").await?,
    };
    *current = Some(tab.clone());
    on_page(browser, &tab, op, &request).await
}

async fn on_page(browser: &Browser, tab: &Tab, op: &str, request: &Value) -> Result<Value> {
    let text = |key: &str| request[key].as_str().with_context(|| format!("no {key}"));
    let list = |key: &str| request[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
    let number = |key: &str| request[key].as_f64().unwrap_or(0.0);
    let from = request["from"].as_u64().unwrap_or(0) as usize;
    let submit = request["submit"] == true;
    match op {
        "open" | "back" | "forward" | "reload" => {
            let view = match op {
                "open" => tab.open(text("url")?).await?,
                "back" => tab.back().await?,
                "forward" => tab.forward().await?,
                _ => tab.reload().await?,
            };
            return Ok(json!({"url": view.url, "title": view.title, "status": view.status, "loaded": view.is_loaded}));
        }
        "read" => {
            let options = OutlineOptions {
                under: request["under"].as_str().map(str::to_owned),
                with_boxes: request["boxes"] == true,
                with_everything: request["everything"] == true,
                from,
            };
            return Ok(tab.read(&options).await?.with_note().into());
        }
        "text" => return Ok(tab.text(from).await?.with_note().into()),
        "click" => tab.click(&spot(request)?, click_kind(request)?).await?,
        "hover" => tab.hover(&spot(request)?).await?,
        "scroll" => tab.scroll(spot(request).ok().as_ref(), number("right"), number("down")).await?,
        "scroll_to" => tab.scroll_to(text("ref")?).await?,
        "drag" => {
            let path: Result<Vec<Spot>> = request["path"].as_array().into_iter().flatten().map(spot).collect();
            let path = path?;
            let [from, through @ .., to] = path.as_slice() else { bail!("a path has two spots or more") };
            tab.drag(from, through, to).await?;
        }
        "type" => match request["ref"].as_str() {
            Some(reference) => tab.type_into(reference, text("text")?, submit).await?,
            None => tab.type_text(text("text")?).await?,
        },
        "fill" => tab.fill(text("ref")?, text("text")?, submit).await?,
        "press" => tab.press(&list("keys")).await?,
        "select" => return Ok(tab.select(text("ref")?, &list("options")).await?.into()),
        "upload" => {
            let mut files = Vec::new();
            for path in list("files") {
                let name = path.rsplit('/').next().unwrap_or(path).to_owned();
                files.push(UploadFile { name, content: tokio::fs::read(path).await? });
            }
            tab.upload(text("ref")?, files).await?;
        }
        "dialog" => tab.answer_dialog(request["accept"] == true, request["text"].as_str()).await?,
        "evaluate" => return Ok(serde_json::from_str(&tab.evaluate(text("script")?).await?.text)?),
        "screenshot" => {
            let area = match (request["ref"].as_str(), request["page"] == true) {
                (Some(reference), _) => ScreenshotArea::Element(reference.to_owned()),
                (None, true) => ScreenshotArea::Page,
                (None, false) => ScreenshotArea::Window,
            };
            let picture = tab.screenshot(&area).await?;
            tokio::fs::write(text("path")?, &picture.png).await?;
        }
        "wait" => {
            let what = match (request["text"].as_str(), request["gone"].as_str()) {
                (Some(text), _) => PageWait::Text(text.to_owned()),
                (None, Some(text)) => PageWait::TextGone(text.to_owned()),
                (None, None) => PageWait::Load,
            };
            let seconds = request["seconds"].as_f64().unwrap_or(10.0);
            tab.wait(&what, Duration::try_from_secs_f64(seconds)?).await?;
        }
        "downloads" => browser.wait_downloads().await?,
        "close" => tab.close().await?,
        _ => bail!("unknown op {op}"),
    }
    Ok(Value::Null)
}

fn spot(request: &Value) -> Result<Spot> {
    let reference = request["ref"].as_str().map(str::to_owned);
    match (reference, request["x"].as_f64(), request["y"].as_f64()) {
        (Some(reference), Some(x), Some(y)) => Ok(Spot::Within(reference, x, y)),
        (Some(reference), _, _) => Ok(Spot::Element(reference)),
        (None, Some(x), Some(y)) => Ok(Spot::At(x, y)),
        (None, _, _) => bail!("expected ref, or x and y"),
    }
}

fn click_kind(request: &Value) -> Result<ClickKind> {
    match request["kind"].as_str() {
        None | Some("single") => Ok(ClickKind::Single),
        Some("double") => Ok(ClickKind::Double),
        Some("right") => Ok(ClickKind::Right),
        Some("middle") => Ok(ClickKind::Middle),
        Some(other) => bail!("unknown kind of click {other}"),
    }
}

fn event(event: &BrowserEvent) -> Value {
    format!("{event:?}").into()
}
