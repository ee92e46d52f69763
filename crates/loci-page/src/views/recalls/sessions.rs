//! The tokens that agents got in a session.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::{AuditEntry, DailyCount};
use serde::Serialize;
use utoipa::ToSchema;

use crate::view::Count;

/// The width of the longest bar, in units of the picture.
const WIDTH: f64 = 600.0;
/// The programs that are shown.
const SHOWN: usize = 8;

/// The tokens of the sessions of a program. The means add up to the mean of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct SessionTokens {
    /// The program; empty if it gave no name.
    pub(crate) client: String,
    /// The number of sessions.
    pub(crate) sessions: u64,
    /// The mean of what hooks put before agents when a session starts.
    pub(crate) start: u64,
    /// The mean of what hooks put before agents later.
    pub(crate) prompt: u64,
    /// The mean of other replies.
    pub(crate) reply: u64,
    /// Half of the sessions got at most as many.
    pub(crate) median: u64,
    /// Nine of ten sessions got at most as many.
    pub(crate) p90: u64,
}

/// A part of a bar.
pub(crate) struct Part {
    pub(crate) x: String,
    pub(crate) width: String,
    /// The place of its series, from 1.
    pub(crate) step: usize,
}

/// Returns the tokens of sessions, by program, the one with most sessions first.
pub(super) fn of<'e>(entries: impl Iterator<Item = &'e AuditEntry>) -> Vec<SessionTokens> {
    let mut sessions: BTreeMap<(&str, &str), [u64; 3]> = BTreeMap::new();
    for entry in entries {
        let Some(session) = &entry.session else {
            continue;
        };
        let count = DailyCount::of(entry);
        let client = entry.client.as_deref().unwrap_or_default();
        let sums = sessions.entry((client, session)).or_default();
        let tokens = [count.tokens_start, count.tokens_prompt, count.tokens_reply];
        for (sum, tokens) in sums.iter_mut().zip(tokens) {
            *sum += tokens;
        }
    }
    let mut by_client: BTreeMap<&str, Vec<[u64; 3]>> = BTreeMap::new();
    for ((client, _), sums) in sessions {
        by_client.entry(client).or_default().push(sums);
    }
    let mut found: Vec<SessionTokens> = by_client
        .into_iter()
        .map(|(client, sums)| of_client(client, &sums))
        .collect();
    found.sort_by_key(|found| Reverse(found.sessions));
    found.truncate(SHOWN);
    found
}

fn of_client(client: &str, sums: &[[u64; 3]]) -> SessionTokens {
    let count = sums.len() as u64;
    let mean = |part: usize| {
        let sum: u64 = sums.iter().map(|sums| sums[part]).sum();
        sum.checked_div(count).unwrap_or(0)
    };
    let mut totals: Vec<u64> = sums.iter().map(|sums| sums.iter().sum()).collect();
    totals.sort_unstable();
    let at = |percent: usize| {
        let place = (totals.len() * percent).div_ceil(100);
        totals.get(place.saturating_sub(1)).copied().unwrap_or(0)
    };
    SessionTokens {
        client: client.to_owned(),
        sessions: count,
        start: mean(0),
        prompt: mean(1),
        reply: mean(2),
        median: at(50),
        p90: at(90),
    }
}

impl SessionTokens {
    /// Returns the mean of all tokens.
    pub(crate) fn mean(&self) -> u64 {
        self.start + self.prompt + self.reply
    }

    /// Returns the parts of its bar, of which the longest one of all has `most` tokens.
    pub(crate) fn parts(&self, most: impl Count) -> Vec<Part> {
        let most = most.count();
        let mut x = 0.0;
        let parts = [self.start, self.prompt, self.reply]
            .into_iter()
            .enumerate();
        let part = |(index, tokens): (usize, u64)| {
            let width = length(tokens, most);
            let part = Part {
                x: format!("{x:.1}"),
                width: format!("{width:.1}"),
                step: index + 1,
            };
            x += width;
            part
        };
        parts.map(part).collect()
    }

    /// Returns the places of the median and of the 90th percentile.
    pub(crate) fn ticks(&self, most: impl Count) -> [String; 2] {
        let most = most.count();
        [self.median, self.p90].map(|tokens| format!("{:.1}", length(tokens, most)))
    }
}

fn length(tokens: u64, most: u64) -> f64 {
    WIDTH * tokens as f64 / most.max(1) as f64
}

impl super::Recalls {
    /// Returns the most tokens that the bars of sessions have to show.
    pub(crate) fn most_tokens(&self) -> u64 {
        let sessions = self.sessions.iter();
        let most = sessions.map(|tokens| tokens.mean().max(tokens.p90)).max();
        most.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use loci_core::{Space, Timestamp};

    use super::*;

    fn entry(
        client: &str,
        session: Option<&str>,
        dialect: &str,
        tool: &str,
        tokens: u64,
    ) -> AuditEntry {
        AuditEntry {
            space: Space::default(),
            at: Timestamp::from_microseconds(0),
            user: None,
            caller: None,
            client: Some(client.to_owned()),
            session: session.map(str::to_owned),
            dialect: dialect.to_owned(),
            tool: tool.to_owned(),
            operation: "memory:read".to_owned(),
            duration_microseconds: 1,
            query: None,
            results: None,
            reply_tokens: Some(tokens),
            failure: None,
            records: Vec::new(),
            further_records: 0,
            further_stored: 0,
        }
    }

    #[test]
    fn sessions_are_counted_with_the_parts_of_their_tokens() {
        let entries = [
            entry("codex", Some("a"), "hook", "session_start", 100),
            entry("codex", Some("a"), "hook", "prompt", 20),
            entry("codex", Some("a"), "mememory", "recall", 60),
            entry("codex", Some("b"), "mememory", "recall", 20),
            entry("codex", None, "mememory", "recall", 9_000),
            entry("zed", Some("a"), "mememory", "recall", 7),
        ];
        let found = of(entries.iter());
        let codex = SessionTokens {
            client: "codex".to_owned(),
            sessions: 2,
            start: 50,
            prompt: 10,
            reply: 40,
            median: 20,
            p90: 180,
        };
        assert_eq!(found[0], codex);
        assert_eq!((found.len(), found[1].sessions), (2, 1));
        let widths: Vec<_> = codex
            .parts(200_u64)
            .into_iter()
            .map(|part| part.width)
            .collect();
        assert_eq!(widths, ["150.0", "30.0", "120.0"]);
        assert_eq!(codex.ticks(200_u64), ["60.0", "540.0"]);
        assert_eq!(of([].into_iter()), []);
    }
}
