//! Files of systems of which there is no sample: written here as their reference says.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails may panic"
)]

use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;
use loci_peers::{
    Form, Owner, Peer, PeerDecision, PeerError, PeerFact, PeerMemory, PeerRecord, PeerTunnel,
    Report, Sharing, Writer, Written, read,
};
use serde_json::{Value, json};

/// The content of a file, as far as it was read.
struct Found {
    memories: Vec<PeerMemory>,
    decisions: Vec<PeerDecision>,
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
    let (mut memories, mut decisions) = (Vec::new(), Vec::new());
    let report = read(peer, path, TimeZone::UTC, &mut |record| {
        match record {
            PeerRecord::Memory(memory) => memories.push(*memory),
            PeerRecord::Decision(decision) => decisions.push(decision),
            PeerRecord::Fact(_) | PeerRecord::Tunnel(_) => {}
        }
        Ok(())
    })?;
    Ok(Found {
        memories,
        decisions,
        report,
    })
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

/// The statements by which a dump of mememory's database begins.
const DUMP: &str = "--\n-- PostgreSQL database dump\n--\n\nSET standard_conforming_strings = on;\n\n\
    CREATE TABLE public.memories (\n    id uuid NOT NULL,\n    content text NOT NULL,\n    embedding public.vector(384),\n    \
    scope text NOT NULL,\n    project text,\n    persona text,\n    type text NOT NULL,\n    tags text[],\n    \
    weight real NOT NULL,\n    supersedes uuid,\n    created_at timestamp with time zone NOT NULL,\n    \
    updated_at timestamp with time zone NOT NULL,\n    ttl timestamp with time zone,\n    delivery text\n);\n\n";

#[test]
fn dumps_of_mememory_come_in_in_every_form() {
    let columns = "id, content, embedding, scope, project, persona, type, tags, weight, supersedes, created_at, updated_at, ttl, delivery";
    let copy = format!(
        "{DUMP}COPY public.memories ({columns}) FROM stdin;\n\
         a1b2c3d4-e5f6-7890-abcd-ef1234567890\tThe key lies\\tunder\\nthe stone. C:\\\\x\t[0.1,0.2]\tproject\tharbour\t\\N\t\
         decision\t{{key,\"a, b\"}}\t0.5\tffffffff-0000-0000-0000-000000000001\t2026-01-01 10:30:00.5+02\t\
         2026-01-02 00:00:00+00\t2126-01-01 00:00:00+00\tpinned\n\
         only\tthree\tvalues\n\
         ffffffff-0000-0000-0000-000000000001\tIt's old.\t\\N\tglobal\t\\N\tcook\tbootstrap\t{{}}\t0.1\t\\N\t\
         2025-01-01 00:00:00+00\t2025-01-01 00:00:00+00\t\\N\t\\N\n\\.\n",
    );
    let values = "('a1b2c3d4-e5f6-7890-abcd-ef1234567890', 'The key lies\tunder\nthe stone. C:\\x', '[0.1,0.2]', 'project', \
         'harbour', NULL, 'decision', '{key,\"a, b\"}', 0.5, 'ffffffff-0000-0000-0000-000000000001', \
         '2026-01-01 10:30:00.5+02', '2026-01-02 00:00:00+00', '2126-01-01 00:00:00+00', 'pinned')";
    let old = "('ffffffff-0000-0000-0000-000000000001', 'It''s old.', NULL, 'global', NULL, 'cook', 'bootstrap', '{}', 0.1, \
         NULL, '2025-01-01 00:00:00+00', '2025-01-01 00:00:00+00', NULL, NULL)";
    let insert = format!(
        "{DUMP}INSERT INTO public.memories VALUES {values};\nINSERT INTO public.memories VALUES {old};\nINSERT INTO public.memories VALUES (1);\n"
    );
    let named = format!(
        "-- PostgreSQL database dump\nINSERT INTO public.memories ({columns}) VALUES\n\t{values},\n\t{old};\nINSERT INTO memories VALUES (1);\n"
    );
    for dump in [copy, insert, named] {
        let found = found(Peer::Mememory, "dump.sql", dump);
        assert_eq!(
            found.texts(),
            [
                (
                    "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
                    "The key lies\tunder\nthe stone. C:\\x"
                ),
                ("ffffffff-0000-0000-0000-000000000001", "It's old."),
            ]
        );
        let (first, old) = (&found.memories[0], &found.memories[1]);
        assert_eq!(first.tags, ["key", "a, b"]);
        assert_eq!(first.container.as_deref(), Some("harbour"));
        assert_eq!(first.weight, Some(0.5));
        assert_eq!(first.supersedes.as_deref(), Some(&*old.id));
        assert_eq!(first.created_at, "2026-01-01T08:30:00.5Z".parse().ok());
        assert_eq!(first.expires_at, "2126-01-01T00:00:00Z".parse().ok());
        assert!(first.is_pinned && first.is_at_start && old.is_at_start && !old.is_pinned);
        assert_eq!(old.attributes["persona"], "cook");
        assert_eq!(found.left_out(), 1, "{:?}", found.report);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memories.json");
    let list = json!([{"id": "m", "content": "A rule.", "scope": "global", "type": "rule", "tags": ["a,\"b"], "weight": 1.0}]);
    fs::write(&file, list.to_string()).unwrap();
    assert_eq!(Peer::of(&file), None, "lists of loci are like it");
    let named = try_read(Peer::Mememory, &file).unwrap();
    assert_eq!(named.memories[0].tags, ["a,\"b"]);
    for (content, problem) in [
        ("PGDMP\x01", "pg_restore"),
        ("-- PostgreSQL database dump\n", "--table=memories"),
    ] {
        fs::write(&file, content).unwrap();
        let error = try_read(Peer::Mememory, &file).err().unwrap().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn exports_of_openmemory_come_in_with_apps_and_categories() {
    let memory = |id: &str, state: &str| {
        json!({
            "id": id, "user_id": "u1", "app_id": "a1", "content": format!("Text of {id}.  \n"), "state": state,
            "metadata": {"source": "chat"}, "created_at": "2026-01-01T10:00:00", "updated_at": "2026-01-02T10:00:00+00:00",
            "archived_at": null, "deleted_at": null, "category_ids": ["k1", "gone"],
        })
    };
    let export = json!({
        "user": {"id": "u1", "user_id": "orla", "name": "Orla"},
        "apps": [{"id": "a1", "owner_id": "u1", "name": "cursor"}],
        "categories": [{"id": "k1", "name": "tea"}, {"id": "k2", "name": "travel"}],
        "memories": [memory("m1", "active"), memory("m2", "archived"), memory("m3", "paused"), memory("m4", "deleted"), 7],
        "memory_categories": [{"memory_id": "m1", "category_id": "k2"}, {"memory_id": "m1", "category_id": "k1"}],
        "status_history": [], "access_controls": [], "export_meta": {"version": "1"},
    });
    for content in [
        export.to_string(),
        serde_json::to_string_pretty(&export).unwrap(),
    ] {
        let found = found(Peer::Mem0, "memories.json", content);
        assert_eq!(
            found.texts(),
            [
                ("m1", "Text of m1.  \n"),
                ("m2", "Text of m2.  \n"),
                ("m3", "Text of m3.  \n")
            ]
        );
        let hidden: Vec<bool> = found.memories.iter().map(|one| one.is_hidden).collect();
        assert_eq!(hidden, [false, true, true]);
        let first = &found.memories[0];
        assert_eq!(first.tags, ["tea", "travel"]);
        assert_eq!(
            (&*first.attributes["app"], &*first.attributes["source"]),
            ("cursor", "chat")
        );
        assert_eq!(first.author.as_deref(), Some("orla"));
        assert_eq!(first.created_at, "2026-01-01T10:00:00Z".parse().ok());
        assert_eq!(first.updated_at, "2026-01-02T10:00:00Z".parse().ok());
        assert_eq!(found.left_out(), 2, "{:?}", found.report);
    }
}

#[test]
fn collections_of_memory_mcp_come_in_without_what_was_deleted() {
    let document = |id: &str, tier: &str, more: Value| {
        let mut document = json!({
            "_id": {"$oid": id}, "user_id": "orla", "tier": tier, "content": format!("Text of {id}."),
            "summary": null, "embedding": [0.1], "memory_type": "preference", "tags": ["tea"], "importance": {"$numberDouble": "0.75"},
            "conversation_id": "c1", "is_deleted": false, "deleted_at": null,
            "created_at": {"$date": "2026-01-01T10:00:00.125Z"}, "updated_at": {"$date": {"$numberLong": "1767261600000"}},
            "expires_at": null,
        });
        let more = more.as_object().unwrap().clone();
        document.as_object_mut().unwrap().extend(more);
        document
    };
    let far = json!({"$date": "2126-01-01T00:00:00Z"});
    let documents = [
        document(
            "a1",
            "ltm",
            json!({"source_stm_id": {"$oid": "b1"}, "enrichment_status": "pending"}),
        ),
        document(
            "b1",
            "stm",
            json!({"message_type": "human", "expires_at": far}),
        ),
        document(
            "b2",
            "stm",
            json!({"message_type": "ai", "expires_at": {"$date": "2020-01-01T00:00:00Z"}}),
        ),
        document("d1", "ltm", json!({"is_deleted": true})),
        document(
            "d2",
            "ltm",
            json!({"deleted_at": {"$date": "2026-01-01T10:00:00Z"}}),
        ),
        json!({"_id": {"$oid": "e1"}, "user_id": "orla", "key": "editor", "value": "vim", "created_at": {"$date": "2026-01-01T10:00:00Z"}}),
        json!({"_id": {"$oid": "f1"}, "user_id": "orla", "query": "q", "response": "r"}),
        json!({"_id": {"$oid": "g1"}, "operation": "recall_memory"}),
    ];
    let lines: Vec<String> = documents.iter().map(Value::to_string).collect();
    for content in [
        lines.join("\n"),
        serde_json::to_string_pretty(&documents).unwrap(),
    ] {
        let found = found(Peer::MemoryMcp, "memories.json", content);
        assert_eq!(
            found.texts(),
            [
                ("a1", "Text of a1."),
                ("b1", "Text of b1."),
                ("b2", "Text of b2.")
            ]
        );
        let (first, message) = (&found.memories[0], &found.memories[1]);
        assert_eq!(first.owner, Owner::User("orla".to_owned()));
        assert_eq!(first.sharing, Sharing::Private);
        assert_eq!(first.kind.as_deref(), Some("preference"));
        assert_eq!(first.weight, Some(0.75));
        assert_eq!(first.source.as_deref(), Some("b1"));
        assert!(first.is_unread && !message.is_unread && message.is_message && !first.is_message);
        assert_eq!(first.created_at, "2026-01-01T10:00:00.125Z".parse().ok());
        assert_eq!(first.updated_at, "2026-01-01T10:00:00Z".parse().ok());
        assert_eq!(message.conversation.as_deref(), Some("c1"));
        assert_eq!(message.kind.as_deref(), Some("human"));
        let decision = &found.decisions[0];
        assert_eq!(
            (&*decision.owner, &*decision.key, &*decision.value),
            ("orla", "editor", "vim")
        );
        assert_eq!(found.left_out(), 4, "{:?}", found.report);
    }
}

/// Returns a document of BSON with these texts.
fn bson(texts: &[(&str, &str)]) -> Vec<u8> {
    let mut inner = Vec::new();
    for (name, text) in texts {
        inner.push(2);
        inner.extend(name.as_bytes());
        inner.push(0);
        inner.extend(u32::try_from(text.len() + 1).unwrap().to_le_bytes());
        inner.extend(text.as_bytes());
        inner.push(0);
    }
    inner.push(0);
    let length = u32::try_from(inner.len() + 4).unwrap();
    [&length.to_le_bytes()[..], &inner].concat()
}

#[test]
fn dumps_of_memory_mcp_come_in_from_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump/memory_mcp");
    fs::create_dir_all(&dump).unwrap();
    let memory = |id: &str| {
        bson(&[
            ("_id", id),
            ("user_id", "orla"),
            ("tier", "ltm"),
            ("content", "It rains."),
        ])
    };
    let decision = bson(&[
        ("_id", "d"),
        ("user_id", "orla"),
        ("key", "editor"),
        ("value", "vim"),
    ]);
    fs::write(
        dump.join("memories.bson"),
        [memory("a"), memory("b")].concat(),
    )
    .unwrap();
    fs::write(dump.join("decisions.bson"), decision).unwrap();
    fs::write(dump.join("memories.metadata.json"), "{}").unwrap();
    for path in [
        folder.path(),
        &folder.path().join("dump"),
        &dump,
        &dump.join("memories.bson"),
    ] {
        assert_eq!(Peer::of(path), Some(Peer::MemoryMcp), "{path:?}");
        let found = try_read(Peer::MemoryMcp, path).unwrap();
        assert_eq!(found.texts(), [("a", "It rains."), ("b", "It rains.")]);
        assert_eq!(found.decisions.len(), usize::from(path.is_dir()));
    }
    let cut = [memory("a"), memory("b")].concat();
    fs::write(dump.join("memories.bson"), &cut[..cut.len() - 1]).unwrap();
    let error = try_read(Peer::MemoryMcp, &dump).err().unwrap().to_string();
    assert!(
        error.contains("memories.bson") && error.contains("cut"),
        "{error}"
    );
    fs::rename(dump.join("memories.bson"), dump.join("memories.bson.gz")).unwrap();
    let error = try_read(Peer::MemoryMcp, &dump).err().unwrap().to_string();
    assert!(error.contains("gunzip"), "{error}");
    fs::write(dump.join("memories.archive"), b"\x6d\xe2\x99\x81").unwrap();
    let error = try_read(Peer::MemoryMcp, &dump.join("memories.archive"))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("--archive"), "{error}");
}

#[test]
fn points_of_engram_come_in_with_owner_and_sharing() {
    let memory = |id: Value, more: Value| {
        let mut payload = json!({
            "content": "Deploys need two approvals.", "scope": "run:project:gateway", "repo": "gateway", "source": "user-said",
            "category": "convention", "tags": ["deploy"], "actor": "orla@example.org", "owner": "oidc|orla",
            "visibility": "shared", "created_at": "2026-01-01T10:00:00Z",
        });
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"id": id, "payload": payload, "vector": null})
    };
    let discovery = json!({
        "category": "discovery", "kind": "fact", "scope": "discovery:repo:gateway", "visibility": "private",
        "summary": "who approves", "not_after": 4_102_444_800_u64, "not_before": 1_767_225_600,
        "citations": [{"kind": "file", "ref": "src/a.rs", "locator": "1-2"}, {"kind": "file"}],
    });
    let ownerless = json!({"owner": null, "actor": "anonymous"});
    let points = json!([
        memory(json!("11111111-1111-1111-1111-111111111111"), json!({})),
        memory(json!(7), discovery),
        memory(json!("8"), ownerless),
        {"id": 9, "payload": {"data": "another system's"}},
    ]);
    let page = |next: Value| json!({"result": {"points": points, "next_page_offset": next}, "status": "ok", "time": 0.1});
    for (content, notices) in [
        (page(Value::Null).to_string(), 0),
        (serde_json::to_string_pretty(&page(json!("9"))).unwrap(), 1),
        (points.to_string(), 0),
    ] {
        let found = found(Peer::Engram, "points.json", content);
        let ids: Vec<&str> = found.memories.iter().map(|memory| &*memory.id).collect();
        assert_eq!(ids, ["11111111-1111-1111-1111-111111111111", "7", "8"]);
        let [first, discovery, ownerless] = &found.memories[..] else {
            panic!("three")
        };
        assert_eq!(first.owner, Owner::User("oidc|orla".to_owned()));
        assert_eq!(first.sharing, Sharing::Shared);
        assert_eq!(first.actor.as_deref(), Some("orla@example.org"));
        assert_eq!(first.container.as_deref(), Some("run:project:gateway"));
        assert_eq!(first.kind.as_deref(), Some("convention"));
        assert_eq!(first.attributes["source"], "user-said");
        assert!(discovery.is_discovery && !first.is_discovery);
        assert_eq!(discovery.kind.as_deref(), Some("fact"));
        assert_eq!(discovery.citations.len(), 1);
        assert_eq!(discovery.expires_at, "2100-01-01T00:00:00Z".parse().ok());
        assert_eq!(discovery.attributes["not_before"], "2026-01-01T00:00:00Z");
        assert_eq!(ownerless.owner, Owner::Nobody);
        assert_eq!(found.left_out(), 1, "{:?}", found.report);
        assert_eq!(found.report.notices.len(), notices);
    }
}

