//! The floor of a write: the rows of a memory and of its passage in one transaction, its statements
//! sent together, and nothing read or counted.

use loci::exit::{Exit, Failure};
use loci_core::{Batch, Change, Memory, Passage};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

/// A connection of its own to the server.
pub struct Floor {
    runtime: Runtime,
    client: Client,
    insert_memory: Statement,
    insert_passage: Statement,
    space: String,
    rows: i64,
}

fn failed(error: &tokio_postgres::Error) -> Failure {
    Failure::new(Exit::Failure, format!("the server refuses: {error}"))
}

impl Floor {
    /// Connects. The rows go into the tables of a store, as rows of a space.
    pub fn new(url: &str, schema: &str, space: String) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let connected = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            let insert_memory = client
                .prepare(&format!(
                    "INSERT INTO {schema}.memory (space, row, id, section, kind, weight, tier, delivery, origin, by_admin, \
                     visibility, created_at, updated_at, revision, tags, links, attributes, citations, content) VALUES \
                     ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)"
                ))
                .await?;
            let insert_passage = client
                .prepare(&format!(
                    "INSERT INTO {schema}.passage (space, memory, position, first_byte, end_byte, terms, model, scale, \
                     vector) VALUES ($1, $2, 0, 0, $3, $4, 1, $5, $6)"
                ))
                .await?;
            Ok((client, insert_memory, insert_passage))
        });
        let (client, insert_memory, insert_passage) =
            connected.map_err(|error: tokio_postgres::Error| failed(&error))?;
        Ok(Floor {
            runtime,
            client,
            insert_memory,
            insert_passage,
            space,
            rows: 0,
        })
    }

    /// Stores each memory of a batch with its passage, in a transaction of its own; returns when it
    /// is durable.
    pub fn write_all(&mut self, batch: &Batch) -> Result<(), Failure> {
        for change in &batch.changes {
            let Change::Put {
                memory,
                passages: Some(passages),
                ..
            } = change
            else {
                return Err(Failure::new(
                    Exit::Failure,
                    "the floor stores memories alone",
                ));
            };
            for passage in passages {
                self.rows += 1;
                let written = self.write(memory, passage);
                self.runtime
                    .block_on(written)
                    .map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    }

    async fn write(&self, memory: &Memory, passage: &Passage) -> Result<(), tokio_postgres::Error> {
        let client = &self.client;
        let end = passage.range.end as i64;
        let vector = passage.vector.as_ref();
        let scale = vector.map(|vector| vector.scale);
        let vector: Option<Vec<u8>> = vector.map(|vector| {
            vector
                .values
                .iter()
                .map(|value| value.cast_unsigned())
                .collect()
        });
        let begin = client.batch_execute("BEGIN");
        let weight = memory.weight;
        let moment = memory.created_at.microseconds();
        let none: [&str; 0] = [];
        let values: [&(dyn ToSql + Sync); 19] = [
            &self.space,
            &self.rows,
            &memory.id.as_str(),
            &memory.location.section,
            &memory.kind,
            &weight,
            &memory.tier.name(),
            &memory.delivery.name(),
            &memory.origin,
            &memory.by_admin,
            &memory.visibility.name(),
            &moment,
            &moment,
            &memory.revision.cast_signed(),
            &none.as_slice(),
            &"[]",
            &"{}",
            &"[]",
            &memory.content,
        ];
        let memories = client.execute(&self.insert_memory, &values);
        let terms = terms(passage);
        let values: [&(dyn ToSql + Sync); 6] =
            [&self.space, &self.rows, &end, &terms, &scale, &vector];
        let passages = client.execute(&self.insert_passage, &values);
        let commit = client.batch_execute("COMMIT");
        tokio::try_join!(begin, memories, passages, commit)?;
        Ok(())
    }
}

/// Returns bytes of about the length that a store has for the terms.
fn terms(passage: &Passage) -> Vec<u8> {
    let mut bytes = Vec::new();
    for term in &passage.terms {
        bytes.extend([term.count as u8, term.text.len() as u8]);
        bytes.extend(term.text.bytes());
    }
    bytes
}
