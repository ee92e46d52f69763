//! What hosts read when a session starts, and what their hooks leave behind.

use std::sync::Arc;

use loci_core::{Caller, Principal, Scope, Scopes, Space, Timestamp};
use loci_dialects::mempalace::{DIALECT, WAKE_UP_CHARACTERS_MAX, checkpoint, put_checkpoint, wake_up};
use loci_dialects::{Context, Dialect, engram, mememory};
use loci_engine::{Engine, SearchMode};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::{Value, json};

/// 2026-01-01T00:00:00Z.
const START_MICROSECONDS: i64 = 1_767_225_600_000_000;

fn engine() -> Engine {
    let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(START_MICROSECONDS)));
    Engine::new(Arc::new(NaiveStore::new()), Arc::new(HashingEmbedder::new(8)), clock, SearchMode::Words)
}

/// Calls a tool and returns its reply.
fn call(engine: &Engine, caller: &Caller, dialect: &Dialect, tool: &str, arguments: Value) -> Value {
    let Value::Object(arguments) = arguments else { panic!("{tool}") };
    dialect.call(dialect.tool(tool).unwrap(), Context { engine, caller }, arguments).unwrap().structured
}

/// Files a drawer and returns its id.
fn file(engine: &Engine, wing: &str, room: &str, content: &str) -> String {
    let arguments = json!({"wing": wing, "room": room, "content": content});
    let filed = call(engine, &Caller::local(), &DIALECT, "mempalace_add_drawer", arguments);
    filed["drawer_id"].as_str().unwrap().to_owned()
}

fn text(engine: &Engine, wing: Option<&str>, tokens_max: usize) -> String {
    wake_up(Context { engine, caller: &Caller::local() }, wing, tokens_max).unwrap()
}

#[test]
fn an_empty_palace_says_so() {
    let engine = engine();
    let expected = "No drawers here yet: mempalace_add_drawer files the first.\n";
    assert_eq!(text(&engine, None, 1_000), expected);
    assert_eq!(text(&engine, Some("nowhere"), 1_000), expected);
    assert_eq!(text(&engine, None, 3), "");
}

#[test]
fn a_session_begins_with_identity_story_and_diary() {
    let engine = engine();
    let local = Caller::local();
    let rule = json!({"content": "Answer in\nBritish English.", "delivery": "bootstrap", "type": "rule"});
    let rule = call(&engine, &local, &mememory::DIALECT, "remember", rule);
    let me = file(&engine, "global", "identity", "I am the harbour's memory.");
    let bare = file(&engine, "harbour", "cranes", "lorem ipsum");
    let decision = file(&engine, "harbour", "cranes", "We decided to paint the crane yellow.\nIt shows the rust.");
    let preference = file(&engine, "harbour", "boats", "I prefer the small boat to the large one.");
    let entry = json!({"agent_name": "Ada", "entry": "filed what I know\nand more"});
    let entry = call(&engine, &local, &DIALECT, "mempalace_diary_write", entry);
    let (rule, entry) = (rule["id"].as_str().unwrap(), entry["entry_id"].as_str().unwrap());
    let expected = format!(
        "# Identity\n\
         - Answer in British English. [{rule}]\n\
         - I am the harbour's memory. [{me}]\n\
         \n\
         # harbour: 3 drawers in cranes 2, boats 1\n\
         - decision 2026-01-01: We decided to paint the crane yellow. [{decision}]\n\
         - preference 2026-01-01: I prefer the small boat to the large one. [{preference}]\n\
         - drawer 2026-01-01: lorem ipsum [{bare}]\n\
         \n\
         # Latest in diaries\n\
         - 2026-01-01 wing_ada: filed what I know [{entry}]\n\
         \n\
         Nothing was left out; mempalace_get_drawer has each whole, by its id.\n"
    );
    assert_eq!(text(&engine, None, 1_000), expected);
    // Of one wing, what is said of all of them stays.
    assert_eq!(text(&engine, Some("harbour"), 1_000), expected);
    assert!(!text(&engine, Some("global"), 1_000).contains("# harbour"));
}

#[test]
fn nothing_is_shown_that_the_caller_may_not_read() {
    let engine = engine();
    let ann = Caller::new(Space::default(), Principal::new("ann", Scopes::of(&[Scope::Read, Scope::Write])));
    let secret = json!({"content": "a secret", "scope": "harbour", "source": "user-said", "category": "decision"});
    call(&engine, &ann, &engram::DIALECT, "store_memory", secret);
    let bob = Caller::new(Space::default(), Principal::new("bob", Scopes::of(&[Scope::Read])));
    let of = |caller| wake_up(Context { engine: &engine, caller }, None, 1_000).unwrap();
    assert!(of(&ann).contains("- decision 2026-01-01: a secret"));
    assert_eq!(of(&bob), "No drawers here yet: mempalace_add_drawer files the first.\n");
}

