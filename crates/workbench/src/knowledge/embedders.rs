//! The models that make vectors: the local one, or a provider's.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Runtime};
use updraft_knowledge::{Embedder, Error, MiniLm};
use updraft_models::{EmbeddingModel, ModelAccess};
use updraft_tools::LoadEmbedder;

use crate::folders::AppFolders;
use crate::settings::{EmbeddingChoice, WorkspaceSettings};
use crate::{knowledge, model_access};

/// How to load the model that the settings name; `None` if only words are searched. Nothing is loaded or sent yet.
pub fn embedder(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Option<Arc<LoadEmbedder>> {
    let weights = knowledge::minilm_folder(folders);
    let local = move || match MiniLm::load(&weights) {
        Ok(model) => Ok(Arc::new(model) as Arc<dyn Embedder>),
        Err(error) => Err(format!("{error}; `updraft models pull minilm` gets it")),
    };
    match &settings.effective.knowledge.embeddings.value {
        EmbeddingChoice::None => None,
        EmbeddingChoice::Auto => knowledge::has_minilm(folders).then(|| Arc::new(local) as Arc<LoadEmbedder>),
        EmbeddingChoice::MiniLm => Some(Arc::new(local)),
        EmbeddingChoice::Provider(spec) => {
            let (spec, access) = (spec.clone(), model_access::access(folders, settings, workspace));
            Some(Arc::new(move || remote(&spec, &access)))
        }
    }
}

fn remote(spec: &str, access: &ModelAccess) -> Result<Arc<dyn Embedder>, String> {
    let in_words = |error: updraft_models::Error| updraft_run::error_chain(&error);
    let model = EmbeddingModel::resolve(spec, access).map_err(in_words)?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime for `{spec}`: {error}"))?;
    let embedder = ProviderEmbedder { model, runtime: Some(runtime), dimensions: OnceLock::new() };
    // The index asks for the length of vectors first, and only the provider knows it.
    let probe = embedder.vectors(&["length".to_owned()]).map_err(|error| error.to_string())?;
    let _ = embedder.dimensions.set(probe.first().map_or(0, Vec::len));
    Ok(Arc::new(embedder))
}

/// A provider's model, asked from threads that may block. It has a runtime of its own: the caller's thread may be inside
/// of another.
struct ProviderEmbedder {
    model: EmbeddingModel,
    runtime: Option<Runtime>,
    dimensions: OnceLock<usize>,
}

impl ProviderEmbedder {
    fn vectors(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let failed = |why: String| Error::Embedder { name: self.model.name().to_owned(), why };
        let Some(runtime) = &self.runtime else { return Err(failed("it is being closed".to_owned())) };
        let asked = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(self.model.embed(texts))).join());
        match asked {
            Ok(Ok(vectors)) => Ok(vectors),
            Ok(Err(error)) => Err(failed(updraft_run::error_chain(&error))),
            Err(_) => Err(failed("a thread stopped".to_owned())),
        }
    }
}

impl Embedder for ProviderEmbedder {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn dimensions(&self) -> usize {
        self.dimensions.get().copied().unwrap_or_default()
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let vectors = self.vectors(texts)?;
        let expected = self.dimensions();
        match vectors.iter().find(|vector| vector.len() != expected) {
            Some(other) => {
                let why = format!("it gave a vector of length {}, expected {expected}", other.len());
                Err(Error::Embedder { name: self.name().to_owned(), why })
            }
            None => Ok(vectors),
        }
    }
}

impl Drop for ProviderEmbedder {
    fn drop(&mut self) {
        // Waiting for it is not allowed inside of another runtime, and nothing runs in it between two requests.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
