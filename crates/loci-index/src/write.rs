//! Writing an index as a segment, and opening one.

use std::io;

use loci_core::ModelId;

use super::base::{Base, write_traits};
use super::interner::{BaseNames, Interner, Name};
use super::slots::{BaseSlots, Slots};
use super::texts::{Model, Texts};
use super::threads::{BaseThreads, ThreadKey, ThreadMember, Threads};
use super::{END_OF_TIME, Index, NONE, Traits};
use crate::structures::segment::{
    Bytes, Check, Renumbering, SectionWriter, Sections, Tag, u32_at, u64_at,
};
use crate::structures::{Bits, Postings, Vectors};

const NAMES: Tag = Tag { kind: 32, part: 0 };
const NAME_ENDS: Tag = Tag { kind: 33, part: 0 };
const TRAITS: Tag = Tag { kind: 34, part: 0 };
const RECORDS: Tag = Tag { kind: 35, part: 0 };
const HEAP: Tag = Tag { kind: 36, part: 0 };
const ROWS: Tag = Tag { kind: 37, part: 0 };
const SUCCESSORS: Tag = Tag { kind: 38, part: 0 };
const EXPIRIES: Tag = Tag { kind: 39, part: 0 };
const OWNERS: Tag = Tag { kind: 40, part: 0 };
const NEXT: Tag = Tag { kind: 41, part: 0 };
const THREADS: Tag = Tag { kind: 42, part: 0 };
const MEMBERS: Tag = Tag { kind: 43, part: 0 };
/// For each model: row, components, length of the longest vector, length of the id, the id.
const MODELS: Tag = Tag { kind: 44, part: 0 };

/// The form of an index in a segment: memories in the order of their rows, names in the order of
/// their texts, threads in the order of their keys, slots in their order. What is gone is left out.
struct Plan {
    /// Rows and old numbers, by new number.
    memories: Vec<(i64, u32)>,
    /// New numbers by old number.
    numbers: Vec<u32>,
    slots: Renumbering,
    /// The texts, by new number.
    names: Vec<String>,
    /// New names by old index.
    new_names: Vec<Option<Name>>,
    /// Threads by new number: key, in new names, and the old number.
    threads: Vec<(ThreadKey, u32)>,
    /// New numbers by old number.
    new_threads: Vec<u32>,
}

impl Plan {
    fn of(index: &Index) -> Self {
        let mut memories: Vec<(i64, u32)> = (0..index.base.len() as u32)
            .filter(|number| !index.gone.contains(*number))
            .map(|number| (index.base.row(number), number))
            .chain(index.rows.all())
            .collect();
        memories.sort_unstable();
        let mut numbers = vec![NONE; index.numbers() as usize];
        let mut slots = Bits::default();
        let mut used = Bits::default();
        for (new, (_, old)) in (0..).zip(&memories) {
            numbers[*old as usize] = new;
            index.slots_of(*old).for_each(|slot| {
                slots.insert(slot);
            });
            index.names_of(*old, |name| {
                used.insert(Name::number(Some(name)));
            });
        }
        let threads = index.threads.all();
        for (key, _) in &threads {
            key.numbers()
                .into_iter()
                .filter(|number| *number > 0)
                .for_each(|number| {
                    used.insert(number);
                });
        }
        let text = |number| {
            Some((
                index.names.text(Name::of_number(number)?)?.to_string(),
                number,
            ))
        };
        let mut texts: Vec<(String, u32)> = used.iter().filter_map(text).collect();
        texts.sort_unstable();
        let mut new_names = vec![None; index.names.len() + 1];
        for (new, (_, old)) in (1..).zip(&texts) {
            new_names[*old as usize] = Name::of_number(new);
        }
        let new_name = |name: Name| new_names[Name::number(Some(name)) as usize].unwrap_or(name);
        let renamed = |(key, number): &(ThreadKey, u32)| {
            let ThreadKey { space, owner, name } = *key;
            (
                ThreadKey {
                    space: new_name(space),
                    owner: owner.map(new_name),
                    name: new_name(name),
                },
                *number,
            )
        };
        let mut renamed: Vec<(ThreadKey, u32)> = threads.iter().map(renamed).collect();
        renamed.sort_unstable_by_key(|(key, _)| key.numbers());
        let last = renamed
            .iter()
            .map(|(_, number)| *number as usize + 1)
            .max()
            .unwrap_or_default();
        let mut new_threads = vec![NONE; last];
        for (new, (_, old)) in (0..).zip(&renamed) {
            new_threads[*old as usize] = new;
        }
        let names = texts.into_iter().map(|(text, _)| text).collect();
        let slots = Renumbering::of(slots.iter().collect());
        Plan {
            memories,
            numbers,
            slots,
            names,
            new_names,
            threads: renamed,
            new_threads,
        }
    }

