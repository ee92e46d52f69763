//! The memories that filters admit, evaluated once and then kept current, so that no search looks
//! at every memory.

use std::ops::Bound::{Excluded, Included};
use std::sync::{Arc, PoisonError};

use loci_core::{Filter, Superseded, Timestamp};

use super::base::RecordFields;
use super::selection::Selection;
use super::{Index, NONE};
use crate::structures::Bits;

/// Filters whose views are kept.
const VIEWS_MAX: usize = 64;
/// Bytes that kept views take in all, unless a single one takes more.
const VIEWS_BYTES_MAX: usize = 16 << 20;
/// Changes of memories after which views are evaluated again, when they are asked for.
const TOUCHED_MAX: usize = 10_000;

/// The memories that a filter admits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// The memories, by number.
    pub(crate) memories: Bits,
    /// Their passages.
    pub(crate) slots: Bits,
    /// The length of these together, in terms.
    pub(crate) length: u64,
}

impl View {
    fn bytes(&self) -> usize {
        self.memories.bytes() + self.slots.bytes()
    }
}

/// The views of the filters that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct Views {
    kept: Vec<CachedView>,
    /// Counts the uses.
    uses: u64,
}

#[derive(Debug)]
struct CachedView {
    /// Without its moment.
    filter: Filter,
    /// None: nothing bears a name that the filter asks for.
    selection: Option<Selection>,
    /// The number of names when the filter was compiled.
    names: usize,
    /// When what the view admits was alive.
    moment: Timestamp,
    view: Arc<View>,
    used: u64,
}

impl Views {
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.kept
            .iter()
            .map(|kept| kept.view.bytes() + size_of::<CachedView>() + size_of::<View>())
            .sum()
    }

    fn find(&mut self, filter: &Filter) -> Option<&mut CachedView> {
        self.uses += 1;
        let kept = self.kept.iter_mut().find(|kept| kept.filter == *filter)?;
        kept.used = self.uses;
        Some(kept)
    }

    /// Keeps a view; the ones that were not used for longest go.
    fn keep(&mut self, kept: CachedView) {
        if self.find(&kept.filter).is_some() {
            // Another search was faster.
            return;
        }
        self.kept.push(CachedView {
            used: self.uses,
            ..kept
        });
        while self.kept.len() > VIEWS_MAX || (self.kept.len() > 1 && self.bytes() > VIEWS_BYTES_MAX)
        {
            let oldest = (0..self.kept.len()).min_by_key(|place| self.kept[*place].used);
            oldest.map(|place| self.kept.swap_remove(place));
        }
    }
}

impl Index {
    /// Returns the memories that the filter admits.
    pub(crate) fn view(&self, filter: &Filter) -> Arc<View> {
        let timeless = Filter {
            live_at: Timestamp::MIN,
            ..filter.clone()
        };
        let views = || self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = views().find(&timeless) {
            return self.at(kept, filter.live_at);
        }
        // Not under the lock: others need not wait for it.
        let selection = Selection::compile(filter, &self.names);
        let view = selection
            .as_ref()
            .map(|selection| self.evaluate(selection, filter))
            .unwrap_or_default();
        let view = Arc::new(view);
        // No caller asks for the same range of times twice.
        if filter.created_from.is_some() || filter.created_until.is_some() {
            return view;
        }
        let (names, moment) = (self.names.len(), filter.live_at);
        views().keep(CachedView {
            filter: timeless,
            selection,
            names,
            moment,
            view: Arc::clone(&view),
            used: 0,
        });
        view
    }

    /// The view at that moment. A kept view moves on with time; for a moment in its past a copy
    /// goes back.
    fn at(&self, kept: &mut CachedView, moment: Timestamp) -> Arc<View> {
        let (first, last) = (kept.moment.min(moment), kept.moment.max(moment));
        let expiring = self
            .expiries
            .range((Excluded((first, NONE)), Included((last, NONE))));
        let mut expiring: Vec<u32> = expiring.map(|(_, number)| *number).collect();
        expiring.extend(
            self.base
                .expiring(first, last)
                .into_iter()
                .filter(|number| !self.gone.contains(*number)),
        );
        let mut past = (moment < kept.moment).then(|| Arc::clone(&kept.view));
        kept.moment = last;
        let Some(selection) = kept.selection.as_ref().filter(|_| !expiring.is_empty()) else {
            return Arc::clone(&kept.view);
        };
        let view = past.as_mut().unwrap_or(&mut kept.view);
        let changing = Arc::make_mut(view);
        for number in expiring {
            let replaced = self.traits(number).replaces;
            for number in [number, replaced]
                .into_iter()
                .filter(|number| *number != NONE)
            {
                self.place(
                    changing,
                    number,
                    self.is_admitted(selection, &kept.filter, moment, number),
                );
            }
        }
        Arc::clone(view)
    }

