//! Files of other memory systems: any bytes end in a message, or in memories with an id and a text.
//! The first byte chooses the system.

use loci_peers::{Peer, PeerRecord, read};

use crate::folder;

/// The systems that are read from a file, and the name of the file.
const FILES: [(Peer, &str); 9] = [
    (Peer::BasicMemory, "note.md"),
    (Peer::Engram, "points.json"),
    (Peer::Graphiti, "graph.jsonl"),
    (Peer::Letta, "agent.af"),
    (Peer::Mememory, "dump.sql"),
    (Peer::MemoryMcp, "memories.bson"),
    (Peer::MemoryMcp, "memories.json"),
    (Peer::MemoryTool, "page.json"),
    (Peer::ServerMemory, "memory.jsonl"),
];

pub(crate) fn run(data: &[u8]) {
    let Some((first, content)) = data.split_first() else {
        return;
    };
    let (peer, name) = FILES[usize::from(*first) % FILES.len()];
    let root = folder();
    let file = root.path().join(name);
    std::fs::write(&file, content).unwrap();
    let path = match peer {
        Peer::BasicMemory => root.path(),
        _ => &file,
    };
    // Telling whose it is reads it, too.
    let _ = Peer::of(path);
    let outcome = read(peer, path, jiff::tz::TimeZone::UTC, &mut |record| {
        if let PeerRecord::Memory(memory) = record {
            assert!(!memory.id.is_empty() && !memory.text.trim().is_empty());
        }
        Ok(())
    });
    if let Err(error) = outcome {
        assert!(!error.to_string().is_empty());
    }
    let entries = std::fs::read_dir(root.path()).unwrap();
    assert_eq!(entries.count(), 1, "nothing is written beside the file");
}