/// Texts that a form may lose a byte of.
const TEXTS: [&str; 6] = [
    "Tea is at four.",
    "  Two spaces, a tab\tand a line end\r\nof Windows, and none at the end",
    "---\ntitle: no frontmatter\n---\nGröße – naïve 🍵 \\ \" ' <b>[[Tea]]</b>\n\n",
    "- [x] done\n- [note] Tea #hot (daily)\n- keeps [[Tea]]\n```\nfence\n```\n",
    "\n\nA text\n\n<!-- loci: the links of this memory, no part of its text -->\n- of itself",
    "---",
];

/// Returns memories with these texts, of a person who links the second to the first.
fn kept() -> Vec<PeerMemory> {
    let time = |text: &str| Some(text.parse().unwrap());
    let made = TEXTS.iter().enumerate().map(|(number, text)| {
        let mut memory = PeerMemory::new(format!("m-{number}"), *text);
        memory.own_id = Some(memory.id.clone());
        memory.kind = Some("fact".to_owned());
        memory.created_at = time("2025-01-01T10:00:00.123456Z");
        memory.updated_at = time("2025-01-02T10:00:00Z");
        memory
    });
    let mut made: Vec<PeerMemory> = made.collect();
    made[0].title = Some("Tea: [when] | \"how\"?".to_owned());
    made[0].container = Some("acme/web".to_owned());
    made[0].tags = vec!["tea".to_owned(), "four o'clock".to_owned()];
    made[1].links = vec![("m-3".to_owned(), "related_to".to_owned())];
    made[2].expires_at = time("2999-01-01T00:00:00Z");
    made[2].weight = Some(0.9);
    made
}

