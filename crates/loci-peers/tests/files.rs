//! Files of systems of which there is no sample: written here as their reference says.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails may panic"
)]

use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;
use loci_peers::{Peer, PeerError, PeerMemory, PeerRecord, Report, read};
use serde_json::{Value, json};

/// What was read of a file.
struct Found {
    memories: Vec<PeerMemory>,
    report: Report,
}

impl Found {
    /// Returns the number of records that were left out.
    fn left_out(&self) -> u64 {
        self.report.left_out.values().sum()
    }

    /// Returns the ids and texts, in order.
    fn texts(&self) -> Vec<(&str, &str)> {
        let memories = self.memories.iter();
        memories
            .map(|memory| (&*memory.id, &*memory.text))
            .collect()
    }
}

fn try_read(peer: Peer, path: &Path) -> Result<Found, PeerError> {
    let mut memories = Vec::new();
    let report = read(peer, path, TimeZone::UTC, &mut |record| {
        if let PeerRecord::Memory(memory) = record {
            memories.push(*memory);
        }
        Ok(())
    })?;
    Ok(Found { memories, report })
}

/// Reads a file of a peer, which is told by its content.
fn found(peer: Peer, name: &str, content: impl AsRef<[u8]>) -> Found {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, content).unwrap();
    assert_eq!(Peer::of(&file), Some(peer), "{name}");
    let found = try_read(peer, &file).unwrap();
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no file appears"
    );
    found
}

#[test]
fn agents_of_letta_come_in_with_their_blocks_and_what_was_said() {
    let said = |id: &str, role: &str, content: Value| json!({"id": id, "role": role, "content": content, "created_at": "2026-01-02T00:00:00Z"});
    let call = |name: &str| json!([{"function": {"name": name, "arguments": "{\"message\": \"Hello, Orla.\"}"}}]);
    let mut speaking = said(
        "m4",
        "assistant",
        json!([{"type": "text", "text": "I think."}]),
    );
    speaking["tool_calls"] = call("send_message");
    let mut searching = said("m5", "assistant", json!("I look."));
    searching["tool_calls"] = call("archival_memory_search");
    let packed = |kind: &str| json!({"type": kind, "message": "Where is the key?"}).to_string();
    let file = json!({
        "agents": [{
            "id": "agent-0", "name": "harbour", "block_ids": ["block-1"],
            "messages": [
                said("m1", "system", json!("Be kind.")),
                said("m2", "user", json!(packed("user_message"))),
                said("m3", "user", json!(packed("heartbeat"))),
                speaking,
                searching,
                said("m6", "user", json!([{"type": "text", "text": "Thanks."}])),
                said("m7", "tool", json!("found")),
                json!({"role": "user", "content": "no id"}),
            ],
        }],
        "blocks": [
            {"id": "block-1", "label": "human", "value": "Orla keeps the lantern.  \n", "description": "who"},
            {"id": "block-2", "label": "persona", "value": ""},
        ],
        "files": [{"id": "file-1"}], "sources": [], "groups": [], "created_at": "2026-01-01T00:00:00Z",
    });
    let found = found(
        Peer::Letta,
        "agent.af",
        serde_json::to_string_pretty(&file).unwrap(),
    );
    assert_eq!(
        found.texts(),
        [
            ("block-1", "Orla keeps the lantern.  \n"),
            ("m2", "Where is the key?"),
            ("m4", "Hello, Orla."),
            ("m6", "Thanks."),
        ]
    );
    let block = &found.memories[0];
    assert!(block.is_at_start && !found.memories[1].is_at_start);
    assert_eq!(block.container.as_deref(), Some("harbour"));
    assert_eq!(block.kind.as_deref(), Some("human"));
    assert_eq!(block.created_at, "2026-01-01T00:00:00Z".parse().ok());
    assert_eq!(found.memories[1].author.as_deref(), Some("user"));
    assert_eq!(found.left_out(), 7, "{:?}", found.report);
}

#[test]
fn pages_of_a_memory_store_come_in_without_former_versions() {
    let memory = |id: &str, content: Value| {
        json!({
            "id": id, "type": "memory", "memory_store_id": "memstore_1", "path": format!("/notes/{id}.md"),
            "content": content, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z",
        })
    };
    let page = json!({
        "data": [
            memory("mem_1", json!("The first.\n")),
            memory("mem_2", Value::Null),
            {"type": "memory_prefix", "memory_store_id": "memstore_1", "path": "/notes/"},
        ],
        "next_page": "page_2",
    });
    let mut version = memory("memver_1", json!("An older text."));
    version["operation"] = json!("modified");
    let second =
        json!({"data": [memory("mem_3", json!("The third.")), version], "next_page": null});
    for (content, texts, left_out, notices) in [
        (
            serde_json::to_string_pretty(&page).unwrap(),
            &[("mem_1", "The first.\n")][..],
            2,
            1,
        ),
        (
            format!("{page}\n{second}\n"),
            &[("mem_1", "The first.\n"), ("mem_3", "The third.")],
            3,
            0,
        ),
        (
            json!([page, second]).to_string(),
            &[("mem_1", "The first.\n"), ("mem_3", "The third.")],
            3,
            0,
        ),
        (
            memory("mem_4", json!("One.")).to_string(),
            &[("mem_4", "One.")],
            0,
            0,
        ),
    ] {
        let found = found(Peer::MemoryTool, "memories.json", content);
        assert_eq!(found.texts(), texts);
        assert_eq!(found.left_out(), left_out, "{:?}", found.report);
        assert_eq!(found.report.notices.len(), notices);
        let first = &found.memories[0];
        assert_eq!(first.container.as_deref(), Some("memstore_1"));
        assert_eq!(first.updated_at, "2026-01-02T00:00:00Z".parse().ok());
    }
}