    fn number(&self, old: u32) -> u32 {
        self.numbers.get(old as usize).copied().unwrap_or(NONE)
    }

    fn name(&self, old: Name) -> Name {
        self.new_names[Name::number(Some(old)) as usize].unwrap_or(old)
    }

    fn traits(&self, index: &Index, old: u32) -> Traits {
        let traits = index.traits(old);
        Traits {
            space: self.name(traits.space),
            origin: self.name(traits.origin),
            program: traits.program.map(|program| self.name(program)),
            owner: traits.owner.map(|owner| self.name(owner)),
            collection: traits.collection.map(|collection| self.name(collection)),
            section: self.name(traits.section),
            kind: self.name(traits.kind),
            replaces: self.number(traits.replaces),
            ..traits
        }
    }

    fn write_names(&self, out: &mut SectionWriter) -> io::Result<()> {
        out.begin(NAMES, Check::AtOpen)?;
        self.names
            .iter()
            .try_for_each(|name| out.write(name.as_bytes()))?;
        out.begin(NAME_ENDS, Check::AtOpen)?;
        let mut end = 0_u32;
        self.names.iter().try_for_each(|name| {
            end += name.len() as u32;
            out.write(&end.to_ne_bytes())
        })
    }
}

impl Index {
    /// Calls `note` with each name that the memory bears; that of its thread is not among them.
    fn names_of(&self, number: u32, mut note: impl FnMut(Name)) {
        let Traits {
            space,
            origin,
            program,
            owner,
            collection,
            section,
            kind,
            ..
        } = self.traits(number);
        [
            Some(space),
            Some(origin),
            program,
            owner,
            collection,
            Some(section),
            Some(kind),
        ]
        .into_iter()
        .flatten()
        .for_each(&mut note);
        self.record(number)
            .map(|record| record.tags())
            .unwrap_or_default()
            .into_iter()
            .for_each(note);
    }

    /// Writes all that is in the index.
    ///
    /// # Errors
    /// The segment cannot be written.
    pub fn write(&self, out: &mut SectionWriter) -> io::Result<()> {
        let plan = Plan::of(self);
        plan.write_names(out)?;
        self.write_memories(&plan, out)?;
        self.write_orders(&plan, out)?;
        self.write_slots(&plan, out)?;
        self.write_threads(&plan, out)?;
        self.write_models(&plan, out)?;
        self.texts.postings.write(&plan.slots, out)
    }

