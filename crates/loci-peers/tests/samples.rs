//! Small stores that the packages themselves wrote, against the list of what is in them.
//!
//! They lie beside the repository (`../shared/data/peers`); where they are missing, nothing is tried,
//! loudly.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that fails may panic, and one that is skipped says so"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use loci_peers::{Peer, PeerFact, PeerMemory, PeerRecord, Report, read};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// What was read of a sample.
struct Found {
    memories: Vec<PeerMemory>,
    facts: Vec<PeerFact>,
    tunnels: usize,
    report: Report,
}

fn samples() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/peers");
    if folder.join("MANIFEST.json").is_file() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: {} is missing, so no store of another package is read",
        folder.display()
    );
    None
}

/// Returns the sample, unpacked, and what must be in it.
fn sample(folder: &Path, name: &str) -> (TempDir, Value) {
    let file = format!("{name}.zip");
    let unpacked = tempfile::tempdir().unwrap();
    zip::ZipArchive::new(File::open(folder.join(&file)).unwrap())
        .unwrap()
        .extract(unpacked.path())
        .unwrap();
    let manifest = fs::read(folder.join("MANIFEST.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    (unpacked, manifest["samples"][&file].clone())
}

/// Returns the hash of each file below a folder.
fn hashes(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut hashes = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let hash = HEXLOWER.encode(&Sha256::digest(fs::read(&path).unwrap()));
                hashes.insert(path, hash);
            }
        }
    }
    hashes
}

