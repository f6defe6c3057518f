//! `[search]`: the service that searches the web. Only the user can set this: every question is sent there.

use serde::Deserialize;
use toml::Spanned;
use updraft_tools::SearchProvider;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use crate::fault::Fault;

/// The table `[search]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenSearch {
    pub(crate) provider: Option<Spanned<String>>,
    pub(crate) base_url: Option<Spanned<String>>,
    pub(crate) key_env: Option<Spanned<String>>,
    pub(crate) engine: Option<Spanned<String>>,
}

/// The service that searches the web, as far as the settings say.
#[derive(Clone, Debug)]
pub(crate) struct SearchSettings {
    pub(crate) provider: SettingValue<Option<SearchProvider>>,
    /// Its address; for SearXNG that of the instance.
    pub(crate) base_url: SettingValue<String>,
    /// The variable that holds its key, if it is not a usual one.
    pub(crate) key_env: SettingValue<String>,
    /// The id of the search engine, for Google.
    pub(crate) engine: SettingValue<String>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        let empty = || SettingValue::default_of(String::new());
        Self { provider: SettingValue::default_of(None), base_url: empty(), key_env: empty(), engine: empty() }
    }
}

impl SearchSettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenSearch) -> Result<(), Fault> {
        if let Some(provider) = &written.provider {
            let word = provider.get_ref();
            let Some(known) = SearchProvider::ALL.into_iter().find(|known| known.name() == word) else {
                let names = SearchProvider::ALL.map(SearchProvider::name).join(", ");
                let place = taking.layer.place(provider);
                return Err(Fault::config(format!("{place}: `search.provider` is `{word}`; expected one of {names}")));
            };
            taking.own("search.provider", &mut self.provider, Some(&Spanned::new(provider.span(), Some(known))));
        }
        taking.own("search.base_url", &mut self.base_url, written.base_url.as_ref());
        taking.own("search.key_env", &mut self.key_env, written.key_env.as_ref());
        taking.own("search.engine", &mut self.engine, written.engine.as_ref());
        Ok(())
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let provider = self.provider.value.map_or_else(|| "none".to_owned(), |known| format!("{:?}", known.name()));
        let text = |name: &str, slot: &SettingValue<String>| {
            (format!("search.{name}"), format!("{:?}", slot.value), slot.from.clone())
        };
        vec![
            ("search.provider".into(), provider, self.provider.from.clone()),
            text("base_url", &self.base_url),
            text("key_env", &self.key_env),
            text("engine", &self.engine),
        ]
    }
}
