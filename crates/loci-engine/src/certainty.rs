//! The certainty of a contradiction.

/// How certain a contradiction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// Nearly all pairs of this kind contradict each other.
    Sure,
    /// Most of them do.
    Likely,
    /// The evidence is small.
    Maybe,
}

/// The weighted sums of evidence from which a contradiction is sure and likely. They were chosen on
/// the dev half of `crates/loci-bench/src/certainty`, and evaluated on the other half
/// (`loci-bench certainty`).
const SURE_FROM: f64 = 2.5;
const LIKELY_FROM: f64 = 1.7;

impl Certainty {
    /// Returns the certainty of a contradiction with this [sum](crate::Pair::certainty); `None` if
    /// it is no contradiction.
    pub fn of_contradiction(sum: f64) -> Option<Self> {
        match sum {
            sum if sum >= SURE_FROM => Some(Certainty::Sure),
            sum if sum >= LIKELY_FROM => Some(Certainty::Likely),
            sum if sum > 0.0 => Some(Certainty::Maybe),
            _ => None,
        }
    }

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Certainty::Sure => "sure",
            Certainty::Likely => "likely",
            Certainty::Maybe => "maybe",
        }
    }
}
