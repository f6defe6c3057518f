//! Forms: filling fields, choosing options, uploading files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::download::safe_name;
use crate::element::Spot;
use crate::error::Error;
use crate::mouse::ClickKind;
use crate::tab::Tab;

/// Selects what a field holds, so that what is inserted takes its place. Fields that only a picker changes (dates,
/// colours, ranges) get their value here. Answers what is left to do.
const PREPARE: &str = r"function(text) {
    const set = (field, value) => {
        const kind = field instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
        Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(field, value);
        field.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
        field.dispatchEvent(new Event('change', {bubbles: true}));
    };
    if (this instanceof HTMLInputElement || this instanceof HTMLTextAreaElement) {
        if (this.disabled) return 'is disabled';
        if (this.readOnly) return 'is read-only';
        const typed = ['text', 'search', 'email', 'url', 'tel', 'password', 'number', 'textarea'];
        const picked = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];
        if (picked.includes(this.type)) {
            this.focus();
            set(this, text);
            return this.value === text || this.type === 'range' || this.type === 'color' ? 'done'
                : `takes no such value; it is of type ${this.type}, such as 2026-03-31 for a date or 14:05 for a time`;
        }
        if (!typed.includes(this.type)) return `is an input of type ${this.type}, which is not filled; click it`;
        this.focus();
        this.select();
        return 'insert';
    }
    if (this instanceof HTMLSelectElement) return 'is a list of options; use select';
    if (this.isContentEditable) {
        this.focus();
        const range = document.createRange();
        range.selectNodeContents(this);
        const selection = getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
        return 'insert';
    }
    return `is a ${this.tagName.toLowerCase()}, not a field; click it and type`;
}";

const SELECT: &str = r"function(wanted) {
    if (!(this instanceof HTMLSelectElement)) return ['is no list of options (select); click it, then one of its options'];
    if (this.disabled) return ['is disabled'];
    const tidy = text => text.trim().replace(/\s+/g, ' ');
    const options = [...this.options];
    const chosen = [];
    for (const want of wanted) {
        const found = options.find(one => tidy(one.label) === tidy(want) || tidy(one.text) === tidy(want))
            || options.find(one => one.value === want);
        if (!found) return [`has no option ${JSON.stringify(want)}; it has ` +
            options.slice(0, 50).map(one => JSON.stringify(tidy(one.label))).join(', ')];
        chosen.push(found);
    }
    if (chosen.length !== 1 && !this.multiple) return ['takes exactly one option'];
    this.focus();
    if (this.multiple) for (const one of options) one.selected = chosen.includes(one);
    else chosen[0].selected = true;
    this.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
    this.dispatchEvent(new Event('change', {bubbles: true}));
    return [null, chosen.map(one => tidy(one.label))];
}";

/// A file to be uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadFile {
    /// The name that the page is told.
    pub name: String,
    /// What it holds.
    pub content: Vec<u8>,
}

impl Tab {
    /// Replaces what a field holds. Fires the events of real input; `submit` presses Enter afterwards.
    pub async fn fill(&self, reference: &str, text: &str, submit: bool) -> Result<(), Error> {
        self.act(async {
            // Scrolls there, and notices a field that cannot be seen.
            self.locate(&Spot::Element(reference.to_owned())).await?;
            match self.on_element(reference, PREPARE, json!([text])).await?.as_str() {
                Some("insert") if text.is_empty() => self.stroke_named("Delete").await?,
                Some("insert") => self.insert(text).await?,
                Some("done") => {}
                other => return Err(wrong(reference, other.unwrap_or("is no field"))),
            }
            if submit { self.stroke_named("Enter").await } else { Ok(()) }
        })
        .await
    }

    /// Clicks a field and types into it key by key, after what it holds: for fields that react to single keys.
    pub async fn type_into(&self, reference: &str, text: &str, submit: bool) -> Result<(), Error> {
        self.click(&Spot::Element(reference.to_owned()), ClickKind::Single).await?;
        self.act(async {
            self.enter(text).await?;
            if submit { self.stroke_named("Enter").await } else { Ok(()) }
        })
        .await
    }

    /// Chooses options of a `select` by label or value. Several only where the list takes several. Returns their labels.
    pub async fn select(&self, reference: &str, options: &[&str]) -> Result<Vec<String>, Error> {
        self.act(async {
            let answer = self.on_element(reference, SELECT, json!([options])).await?;
            if let Some(why) = answer[0].as_str() {
                return Err(wrong(reference, why));
            }
            let labels = answer[1].as_array().into_iter().flatten().filter_map(Value::as_str);
            Ok(labels.map(str::to_owned).collect())
        })
        .await
    }

    /// Gives copies of files to an input: the browser need not see the files themselves.
    pub async fn upload(&self, reference: &str, files: Vec<UploadFile>) -> Result<(), Error> {
        let node = self.node(reference)?;
        self.act(async {
            let kind = "function() { return this instanceof HTMLInputElement && this.type === 'file' }";
            if self.on_element(reference, kind, json!([])).await? != true {
                return Err(wrong(reference, "takes no files; expected an input of type file"));
            }
            let folder = self.running.state.uploads.clone();
            let copied = tokio::task::spawn_blocking(move || copy_into(&folder, &files)).await;
            let copied = copied.map_err(std::io::Error::other).and_then(|copied| copied);
            let paths = copied.map_err(|source| Error::Io { doing: "could not copy files for the browser", source })?;
            let files = json!({"files": paths, "backendNodeId": node});
            self.call("DOM.setFileInputFiles", files).await.map(drop)
        })
        .await
    }
}

/// Each into a folder of its own, so that their names can be the same.
fn copy_into(uploads: &Path, files: &[UploadFile]) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for file in files {
        let folder = tempfile::Builder::new().tempdir_in(uploads)?.keep();
        let path = folder.join(safe_name(&file.name));
        std::fs::write(&path, &file.content)?;
        paths.push(path);
    }
    Ok(paths)
}

fn wrong(reference: &str, why: &str) -> Error {
    Error::WrongElement { reference: reference.to_owned(), why: why.to_owned() }
}
