//! What is known about a model before it is asked, and how to find out more.

use crate::discover::DiscoveryQuery;
use crate::features::ToolCallStyle;

/// What is known about a model before it is asked, and how to find out more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownFeatures {
    pub(crate) tools: Option<ToolCallStyle>,
    pub(crate) sees: Option<bool>,
    pub(crate) local: bool,
    /// How to ask the server about the model, if that is possible.
    pub(crate) ask: Option<DiscoveryQuery>,
}

impl KnownFeatures {
    /// A provider whose models all support tools.
    pub(crate) fn cloud(sees: bool) -> Self {
        Self { tools: Some(ToolCallStyle::Native), sees: Some(sees), local: false, ask: None }
    }

    /// A local server that can be asked.
    pub(crate) fn found_by(question: DiscoveryQuery) -> Self {
        Self { tools: None, sees: None, local: true, ask: Some(question) }
    }
}