/// Reads a sample; not one byte of its folder changes, and no file appears.
fn found(peer: Peer, path: &Path, whole: &Path) -> Found {
    let before = hashes(whole);
    let (mut memories, mut facts, mut tunnels) = (Vec::new(), Vec::new(), 0);
    let zone = TimeZone::get("Asia/Kathmandu").unwrap();
    let report = read(peer, path, zone, &mut |record| {
        match record {
            PeerRecord::Memory(memory) => memories.push(*memory),
            PeerRecord::Fact(fact) => facts.push(fact),
            PeerRecord::Tunnel(_) => tunnels += 1,
            PeerRecord::Decision(_) => {}
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(hashes(whole), before);
    Found {
        memories,
        facts,
        tunnels,
        report,
    }
}

fn sha(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

fn moment(value: &Value) -> Option<Timestamp> {
    value.as_str().map(|text| text.parse().unwrap())
}

/// Compares memories with the list: ids, texts byte for byte, times, tags; what was deleted stays so.
fn assert_records(found: &Found, expected: &Value, id_of: impl Fn(&Value) -> String) {
    let mut left: BTreeMap<&str, &PeerMemory> = found
        .memories
        .iter()
        .map(|memory| (&*memory.id, memory))
        .collect();
    assert_eq!(left.len(), found.memories.len(), "ids are unique");
    for record in expected["records"].as_array().unwrap() {
        let id = id_of(record);
        if record["deleted"] == true {
            assert!(!left.contains_key(&*id), "{id} was deleted");
            continue;
        }
        let memory = left
            .remove(&*id)
            .unwrap_or_else(|| panic!("{id} is missing"));
        assert_eq!(
            sha(&memory.text),
            record["text_sha256"].as_str().unwrap(),
            "{id}"
        );
        if let Some(created) = moment(&record["created_utc"]) {
            assert_eq!(memory.created_at, Some(created), "{id}");
        }
        if let Some(updated) = moment(&record["updated_utc"]) {
            assert_eq!(memory.updated_at, Some(updated), "{id}");
        }
        let tags: Vec<&str> = record["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| tag.as_str().unwrap())
            .collect();
        assert_eq!(memory.tags, tags, "{id}");
    }
    assert_eq!(
        left.keys().collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "nothing else came"
    );
}

/// Compares the texts of memories with the list, where nothing has an id of its own. A text without a
/// character is no memory.
fn assert_texts(found: &Found, expected: &Value) {
    let memories = found.memories.iter();
    let mut texts: Vec<String> = memories.map(|memory| sha(&memory.text)).collect();
    let records = expected["records"].as_array().unwrap().iter();
    let mut said: Vec<&str> = records
        .filter(|record| record["chars"] != 0)
        .map(|record| record["text_sha256"].as_str().unwrap())
        .collect();
    texts.sort();
    said.sort_unstable();
    assert_eq!(texts, said);
}

fn own_id(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

#[test]
fn palaces_come_in_whole_with_joined_drawers_facts_and_tunnels() {
    let Some(folder) = samples() else { return };
    for name in [
        "mempalace-3.11.0-chroma",
        "mempalace-3.11.0-sqlite_exact",
        "mempalace-3.11.0-sqlite_exact-open",
    ] {
        let (unpacked, expected) = sample(&folder, name);
        for path in [unpacked.path().to_owned(), unpacked.path().join("palace")] {
            assert_eq!(Peer::of(&path), Some(Peer::Mempalace), "{name}");
            let found = found(Peer::Mempalace, &path, unpacked.path());
            assert_records(&found, &expected, own_id);
            for (memory, record) in found
                .memories
                .iter()
                .zip(expected["records"].as_array().unwrap())
            {
                assert_eq!(
                    memory.container.as_deref(),
                    record["wing"].as_str(),
                    "{name}"
                );
                assert_eq!(memory.kind.as_deref(), record["room"].as_str(), "{name}");
                let author = record["author"].as_str().filter(|name| *name != "mcp");
                assert_eq!(memory.author.as_deref(), author, "{name}");
                assert_eq!(memory.is_diary, record["kind"] == "diary_entry", "{name}");
            }
            let facts = expected["facts"].as_array().unwrap();
            assert_eq!(found.facts.len(), facts.len(), "{name}");
            for (fact, said) in found.facts.iter().zip(facts) {
                let words = [&fact.subject, &fact.predicate, &fact.object];
                assert_eq!(
                    words.map(|word| Some(word.as_str())),
                    ["subject", "predicate", "object"].map(|key| said[key].as_str())
                );
                for (span, key) in [(fact.valid_from, "valid_from"), (fact.valid_to, "valid_to")] {
                    let text = said[key].as_str();
                    assert_eq!(span.is_some(), text.is_some(), "{key}");
                    if let (Some((first, last)), Some(text)) = (span, text) {
                        assert!(first.to_string().starts_with(&text[..10]), "{key} {text}");
                        assert_eq!(first == last, text.contains('T'), "{key} {text}");
                    }
                }
            }
            assert_eq!(
                found.tunnels,
                expected["tunnels"].as_array().unwrap().len(),
                "{name}"
            );
            let zones = found
                .report
                .notices
                .iter()
                .filter(|notice| notice.contains("zone"));
            assert_eq!(
                zones.count(),
                0,
                "{name}: times have their offset beside them"
            );
        }
    }
}

#[test]
fn a_database_without_its_log_is_named_and_not_taken_for_an_empty_one() {
    let Some(folder) = samples() else { return };
    for (name, log, peer, path) in [
        (
            "mempalace-3.11.0-sqlite_exact-open",
            "palace/sqlite_exact.sqlite3-wal",
            Peer::Mempalace,
            "palace",
        ),
        (
            "claude-mem-13.25.3-open",
            ".claude-mem/claude-mem.db-wal",
            Peer::ClaudeMem,
            ".claude-mem",
        ),
        (
            "mcp-memory-service-12.4.0-open",
            "mcp-memory/sqlite_vec.db-wal",
            Peer::McpMemoryService,
            "mcp-memory",
        ),
    ] {
        let (unpacked, _) = sample(&folder, name);
        fs::remove_file(unpacked.path().join(log)).unwrap();
        let path = unpacked.path().join(path);
        let error = read(peer, &path, TimeZone::UTC, &mut |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("-wal"), "{error}");
    }
}

#[test]
fn claude_mem_comes_in_with_narratives_facts_and_prompts() {
    let Some(folder) = samples() else { return };
    for name in ["claude-mem-13.25.3", "claude-mem-13.25.3-open"] {
        let (unpacked, expected) = sample(&folder, name);
        let path = unpacked.path().join(".claude-mem");
        assert_eq!(Peer::of(&path), Some(Peer::ClaudeMem));
        let found = found(Peer::ClaudeMem, &path, unpacked.path());
        let records = expected["records"].as_array().unwrap();
        assert_eq!(found.memories.len(), records.len());
        for (memory, record) in found.memories.iter().zip(records) {
            let id = own_id(record);
            assert_eq!(memory.id, id);
            assert_eq!(memory.created_at, moment(&record["created_utc"]), "{id}");
            if let Some(project) = record["project"].as_str() {
                assert_eq!(memory.container.as_deref(), Some(project), "{id}");
            }
            assert_eq!(memory.title.as_deref(), record["title"].as_str(), "{id}");
            assert_eq!(memory.kind.as_deref(), record["kind"].as_str(), "{id}");
            for fact in record["facts"].as_array().into_iter().flatten() {
                assert!(memory.text.contains(fact.as_str().unwrap()), "{id}");
            }
            assert!(!memory.text.contains("hidden part"), "{id}");
            // The list has the text of the narrative, before private parts are cut and facts added.
            let is_whole = record["facts"].is_null()
                && !record["starts"].as_str().unwrap().contains("<private>");
            if is_whole && !id.starts_with("session_summaries") {
                assert_eq!(
                    sha(&memory.text),
                    record["text_sha256"].as_str().unwrap(),
                    "{id}"
                );
            }
            if let Some(fields) = record["fields"].as_object() {
                let parts: Vec<String> = memory.text.split("\n\n").map(sha).collect();
                let expected: Vec<&str> =
                    fields.values().map(|hash| hash.as_str().unwrap()).collect();
                assert_eq!(parts, expected, "{id}");
            }
        }
        let cut = "left out of texts, because they were marked as private: 1";
        assert_eq!(found.report.notices.last().map(String::as_str), Some(cut));
        assert_eq!(
            found.report.notices.len() == 2,
            !name.ends_with("open"),
            "a log is missed where none is"
        );
    }
}

#[test]
fn mcp_memory_service_comes_in_without_what_was_deleted_and_what_searching_wrote() {
    let Some(folder) = samples() else { return };
    for (name, path) in [
        ("mcp-memory-service-12.4.0", "mcp-memory"),
        ("mcp-memory-service-12.4.0-open", "mcp-memory/sqlite_vec.db"),
        ("mcp-memory-service-12.4.0-export-json", "export.json"),
    ] {
        let (unpacked, expected) = sample(&folder, name);
        let path = unpacked.path().join(path);
        assert_eq!(Peer::of(&path), Some(Peer::McpMemoryService), "{name}");
        let found = found(Peer::McpMemoryService, &path, unpacked.path());
        assert_records(&found, &expected, own_id);
        let questions = found.memories.iter().filter(|memory| {
            memory.attributes.iter().any(|(name, value)| {
                name.contains("access") || value.contains("rope frays harbour")
            })
        });
        assert_eq!(
            questions.count(),
            0,
            "{name}: questions of users stay there"
        );
        let replaced = expected["records"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|record| record["superseded_by"].is_string());
        for record in replaced {
            let by = found
                .memories
                .iter()
                .find(|memory| memory.id == record["superseded_by"].as_str().unwrap())
                .unwrap();
            assert_eq!(by.supersedes.as_deref(), record["id"].as_str(), "{name}");
        }
        let deleted = expected["records"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|record| record["deleted"] == true)
            .count();
        assert_eq!(
            found
                .report
                .left_out
                .get("deleted memories")
                .copied()
                .unwrap_or_default(),
            deleted as u64
        );
    }
}

#[test]
fn mem0_comes_in_with_what_only_its_points_know() {
    let Some(folder) = samples() else { return };
    let (unpacked, expected) = sample(&folder, "mem0ai-2.2.1");
    let path = unpacked.path().join("mem0");
    assert_eq!(Peer::of(&path), Some(Peer::Mem0));
    let whole = found(Peer::Mem0, &path, unpacked.path());
    assert_records(&whole, &expected, own_id);
    for memory in &whole.memories {
        assert_eq!(
            memory.attributes.get("user_id").map(String::as_str),
            Some("orla"),
            "{}",
            memory.id
        );
    }
    let expiring = whole
        .memories
        .iter()
        .filter(|memory| memory.expires_at.is_some());
    assert_eq!(expiring.count(), 1);
    assert_eq!(whole.report.left_out["deleted memories"], 1);
    assert_eq!(whole.report.notices, Vec::<String>::new());

    fs::remove_dir_all(path.join("qdrant")).unwrap();
    let alone = found(Peer::Mem0, &path.join("history.db"), unpacked.path());
    assert_eq!(alone.memories.len(), whole.memories.len());
    assert!(
        alone.report.notices[0].contains("Qdrant"),
        "{:?}",
        alone.report
    );

    let (unpacked, expected) = sample(&folder, "mem0ai-2.2.1-get_all-json");
    let path = unpacked.path().join("get_all.json");
    assert_eq!(Peer::of(&path), Some(Peer::Mem0));
    assert_records(
        &found(Peer::Mem0, &path, unpacked.path()),
        &expected,
        own_id,
    );
}

#[test]
fn the_reference_server_comes_in_with_repeated_names_and_relations() {
    let Some(folder) = samples() else { return };
    let (unpacked, expected) = sample(&folder, "server-memory-2026.8.31");
    for path in [
        unpacked.path().to_owned(),
        unpacked.path().join("memory.jsonl"),
    ] {
        assert_eq!(Peer::of(&path), Some(Peer::ServerMemory));
        let found = found(Peer::ServerMemory, &path, unpacked.path());
        assert_texts(&found, &expected);
        let ids: std::collections::BTreeSet<&str> =
            found.memories.iter().map(|memory| &*memory.id).collect();
        assert_eq!(ids.len(), found.memories.len());
        assert_eq!(
            found
                .facts
                .iter()
                .filter(|fact| fact.predicate != "entity_type")
                .count() as u64
                + found.report.left_out["relations that were said before"],
            expected["relations"].as_array().unwrap().len() as u64
        );
    }
}

#[test]
fn folders_of_chroma_and_stores_of_langgraph_come_in() {
    let Some(folder) = samples() else { return };
    let (unpacked, expected) = sample(&folder, "chromadb-1.5.9");
    let path = unpacked.path().join("chroma");
    assert_eq!(Peer::of(&path), Some(Peer::Chroma));
    let chroma = found(Peer::Chroma, &path, unpacked.path());
    assert_eq!(
        chroma.memories.len() as u64,
        expected["live"].as_u64().unwrap()
    );
    for record in expected["records"].as_array().unwrap() {
        let id = format!(
            "{}/{}",
            record["collection"].as_str().unwrap(),
            own_id(record)
        );
        let memory = chroma
            .memories
            .iter()
            .find(|memory| memory.id == id)
            .unwrap();
        assert_eq!(
            sha(&memory.text),
            record["text_sha256"].as_str().unwrap(),
            "{id}"
        );
        assert_eq!(memory.created_at, moment(&record["created_utc"]), "{id}");
    }
    let left: u64 = chroma.report.left_out.values().sum();
    assert_eq!(
        left,
        expected["without_document"].as_array().unwrap().len() as u64
    );

    let (unpacked, expected) = sample(&folder, "langgraph-store-sqlite-3.1.2");
    let path = unpacked.path().join("store.db");
    assert_eq!(Peer::of(&path), Some(Peer::LangGraph));
    let graph = found(Peer::LangGraph, &path, unpacked.path());
    assert_texts(&graph, &expected);
}

/// Returns a fact as the list of the samples has it.
fn told(fact: &PeerFact) -> String {
    let day = |span: Option<(Timestamp, Timestamp)>| {
        span.map_or_else(
            || "-".to_owned(),
            |(first, _)| first.to_string()[..10].to_owned(),
        )
    };
    format!(
        "{} | {} | {} | {} {}",
        fact.subject,
        fact.predicate,
        fact.object,
        day(fact.valid_from),
        day(fact.valid_to)
    )
}

#[test]
fn projects_of_basic_memory_come_in_with_relations_and_what_held_when() {
    let Some(folder) = samples() else { return };
    let (unpacked, expected) = sample(&folder, "basic-memory-0.24.1");
    let root = unpacked.path();
    for path in [
        root.to_owned(),
        root.join(".basic-memory"),
        root.join(".basic-memory/memory.db"),
        root.join("basic-memory"),
    ] {
        assert_eq!(Peer::of(&path), Some(Peer::BasicMemory), "{path:?}");
        let found = found(Peer::BasicMemory, &path, root);
        assert_records(&found, &expected, own_id);
        let records = expected["records"].as_array().unwrap();
        for record in records {
            let memory = found
                .memories
                .iter()
                .find(|memory| memory.id == own_id(record))
                .unwrap();
            assert_eq!(memory.title.as_deref(), record["title"].as_str());
            assert_eq!(memory.kind.as_deref(), record["note_type"].as_str());
            assert_eq!(memory.container.as_deref(), Some("main"));
            let id = memory.attributes.get("external_id").map(String::as_str);
            assert_eq!(id, record["external_id"].as_str());
        }
        let wall = found
            .memories
            .iter()
            .find(|memory| memory.id.ends_with("harbour-wall"))
            .unwrap();
        let orla = "main/quayside/plain-orla".to_owned();
        let links = ["links_to", "repairs"].map(|kind| (orla.clone(), kind.to_owned()));
        let mut linked = wall.links.clone();
        linked.sort_by(|left, right| left.1.cmp(&right.1));
        assert_eq!(linked, links);
        assert_eq!(
            found.facts.iter().map(told).collect::<Vec<_>>(),
            [
                "Harbour Wall | repairs | Plain Orla | - -",
                "Harbour Wall | is part of | Nobody Yet | - -",
                "Harbour Wall | fact | qualified text | 2026-01-01 2026-05-31",
            ]
        );
        // The database was left with its log written back, which its header does not tell.
        let [missing_log] = &found.report.notices[..] else {
            panic!("{:?}", found.report)
        };
        assert!(missing_log.contains("memory.db-wal"), "no zone is guessed");
        assert_eq!(found.report.left_out, BTreeMap::new());
    }
}

#[test]
fn notes_of_basic_memory_come_from_what_is_left_of_them() {
    let Some(folder) = samples() else { return };
    let (unpacked, expected) = sample(&folder, "basic-memory-0.24.1");
    let (root, notes) = (unpacked.path(), unpacked.path().join("basic-memory"));
    let update = notes.join("quayside/Update.md");
    let text = fs::read_to_string(&update).unwrap();
    fs::write(&update, format!("{text} It was changed since.")).unwrap();
    fs::remove_file(notes.join("other/Twin One.md")).unwrap();
    fs::write(notes.join("other/picture.png"), "no note").unwrap();
    fs::write(notes.join("other/bytes.md"), b"\xff").unwrap();
    fs::create_dir(notes.join(".obsidian")).unwrap();
    let changed = found(Peer::BasicMemory, &notes, root);
    assert_eq!(
        changed.memories.len(),
        expected["records"].as_array().unwrap().len() - 1
    );
    let update = changed
        .memories
        .iter()
        .find(|memory| memory.id == "main/quayside/update")
        .unwrap();
    assert!(update.text.ends_with("changed since."));
    assert!(update.updated_at.unwrap() > "2026-11-28T01:00:00Z".parse().unwrap());
    for reason in [
        "files that are no Markdown",
        "files that are no UTF-8 text",
        "hidden files and folders",
        "entries of the database whose file is gone",
    ] {
        assert_eq!(changed.report.left_out[reason], 1, "{reason}");
    }

    // Without the folder, the database has the texts.
    let (unpacked, expected) = sample(&folder, "basic-memory-0.24.1");
    let root = unpacked.path();
    fs::remove_dir_all(root.join("basic-memory")).unwrap();
    let only_database = found(Peer::BasicMemory, &root.join(".basic-memory"), root);
    assert_records(&only_database, &expected, own_id);
    assert!(only_database.report.notices[1].contains("main"));

    // Without the database, the files have the rest.
    let (unpacked, expected) = sample(&folder, "basic-memory-0.24.1");
    let root = unpacked.path();
    fs::remove_dir_all(root.join(".basic-memory")).unwrap();
    for path in [
        root.join("basic-memory"),
        root.join("basic-memory/quayside"),
    ] {
        assert_eq!(Peer::of(&path), Some(Peer::BasicMemory));
        let files = found(Peer::BasicMemory, &path, root);
        assert!(files.report.notices[0].contains("memory.db"));
        for memory in &files.memories {
            let record = expected["records"]
                .as_array()
                .unwrap()
                .iter()
                .find(|record| own_id(record) == memory.id);
            assert_eq!(
                sha(&memory.text),
                record.unwrap()["text_sha256"].as_str().unwrap()
            );
            assert_eq!(
                memory.id.ends_with("/nested"),
                memory
                    .created_at
                    .unwrap()
                    .to_string()
                    .starts_with("1998-12-31T18:15")
            );
        }
    }
}

#[test]
fn graphs_of_graphiti_come_in_as_json_lines_and_kuzu_is_named() {
    let Some(folder) = samples() else { return };
    let (unpacked, expected) = sample(&folder, "graphiti-core-0.31.2-kuzu");
    let root = unpacked.path();
    for path in [root.to_owned(), root.join("graph.jsonl")] {
        assert_eq!(Peer::of(&path), Some(Peer::Graphiti), "{path:?}");
        let found = found(Peer::Graphiti, &path, root);
        assert_records(&found, &expected, own_id);
        let records = expected["records"].as_array().unwrap();
        for (memory, record) in found.memories.iter().zip(records) {
            assert_eq!(memory.title.as_deref(), record["name"].as_str());
            assert_eq!(memory.container.as_deref(), record["group"].as_str());
            assert_eq!(memory.kind.as_deref(), record["source"].as_str());
        }
        let facts = expected["facts"].as_array().unwrap();
        assert_eq!(found.facts.len(), facts.len());
        for (fact, said) in found.facts.iter().zip(facts) {
            let words =
                [&fact.subject, &fact.predicate, &fact.object].map(|word| Some(word.as_str()));
            assert_eq!(
                words,
                ["source", "name", "target"].map(|key| said[key].as_str())
            );
            assert_eq!(fact.source.as_deref(), said["fact"].as_str());
            let written = |span: Option<(Timestamp, Timestamp)>| span.map(|(at, _)| at.to_string());
            let said = |key: &str| said[key].as_str().map(|text| format!("{text}Z"));
            assert_eq!(written(fact.valid_from), said("valid_at"));
            assert_eq!(written(fact.valid_to), said("invalid_at"));
        }
        assert_eq!(
            found.report.left_out.values().sum::<u64>(),
            3,
            "{:?}",
            found.report
        );
        assert!(found.report.notices[0].contains("UTC"));
    }
    let kuzu = root.join("graph.kuzu");
    assert_eq!(Peer::of(&kuzu), Some(Peer::Graphiti));
    let error = read(Peer::Graphiti, &kuzu, TimeZone::UTC, &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("RELATES_TO"), "{error}");
}

#[test]
fn folders_of_the_memory_tool_come_in_hidden_files_and_all() {
    let Some(folder) = samples() else { return };
    for name in [
        "anthropic-memory-tool-py-2.14.0",
        "anthropic-memory-tool-ts-1.14.0",
    ] {
        let (unpacked, expected) = sample(&folder, name);
        assert_eq!(Peer::of(unpacked.path()), Some(Peer::MemoryTool));
        let found = found(Peer::MemoryTool, unpacked.path(), unpacked.path());
        assert_texts(&found, &expected);
    }
}
