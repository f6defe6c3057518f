//! All vectors in one piece of memory, so that comparing them runs at the speed of the memory.
//!
//! A value is one byte: on the collections for measuring that changed no nDCG by more than 0.002, and it takes a
//! quarter of the room and of the time.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::Embedder;
use super::sketch::{Sketches, read_cosines};
use crate::error::Error;
use crate::index::Index;

/// The question's values are numbers up to this: finer than a chunk's, and 3,000 products still fit 32 bits.
const FINEST: f32 = 4_095.0;

/// The vectors of an index as of one moment: whole, or their signs where there are very many.
pub(crate) struct VectorCache {
    /// What the index said about its vectors when they were read.
    stamp: String,
    dimensions: usize,
    chunks: Arc<Vec<i64>>,
    scales: Vec<f32>,
    values: Vec<i8>,
    /// In place of scales and values.
    sketches: Option<Sketches>,
}

impl VectorCache {
    /// Reads the vectors again if they have changed. Those of another model do not count.
    pub(super) fn refresh<'a>(
        held: &'a mut Option<Self>,
        index: &Index,
        embedder: &dyn Embedder,
    ) -> Result<&'a Self, Error> {
        let stamp = index.read(stamp)?;
        let is_same =
            held.as_ref().is_some_and(|cache| cache.stamp == stamp && cache.dimensions == embedder.dimensions());
        if !is_same {
            *held = None;
        }
        match held {
            Some(cache) => Ok(cache),
            None => Ok(held.insert(Self::load(index, stamp, embedder)?)),
        }
    }

    fn load(index: &Index, stamp: String, embedder: &dyn Embedder) -> Result<Self, Error> {
        let dimensions = embedder.dimensions();
        let mut chunks = Vec::new();
        let (scales, values) = (Vec::new(), Vec::new());
        let mut cache = Self { stamp, dimensions, chunks: Arc::default(), scales, values, sketches: None };
        index.read(|connection| {
            if !is_model(connection, embedder)? {
                return Ok(());
            }
            let count: i64 = connection.query_row("SELECT count(*) FROM vectors", [], |row| row.get(0))?;
            cache.sketches = (count as usize > index.most_exact).then(|| Sketches::new(dimensions));
            let mut rows = connection.prepare("SELECT chunk, scale, vector FROM vectors ORDER BY chunk")?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let vector = row.get_ref(2)?.as_blob()?;
                if vector.len() == dimensions {
                    let scale = row.get::<_, f64>(1)? as f32;
                    cache.push(chunks.len(), count as usize, (scale, vector));
                    chunks.push(row.get(0)?);
                }
            }
            Ok(())
        })?;
        cache.chunks = Arc::new(chunks);
        Ok(cache)
    }

    fn push(&mut self, at: usize, count: usize, (scale, vector): (f32, &[u8])) {
        if let Some(sketches) = &mut self.sketches {
            sketches.push(vector);
            sketches.sample(at, count, (scale, vector));
        } else {
            self.scales.push(scale);
            self.values.extend(vector.iter().map(|byte| byte.cast_signed()));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The cosine of every chunk, or of those allowed (in ascending order). Where there are very many, only of the
    /// nearest.
    pub(super) fn compare(
        &self,
        question: &[f32],
        allowed: Option<&[i64]>,
        connection: &Connection,
    ) -> rusqlite::Result<Similarities> {
        let is_allowed = |at: usize| allowed.is_none_or(|list| list.binary_search(&self.chunks[at]).is_ok());
        let exact = quantize_question(question);
        if let Some(sketches) = &self.sketches {
            let positions = sketches.nearest(question, is_allowed);
            let chunks: Vec<i64> = positions.into_iter().map(|at| self.chunks[at]).collect();
            let values = read_cosines(connection, &chunks, &exact)?;
            return Ok(Similarities { chunks: Arc::new(chunks), values, spread: sketches.spread(&exact) });
        }
        let vectors = self.values.chunks_exact(self.dimensions.max(1));
        let mut values: Vec<f32> =
            self.scales.iter().zip(vectors).map(|(own, vector)| cosine(&exact, *own, vector)).collect();
        if allowed.is_some() {
            for (at, value) in values.iter_mut().enumerate() {
                if !is_allowed(at) {
                    *value = f32::NEG_INFINITY;
                }
            }
        }
        let all: Vec<f64> = values.iter().filter(|value| value.is_finite()).map(|value| f64::from(*value)).collect();
        Ok(Similarities { chunks: Arc::clone(&self.chunks), values, spread: spread(&all) })
    }
}

/// How near chunks are to a question.
#[derive(Default)]
pub(crate) struct Similarities {
    /// In ascending order.
    chunks: Arc<Vec<i64>>,
    values: Vec<f32>,
    /// The mean of all and its deviation.
    spread: (f64, f64),
}

impl Similarities {
    /// The cosine of a chunk that has a vector.
    pub(crate) fn get(&self, chunk: i64) -> Option<f64> {
        let at = self.chunks.binary_search(&chunk).ok()?;
        self.values.get(at).copied().filter(|value| value.is_finite()).map(f64::from)
    }

    /// How far the nearest chunk stands out among all, in standard deviations.
    pub(crate) fn standing(&self) -> f64 {
        let (mean, deviation) = self.spread;
        let finite = self.values.iter().copied().filter(|value| value.is_finite()).map(f64::from);
        (finite.fold(mean, f64::max) - mean) / deviation.max(1e-6)
    }

    /// The nearest chunks, nearest first.
    pub(crate) fn best(&self, count: usize) -> Vec<i64> {
        let mut all: Vec<(f32, i64)> = self.values.iter().copied().zip(self.chunks.iter().copied()).collect();
        all.retain(|(value, _)| value.is_finite());
        let order = |a: &(f32, i64), b: &(f32, i64)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if all.len() > count {
            all.select_nth_unstable_by(count, order);
            all.truncate(count);
        }
        all.sort_by(order);
        all.into_iter().map(|(_, chunk)| chunk).collect()
    }
}

/// The vector as bytes, with the factor that gives its values back at length 1.
pub(super) fn quantize(vector: &[f32]) -> (f32, Vec<u8>) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    let most = vector.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let bytes = vector.iter().map(|value| ((value / most * 127.0).round() as i8).cast_unsigned()).collect();
    (most / 127.0 / length, bytes)
}

