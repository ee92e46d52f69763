//! Deleting all memories of one source permanently.

use loci_core::{ErrorCode, Forgotten, Location, Memory, Result, SOURCE_FILE};

use crate::memories::Memories;
use crate::memories::forget_where::ForgetConditions;

/// The most locations that are named.
const LOCATIONS_MAX: usize = 5;
/// The most passes, while other writers change the memories between a read and their removal.
const PASSES_MAX: usize = 100;

/// The memories of a source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceDrawers {
    /// The number of memories that the caller may change.
    pub memories: u64,
    /// The number of memories that belong to others, so that the caller can only read them.
    pub of_others: u64,
    /// Where those are that the caller may change: the first few locations.
    pub locations: Vec<Location>,
}

impl Memories<'_> {
    /// Returns the long-term memories whose source is named in this way: the absolute path of a file
    /// of this machine, or what a tool filed them with. Forgotten ones are among them.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn of_source(&self, source: &str) -> Result<SourceDrawers> {
        let mut found = SourceDrawers::default();
        self.each_of_source(source, |own| {
            found.memories += own.len() as u64;
            for memory in own {
                found.note(memory.location);
            }
            Ok(())
        })
        .map(|of_others| SourceDrawers { of_others, ..found })
    }

    /// Permanently removes these memories, a part at a time, and returns what was removed. No later
    /// reading of a file and no import brings their texts back until
    /// [`lift`](crate::Memories::lift). Durable when it returns.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written: memories removed until then stay removed.
    pub fn forget_source(&self, source: &str) -> Result<SourceDrawers> {
        let mut gone = SourceDrawers::default();
        for _ in 1..PASSES_MAX {
            match self.forget_source_once(source, &mut gone) {
                Err(error) if error.code == ErrorCode::Conflict => {}
                outcome => return outcome.map(|()| gone),
            }
        }
        self.forget_source_once(source, &mut gone).map(|()| gone)
    }

    fn forget_source_once(&self, source: &str, gone: &mut SourceDrawers) -> Result<()> {
        let of_others = self.each_of_source(source, |own| {
            let locations: Vec<Location> =
                own.iter().map(|memory| memory.location.clone()).collect();
            gone.memories += self.forget_together(own)?;
            for location in locations {
                gone.note(location);
            }
            Ok(())
        })?;
        gone.of_others = of_others;
        Ok(())
    }

    /// Passes the memories of a source that the caller may change to `visit`, a part at a time.
    /// Returns the number of the others.
    fn each_of_source(
        &self,
        source: &str,
        mut visit: impl FnMut(Vec<Memory>) -> Result<()>,
    ) -> Result<u64> {
        let which = ForgetConditions {
            source: Some(source.to_owned()),
            ..ForgetConditions::default()
        };
        let mut of_others = 0;
        let filter = self.selected(&which, Forgotten::Show)?;
        self.each_part(&filter, &which, |part| {
            let is_exact = |memory: &Memory| {
                let path = memory.attributes.get(SOURCE_FILE);
                path.is_some_and(|path| path == source)
            };
            let (own, others): (Vec<Memory>, Vec<Memory>) = part
                .into_iter()
                .filter(is_exact)
                .partition(|memory| self.caller.may_write(memory));
            of_others += others.len() as u64;
            if own.is_empty() { Ok(()) } else { visit(own) }
        })?;
        Ok(of_others)
    }
}

impl SourceDrawers {
    fn note(&mut self, location: Location) {
        if self.locations.len() < LOCATIONS_MAX && !self.locations.contains(&location) {
            self.locations.push(location);
        }
    }
}
