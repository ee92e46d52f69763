//! The contract of tombstones, and of the search for whole texts.

use loci_core::{Batch, Change, Filter, Forgotten, Memory, Space, Tombstone};

use super::examples::{
    NOW, ODD_TEXTS, change, delete, filter, forgotten, memory, passage, put, space,
};
use super::partitions::sweep_some;
use super::writing::{commit, refused};
use super::{MakeStore, StoreAndTokens};
use crate::contract::sweep_of_expired;

/// Returns 32 bytes that start with these.
fn hash(words: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    for (byte, word) in hash.iter_mut().zip(words.bytes()) {
        *byte = word;
    }
    hash
}

/// Returns the tombstone of a memory, whose hashes start with these words.
pub(super) fn tombstone(text: &str, memory: &str) -> Tombstone {
    Tombstone {
        salt: [7; 16],
        text: hash(text),
        memory: hash(memory),
        source: Some(hash("source")),
        forgotten_at: NOW,
        is_removed: true,
    }
}

pub(super) fn put_tombstones(tombstones: &[Tombstone]) -> Batch {
    change(Change::PutTombstones(tombstones.to_vec()))
}

fn lift(texts: &[&str]) -> Change {
    let texts = texts.iter().map(|text| hash(text)).collect();
    Change::DeleteTombstones { texts }
}

fn of(store: &dyn StoreAndTokens, space: &Space, texts: &[&str]) -> Vec<Tombstone> {
    let texts: Vec<_> = texts.iter().map(|text| hash(text)).collect();
    store
        .tombstones_of(space, &texts)
        .expect("the store can be read")
}

fn all(store: &dyn StoreAndTokens, space: &Space) -> Vec<Tombstone> {
    let all = store.tombstones(space, None, usize::MAX);
    all.expect("the store can be read")
}

pub(super) fn a_tombstone_comes_back_as_it_was_put(make: MakeStore<'_>) {
    let store = make();
    let home = Space::default();
    let high = Tombstone {
        salt: [255; 16],
        text: [255; 32],
        memory: [128; 32],
        source: None,
        forgotten_at: NOW.plus_seconds(-1),
        is_removed: false,
    };
    let put = [tombstone("one", "a"), high.clone()];
    commit(&*store, put_tombstones(&put));
    assert_eq!(all(&*store, &home), put);
    assert_eq!(of(&*store, &home, &["one", "other"]), put[..1]);
    assert_eq!(of(&*store, &home, &[]), []);
    assert_eq!(all(&*store, &space("elsewhere")), []);
    // One with the same key takes its place.
    let again = Tombstone {
        is_removed: true,
        ..high
    };
    commit(&*store, put_tombstones(std::slice::from_ref(&again)));
    assert_eq!(all(&*store, &home)[1..], [again]);
}

pub(super) fn tombstones_come_in_the_order_of_their_hashes(make: MakeStore<'_>) {
    let store = make();
    let home = Space::default();
    let keys = [("b", "a"), ("a", "b"), ("c", "a"), ("a", "a")];
    let put = keys.map(|(text, memory)| tombstone(text, memory));
    commit(&*store, put_tombstones(&put));
    let [ba, ab, ca, aa] = put;
    let ordered = [aa, ab, ba, ca];
    assert_eq!(all(&*store, &home), ordered);
    assert_eq!(of(&*store, &home, &["c", "a", "a"]), {
        let [aa, ab, _, ca] = ordered.clone();
        [aa, ab, ca]
    });
    let page = |after: Option<&Tombstone>, limit| {
        let page = store.tombstones(&home, after, limit);
        page.expect("the store can be read")
    };
    assert_eq!(page(None, 3), ordered[..3]);
    assert_eq!(page(Some(&ordered[1]), 1), ordered[2..3]);
    assert_eq!(page(Some(&ordered[3]), 9), []);
    assert_eq!(page(None, 0), []);
}