fn quantize_question(vector: &[f32]) -> (Vec<i16>, f32) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    let most = vector.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let values = vector.iter().map(|value| (value / most * FINEST).round() as i16).collect();
    (values, most / FINEST / length)
}

/// The cosine of a question with a vector that has this factor.
pub(super) fn cosine((question, scale): &(Vec<i16>, f32), own: f32, vector: &[i8]) -> f32 {
    let dot: i32 = question.iter().zip(vector).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    dot as f32 * scale * own
}

/// The mean and the standard deviation.
pub(super) fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
}

/// Changes whenever vectors are written or removed.
pub(super) fn stamp(connection: &Connection) -> rusqlite::Result<String> {
    let stamp = connection.query_row("SELECT value FROM settings WHERE key = 'vectors'", [], |row| row.get(0));
    Ok(stamp.optional()?.unwrap_or_default())
}

/// Whether the vectors of the index were made by this model.
pub(super) fn is_model(connection: &Connection, embedder: &dyn Embedder) -> rusqlite::Result<bool> {
    let name = connection.query_row("SELECT value FROM settings WHERE key = 'embedder'", [], |row| row.get(0));
    Ok(name.optional()? == Some(identity(embedder)))
}

/// How a model is written down.
pub(super) fn identity(embedder: &dyn Embedder) -> String {
    format!("{} {}", embedder.name(), embedder.dimensions())
}