    /// Returns the memories that the filter admits, by a look at every memory.
    pub(crate) fn evaluate(&self, selection: &Selection, filter: &Filter) -> View {
        let mut view = View::default();
        let mut replaced = Vec::new();
        for number in (0..self.numbers()).filter(|number| self.is_there(*number)) {
            let memory = self.traits(number);
            if selection.is_live_and_readable(&memory, filter.live_at) {
                if self
                    .record(number)
                    .is_some_and(|record| selection.admits(&memory, &record, &self.threads))
                {
                    view.memories.insert(number);
                }
                if !memory.is_forgotten {
                    replaced.push(memory.replaces);
                }
            }
        }
        if filter.superseded == Superseded::Hide {
            for number in replaced.into_iter().filter(|number| *number != NONE) {
                view.memories.remove(number);
            }
        }
        let admitted = std::mem::take(&mut view.memories);
        admitted
            .iter()
            .for_each(|number| self.place(&mut view, number, true));
        view.memories.shrink();
        view.slots.shrink();
        view
    }

    fn is_there(&self, number: u32) -> bool {
        self.own(number).map_or_else(
            || !self.gone.contains(number),
            |own| self.records[own].is_some(),
        )
    }

    fn is_admitted(
        &self,
        selection: &Selection,
        filter: &Filter,
        moment: Timestamp,
        number: u32,
    ) -> bool {
        let Some(record) = self.record(number) else {
            return false;
        };
        let traits = self.traits(number);
        let hides = |successor: &u32| selection.is_live_successor(&self.traits(*successor), moment);
        selection.is_live_and_readable(&traits, moment)
            && selection.admits(&traits, &record, &self.threads)
            && (filter.superseded == Superseded::Show || !self.successors(number).iter().any(hides))
    }

    /// Puts a memory into the view or takes it out.
    fn place(&self, view: &mut View, number: u32, is_admitted: bool) {
        let Some(RecordFields { passages, .. }) = self.record(number).map(|record| record.fixed)
        else {
            return;
        };
        if is_admitted && view.memories.insert(number) {
            for slot in self.slots.of(passages) {
                view.slots.insert(slot);
                view.length += u64::from(self.texts.postings.length(slot));
            }
        } else if !is_admitted && view.memories.remove(number) {
            for slot in self.slots.of(passages) {
                view.slots.remove(slot);
                view.length -= u64::from(self.texts.postings.length(slot));
            }
        }
    }

    /// Takes a memory that is about to go out of every view.
    pub(crate) fn take_out(&mut self, number: u32) {
        self.change_views(|index, views| {
            for kept in &mut views.kept {
                if kept.view.memories.contains(number) {
                    index.place(Arc::make_mut(&mut kept.view), number, false);
                }
            }
        });
    }

    /// Brings every view up to date with the memories that were touched.
    pub(crate) fn settle_views(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        self.change_views(|index, views| {
            if touched.len() > TOUCHED_MAX {
                views.kept.clear();
            }
            for kept in &mut views.kept {
                if kept.names != index.names.len() {
                    kept.selection = Selection::compile(&kept.filter, &index.names);
                    kept.names = index.names.len();
                }
                let Some(selection) = &kept.selection else {
                    continue;
                };
                let view = Arc::make_mut(&mut kept.view);
                for number in &touched {
                    index.place(
                        view,
                        *number,
                        index.is_admitted(selection, &kept.filter, kept.moment, *number),
                    );
                }
            }
        });
    }

    fn change_views(&mut self, change: impl FnOnce(&Index, &mut Views)) {
        let mut views =
            std::mem::take(self.views.get_mut().unwrap_or_else(PoisonError::into_inner));
        change(self, &mut views);
        *self.views.get_mut().unwrap_or_else(PoisonError::into_inner) = views;
    }
}
