//! Tests of tunnels between locations: their visibility and their changes.

use loci_core::{Clock, Page, Store, Tunnel, TunnelEnd};
use loci_engine::{Refile, TunnelConnection};
use loci_testkit::Random;

use super::faulty_store::FaultyStore;
use super::*;

type Place = (Option<&'static str>, &'static str);

const API: Place = (Some("api"), "design");
const DATABASE: Place = (Some("database"), "schema");
const ALL: Page = Page {
    offset: 0,
    limit: usize::MAX,
};

fn end((collection, section): Place) -> TunnelEnd {
    TunnelEnd {
        collection: collection.map(str::to_owned),
        section: section.to_owned(),
        memory: None,
    }
}

fn end_at(place: Place, memory: &MemoryId) -> TunnelEnd {
    TunnelEnd {
        memory: Some(memory.clone()),
        ..end(place)
    }
}

fn file(
    engine: &Engine,
    caller: &Caller,
    (collection, section): Place,
    visibility: Visibility,
) -> MemoryId {
    let (collection, section) = (collection.map(str::to_owned), Some(section.to_owned()));
    engine
        .system(caller)
        .memories()
        .remember(Remember {
            collection,
            section,
            ..fact("text", visibility)
        })
        .unwrap()
        .memory
        .id
}

fn common(engine: &Engine, place: Place) -> MemoryId {
    file(engine, &Caller::local(), place, Visibility::Common)
}

fn ids(tunnels: &[Tunnel]) -> Vec<&str> {
    tunnels.iter().map(|tunnel| tunnel.id.as_str()).collect()
}

fn seen(engine: &Engine, caller: &Caller) -> Vec<Tunnel> {
    engine.system(caller).graph().tunnels(None, ALL).unwrap().0
}

#[test]
fn a_pair_has_one_tunnel_either_way_round() {
    let Bench { engine, clock, .. } = bench();
    let ann = caller("ann", &WRITER);
    let (design, schema) = (common(&engine, API), common(&engine, DATABASE));
    let made = engine
        .system(&ann)
        .graph()
        .create_tunnel(end(API), end_at(DATABASE, &schema), Some("needs"))
        .unwrap();
    assert!(
        made.id.len() == 16 && made.id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{}",
        made.id
    );
    assert!(made.is_common && made.owner.as_deref() == Some("ann"));
    clock.advance(5);
    let updated_at = clock.now();
    // Without a label or a memory, the existing ones stay.
    for (label, expected) in [
        (None, "needs"),
        (Some(" "), "needs"),
        (Some("is stored as"), "is stored as"),
    ] {
        let again = engine
            .system(&caller("bob", &WRITER))
            .graph()
            .create_tunnel(end(DATABASE), end(API), label)
            .unwrap();
        assert_eq!(
            again,
            Tunnel {
                label: expected.to_owned(),
                updated_at,
                ..made.clone()
            }
        );
    }
    let named = engine
        .system(&ann)
        .graph()
        .create_tunnel(end(DATABASE), end_at(API, &design), None)
        .unwrap();
    assert_eq!(
        (named.source, named.target),
        (end_at(API, &design), end_at(DATABASE, &schema))
    );
    assert_eq!(ids(&seen(&engine, &ann)), [&made.id]);
    engine
        .system(&caller("bob", &WRITER))
        .graph()
        .delete_tunnel(&made.id)
        .unwrap();
    assert_eq!(
        engine
            .system(&ann)
            .graph()
            .delete_tunnel(&made.id)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    // The id depends only on the locations, and is the same in every version.
    assert_eq!(
        engine
            .system(&ann)
            .graph()
            .create_tunnel(end(DATABASE), end(API), None)
            .unwrap()
            .id,
        made.id
    );
    assert_eq!(made.id, "9eb4b9af39fd791c");
}

#[test]
fn what_cannot_be_tied() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let (design, _) = (common(&engine, API), common(&engine, DATABASE));
    let private = file(&engine, &bob, API, Visibility::Private);
    let elsewhere = file(&engine, &ann, (Some("api"), "plan"), Visibility::Common);
    file(&engine, &bob, (Some("secret"), "plan"), Visibility::Private);
    let absent = MemoryId::new("absent");
    let rows = [
        (
            end(API),
            end(API),
            "",
            ErrorCode::InvalidArgument,
            "`api/design`",
        ),
        (
            end(API),
            end((None, "design")),
            "",
            ErrorCode::NotFound,
            "`global/design`",
        ),
        (
            end((Some("api"), "Design")),
            end(DATABASE),
            "",
            ErrorCode::NotFound,
            "`api/Design`",
        ),
        (
            end(API),
            end((Some("secret"), "plan")),
            "",
            ErrorCode::NotFound,
            "`secret/plan`",
        ),
        (
            end_at(API, &absent),
            end(DATABASE),
            "",
            ErrorCode::NotFound,
            "absent",
        ),
        (
            end_at(API, &private),
            end(DATABASE),
            "",
            ErrorCode::NotFound,
            private.as_str(),
        ),
        (
            end_at(API, &elsewhere),
            end(DATABASE),
            "",
            ErrorCode::InvalidArgument,
            "`api/design`",
        ),
        (
            end(DATABASE),
            end_at(DATABASE, &design),
            "",
            ErrorCode::InvalidArgument,
            "`database/schema`",
        ),
        (
            end(API),
            end(DATABASE),
            "a\0b",
            ErrorCode::InvalidArgument,
            "`label`",
        ),
    ];
    for (source, target, label, code, named) in rows {
        let error = engine
            .system(&ann)
            .graph()
            .create_tunnel(source, target, Some(label))
            .unwrap_err();
        assert!(
            error.code == code && error.message.contains(named),
            "{error} for {named}"
        );
    }
    let error = engine
        .system(&ann)
        .graph()
        .create_tunnel(end(API), end(DATABASE), Some(&"x".repeat(5_000)))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert_eq!(seen(&engine, &Caller::local()), []);
}

