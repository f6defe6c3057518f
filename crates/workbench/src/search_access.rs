//! Collects what is needed to search the web from the environment and the settings.

use std::collections::BTreeMap;
use std::path::Path;

use updraft_tools::{SearchConfig, SearchKey, SearchProvider};

use crate::folders;
use crate::settings::{SearchSettings, WorkspaceSettings, read_dotenv};

/// The search service: the one that the settings name, or the first for which there is an address or a key. `.env` is
/// read only in a trusted workspace, and never overrides the environment.
pub(crate) fn config(settings: &WorkspaceSettings, workspace: &Path) -> Option<SearchConfig> {
    let own =
        if settings.trust_state.is_trusted() { read_dotenv(&workspace.join(".env")) } else { BTreeMap::default() };
    let find = |name: &str| folders::set(name).or_else(|| own.get(name).filter(|value| !value.is_empty()).cloned());
    chosen(&settings.effective.search, &find)
}

fn chosen(settings: &SearchSettings, find: &dyn Fn(&str) -> Option<String>) -> Option<SearchConfig> {
    let any = |names: &[&str]| names.iter().find_map(|name| find(name));
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let named = settings.provider.value;
    let config = |provider: SearchProvider| {
        let is_meant = named == Some(provider) || (named.is_none() && provider == SearchProvider::SearXng);
        let base = said(&settings.base_url.value).filter(|_| is_meant);
        let base = base.or_else(|| find("SEARXNG_URL").filter(|_| provider == SearchProvider::SearXng));
        let named_key = said(&settings.key_env.value).filter(|_| named == Some(provider));
        let key = named_key.map_or_else(|| any(provider.keys()), |variable| find(&variable));
        let is_google = provider == SearchProvider::Google;
        let engine = said(&settings.engine.value).or_else(|| any(&["GOOGLE_CSE_ID", "GOOGLE_SEARCH_ENGINE_ID"]));
        let engine = engine.filter(|_| is_google);
        let is_ready = match provider {
            SearchProvider::SearXng => base.is_some(),
            SearchProvider::Google => key.is_some() && engine.is_some(),
            SearchProvider::Brave | SearchProvider::Tavily | SearchProvider::Exa => key.is_some(),
        };
        let key = SearchKey::new(&key.unwrap_or_default());
        (SearchConfig { provider, base, key, engine: engine.unwrap_or_default() }, is_ready)
    };
    match named {
        Some(provider) => Some(config(provider).0),
        None => SearchProvider::ALL.into_iter().map(config).find(|(_, is_ready)| *is_ready).map(|(config, _)| config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{EffectiveSettings, SettingOrigin, SettingsLayer};

    fn found(text: &str, environment: &[(&str, &str)]) -> Option<(&'static str, Option<String>, String)> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let mut meant = EffectiveSettings::default();
        meant.take(&SettingsLayer::file(&file, SettingOrigin::User).unwrap(), &mut Vec::new()).ok()?;
        let find =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        chosen(&meant.search, &find).map(|config| (config.provider.name(), config.base, config.engine))
    }

    #[test]
    fn the_first_that_is_configured_is_used_unless_one_is_named() {
        assert_eq!(found("", &[]), None);
        let keys = [("EXA_API_KEY", "e"), ("TAVILY_API_KEY", "t")];
        assert_eq!(found("", &keys), Some(("tavily", None, String::new())));
        assert_eq!(found("[search]\nprovider = \"exa\"\n", &keys), Some(("exa", None, String::new())));
        let url = Some("http://127.0.0.1:8888".to_owned());
        let here = [("SEARXNG_URL", "http://127.0.0.1:8888"), ("BRAVE_API_KEY", "b")];
        assert_eq!(found("", &here), Some(("searxng", url.clone(), String::new())));
        assert_eq!(
            found("[search]\nbase_url = \"http://127.0.0.1:8888\"\n", &[]),
            Some(("searxng", url, String::new()))
        );
        let google = [("GOOGLE_SEARCH_API_KEY", "g"), ("GOOGLE_CSE_ID", "cx")];
        assert_eq!(found("", &google), Some(("google", None, "cx".to_owned())));
        assert_eq!(found("", &google[..1]), None);
        assert_eq!(found("[search]\nprovider = \"bing\"\n", &keys), None);
    }
}
