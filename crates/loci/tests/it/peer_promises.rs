//! The promises for each memory system that `loci import` reads: twice adds nothing, what changed there comes,
//! what was forgotten here stays so, not a byte changes there, and a damaged file ends in words.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::program::{Place, call};

/// The memory of a system: a text that stays, and one that changes.
const STAYS: &str = "Orla keeps the lantern in shed 41.";
const BEFORE: &str = "The key lies under the third stone.";
const AFTER: &str = "The key lies in the blue jar.";

/// The state of a store: the text that changes, and the day on which it did.
#[derive(Clone, Copy)]
struct State {
    text: &'static str,
    day: u32,
}

impl State {
    const FIRST: State = State {
        text: BEFORE,
        day: 2,
    };
    const SECOND: State = State {
        text: AFTER,
        day: 3,
    };

    fn time(self) -> String {
        format!("2026-01-0{}T10:00:00Z", self.day)
    }

    /// The same as seconds since 1970.
    fn seconds(self) -> i64 {
        1_767_225_600 + i64::from(self.day - 1) * 86_400 + 36_000
    }

    /// Both texts, each with an id.
    fn records(self) -> [(&'static str, &'static str, State); 2] {
        [("r1", STAYS, State::FIRST), ("r2", self.text, self)]
    }
}

/// A system and its store.
struct Source {
    peer: &'static str,
    /// The file or the folder in the place, which is imported.
    path: &'static str,
    /// Writes the store in a state.
    write: fn(&Path, State),
}

fn database(path: &Path, tables: &str) -> Connection {
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(tables).unwrap();
    connection
}

fn file(path: &Path, content: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content.to_string()).unwrap();
}

fn lines(path: &Path, lines: impl IntoIterator<Item = Value>) {
    let lines: Vec<String> = lines.into_iter().map(|line| line.to_string()).collect();
    fs::write(path, lines.join("\n")).unwrap();
}

fn list(state: State, of: impl Fn(&str, &str, State) -> Value) -> Value {
    state
        .records()
        .map(|(id, text, state)| of(id, text, state))
        .into_iter()
        .collect()
}