#[test]
fn it_never_goes_beyond_its_budget_and_counts_what_it_leaves_out() {
    let engine = engine();
    for number in 0..150 {
        let content = format!("{} {number} ", ["lorem", "\u{1f600}\u{1f600}", "語"][number % 3]);
        file(&engine, &format!("wing {}", number % 9), &format!("room {}", number % 7), &content.repeat(1 + number));
    }
    for number in 0..30 {
        file(&engine, "global", "identity", &format!("{number} {}", "who I am ".repeat(200)));
        let entry = json!({"agent_name": "ada", "entry": format!("{number} {}", "a quiet day ".repeat(100))});
        call(&engine, &Caller::local(), &DIALECT, "mempalace_diary_write", entry);
    }
    let mut lengths = Vec::new();
    for tokens_max in (0..400).step_by(7).chain([800, 1_600, 3_200, 1_000_000]) {
        for wing in [None, Some("wing 3"), Some("global")] {
            let text = text(&engine, wing, tokens_max);
            let place = format!("{wing:?} {tokens_max}");
            assert!(engine.count_tokens(&text) <= tokens_max, "{place}");
            assert!(text.encode_utf16().count() <= WAKE_UP_CHARACTERS_MAX, "{place}");
            lengths.push(text.len());
            if text.is_empty() {
                continue;
            }
            let (total, in_scope): (u64, &dyn Fn(&str) -> bool) = match wing {
                None => (210, &|_| true),
                Some("global") => (30, &|line| line.contains("drawer_global_")),
                Some(_) => (17, &|line| line.contains("drawer_wing_3_")),
            };
            let shown = text.lines().filter(|line| line.starts_with("- ") && in_scope(line)).count() as u64;
            let expected = format!("Left out: {} of {total} drawers.", total - shown);
            assert!(text.lines().last().unwrap().starts_with(&expected), "{place}: {expected}\n{text}");
        }
    }
    assert!(lengths.contains(&0) && lengths.iter().any(|length| *length > 5_000), "{lengths:?}");
}

#[test]
fn texts_that_are_too_large_together_are_shown_by_their_beginnings() {
    let engine = engine();
    for number in 0..12 {
        file(&engine, "large", "room", &format!("{number} {}", "x".repeat(1_000_000)));
    }
    let text = text(&engine, None, 10_000);
    assert!(text.contains("# large: 12 drawers in room 12") && text.contains("Nothing was left out"), "{text}");
}

/// However much was said or mined since.
#[test]
fn what_was_decided_outlasts_what_was_said_since() {
    let engine = engine();
    let decision = file(&engine, "harbour", "cranes", "We decided to paint the crane yellow.");
    for number in 0..150 {
        file(&engine, "harbour", "conversations", &format!("We decided to say {number}."));
        let mined = json!({
            "wing": "harbour", "room": "src", "content": format!("lorem {number}"), "source_file": "/src/a.rs",
        });
        call(&engine, &Caller::local(), &DIALECT, "mempalace_add_drawer", mined);
    }
    let bare = file(&engine, "harbour", "boats", "lorem ipsum");
    for wing in [None, Some("harbour")] {
        let text = text(&engine, wing, 1_000);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
        assert_eq!(lines.len(), 12, "{text}");
        for (line, id) in lines.iter().zip([decision.as_str(), &bare, "drawer_harbour_conversations_"]) {
            assert!(line.contains(id), "{text}");
        }
    }
}

#[test]
fn a_checkpoint_is_reported_until_the_next_one() {
    let engine = engine();
    let caller = Caller::local();
    let context = Context { engine: &engine, caller: &caller };
    let asked = || call(&engine, &caller, &DIALECT, "mempalace_memories_filed_away", json!({}));
    assert_eq!(checkpoint(context), Ok(None));
    put_checkpoint(context, 12).unwrap();
    let expected = json!({"filed": true, "message_count": 12, "timestamp": "2026-01-01T00:00:00+00:00"});
    assert_eq!((asked(), asked()), (expected.clone(), expected));
    put_checkpoint(context, 3).unwrap();
    assert_eq!(asked()["message_count"], 3);
    // Another's hooks are none of anybody's.
    let ann = Caller::new(Space::default(), Principal::new("ann", Scopes::of(&[Scope::Read])));
    assert_eq!(checkpoint(Context { engine: &engine, caller: &ann }), Ok(None));
}
