//! Reads the best chunks for an answer.

use rusqlite::OptionalExtension;

use super::fusion::{Halves, ScoredChunk};
use super::snippet::snippet;
use super::{Passage, Reasons, SearchAnswer};
use crate::error::Error;
use crate::index::{Index, place, trail_of};
use crate::pack::Unpacker;

impl Index {
    /// The passages of a ranking with all that is told about them.
    pub(super) fn passages(
        &self,
        halves: &Halves,
        ranking: &[(usize, f64)],
        limit: usize,
    ) -> Result<SearchAnswer, Error> {
        let mut passages = Vec::new();
        for (at, score) in ranking.iter().take(limit) {
            passages.extend(self.passage(halves, &halves.chunks[*at], *score)?);
        }
        let question = &halves.question;
        Ok(SearchAnswer { passages, corrections: question.corrections.clone(), unknown: question.unknown.clone() })
    }

    fn passage(&self, halves: &Halves, found: &ScoredChunk, score: f64) -> Result<Option<Passage>, Error> {
        self.read(|connection| {
            let mut find = connection.prepare_cached(
                "SELECT path, kind, hash, place, trail, body FROM chunks JOIN documents ON documents.id = chunks.document
                 WHERE chunks.id = ?1",
            )?;
            find.query_row([found.chunk], |row| {
                let text = Unpacker::new().unpack(row.get_ref(5)?)?.to_owned();
                Ok(Passage {
                    path: row.get(0)?,
                    kind: row.get(1)?,
                    hash: row.get(2)?,
                    chunk: found.chunk,
                    place: place(&row.get::<_, String>(3)?),
                    trail: trail_of(&row.get::<_, String>(4)?),
                    snippet: snippet(&text, &halves.question.terms),
                    text,
                    score,
                    why: Reasons {
                        words: found.matches.clone(),
                        word_score: (found.words > 0.0).then_some(found.words),
                        similarity: found.similarity,
                    },
                })
            })
            .optional()
        })
    }
}
