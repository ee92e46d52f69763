//! Deleted text leaves the files, whatever deletes it: a reader of the disk finds it no longer than
//! until the next round of background work, or until the last process ends.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Place, call};
use crate::servers::Server;

/// Returns whether a file below the folder holds the text.
fn is_on_disk(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return is_on_disk(&path, text);
        }
        // A file may go while it is looked for.
        let bytes = fs::read(&path).unwrap_or_default();
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    })
}

/// Waits until the files hold none of the texts; returns the ones that stay.
#[expect(
    clippy::disallowed_methods,
    reason = "another process removes the texts and tells nobody, so we look again"
)]
fn left(place: &Place, texts: &[&str]) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let left: Vec<_> = texts
            .iter()
            .filter(|text| is_on_disk(&place.data(), text))
            .map(|text| (*text).to_owned())
            .collect();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn text<'a>(result: &'a Value, field: &str) -> &'a str {
    result[field].as_str().unwrap()
}

#[test]
fn deleted_text_leaves_the_files_with_the_next_round() {
    let place = Place::new().with("LOCI_MAINTENANCE_SECONDS", "1");
    // The server holds the files open all the while, so that no end of a process empties the log.
    let server = Server::start(&place, &[]);
    let secret = fs::read_to_string(place.data().join("token")).unwrap();
    let call = |set: &str, tool: &str, arguments: Value| {
        server.call_in(set, secret.trim(), tool, &arguments)
    };
    let run = |words: &[&str]| place.run(words).succeeded();

    let ibex = call(
        "mememory",
        "remember",
        json!({"content": "the ibexword climbs"}),
    );
    call("mememory", "forget", json!({"id": text(&ibex, "id")}));

    let record = |content: &str, scope: &str| {
        let record = json!({"content": content, "scope": scope, "source": "user-said",
            "category": "decision"});
        call("engram", "store_memory", record)
    };
    let newt = record("the newtword swims", "pond");
    call("engram", "delete_memory", json!({"id": text(&newt, "id")}));

    record("the skinkword basks", "trial");
    call("engram", "delete_all", json!({"scope": "trial"}));

    let large = format!("the gnuword runs {}", "far and wide ".repeat(60_000));
    let drawer = json!({"wing": "herds", "room": "plains", "content": large});
    let gnu = call("mempalace", "mempalace_add_drawer", drawer);
    call(
        "mempalace",
        "mempalace_delete_drawer",
        json!({"drawer_id": text(&gnu, "drawer_id")}),
    );

    let entry = json!({"user_id": "local", "query": "when?", "response": "the zorilword"});
    call("memory-mcp", "store_cache", entry);
    call(
        "memory-mcp",
        "cache_invalidate",
        json!({"user_id": "local", "invalidate_all": true}),
    );

    for room in ["plains", "hills"] {
        let drawer = json!({"wing": "herds", "room": room, "content": format!("the {room}")});
        call("mempalace", "mempalace_add_drawer", drawer);
    }
    let tunnel = json!({"source_wing": "herds", "source_room": "plains",
        "target_wing": "herds", "target_room": "hills", "label": "the zebuword"});
    let tunnel = call("mempalace", "mempalace_create_tunnel", tunnel);
    call(
        "mempalace",
        "mempalace_delete_tunnel",
        json!({"tunnel_id": text(&tunnel, "tunnel_id")}),
    );
    run(&["delete", text(&tunnel, "tunnel_id"), "--forever", "--yes"]);

    let fact = json!({"subject": "Quagga", "predicate": "grazes on", "object": "the quaggaword"});
    let quagga = call("mempalace", "mempalace_kg_add", fact.clone());
    call("mempalace", "mempalace_kg_invalidate", fact);
    run(&["delete", text(&quagga, "triple_id"), "--forever", "--yes"]);

    let dik = place.add(&["the dikdikword hides"]);
    run(&["delete", &dik, "--forever", "--yes"]);

    // What it was before goes along, whatever changed.
    let kudu = place.add(&["the kuduword rests", "--tags", "topiword"]);
    let changed = json!({"id": kudu, "content": "the oribiword rests"});
    call("mememory", "update", changed);
    run(&["restore", &kudu, "1"]);
    run(&["forget", &kudu]);
    run(&["delete", &kudu, "--forever", "--yes"]);

    let eland = place.add(&["the elandword leaps"]);
    let fields = json!({"id": [eland], "confirmed": true});
    let (status, reply) = server.change(secret.trim(), "/selected/delete", &fields);
    assert_eq!(status, 200, "{reply}");

    let file = place.write("project/notes.md", "# Coat\n\nThe serowword is grey.\n");
    place.write("project/other.md", "# Horns\n\nThey are short.\n");
    let folder = place.path("project").to_str().unwrap().to_owned();
    run(&["palace", "mine", &folder]);
    fs::remove_file(file).unwrap();
    run(&["palace", "sync", &folder, "--apply"]);

    let soon = json!({"content": "the takinword passes", "ttl": "1s"});
    call("mememory", "remember", soon);

    let words = [
        "ibexword",
        "newtword",
        "skinkword",
        "gnuword",
        "zorilword",
        "zebuword",
        "quaggaword",
        "dikdikword",
        "kuduword",
        "oribiword",
        "topiword",
        "elandword",
        "serowword",
        "takinword",
    ];
    assert_eq!(left(&place, &words), Vec::<String>::new());
}