pub(super) fn a_tombstone_is_put_and_lifted_with_its_batch_or_not_at_all(make: MakeStore<'_>) {
    let store = make();
    let home = Space::default();
    let gone = memory("gone");
    commit(&*store, put(&gone, vec![passage("word")]));
    let both = |revision| {
        let mut batch = delete(&Memory {
            revision,
            ..gone.clone()
        });
        let grave = vec![tombstone("one", "a")];
        batch.changes.insert(0, Change::PutTombstones(grave));
        batch
    };
    refused(&*store, both(gone.revision + 7));
    assert_eq!(all(&*store, &home), []);
    let before = store.version(&home).expect("the store can be read");
    commit(&*store, both(gone.revision));
    assert_eq!(all(&*store, &home).len(), 1);
    assert!(store.version(&home).expect("the store can be read") > before);
    let elsewhere = Batch::new(space("elsewhere"), vec![Change::PutTombstones(vec![tombstone("one", "a")])]);
    commit(&*store, elsewhere);
    let graves = [tombstone("one", "b"), tombstone("two", "a")];
    commit(&*store, put_tombstones(&graves));
    commit(&*store, change(lift(&["one", "unknown"])));
    assert_eq!(all(&*store, &home), graves[1..]);
    assert_eq!(all(&*store, &space("elsewhere")).len(), 1);
    commit(&*store, change(lift(&[])));
    commit(&*store, put_tombstones(&[]));
    assert_eq!(all(&*store, &home), graves[1..]);
}

pub(super) fn tombstones_outlive_wipes_and_sweeps(make: MakeStore<'_>) {
    let store = make();
    let home = Space::default();
    commit(&*store, put_tombstones(&[tombstone("one", "a")]));
    store
        .wipe(&home, "ann", None, None, NOW)
        .expect("the data is wiped");
    let late = NOW.plus_seconds(1 << 32);
    while sweep_some(&*store, &sweep_of_expired(late), 10).expect("the store can be written") > 0 {}
    assert_eq!(all(&*store, &home).len(), 1);
}

pub(super) fn salts_are_those_of_a_space(make: MakeStore<'_>) {
    let store = make();
    let home = Space::default();
    let salts = |space: &Space| {
        let salts = store.tombstone_salts(space);
        salts.expect("the store can be read")
    };
    assert_eq!(salts(&home), Vec::<[u8; 16]>::new());
    let salted = |salt: u8, text: &str| Tombstone {
        salt: [salt; 16],
        ..tombstone(text, "a")
    };
    let graves = [salted(9, "a"), salted(200, "b"), salted(9, "c")];
    commit(&*store, put_tombstones(&graves));
    let elsewhere = Batch::new(space("elsewhere"), vec![Change::PutTombstones(vec![salted(1, "a")])]);
    commit(&*store, elsewhere);
    assert_eq!(salts(&home), [[9; 16], [200; 16]]);
    assert_eq!(salts(&space("elsewhere")), [[1; 16]]);
    commit(&*store, change(lift(&["a"])));
    assert_eq!(salts(&home), [[9; 16], [200; 16]]);
    commit(&*store, change(lift(&["c"])));
    assert_eq!(salts(&home), [[200; 16]]);
}

pub(super) fn memories_are_found_by_their_whole_text(make: MakeStore<'_>) {
    let store = make();
    let with_text = |id: &str, text: &str| Memory {
        content: text.to_owned(),
        ..memory(id)
    };
    let text = "The lamp is in the cellar.";
    let written = [
        with_text("b", text),
        with_text("a", text),
        with_text("longer", &format!("{text} ")),
        with_text("case", &text.to_uppercase()),
        forgotten(with_text("out of sight", text)),
    ];
    for memory in &written {
        commit(&*store, put(memory, vec![passage("lamp")]));
    }
    let elsewhere = Memory {
        space: space("elsewhere"),
        ..with_text("c", text)
    };
    commit(&*store, put(&elsewhere, vec![passage("lamp")]));
    let found = |filter: &Filter, texts: &[&str]| -> Vec<String> {
        let ids = store.ids_of_texts(filter, texts);
        let ids = ids.expect("the store can be read");
        ids.iter().map(ToString::to_string).collect()
    };
    let visible = Filter {
        forgotten: Forgotten::Hide,
        ..filter()
    };
    assert_eq!(found(&visible, &[text]), ["a", "b"]);
    assert_eq!(found(&filter(), &[text]), ["a", "b", "out of sight"]);
    assert_eq!(found(&filter(), &[]), Vec::<String>::new());
    assert_eq!(
        found(&visible, &["nothing", &text.to_uppercase()]),
        ["case"]
    );
    for (number, text) in ODD_TEXTS.iter().enumerate() {
        let odd = with_text(&format!("odd {number}"), text);
        commit(&*store, put(&odd, vec![passage("odd")]));
    }
    for (number, text) in ODD_TEXTS.iter().enumerate() {
        assert_eq!(found(&filter(), &[text]), [format!("odd {number}")]);
    }
    assert_eq!(found(&filter(), &ODD_TEXTS).len(), ODD_TEXTS.len());
}
