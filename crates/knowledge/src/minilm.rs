//! all-MiniLM-L6-v2, a small model of English sentences, run on the processor without any other program.
//!
//! Its six layers are written out here. A general library for models brings a hundred packages and several megabytes for
//! what these few hundred lines do.

mod forward;
mod tokens;
mod weights;

use std::path::Path;

use crate::error::Error;
use crate::vectors::Embedder;
use forward::Network;
use tokens::WordPieces;
use weights::Tensors;

/// What the model reads of a text, in tokens; it was trained on no more.
const LONGEST: usize = 256;

/// The model, ready to embed texts. About 90 MB of memory.
pub struct MiniLm {
    network: Network,
    pieces: WordPieces,
    threads: usize,
}

impl MiniLm {
    /// Reads `model.safetensors` and `vocab.txt` of a folder.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let pieces = WordPieces::load(&folder.join("vocab.txt"))?;
        let network = Network::new(&Tensors::load(&folder.join("model.safetensors"))?)?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self { network, pieces, threads })
    }

    fn embed_tokens(&self, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        texts.iter().map(|tokens| self.network.embed(tokens)).collect()
    }
}

impl Embedder for MiniLm {
    fn name(&self) -> &'static str {
        "all-MiniLM-L6-v2"
    }

    fn dimensions(&self) -> usize {
        forward::WIDTH
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| self.pieces.split(text, LONGEST)).collect();
        let share = tokens.len().div_ceil(self.threads).max(1);
        let stopped = |_| Error::Embedder { name: self.name().to_owned(), why: "a thread stopped".to_owned() };
        std::thread::scope(|scope| {
            let parts: Vec<_> = tokens.chunks(share).map(|part| scope.spawn(|| self.embed_tokens(part))).collect();
            let mut vectors = Vec::with_capacity(tokens.len());
            for part in parts {
                vectors.extend(part.join().map_err(stopped)?);
            }
            Ok(vectors)
        })
    }

    /// The share of Latin letters: it learned English.
    fn fluency(&self, text: &str) -> f32 {
        let letters = text.chars().filter(|c| c.is_alphabetic());
        let (all, latin) = letters.fold((0, 0), |(all, latin), c| (all + 1, latin + u32::from((c as u32) < 0x250)));
        if all == 0 { 1.0 } else { (latin as f32 / all as f32).powi(2) }
    }
}
