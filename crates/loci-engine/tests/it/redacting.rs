//! Tests of removing secrets from the texts of callers and from stored records.

use std::borrow::Cow;
use std::collections::BTreeMap;

use loci_core::{
    ArchiveStore, Citation, CitationKind, RedactedText, Redactions, Redactor, RemovedSecret, Store,
    TunnelEnd,
};
use loci_engine::{
    Answer, Import, ImportOutcome, KeyedRequest, NewFact, RedactionScope, Refile, SecretHolder,
};

use super::*;

/// The secret that [`Finder`] finds.
pub const SECRET: &str = "s3cret";

/// Finds one secret.
pub struct Finder;

impl Redactor for Finder {
    fn redact<'a>(&self, text: &'a str) -> RedactedText<'a> {
        const MARK: &str = "[redacted: word]";
        let count = text.matches(SECRET).count();
        if count == 0 {
            return RedactedText::unchanged(text);
        }
        let redacted = text.replace(SECRET, MARK);
        let ends = redacted
            .match_indices(MARK)
            .map(|(begin, _)| begin + MARK.len());
        let removed = ends
            .map(|at| RemovedSecret {
                at,
                kind: "word",
                lines: 0,
            })
            .collect();
        RedactedText {
            text: Cow::Owned(redacted),
            removed,
        }
    }
}

/// Returns a bench whose engine removes the secret in this scope.
pub fn bench_of(scope: RedactionScope) -> Bench {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    Bench {
        engine: engine.with_redactor(Arc::new(Finder), scope),
        store,
        clock,
    }
}

