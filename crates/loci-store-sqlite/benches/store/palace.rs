//! The cost of a palace of many drawers: its counts, its pages, one more drawer, and the disk.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use loci_core::{
    Batch, CollectionFilter, FilingOrder, Filter, Forgotten, Location, Memory, Page, Passage,
    Space, Store, Term, Thread, Tier, Visibility,
};
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::contract::{filter, memory, put, reader};
use loci_testkit::{Random, quantise};
use loci_text::{dates, document, passages::passages};

use super::{COMMITS, cpu_ticks, milliseconds, percentile, report, timed, unit_vector};

const WINGS: usize = 8;
const ROOMS: usize = 8;
/// Rooms that were filled before the one that all else is in.
const ROOMS_BEFORE: usize = 50;
const KINDS: [&str; 5] = ["drawer", "decision", "fact", "event", "advice"];
const DRAWER_BYTES: usize = 600;
/// Drawers of one mined file.
const DRAWERS_OF_FILE: usize = 5;
const PAGE: usize = 20;
const OFFSETS: [usize; 4] = [0, 1_000, 25_000, 49_900];
const READS: usize = 50;

pub(super) fn measure(folder: &Path, drawers: usize, random: &mut Random) {
    let open = |name: &str| SqliteStore::open(&folder.join(name), Options::default()).unwrap();
    fill(&open("spread"), drawers, random, |random| {
        (random.below(WINGS), random.below(ROOMS))
    });
    // Without what lay in the write-ahead log.
    let spread = open("spread");
    let size = spread.size().unwrap();
    report(
        &format!("{drawers} drawers with vectors: MB on disk"),
        size.disk_bytes / 1_000_000,
    );
    report("  passages", size.passages);
    report(
        "  places",
        spread
            .count_by_location(&shown(CollectionFilter::Any, None))
            .unwrap()
            .len(),
    );
    counts(&spread);
    pages(
        &spread,
        &[("the palace", shown(CollectionFilter::Any, None))],
    );
    drawer_by_drawer(&spread, folder, drawers, random);
    drop(spread);

    let one_room = open("one-room");
    fill(
        &one_room,
        ROOMS_BEFORE * DRAWERS_OF_FILE,
        random,
        |random| (random.below(2), 1 + random.below(ROOMS_BEFORE)),
    );
    fill(&one_room, drawers, random, |_| (0, 0));
    let wing = || CollectionFilter::Only(wing(0));
    pages(
        &one_room,
        &[
            ("a wing of all", shown(wing(), None)),
            ("a room of all", shown(wing(), Some(room(0)))),
        ],
    );
    newest_of_rooms(&one_room);
}

/// Returns the filter for these locations, as a caller sees them.
fn shown(collections: CollectionFilter, section: Option<String>) -> Filter {
    Filter {
        reader: reader(Some("ann")),
        tiers: vec![Tier::LongTerm, Tier::Unlisted],
        unlisted_origin: Some("mempalace".to_owned()),
        collections,
        sections: section.into_iter().collect(),
        forgotten: Forgotten::Hide,
        ..filter()
    }
}

fn counts(store: &SqliteStore) {
    for (what, filter) in [
        ("all places", shown(CollectionFilter::Any, None)),
        (
            "the places of a wing",
            shown(CollectionFilter::Only(wing(1)), None),
        ),
    ] {
        let times = timed(READS, || drop(store.count_by_location(&filter).unwrap()));
        report(
            &format!("counts of {what}, p50 / p95 ms"),
            quantiles(&times),
        );
        let times = timed(READS, || {
            store.count(&filter).unwrap();
        });
        report("  their sum alone, p50 / p95 ms", quantiles(&times));
        let times = timed(READS, || drop(store.collections(&filter).unwrap()));
        report("  their collections alone, p50 / p95 ms", quantiles(&times));
        let times = timed(READS / 10, || drop(store.count_uncached(&filter).unwrap()));
        report(
            "  by a look at every memory, p50 / p95 ms",
            quantiles(&times),
        );
    }
}

/// Reads the newest drawers of rooms that stand in two wings, which were filed before all others.
fn newest_of_rooms(store: &SqliteStore) {
    let wings = [0, 1].map(|number| CollectionFilter::Only(wing(number)));
    for (how, wings) in [
        ("wing by wing", &wings[..]),
        ("over all wings", &[CollectionFilter::Any][..]),
    ] {
        let times = timed(READS, || {
            for room_number in 1..=ROOMS_BEFORE {
                for wing in wings {
                    let filter = shown(wing.clone(), Some(room(room_number)));
                    store
                        .list_by_insertion(
                            &filter,
                            FilingOrder::LastFirst,
                            Page {
                                offset: 0,
                                limit: 1,
                            },
                        )
                        .unwrap();
                }
            }
        });
        report(
            &format!("newest of {ROOMS_BEFORE} rooms, {how}, p50 / p95 ms"),
            quantiles(&times),
        );
    }
}

fn pages(store: &SqliteStore, filters: &[(&str, Filter)]) {
    for (what, filter) in filters {
        for offset in OFFSETS {
            for order in [FilingOrder::FirstFirst, FilingOrder::LastFirst] {
                let page = Page {
                    offset,
                    limit: PAGE,
                };
                let times = timed(READS, || {
                    drop(store.list_by_insertion(filter, order, page).unwrap());
                });
                report(
                    &format!("{PAGE} of {what} from {offset}, {order:?}, p50 / p95 ms"),
                    quantiles(&times),
                );
            }
        }
    }
}