#[test]
fn a_tunnel_to_what_others_may_not_read_is_its_owners() {
    let Bench { engine, clock, .. } = bench();
    let (ann, bob, local) = (
        caller("ann", &WRITER),
        caller("bob", &WRITER),
        Caller::local(),
    );
    let vault = (Some("vault"), "letters");
    common(&engine, API);
    file(&engine, &ann, vault, Visibility::Private);
    file(&engine, &bob, vault, Visibility::Private);
    let anns = engine
        .system(&ann)
        .graph()
        .create_tunnel(end(API), end(vault), Some("ann says"))
        .unwrap();
    clock.advance(1);
    let bobs = engine
        .system(&bob)
        .graph()
        .create_tunnel(end(vault), end(API), Some("bob says"))
        .unwrap();
    assert!(!anns.is_common && !bobs.is_common && anns.id != bobs.id);
    assert_eq!(ids(&seen(&engine, &ann)), [&anns.id]);
    assert_eq!(ids(&seen(&engine, &bob)), [&bobs.id]);
    assert_eq!(ids(&seen(&engine, &anonymous())), [""; 0]);
    assert_eq!(ids(&seen(&engine, &local)), [&anns.id, &bobs.id]);
    // A merely claimed name does not own it.
    let claiming = Caller {
        is_claimed: true,
        ..ann.clone()
    };
    assert_eq!(ids(&seen(&engine, &claiming)), [""; 0]);
    assert_eq!(
        engine
            .system(&bob)
            .graph()
            .delete_tunnel(&anns.id)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    // It stays private when a caller adds a memory that every caller may read.
    common(&engine, vault);
    let again = engine
        .system(&ann)
        .graph()
        .create_tunnel(end(vault), end(API), None)
        .unwrap();
    assert_eq!(
        (again.id.as_str(), again.label.as_str(), again.is_common),
        (anns.id.as_str(), "ann says", false)
    );
    clock.advance(1);
    let commons = engine
        .system(&caller("eve", &WRITER))
        .graph()
        .create_tunnel(end(vault), end(API), None)
        .unwrap();
    assert!(commons.is_common && commons.label.is_empty());
    assert_eq!(ids(&seen(&engine, &anonymous())), [&commons.id]);
    engine.system(&ann).wipe().unwrap();
    assert_eq!(ids(&seen(&engine, &local)), [&bobs.id, &commons.id]);
    assert_eq!(
        engine
            .system(&caller("ann", &[Scope::Read]))
            .graph()
            .delete_tunnel(&commons.id)
            .unwrap_err()
            .code,
        ErrorCode::Forbidden
    );
    engine
        .system(&local)
        .graph()
        .delete_tunnel(&bobs.id)
        .unwrap();
}

/// A memory that only a strict tool set hides from anonymous callers does not make a location
/// common.
#[test]
fn a_shared_memory_makes_no_place_common() {
    let engine = engine();
    common(&engine, API);
    file(
        &engine,
        &caller("ann", &WRITER),
        DATABASE,
        Visibility::Shared,
    );
    let made = engine
        .system(&caller("bob", &WRITER))
        .graph()
        .create_tunnel(end(API), end(DATABASE), None)
        .unwrap();
    assert!(!made.is_common);
    file(&engine, &anonymous(), DATABASE, Visibility::Private);
    assert!(
        engine
            .system(&caller("eve", &WRITER))
            .graph()
            .create_tunnel(end(API), end(DATABASE), None)
            .unwrap()
            .is_common
    );
}

#[test]
fn an_end_names_its_memory_to_those_who_may_read_it() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let (design, _) = (common(&engine, API), common(&engine, DATABASE));
    let private = file(&engine, &ann, DATABASE, Visibility::Private);
    let made = engine
        .system(&ann)
        .graph()
        .create_tunnel(end_at(API, &design), end_at(DATABASE, &private), None)
        .unwrap();
    let memories = |tunnel: &Tunnel| [&tunnel.source, &tunnel.target].map(|end| end.memory.clone());
    let both = [Some(design.clone()), Some(private.clone())];
    let one = [Some(design.clone()), None];
    assert!(made.is_common);
    assert_eq!(memories(&made), both);
    assert_eq!(memories(&seen(&engine, &bob)[0]), one);
    // Another caller that creates the tunnel again does not see the memory, and does not remove it.
    assert_eq!(
        memories(
            &engine
                .system(&bob)
                .graph()
                .create_tunnel(end(API), end(DATABASE), None)
                .unwrap()
        ),
        one
    );
    assert_eq!(memories(&seen(&engine, &ann)[0]), both);
    let followed = engine
        .system(&bob)
        .graph()
        .follow_tunnels(API.0, API.1, 5)
        .unwrap();
    assert_eq!(
        (
            memories(followed[0].tunnel.as_ref().unwrap()),
            &followed[0].end.memory
        ),
        (one.clone(), &None)
    );
    // Nor does any caller learn where it is not.
    let to = |collection: &str| {
        let refile = Refile {
            collection: Some(Some(collection.to_owned())),
            ..Refile::default()
        };
        engine
            .system(&ann)
            .memories()
            .refile(&private, refile)
            .unwrap();
    };
    to("elsewhere");
    assert_eq!(memories(&seen(&engine, &ann)[0]), one);
    to("database");
    assert_eq!(memories(&seen(&engine, &ann)[0]), both);
    engine.system(&ann).memories().forget(&private).unwrap();
    assert_eq!(
        memories(&seen(&engine, &ann)[0]),
        [Some(design.clone()), None]
    );
    engine.system(&ann).memories().forget(&design).unwrap();
    // The location is empty, and the tunnel can still be deleted.
    assert_eq!(memories(&seen(&engine, &ann)[0]), [None, None]);
    assert_eq!(
        engine
            .system(&ann)
            .graph()
            .follow_tunnels(API.0, API.1, 5)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    let back = engine
        .system(&ann)
        .graph()
        .follow_tunnels(DATABASE.0, DATABASE.1, 5)
        .unwrap();
    assert_eq!(
        (
            back.len(),
            &back[0].end,
            back[0].total,
            back[0].memories.len()
        ),
        (1, &end(API), 0, 0)
    );
}

#[test]
fn tunnels_of_one_collection() {
    let engine = engine();
    let local = Caller::local();
    let (desk, plan) = ((None, "desk"), (Some("api"), "plan"));
    for place in [API, DATABASE, desk, plan] {
        common(&engine, place);
    }
    let tie = |one, other| {
        engine
            .system(&local)
            .graph()
            .create_tunnel(end(one), end(other), None)
            .unwrap()
            .id
    };
    let (first, second, third) = (tie(API, DATABASE), tie(desk, API), tie(API, plan));
    let of = |collection| {
        let mut found: Vec<String> = engine
            .system(&local)
            .graph()
            .tunnels(Some(collection), ALL)
            .unwrap()
            .0
            .into_iter()
            .map(|tunnel| tunnel.id)
            .collect();
        found.sort_unstable();
        found
    };
    let sorted = |mut ids: Vec<&String>| {
        ids.sort_unstable();
        ids.into_iter().cloned().collect::<Vec<String>>()
    };
    assert_eq!(of(None), sorted(vec![&second]));
    assert_eq!(of(Some("api")), sorted(vec![&first, &second, &third]));
    assert_eq!(of(Some("database")), sorted(vec![&first]));
    assert_eq!(of(Some("global")), sorted(vec![]));
    // A page of tunnels, with the number of all.
    let all = seen(&engine, &local);
    for (offset, limit, expected) in [
        (0, 2, &all[..2]),
        (2, 2, &all[2..]),
        (3, 1, &[]),
        (0, 0, &[]),
    ] {
        let page = engine
            .system(&local)
            .graph()
            .tunnels(None, Page { offset, limit })
            .unwrap();
        assert_eq!(
            (&page.0[..], page.1),
            (expected, 3),
            "{limit} from {offset} on"
        );
    }
    let elsewhere = Caller {
        space: Space::parse("space", "elsewhere").unwrap(),
        ..local.clone()
    };
    assert_eq!(seen(&engine, &elsewhere), []);
}

#[test]
fn where_a_place_leads() {
    let Bench { engine, clock, .. } = bench();
    let local = Caller::local();
    let general = [(Some("api"), "general"), (Some("web"), "general")];
    for place in general.into_iter().chain([
        (Some("web"), "design"),
        (None, "design"),
        (Some("zoo"), "design"),
        API,
    ]) {
        common(&engine, place);
    }
    let schema: Vec<MemoryId> = (0..4)
        .map(|_| {
            clock.advance(1);
            common(&engine, DATABASE)
        })
        .collect();
    let zoo = engine
        .system(&local)
        .graph()
        .create_tunnel(end((Some("zoo"), "design")), end(API), Some("animals"))
        .unwrap();
    clock.advance(1);
    let needs = engine
        .system(&local)
        .graph()
        .create_tunnel(end(API), end_at(DATABASE, &schema[1]), Some("needs"))
        .unwrap();
    let ids = |followed: &TunnelConnection| {
        followed
            .memories
            .iter()
            .map(|memory| memory.id.clone())
            .collect::<Vec<_>>()
    };
    let followed = engine
        .system(&local)
        .graph()
        .follow_tunnels(API.0, API.1, 3)
        .unwrap();
    let shown: Vec<_> = followed
        .iter()
        .map(|followed| {
            (
                followed.end.clone(),
                followed.tunnel.clone(),
                followed.total,
            )
        })
        .collect();
    let expected = [
        (end((Some("zoo"), "design")), Some(zoo), 1),
        (end_at(DATABASE, &schema[1]), Some(needs), 4),
        // A tunnel leads there already, so the name adds nothing.
        (end((None, "design")), None, 1),
        (end((Some("web"), "design")), None, 1),
    ];
    assert_eq!(shown, expected);
    assert_eq!(
        ids(&followed[1]),
        [&schema[1], &schema[3], &schema[2]].map(Clone::clone)
    );
    // From the other end it leads back.
    let back = engine
        .system(&local)
        .graph()
        .follow_tunnels(DATABASE.0, DATABASE.1, 0)
        .unwrap();
    assert_eq!(
        (
            back.len(),
            &back[0].end,
            back[0].memories.len(),
            back[0].total
        ),
        (1, &end(API), 0, 1)
    );
    assert_eq!(
        engine
            .system(&local)
            .graph()
            .follow_tunnels(Some("api"), "general", 3)
            .unwrap(),
        []
    );
    let error = engine
        .system(&local)
        .graph()
        .follow_tunnels(Some("apis"), "design", 3)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(
        error.message.contains("`api/design`") && !error.message.contains("schema"),
        "{error}"
    );
}

/// An unlisted memory of another tool set is not visible, and neither is its location.
#[test]
fn what_is_apart_is_there_for_its_own_tool_set() {
    let engine = engine();
    let [diarist, other] = ["diaries", "others"].map(|origin| Caller {
        origin,
        ..caller("ann", &WRITER)
    });
    let diary = (Some("wing_ann"), "diary");
    let (collection, section) = (diary.0.map(str::to_owned), Some(diary.1.to_owned()));
    let entry = Remember {
        collection,
        section,
        tier: Tier::Unlisted,
        ..fact("dear diary", Visibility::Common)
    };
    let entry = engine
        .system(&diarist)
        .memories()
        .remember(entry)
        .unwrap()
        .memory
        .id;
    common(&engine, API);
    assert_eq!(
        engine
            .system(&other)
            .graph()
            .create_tunnel(end(API), end(diary), None)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    let made = engine
        .system(&diarist)
        .graph()
        .create_tunnel(end(API), end_at(diary, &entry), None)
        .unwrap();
    assert_eq!(
        engine
            .system(&diarist)
            .graph()
            .follow_tunnels(API.0, API.1, 1)
            .unwrap()[0]
            .memories[0]
            .id,
        entry
    );
    assert_eq!(
        engine
            .system(&other)
            .graph()
            .follow_tunnels(API.0, API.1, 1)
            .unwrap()[0]
            .total,
        0
    );
    assert_eq!(
        seen(&engine, &other),
        [Tunnel {
            target: end(diary),
            ..made
        }]
    );
}

#[test]
fn there_are_at_most_so_many() {
    let Bench { engine, store, .. } = bench();
    let local = Caller::local();
    for place in [API, DATABASE, (None, "desk")] {
        common(&engine, place);
    }
    let made = engine
        .system(&local)
        .graph()
        .create_tunnel(end(API), end(DATABASE), None)
        .unwrap();
    let more = |owner: Option<&str>, is_common| {
        let prefix = owner.unwrap_or_default();
        let tunnel = Tunnel {
            owner: owner.map(str::to_owned),
            is_common,
            ..made.clone()
        };
        let all = (1..limits::TUNNELS_MAX).map(|number| Tunnel {
            id: format!("{prefix}{number:016x}"),
            ..tunnel.clone()
        });
        let put = |tunnel| loci_core::Change::PutTunnel {
            tunnel: Box::new(tunnel),
            expect: None,
        };
        store
            .commit(loci_core::Batch::new(
                Space::default(),
                all.map(put).collect(),
            ))
            .unwrap();
    };
    more(Some("local"), true);
    let third = |caller: &Caller| {
        engine
            .system(caller)
            .graph()
            .create_tunnel(end(API), end((None, "desk")), None)
    };
    assert_eq!(third(&local).unwrap_err().code, ErrorCode::TooLarge);
    assert_eq!(
        engine
            .system(&local)
            .graph()
            .create_tunnel(end(DATABASE), end(API), Some("again"))
            .unwrap()
            .label,
        "again"
    );
    assert_eq!(
        engine
            .system(&local)
            .graph()
            .follow_tunnels(API.0, API.1, 1)
            .unwrap()
            .len(),
        limits::TRAVERSED_MAX
    );
    // The tunnels of other owners, visible or not, do not count for a caller.
    let ann = caller("ann", &WRITER);
    more(Some("bob"), false);
    let of_ann = third(&ann).unwrap();
    engine
        .system(&ann)
        .graph()
        .delete_tunnel(&of_ann.id)
        .unwrap();
    // Anonymous callers share the tunnels without an owner.
    more(None, false);
    let of_nobody = third(&anonymous()).unwrap();
    engine
        .system(&anonymous())
        .graph()
        .delete_tunnel(&of_nobody.id)
        .unwrap();
    engine
        .system(&anonymous())
        .graph()
        .create_tunnel(end(DATABASE), end((None, "desk")), None)
        .unwrap();
    assert_eq!(third(&anonymous()).unwrap_err().code, ErrorCode::TooLarge);
    assert_eq!(third(&ann).unwrap().id, of_ann.id);
}

/// Returns an engine, and runs an action of another process once, just before its next commit.
fn interrupted(
    file: impl FnOnce(&Engine),
    meanwhile: impl Fn(&Engine) -> Result<()> + Send + Sync + 'static,
) -> Arc<Engine> {
    let store = FaultyStore::new(Arc::new(NaiveStore::new()));
    let of = |store: Arc<dyn Store>| {
        let clock = Arc::new(FixedClock::default());
        Arc::new(Engine::new(
            store,
            Arc::new(HashingEmbedder::default()),
            clock,
            SearchMode::Words,
        ))
    };
    let (engine, other) = (of(store.clone()), of(store.inner.clone()));
    file(&engine);
    let is_done = AtomicBool::new(false);
    store.before(move |method| {
        if method == "commit" && !is_done.swap(true, Ordering::SeqCst) {
            meanwhile(&other)?;
        }
        Ok(())
    });
    engine
}

#[test]
fn what_another_process_ties_meanwhile_is_kept() {
    for is_new in [false, true] {
        let (mut schema, local) = (None, Caller::local());
        let begin = |engine: &Engine| {
            common(engine, API);
            schema = Some(common(engine, DATABASE));
            if !is_new {
                engine
                    .system(&local)
                    .graph()
                    .create_tunnel(end(API), end(DATABASE), Some("needs"))
                    .unwrap();
            }
        };
        let bob = caller("bob", &WRITER);
        let engine = interrupted(begin, move |other| {
            other
                .system(&bob)
                .graph()
                .create_tunnel(end(DATABASE), end(API), Some("is stored as"))
                .map(drop)
        });
        let named = end_at(DATABASE, &schema.unwrap());
        let tied = engine
            .system(&local)
            .graph()
            .create_tunnel(end(API), named.clone(), None)
            .unwrap();
        assert_eq!(
            (tied.label.as_str(), &seen(&engine, &local)[..]),
            ("is stored as", &[tied.clone()][..])
        );
        assert!([&tied.source, &tied.target].contains(&&named), "{tied:?}");
        assert_eq!(
            tied.owner.as_deref(),
            Some(if is_new { "bob" } else { "local" })
        );
    }
}

#[test]
fn no_tunnel_leads_to_what_is_gone_by_then() {
    for is_new in [true, false] {
        let schema = MemoryId::new("schema");
        let (made, local) = (schema.clone(), Caller::local());
        let begin = |engine: &Engine| {
            common(engine, API);
            common(engine, DATABASE);
            let (collection, section) =
                (DATABASE.0.map(str::to_owned), Some(DATABASE.1.to_owned()));
            let request = Remember {
                collection,
                section,
                ..fact("text", Visibility::Common)
            };
            engine
                .system(&local)
                .memories()
                .remember_as(&made, request)
                .unwrap();
            if !is_new {
                engine
                    .system(&local)
                    .graph()
                    .create_tunnel(end(API), end(DATABASE), None)
                    .unwrap();
            }
        };
        let (gone, by) = (schema.clone(), Caller::local());
        let engine = interrupted(begin, move |other| {
            other.system(&by).memories().forget(&gone).map(drop)
        });
        let error = engine
            .system(&local)
            .graph()
            .create_tunnel(end(API), end_at(DATABASE, &schema), None)
            .unwrap_err();
        assert!(
            error.code == ErrorCode::NotFound && error.message.contains("schema"),
            "{error}"
        );
        let left = seen(&engine, &local);
        assert_eq!(left.len(), usize::from(!is_new));
        assert!(
            left.iter()
                .all(|tunnel| tunnel.source.memory.is_none() && tunnel.target.memory.is_none())
        );
    }
}

/// Another process wipes the data between the check of the locations and the commit.
#[test]
fn a_wipe_meanwhile_leaves_no_tunnel() {
    let (ann, wiped) = (caller("ann", &WRITER), caller("ann", &WRITER));
    let begin = |engine: &Engine| {
        for place in [API, DATABASE] {
            file(engine, &ann, place, Visibility::Private);
        }
    };
    let engine = interrupted(begin, move |other| other.system(&wiped).wipe().map(drop));
    assert_eq!(
        engine
            .system(&ann)
            .graph()
            .create_tunnel(end(API), end(DATABASE), None)
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    assert_eq!(seen(&engine, &Caller::local()), []);
}

/// The state of a tunnel in the model.
#[derive(Debug, Clone)]
struct Tied {
    id: String,
    pair: [Place; 2],
    label: String,
    owner: &'static str,
    is_common: bool,
}

/// A memory of the model: its id, location and owner, and true if every caller may read it.
type Lying = (MemoryId, Place, &'static str, bool);

/// Returns the number of memories that a caller can read there; without a name, those for all
/// callers.
fn readable(memories: &[Lying], place: Place, name: Option<&str>) -> u64 {
    let is_read =
        |(_, at, owner, is_open): &&Lying| *at == place && (*is_open || name == Some(*owner));
    memories.iter().filter(is_read).count() as u64
}

/// Several callers create, replace, follow and delete tunnels while locations come and go.
#[test]
fn random_ties_are_as_in_a_model() {
    const PLACES: [Place; 6] = [
        (None, "a"),
        (Some("x"), "a"),
        (Some("x"), "b"),
        (Some("y"), "a"),
        (Some("y"), "general"),
        (None, "general"),
    ];
    const NAMES: [&str; 2] = ["ann", "bob"];
    for seed in 0..150 {
        let (Bench { engine, clock, .. }, mut random) = (bench(), Random::new(seed));
        let mut memories: Vec<Lying> = Vec::new();
        let mut tied: Vec<Tied> = Vec::new();
        for step in 0..40 {
            clock.advance(1);
            let (name, place, other) = (
                random.pick(&NAMES),
                random.pick(&PLACES),
                random.pick(&PLACES),
            );
            let by = caller(name, &WRITER);
            let sees = |tied: &&Tied| tied.is_common || tied.owner == name;
            match random.below(6) {
                0 | 1 => {
                    let is_open = random.chance(50);
                    let visibility = if is_open {
                        Visibility::Common
                    } else {
                        Visibility::Private
                    };
                    memories.push((file(&engine, &by, place, visibility), place, name, is_open));
                }
                2 if !memories.is_empty() => {
                    let (id, ..) = memories.swap_remove(random.below(memories.len()));
                    engine
                        .system(&Caller::local())
                        .memories()
                        .forget(&id)
                        .unwrap();
                }
                3 if !tied.is_empty() => {
                    let at = random.below(tied.len());
                    let outcome = engine.system(&by).graph().delete_tunnel(&tied[at].id);
                    assert_eq!(
                        outcome.is_ok(),
                        sees(&&tied[at]),
                        "seed {seed}, step {step}"
                    );
                    if outcome.is_ok() {
                        tied.remove(at);
                    }
                }
                _ => {
                    let label = random.chance(50).then(|| step.to_string());
                    let made = engine.system(&by).graph().create_tunnel(
                        end(place),
                        end(other),
                        label.as_deref(),
                    );
                    let are_there =
                        [place, other].map(|place| readable(&memories, place, Some(name)) > 0);
                    if place == other || are_there != [true, true] {
                        assert!(made.is_err(), "seed {seed}, step {step}");
                        continue;
                    }
                    let made = made.unwrap();
                    let is_pair =
                        |tied: &Tied| tied.pair == [place, other] || tied.pair == [other, place];
                    let mine = |tied: &Tied| is_pair(tied) && !tied.is_common && tied.owner == name;
                    let before = tied.iter().position(|tied| is_pair(tied) && tied.is_common);
                    if let Some(before) = before.or_else(|| tied.iter().position(mine)) {
                        tied[before].label = label.unwrap_or(tied[before].label.clone());
                        assert_eq!(made.id, tied[before].id, "seed {seed}, step {step}");
                    } else {
                        let is_common = [place, other]
                            .into_iter()
                            .all(|place| readable(&memories, place, None) > 0);
                        let (pair, label) = ([place, other], label.unwrap_or_default());
                        tied.push(Tied {
                            id: made.id,
                            pair,
                            label,
                            owner: name,
                            is_common,
                        });
                    }
                }
            }
            for name in NAMES {
                let by = caller(name, &WRITER);
                let expected: Vec<&Tied> = tied
                    .iter()
                    .filter(|tied| tied.is_common || tied.owner == name)
                    .collect();
                let seen = seen(&engine, &by);
                let shown = |tunnel: &Tunnel| {
                    (
                        tunnel.id.clone(),
                        tunnel.label.clone(),
                        [tunnel.source.clone(), tunnel.target.clone()],
                    )
                };
                let modelled =
                    |tied: &&Tied| (tied.id.clone(), tied.label.clone(), tied.pair.map(end));
                assert_eq!(
                    seen.iter().map(shown).collect::<Vec<_>>(),
                    expected.iter().map(modelled).collect::<Vec<_>>(),
                    "seed {seed}, step {step}"
                );
                let followed = engine
                    .system(&by)
                    .graph()
                    .follow_tunnels(place.0, place.1, 2);
                if readable(&memories, place, Some(name)) == 0 {
                    assert!(followed.is_err(), "seed {seed}, step {step}");
                    continue;
                }
                let leading = expected.iter().filter(|tied| tied.pair.contains(&place));
                let mut ends: Vec<(Option<String>, Place)> = leading
                    .map(|tied| {
                        (
                            Some(tied.id.clone()),
                            tied.pair[usize::from(tied.pair[0] == place)],
                        )
                    })
                    .collect();
                for other in PLACES {
                    let has_name = other.1 == place.1 && other != place && other.1 != "general";
                    if has_name
                        && readable(&memories, other, Some(name)) > 0
                        && !ends.iter().any(|(_, end)| *end == other)
                    {
                        ends.push((None, other));
                    }
                }
                let followed = followed.unwrap().into_iter().map(|followed| {
                    assert_eq!(followed.memories.len() as u64, followed.total.min(2));
                    (
                        followed.tunnel.map(|tunnel| tunnel.id),
                        followed.end,
                        followed.total,
                    )
                });
                let ends = ends
                    .into_iter()
                    .map(|(id, place)| (id, end(place), readable(&memories, place, Some(name))));
                assert_eq!(
                    followed.collect::<Vec<_>>(),
                    ends.collect::<Vec<_>>(),
                    "seed {seed}, step {step}"
                );
            }
        }
    }
}
