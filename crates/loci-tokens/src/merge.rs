//! Byte pair encoding of one piece of text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::rank;

/// A part of the piece that is currently one token, identified by its start.
struct Part {
    /// The start of the part before; `None` for the first part.
    before: Option<usize>,
    /// Its end, where the next part starts.
    end: usize,
    /// The rank of the token that it forms together with the next part.
    joint_rank: Option<u32>,
}

/// Counts the tokens of a piece. Repeatedly merges the two neighbours that form the token of the
/// lowest rank, the first of equals, until no neighbours form a token (Sennrich et al. 2016,
/// "Neural Machine Translation of Rare Words with Subword Units"). A heap of the pairs makes it O(n
/// log n) for n bytes.
pub fn count(piece: &[u8]) -> usize {
    if rank(piece).is_some() {
        return 1;
    }
    let mut parts: Vec<Part> = (0..piece.len())
        .map(|start| Part {
            before: start.checked_sub(1),
            end: start + 1,
            joint_rank: piece.get(start..start + 2).and_then(rank),
        })
        .collect();
    let mut pairs: BinaryHeap<_> = parts.iter().enumerate().filter_map(pair).collect();
    let mut count = piece.len();
    while let Some(Reverse((joint_rank, start))) = pairs.pop() {
        // The parts of this pair may have been merged with others since.
        if parts[start].joint_rank != Some(joint_rank) {
            continue;
        }
        let middle = parts[start].end;
        let end = parts[middle].end;
        parts[middle].joint_rank = None;
        parts[start].end = end;
        if let Some(next) = parts.get_mut(end) {
            next.before = Some(start);
        }
        count -= 1;
        for changed in [Some(start), parts[start].before].into_iter().flatten() {
            let next = parts.get(parts[changed].end);
            parts[changed].joint_rank = next.and_then(|next| rank(&piece[changed..next.end]));
            pairs.extend(pair((changed, &parts[changed])));
        }
    }
    count
}

fn pair((start, part): (usize, &Part)) -> Option<Reverse<(u32, usize)>> {
    part.joint_rank.map(|rank| Reverse((rank, start)))
}
