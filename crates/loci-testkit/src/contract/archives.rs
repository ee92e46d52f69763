//! The contract of archives while others write, and of readers that fail.

use loci_core::{Archived, Change, Error, Memory};

use super::calls::{add, archive, commit};
use super::examples::{
    NOW, cache_entry, change, decision, delete, fact, idempotent_reply, memory, note_file,
    put_fact, put_note_file, put_reply, put_setting, put_source_file, put_tunnel, source_file,
    space, tombstone, tunnel,
};
use super::store::{MakeStore, StoreAndTokens};

fn all(store: &dyn StoreAndTokens) -> Vec<Archived> {
    archive(store, NOW).expect("the store can be read")
}

/// Adds three records of each kind.
fn fill(store: &dyn StoreAndTokens) {
    for key in ["b", "a", "c"] {
        add(store, &memory(key));
        for batch in [
            change(Change::PutNoteFolder {
                identity: key.to_owned(),
            }),
            put_note_file(&note_file(key, None)),
            put_fact(&fact(key, [key, "is", "there"])),
            put_tunnel(&tunnel(key), None),
            put_setting(None, key, "value"),
            put_source_file(&source_file(None, key), None),
            put_reply(&idempotent_reply(None, key)),
            change(Change::PutTombstones(vec![tombstone(key)])),
        ] {
            commit(store, batch);
        }
        assert_eq!(store.put_cache_entry(&cache_entry("ann", key), 0), Ok(()));
        assert_eq!(store.put_decision(&decision("ann", key), 0), Ok(true));
    }
}

pub(super) fn an_archive_is_of_one_moment(make: MakeStore<'_>) {
    let store = &*make();
    fill(store);
    let before = all(store);
    let mut seen = Vec::new();
    let outcome = store.archive(NOW, &mut |archived| {
        let number = seen.len().to_string();
        seen.push(archived);
        // Concurrent writes between any two records.
        add(store, &memory(&format!("new {number}")));
        commit(store, put_setting(None, "c", &number));
        commit(
            store,
            put_fact(&fact(&format!("new {number}"), ["x", "y", &number])),
        );
        if seen.len() == 1 {
            commit(store, delete(&memory("c")));
            let space = space("another");
            let elsewhere = Memory {
                space,
                ..memory("elsewhere")
            };
            add(store, &elsewhere);
        }
        Ok(())
    });
    assert_eq!((outcome, &seen), (Ok(()), &before));
    assert_ne!(all(store), before);
}

pub(super) fn an_error_ends_an_archive(make: MakeStore<'_>) {
    let store = &*make();
    fill(store);
    let before = all(store);
    for stop in [0, 1, 9, before.len() - 1] {
        let mut seen = Vec::new();
        let outcome = store.archive(NOW, &mut |archived| {
            seen.push(archived);
            if seen.len() > stop {
                Err(Error::invalid("stop", "here"))
            } else {
                Ok(())
            }
        });
        assert_eq!(outcome, Err(Error::invalid("stop", "here")));
        assert_eq!(seen, before[..=stop]);
    }
    assert_eq!(all(store), before);
}
