//! The contract of the fields for the origin and the evidence of a memory.

use std::collections::BTreeMap;
use std::slice;

use loci_core::limits::{CITATIONS_MAX, EXCERPT_BYTES_MAX};
use loci_core::{Citation, CitationKind, Filter, Memory, Tier};

use super::examples::{
    NOW, ODD_TEXTS, citation, embed, filter, memory, private, put, reader, replace, vector,
};
use super::reading::{ALL, findable};
use super::searching::search;
use super::writing::{commit, found};
use super::{MakeStore, StoreAndTokens};

/// Checks that every kind of read returns exactly this memory.
fn check_reads(store: &dyn StoreAndTokens, expected: &Memory) {
    assert_eq!(found(store, expected).as_ref(), Some(expected));
    let by_id = store.get_all(&filter(), slice::from_ref(&expected.id));
    assert_eq!(by_id.as_deref(), Ok(slice::from_ref(expected)));
    let listed = store.list(&filter(), ALL).expect("the store can be read");
    assert_eq!(
        listed.iter().find(|memory| memory.id == expected.id),
        Some(expected)
    );
}

pub(super) fn values_of_an_attribute_are_counted_under_the_filter(make: MakeStore<'_>) {
    let store = make();
    for (id, name, value) in [
        ("1", "redacted", "jwt 1"),
        ("2", "redacted", "jwt 1"),
        ("3", "redacted", "\"a\": 1"),
        ("4", "said", "\"redacted\": 1"),
    ] {
        let attributes = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        commit(
            &*store,
            put(
                &Memory {
                    attributes,
                    ..memory(id)
                },
                Vec::new(),
            ),
        );
    }
    let attributes = BTreeMap::from([("redacted".to_owned(), "jwt 1".to_owned())]);
    commit(
        &*store,
        put(
            &private(
                "ann",
                Memory {
                    attributes,
                    ..memory("hidden")
                },
            ),
            Vec::new(),
        ),
    );
    let expected = Ok(vec![("\"a\": 1".to_owned(), 1), ("jwt 1".to_owned(), 2)]);
    let seen = Filter {
        reader: reader(Some("bob")),
        ..filter()
    };
    assert_eq!(store.attribute_values(&seen, "redacted"), expected);
    assert_eq!(store.attribute_values(&seen, "nothing"), Ok(Vec::new()));
}

/// Returns a citation of each kind with each combination of absent parts, and one of each odd text.
fn citations() -> Vec<Citation> {
    let part = |is_there: bool, text: &str| is_there.then(|| text.to_owned());
    let choices = CitationKind::ALL
        .into_iter()
        .flat_map(|kind| (0..8).map(move |bits| (kind, bits)));
    let choices = choices.map(|(kind, bits)| Citation {
        locator: part(bits & 1 > 0, "L1-L9"),
        pin: part(bits & 2 > 0, "4f2a"),
        excerpt: part(bits & 4 > 0, "fn main() {}"),
        ..citation(kind, "src/main.rs")
    });
    let odd = ODD_TEXTS.map(|text| {
        let part = Some(text.to_owned());
        Citation {
            locator: part.clone(),
            pin: part.clone(),
            excerpt: part,
            ..citation(CitationKind::Url, text)
        }
    });
    choices.chain(odd).collect()
}

fn attributes() -> BTreeMap<String, String> {
    let keys = ODD_TEXTS
        .into_iter()
        .chain(["repo", "REPO", "repo ", "1", "01"]);
    keys.zip(ODD_TEXTS.into_iter().rev().cycle())
        .map(|(key, text)| (key.to_owned(), text.to_owned()))
        .collect()
}

pub(super) fn origin_actor_citations_and_attributes_come_back(make: MakeStore<'_>) {
    let store = make();
    let texts = || ODD_TEXTS.into_iter().enumerate();
    let odd = texts().map(|(number, text)| Memory {
        origin: text.to_owned(),
        actor: Some(text.to_owned()),
        ..memory(&format!("odd {number}"))
    });
    let large = Citation {
        excerpt: Some("日".repeat(EXCERPT_BYTES_MAX / 3)),
        ..citation(CitationKind::File, "large")
    };
    let one_by_one = [
        Memory {
            origin: "engram".to_owned(),
            ..private("ann", memory("origin"))
        },
        Memory {
            actor: Some("ann@example.org".to_owned()),
            ..private("ann", memory("actor"))
        },
        Memory {
            actor: Some("anonymous".to_owned()),
            ..memory("actor without an owner")
        },
        Memory {
            citations: citations(),
            tier: Tier::Unlisted,
            ..memory("citations")
        },
        Memory {
            citations: vec![large; CITATIONS_MAX],
            ..memory("large")
        },
        Memory {
            attributes: attributes(),
            ..memory("attributes")
        },
        memory("nothing"),
    ];
    let full = Memory {
        origin: "engram".to_owned(),
        actor: Some("ann@example.org".to_owned()),
        citations: citations(),
        attributes: attributes(),
        tier: Tier::Unlisted,
        ..private("ann", memory("full"))
    };
    let written: Vec<Memory> = odd.chain(one_by_one).chain([full.clone()]).collect();
    for memory in &written {
        commit(&*store, put(memory, vec![findable()]));
    }
    for memory in &written {
        check_reads(&*store, memory);
    }
    // Each memory gets the fields of the full one, then loses them; the passages stay.
    for memory in written {
        let citations = full.citations.iter().rev().cloned().collect();
        let filled = Memory {
            revision: 2,
            id: memory.id,
            content: memory.content,
            citations,
            ..full.clone()
        };
        commit(&*store, replace(&filled, None));
        check_reads(&*store, &filled);
        commit(&*store, embed(&filled, vec![vector("test", &[127])]));
        check_reads(&*store, &filled);
        let emptied = Memory::new(filled.space, filled.id, filled.content, filled.kind, NOW);
        let emptied = Memory {
            revision: 3,
            ..emptied
        };
        commit(&*store, replace(&emptied, None));
        check_reads(&*store, &emptied);
    }
    let again = Memory {
        revision: 4,
        ..full
    };
    commit(&*store, replace(&again, Some(vec![findable()])));
    check_reads(&*store, &again);
}

pub(super) fn a_title_comes_back_as_it_was_written(make: MakeStore<'_>) {
    let store = make();
    let large = "日\n".repeat(1 << 16);
    for (number, title) in ODD_TEXTS.into_iter().chain(["../con", &large]).enumerate() {
        let titled = Memory {
            title: Some(title.to_owned()),
            ..memory(&number.to_string())
        };
        commit(&*store, put(&titled, vec![findable()]));
        check_reads(&*store, &titled);
        let untitled = Memory {
            title: None,
            revision: 2,
            ..titled.clone()
        };
        commit(&*store, replace(&untitled, None));
        check_reads(&*store, &untitled);
        let again = Memory {
            revision: 3,
            ..titled
        };
        commit(&*store, replace(&again, None));
        check_reads(&*store, &again);
    }
    let titled = Memory {
        title: Some("words of a title".to_owned()),
        ..memory("titled")
    };
    commit(&*store, put(&titled, vec![findable()]));
    assert_eq!(
        search(&*store, &filter(), &["words"]),
        Vec::<String>::new(),
        "passages alone are searched"
    );
}
