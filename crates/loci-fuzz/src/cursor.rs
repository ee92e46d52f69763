//! Cursors of `memory_search`: only cursors that the server made are taken, and no others say
//! anything.

use std::sync::{Arc, LazyLock};

use crate::{call, engine, text};
use loci_core::ErrorCode;
use loci_engine::Engine;
use serde_json::json;

struct SearchFixture {
    engine: Arc<Engine>,
    cursor: String,
}

static SEARCHED: LazyLock<SearchFixture> = LazyLock::new(|| {
    let engine = engine();
    for number in 0..5 {
        call(
            &engine,
            "mememory",
            "remember",
            json!({"content": format!("The crane {number} is yellow")}),
        )
        .unwrap();
    }
    let page = call(
        &engine,
        "vault",
        "memory_search",
        json!({"query": "yellow crane", "top_k": 2}),
    )
    .unwrap();
    let cursor = page["next_cursor"]
        .as_str()
        .expect("there are further pages")
        .to_owned();
    SearchFixture { engine, cursor }
});

pub(crate) fn run(data: &[u8]) {
    let SearchFixture { engine, cursor } = &*SEARCHED;
    let search = |cursor: &str| {
        call(
            engine,
            "vault",
            "memory_search",
            json!({"query": "yellow crane", "top_k": 2, "cursor": cursor}),
        )
    };
    assert_eq!(
        search(cursor).map(|page| page["results"].as_array().map(Vec::len)),
        Ok(Some(2))
    );
    // Any text, and the real one with some of its bytes changed.
    let other = text(data).map(str::to_owned);
    let mut changed = cursor.clone().into_bytes();
    for change in data.chunks_exact(2) {
        let at = usize::from(change[0]) % changed.len();
        changed[at] = change[1];
    }
    for cursor_of_others in other.into_iter().chain(String::from_utf8(changed)) {
        // Nothing is the argument left out: the first page.
        if cursor_of_others != *cursor && !cursor_of_others.is_empty() {
            assert_eq!(
                search(&cursor_of_others).unwrap_err(),
                ErrorCode::InvalidArgument,
                "{cursor_of_others}"
            );
        }
    }
}
