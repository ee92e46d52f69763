//! What people should decide, and the memories that were examined for it.

use loci_core::{Examined, Filter, Memory, MemoryId, OpenItem, Reader, Space, Visibility, Work};

use super::calls::commit;
use super::examples::{NOW, delete, filter, memory, passage, put, replace, space};
use super::store::{MakeStore, StoreAndTokens};

const RULES: u32 = 7;
const KINDS: [&str; 2] = ["pair", "secret"];

fn item(of: &Memory, kind: &str, key: &str, other: Option<&str>) -> OpenItem {
    OpenItem {
        memory: of.id.clone(),
        revision: of.revision,
        kind: kind.to_owned(),
        key: key.to_owned(),
        other: other.map(MemoryId::new),
        certainty: 5,
    }
}

/// Returns the next memories to examine, and marks them as examined, with these items.
fn examine(
    store: &dyn StoreAndTokens,
    rules: u32,
    limit: usize,
    items: impl Fn(&MemoryId) -> Vec<OpenItem>,
) -> Option<Vec<String>> {
    let partition = store.partition_of(&Space::default());
    let next = store.to_examine(&partition, rules, limit);
    let next = next.expect("the store can be read");
    let partitions = store.partitions_with(Work::Examine(rules), None, 9);
    let partitions = partitions.expect("the store can be read");
    assert_eq!(partitions.contains(&partition), next.is_some());
    let next = next?;
    let examined = next.memories.iter().map(|(space, id)| Examined {
        space: space.clone(),
        memory: id.clone(),
        items: items(id),
        kinds: KINDS.map(str::to_owned).to_vec(),
        as_older: Some(Vec::new()),
    });
    let examined: Vec<Examined> = examined.collect();
    store
        .put_examined(&partition, Some(next.until), &examined)
        .expect("the store can be written");
    let mut ids: Vec<String> = next
        .memories
        .iter()
        .map(|(_, id)| id.as_str().to_owned())
        .collect();
    ids.sort();
    Some(ids)
}

/// Examines until there is nothing to do; returns the memories in the order of their ids.
fn examine_all(
    store: &dyn StoreAndTokens,
    rules: u32,
    items: impl Fn(&MemoryId) -> Vec<OpenItem>,
) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..100 {
        let Some(examined) = examine(store, rules, 2, &items) else {
            all.sort();
            all.dedup();
            return all;
        };
        all.extend(examined);
    }
    panic!("the examination does not end");
}

fn keys(store: &dyn StoreAndTokens, filter: &Filter) -> Vec<String> {
    let items = store.open_items(filter, 9).expect("the store can be read");
    items.into_iter().map(|item| item.key).collect()
}

pub(super) fn every_memory_is_examined_once_and_again_when_it_changed(make: MakeStore<'_>) {
    let store = &*make();
    let nothing = |_: &MemoryId| Vec::new();
    assert_eq!(examine_all(store, RULES, nothing), Vec::<String>::new());
    let mut first = memory("a");
    for id in ["a", "b", "c"] {
        commit(store, put(&memory(id), vec![passage("word")]));
    }
    assert_eq!(examine_all(store, RULES, nothing), ["a", "b", "c"]);
    assert_eq!(examine_all(store, RULES, nothing), Vec::<String>::new());
    first.revision += 1;
    "other".clone_into(&mut first.content);
    commit(store, replace(&first, Some(vec![passage("other")])));
    // More than are examined at once.
    for id in ["d", "f"] {
        commit(store, put(&memory(id), vec![passage("word")]));
    }
    assert_eq!(examine_all(store, RULES, nothing), ["a", "d", "f"]);
    let all = ["a", "b", "c", "d", "f"];
    assert_eq!(examine_all(store, RULES + 1, nothing), all);
    commit(store, delete(&memory("b")));
    assert_eq!(examine_all(store, RULES + 1, nothing), Vec::<String>::new());
    // Removed memories keep no later one from its examination.
    for id in ["c", "d"] {
        commit(store, delete(&memory(id)));
    }
    commit(store, put(&memory("e"), vec![passage("word")]));
    assert_eq!(examine_all(store, RULES + 1, nothing), ["e"]);
}

pub(super) fn a_removed_memory_keeps_no_older_one_from_its_examination(make: MakeStore<'_>) {
    let store = &*make();
    for id in ["a", "b", "c"] {
        commit(store, put(&memory(id), vec![passage("word")]));
    }
    let nothing = |_: &MemoryId| Vec::new();
    let last = examine(store, RULES, 1, nothing);
    assert_eq!(last, Some(vec!["c".to_owned()]));
    commit(store, delete(&memory("c")));
    assert_eq!(examine_all(store, RULES, nothing), ["a", "b"]);
}