    fn write_memories(&self, plan: &Plan, out: &mut SectionWriter) -> io::Result<()> {
        let mut bytes = Vec::new();
        out.begin(TRAITS, Check::AtOpen)?;
        for (_, old) in &plan.memories {
            bytes.clear();
            write_traits(&plan.traits(self, *old), &mut bytes);
            out.write(&bytes)?;
        }
        let mut fixed = Vec::with_capacity(plan.memories.len() * super::base::RECORD_BYTES);
        out.begin(HEAP, Check::AtOpen)?;
        for (_, old) in &plan.memories {
            let Some(record) = self.record(*old) else {
                continue;
            };
            fixed.extend(out.section_length().to_ne_bytes());
            let texts = [Some(record.id()), record.supersedes(), record.source()];
            for text in texts.map(|id| id.map(|id| id.to_text())) {
                fixed.extend(
                    text.as_ref()
                        .map_or(NONE, |text| text.len() as u32)
                        .to_ne_bytes(),
                );
                out.write(text.unwrap_or_default().as_bytes())?;
            }
            let tags = record.tags();
            fixed.extend((tags.len() as u32 * 4).to_ne_bytes());
            for tag in tags {
                out.write(&Name::number(Some(plan.name(tag))).to_ne_bytes())?;
            }
            let first = self
                .slots
                .of(record.fixed.passages)
                .next()
                .and_then(|slot| plan.slots.after(slot));
            let thread = plan
                .new_threads
                .get(record.fixed.thread as usize)
                .copied()
                .unwrap_or(NONE);
            fixed.extend(
                [first.unwrap_or(NONE), thread]
                    .into_iter()
                    .flat_map(u32::to_ne_bytes),
            );
            let super::base::RecordFields {
                position,
                weight,
                created_at,
                updated_at,
                ..
            } = record.fixed;
            let moments =
                [created_at, updated_at].map(|moment| moment.microseconds().cast_unsigned());
            fixed.extend(
                [position, weight.to_bits()]
                    .into_iter()
                    .chain(moments)
                    .flat_map(u64::to_ne_bytes),
            );
        }
        out.begin(RECORDS, Check::AtOpen)?;
        out.write(&fixed)?;
        out.begin(ROWS, Check::AtOpen)?;
        plan.memories
            .iter()
            .try_for_each(|(row, _)| out.write(&row.to_ne_bytes()))
    }

    /// Writes the order of the memories that replace others, and of the memories that expire.
    fn write_orders(&self, plan: &Plan, out: &mut SectionWriter) -> io::Result<()> {
        let replacing = |(new, (_, old)): (u32, &(i64, u32))| {
            let supersedes = self.record(*old)?.supersedes()?;
            Some((
                Name::number(Some(plan.name(self.traits(*old).space))),
                supersedes,
                new,
            ))
        };
        let mut successors: Vec<_> = (0..).zip(&plan.memories).filter_map(replacing).collect();
        successors.sort_unstable();
        out.begin(SUCCESSORS, Check::AtOpen)?;
        successors
            .iter()
            .try_for_each(|(_, _, number)| out.write(&number.to_ne_bytes()))?;
        let expiring = (0_u32..)
            .zip(&plan.memories)
            .map(|(new, (_, old))| (self.traits(*old).expires_at, new));
        let mut expiring: Vec<_> = expiring
            .filter(|(expires_at, _)| *expires_at != END_OF_TIME)
            .collect();
        expiring.sort_unstable();
        out.begin(EXPIRIES, Check::AtOpen)?;
        expiring
            .iter()
            .try_for_each(|(_, number)| out.write(&number.to_ne_bytes()))
    }

    fn write_slots(&self, plan: &Plan, out: &mut SectionWriter) -> io::Result<()> {
        let (mut owners, mut next) = (vec![NONE; plan.slots.len()], vec![NONE; plan.slots.len()]);
        for (new, (_, old)) in (0..).zip(&plan.memories) {
            let mut before: Option<u32> = None;
            for slot in self
                .slots_of(*old)
                .filter_map(|slot| plan.slots.after(slot))
            {
                owners[slot as usize] = new;
                if let Some(before) = before.replace(slot) {
                    next[before as usize] = slot;
                }
            }
        }
        out.begin(OWNERS, Check::AtOpen)?;
        owners
            .iter()
            .try_for_each(|owner| out.write(&owner.to_ne_bytes()))?;
        out.begin(NEXT, Check::AtOpen)?;
        next.iter()
            .try_for_each(|next| out.write(&next.to_ne_bytes()))
    }

