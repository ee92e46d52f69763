//! The *hubness* of each passage: how near it is to the rest of its store. A text that is near to
//! everything is near to a question that it does not answer, too, which the ranking allows for. In
//! spaces of many dimensions some vectors are among the nearest of very many others (M. Radovanović, A. Nanopoulos, M. Ivanović: "Hubs in Space", JMLR 2010). As in CSLS (A. Conneau
//! et al.: "Word Translation Without Parallel Data", ICLR 2018), the measure is the mean cosine to
//! some nearest neighbours; here of the ranks 6 to 20, because the first ones of a fact that was
//! said a few times are the same fact. A memory is one neighbour, by its nearest passage.
//!
//! - **Two bytes a passage.** A segment has the hubness of each of its passages. Of what came since,
//!   and where there is no segment, it is made when a search first has the passage among its
//!   candidates, and made again when the store has grown by a quarter.
//! - **Neighbours** are found by sketches, among at most 16,384 passages that are spread evenly over
//!   the store, so that a passage costs the same in a store of any size.
//! - **Only the nearest count**: the 24 nearest candidates of a search have a hubness, so that a
//!   search makes few, and always those of the same passages.
//! - **What others may not know does not count.** Neighbours of a passage are only those passages
//!   that everybody may read who may read the passage, so that no order tells of other texts.

use std::collections::HashMap;
use std::io;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

use loci_core::{Hubness, Visibility};

use super::interner::Name;
use super::{Index, NONE, Traits};
use crate::structures::segment::{Renumbering, SectionWriter};
use crate::structures::{Bits, Vectors};

/// The ranks of the neighbours that count.
const RANKS: RangeInclusive<usize> = 6..=20;
/// The number of nearest candidates of a search whose hubness counts.
pub(crate) const NEAREST: usize = 24;
/// The maximum number of passages among which neighbours are looked for.
const SAMPLE: usize = 16_384;
/// The passages of a sample lie in runs of this length, as sketches do.
const RUN: usize = 8;
/// The number of passages up to which hubness says nothing, and from which on it counts in full.
const NOISE_MAX: usize = 200;
const FULL_MIN: usize = 1_000;
/// The factor of growth after which what was made in memory is made again.
const GROWTH: f64 = 1.25;
/// A new segment makes one in so many again of a store that is larger than a sample.
const RENEWED_IN: u32 = 8;
/// The greatest weight, in four bits, and the greatest cosine, in twelve.
const WEIGHT_MAX: u16 = 15;
const COSINE_MAX: u16 = 4_095;

/// Who may read a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Audience {
    space: Name,
    readers: Readers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Readers {
    All,
    Sharing,
    /// The owner, through the tools that stored it.
    Owner(Name, Name),
}

impl Audience {
    fn of(traits: &Traits) -> Self {
        let readers = match (traits.visibility, traits.owner) {
            (Visibility::Common, _) | (_, None) => Readers::All,
            (Visibility::Shared, _) => Readers::Sharing,
            (Visibility::Private, Some(owner)) => Readers::Owner(owner, traits.origin),
        };
        Audience {
            space: traits.space,
            readers,
        }
    }

    /// The audience that contains this one and all others of its space.
    fn of_all(self) -> Self {
        Audience {
            readers: Readers::All,
            ..self
        }
    }
}

/// The passages among which the neighbours of an audience's passages are looked for.
#[derive(Debug)]
struct Sample {
    slots: Bits,
    /// The weight of hubness among these passages; 0 if there are too few.
    weight: u16,
}

impl Sample {
    /// Chooses from slots in ascending order.
    fn of(slots: &[u32]) -> Self {
        let above = slots.len().saturating_sub(NOISE_MAX) * usize::from(WEIGHT_MAX);
        let weight = above.div_ceil(FULL_MIN - NOISE_MAX).min(WEIGHT_MAX.into());
        let runs = slots
            .chunks(RUN)
            .step_by(slots.len().div_ceil(SAMPLE).max(1));
        Sample {
            slots: if weight == 0 {
                Bits::default()
            } else {
                runs.flatten().copied().collect()
            },
            weight: weight as u16,
        }
    }
}

/// The hubnesses that were made in memory, by the place of its model among the texts' models.
#[derive(Debug, Default)]
pub(crate) struct Hubs(Mutex<HashMap<usize, ModelHubs>>);

#[derive(Debug, Default)]
struct ModelHubs {
    /// The number of vectors in steps of growth.
    step: u32,
    samples: HashMap<Audience, Sample>,
    /// Hubnesses by slot, in two bytes.
    of_slots: HashMap<u32, u16>,
}

