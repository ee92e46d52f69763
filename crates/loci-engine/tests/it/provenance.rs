//! Tests of where the words of memories come from.

use std::collections::BTreeMap;

use loci_core::{Citation, CitationKind, Store, Superseded};
use loci_engine::{AppendNote, AppendOutcome, Browse, Import, ImportOutcome, Refile};

use super::reconciling::{Vault, vault};
use super::*;

const PROGRAM: &str = "zed";
const SESSION: &str = "session-7";

/// An agent of the person at the machine, or that person.
fn caller_of(said_by: SaidBy) -> Caller {
    Caller {
        client: Some(PROGRAM.to_owned()),
        session: Some(SESSION.to_owned()),
        said_by,
        ..Caller::local_person()
    }
}

fn citing(kind: CitationKind) -> Remember {
    let reference = "https://example.org/a".to_owned();
    Remember {
        citations: vec![Citation {
            kind,
            reference,
            locator: None,
            pin: None,
            excerpt: None,
        }],
        ..fact("bees sleep", Visibility::Common)
    }
}

fn remember(vault: &Vault, said_by: SaidBy, request: Remember) -> MemoryId {
    let system = vault.engine.system(&caller_of(said_by));
    system.memories().remember(request).unwrap().memory.id
}

/// Replaces the text of a memory.
fn edit(vault: &Vault, said_by: SaidBy, id: &MemoryId) {
    let change = Refile {
        content: Some("bees dance".to_owned()),
        ..Refile::default()
    };
    let system = vault.engine.system(&caller_of(said_by));
    system.memories().refile(id, change).unwrap();
}

fn speak(vault: &Vault, role: Role) -> MemoryId {
    let said = message(role, "bees sleep");
    let stored = say(&vault.engine, &caller_of(SaidBy::Agent), "talk", vec![said]);
    stored.unwrap().ids[0].clone()
}

