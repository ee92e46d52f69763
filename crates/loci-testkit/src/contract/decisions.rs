//! The contract of decisions.

use loci_core::{Decision, Timestamp};

use super::examples::{NOW, decision, memory, space};
use super::{MakeStore, StoreAndTokens};

fn decided(store: &dyn StoreAndTokens, key: &str, now: Timestamp) -> Option<Decision> {
    store
        .decision(&memory("a").space, "ann", key, now)
        .expect("the store can be read")
}

pub(super) fn a_decision_is_replaced_under_its_key(make: MakeStore<'_>) {
    let store = make();
    assert_eq!(decided(&*store, "key", NOW), None);
    let first = Decision {
        value: "naïve\u{1}日本".to_owned(),
        expires_at: Some(NOW.plus_seconds(9)),
        ..decision("ann", "key")
    };
    assert_eq!(store.put_decision(&first, 0), Ok(true));
    assert_eq!(
        store.put_decision(&decision("ann", "Key"), 0),
        Ok(true),
        "keys are compared byte for byte"
    );
    assert_eq!(decided(&*store, "key", NOW), Some(first));
    let later = NOW.plus_seconds(5);
    let second = Decision {
        value: "second".to_owned(),
        created_at: later,
        updated_at: later,
        ..decision("ann", "key")
    };
    assert_eq!(store.put_decision(&second, 0), Ok(false));
    let expected = Decision {
        created_at: NOW,
        ..second
    };
    assert_eq!(
        decided(&*store, "key", NOW.plus_seconds(99)),
        Some(expected),
        "it need not expire any more"
    );
    assert_eq!(decided(&*store, "Key", NOW), Some(decision("ann", "Key")));
}

pub(super) fn an_expired_decision_counts_as_absent(make: MakeStore<'_>) {
    let store = make();
    let end = NOW.plus_seconds(5);
    let first = Decision {
        expires_at: Some(end),
        ..decision("ann", "key")
    };
    assert_eq!(store.put_decision(&first, 0), Ok(true));
    assert_eq!(decided(&*store, "key", NOW.plus_seconds(4)), Some(first));
    assert_eq!(decided(&*store, "key", end), None);
    let second = Decision {
        created_at: end,
        updated_at: end,
        ..decision("ann", "key")
    };
    assert_eq!(store.put_decision(&second, 0), Ok(true), "it is made anew");
    assert_eq!(decided(&*store, "key", end), Some(second));
}

pub(super) fn a_decision_is_its_owners_alone(make: MakeStore<'_>) {
    let store = make();
    let bobs = Decision {
        value: "bob's".to_owned(),
        ..decision("bob", "key")
    };
    let elsewhere = Decision {
        space: space("other"),
        value: "elsewhere".to_owned(),
        ..decision("ann", "key")
    };
    for foreign in [&bobs, &elsewhere] {
        assert_eq!(store.put_decision(foreign, 0), Ok(true));
    }
    assert_eq!(decided(&*store, "key", NOW), None);
    assert_eq!(store.put_decision(&decision("ann", "key"), 0), Ok(true));
    assert_eq!(decided(&*store, "key", NOW), Some(decision("ann", "key")));
    assert_eq!(
        store.decision(&bobs.space, "bob", "key", NOW),
        Ok(Some(bobs))
    );
    assert_eq!(
        store.decision(&elsewhere.space, "ann", "key", NOW),
        Ok(Some(elsewhere))
    );
}
