//! The providers of models and their models, as other programs see them.

use updraft_models::{context_window, known_models, providers};

use super::runs::LiveRuns;
use crate::model_access;

/// A provider of models.
#[derive(Clone, Debug)]
pub struct ProviderCard {
    /// Its name, as in `PROVIDER/MODEL`.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Whether it can be used: it has a key, or needs none.
    pub usable: bool,
    /// The models that are known by name, each with its context window; there may be others.
    pub models: Vec<(String, Option<u64>)>,
}

impl LiveRuns {
    /// All providers, those of the settings last.
    pub fn providers(&self) -> Vec<ProviderCard> {
        let bench = self.bench();
        let access = model_access::access(&bench.folders, &bench.settings, &bench.folder);
        let known = providers();
        let own = access.reach.keys().filter(|name| !known.iter().any(|provider| provider.name == name.as_str()));
        let own = own.map(|name| ProviderCard {
            name: name.clone(),
            about: "from the settings".to_owned(),
            usable: true,
            models: Vec::new(),
        });
        let card = |provider: &updraft_models::Provider| ProviderCard {
            name: provider.name.to_owned(),
            about: provider.about.to_owned(),
            usable: access.can_use(provider),
            models: known_models(provider.name)
                .into_iter()
                .map(|model| (format!("{}/{model}", provider.name), context_window(provider.name, model)))
                .collect(),
        };
        known.iter().map(card).chain(own).collect()
    }

    /// The model that runs use unless they say otherwise.
    pub fn usual_model(&self) -> &str {
        &self.settings().effective.model.value
    }
}