impl Hubs {
    fn made(&self) -> MutexGuard<'_, HashMap<usize, ModelHubs>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a slot that will be given to another passage.
    pub(crate) fn forget(&mut self, slot: u32) {
        let made = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for made in made.values_mut() {
            made.of_slots.remove(&slot);
            for sample in made.samples.values_mut() {
                sample.slots.remove(slot);
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let made = self.made();
        let of_model = |made: &ModelHubs| {
            let samples = made.samples.values().map(|sample| sample.slots.bytes());
            samples.sum::<usize>() + made.of_slots.capacity() * size_of::<(u32, u16)>()
        };
        made.values().map(of_model).sum()
    }
}

/// Returns a hubness in two bytes; 0 if there is no hubness.
fn packed(cosine: Option<f32>, weight: u16) -> u16 {
    let cosine =
        cosine.map(|cosine| (cosine.clamp(0.0, 1.0) * f32::from(COSINE_MAX)).round() as u16);
    cosine.map_or(0, |cosine| weight << 12 | cosine)
}

fn unpacked(hubness: u16) -> Option<Hubness> {
    (hubness > COSINE_MAX).then(|| Hubness {
        cosine: f32::from(hubness & COSINE_MAX) / f32::from(COSINE_MAX),
        weight: f32::from(hubness >> 12) / f32::from(WEIGHT_MAX),
    })
}

impl Index {
    /// Returns the hubness of each of these slots, with the vectors of this model.
    pub(crate) fn hubnesses(
        &self,
        model: usize,
        slots: impl Iterator<Item = Option<u32>>,
    ) -> Vec<Option<Hubness>> {
        let Some(vectors) = self.texts.models.get(model).map(|model| &model.vectors) else {
            return slots.map(|_| None).collect();
        };
        let of = |slot: u32| {
            let written = vectors.written_hubness(slot).filter(|written| *written > 0);
            unpacked(written.unwrap_or_else(|| self.made_hubness(model, vectors, slot)))
        };
        slots.map(|slot| of(slot?)).collect()
    }

    /// Returns the hubness of a slot in memory, and makes it if it is not made yet.
    fn made_hubness(&self, model: usize, vectors: &Vectors, slot: u32) -> u16 {
        let len = vectors.len();
        if len <= NOISE_MAX {
            return 0;
        }
        let mut made = self.hubs.made();
        let made = made.entry(model).or_default();
        let step = ((len as f64).ln() / GROWTH.ln()) as u32;
        if made.step != step {
            *made = ModelHubs {
                step,
                ..ModelHubs::default()
            };
        }
        if let Some(hubness) = made.of_slots.get(&slot) {
            return *hubness;
        }
        let audience = self.audience(slot);
        let sample = made.samples.entry(audience).or_insert_with(|| {
            let counts = |slot: &u32| {
                let other = self.counted_audience(*slot);
                other.is_some_and(|other| other == audience || other == audience.of_all())
            };
            let slots: Vec<u32> = vectors.slots().iter().filter(counts).collect();
            Sample::of(&slots)
        });
        let hubness = self.hubness_among(sample, vectors, slot);
        made.of_slots.insert(slot, hubness);
        hubness
    }

    /// Returns the hubnesses of the slots for a segment: made again, or in a large store those of the
    /// last segment for most.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`] if the segment need not be written any more.
    pub(crate) fn hubnesses_of_segment(
        &self,
        vectors: &Vectors,
        slots: &Renumbering,
        out: &mut SectionWriter,
    ) -> io::Result<Vec<u16>> {
        let mut hubnesses = vec![0; slots.len()];
        if vectors.len() <= NOISE_MAX {
            return Ok(hubnesses);
        }
        let mut of_audiences: HashMap<Audience, (Vec<u32>, Vec<usize>)> = HashMap::new();
        for (new, old) in slots
            .before
            .iter()
            .enumerate()
            .filter(|(_, old)| vectors.has(**old))
        {
            let (counted, own) = of_audiences.entry(self.audience(*old)).or_default();
            own.push(new);
            if self.counted_audience(*old).is_some() {
                counted.push(*old);
            }
        }
        let renewed = (vectors.len() as u32) % RENEWED_IN;
        for (audience, (counted, own)) in &of_audiences {
            let of_all = of_audiences.get(&audience.of_all());
            let mut among = counted.clone();
            if *audience != audience.of_all() {
                among.extend(of_all.into_iter().flat_map(|(counted, _)| counted));
                among.sort_unstable();
            }
            let sample = Sample::of(&among);
            for new in own {
                let old = slots.before[*new];
                let stays = vectors.len() > SAMPLE && old % RENEWED_IN != renewed;
                let written = vectors.written_hubness(old);
                hubnesses[*new] = match written.filter(|written| stays && *written > 0) {
                    Some(written) => written,
                    None => self.hubness_among(&sample, vectors, old),
                };
                // Ends here if writing has to.
                out.write(&[])?;
            }
        }
        Ok(hubnesses)
    }

    fn hubness_among(&self, sample: &Sample, vectors: &Vectors, slot: u32) -> u16 {
        if sample.weight == 0 {
            return 0;
        }
        let memory = |slot| self.slots.owner(slot);
        packed(
            vectors.neighbours_cosine(slot, &sample.slots, &RANKS, memory),
            sample.weight,
        )
    }

    fn audience(&self, slot: u32) -> Audience {
        Audience::of(&self.traits(self.slots.owner(slot)))
    }

    /// Returns the audience of a passage that counts as a neighbour; `None` if it does not count,
    /// because it is deleted as a note.
    fn counted_audience(&self, slot: u32) -> Option<Audience> {
        let owner = self.slots.owner(slot);
        if owner == NONE {
            return None;
        }
        let traits = self.traits(owner);
        (!traits.is_forgotten).then(|| Audience::of(&traits))
    }
}

#[cfg(test)]
mod tests;