/// Returns facts without a time, and with the days between which they hold.
fn facts() -> Vec<PeerFact> {
    let fact = |predicate: &str, object: &str| PeerFact {
        subject: "Orla".to_owned(),
        predicate: predicate.to_owned(),
        object: object.to_owned(),
        valid_from: None,
        valid_to: None,
        source: None,
    };
    let day = |day: &str| {
        Some((
            format!("{day}T00:00:00Z").parse().unwrap(),
            format!("{day}T23:59:59.999999Z").parse().unwrap(),
        ))
    };
    vec![
        fact("works at", "Harbour"),
        PeerFact {
            valid_from: day("2026-01-01"),
            ..fact("keeps", "Lantern")
        },
        PeerFact {
            valid_from: day("2026-01-01"),
            valid_to: day("2026-03-01"),
            ..fact("kept", "Key")
        },
    ]
}

type WrittenAndRead = (Written, Vec<PeerMemory>, Vec<PeerFact>, usize);

/// Writes these in a form, and reads what was written as the peer's.
fn written_and_read(form: Form, peer: Peer, name: &str) -> WrittenAndRead {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut writer = Writer::create(form, &path, now).unwrap();
    for memory in kept() {
        writer.put(&PeerRecord::Memory(Box::new(memory))).unwrap();
    }
    for fact in facts() {
        writer.put(&PeerRecord::Fact(fact)).unwrap();
    }
    let tunnel = PeerTunnel {
        source: ("acme".to_owned(), "fact".to_owned()),
        target: ("global".to_owned(), "fact".to_owned()),
        label: "same".to_owned(),
    };
    writer.put(&PeerRecord::Tunnel(tunnel)).unwrap();
    writer.leave_out("settings");
    let written = writer.finish().unwrap();
    // A second export does not write over the first.
    assert!(Writer::create(form, &path, now).is_err(), "{form:?}");
    assert_eq!(Peer::of(&path), Some(peer), "{form:?}");
    let (mut memories, mut facts, mut tunnels) = (Vec::new(), Vec::new(), 0);
    let report = read(peer, &path, TimeZone::UTC, &mut |record| {
        match record {
            PeerRecord::Memory(memory) => memories.push(*memory),
            PeerRecord::Fact(fact) => facts.push(fact),
            PeerRecord::Tunnel(_) => tunnels += 1,
            PeerRecord::Decision(_) => {}
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(report.left_out.len(), 0, "{form:?}: {report:?}");
    memories.sort_by(|left, right| left.id.cmp(&right.id));
    (written, memories, facts, tunnels)
}

fn left_out(written: &Written) -> Vec<(&str, u64)> {
    let left_out = written.left_out.iter();
    left_out.map(|(what, count)| (&**what, *count)).collect()
}

#[test]
fn what_is_written_for_mem0_comes_back() {
    let (written, memories, facts, _) = written_and_read(Form::Mem0, Peer::Mem0, "mem0.json");
    assert!(facts.is_empty());
    let expected: Vec<PeerMemory> = kept()
        .into_iter()
        .map(|mut memory| {
            memory.owner = Owner::User("local".to_owned());
            memory.links.clear();
            memory.weight = None;
            memory
        })
        .collect();
    assert_eq!(memories, expected);
    let lost = [
        ("facts", 3),
        ("lists of links", 1),
        ("settings", 1),
        ("tunnels", 1),
        ("weights", 1),
    ];
    assert_eq!(left_out(&written), lost);
}

#[test]
fn what_is_written_for_the_reference_server_comes_back() {
    let (written, memories, facts, _) =
        written_and_read(Form::ServerMemory, Peer::ServerMemory, "memory.jsonl");
    let mut texts: Vec<&str> = memories.iter().map(|memory| &*memory.text).collect();
    texts.sort_unstable();
    let mut expected = TEXTS;
    expected.sort_unstable();
    assert_eq!(texts, expected);
    let predicates: Vec<&str> = facts.iter().map(|fact| &*fact.predicate).collect();
    let expected = ["entity_type", "entity_type", "works at", "keeps"];
    assert_eq!(predicates, expected, "one relation is over");
    let lost = [
        ("facts with an end", 1),
        ("lists of links", 1),
        ("lists of tags", 1),
        ("projects", 1),
        ("settings", 1),
        ("times", 6),
        ("times of expiry", 1),
        ("times of facts", 1),
        ("tunnels", 1),
        ("weights", 1),
    ];
    assert_eq!(left_out(&written), lost);
}

#[test]
fn notes_for_basic_memory_and_obsidian_come_back() {
    for form in [Form::BasicMemory, Form::Obsidian] {
        let (written, memories, found, _) = written_and_read(form, Peer::BasicMemory, "vault");
        let mut memories = memories;
        memories.sort_by(|left, right| left.own_id.cmp(&right.own_id));
        for (memory, expected) in memories.iter().zip(kept()) {
            assert_eq!(memory.text, expected.text);
            assert_eq!(memory.own_id, expected.own_id);
            assert_eq!(memory.title, expected.title);
            assert_eq!(memory.container, expected.container);
            assert_eq!(memory.tags, expected.tags);
            assert_eq!(memory.kind, expected.kind);
            assert_eq!(memory.links, expected.links, "{}", memory.id);
            let times = (memory.created_at, memory.updated_at);
            assert_eq!(times, (expected.created_at, expected.updated_at));
        }
        assert_eq!(memories.len(), TEXTS.len());
        let mut found: Vec<PeerFact> = found
            .into_iter()
            .map(|fact| PeerFact {
                source: None,
                ..fact
            })
            .collect();
        let mut expected = facts();
        found.sort_by(|left, right| left.predicate.cmp(&right.predicate));
        expected.sort_by(|left, right| left.predicate.cmp(&right.predicate));
        assert_eq!(found, expected);
        let lost = [
            ("settings", 1),
            ("times of expiry", 1),
            ("tunnels", 1),
            ("weights", 1),
        ];
        assert_eq!(left_out(&written), lost);
    }
}

#[test]
fn a_palace_comes_back_with_its_graph_and_tunnels() {
    let (written, memories, facts, tunnels) =
        written_and_read(Form::Mempalace, Peer::Mempalace, "home");
    for (memory, expected) in memories.iter().zip(kept()) {
        assert_eq!(memory.text, expected.text);
        assert_eq!(memory.own_id, expected.own_id);
        assert_eq!(memory.tags, expected.tags);
        let times = (memory.created_at, memory.updated_at);
        assert_eq!(times, (expected.created_at, expected.updated_at));
    }
    assert_eq!((memories.len(), facts.len(), tunnels), (TEXTS.len(), 3, 1));
    assert_eq!(facts[2].valid_to, self::facts()[2].valid_to);
    let lost = [
        ("lists of links", 1),
        ("settings", 1),
        ("times of expiry", 1),
        ("titles", 1),
        ("weights", 1),
    ];
    assert_eq!(left_out(&written), lost);
}
