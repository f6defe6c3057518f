//! Makes the vectors that are missing, in batches, so that words can be searched meanwhile and nothing is lost by a stop.

use rusqlite::{Transaction, params};

use super::Embedder;
use super::cache::{identity, is_model, quantize};
use crate::cancel::Cancel;
use crate::error::Error;
use crate::index::Index;
use crate::pack::Unpacker;

/// Texts that a model gets at once.
const BATCH: i64 = 32;

impl Index {
    /// Gives every chunk without a vector one. Vectors of another model are removed first. `progress` hears how many are
    /// done and how many there are. Stops between batches if `cancel` says so, and may be called again to go on.
    pub fn embed(
        &mut self,
        embedder: &dyn Embedder,
        progress: &mut dyn FnMut(u64, u64),
        cancel: &Cancel,
    ) -> Result<u64, Error> {
        self.adopt(embedder)?;
        let totals = self.totals()?;
        let missing = (totals.chunks - totals.vectors).max(0) as u64;
        let mut done = 0;
        let mut last = 0;
        loop {
            let batch = self.without_vector(last)?;
            let Some((newest, _)) = batch.last() else { return Ok(done) };
            last = *newest;
            cancel.check()?;
            let texts: Vec<String> = batch.iter().map(|(_, text)| text.clone()).collect();
            let vectors = embedder.embed(&texts)?;
            self.write(|change| store(change, &batch, &vectors))?;
            done += batch.len() as u64;
            progress(done, missing.max(done));
        }
    }

    /// Removes the vectors of another model.
    fn adopt(&mut self, embedder: &dyn Embedder) -> Result<(), Error> {
        if self.read(|connection| is_model(connection, embedder))? {
            return Ok(());
        }
        self.write(|change| {
            change.execute_batch("DELETE FROM vectors;")?;
            let sql = "INSERT INTO settings VALUES('embedder', ?1) ON CONFLICT DO UPDATE SET value = excluded.value";
            change.execute(sql, [identity(embedder)])?;
            touch(change)
        })
    }

    /// The next chunks without a vector: headings and text, since a section is often about what its heading says.
    fn without_vector(&self, after: i64) -> Result<Vec<(i64, String)>, Error> {
        self.read(|connection| {
            let mut rows = connection.prepare_cached(
                "SELECT chunks.id, title, trail, body FROM chunks JOIN documents ON documents.id = chunks.document
                 WHERE chunks.id > ?1 AND NOT EXISTS(SELECT 1 FROM vectors WHERE chunk = chunks.id) ORDER BY chunks.id LIMIT ?2",
            )?;
            let mut unpacker = Unpacker::new();
            let row = |row: &rusqlite::Row<'_>| {
                let (title, trail): (Option<String>, String) = (row.get(1)?, row.get(2)?);
                let body = unpacker.unpack(row.get_ref(3)?)?;
                let title = title.unwrap_or_default();
                let is_repeated = |line: &&str| *line != title && !body.contains(*line);
                let above: Vec<&str> = trail.lines().filter(is_repeated).collect();
                let title = if body.contains(&title) { "" } else { &title };
                Ok((row.get(0)?, format!("{title}\n{}\n{body}", above.join("\n")).trim().to_owned()))
            };
            rows.query_map(params![after, BATCH], row)?.collect()
        })
    }
}

fn store(change: &Transaction<'_>, batch: &[(i64, String)], vectors: &[Vec<f32>]) -> rusqlite::Result<()> {
    // The chunk may have been removed while the model was at work.
    let mut insert = change.prepare_cached(
        "INSERT INTO vectors SELECT ?1, ?2, ?3 WHERE EXISTS(SELECT 1 FROM chunks WHERE id = ?1) ON CONFLICT DO NOTHING",
    )?;
    for ((chunk, _), vector) in batch.iter().zip(vectors) {
        let (scale, bytes) = quantize(vector);
        insert.execute(params![chunk, f64::from(scale), bytes])?;
    }
    touch(change)
}

/// Tells all who hold the vectors in memory that they have changed.
pub(crate) fn touch(change: &Transaction<'_>) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO settings VALUES('vectors', '1') ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1";
    change.prepare_cached(sql)?.execute([]).map(drop)
}
