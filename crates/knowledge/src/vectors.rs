//! Vectors of chunks: made by a model, stored as bytes, compared one by one, or by their signs first if there are very many.

mod cache;
mod fill;
mod sketch;

use crate::error::Error;
use crate::index::Index;
use crate::search::{SearchRequest, allowed};

pub(crate) use cache::{Similarities, VectorCache};
pub(crate) use fill::touch;

/// A model that turns texts into vectors, so that texts of like meaning have a large cosine.
pub trait Embedder: Send + Sync {
    /// The model's identity. Vectors of another model are never compared with its own.
    fn name(&self) -> &str;

    /// The length of its vectors.
    fn dimensions(&self) -> usize;

    /// One vector for each text. May block; texts that are too long are cut.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error>;

    /// How well it understands a text, from 0 to 1: a model of one language is not asked about others.
    fn fluency(&self, text: &str) -> f32 {
        let _ = text;
        1.0
    }
}

/// A question longer than this is embedded in pieces, whose vectors are averaged: models cut off what is too long.
const PIECE: usize = 800;

impl Index {
    /// The cosine of the question's vector with that of every chunk that the filter allows.
    pub(crate) fn nearest(&self, request: &SearchRequest, embedder: &dyn Embedder) -> Result<Similarities, Error> {
        let allowed = self.read(|connection| allowed(connection, &request.filter))?;
        let mut cache = self.vectors.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let cache = VectorCache::refresh(&mut cache, self, embedder)?;
        if cache.is_empty() {
            return Ok(Similarities::default());
        }
        let question = embed_question(&request.text, embedder)?;
        self.read(|connection| cache.compare(&question, allowed.as_deref(), connection))
    }
}

fn embed_question(text: &str, embedder: &dyn Embedder) -> Result<Vec<f32>, Error> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while rest.len() > PIECE {
        let most = rest.floor_char_boundary(PIECE);
        let end = rest[..most].rfind(char::is_whitespace).filter(|end| *end > 0).unwrap_or(most);
        pieces.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    pieces.push(rest.to_owned());
    let mut sum = vec![0.0; embedder.dimensions()];
    for vector in embedder.embed(&pieces)? {
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        for (sum, value) in sum.iter_mut().zip(&vector) {
            *sum += value / length;
        }
    }
    Ok(sum)
}
