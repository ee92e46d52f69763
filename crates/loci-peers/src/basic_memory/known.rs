//! What the database knows of the files of projects, and the names of notes.

use jiff::Timestamp;

use super::Project;
use crate::Result;
use crate::database::{Cells, Database};
use crate::times::{self, Offsets};

/// The row of a file in the database.
pub(super) struct Row {
    pub(super) entity: i64,
    pub(super) title: Option<String>,
    pub(super) permalink: Option<String>,
    pub(super) external_id: Option<String>,
    pub(super) checksum: Option<String>,
    pub(super) created_at: Option<String>,
    /// The moment at which the file changed.
    pub(super) changed: Option<Timestamp>,
}

/// A note of which the text is not read yet: its names, one after the other, because a folder may have
/// hundreds of thousands.
pub(super) struct Note {
    names: Box<str>,
    /// The ends of its id, its title and its path; behind them is its id in loci, if loci wrote it.
    ends: [usize; 3],
}

impl Note {
    pub(super) fn new(id: &str, title: &str, path: &str, own_id: Option<&str>) -> Self {
        let ends = [
            id.len(),
            id.len() + title.len(),
            id.len() + title.len() + path.len(),
        ];
        Note {
            names: [id, title, path, own_id.unwrap_or_default()]
                .concat()
                .into_boxed_str(),
            ends,
        }
    }

    fn part(&self, start: usize, end: usize) -> &str {
        self.names.get(start..end).unwrap_or_default()
    }

    pub(super) fn id(&self) -> &str {
        self.part(0, self.ends[0])
    }

    pub(super) fn title(&self) -> &str {
        self.part(self.ends[0], self.ends[1])
    }

    pub(super) fn path(&self) -> &str {
        self.part(self.ends[1], self.ends[2])
    }

    pub(super) fn own_id(&self) -> Option<&str> {
        Some(self.part(self.ends[2], self.names.len())).filter(|id| !id.is_empty())
    }
}

/// The database, with what it knows of the files of projects.
pub(super) struct Known {
    pub(super) database: Database,
}

impl Known {
    /// Runs a query for the rows of a project in the order of their paths, or for that of one path.
    pub(super) fn rows(
        &self,
        project: &Project,
        path: Option<&str>,
        visit: impl FnMut(&Cells<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        let query = match (path, project.number) {
            (None, None) => {
                "SELECT * FROM entity WHERE ?1 IS NULL AND ?2 IS NULL ORDER BY file_path"
            }
            (None, Some(_)) => {
                "SELECT * FROM entity WHERE ?1 IS NULL AND project_id = ?2 ORDER BY file_path"
            }
            (Some(_), None) => "SELECT * FROM entity WHERE file_path = ?1 AND ?2 IS NULL",
            (Some(_), Some(_)) => "SELECT * FROM entity WHERE file_path = ?1 AND project_id = ?2",
        };
        self.database.rows(query, &[&path, &project.number], visit)
    }

    pub(super) fn paths(&self, project: &Project) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        self.rows(project, None, |cells| {
            paths.extend(cells.text("file_path"));
            Ok(())
        })?;
        Ok(paths)
    }

    pub(super) fn row(&self, project: &Project, path: &str) -> Result<Option<Row>> {
        let mut row = None;
        self.rows(project, Some(path), |cells| {
            let changed = cells.real("mtime").and_then(times::seconds);
            let clock = cells.filled("updated_at");
            let told = changed
                .zip(clock)
                .and_then(|(at, clock)| times::beside(&clock, at));
            row = Some(Row {
                entity: cells.number("id").unwrap_or_default(),
                title: cells.filled("title"),
                permalink: cells.filled("permalink"),
                external_id: cells.filled("external_id"),
                checksum: cells.filled("checksum"),
                created_at: cells.filled("created_at"),
                changed: told.map(|(moment, _)| moment).or(changed),
            });
            Ok(())
        })?;
        Ok(row)
    }

    /// Measures the offsets of the times of a project by the moments beside them.
    pub(super) fn measure(&self, project: &Project, offsets: &mut Offsets) -> Result<()> {
        self.rows(project, None, |cells| {
            let changed = cells.real("mtime").and_then(times::seconds);
            if let (Some(clock), Some(changed)) = (cells.filled("updated_at"), changed) {
                offsets.measure(&clock, changed);
            }
            Ok(())
        })
    }
}
