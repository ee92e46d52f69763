//! Tunnels: connections that users and agents make between locations.

use std::collections::BTreeMap;

use loci_core::limits::{LIST_RESULTS_MAX, TRAVERSED_MAX, TUNNELS_MAX};
use loci_core::{
    Change, CollectionFilter, Condition, Error, ErrorCode, FilingOrder, Filter, LocationCount,
    Memory, MemoryId, Page, Reader, RecordVerb, Result, Scope, Tunnel, TunnelEnd,
};
use sha2::{Digest, Sha256};

use crate::check;
use crate::graph::Graph;
use crate::graph::room_graph::{GENERAL_SECTION, is_type};
use crate::listings::names::{alike, nothing_there};

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct TunnelConnection {
    /// The location at the other end.
    pub end: TunnelEnd,
    /// The tunnel that leads there; `None` if the two only share the name of the section.
    pub tunnel: Option<Tunnel>,
    /// Memories of that location, at most as many as requested: first the one that the tunnel
    /// names, if it is there, then the last inserted ones.
    pub memories: Vec<Memory>,
    /// The number of all memories there; 0 if the location is empty by now.
    pub total: u64,
}

/// Returns a change that belongs to the creation of a tunnel.
type FurtherChange<'a> = &'a dyn Fn(&Tunnel) -> Result<Option<Change>>;

/// A collection (`None` is global) and a section.
pub(super) type LocationKey<'a> = (Option<&'a str>, &'a str);

pub(super) fn place(end: &TunnelEnd) -> LocationKey<'_> {
    (end.collection.as_deref(), &end.section)
}

fn is_at(found: &loci_core::Location, end: &TunnelEnd) -> bool {
    (found.collection.as_deref(), found.section.as_str()) == place(end)
}

/// Returns the number of memories in each location.
fn totals(places: &[LocationCount]) -> BTreeMap<LocationKey<'_>, u64> {
    let mut totals = BTreeMap::new();
    for tally in places {
        *totals
            .entry((tally.collection.as_deref(), tally.section.as_str()))
            .or_default() += tally.memories;
    }
    totals
}

/// Formats a location for a message.
pub(super) fn shown((collection, section): LocationKey<'_>) -> String {
    format!("{}/{section}", collection.unwrap_or("global"))
}

/// Returns true if a tunnel has an end in a collection; `None` is global.
pub(super) fn has_end_in(tunnel: &Tunnel, collection: Option<&str>) -> bool {
    let ends = [&tunnel.source, &tunnel.target];
    ends.iter().any(|end| place(end).0 == collection)
}

