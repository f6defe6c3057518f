//! The files beside the pages: one stylesheet, which shares its values with the web page of `updraft serve`, and one script.

use std::path::Path;

use crate::tree;

/// Where the styles of the web page are.
const STYLES: &str = "crates/serve/src/page/assets/style";

/// Each file with its text.
pub(crate) fn all(root: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let mut style = String::new();
    for file in ["values.css", "base.css", "text.css"] {
        style += &tree::read(&root.join(STYLES).join(file))?;
    }
    style += include_str!("assets/site.css");
    Ok(vec![("site.css", style), ("search.js", include_str!("assets/search.js").to_owned())])
}