/// A writer finds the secrets of what it read, and removes the ones that it may.
#[test]
fn a_writer_removes_the_secrets_of_one_memory() {
    let Bench { engine, store, .. } = bench_of(RedactionScope::Mined);
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let request = Remember {
        visibility: Visibility::Shared,
        tags: vec![format!("tag {SECRET}")],
        ..Remember::new(format!("The word is {SECRET}."), "fact")
    };
    let held = engine
        .system(&ann)
        .memories()
        .remember(request)
        .unwrap()
        .memory;
    let clean = engine
        .system(&ann)
        .memories()
        .remember(Remember::new("No word.", "fact"))
        .unwrap()
        .memory;
    let found = engine
        .system(&ann)
        .secrets()
        .secrets_among(&[held.clone(), clean.clone()])
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (
            &found[0].memory,
            found[0].redactions.total(),
            found[0].is_note
        ),
        (&held.id, 2, false)
    );
    assert_eq!(
        engine
            .system(&bob)
            .secrets()
            .redact(&held.id)
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    assert_eq!(
        engine
            .system(&bob)
            .secrets()
            .redact(&clean.id)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    assert_eq!(engine.system(&ann).secrets().redact(&held.id), Ok(true));
    assert!(!stored(&store).contains(SECRET));
    assert_eq!(engine.system(&ann).secrets().redact(&held.id), Ok(false));
}

/// Returns all data of the store as one text.
fn stored(store: &NaiveStore) -> String {
    let mut text = String::new();
    store
        .archive(Timestamp::MIN, &mut |archived| {
            text += &format!("{archived:?}\n");
            Ok(())
        })
        .unwrap();
    text
}

fn remember(content: &str) -> Remember {
    let said = Some(format!("said {SECRET}"));
    let citation = Citation {
        kind: CitationKind::File,
        reference: format!("ref {SECRET}"),
        locator: said.clone(),
        pin: said.clone(),
        excerpt: said.clone(),
    };
    Remember {
        summary: said,
        tags: vec![format!("tag {SECRET}")],
        citations: vec![citation],
        attributes: BTreeMap::from([("source".to_owned(), format!("in {SECRET}"))]),
        collection: Some("plan".to_owned()),
        ..Remember::new(content, "fact")
    }
}

/// Writes a text with the secret into every record that callers can write.
fn write_everywhere(engine: &Engine, caller: &Caller) {
    let text = |number: usize| format!("text {number} {SECRET}");
    let first = engine
        .system(caller)
        .memories()
        .remember(remember(&text(1)))
        .unwrap()
        .memory;
    engine
        .system(caller)
        .memories()
        .remember_as(&mint(), remember(&text(2)))
        .unwrap();
    engine
        .system(caller)
        .memories()
        .store_once(
            &|number| MemoryId::new(format!("filed-{number}")),
            remember(&text(3)),
        )
        .unwrap();
    let import = Import::new(remember(&text(4)));
    engine
        .system(caller)
        .imports()
        .import(&[import], &mut ImportOutcome::default())
        .unwrap();
    engine
        .system(caller)
        .memories()
        .update(&first.id, &text(5), None)
        .unwrap();
    let change = Refile {
        content: Some(text(6)),
        ..Refile::default()
    };
    engine
        .system(caller)
        .memories()
        .refile(&first.id, change)
        .unwrap();
    let tagged = Message {
        tags: vec![SECRET.to_owned()],
        ..message(Role::Human, &format!("{} {}", text(7), "word ".repeat(9)))
    };
    say(
        engine,
        caller,
        "talk",
        vec![tagged, message(Role::Assistant, &text(8))],
    )
    .unwrap();
    engine
        .system(caller)
        .conversations()
        .decide("colour", &text(9), None)
        .unwrap();
    engine
        .system(caller)
        .conversations()
        .cache_answer(mint(), &text(10), &text(11))
        .unwrap();
    let fact = NewFact {
        subject: text(12),
        predicate: "is".to_owned(),
        object: text(13),
        valid_from: None,
        valid_to: None,
        source: Some(text(14)),
    };
    engine.system(caller).graph().add_fact(fact).unwrap();
    let end = |collection: &str| TunnelEnd {
        collection: Some(collection.to_owned()),
        section: "fact".to_owned(),
        memory: None,
    };
    engine
        .system(caller)
        .memories()
        .remember(Remember {
            collection: Some("other".to_owned()),
            ..Remember::new("there", "fact")
        })
        .unwrap();
    engine
        .system(caller)
        .graph()
        .create_tunnel(end("plan"), end("other"), Some(&text(15)))
        .unwrap();
}

#[test]
fn nothing_that_callers_write_is_stored_with_its_secrets() {
    let Bench { engine, store, .. } = bench_of(RedactionScope::Everything);
    let ann = caller("ann", &WRITER);
    write_everywhere(&engine, &ann);
    let text = stored(&store);
    assert!(!text.contains(SECRET), "{text}");
    for number in 2..=15 {
        // It was replaced by another text.
        assert!(
            number == 5 || text.contains(&format!("text {number} [redacted: word]")),
            "{number}: {text}"
        );
    }
    assert!(
        engine
            .system(&ann)
            .graph()
            .end_facts(["text 12 s3cret", "is", "text 13 s3cret"], None)
            .is_ok()
    );
    assert!(
        engine
            .system(&ann)
            .conversations()
            .cached_answer("text 10 s3cret", Some(1.0))
            .unwrap()
            .0
            .is_some()
    );
}

#[test]
fn a_memory_says_what_was_taken_out_of_it() {
    let engine = bench_of(RedactionScope::Everything).engine;
    let ann = caller("ann", &WRITER);
    let redacted = |memory: &Memory| memory.attributes.get(Redactions::ATTRIBUTE).cloned();
    let first = engine
        .system(&ann)
        .memories()
        .remember(remember("s3cret and s3cret"))
        .unwrap()
        .memory;
    assert_eq!(redacted(&first).as_deref(), Some("word 9"));
    assert_eq!(first.attributes["source"], "in [redacted: word]");
    let plain = engine
        .system(&ann)
        .memories()
        .remember(Remember::new("plain", "fact"))
        .unwrap()
        .memory;
    assert_eq!(redacted(&plain), None);
    let (changed, _) = engine
        .system(&ann)
        .memories()
        .update(&plain.id, "now s3cret", None)
        .unwrap();
    assert_eq!(
        (redacted(&changed).as_deref(), changed.content.as_str()),
        (Some("word 1"), "now [redacted: word]")
    );
    assert_eq!(
        engine.system(&ann).secrets().redactions(),
        Ok((2, Redactions::from_text("word 10")))
    );
    assert_eq!(
        engine
            .system(&caller("bob", &WRITER))
            .secrets()
            .redactions(),
        Ok((0, Redactions::default()))
    );
}

#[test]
fn what_callers_write_stays_where_only_files_are_redacted() {
    for scope in [RedactionScope::Nothing, RedactionScope::Mined] {
        let Bench { engine, store, .. } = bench_of(scope);
        write_everywhere(&engine, &caller("ann", &WRITER));
        let text = stored(&store);
        assert!(
            text.contains(SECRET) && !text.contains("[redacted"),
            "{text}"
        );
        let of_file = engine
            .redaction()
            .redact_mined("a s3cret")
            .text
            .into_owned();
        assert_eq!(
            of_file == "a [redacted: word]",
            scope == RedactionScope::Mined,
            "{of_file}"
        );
    }
}

#[test]
fn secrets_that_are_stored_are_found_and_taken_out() {
    let Bench { engine, store, .. } = bench_of(RedactionScope::Nothing);
    let (local, ann) = (Caller::local(), caller("ann", &WRITER));
    write_everywhere(&engine, &ann);
    let elsewhere = Caller::new(
        Space::parse("space", "elsewhere").unwrap(),
        Principal::new("bob", Scopes::of(&WRITER)),
    );
    let hidden = engine
        .system(&elsewhere)
        .memories()
        .remember(Remember::new("bob has a s3cret", "fact"))
        .unwrap()
        .memory;
    engine
        .system(&ann)
        .settings()
        .put("plan", "s3cret".to_owned())
        .unwrap();

    let found = engine.system(&local).secrets().find_secrets().unwrap();
    let count = |name: &str| {
        found
            .iter()
            .filter(|stored| stored.holder.name() == name)
            .count()
    };
    let counts = [
        "memory",
        "decision",
        "cached answer",
        "fact",
        "tunnel",
        "setting",
        "note",
    ]
    .map(count);
    assert_eq!(counts, [8, 1, 1, 1, 1, 1, 0]);
    assert!(
        !format!(
            "{:?}",
            found
                .iter()
                .map(|stored| (&stored.id, &stored.redactions))
                .collect::<Vec<_>>()
        )
        .contains(SECRET)
    );
    let of_bob = found
        .iter()
        .find(|stored| stored.id == hidden.id.as_str())
        .unwrap();
    assert_eq!(
        (
            of_bob.space.as_str(),
            of_bob.redactions.to_string().as_str()
        ),
        ("elsewhere", "word 1")
    );

    for stored in &found {
        assert_eq!(
            engine.system(&local).secrets().redact_stored(stored),
            Ok(stored.holder.can_be_redacted()),
            "{stored:?}"
        );
        assert_eq!(
            engine.system(&local).secrets().redact_stored(stored),
            Ok(false),
            "it is done once"
        );
    }
    let left = engine.system(&local).secrets().find_secrets().unwrap();
    assert!(
        left.iter().all(|stored| !stored.holder.can_be_redacted()),
        "{left:?}"
    );
    assert_eq!(left.len(), 3);
    let after = store.get(&hidden.space, &hidden.id).unwrap().unwrap();
    let attributes = BTreeMap::from([(Redactions::ATTRIBUTE.to_owned(), "word 1".to_owned())]);
    let expected = Memory {
        content: "bob has a [redacted: word]".to_owned(),
        attributes,
        revision: 2,
        ..hidden
    };
    assert_eq!(after, expected);
    // The words of the index come from the new text, and the model embeds it again.
    assert!(super::found(&engine, &elsewhere, SECRET).is_empty());
    assert_eq!(super::found(&engine, &elsewhere, "redacted"), [after.id]);
    let rounds = std::iter::repeat_with(|| engine.background().embed_pending().unwrap());
    let embedded: Vec<usize> = rounds.take_while(|embedded| *embedded > 0).collect();
    assert_eq!(embedded.len(), 2, "one round for each space");
}

#[test]
fn names_and_questions_that_hold_secrets_are_found_and_called_without_them() {
    let engine = bench_of(RedactionScope::Nothing).engine;
    let (local, ann) = (Caller::local(), caller("ann", &WRITER));
    let id = |_| MemoryId::new("id-s3cret");
    let filed = Remember {
        collection: Some("in s3cret".to_owned()),
        ..Remember::new("plain", "about s3cret")
    };
    engine
        .system(&ann)
        .memories()
        .store_once(&id, filed)
        .unwrap();
    engine
        .system(&ann)
        .conversations()
        .decide("colour s3cret", "blue", None)
        .unwrap();
    engine
        .system(&ann)
        .settings()
        .put("plan s3cret", "on".to_owned())
        .unwrap();
    let answer = || {
        Ok(Answer {
            text: "said s3cret".to_owned(),
            memories: Vec::new(),
            is_kept: true,
        })
    };
    engine
        .system(&ann)
        .idempotency()
        .once(
            KeyedRequest {
                operation: "say",
                key: "key s3cret",
                request: "r",
            },
            answer,
        )
        .unwrap();

    let found = engine.system(&local).secrets().find_secrets().unwrap();
    let rows: Vec<_> = found
        .iter()
        .map(|stored| (stored.holder.name(), &*stored.id, stored.redactions.total()))
        .collect();
    assert_eq!(
        rows,
        [
            ("location", "id-[redacted: word]", 3),
            ("key", "plan [redacted: word]", 1),
            ("key", "colour [redacted: word]", 1),
            ("key", "key [redacted: word]", 1),
            ("kept answer", "key [redacted: word]", 1),
        ]
    );
    assert!(
        found
            .iter()
            .all(|stored| engine.system(&local).secrets().redact_stored(stored) == Ok(false))
    );
}

#[test]
fn a_decision_that_is_new_by_now_is_kept() {
    let engine = bench_of(RedactionScope::Nothing).engine;
    let (local, ann) = (Caller::local(), caller("ann", &WRITER));
    engine
        .system(&ann)
        .conversations()
        .decide("colour", "s3cret", None)
        .unwrap();
    let found = engine.system(&local).secrets().find_secrets().unwrap();
    engine
        .system(&ann)
        .conversations()
        .decide("colour", "blue", None)
        .unwrap();
    assert_eq!(
        engine.system(&local).secrets().redact_stored(&found[0]),
        Ok(false)
    );
    assert_eq!(
        engine
            .system(&ann)
            .conversations()
            .decided("colour")
            .unwrap()
            .unwrap()
            .value,
        "blue"
    );
}

#[test]
fn only_the_person_at_this_machine_looks_through_everything() {
    let engine = bench_of(RedactionScope::Nothing).engine;
    let admin = caller("root", &[Scope::Admin]);
    engine
        .system(&admin)
        .memories()
        .remember(Remember::new(SECRET, "fact"))
        .unwrap();
    assert_eq!(
        engine
            .system(&admin)
            .secrets()
            .find_secrets()
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    let found = engine
        .system(&Caller::local())
        .secrets()
        .find_secrets()
        .unwrap();
    assert_eq!(
        engine
            .system(&admin)
            .secrets()
            .redact_stored(&found[0])
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    assert!(matches!(found[0].holder, SecretHolder::Memory(_)));
}