impl Graph<'_> {
    /// Creates a tunnel between two locations. A pair has one tunnel, in either order of the ends;
    /// creating it again replaces the label, unless that is missing or blank, and the memories of
    /// the ends that name one. Its id is 16 hex digits of the SHA-256 of the two ends in sorted
    /// order (and of the owner, if it is not common). It is common if both locations contain a
    /// memory that every caller may read at its creation, otherwise only its owner's; this never
    /// changes. Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if the caller can read nothing in one of the locations (the message names the
    /// location, because the names of the arguments, e.g. `source_wing`, are the dialect's), or
    /// cannot read the memory of an end; `invalid_argument` if both ends are one location, or the
    /// memory of an end is elsewhere; that or `too_large` for the `label`; `too_large` if the
    /// caller has [`TUNNELS_MAX`] already (callers without a name share that limit); `unavailable`
    /// if the store cannot be written.
    pub fn create_tunnel(
        &self,
        source: TunnelEnd,
        target: TunnelEnd,
        label: Option<&str>,
    ) -> Result<Tunnel> {
        let (mut tunnel, _) = self.put_tunnel(source, target, label, None)?;
        // Another caller may have named the memory of an end.
        self.hide_memories(std::slice::from_mut(&mut tunnel))?;
        Ok(tunnel)
    }

    /// Creates a tunnel in the same way, with a further change in its transaction; returns true if
    /// it is new. One that is there stays as it is.
    pub(crate) fn add_tunnel(
        &self,
        source: TunnelEnd,
        target: TunnelEnd,
        label: Option<&str>,
        along: FurtherChange<'_>,
    ) -> Result<bool> {
        let (_, is_new) = self.put_tunnel(source, target, label, Some(along))?;
        Ok(is_new)
    }

    /// Creates a tunnel, or changes it unless it must be new, for which `along` returns a further change.
    fn put_tunnel(
        &self,
        source: TunnelEnd,
        target: TunnelEnd,
        label: Option<&str>,
        along: Option<FurtherChange<'_>>,
    ) -> Result<(Tunnel, bool)> {
        let label = label.map(|label| self.redaction.redact_stored(label).text);
        let label = label.as_deref().filter(|label| !label.trim().is_empty());
        label.map_or(Ok(()), |label| check::reference("label", label))?;
        let ends = [&source, &target];
        if place(&source) == place(&target) {
            let message = format!(
                "both ends are `{}`; a tunnel ties two places",
                shown(place(&source))
            );
            return Err(Error::new(ErrorCode::InvalidArgument, message));
        }
        self.change_tunnels(|| {
            let since = self.store.version(&self.caller.space)?;
            self.check_ends(ends)?;
            let seen = self.seen_tunnels()?;
            let owner = self.caller.principal.subject.clone();
            let [common, own] = tunnel_ids(ends, owner.as_deref());
            let with_id = |id: &String| seen.iter().find(|tunnel| tunnel.id == *id);
            let before = with_id(&common).or_else(|| with_id(&own));
            if let Some(before) = before
                && along.is_some()
            {
                return Ok((before.clone(), false));
            }
            let tunnel = match before {
                Some(before) => self.replaced_tunnel(before, ends, label),
                None if seen.iter().filter(|tunnel| tunnel.owner == owner).count()
                    >= TUNNELS_MAX =>
                {
                    let message = format!(
                        "you have {TUNNELS_MAX} tunnels already; delete one that is not needed"
                    );
                    return Err(Error::new(ErrorCode::TooLarge, message));
                }
                None => {
                    let (is_common, now) = (self.are_common(ends)?, self.clock.now());
                    Tunnel {
                        space: self.caller.space.clone(),
                        id: if is_common { common } else { own },
                        source: source.clone(),
                        target: target.clone(),
                        label: label.unwrap_or_default().to_owned(),
                        owner,
                        is_common,
                        created_at: now,
                        updated_at: now,
                    }
                }
            };
            let not_wiped = self.not_wiped(&tunnel, since);
            let expect = before.cloned().map(Box::new);
            let put = Change::PutTunnel {
                tunnel: Box::new(tunnel.clone()),
                expect,
            };
            let further = along.map_or(Ok(None), |along| along(&tunnel))?;
            let changes = [put].into_iter().chain(further).collect();
            self.access.commit_if(Vec::from_iter(not_wiped), changes)?;
            Ok((tunnel, before.is_none()))
        })
    }

    /// Returns the condition that the data of a tunnel's owner was not wiped since.
    pub(super) fn not_wiped(&self, tunnel: &Tunnel, since: u64) -> Option<Condition> {
        Some(Condition::NotWiped {
            owner: tunnel.owner.clone()?,
            origin: self.caller.origin.to_owned(),
            since,
        })
    }

    /// Returns a page of the tunnels that the caller sees, oldest first, and their total number.
    /// With a collection (`Some(None)` is global), only those with an end in it. An end names its
    /// memory only if that still exists and the caller may read it.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn tunnels(
        &self,
        collection: Option<Option<&str>>,
        page: Page,
    ) -> Result<(Vec<Tunnel>, usize)> {
        let mut tunnels = self.seen_tunnels()?;
        tunnels.retain(|tunnel| collection.is_none_or(|name| has_end_in(tunnel, name)));
        self.page_of_tunnels(tunnels, page)
    }

    /// Returns a page of these tunnels, with the memories that they name, and their number.
    pub(super) fn page_of_tunnels(
        &self,
        tunnels: Vec<Tunnel>,
        page: Page,
    ) -> Result<(Vec<Tunnel>, usize)> {
        let total = tunnels.len();
        let mut tunnels: Vec<Tunnel> = tunnels
            .into_iter()
            .skip(page.offset)
            .take(page.limit)
            .collect();
        self.hide_memories(&mut tunnels)?;
        Ok((tunnels, total))
    }

    /// Deletes a tunnel that the caller sees. Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if the caller sees no tunnel with that id; `forbidden` without the scope
    /// `write`; `unavailable` if the store cannot be written.
    pub fn delete_tunnel(&self, id: &str) -> Result<()> {
        if !self.caller.principal.scopes.allow(Scope::Write) {
            return Err(Error::new(
                ErrorCode::Forbidden,
                "deleting needs a token with the scope `write`",
            ));
        }
        self.change_tunnels(|| {
            let seen = self.seen_tunnels()?;
            let tunnel = seen.iter().find(|tunnel| tunnel.id == id);
            let tunnel = tunnel.ok_or_else(|| {
                Error::not_found("there is no tunnel with that id; list the tunnels")
            })?;
            let is_own = tunnel.owner == self.caller.principal.subject && !tunnel.is_common;
            self.caller.note_record(RecordVerb::Read, id, Some(is_own));
            let changes = vec![Change::DeleteTunnel { id: id.to_owned() }];
            self.access.commit(changes)
        })
    }

    /// Returns the locations to which tunnels and shared names of sections lead from a location:
    /// tunnels first, oldest first, then the same section in other collections, by name (`general`
    /// and sections that only name a type lead nowhere); at most [`TRAVERSED_MAX`], with at most
    /// `previews` memories each.
    ///
    /// # Errors
    /// `not_found` if the caller can read nothing there, with up to five locations of similar
    /// names; `unavailable` if the store cannot be read.
    pub fn follow_tunnels(
        &self,
        collection: Option<&str>,
        section: &str,
        previews: usize,
    ) -> Result<Vec<TunnelConnection>> {
        let start = (collection, section);
        let places = self.listings.places()?;
        let totals = totals(&places);
        if !totals.contains_key(&start) {
            let all: Vec<String> = totals.keys().map(|place| shown(*place)).collect();
            let similar = alike(&shown(start), all.iter().map(String::as_str));
            return Err(nothing_there(
                "there is nothing to read in that place",
                &similar,
            ));
        }
        let mut tunnels = self.seen_tunnels()?;
        tunnels.retain(|tunnel| place(&tunnel.source) == start || place(&tunnel.target) == start);
        tunnels.truncate(TRAVERSED_MAX);
        self.hide_memories(&mut tunnels)?;
        let tied: Vec<(TunnelEnd, Option<Tunnel>)> = tunnels
            .into_iter()
            .map(|tunnel| {
                let end = if place(&tunnel.source) == start {
                    &tunnel.target
                } else {
                    &tunnel.source
                };
                (end.clone(), Some(tunnel))
            })
            .collect();
        let ties_by_name = section != GENERAL_SECTION && !is_type(section);
        let shares_the_name =
            |place: &&LocationKey<'_>| place.1 == section && ties_by_name && place.0 != collection;
        let untied: Vec<(TunnelEnd, Option<Tunnel>)> = totals
            .keys()
            .filter(shares_the_name)
            .filter(|other| !tied.iter().any(|(end, _)| place(end) == **other))
            .map(|(collection, section)| {
                let (collection, section) = (collection.map(str::to_owned), (*section).to_owned());
                (
                    TunnelEnd {
                        collection,
                        section,
                        memory: None,
                    },
                    None,
                )
            })
            .collect();
        let followed = tied
            .into_iter()
            .chain(untied)
            .take(TRAVERSED_MAX)
            .map(|(end, tunnel)| {
                let total = totals.get(&place(&end)).copied().unwrap_or(0);
                let memories = self.lying_there(&end, previews.min(LIST_RESULTS_MAX))?;
                Ok(TunnelConnection {
                    end,
                    tunnel,
                    memories,
                    total,
                })
            });
        followed.collect()
    }

    /// Returns the tunnels that the caller sees, oldest first, with the memories that they name.
    pub(crate) fn seen_tunnels(&self) -> Result<Vec<Tunnel>> {
        let mut tunnels = self.store.tunnels(&self.caller.space)?;
        tunnels.retain(|tunnel| self.sees(tunnel));
        Ok(tunnels)
    }

    /// Returns true if the caller sees a tunnel.
    pub(super) fn sees(&self, tunnel: &Tunnel) -> bool {
        let reader = self.caller.reader();
        // A caller that merely claims a name owns only records of its own tool set, and tunnels do not
        // record theirs.
        let is_owned = !self.caller.is_claimed && tunnel.owner == reader.subject;
        tunnel.is_common || reader.everything || is_owned
    }

    /// Repeats a change until no other process interferes. One lock serves all tunnels of a space,
    /// since their number is limited.
    pub(super) fn change_tunnels<T>(&self, attempt: impl FnMut() -> Result<T>) -> Result<T> {
        self.locks.change(&(&self.caller.space, "tunnels"), attempt)
    }

    /// Checks that the caller can read something at both ends, and that the memories that they name
    /// are there.
    fn check_ends(&self, ends: [&TunnelEnd; 2]) -> Result<()> {
        let places = self.listings.places()?;
        let totals = totals(&places);
        for end in ends {
            if !totals.contains_key(&place(end)) {
                let message = format!(
                    "there is nothing to read in `{}`; list what there is",
                    shown(place(end))
                );
                return Err(Error::not_found(message));
            }
            let Some(id) = &end.memory else { continue };
            let found = self
                .store
                .locations_of(&self.access.places_filter(), std::slice::from_ref(id))?
                .pop();
            let (_, found) = found
                .ok_or_else(|| Error::not_found(format!("there is no memory with the id {id}")))?;
            if !is_at(&found, end) {
                let message = format!(
                    "memory {id} is not in `{}`; name the place that it is in",
                    shown(place(end))
                );
                return Err(Error::new(ErrorCode::InvalidArgument, message));
            }
        }
        Ok(())
    }

    /// Reports whether both locations contain a memory that every caller may read.
    fn are_common(&self, ends: [&TunnelEnd; 2]) -> Result<bool> {
        let everyone = Reader {
            shared: false,
            ..Reader::of(None)
        };
        let places = self.store.count_by_location(&Filter {
            reader: everyone,
            ..self.access.places_filter()
        })?;
        let totals = totals(&places);
        Ok(ends.into_iter().all(|end| totals.contains_key(&place(end))))
    }

    fn replaced_tunnel(
        &self,
        before: &Tunnel,
        ends: [&TunnelEnd; 2],
        label: Option<&str>,
    ) -> Tunnel {
        let renewed = |end: &TunnelEnd| {
            let named = ends.into_iter().find(|other| place(other) == place(end));
            let memory = named
                .and_then(|named| named.memory.clone())
                .or_else(|| end.memory.clone());
            TunnelEnd {
                memory,
                ..end.clone()
            }
        };
        Tunnel {
            source: renewed(&before.source),
            target: renewed(&before.target),
            label: label.map_or_else(|| before.label.clone(), str::to_owned),
            updated_at: self.clock.now(),
            ..before.clone()
        }
    }

    /// Removes the memories from ends if the caller may not read them, or if they have moved
    /// elsewhere.
    fn hide_memories(&self, tunnels: &mut [Tunnel]) -> Result<()> {
        let ends = || {
            tunnels
                .iter()
                .flat_map(|tunnel| [&tunnel.source, &tunnel.target])
        };
        let named: Vec<MemoryId> = ends().filter_map(|end| end.memory.clone()).collect();
        let found = self
            .store
            .locations_of(&self.access.places_filter(), &named)?;
        let found: BTreeMap<MemoryId, loci_core::Location> = found.into_iter().collect();
        for end in tunnels
            .iter_mut()
            .flat_map(|tunnel| [&mut tunnel.source, &mut tunnel.target])
        {
            let is_there = end
                .memory
                .as_ref()
                .and_then(|id| found.get(id))
                .is_some_and(|found| is_at(found, end));
            end.memory.take_if(|_| !is_there);
        }
        Ok(())
    }

    /// Returns the memory that the end names, if it is there, then the last inserted ones.
    fn lying_there(&self, end: &TunnelEnd, limit: usize) -> Result<Vec<Memory>> {
        let collections = end
            .collection
            .clone()
            .map_or(CollectionFilter::Global, CollectionFilter::Only);
        let sections = vec![end.section.clone()];
        let filter = Filter {
            collections,
            sections,
            ..self.access.places_filter()
        };
        let mut memories = match &end.memory {
            Some(id) => self.store.get_all(&filter, std::slice::from_ref(id))?,
            None => Vec::new(),
        };
        let filed = self.store.list_by_insertion(
            &filter,
            FilingOrder::LastFirst,
            Page { offset: 0, limit },
        )?;
        memories.extend(
            filed
                .into_iter()
                .filter(|memory| Some(&memory.id) != end.memory.as_ref()),
        );
        memories.truncate(limit);
        Ok(memories)
    }
}

/// Returns the ids of the tunnel between two ends: as a common one, and as that owner's.
fn tunnel_ids(ends: [&TunnelEnd; 2], owner: Option<&str>) -> [String; 2] {
    // With its length first, no part runs into the next one.
    let add = |hash: Sha256, part: Option<&str>| {
        let length = part.map_or(0, |part| part.len() as u64 + 1);
        hash.chain_update(length.to_le_bytes())
            .chain_update(part.unwrap_or_default())
    };
    let mut ends = ends.map(place);
    ends.sort_unstable();
    let parts = ends
        .into_iter()
        .flat_map(|(collection, section)| [collection, Some(section)]);
    let common = parts.fold(Sha256::new(), add);
    let own = add(common.clone(), owner);
    [common, own].map(|hash| {
        let id = hash
            .finalize()
            .iter()
            .take(8)
            .fold(0_u64, |id, byte| id << 8 | u64::from(*byte));
        format!("{id:016x}")
    })
}
