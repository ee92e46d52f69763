//! The contract of several handles of one store, in one or several processes.

use std::thread;

use loci_core::{
    CandidateQuery, Change, ErrorCode, FilingOrder, Filter, Forgotten, Memory, Page, Store,
};

use super::calls::{search, version_now};
use super::examples::{
    NOW, change, fact, filter, forgotten, idempotent_reply, memory, note_file, passage, put,
    put_fact, put_note_file, put_reply, put_setting, put_source_file, put_tunnel, replace,
    source_file, tally, tunnel,
};
use super::store::{MakeStore, StoreAndTokens};

pub(super) fn every_handle_sees_what_another_wrote(make: MakeStore<'_>) {
    let store = make();
    handles_of_one_store_agree(&*store, &*store);
}

/// Checks that two handles of one empty store have the same secret, and that each immediately sees
/// the writes of the other, durable or not. A store that can be opened twice calls this with both.
pub fn handles_of_one_store_agree(one: &dyn StoreAndTokens, other: &dyn StoreAndTokens) {
    assert_eq!(one.secret(), other.secret());
    for round in 0..8 {
        let (writer, reader) = if round % 2 == 0 {
            (one, other)
        } else {
            (other, one)
        };
        let write = |batch| {
            if round % 4 < 2 {
                writer.commit_rebuildable(batch)
            } else {
                writer.commit(batch)
            }
        };
        let written = Memory {
            title: Some(format!("title {round}")),
            ..memory(&round.to_string())
        };
        let file = note_file(&format!("{round}.md"), Some(written.id.as_str()));
        let answer = idempotent_reply(None, &round.to_string());
        let identity = format!("folder {round}");
        let noted = fact(&round.to_string(), ["ann", "counts", &round.to_string()]);
        let (tie, source) = (
            tunnel(&round.to_string()),
            source_file(None, &round.to_string()),
        );
        let before = version_now(reader);
        let mut batch = put(&written, vec![passage(&format!("all n{round}"))]);
        for part in [
            put_note_file(&file),
            change(Change::PutNoteFolder {
                identity: identity.clone(),
            }),
            put_reply(&answer),
            put_fact(&noted),
            put_tunnel(&tie, None),
            put_setting(None, "round", &identity),
            put_source_file(&source, None),
        ] {
            batch.changes.extend(part.changes);
        }
        write(batch.clone()).expect("the commit succeeds");
        let after = version_now(reader);
        assert!(after > before);
        assert_eq!(version_now(writer), after);
        assert_eq!(
            search(reader, &filter(), &[&format!("n{round}")]),
            [round.to_string()]
        );
        assert_eq!(
            reader.get(&written.space, &written.id),
            Ok(Some(written.clone()))
        );
        assert_eq!(
            reader.note_file_of(&written.space, &written.id),
            Ok(Some(file))
        );
        assert_eq!(
            reader
                .notes_among(&filter(), 100)
                .map(|notes| notes.len() as u64),
            Ok(round + 1)
        );
        assert_eq!(reader.note_folder(&written.space), Ok(Some(identity)));
        assert_eq!(
            reader.idempotent_reply(&written.space, None, &answer.operation, &answer.key, NOW),
            Ok(Some(answer))
        );
        let last_filed = reader.list_by_insertion(
            &filter(),
            FilingOrder::LastFirst,
            Page {
                offset: 0,
                limit: 1,
            },
        );
        assert_eq!(last_filed, Ok(vec![written.clone()]));
        assert_eq!(
            reader.count_by_location(&filter()),
            Ok(vec![tally(None, "fact", "fact", round + 1)])
        );
        assert_eq!(
            reader
                .fact_counts(&written.space, NOW)
                .map(|counts| counts.open),
            Ok(round + 1)
        );
        assert_eq!(
            reader
                .tunnels(&written.space)
                .map(|tunnels| tunnels.contains(&tie)),
            Ok(true)
        );
        assert_eq!(
            reader.setting(&written.space, None, "round"),
            Ok(Some(format!("folder {round}")))
        );
        assert_eq!(
            reader.source_file(&written.space, "", None, &source.path),
            Ok(Some(source))
        );
        let again = reader
            .commit_rebuildable(batch)
            .expect_err("its id and its key are taken");
        assert_eq!(again.code, ErrorCode::Conflict);
        write(replace(
            &Memory {
                revision: 2,
                ..forgotten(written)
            },
            None,
        ))
        .expect("the commit succeeds");
        let hiding = Filter {
            forgotten: Forgotten::Hide,
            ..filter()
        };
        let terms = ["all".to_owned()];
        let query = CandidateQuery {
            terms: &terms,
            ..CandidateQuery::of(&hiding, 9)
        };
        let nearest = reader.nearest(&hiding, &[query], 9);
        let nearest = nearest.expect("the store can be read");
        assert_eq!(nearest.memories, Vec::new());
        assert_eq!(nearest.version, version_now(writer));
        assert_eq!(search(reader, &hiding, &["all"]), Vec::<String>::new());
        assert_eq!(search(reader, &filter(), &["all"]).len() as u64, round + 1);
    }
    assert_eq!(one.secret(), other.secret());
}

pub(super) fn a_secret_is_one_stores_alone(make: MakeStore<'_>) {
    let (store, another) = (make(), make());
    let shared: &dyn Store = &*store;
    let secrets: Vec<_> = thread::scope(|scope| {
        let readers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| shared.secret().expect("the store can be read")))
            .collect();
        readers
            .into_iter()
            .map(|reader| reader.join().expect("no reader panics"))
            .collect()
    });
    assert!(
        secrets.iter().all(|secret| *secret == secrets[0]),
        "whoever is the first to ask"
    );
    store
        .commit(put(&memory("a"), vec![passage("word")]))
        .expect("the commit succeeds");
    store
        .wipe(&memory("a").space, "ann", None, None, NOW)
        .expect("the data is wiped");
    assert_eq!(store.secret(), Ok(secrets[0]), "it never changes");
    let anothers = another.secret().expect("the store can be read");
    assert_ne!(anothers, secrets[0]);
    for secret in [secrets[0], anothers] {
        let (left, right) = secret.split_at(16);
        assert!(left != right && secret != [secret[0]; 32], "it is random");
    }
}