const SOURCES: [Source; 18] = [
    Source {
        peer: "mempalace",
        path: "palace",
        write: |path, state| {
            let database = database(
                &path.join("sqlite_exact.sqlite3"),
                "CREATE TABLE collections (id INTEGER PRIMARY KEY, name TEXT);
                 CREATE TABLE documents (collection_id, id, document, metadata_json, created_at, updated_at);
                 INSERT INTO collections VALUES (1, 'mempalace_drawers');",
            );
            for (id, text, state) in state.records() {
                // The second half stands before the first.
                let (first, second) = text.split_at(10);
                for (place, part) in [(1, second), (0, first)] {
                    let metadata = json!({
                        "wing": "shop", "room": "notes", "parent_drawer_id": id, "chunk_index": place,
                        "filed_at": "2026-01-01T10:00:00Z", "last_modified": state.time(),
                    });
                    let row = params![format!("{id}-{place}"), part, metadata.to_string()];
                    let sql =
                        "INSERT INTO documents VALUES (1, ?1, ?2, ?3, '2026-01-01 10:00:00', '')";
                    database.execute(sql, row).unwrap();
                }
            }
        },
    },
    Source {
        peer: "claude-mem",
        path: "claude",
        write: |path, state| {
            let database = database(
                &path.join("claude-mem.db"),
                "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, project TEXT);
                 CREATE TABLE observations (id INTEGER PRIMARY KEY, project, title, narrative, created_at_epoch);",
            );
            for (number, (_, text, _)) in (1_i64..).zip(state.records()) {
                // It notes no time of a change.
                let row = params![number, text, State::FIRST.seconds() * 1_000];
                let sql = "INSERT INTO observations VALUES (?1, 'shop', 'Title', ?2, ?3)";
                database.execute(sql, row).unwrap();
            }
        },
    },
    Source {
        peer: "mcp-memory-service",
        path: "service/sqlite_vec.db",
        write: |path, state| {
            let database = database(
                path,
                "CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash, content, tags, metadata, created_at REAL,
                     updated_at REAL, deleted_at REAL);",
            );
            for (id, text, state) in state.records() {
                let row = params![id, text, State::FIRST.seconds(), state.seconds()];
                let sql = "INSERT INTO memories (content_hash, content, created_at, updated_at) VALUES (?1, ?2, ?3, ?4)";
                database.execute(sql, row).unwrap();
            }
        },
    },
    Source {
        peer: "mcp-memory-service",
        path: "export.json",
        write: |path, state| {
            let memories = list(
                state,
                |id, text, state| json!({"content_hash": id, "content": text, "created_at": 1.0, "updated_at": state.seconds()}),
            );
            file(path, &json!({"export_metadata": {}, "memories": memories}));
        },
    },
    Source {
        peer: "server-memory",
        path: "memory.jsonl",
        write: |path, state| {
            let observations = list(state, |_, text, _| json!(text));
            let entity = json!({"type": "entity", "name": "Orla", "entityType": "person", "observations": observations});
            lines(path, [entity]);
        },
    },
    Source {
        peer: "mem0",
        path: "mem0.json",
        write: |path, state| {
            let results = list(
                state,
                |id, text, state| json!({"id": id, "memory": text, "created_at": "2026-01-01T10:00:00Z", "updated_at": state.time()}),
            );
            file(path, &json!({ "results": results }));
        },
    },
    Source {
        peer: "mem0",
        path: "mem0",
        write: |path, state| {
            let database = database(
                &path.join("history.db"),
                "CREATE TABLE history (id, memory_id, new_memory, event, created_at, updated_at, is_deleted, actor_id, role)",
            );
            for (id, text, state) in state.records() {
                let sql = "INSERT INTO history (memory_id, new_memory, event, created_at, updated_at) \
                           VALUES (?1, ?2, 'ADD', '2026-01-01T10:00:00Z', ?3)";
                database
                    .execute(sql, params![id, text, state.time()])
                    .unwrap();
            }
        },
    },
    Source {
        peer: "chromadb",
        path: "chroma",
        write: |path, state| {
            let database = database(
                &path.join("chroma.sqlite3"),
                "CREATE TABLE collections (id, name);
                 CREATE TABLE segments (id, scope, collection);
                 CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id, embedding_id, created_at);
                 CREATE TABLE embedding_metadata (id, key, string_value, int_value, float_value, bool_value);
                 INSERT INTO collections VALUES ('c', 'notes');
                 INSERT INTO segments VALUES ('s', 'METADATA', 'c');",
            );
            for (number, (id, text, _)) in (1_i64..).zip(state.records()) {
                // An update does not move the time.
                let sql = "INSERT INTO embeddings VALUES (?1, 's', ?2, '2026-01-01 10:00:00')";
                database.execute(sql, params![number, id]).unwrap();
                let sql = "INSERT INTO embedding_metadata (id, key, string_value) VALUES (?1, 'chroma:document', ?2)";
                database.execute(sql, params![number, text]).unwrap();
            }
        },
    },
    Source {
        peer: "langgraph",
        path: "store.db",
        write: |path, state| {
            let database = database(
                path,
                "CREATE TABLE store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)",
            );
            for (id, text, state) in state.records() {
                let value = json!({ "content": text }).to_string();
                let sql = "INSERT INTO store VALUES ('a.b', ?1, ?2, '2026-01-01 10:00:00', ?3, NULL, NULL)";
                database
                    .execute(sql, params![id, value, state.time()])
                    .unwrap();
            }
        },
    },
    Source {
        peer: "basic-memory",
        path: "notes",
        write: |path, state| {
            fs::create_dir_all(path).unwrap();
            for (id, text, _) in state.records() {
                let note =
                    format!("---\ntitle: {id}\ntype: note\npermalink: main/{id}\n---\n\n{text}");
                let path = path.join(format!("{id}.md"));
                if fs::read_to_string(&path).ok().as_ref() != Some(&note) {
                    fs::write(path, note).unwrap();
                }
            }
        },
    },
    Source {
        peer: "graphiti",
        path: "graph.jsonl",
        write: |path, state| {
            let episode = |(id, text, _): (&str, &str, State)| json!({"e": {"uuid": id, "name": id, "content": text, "valid_at": "2026-01-01T10:00:00Z"}});
            lines(path, state.records().map(episode));
        },
    },
    Source {
        peer: "letta",
        path: "agent.af",
        write: |path, state| {
            let blocks = list(
                state,
                |id, text, state| json!({"id": id, "label": "human", "value": text, "updated_at": state.time()}),
            );
            let created_at = "2026-01-01T00:00:00Z";
            file(
                path,
                &json!({"agents": [], "blocks": blocks, "created_at": created_at}),
            );
        },
    },
    Source {
        peer: "mememory",
        path: "dump.sql",
        write: |path, state| {
            let row = |(id, text, state): (&str, &str, State)| {
                let time = state.time();
                format!("{id}\t{text}\tglobal\tnote\t0.5\t2026-01-01 00:00:00+00\t{time}\n")
            };
            let rows = state.records().map(row).concat();
            let head = "--\n-- PostgreSQL database dump\n--\n\nCOPY public.memories (id, content, scope, type, weight, created_at, updated_at) FROM stdin;\n";
            fs::write(path, format!("{head}{rows}\\.\n")).unwrap();
        },
    },
    Source {
        peer: "memory-mcp",
        path: "memories.json",
        write: |path, state| {
            let document = |(id, text, state): (&str, &str, State)| {
                json!({
                    "_id": {"$oid": id}, "user_id": "local", "tier": "ltm", "content": text, "is_deleted": false,
                    "created_at": {"$date": "2026-01-01T10:00:00Z"}, "updated_at": {"$date": state.time()},
                })
            };
            lines(path, state.records().map(document));
        },
    },
    Source {
        peer: "engram",
        path: "points.json",
        write: |path, state| {
            let points = list(state, |id, text, _| {
                json!({"id": id, "payload": {
                    "content": text, "scope": "s", "category": "convention", "owner": "local",
                    "created_at": "2026-01-01T10:00:00Z",
                }})
            });
            file(
                path,
                &json!({"result": {"points": points, "next_page_offset": null}}),
            );
        },
    },
    Source {
        peer: "claude-ai",
        path: "claude-ai",
        write: |path, state| {
            let docs = list(
                state,
                |id, text, _| json!({"uuid": id, "filename": "a.md", "content": text, "created_at": "2026-01-01T10:00:00Z"}),
            );
            let project =
                json!({"uuid": "p1", "name": "Shop", "prompt_template": "", "docs": docs});
            file(&path.join("projects/p1.json"), &project);
        },
    },
    Source {
        peer: "anthropic-memory",
        path: "tool/memories",
        write: |path, state| {
            fs::create_dir_all(path).unwrap();
            for (id, text, _) in state.records() {
                fs::write(path.join(id), text).unwrap();
            }
        },
    },
    Source {
        peer: "anthropic-memory",
        path: "page.json",
        write: |path, state| {
            let data = list(state, |id, text, state| {
                json!({
                    "id": id, "memory_store_id": "s", "path": format!("/{id}"), "content": text,
                    "created_at": "2026-01-01T10:00:00Z", "updated_at": state.time(),
                })
            });
            file(path, &json!({"data": data, "next_page": null}));
        },
    },
];

