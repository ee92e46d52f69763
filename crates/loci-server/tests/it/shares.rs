//! Every pool of a server has a test in which one subject is greedy.

use std::fs;
use std::path::Path;

/// A row of the table of pools in docs/identity.md, by its beginning, and the tests in which one
/// subject, or a stranger, takes all that it can: each is a file of this repository and a function
/// there.
struct PoolTests {
    row: &'static str,
    tests: &'static [(&'static str, &'static str)],
}

const POOLS: [PoolTests; 15] = [
    PoolTests {
        row: "bodies above 8 KiB",
        tests: &[(PAGE, "bodies_of_one_subject_leave_room_for_others")],
    },
    PoolTests {
        row: "smaller bodies of MCP",
        tests: &[(
            "crates/loci-server/src/request_share.rs",
            "small_requests_of_one_subject_leave_room_for_others",
        )],
    },
    PoolTests {
        row: "body of a request of a stranger",
        tests: &[(
            PAGE,
            "a_stranger_sends_little_and_a_silent_sender_is_given_up",
        )],
    },
    PoolTests {
        row: "calls of tools at work",
        tests: &[(HOST, "calls_of_one_subject_leave_room_for_others")],
    },
    PoolTests {
        row: "replies of calls that read",
        tests: &[
            (
                "crates/loci-server/src/host/reply_share.rs",
                "replies_to_one_subject_leave_room_for_others",
            ),
            (
                "crates/loci-server/tests/it/held_replies.rs",
                "replies_that_one_user_does_not_read_keep_no_other_waiting",
            ),
        ],
    },
    PoolTests {
        row: "reads for subscriptions",
        tests: &[(HOST, "calls_of_one_subject_leave_room_for_others")],
    },
    PoolTests {
        row: "requests of the page",
        tests: &[(PAGE, "requests_of_one_subject_leave_threads_for_others")],
    },
    PoolTests {
        row: "browsers that are told of changes",
        tests: &[(
            PAGE,
            "listeners_and_sessions_of_one_subject_leave_room_for_others",
        )],
    },
    PoolTests {
        row: "whole files that come or go",
        tests: &[(PAGE, "whole_files_of_one_subject_leave_room_for_others")],
    },
    PoolTests {
        row: "sessions of browsers, and codes",
        tests: &[(
            PAGE,
            "listeners_and_sessions_of_one_subject_leave_room_for_others",
        )],
    },
    PoolTests {
        row: "waits for the provider",
        tests: &[(
            PAGE,
            "waits_for_the_provider_of_one_network_leave_room_for_others",
        )],
    },
    PoolTests {
        row: "subscriptions to changes",
        tests: &[(
            "crates/loci-server/src/subscription_slots.rs",
            "nobody_keeps_others_out",
        )],
    },
    PoolTests {
        row: "connections |",
        tests: &[(
            CONNECTIONS,
            "strangers_with_requests_under_way_give_way_too",
        )],
    },
    PoolTests {
        row: "connections of MCP",
        tests: &[(
            CONNECTIONS,
            "requests_under_way_of_one_subject_leave_places_for_others",
        )],
    },
    PoolTests {
        row: "looks at the store",
        tests: &[(
            "crates/loci-server/src/host/readiness.rs",
            "a_look_answers_those_who_asked_before_it_and_no_others",
        )],
    },
];
const PAGE: &str = "crates/loci-page/tests/it/shares.rs";
const HOST: &str = "crates/loci-server/src/host.rs";
const CONNECTIONS: &str = "crates/loci-server/tests/it/connections.rs";

/// Returns the text of a file of this repository.
fn text_of(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_pool_of_the_table_is_tried_with_a_greedy_subject() {
    let page = text_of("docs/identity.md");
    let (_, table) = page.split_once("| resource | in all |").unwrap();
    let rows = table.lines().skip(2);
    let rows: Vec<_> = rows.map_while(|line| line.strip_prefix("| ")).collect();
    for row in &rows {
        let tried = POOLS.iter().filter(|pool| row.starts_with(pool.row));
        assert_eq!(tried.count(), 1, "no test, or more than a line, for: {row}");
    }
    assert_eq!(rows.len(), POOLS.len(), "a line here is of no pool");
    for (path, name) in POOLS.iter().flat_map(|pool| pool.tests) {
        let test = format!("fn {name}(");
        assert!(text_of(path).contains(&test), "{path} has no {name}");
    }
}
