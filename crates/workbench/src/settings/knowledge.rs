//! `[knowledge]`: which model makes vectors of what is indexed. Only the user can set this: text of files is sent to
//! that model.

use serde::Deserialize;
use toml::Spanned;

use super::effective::LayerMerge;
use super::origin::SettingValue;
use crate::fault::Fault;

/// The table `[knowledge]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenKnowledge {
    pub(crate) embeddings: Option<Spanned<String>>,
}

/// Which model makes vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EmbeddingChoice {
    /// The local model, if it has been pulled.
    Auto,
    /// None: words only.
    None,
    /// The local model.
    MiniLm,
    /// A provider's: `PROVIDER/NAME`.
    Provider(String),
}

impl EmbeddingChoice {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "none" => Some(Self::None),
            "minilm" => Some(Self::MiniLm),
            spec => spec
                .split_once('/')
                .filter(|(provider, name)| !provider.is_empty() && !name.is_empty())
                .map(|_| Self::Provider(spec.to_owned())),
        }
    }

    fn word(&self) -> &str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::MiniLm => "minilm",
            Self::Provider(spec) => spec,
        }
    }
}

/// How documents are indexed.
#[derive(Clone, Debug)]
pub(crate) struct KnowledgeSettings {
    pub(crate) embeddings: SettingValue<EmbeddingChoice>,
}

impl Default for KnowledgeSettings {
    fn default() -> Self {
        Self { embeddings: SettingValue::default_of(EmbeddingChoice::Auto) }
    }
}

impl KnowledgeSettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenKnowledge) -> Result<(), Fault> {
        let Some(embeddings) = &written.embeddings else { return Ok(()) };
        let Some(choice) = EmbeddingChoice::parse(embeddings.get_ref()) else {
            let (place, text) = (taking.layer.place(embeddings), embeddings.get_ref());
            return Err(Fault::config(format!(
                "{place}: `knowledge.embeddings` is `{text}`; expected `minilm`, `none`, `auto` or a model such as \
                 `gemini/gemini-embedding-001`"
            )));
        };
        let choice = Spanned::new(embeddings.span(), choice);
        taking.own("knowledge.embeddings", &mut self.embeddings, Some(&choice));
        Ok(())
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        let SettingValue { value, from } = &self.embeddings;
        vec![("knowledge.embeddings".into(), format!("{:?}", value.word()), from.clone())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{EffectiveSettings, SettingOrigin, SettingsLayer};

    fn taken(origin: SettingOrigin, text: &str) -> Result<(EmbeddingChoice, Vec<String>), String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let (mut meant, mut ignored) = (EffectiveSettings::default(), Vec::new());
        meant.take(&SettingsLayer::file(&file, origin).unwrap(), &mut ignored).map_err(|fault| fault.message)?;
        Ok((meant.knowledge.embeddings.value, ignored))
    }

    #[test]
    fn only_the_user_decides_who_gets_the_text_of_files() {
        let text = "[knowledge]\nembeddings = \"openai-compatible/e5\"\n";
        let provider = EmbeddingChoice::Provider("openai-compatible/e5".into());
        assert_eq!(taken(SettingOrigin::User, text), Ok((provider, Vec::new())));
        for origin in [SettingOrigin::Workspace, SettingOrigin::Stranger] {
            let (choice, ignored) = taken(origin, text).unwrap();
            assert_eq!((choice, ignored.len()), (EmbeddingChoice::Auto, 1), "{ignored:?}");
        }
        let wrong = taken(SettingOrigin::User, "[knowledge]\nembeddings = \"e5\"\n").unwrap_err();
        assert!(wrong.contains("config.toml:2: `knowledge.embeddings` is `e5`; expected `minilm`"), "{wrong}");
    }
}