pub(super) fn the_last_filed_memory_is_examined_first(make: MakeStore<'_>) {
    let store = &*make();
    for id in ["c", "a", "b"] {
        commit(store, put(&memory(id), vec![passage("word")]));
    }
    let mut order = Vec::new();
    while let Some(next) = examine(store, RULES, 1, |_| Vec::new()) {
        order.extend(next);
    }
    assert_eq!(order, ["b", "a", "c"]);
}

pub(super) fn items_hold_for_a_revision_and_go_with_their_memories(make: MakeStore<'_>) {
    let store = &*make();
    let [one, two, gone] = ["one", "two", "gone"].map(memory);
    for memory in [&one, &two, &gone] {
        commit(store, put(memory, vec![passage("word")]));
    }
    let items = |id: &MemoryId| match id.as_str() {
        "one" => vec![item(&one, "secret", "s1", None)],
        "two" => vec![
            item(&two, "pair", "p1", Some("one")),
            item(&two, "pair", "p2", Some("gone")),
        ],
        _ => vec![item(&gone, "secret", "s2", None)],
    };
    examine_all(store, RULES, items);
    // A pair goes when the older one is examined and does not hold it, and comes back with the newer
    // one, which is examined again.
    let partition = store.partition_of(&Space::default());
    let sorted = || {
        let mut all = keys(store, &filter());
        all.sort();
        all
    };
    assert_eq!(sorted(), ["p1", "p2", "s1", "s2"]);
    commit(store, delete(&gone));
    assert_eq!(sorted(), ["p1", "s1"]);
    let hidden = store.soft_delete(&filter(), Some(&one.id), NOW, 9);
    assert_eq!(hidden, Ok(1));
    assert_eq!(sorted(), Vec::<String>::new());
    let mut changed = two.clone();
    let kept = Examined {
        space: Space::default(),
        memory: two.id.clone(),
        items: vec![item(&two, "secret", "s3", None)],
        kinds: KINDS.map(str::to_owned).to_vec(),
        as_older: Some(Vec::new()),
    };
    store
        .put_examined(&partition, None, &[kept])
        .expect("the store can be written");
    assert_eq!(sorted(), ["s3"]);
    changed.revision += 1;
    commit(store, replace(&changed, None));
    assert_eq!(sorted(), Vec::<String>::new(), "of another revision");
}

pub(super) fn the_other_memory_of_a_lost_pair_is_examined_again(make: MakeStore<'_>) {
    let store = &*make();
    let all = ["one", "two", "three"].map(memory);
    let [one, two, three] = &all;
    for memory in &all {
        commit(store, put(memory, vec![passage("word")]));
    }
    examine_all(store, RULES, |_| Vec::new());
    let partition = store.partition_of(&Space::default());
    let put_items = |of: &Memory, items: Vec<OpenItem>, as_older: Option<Vec<String>>| {
        let examined = Examined {
            space: Space::default(),
            memory: of.id.clone(),
            items,
            kinds: KINDS.map(str::to_owned).to_vec(),
            as_older,
        };
        let put = store.put_examined(&partition, None, &[examined]);
        put.expect("the store can be written");
    };
    let pairs = || {
        vec![
            item(three, "pair", "p1", Some("one")),
            item(three, "pair", "p2", Some("two")),
            item(three, "secret", "s1", None),
        ]
    };
    let nothing = |_: &MemoryId| Vec::new();
    let examined = || {
        examine_all(store, RULES, |id| {
            if *id == three.id {
                pairs()
            } else {
                nothing(id)
            }
        })
    };
    put_items(three, pairs(), None);
    // A pair that holds stays, and nobody has to look at it again.
    put_items(one, Vec::new(), Some(vec!["p1".to_owned()]));
    assert_eq!(keys(store, &filter()).len(), 3);
    assert_eq!(examine(store, RULES, 9, nothing), None);
    put_items(one, Vec::new(), Some(Vec::new()));
    assert_eq!(keys(store, &filter()).len(), 2);
    assert_eq!(examined(), ["three"]);
    assert_eq!(keys(store, &filter()).len(), 3);
    // An item of one memory concerns no other one.
    put_items(three, pairs()[..2].to_vec(), None);
    assert_eq!(examine(store, RULES, 9, nothing), None);
    put_items(three, pairs()[1..2].to_vec(), None);
    assert_eq!(
        examine(store, RULES, 9, |_| Vec::new()),
        Some(vec!["one".to_owned()])
    );
    let hidden = store.soft_delete(&filter(), Some(&two.id), NOW, 9);
    assert_eq!(hidden, Ok(1));
    let after = examined();
    assert!(after.contains(&"three".to_owned()), "{after:?}");
    put_items(three, pairs()[..1].to_vec(), None);
    commit(store, delete(three));
    let after = examined();
    assert!(after.contains(&"one".to_owned()), "{after:?}");
    assert_eq!(keys(store, &filter()), Vec::<String>::new());
    assert_eq!(examine(store, RULES, 9, nothing), None);
}