/// A way in which a memory comes to be, with who said it.
type Way = (&'static str, SaidBy, fn(&Vault) -> MemoryId);

const WAYS: [Way; 13] = [
    ("an agent", SaidBy::Agent, |vault| {
        remember(vault, SaidBy::Agent, fact("bees", Visibility::Common))
    }),
    ("a person", SaidBy::User, |vault| {
        remember(vault, SaidBy::User, fact("bees", Visibility::Common))
    }),
    ("an agent that says who spoke", SaidBy::User, |vault| {
        let request = Remember {
            said_by: Some(SaidBy::User),
            ..fact("bees", Visibility::Common)
        };
        remember(vault, SaidBy::Agent, request)
    }),
    ("an agent that cites a page", SaidBy::Web, |vault| {
        remember(vault, SaidBy::Agent, citing(CitationKind::Url))
    }),
    ("a person who cites a file", SaidBy::User, |vault| {
        remember(vault, SaidBy::User, citing(CitationKind::File))
    }),
    (
        "an agent that edits words of a person",
        SaidBy::Agent,
        |vault| {
            let id = remember(vault, SaidBy::User, fact("bees", Visibility::Common));
            edit(vault, SaidBy::Agent, &id);
            id
        },
    ),
    (
        "a person who edits words of the web",
        SaidBy::Web,
        |vault| {
            let id = remember(vault, SaidBy::Agent, citing(CitationKind::Url));
            edit(vault, SaidBy::User, &id);
            id
        },
    ),
    ("a message of a person", SaidBy::User, |vault| {
        speak(vault, Role::Human)
    }),
    ("a message of an agent", SaidBy::Agent, |vault| {
        speak(vault, Role::Assistant)
    }),
    ("the output of a tool", SaidBy::Tool, |vault| {
        speak(vault, Role::Tool)
    }),
    ("an import", SaidBy::Import, |vault| {
        let id = MemoryId::new("imported");
        let import = Import {
            id: Some(id.clone()),
            ..Import::new(fact("bees", Visibility::Common))
        };
        let system = vault.engine.system(&caller_of(SaidBy::User));
        let mut outcome = ImportOutcome::default();
        system.imports().import(&[import], &mut outcome).unwrap();
        id
    }),
    ("a note of an agent", SaidBy::Agent, append),
    (
        "a note of an agent that somebody edited",
        SaidBy::File,
        |vault| {
            let id = append(vault);
            let path = vault.rows().remove(0).path;
            vault.folder.replace(&path, "They dance.", "They sleep.");
            vault.reconcile();
            id
        },
    ),
];

fn append(vault: &Vault) -> MemoryId {
    let note = AppendNote {
        title: "Bees".to_owned(),
        body: "They dance.".to_owned(),
        tags: Vec::new(),
        keyed: None,
    };
    let system = vault.engine.system(&caller_of(SaidBy::Agent));
    let AppendOutcome::New(note, _) = system.notes().append(note).unwrap() else {
        panic!("it is new")
    };
    note.id
}

#[test]
fn a_memory_says_where_its_words_come_from() {
    for (name, said_by, arrive) in WAYS {
        let vault = vault();
        let id = arrive(&vault);
        let memory = vault.stored(&id).unwrap();
        let expected = Provenance {
            said_by,
            program: Some(PROGRAM.to_owned()),
            session: Some(SESSION.to_owned()),
        };
        assert_eq!(memory.provenance, expected, "{name}");
    }
}

#[test]
fn a_note_that_lay_in_the_folder_is_of_a_file() {
    let vault = vault();
    vault.folder.write("a.md", "Bees dance.\n");
    vault.reconcile();
    assert_eq!(vault.memory("a.md").provenance, words_of(SaidBy::File));
}

#[test]
fn a_memory_that_was_made_from_a_message_is_said_by_its_speaker() {
    let vault = vault();
    let text = "I keep bees in four hives behind the shed";
    let said = message(Role::Human, text);
    let caller = caller_of(SaidBy::Agent);
    say(&vault.engine, &caller, "talk", vec![said]).unwrap();
    let made = listed(&vault.engine, &caller);
    let [made] = &made[..] else {
        panic!("{made:?}")
    };
    assert_eq!(
        (made.tier, made.provenance.said_by),
        (Tier::LongTerm, SaidBy::User)
    );
}

#[test]
fn memories_are_counted_and_listed_by_program() {
    let bench = bench();
    let of = |program: Option<&str>| Caller {
        client: program.map(str::to_owned),
        ..caller("ann", &WRITER)
    };
    for (program, text) in [
        (Some("zed"), "one"),
        (Some("zed"), "two"),
        (Some("codex"), "three"),
        (None, "four"),
    ] {
        let system = bench.engine.system(&of(program));
        let memory = fact(text, Visibility::Private);
        system.memories().remember(memory).unwrap();
    }
    let list = |programs: &[&str]| {
        let facets = Facets {
            programs: programs.iter().map(|it| (*it).to_owned()).collect(),
            ..Facets::default()
        };
        let browse = Browse {
            facets,
            limit: 9,
            ..Browse::default()
        };
        let system = bench.engine.system(&of(None));
        let listings = system.listings();
        let found = listings.list_by_insertion(&browse).unwrap().len();
        let counts = listings.facet_counts(&browse, Superseded::Show).unwrap();
        (found, counts.memories, counts.programs)
    };
    let counts = BTreeMap::from([("codex".to_owned(), 1), ("zed".to_owned(), 2)]);
    for (programs, expected) in [
        (&[][..], 4),
        (&["zed"], 2),
        (&["zed", "codex"], 3),
        (&["unknown"], 0),
    ] {
        let (found, memories, by_program) = list(programs);
        assert_eq!(
            (found, memories),
            (expected, expected as u64),
            "{programs:?}"
        );
        assert_eq!(by_program, counts, "counted without this filter");
    }
}

#[test]
fn a_wipe_takes_program_and_session_from_what_stays() {
    let bench = bench();
    let ann = Caller {
        client: Some("laptop of ann".to_owned()),
        session: Some(SESSION.to_owned()),
        ..caller("ann", &WRITER)
    };
    let system = bench.engine.system(&ann);
    let stays = system.memories().remember(fact("bees", Visibility::Common));
    let id = stays.unwrap().memory.id;
    system.wipe().unwrap();
    let memory = bench.store.get(&Space::default(), &id).unwrap().unwrap();
    assert_eq!(memory.provenance, words_of(SaidBy::Agent));
}