    fn write_threads(&self, plan: &Plan, out: &mut SectionWriter) -> io::Result<()> {
        out.begin(MEMBERS, Check::AtOpen)?;
        let mut ends = Vec::with_capacity(plan.threads.len());
        let mut end = 0_u32;
        for (_, old) in &plan.threads {
            let members = self.threads.members(*old);
            let moved = |member: &ThreadMember| ThreadMember {
                number: plan.number(member.number),
                ..*member
            };
            // Of equal positions, in the order of the numbers.
            let mut members: Vec<ThreadMember> = members.iter().map(moved).collect();
            members.sort_unstable();
            for ThreadMember { position, number } in members {
                out.write(&position.to_ne_bytes())?;
                out.write(&u64::from(number).to_ne_bytes())?;
                end += 1;
            }
            ends.push(end);
        }
        out.begin(THREADS, Check::AtOpen)?;
        plan.threads
            .iter()
            .zip(ends)
            .try_for_each(|((key, _), end)| {
                let numbers = key.numbers().into_iter().chain([end]);
                numbers
                    .into_iter()
                    .try_for_each(|number| out.write(&number.to_ne_bytes()))
            })
    }

    fn write_models(&self, plan: &Plan, out: &mut SectionWriter) -> io::Result<()> {
        let mut models = Vec::new();
        for (part, model) in (0..).zip(&self.texts.models) {
            let (id, vectors) = (model.id.as_str(), &model.vectors);
            models.extend(model.row.to_ne_bytes());
            let fields = [
                vectors.dimensions() as u32,
                vectors.norm_max().to_bits(),
                id.len() as u32,
                0,
            ];
            models.extend(fields.into_iter().flat_map(u32::to_ne_bytes));
            models.extend_from_slice(id.as_bytes());
            models.resize(models.len().next_multiple_of(8), 0);
            let hubnesses = self.hubnesses_of_segment(vectors, &plan.slots, out)?;
            vectors.write(&plan.slots, &hubnesses, part, out)?;
        }
        out.begin(MODELS, Check::AtOpen)?;
        out.write(&models)
    }

    /// The index in a segment. None, if what is there does not fit together.
    pub fn open(sections: Sections) -> Option<Self> {
        let section = |tag| sections.section(tag);
        let base = Base {
            traits: section(TRAITS),
            records: section(RECORDS),
            heap: section(HEAP),
            rows: section(ROWS),
            successors: section(SUCCESSORS),
            expiries: section(EXPIRIES),
        };
        let slots = BaseSlots {
            owners: section(OWNERS),
            next: section(NEXT),
        };
        let count = slots.owners.numbers().len();
        let models = open_models(&section(MODELS), &sections, count)?;
        Some(Index {
            base,
            names: Interner::open(BaseNames {
                texts: section(NAMES),
                ends: section(NAME_ENDS),
            }),
            threads: Threads::open(BaseThreads {
                threads: section(THREADS),
                members: section(MEMBERS),
            }),
            slots: Slots::open(slots),
            texts: Texts {
                postings: Postings::open(&sections),
                models,
                sections: Some(sections),
            },
            ..Index::default()
        })
    }
}

fn open_models(bytes: &Bytes, sections: &Sections, slots: usize) -> Option<Vec<Model>> {
    let mut models = Vec::new();
    let mut rest = &bytes[..];
    for part in 0.. {
        if rest.is_empty() {
            break;
        }
        let row = u64_at(rest, 0).cast_signed();
        let [dimensions, norm_max, length] = [2, 3, 4].map(|index| u32_at(rest, index));
        let end = 24 + length as usize;
        let id = ModelId::new(str::from_utf8(rest.get(24..end)?).ok()?);
        let vectors = Vectors::open(
            sections,
            part,
            (dimensions as usize, f32::from_bits(norm_max)),
            slots,
        )?;
        let vectors = if vectors.is_empty() {
            Vectors::default()
        } else {
            vectors
        };
        models.push(Model { row, id, vectors });
        rest = rest.get(end.next_multiple_of(8)..)?;
    }
    Some(models)
}
