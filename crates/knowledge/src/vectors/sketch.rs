//! Finds near vectors among very many: the signs of their values, one bit each, choose those that are compared exactly.
//!
//! Signs take an eighth of the room of the vectors, and comparing them an eighth of the time. The vectors themselves
//! stay in the file; only those of the shortlist are read.

use rusqlite::Connection;

use super::cache::cosine;

/// How many are compared exactly: one of this many, and at least so many. Of the ten nearest chunks 0.97 to 0.99 are among
/// one of fifty (six-layer MiniLM, three collections), 0.94 to 0.97 among one of a hundred.
const SHARE: usize = 50;
const LEAST: usize = 2_000;

/// How many vectors stand for all of them where their mean and deviation are asked for.
const SAMPLE: usize = 1_000;

/// The signs of many vectors.
#[derive(Default)]
pub(super) struct Sketches {
    /// Words of 64 bits for a vector.
    width: usize,
    bits: Vec<u64>,
    /// Some whole vectors, evenly spread, with their factors.
    sample: Vec<(f32, Vec<i8>)>,
}

impl Sketches {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { width: dimensions.div_ceil(64), ..Self::default() }
    }

    /// Adds the next vector.
    pub(super) fn push(&mut self, vector: &[u8]) {
        self.bits.extend(signs(vector.iter().map(|byte| byte.cast_signed() > 0)));
    }

    /// Keeps a whole vector as one of the sample, if it is its turn among `count`.
    pub(super) fn sample(&mut self, at: usize, count: usize, (scale, vector): (f32, &[u8])) {
        if at.is_multiple_of((count / SAMPLE).max(1)) {
            self.sample.push((scale, vector.iter().map(|byte| byte.cast_signed()).collect()));
        }
    }

    /// The positions whose signs differ least from the question's, in ascending order.
    pub(super) fn nearest(&self, question: &[f32], is_allowed: impl Fn(usize) -> bool) -> Vec<usize> {
        let wanted: Vec<u64> = signs(question.iter().map(|value| *value > 0.0)).collect();
        let differ = |bits: &[u64]| bits.iter().zip(&wanted).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
        let all = self.bits.chunks_exact(self.width.max(1)).enumerate();
        let mut all: Vec<(u32, usize)> =
            all.filter(|(at, _)| is_allowed(*at)).map(|(at, bits)| (differ(bits), at)).collect();
        let shortlist = LEAST.max(all.len() / SHARE);
        if all.len() > shortlist {
            all.select_nth_unstable(shortlist);
            all.truncate(shortlist);
        }
        let mut positions: Vec<usize> = all.into_iter().map(|(_, at)| at).collect();
        positions.sort_unstable();
        positions
    }

    /// The mean cosine of a question with all vectors and its deviation, by the sample.
    pub(super) fn spread(&self, question: &(Vec<i16>, f32)) -> (f64, f64) {
        let cosines: Vec<f64> =
            self.sample.iter().map(|(scale, vector)| f64::from(cosine(question, *scale, vector))).collect();
        super::cache::spread(&cosines)
    }
}

/// The cosines of a question with vectors that are read from the file now. A vector that was removed meanwhile is
/// infinitely far.
pub(super) fn read_cosines(
    connection: &Connection,
    chunks: &[i64],
    question: &(Vec<i16>, f32),
) -> rusqlite::Result<Vec<f32>> {
    let mut find = connection.prepare_cached("SELECT scale, vector FROM vectors WHERE chunk = ?1")?;
    let mut values = Vec::with_capacity(chunks.len());
    let mut vector: Vec<i8> = Vec::new();
    for chunk in chunks {
        let mut rows = find.query([chunk])?;
        let value = match rows.next()? {
            None => f32::NEG_INFINITY,
            Some(row) => {
                vector.clear();
                vector.extend(row.get_ref(1)?.as_blob()?.iter().map(|byte| byte.cast_signed()));
                cosine(question, row.get::<_, f64>(0)? as f32, &vector)
            }
        };
        values.push(value);
    }
    Ok(values)
}

/// Bits in words of 64.
fn signs(bits: impl Iterator<Item = bool>) -> impl Iterator<Item = u64> {
    let mut bits = bits.peekable();
    std::iter::from_fn(move || {
        bits.peek()?;
        Some((0..64).fold(0, |word, at| word | u64::from(bits.next() == Some(true)) << at))
    })
}
