//! The figures of the activity, compared with the audit log of their range.

use loci_core::{AuditEntry, AuditFailure, AuditRecord, ErrorCode, RecordVerb, Space};
use serde_json::Value;

use crate::support::TestPage;

/// A call of an agent, so many days ago.
fn call(page: &TestPage, days_ago: i64, number: u64) -> AuditEntry {
    let at = page.engine.now().plus_seconds(-86_400 * days_ago);
    let verb = if number.is_multiple_of(3) {
        RecordVerb::Stored
    } else {
        RecordVerb::Returned
    };
    let records = (0..number % 4).map(|record| AuditRecord {
        id: format!("memory {record}"),
        verb,
        is_own: true,
    });
    AuditEntry {
        space: Space::default(),
        at,
        user: Some("ann".to_owned()),
        caller: None,
        client: Some(["codex", "zed"][usize::from(number.is_multiple_of(2))].to_owned()),
        session: None,
        dialect: ["mememory", "hook"][usize::from(number.is_multiple_of(5))].to_owned(),
        tool: "recall".to_owned(),
        operation: "memory:read".to_owned(),
        duration_microseconds: number * 700,
        query: (number % 3 == 1).then(|| "a query".to_owned()),
        results: (number % 3 == 1).then_some(number % 2),
        reply_tokens: Some(number),
        failure: number.is_multiple_of(7).then_some(AuditFailure {
            code: ErrorCode::Unavailable,
            message: None,
        }),
        records: records.collect(),
        further_records: 0,
        further_stored: 0,
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[tokio::test]
async fn the_figures_of_a_range_are_those_of_its_audit_log() {
    let page = TestPage::new();
    let mut logged = Vec::new();
    for entry in 0..200 {
        let entry = call(&page, i64::try_from(entry % 50).unwrap(), entry);
        page.engine.audit().record(entry.clone());
        logged.push(entry);
    }
    let mut browser = page.browser("ann").await;
    for days in [1_i64, 7, 30, 90] {
        let path = format!("/api/v1/insights?days={days}");
        let shown = browser.get(&path).await.json();
        let day = |entry: &AuditEntry| entry.at.microseconds().div_euclid(86_400_000_000);
        let first = page.engine.now().microseconds().div_euclid(86_400_000_000) - days + 1;
        let in_range: Vec<&AuditEntry> =
            logged.iter().filter(|entry| day(entry) >= first).collect();
        let totals = &shown["totals"];
        let sum =
            |of: &dyn Fn(&AuditEntry) -> u64| in_range.iter().map(|entry| of(entry)).sum::<u64>();
        assert_eq!(number(&totals["calls"]), in_range.len() as u64, "{shown}");
        assert_eq!(
            number(&totals["results"]),
            sum(&|entry| entry.results.unwrap_or(0))
        );
        let failures = sum(&|entry| u64::from(entry.failure.is_some()));
        assert_eq!(number(&totals["failures"]), failures);
        let stored = |entry: &AuditEntry| {
            let records = entry.records.iter();
            records
                .filter(|record| record.verb == RecordVerb::Stored)
                .count() as u64
        };
        assert_eq!(number(&totals["stored"]), sum(&stored));
        let of_hooks = |entry: &AuditEntry| entry.dialect == "hook";
        let tokens = |hook: bool| {
            let tokens = in_range.iter().filter(|entry| of_hooks(entry) == hook);
            tokens.filter_map(|entry| entry.reply_tokens).sum::<u64>()
        };
        let of_hook = number(&totals["tokens_start"]) + number(&totals["tokens_prompt"]);
        assert_eq!(
            (number(&totals["tokens_reply"]), of_hook),
            (tokens(false), tokens(true))
        );
        let recalls: Vec<u64> = ["useful", "weak", "nothing", "failed"]
            .map(|name| number(&totals[name]))
            .to_vec();
        assert_eq!(recalls.iter().sum::<u64>(), number(&totals["recalls"]));
        let is_weak = |entry: &AuditEntry| {
            let returned = |record: &AuditRecord| record.verb == RecordVerb::Returned;
            let has_records = entry.records.iter().any(returned);
            entry.failure.is_none() && entry.results == Some(0) && has_records
        };
        assert_eq!(recalls[1], sum(&|entry| u64::from(is_weak(entry))));
        // The chart has the same sums, and so has each way to list them.
        let series = shown["recalls"]["series"].as_array().unwrap().iter();
        let charted: Vec<u64> = series
            .map(|series| {
                series["values"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(number)
                    .sum()
            })
            .collect();
        assert_eq!(charted, recalls);
        for by in ["day", "client", "tool", "user"] {
            let listed = browser.get(&format!("{path}&by={by}")).await.json();
            let rows = listed["rows"].as_array().unwrap().iter();
            let calls: u64 = rows.map(|row| number(&row["figures"]["calls"])).sum();
            assert_eq!(calls, in_range.len() as u64, "{by}");
        }
        let of_client = browser.get(&format!("{path}&client=zed")).await.json();
        let expected = in_range
            .iter()
            .filter(|entry| entry.client.as_deref() == Some("zed"));
        assert_eq!(
            number(&of_client["totals"]["calls"]),
            expected.count() as u64
        );
    }
    let html = browser.get("/activity?days=7").await.text;
    assert!(html.contains("<svg") && html.contains("(UTC)"), "{html}");
    let mut bob = page.browser("bob").await;
    let of_bob = bob.get("/api/v1/insights?days=90").await.json();
    assert_eq!(of_bob["totals"]["calls"], 0, "only the own calls");
    let refused = browser.get("/api/v1/insights?days=0").await;
    assert_eq!(refused.status, http::StatusCode::BAD_REQUEST);
}
