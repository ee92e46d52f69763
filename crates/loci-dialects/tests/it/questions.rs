//! Tests of the questions to the person that calls raise.

use std::sync::Arc;
use std::time::Duration;

use loci_core::{Caller, Error, Principal, Scope, Scopes, Space};
use loci_dialects::questions::{PersonAnswer, Question};
use loci_dialects::{Context, dialect};
use loci_engine::{Engine, Policy, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::{Value, json};

fn engine(policy: Policy) -> Engine {
    let embedder = Arc::new(HashingEmbedder::default());
    let clock = Arc::new(FixedClock::default());
    let store = Arc::new(NaiveStore::new());
    Engine::new(store, embedder, clock, SearchMode::Words).with_policy(policy)
}

fn user(name: &str) -> Caller {
    let principal = Principal {
        subject: Some(name.to_owned()),
        actor: None,
        scopes: Scopes::of(&[Scope::Read, Scope::Write]),
    };
    Caller::new(Space::default(), principal)
}

fn call(engine: &Engine, caller: &Caller, set: &str, tool: &str, arguments: &Value) -> Value {
    let dialect = dialect(set).unwrap();
    let context = Context { engine, caller };
    let arguments = arguments.as_object().unwrap().clone();
    let called = dialect.call(dialect.tool(tool).unwrap(), context, arguments);
    called.unwrap().structured
}

fn question(
    engine: &Engine,
    caller: &Caller,
    set: &str,
    tool: &str,
    arguments: &Value,
) -> Option<Question> {
    let dialect = dialect(set).unwrap();
    let context = Context { engine, caller };
    let arguments = arguments.as_object().unwrap().clone();
    dialect.question_before(dialect.tool(tool).unwrap(), context, arguments)
}

#[test]
fn every_deletion_for_good_is_asked_about_and_nothing_else_is() {
    let engine = engine(Policy {
        purge_after_seconds: 0,
        ..Policy::DEFAULT
    });
    let caller = Caller::local();
    let call =
        |set: &str, tool: &str, arguments: Value| call(&engine, &caller, set, tool, &arguments);
    let memory = call("mememory", "remember", json!({"content": "The blue gate."}));
    let stored = json!({"content": "The red gate.", "scope": "attic", "source": "user-said", "category": "decision"});
    let engram = call("engram", "store_memory", stored);
    let drawer = json!({"wing": "w", "room": "r", "content": "The old gate.", "source_file": "/notes/gate.md"});
    let drawer = call("mempalace", "mempalace_add_drawer", drawer);
    let gates =
        json!([{"name": "gate", "entityType": "thing", "observations": ["is green", "is tall"]}]);
    call("reference", "create_entities", json!({"entities": gates}));
    call(
        "anthropic",
        "memory",
        json!({"command": "create", "path": "/memories/gate.md", "file_text": "green"}),
    );
    let said = json!([{"role": "human", "content": "The gate is open"}]);
    call(
        "memory-mcp",
        "store_memory",
        json!({"user_id": "ann", "messages": said, "conversation_id": "c"}),
    );

    let of_source = json!({"source_file": "/notes/gate.md", "dry_run": false});
    let observations = json!({"deletions": [{"entityName": "gate", "observations": ["is green"]}]});
    let both =
        json!({"deletions": [{"entityName": "gate", "observations": ["is green", "is tall"]}]});
    let of_ann = json!({"user_id": "ann", "conversation": "c", "confirm": true});
    let file = |command: &str| json!({"command": command, "path": "/memories/gate.md"});
    let rows = [
        (
            "mememory",
            "forget",
            json!({"id": memory["id"]}),
            "\u{201c}The blue gate.\u{201d}",
        ),
        ("mememory", "forget", json!({"id": "no-such-id"}), ""),
        (
            "mememory",
            "update",
            json!({"id": memory["id"], "content": "x"}),
            "",
        ),
        (
            "engram",
            "delete_memory",
            json!({"id": engram["id"]}),
            "\u{201c}The red gate.\u{201d}",
        ),
        (
            "engram",
            "delete_all",
            json!({"scope": "attic"}),
            "\u{201c}attic\u{201d}",
        ),
        (
            "mempalace",
            "mempalace_delete_drawer",
            json!({"drawer_id": drawer["drawer_id"]}),
            "\u{201c}The old gate.\u{201d}",
        ),
        (
            "mempalace",
            "mempalace_delete_by_source",
            of_source,
            "/notes/gate.md, 1 in number",
        ),
        (
            "mempalace",
            "mempalace_delete_by_source",
            json!({"source_file": "/notes/gate.md"}),
            "",
        ),
        (
            "mempalace",
            "mempalace_delete_by_source",
            json!({"source_file": "/other", "dry_run": false}),
            "",
        ),
        ("mempalace", "mempalace_sync", json!({"wing": "w"}), ""),
        (
            "mempalace",
            "mempalace_sync",
            json!({"wing": "w", "apply": true}),
            "",
        ),
        (
            "reference",
            "delete_entities",
            json!({"entityNames": ["gate"]}),
            "of gate, 2 in number",
        ),
        (
            "reference",
            "delete_entities",
            json!({"entityNames": ["door"]}),
            "",
        ),
        (
            "reference",
            "delete_observations",
            observations,
            "\u{201c}is green\u{201d}",
        ),
        ("reference", "delete_observations", both, "2 observations"),
        (
            "reference",
            "delete_observations",
            json!({"deletions": []}),
            "",
        ),
        ("anthropic", "memory", file("delete"), "/memories/gate.md"),
        (
            "anthropic",
            "memory",
            json!({"command": "delete", "path": "/memories/none.md"}),
            "",
        ),
        ("anthropic", "memory", file("view"), ""),
        (
            "memory-mcp",
            "wipe_user_data",
            json!({"user_id": "ann", "confirm": true}),
            "all data of ann",
        ),
        (
            "memory-mcp",
            "wipe_user_data",
            json!({"user_id": "ann"}),
            "",
        ),
        ("memory-mcp", "delete_memory", of_ann.clone(), "of ann"),
        (
            "memory-mcp",
            "delete_memory",
            json!({"user_id": "ann", "conversation": "c", "dry_run": true}),
            "",
        ),
    ];
    let before = engine.version(&Space::default()).unwrap();
    for (set, tool, arguments, said) in rows {
        let asked = question(&engine, &caller, set, tool, &arguments);
        let message = asked.as_ref().map(|asked| asked.message.clone());
        match message {
            None => assert_eq!(said, "", "{set} {tool} {arguments}"),
            Some(message) => {
                assert!(
                    !said.is_empty() && message.contains(said),
                    "{set} {tool}: {message}"
                );
                assert!(
                    message.starts_with("Delete ") && message.len() < 400,
                    "{message}"
                );
            }
        }
        let refused = |answer| {
            asked
                .as_ref()
                .and_then(|asked| asked.refusal(answer))
                .is_some()
        };
        let is_asked = asked.is_some();
        for (answer, is_refused) in [
            (PersonAnswer::Chosen("keep"), is_asked),
            (PersonAnswer::Refused, is_asked),
            (PersonAnswer::Chosen("delete"), false),
            (PersonAnswer::Missing, false),
        ] {
            assert_eq!(refused(answer), is_refused, "{set} {tool} {answer:?}");
        }
    }
    assert_eq!(
        engine.version(&Space::default()).unwrap(),
        before,
        "a question changes nothing"
    );
    // Where what is deleted comes back, nobody is asked.
    let engine = self::engine(Policy::DEFAULT);
    self::call(
        &engine,
        &caller,
        "memory-mcp",
        "store_memory",
        &json!({"user_id": "ann", "messages": said}),
    );
    assert_eq!(
        question(&engine, &caller, "memory-mcp", "delete_memory", &of_ann),
        None
    );
}

#[test]
fn a_call_without_its_scope_raises_no_question() {
    let engine = engine(Policy::DEFAULT);
    let stored = json!({"content": "The blue gate."});
    let memory = call(&engine, &user("ann"), "mememory", "remember", &stored);
    let reader = Caller {
        principal: Principal {
            scopes: Scopes::of(&[Scope::Read]),
            ..user("ann").principal
        },
        ..user("ann")
    };
    let forget = json!({"id": memory["id"]});
    assert!(question(&engine, &user("ann"), "mememory", "forget", &forget).is_some());
    assert_eq!(
        question(&engine, &reader, "mememory", "forget", &forget),
        None
    );
}

#[test]
fn only_a_sure_contradiction_of_what_the_caller_may_change_is_asked_about() {
    let old = "The API listens on port 8080.";
    for (set, store) in [
        ("mememory", json!({"content": old})),
        (
            "engram",
            json!({"content": old, "scope": "global", "source": "user-said", "category": "decision"}),
        ),
    ] {
        let tool = if set == "engram" {
            "store_memory"
        } else {
            "remember"
        };
        for (owner, new, is_asked) in [
            ("ann", "The API listens on port 9090.", true),
            ("ann", "The API writes its logs as JSON lines.", false),
            // What everyone may change in mememory is private in engram.
            ("bob", "The API listens on port 9090.", set == "mememory"),
        ] {
            let engine = engine(Policy::DEFAULT);
            call(&engine, &user(owner), set, tool, &store);
            let mut further = store.clone();
            further["content"] = json!(new);
            let (ann, dialect) = (user("ann"), dialect(set).unwrap());
            let context = Context {
                engine: &engine,
                caller: &ann,
            };
            let arguments = further.as_object().unwrap().clone();
            let reply = dialect
                .call(dialect.tool(tool).unwrap(), context, arguments)
                .unwrap();
            let raised = reply.question.clone();
            assert_eq!(
                raised.is_some(),
                is_asked,
                "{set} {owner} {new}: {}",
                reply.text
            );
            if let Some(raised) = raised {
                assert!(!raised.decided.text.contains("CONTRADICTION"), "{set}");
                assert_eq!(raised.decided.structured["id"], reply.structured["id"]);
                assert_eq!(raised.question.choices().len(), 4);
            }
        }
    }
}

#[test]
fn the_first_directive_of_an_author_is_asked_about_until_it_is_decided() {
    for (answer, is_followed) in [("yes", true), ("no", false)] {
        let engine = engine(Policy::DEFAULT);
        let rule = |text: &str| {
            let rule = json!({"content": text, "type": "bootstrap"});
            call(&engine, &user("ann"), "mememory", "remember", &rule);
            assert!(engine.examine_for(Duration::from_mins(1)).unwrap());
        };
        let bob = user("bob");
        let context = Context {
            engine: &engine,
            caller: &bob,
        };
        let mememory = dialect("mememory").unwrap();
        let asked = || mememory.question_of_author(context).unwrap();
        assert_eq!(asked(), None);
        rule("Write in British English.");
        let question = asked().unwrap();
        for said in [
            "ann wrote this",
            "Write in British English.",
            "what ann writes",
        ] {
            assert!(question.message.contains(said), "{}", question.message);
        }
        // Nobody is asked for a name that is only claimed, or about oneself.
        let claimed = dialect("memory-mcp").unwrap();
        assert_eq!(claimed.question_of_author(context).unwrap(), None);
        let ann = user("ann");
        let own = Context {
            engine: &engine,
            caller: &ann,
        };
        assert_eq!(mememory.question_of_author(own).unwrap(), None);
        mememory.decide(context, &question, answer, None).unwrap();
        rule("Keep replies short.");
        assert_eq!(asked(), None, "{answer}");
        let system = engine.system(&bob);
        let trusted = system.settings().trusted_authors().unwrap();
        assert_eq!(trusted == ["ann"], is_followed, "{trusted:?}");
    }
}

#[test]
fn a_refused_call_changes_nothing_and_its_error_is_returned() {
    let engine = engine(Policy::DEFAULT);
    let ann = user("ann");
    let stored = json!({"content": "The blue gate."});
    let memory = call(&engine, &ann, "mememory", "remember", &stored);
    let context = Context {
        engine: &engine,
        caller: &ann,
    };
    let mememory = dialect("mememory").unwrap();
    let version = engine.version(&Space::default()).unwrap();
    let error = Error::not_found("no");
    let arguments = json!({"id": memory["id"]}).as_object().unwrap().clone();
    let forget = mememory.tool("forget").unwrap();
    let refused = mememory.refuse(forget, context, arguments, error.clone());
    assert_eq!(refused.message, error.message);
    assert_eq!(engine.version(&Space::default()).unwrap(), version);
}