/// Returns the bytes of every file below a folder.
fn bytes_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Imports a source; nothing changes there. Returns what was stored, was there, was updated and stays
/// forgotten.
fn imported(place: &Place, source: &Source) -> [u64; 4] {
    let path = place.path(source.path);
    let folder = place.path("");
    let its_own = |folder: &Path| {
        let mut files = bytes_below(folder);
        files.retain(|file, _| file.starts_with(&path) || file.parent() == path.parent());
        files.retain(|file, _| !file.starts_with(place.data()));
        files
    };
    let before = its_own(&folder);
    let path = path.to_str().unwrap();
    let told = place.json(&["import", "--from", source.peer, path]);
    assert_eq!(its_own(&folder), before, "{}", source.path);
    ["stored", "present", "updated", "forgotten"].map(|key| told[key].as_u64().unwrap_or_default())
}

/// Returns the texts that are remembered, each with its id.
fn texts(place: &Place) -> BTreeMap<String, String> {
    let listed = place.rows(&["list", "--limit", "100"]);
    let listed = listed.as_array().unwrap().iter();
    listed
        .map(|memory| {
            let text = memory["content"].as_str().unwrap();
            // A note of basic-memory comes with its keys.
            let text = text.rsplit('\n').next().unwrap().to_owned();
            (text, memory["id"].as_str().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn what_comes_from_another_system_comes_once_follows_it_and_stays_forgotten() {
    for source in &SOURCES {
        let (place, name) = (Place::new(), source.path);
        let path = place.path(name);
        (source.write)(&path, State::FIRST);
        let [stored, ..] = imported(&place, source);
        assert!(stored >= 2, "{name}: {stored}");
        let known: Vec<String> = texts(&place).into_keys().collect();
        assert_eq!(known, [STAYS, BEFORE], "{name}");
        assert_eq!(imported(&place, source), [0, stored, 0, 0], "{name}: twice");
        (source.write)(&path, State::SECOND);
        let [added, _, updated, _] = imported(&place, source);
        // The reference server has no ids: another text is another observation.
        let is_new = source.peer == "server-memory";
        assert_eq!(
            [added, updated],
            [u64::from(is_new), u64::from(!is_new)],
            "{name}"
        );
        let known = texts(&place);
        assert!(known.contains_key(AFTER), "{name}: {known:?}");
        assert_eq!(known.contains_key(BEFORE), is_new, "{name}");
        let [added, _, updated, _] = imported(&place, source);
        assert_eq!([added, updated], [0, 0], "{name}: twice after a change");
        place.run(&["forget", &known[AFTER]]).succeeded();
        let [added, _, updated, _] = imported(&place, source);
        assert_eq!([added, updated], [0, 0], "{name}: forgotten");
        place
            .run(&["delete", &known[STAYS], "--forever", "--yes"])
            .succeeded();
        let [added, _, updated, _] = imported(&place, source);
        assert_eq!([added, updated], [0, 0], "{name}: deleted");
        let known = texts(&place);
        let is_gone = |text: &str| !known.contains_key(text);
        assert!(is_gone(AFTER) && is_gone(STAYS), "{name}: {known:?}");
    }
}

/// Returns the file of a source in which its texts are.
fn main_file(path: &Path) -> PathBuf {
    let files = if path.is_dir() {
        bytes_below(path)
    } else {
        BTreeMap::from([(path.to_owned(), fs::read(path).unwrap())])
    };
    files.into_keys().next_back().unwrap()
}

#[test]
fn a_damaged_store_ends_in_words_and_what_came_before_stands() {
    for source in &SOURCES {
        let (place, name) = (Place::new(), source.path);
        let path = place.path(name);
        (source.write)(&path, State::FIRST);
        imported(&place, source);
        let file = main_file(&path);
        let whole = fs::read(&file).unwrap();
        let cut = whole[..whole.len() / 2].to_owned();
        let noise: Vec<u8> = (0..=u8::MAX)
            .map(|number| number.wrapping_mul(7))
            .cycle()
            .take(4096)
            .collect();
        let opened = [b"SQLite format 3\0".as_slice(), &noise].concat();
        let nested = "[".repeat(200_000).into_bytes();
        for damaged in [cut, noise, opened, nested, Vec::new()] {
            fs::write(&file, &damaged).unwrap();
            let from = ["import", "--from", source.peer, path.to_str().unwrap()];
            let ended = place.run(&from);
            let told = format!("{} {}", ended.stdout, ended.stderr);
            assert!(
                matches!(ended.code, 0..=2) && !told.contains("panicked"),
                "{name}: {:?} {told}",
                ended.code
            );
            // It says what was wrong, or counts what was left out.
            assert!(!told.trim().is_empty(), "{name}");
        }
        let known: Vec<String> = texts(&place).into_keys().collect();
        let stands = |text: &str| known.iter().any(|known| known == text);
        // A file of text that is cut is another text.
        let is_text = ["notes", "tool/memories"].contains(&name);
        assert!(
            stands(STAYS) && (stands(BEFORE) || is_text),
            "{name}: {known:?}"
        );
    }
}

/// A change that a person made here later stays, whatever changes there before that.
#[test]
fn what_was_changed_here_later_stays() {
    let place = Place::new();
    let source = SOURCES.iter().find(|one| one.path == "mem0.json").unwrap();
    (source.write)(&place.path(source.path), State::FIRST);
    imported(&place, source);
    let id = &texts(&place)[BEFORE];
    let own = json!({"id": id, "content": "The key hangs on the hook."});
    call(&place, "mememory", "update", &own);
    (source.write)(&place.path(source.path), State::SECOND);
    assert_eq!(imported(&place, source)[2], 0);
    assert!(texts(&place).contains_key("The key hangs on the hook."));
}

fn drawers(place: &Place, path: &Path) -> u64 {
    let path = path.to_str().unwrap();
    let told = place.json(&["palace", "mine", "--mode", "convos", path]);
    told["drawers"]["added"].as_u64().unwrap()
}

/// A chat of Cursor may be in the database of its editor and in a transcript.
#[test]
fn a_chat_in_two_places_is_filed_once_whichever_comes_first() {
    let said = |texts: &[&str]| -> String {
        let line = |(number, text): (usize, &&str)| {
            let (role, text) = match number % 2 {
                0 => ("user", format!("<user_query>\n{text}\n</user_query>")),
                _ => ("assistant", (*text).to_owned()),
            };
            let line =
                json!({"role": role, "message": {"content": [{"type": "text", "text": text}]}});
            format!("{line}\n")
        };
        texts.iter().enumerate().map(line).collect()
    };
    let stored = |path: &Path, texts: &[&str]| {
        let database = database(path, "CREATE TABLE cursorDiskKV (key TEXT, value TEXT)");
        let bubbles: Value = texts
            .iter()
            .enumerate()
            .map(|(number, text)| json!({"type": 1 + number % 2, "text": text, "createdAt": 1_767_225_600_000_u64}))
            .collect();
        let chat = json!({"name": "Knots", "conversation": bubbles}).to_string();
        let sql = "INSERT INTO cursorDiskKV VALUES ('composerData:0a', ?1)";
        database.execute(sql, [chat]).unwrap();
    };
    let all = ["Which knot?", "Yes.", "Is it dry?", "Yes.", "Thanks."];
    for is_database_first in [true, false] {
        let place = Place::new();
        let database = place.path("Cursor/User/globalStorage/state.vscdb");
        let session = "projects/tmp-shop/agent-transcripts/0a/0a.jsonl";
        let transcript = place.path(session);
        // At first both know the beginning, one more than the other.
        let (of_database, of_transcript) = if is_database_first { (4, 2) } else { (2, 4) };
        stored(&database, &all[..of_database]);
        place.write(session, said(&all[..of_transcript]));
        let paths = if is_database_first {
            [&database, &transcript]
        } else {
            [&transcript, &database]
        };
        let added = paths.map(|path| drawers(&place, path));
        assert_eq!(added, [4, 0], "{is_database_first}");
        // Then the transcript goes on, and the database after it.
        place.write(session, said(&all));
        assert_eq!(drawers(&place, &transcript), 1, "{is_database_first}");
        stored(&database, &all);
        assert_eq!(drawers(&place, &database), 0, "{is_database_first}");
        assert_eq!(drawers(&place, &transcript), 0, "{is_database_first}");
        let rows = place.rows(&["list", "--limit", "100"]);
        let mut found: Vec<&str> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|memory| memory["content"].as_str().unwrap())
            .collect();
        found.sort_unstable();
        let mut expected = all;
        expected.sort_unstable();
        assert_eq!(found, expected, "{is_database_first}");
    }
}