/// What a memory was before each change goes with it, also in the tables of versions.
#[test]
fn a_wipe_leaves_no_version_in_any_file() {
    let place = Place::new();
    let said = |content: &str| json!({"user_id": "local", "messages": [{"role": "human", "content": content}]});
    let stored = call(
        &place,
        "memory-mcp",
        "store_memory",
        &said("The sitatungaword wades through the reeds at dawn"),
    );
    assert_ne!(stored["isError"], true, "{stored}");
    let listed = place.json(&["list"]);
    let id = text(&listed["memories"][0], "id").to_owned();
    for content in ["the bongoword wades", "the nyalaword wades"] {
        let changed = json!({"id": id, "content": content});
        let reply = call(&place, "mememory", "update", &changed);
        assert_ne!(reply["isError"], true, "{reply}");
    }
    let history = place.json(&["history", &id]);
    assert_eq!(
        history["versions"].as_array().unwrap().len(),
        3,
        "{history}"
    );
    assert!(is_on_disk(&place.data(), "sitatungaword"));
    // A tunnel that was deleted can come back until then.
    for room in ["plains", "hills"] {
        let drawer = json!({"wing": "herds", "room": room, "content": format!("the {room}")});
        call(&place, "mempalace", "mempalace_add_drawer", &drawer);
    }
    let tunnel = json!({"source_wing": "herds", "source_room": "plains",
        "target_wing": "herds", "target_room": "hills", "label": "the lechweword"});
    let tunnel = call(&place, "mempalace", "mempalace_create_tunnel", &tunnel);
    let tunnel = text(&tunnel["structuredContent"], "tunnel_id").to_owned();
    let gone = json!({"tunnel_id": tunnel});
    call(&place, "mempalace", "mempalace_delete_tunnel", &gone);
    assert!(is_on_disk(&place.data(), "lechweword"));
    let wipe = json!({"user_id": "local", "confirm": true});
    let reply = call(&place, "memory-mcp", "wipe_user_data", &wipe);
    assert_ne!(reply["isError"], true, "{reply}");
    let words = ["sitatungaword", "bongoword", "nyalaword", "lechweword"];
    assert_eq!(left(&place, &words), Vec::<String>::new());
    place.run(&["history", &id]).failed(3, &id);
    place.run(&["history", &tunnel]).failed(3, &tunnel);
}