/// One drawer in each commit, without a vector. The device is asked between them, because it shares
/// its time with others.
fn drawer_by_drawer(store: &SqliteStore, folder: &Path, drawers: usize, random: &mut Random) {
    let mut file = File::create(folder.join("append")).unwrap();
    let record = vec![b'x'; 1_024];
    let (mut device, mut commits, mut cpu) = (Vec::new(), Vec::new(), 0);
    for number in drawers..drawers + COMMITS {
        let (memory, passages) = drawer(number, (random.below(WINGS), random.below(ROOMS)), random);
        let passages = passages.into_iter().map(|passage| Passage {
            vector: None,
            ..passage
        });
        let mut batch = Some(put(&memory, passages.collect()));
        device.extend(timed(1, || {
            file.write_all(&record).unwrap();
            file.sync_data().unwrap();
        }));
        let before = cpu_ticks();
        commits.extend(timed(1, || store.commit(batch.take().unwrap()).unwrap()));
        cpu += cpu_ticks() - before;
    }
    device.sort();
    commits.sort();
    report(
        "device: append and fdatasync, p50 / p95 ms",
        quantiles(&device),
    );
    report(
        "a drawer without its vector, p50 / p95 ms",
        quantiles(&commits),
    );
    let extra = percentile(&commits, 50) - percentile(&device, 50);
    report("  p50 beyond the device's, ms", format!("{extra:.3}"));
    report(
        "  processor time, mean ms",
        format!("{:.3}", cpu as f64 * 10.0 / COMMITS as f64),
    );
}

fn quantiles(times: &[Duration]) -> String {
    format!(
        "{:.3} / {:.3}",
        percentile(times, 50),
        percentile(times, 95)
    )
}

fn fill(
    store: &SqliteStore,
    drawers: usize,
    random: &mut Random,
    place: impl Fn(&mut Random) -> (usize, usize),
) {
    let start = Instant::now();
    for first in (0..drawers).step_by(100) {
        let mut changes = Vec::new();
        for number in first..(first + 100).min(drawers) {
            let place = place(random);
            let (memory, passages) = drawer(number, place, random);
            changes.extend(put(&memory, passages).changes);
        }
        store.commit(Batch::new(Space::default(), changes)).unwrap();
    }
    report(
        &format!("{drawers} drawers with vectors: ms"),
        milliseconds(start.elapsed()),
    );
}

fn wing(number: usize) -> String {
    format!("wing_project_{number}")
}

fn room(number: usize) -> String {
    format!("subject-{number}")
}

/// A drawer as mining files it, embedded.
fn drawer(
    number: usize,
    (wing_number, room_number): (usize, usize),
    random: &mut Random,
) -> (Memory, Vec<Passage>) {
    let mut content = String::new();
    while content.len() < DRAWER_BYTES {
        content.push_str(&word(random));
        content.push(if random.chance(8) { '\n' } else { ' ' });
    }
    let (wing, room) = (wing(wing_number), room(room_number));
    let (file, position) = (number / DRAWERS_OF_FILE, number % DRAWERS_OF_FILE);
    let path = format!(
        "/srv/projects/team/{wing}/src/module_{}/file_{file}.rs",
        file % 50
    );
    let attributes = [
        ("added_by", "mempalace".to_owned()),
        (
            "lines",
            format!("{}-{}", position * 20 + 1, position * 20 + 20),
        ),
        ("source_file", path.clone()),
    ];
    let memory = Memory {
        location: Location {
            collection: Some(wing.clone()),
            section: room.clone(),
        },
        kind: random.pick(&KINDS).to_owned(),
        origin: "mempalace".to_owned(),
        owner: Some("local".to_owned()),
        visibility: Visibility::Common,
        thread: Some(Thread {
            name: path,
            position: position as u64,
        }),
        attributes: attributes
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        updated_at: filter().live_at.plus_seconds(number as i64),
        ..memory(&format!(
            "drawer_{wing}_{room}_{:016x}{number:08x}",
            random.bits()
        ))
    };
    let passages = passages(&content).into_iter().map(|range| {
        let terms =
            document::terms(&content, range.clone(), &memory.metadata(), dates::day(0)).into_iter();
        let terms = terms.map(|(text, count)| Term { text, count }).collect();
        let vector = quantise(&loci_core::ModelId::new("speed"), &unit_vector(random));
        Passage {
            range,
            terms,
            vector: Some(vector),
        }
    });
    let passages = passages.collect();
    (Memory { content, ..memory }, passages)
}

/// A word of a vocabulary in which the common ones are short.
fn word(random: &mut Random) -> String {
    let uniform = f64::from(random.signed_unit().abs());
    let rank = (uniform.powi(3) * 20_000.0) as u64;
    let length = 2 + (64 - rank.leading_zeros()) as usize / 2;
    let mut letters = Random::new(rank);
    (0..length)
        .map(|_| char::from(b'a' + letters.below(26) as u8))
        .collect()
}