pub(super) fn items_are_those_of_memories_that_the_reader_may_read(make: MakeStore<'_>) {
    let store = &*make();
    let private = Memory {
        owner: Some("ann".to_owned()),
        visibility: Visibility::Private,
        ..memory("private")
    };
    commit(store, put(&private, vec![passage("word")]));
    let certain = |key: &str, certainty| OpenItem {
        certainty,
        ..item(&private, "secret", key, None)
    };
    let examined = Examined {
        space: Space::default(),
        memory: private.id.clone(),
        items: vec![certain("a", 1), certain("c", 9), certain("b", 9)],
        kinds: KINDS.map(str::to_owned).to_vec(),
        as_older: Some(Vec::new()),
    };
    store
        .put_examined(&store.partition_of(&Space::default()), None, &[examined])
        .expect("the store can be written");
    let of = |reader| Filter::of(Space::default(), reader, NOW);
    assert_eq!(keys(store, &of(Reader::of(Some("ann")))), ["b", "c", "a"]);
    assert_eq!(
        keys(store, &of(Reader::of(Some("bob")))),
        Vec::<String>::new()
    );
    let first = store
        .open_items(&filter(), 1)
        .expect("the store can be read");
    assert_eq!(first.len(), 1);
    store
        .wipe(&Space::default(), "ann", None, None, NOW)
        .expect("the data is wiped");
    assert_eq!(keys(store, &filter()), Vec::<String>::new());
}

pub(super) fn items_of_another_space_stay(make: MakeStore<'_>) {
    let store = &*make();
    let here = memory("one");
    let there = Memory {
        space: space("elsewhere"),
        ..memory("one")
    };
    for memory in [&here, &there] {
        commit(store, put(memory, vec![passage("word")]));
        let examined = Examined {
            space: memory.space.clone(),
            memory: memory.id.clone(),
            items: vec![item(memory, "secret", "s1", None)],
            kinds: KINDS.map(str::to_owned).to_vec(),
            as_older: Some(Vec::new()),
        };
        store
            .put_examined(&store.partition_of(&memory.space), None, &[examined])
            .expect("the store can be written");
    }
    let elsewhere = Filter {
        space: there.space.clone(),
        ..filter()
    };
    assert_eq!(keys(store, &filter()), ["s1"]);
    commit(store, delete(&here));
    assert_eq!(keys(store, &filter()), Vec::<String>::new());
    assert_eq!(keys(store, &elsewhere), ["s1"]);
}

pub(super) fn lost_pairs_of_a_memory_ask_for_one_examination(make: MakeStore<'_>) {
    for (pairs, gone, left) in [
        (
            [("three", "one"), ("three", "two")],
            ["one", "two"],
            "three",
        ),
        ([("two", "one"), ("three", "one")], ["two", "three"], "one"),
    ] {
        let store = &*make();
        for id in ["one", "two", "three"] {
            commit(store, put(&memory(id), vec![passage("word")]));
        }
        let nothing = |_: &MemoryId| Vec::new();
        examine_all(store, RULES, nothing);
        let examined = pairs.map(|(newer, older)| {
            let newer = memory(newer);
            let key = format!("{} {older}", newer.id);
            Examined {
                space: Space::default(),
                items: vec![item(&newer, "pair", &key, Some(older))],
                memory: newer.id,
                kinds: KINDS.map(str::to_owned).to_vec(),
                as_older: None,
            }
        });
        store
            .put_examined(&store.partition_of(&Space::default()), None, &examined)
            .expect("the store can be written");
        for id in gone {
            commit(store, delete(&memory(id)));
        }
        assert_eq!(examine_all(store, RULES, nothing), [left]);
    }
}
