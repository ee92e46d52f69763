//! The contract of settings.

use loci_core::{Batch, ErrorCode, Space};

use super::examples::{NOW, ODD_TEXTS, delete, memory, put, put_setting, space};
use super::writing::{commit, found, refused};
use super::{MakeStore, StoreAndTokens};

/// Returns a setting of the default space.
fn setting(store: &dyn StoreAndTokens, owner: Option<&str>, name: &str) -> Option<String> {
    store
        .setting(&Space::default(), owner, name)
        .expect("the store can be read")
}

pub(super) fn a_setting_is_its_owners_alone(make: MakeStore<'_>) {
    let store = make();
    let owners = || {
        ODD_TEXTS
            .into_iter()
            .map(Some)
            .chain([None, Some("ann"), Some("Ann"), Some("ann ")])
    };
    let names = || ODD_TEXTS.into_iter().chain(["name", "NAME", "name "]);
    let all = || owners().flat_map(|owner| names().map(move |name| (owner, name)));
    let spaces = [Space::default(), space("other")];
    for (owner, name) in all() {
        assert_eq!(setting(&*store, owner, name), None, "{owner:?} {name:?}");
    }
    let value = |space: &Space, owner, name: &str| format!("{space} {owner:?} {name}");
    for space in &spaces {
        let put = all().map(|(owner, name)| put_setting(owner, name, &value(space, owner, name)));
        commit(
            &*store,
            Batch {
                space: space.clone(),
                changes: put.flat_map(|batch| batch.changes).collect(),
            },
        );
    }
    for space in &spaces {
        for (owner, name) in all() {
            assert_eq!(
                store.setting(space, owner, name),
                Ok(Some(value(space, owner, name)))
            );
        }
    }
    assert_eq!(store.setting(&space("empty"), None, "name"), Ok(None));
    assert_eq!(setting(&*store, Some("bob"), "name"), None);
}

pub(super) fn a_setting_is_replaced_with_its_batch_or_not_at_all(make: MakeStore<'_>) {
    let store = make();
    for owner in [None, Some("ann")] {
        for text in ODD_TEXTS.into_iter().chain(["same", "same"]) {
            commit(&*store, put_setting(owner, "name", text));
            assert_eq!(setting(&*store, owner, "name").as_deref(), Some(text));
        }
        let mut batch = put(&memory("new"), Vec::new());
        batch
            .changes
            .extend(put_setting(owner, "name", "new").changes);
        batch
            .changes
            .extend(put_setting(owner, "other", "new").changes);
        let mut refused_one = batch.clone();
        refused_one
            .changes
            .extend(delete(&memory("unknown")).changes);
        assert_eq!(refused(&*store, refused_one).code, ErrorCode::Conflict);
        assert_eq!(found(&*store, &memory("new")), None);
        assert_eq!(
            [
                setting(&*store, owner, "name"),
                setting(&*store, owner, "other")
            ],
            [Some("same".into()), None]
        );
        batch
            .changes
            .extend(put_setting(owner, "name", "newest").changes);
        batch.changes.extend(delete(&memory("new")).changes);
        commit(&*store, batch);
        assert_eq!(setting(&*store, owner, "name").as_deref(), Some("newest"));
        assert_eq!(setting(&*store, owner, "other").as_deref(), Some("new"));
    }
}

pub(super) fn a_wipe_removes_settings(make: MakeStore<'_>) {
    let store = make();
    let (main, other) = (Space::default(), space("other"));
    let owners = [None, Some("ann"), Some("Ann"), Some("bob")];
    for owner in owners {
        for batch in [
            put_setting(owner, "one", "1"),
            put_setting(owner, "two", "2"),
        ] {
            commit(
                &*store,
                Batch {
                    space: other.clone(),
                    ..batch.clone()
                },
            );
            commit(&*store, batch);
        }
    }
    let settings = |space: &Space| {
        let of = |owner| {
            ["one", "two"].map(|name| {
                store
                    .setting(space, owner, name)
                    .expect("the store can be read")
            })
        };
        owners.map(|owner| of(owner).iter().flatten().count())
    };
    for origin in ["", "engram"] {
        store
            .wipe(&main, "ann", Some(origin), None, NOW)
            .expect("the data is wiped");
        assert_eq!(
            settings(&main),
            [2; 4],
            "a wipe of one tool set leaves them"
        );
    }
    store
        .wipe(&main, "ann", None, None, NOW)
        .expect("the data is wiped");
    assert_eq!((settings(&main), settings(&other)), ([2, 0, 2, 2], [2; 4]));
    commit(&*store, put_setting(Some("ann"), "one", "again"));
    assert_eq!(settings(&main), [2, 1, 2, 2]);
}
