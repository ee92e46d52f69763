//! The load of an index from all rows of a space.

use loci_core::Space;
use loci_index::{Index, StoredPassage, Texts};
use loci_text::analysis;
use tokio_postgres::Row;

use super::{Change, LoadedIndex, Rows, STATE, read_model, read_passage, read_state};
use crate::failure::Result;
use crate::row::read_stored;
use crate::session::Session;
use crate::value::values;

/// The index of a space while the rows come that it is made of.
pub(super) struct IndexLoader {
    change: Change,
    analysed_by: i64,
    index: Index,
    texts: Texts,
    further: Vec<Row>,
    /// The number of further vectors that belong to passages that have come.
    passed: usize,
    /// The row of the memory of each passage.
    memories: Vec<i64>,
}

impl IndexLoader {
    /// Reads a space as of one moment. Rows of another version of the analysis are left out.
    pub(super) async fn read(session: &Session, space: &Space) -> Result<Self> {
        let mut loading = IndexLoader {
            change: Change::default(),
            analysed_by: i64::from(analysis::VERSION),
            index: Index::default(),
            texts: Texts::default(),
            further: Vec::new(),
            passed: 0,
            memories: Vec::new(),
        };
        let mut statements = vec![(STATE.to_owned(), values![space])];
        statements.extend(Rows::statements(space, None));
        session
            .read_each(&statements, |number, row| loading.take(number, row))
            .await?;
        Ok(loading)
    }

    pub(super) fn is_outdated(&self) -> bool {
        self.analysed_by != i64::from(analysis::VERSION)
    }

    /// Takes a row of the statement with this number: the state of the space, then the rows in the
    /// order of [`Rows::statements`].
    fn take(&mut self, number: usize, row: Row) -> Result<()> {
        match number {
            0 => (self.change, self.analysed_by) = read_state(Some(&row))?,
            _ if self.is_outdated() => {}
            1 => {
                let (number, model) = read_model(&row)?;
                self.texts.add_model(number, model);
            }
            2 => {
                let (number, memory) = read_stored(&row)?;
                self.index.insert(number, &memory);
            }
            3 => self.further.push(row),
            _ => {
                let (texts, memories) = (&mut self.texts, &mut self.memories);
                let mut take = |memory, passage: StoredPassage<'_>| {
                    texts.insert(memories.len() as u32, passage);
                    memories.push(memory);
                };
                read_passage(&row, &self.further, &mut self.passed, &mut take)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> LoadedIndex {
        self.texts.shrink();
        self.index.adopt(self.texts, &self.memories);
        self.index.shrink();
        LoadedIndex {
            index: self.index,
            change: self.change,
        }
    }
}
