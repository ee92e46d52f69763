//! Byte pair encoding of one piece of text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::rank;

/// A part of the piece that is one token by now. It is known by where it starts.
struct Part {
    /// Where the part before it starts; the first part has none.
    before: Option<usize>,
    /// Where it ends, which is where the next one starts.
    end: usize,
    /// The rank of the token that it would be together with the next part.
    joint_rank: Option<u32>,
}

/// How many tokens the piece has: of all neighbours that are a token together, the two of the
/// lowest rank are joined, the first of equals, until there are none (Sennrich et al. 2016, "Neural
/// Machine Translation of Rare Words with Subword Units"). A heap of the pairs makes it O(n log n)
/// for n bytes.
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
        // What a pair was made of may have been joined to others since.
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
