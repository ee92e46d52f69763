//! The strength with which a memory matches a question.

use loci_engine::{Hit, STRENGTH_MIN, match_grade};
use serde::Serialize;
use utoipa::ToSchema;

/// The length of the bar, in units of the picture.
const LENGTH: f64 = 100.0;

/// Why a result stands where it does.
#[derive(Serialize, ToSchema)]
#[schema(as = Why)]
pub(crate) struct MatchStrength {
    /// `strong`, `fair` or `weak`.
    pub(crate) grade: &'static str,
    /// The fused relevance, 0 to 1.
    pub(crate) relevance: f64,
    /// The part of the relevance that comes from words, 0 to 1.
    pub(crate) words: f64,
    /// The part of the relevance that comes from the meaning, 0 to 1.
    pub(crate) meaning: f64,
    /// The rank by words, from 1.
    pub(crate) rank_by_words: Option<usize>,
    /// The rank by meaning, from 1.
    pub(crate) rank_by_meaning: Option<usize>,
    /// The share of the question that its words cover, 0 to 1.
    pub(crate) coverage: f64,
    /// The cosine similarity of its nearest passage.
    pub(crate) cosine: Option<f32>,
    /// The contribution of its neighbours and its thread.
    pub(crate) context: f64,
    /// The identifiers of the question that it has.
    pub(crate) identifiers: usize,
    /// The bonus for a speaker or a time that the question names.
    pub(crate) asked_for: f64,
    /// The number of memories that say the same.
    pub(crate) times_said: usize,
    /// The probability, 0 to 1, that a memory answers the question if this is the best one; `None`
    /// if it is not known.
    pub(crate) strength: Option<f64>,
}

impl MatchStrength {
    pub(super) fn of(hit: &Hit) -> Self {
        let signals = &hit.signals;
        let words = signals.words * signals.words_weight;
        let meaning = signals.meaning * (1.0 - signals.words_weight);
        MatchStrength {
            grade: match_grade(signals.strength, signals.relevance),
            relevance: signals.relevance,
            words: hundredths(words),
            meaning: hundredths(meaning),
            rank_by_words: signals.rank_by_words,
            rank_by_meaning: signals.rank_by_meaning,
            coverage: signals.coverage,
            cosine: signals.cosine,
            context: signals.context,
            identifiers: signals.identifiers,
            asked_for: signals.asked_for,
            times_said: hit.times_said(),
            strength: signals.strength.map(hundredths),
        }
    }

    /// Returns true if it is only loosely related to the question.
    pub(crate) fn is_weak(&self) -> bool {
        self.grade == "weak"
    }

    /// Returns the message that names the grade.
    pub(crate) fn grade_label(&self) -> &'static str {
        match self.grade {
            "weak" => "b-match-weak",
            "fair" => "b-match-fair",
            _ => "b-match-strong",
        }
    }

    /// Returns the lengths of the bar for words and for the meaning.
    pub(crate) fn bar(&self) -> [String; 2] {
        let length = self.strength.unwrap_or(self.relevance).clamp(0.0, 1.0) * LENGTH;
        let all = self.words + self.meaning;
        let words = if all > 0.0 {
            length * self.words / all
        } else {
            length
        };
        [format!("{words:.0}"), format!("{:.0}", length - words)]
    }

    /// Returns the place on the bar below which a match is weak; `None` if the strength is not known.
    pub(crate) fn limit(&self) -> Option<String> {
        self.strength
            .map(|_| format!("{:.0}", STRENGTH_MIN * LENGTH))
    }

    /// Returns the coverage as a percentage; `None` if all words are found.
    pub(crate) fn percent_of_coverage(&self) -> Option<String> {
        (self.coverage < 0.995).then(|| percent(self.coverage))
    }

    /// Returns the strength as a percentage, if it is known.
    pub(crate) fn percent_of_strength(&self) -> Option<String> {
        self.strength.map(percent)
    }

    /// Returns the cosine, if there is one.
    pub(crate) fn nearness(&self) -> Option<String> {
        self.cosine.map(|cosine| format!("{cosine:.2}"))
    }
}

/// Returns a share, rounded to hundredths.
pub(super) fn hundredths(share: f64) -> f64 {
    (share * 100.0).round() / 100.0
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
