//! Fuses several scores into one relevance: of the words, of the meaning, of the context of a text,
//! and of what the question asks for besides its topic.
//!
//! **Words and meaning.** Both scores are normalised over the query's candidates and summed with
//! weights: on dialogue this finds more than reciprocal rank fusion, which discards the distances
//! between scores (`docs/retrieval.md`). Both start at 0. Plain min-max normalisation would call
//! the best candidate perfect however poor it is, so cosines are scaled to [`STRONG_COSINE`] if no
//! cosine reaches it.
//!
//! **The weight depends on the query.** The weight of the words is a logistic function of a few
//! [`QueryFeatures`], of how well either side matches the query; that of the meaning is the
//! rest. Its coefficients are fitted to the training halves of sets of several kinds by `loci-bench
//! fusion`, and cross-validated with each set left out (`docs/retrieval.md`).
//!
//! **Hubs.** A text that is near to everything is near to questions that it does not answer, too.
//! So the cosine of a text gains from its distance to the rest of its store.
//!
//! **Context.** In a thread, a text gains from its neighbours, because an answer often shares no
//! word with the question, and from the BM25 of the thread as a whole. A missing neighbour counts
//! as one that is three quarters as good as the text: a text at the end of a thread, or in no
//! thread, is not worse for it, and a good fact is not outranked by chatter whose neighbours match
//! each other. A text in no thread is its own thread.
//!
//! **Signals.** A fixed amount for each property that the query names and a text has: its speaker,
//! its time, any time at all for a question that asks when.

use std::collections::HashMap;

use crate::search::strength::StrengthWeights;

/// The rank whose score shows how far the best stands out from the others of its side.
const MARGIN_RANK: usize = 10;
/// The maximum number of terms of a short query.
const SHORT_TERMS: usize = 2;
/// The score of a missing neighbour, as a factor of the text's own score.
const ABSENT_NEIGHBOUR: f64 = 0.75;
/// The shift of the weights of each of the two fused rankings, from the weights of the query
/// towards its own side.
const SIDE_BIAS: f64 = 0.3;
/// The cosine to the nearest of many unrelated texts.
pub const WEAK_COSINE: f64 = 0.15;
/// The cosine to a text with nearly the same meaning.
pub const STRONG_COSINE: f64 = 0.5;
/// The hubness from which on a text counts as near to the rest of its store. A store about one
/// topic, or in a language that the model does not know, has most of its texts beyond, where a
/// difference says nothing.
pub(crate) const HUBNESS_MAX: f32 = 0.4;
/// BM25's `k1 + 1`: the limit of the score of a term that occurs very often, relative to one that
/// occurs once in a text of mean length.
const SATURATION: f32 = 1.9;

/// Measures of how well words and meaning match a query, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueryFeatures {
    /// The share of the query that the best by words covers: its BM25 relative to that of a passage
    /// of mean length which contains every term once. Terms are weighted by their rarity.
    pub coverage: f64,
    /// The share of the query that the best by words covers beyond the tenth: a stray word that few
    /// texts have makes its text stand out, and is weak evidence.
    pub words_margin: f64,
    /// The distance of the highest cosine from the tenth, or above [`WEAK_COSINE`] if that is more,
    /// relative to the distance from there to [`STRONG_COSINE`].
    pub meaning_margin: f64,
    /// The share of the query's information that no single text contains, for a query of one or two
    /// terms, else 0: there a stray word covers much of the query.
    pub brevity: f64,
    /// 1 if the model does not support the language of the query, else 0.
    pub foreign: f64,
}

impl QueryFeatures {
    fn of(query: &Input<'_>) -> Self {
        let descending = |mut scores: Vec<f32>| {
            scores.sort_unstable_by(|left, right| right.total_cmp(left));
            let at = |rank: usize| f64::from(scores.get(rank).copied().unwrap_or(0.0).max(0.0));
            (at(0), at(MARGIN_RANK - 1))
        };
        let (bm25, bm25_behind) =
            descending(query.candidates.iter().map(|scores| scores.bm25).collect());
        let (cosine, cosine_behind) = descending(
            query
                .candidates
                .iter()
                .filter_map(|scores| scores.cosine)
                .collect(),
        );
        let range = STRONG_COSINE - WEAK_COSINE;
        let matched = query
            .candidates
            .iter()
            .map(|scores| scores.matched)
            .fold(0.0, f32::max);
        let share = |part: f64, whole: f64| {
            if whole > 0.0 {
                (part / whole).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        QueryFeatures {
            coverage: share(bm25 * f64::from(SATURATION), f64::from(query.bm25_bound)),
            words_margin: share(
                (bm25 - bm25_behind) * f64::from(SATURATION),
                f64::from(query.bm25_bound),
            ),
            meaning_margin: share(cosine - cosine_behind.max(WEAK_COSINE), range),
            brevity: if query.terms <= SHORT_TERMS {
                (1.0 - f64::from(matched)).max(0.0)
            } else {
                0.0
            },
            foreign: f64::from(u8::from(query.is_foreign)),
        }
    }
}

/// The logistic function that computes the weight of the words from [`QueryFeatures`]: better matches of
/// the words never reduce it, and better matches of the meaning never increase it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordsWeight {
    /// The constant term.
    pub bias: f64,
    /// The coefficient of [`QueryFeatures::coverage`], at least 0.
    pub coverage: f64,
    /// The coefficient of [`QueryFeatures::words_margin`], at least 0.
    pub words_margin: f64,
    /// The coefficient of [`QueryFeatures::meaning_margin`], at most 0.
    pub meaning_margin: f64,
    /// The coefficient of [`QueryFeatures::brevity`], at most 0.
    pub brevity: f64,
    /// The coefficient of [`QueryFeatures::foreign`], at least 0.
    pub foreign: f64,
}

impl WordsWeight {
    fn of(&self, evidence: &QueryFeatures) -> f64 {
        let sum = self.bias
            + self.coverage * evidence.coverage
            + self.words_margin * evidence.words_margin
            + self.meaning_margin * evidence.meaning_margin
            + self.brevity * evidence.brevity
            + self.foreign * evidence.foreign;
        1.0 / (1.0 + (-sum).exp())
    }
}

/// The weights of the parts of the ranking. `loci-bench fusion --fit` fits most weights to the
/// training halves of sets; `docs/adr/0032-the-fusion-is-fitted-to-many-sets.md` describes how each
/// was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The weight of the words, as a function of how well either side matches the query.
    pub words_weight: WordsWeight,
    /// A fixed weight of the words for every query instead, 0 to 1.
    pub fixed_words_weight: Option<f64>,
    /// The exponent of the normalised BM25, so that one good text stands out from several mediocre
    /// neighbours.
    pub contrast: f64,
    /// The exponent of the share of the query's information that a text contains, relative to that
    /// of the best by words: it reduces a BM25 that comes from one word.
    pub matched: f64,
    /// The exponent of the normalised cosine.
    pub meaning_contrast: f64,
    /// The factor of the distance of a text to the rest of its store, which is added to its cosine.
    pub apartness: f64,
    /// The minimum similarity to the query of a phase of work for a text to be relevant: the cosine
    /// of this model plus the part of the words. Chosen on one half of `loci-bench phases`.
    pub phase_floor: f64,
    /// The factor of the share of such a query that the words of a text cover, which is added to
    /// the cosine.
    pub phase_words: f64,
    /// The weight of the scores of the adjacent texts in the thread.
    pub near_neighbour: f64,
    /// The weight of the scores of the texts one further away.
    pub far_neighbour: f64,
    /// The weight of a neighbour's meaning relative to its words.
    pub neighbours_meaning: f64,
    /// The weight of the thread as a whole.
    pub thread: f64,
    /// The number of members up to which the BM25 of a thread counts in full: a longer thread
    /// covers many topics.
    pub thread_members: f64,
    /// The degree to which the weight of the thread follows the weight of the words, 0 to 1.
    pub thread_follows: f64,
    /// The factor of words, meaning and neighbours for the output of a tool, 0 to 1: it repeats the
    /// words of the request and contains no decisions. Set by hand.
    pub tool_output: f64,
    /// The bonus for the speaker that the query names.
    pub speaker: f64,
    /// The bonus for the time that the query names.
    pub date: f64,
    /// The bonus for any time, if the query asks when.
    pub time: f64,
    /// True if quoted phrases of the query must occur.
    pub phrases: bool,
    /// The coefficients of the strength of a search, which `loci-bench strength --fit` fits.
    pub strength: StrengthWeights,
}

impl Default for Weights {
    fn default() -> Self {
        Weights {
            words_weight: WordsWeight {
                bias: -1.7,
                coverage: 1.6,
                words_margin: 3.0,
                meaning_margin: -3.0,
                brevity: -2.0,
                foreign: 3.5,
            },
            fixed_words_weight: None,
            contrast: 1.3,
            matched: 0.7,
            meaning_contrast: 1.2,
            apartness: 0.35,
            phase_floor: 0.23,
            phase_words: 3.5,
            near_neighbour: 0.49,
            far_neighbour: 0.2,
            neighbours_meaning: 0.32,
            thread: 0.65,
            thread_members: 50.0,
            thread_follows: 0.7,
            tool_output: 0.4,
            speaker: 0.1,
            date: 0.3,
            time: 0.2,
            phrases: true,
            strength: StrengthWeights::DEFAULT,
        }
    }
}

/// The weight of the words if it does not depend on the query.
const FIXED_WORDS_WEIGHT: f64 = 0.55;

impl Weights {
    /// The steps that [`without`](Self::without) accepts.
    pub const STEPS: [&'static str; 12] = [
        "words",
        "meaning",
        "adaptive",
        "contrast",
        "hubs",
        "neighbours",
        "threads",
        "tools",
        "speakers",
        "dates",
        "times",
        "phrases",
    ];

    /// Returns the factor for the kind of a text, relative to speech.
    fn of_text(&self, scores: &Scores) -> f64 {
        if scores.is_tool_output {
            self.tool_output
        } else {
            1.0
        }
    }

    /// Disables a step, to measure its effect; `None` if there is no such step.
    #[must_use]
    pub fn without(self, step: &str) -> Option<Self> {
        Some(match step {
            "words" => Weights {
                fixed_words_weight: Some(0.0),
                thread: 0.0,
                ..self
            },
            "meaning" => Weights {
                fixed_words_weight: Some(1.0),
                ..self
            },
            "adaptive" => Weights {
                fixed_words_weight: Some(FIXED_WORDS_WEIGHT),
                ..self
            },
            "contrast" => Weights {
                contrast: 1.0,
                meaning_contrast: 1.0,
                ..self
            },
            "hubs" => Weights {
                apartness: 0.0,
                ..self
            },
            "neighbours" => Weights {
                near_neighbour: 0.0,
                far_neighbour: 0.0,
                ..self
            },
            "threads" => Weights {
                thread: 0.0,
                ..self
            },
            "tools" => Weights {
                tool_output: 1.0,
                ..self
            },
            "speakers" => Weights {
                speaker: 0.0,
                ..self
            },
            "dates" => Weights { date: 0.0, ..self },
            "times" => Weights { time: 0.0, ..self },
            "phrases" => Weights {
                phrases: false,
                ..self
            },
            _ => return None,
        })
    }
}

/// The scores of a candidate before the fusion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// BM25, 0 if no word matches.
    pub bm25: f32,
    /// The share of the query's information that its words contain, 0 to 1.
    pub matched: f32,
    /// The cosine, if there is a vector to compare: on the scale of the model that the weights were
    /// fitted with, from [`WEAK_COSINE`] to [`STRONG_COSINE`].
    pub cosine: Option<f32>,
    /// How far its hubness is below [`HUBNESS_MAX`], on the same scale; 0 if it is not below, or
    /// not known.
    pub apartness: f32,
    /// Its thread (an index of `threads`) and its position in it.
    pub place: Option<(usize, u64)>,
    /// True if it is the output of a tool instead of speech.
    pub is_tool_output: bool,
    /// The requested properties that it has: the speaker, the time, and any time.
    pub query_bonus: QueryMatches,
}

/// The properties requested by the query that a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryMatches {
    /// The query names its speaker.
    pub speaker: bool,
    /// It was written at the time that the query names, or mentions it.
    pub date: bool,
    /// The query asks when, and the text mentions a time.
    pub time: bool,
}

/// The fused scores of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FusedScores {
    /// The score of the words, 0 to 1.
    pub words: f64,
    /// The score of the meaning, 0 to 1.
    pub meaning: f64,
    /// The share of the query that its words cover, 0 to 1: its BM25 relative to that of a passage
    /// of mean length that contains every term once. It does not depend on other candidates.
    pub coverage: f64,
    /// The weight of the words in this query, 0 to 1; that of the meaning is the rest.
    pub words_weight: f64,
    /// The contribution of neighbours and thread.
    pub context: f64,
    /// The contribution of the signals.
    pub signals: f64,
    /// The place, from 1, that the reranker gave it, if it read it.
    pub rank_by_reranker: Option<usize>,
    /// The overall relevance, 0 to 1: the sum, scaled from 0 for the candidate at `depth`, which
    /// any question finds, to the greatest sum of the query or 1, whichever is less.
    pub relevance: f64,
    /// The same sum with a greater weight of the words, for a ranking that favours them; 0 if no
    /// text has a word of the query.
    pub words_in_context: f64,
    /// The same sum with a greater weight of the meaning, for a ranking that favours it.
    pub meaning_in_context: f64,
}

/// The scores of a thread as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Thread {
    /// Its BM25 as one text.
    pub bm25: f32,
    /// The number of its texts.
    pub members: usize,
}

/// A query with its candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Input<'a> {
    /// The candidates.
    pub candidates: &'a [Scores],
    /// The threads of the candidates.
    pub threads: &'a [Thread],
    /// The limit of the BM25 of a text that contains every term of the query very often.
    pub bm25_bound: f32,
    /// The number of terms of the query.
    pub terms: usize,
    /// True if the model does not support the language of the query.
    pub is_foreign: bool,
}

/// Returns the relevance of each candidate. The candidate that comes after `depth` better ones
/// counts as irrelevant, so that a ranking which weighs relevance against age or importance still
/// distinguishes the better ones.
pub fn fuse(query: &Input<'_>, weights: &Weights, depth: usize) -> Vec<FusedScores> {
    let candidates = with_apartness(query.candidates, weights);
    let query = Input {
        candidates: &candidates,
        ..*query
    };
    fuse_candidates(&query, weights, depth)
}

fn fuse_candidates(query: &Input<'_>, weights: &Weights, depth: usize) -> Vec<FusedScores> {
    let candidates = query.candidates;
    let mut fused = normalised(query, weights);
    let around = NeighbourScores::of(candidates, &fused);
    let has_threads = candidates.iter().any(|scores| scores.place.is_some());
    let bm25_max = candidates
        .iter()
        .map(|scores| scores.bm25)
        .fold(0.0, f32::max);
    let thread_max = query
        .threads
        .iter()
        .map(|thread| thread.bm25)
        .fold(0.0, f32::max);
    let of_thread = |scores: &Scores, own: &FusedScores| match scores.place {
        Some((thread, _)) if thread_max > 0.0 => {
            let Thread { bm25, members } = query.threads[thread];
            f64::from(bm25 / thread_max)
                * (weights.thread_members / members.max(1) as f64)
                    .sqrt()
                    .min(1.0)
        }
        None if has_threads => own.words,
        _ => 0.0,
    };
    let in_context: Vec<FusedScores> = candidates
        .iter()
        .zip(&fused)
        .map(|(scores, &own)| {
            let neighbours = if has_threads {
                around.neighbours(scores.place, own, weights)
            } else {
                (0.0, 0.0)
            };
            let thread = of_thread(scores, &own);
            let bonus = |has: bool, weight: f64| if has { weight } else { 0.0 };
            let signals = bonus(scores.query_bonus.speaker, weights.speaker)
                + bonus(scores.query_bonus.date, weights.date)
                + bonus(scores.query_bonus.time, weights.time);
            // The context with this weight of the words.
            let context = |share: f64| {
                let follows = 1.0 - weights.thread_follows * (1.0 - share);
                let around = share * neighbours.0 + (1.0 - share) * neighbours.1;
                weights.of_text(scores) * around + weights.thread * follows * thread
            };
            let whole = |share: f64| {
                share * own.words + (1.0 - share) * own.meaning + context(share) + signals
            };
            let share = own.words_weight;
            FusedScores {
                context: context(share),
                signals,
                relevance: whole(share),
                words_in_context: if bm25_max > 0.0 {
                    whole(share + SIDE_BIAS * (1.0 - share))
                } else {
                    0.0
                },
                meaning_in_context: whole(share - SIDE_BIAS * share),
                ..own
            }
        })
        .collect();
    fused = in_context;
    scale(&mut fused, depth);
    fused
}

/// Returns the candidates with the cosines that the ranking goes by: a text gains from its distance
/// to the rest of its store.
fn with_apartness(candidates: &[Scores], weights: &Weights) -> Vec<Scores> {
    let gain = |scores: &Scores| weights.apartness as f32 * scores.apartness;
    let candidates = candidates.iter().map(|scores| Scores {
        cosine: scores.cosine.map(|cosine| cosine + gain(scores)),
        ..*scores
    });
    candidates.collect()
}

/// Scales the sums to relevances.
fn scale(fused: &mut [FusedScores], depth: usize) {
    let mut sums: Vec<f64> = fused.iter().map(|fused| fused.relevance).collect();
    sums.sort_unstable_by(|left, right| right.total_cmp(left));
    let top = sums.first().copied().unwrap_or(0.0);
    let floor = sums.get(depth).copied().unwrap_or(0.0);
    for fused in fused {
        // All of the first `depth` candidates may be equally good.
        let share = if top > floor {
            (fused.relevance - floor) / (top - floor)
        } else {
            f64::from(u8::from(fused.relevance >= top))
        };
        fused.relevance = top.min(1.0) * share.clamp(0.0, 1.0);
    }
}

/// Returns words and meaning of each candidate on the scale of the query, and the weight of the
/// words.
fn normalised(query: &Input<'_>, weights: &Weights) -> Vec<FusedScores> {
    let candidates = query.candidates;
    let bm25_max = candidates
        .iter()
        .map(|scores| scores.bm25)
        .fold(0.0, f32::max);
    let cosines: Vec<f64> = candidates
        .iter()
        .filter_map(|scores| scores.cosine)
        .map(|cosine| f64::from(cosine.max(0.0)))
        .collect();
    let words_weight = match (bm25_max > 0.0, cosines.is_empty()) {
        (true, false) => weights
            .fixed_words_weight
            .unwrap_or_else(|| weights.words_weight.of(&QueryFeatures::of(query))),
        (true, true) => 1.0,
        (false, _) => 0.0,
    };
    // Computed from the best by words, which are the same for any number of candidates.
    let best = candidates.iter().filter(|scores| scores.bm25 >= bm25_max);
    let matched_by_best = best.map(|scores| scores.matched).fold(0.0, f32::max);
    let words = |scores: &Scores| {
        let matched = if matched_by_best > 0.0 {
            f64::from(scores.matched / matched_by_best).min(1.0)
        } else {
            1.0
        };
        f64::from(scores.bm25 / bm25_max).powf(weights.contrast) * matched.powf(weights.matched)
    };
    let cosine_top = cosines.iter().copied().fold(STRONG_COSINE, f64::max);
    let meaning = |cosine: f32| {
        let share = f64::from(cosine) / cosine_top.max(f64::MIN_POSITIVE);
        share.clamp(0.0, 1.0).powf(weights.meaning_contrast)
    };
    let coverage =
        |bm25: f32| f64::from(bm25 * SATURATION / query.bm25_bound.max(f32::MIN_POSITIVE)).min(1.0);
    let counts = |scores: &Scores| weights.of_text(scores);
    let of = |scores: &Scores| {
        let words = if bm25_max > 0.0 { words(scores) } else { 0.0 };
        // Only the words score a text that has no vector yet.
        let meaning = scores.cosine.map_or(words * coverage(scores.bm25), meaning);
        FusedScores {
            words: counts(scores) * words,
            meaning: counts(scores) * meaning,
            coverage: coverage(scores.bm25),
            words_weight,
            ..FusedScores::default()
        }
    };
    candidates.iter().map(of).collect()
}

/// The best words and meaning at each position of the threads.
struct NeighbourScores(HashMap<(usize, u64), (f64, f64)>);

impl NeighbourScores {
    fn of(candidates: &[Scores], fused: &[FusedScores]) -> Self {
        let mut best: HashMap<(usize, u64), (f64, f64)> = HashMap::new();
        for (scores, fused) in candidates.iter().zip(fused) {
            if let Some(place) = scores.place {
                let best = best.entry(place).or_default();
                *best = (best.0.max(fused.words), best.1.max(fused.meaning));
            }
        }
        NeighbourScores(best)
    }

    /// Returns the contribution of the neighbours' words and meaning. A missing one, at the end of
    /// a thread or outside of any, counts as [`ABSENT_NEIGHBOUR`] times as good as the text itself.
    fn neighbours(
        &self,
        place: Option<(usize, u64)>,
        own: FusedScores,
        weights: &Weights,
    ) -> (f64, f64) {
        let nobody = (ABSENT_NEIGHBOUR * own.words, ABSENT_NEIGHBOUR * own.meaning);
        let at = |position: Option<u64>| {
            let place = place
                .zip(position)
                .map(|((thread, _), position)| (thread, position));
            place
                .and_then(|place| self.0.get(&place))
                .copied()
                .unwrap_or(nobody)
        };
        let position = place.map_or(0, |(_, position)| position);
        let (mut words, mut meaning) = (0.0, 0.0);
        for (distance, weight) in [(1, weights.near_neighbour), (2, weights.far_neighbour)] {
            for neighbour in [
                position.checked_sub(distance),
                position.checked_add(distance),
            ]
            .map(at)
            {
                words += weight * neighbour.0;
                meaning += weight * weights.neighbours_meaning * neighbour.1;
            }
        }
        (words, meaning)
    }
}

/// The offset of ranks in [`reciprocal_rank`], which reduces the differences between the first
/// ranks: the value of the paper.
const RANK_OFFSET: f64 = 60.0;

/// Returns the reciprocal rank fusion: the sum of `weight / (60 + rank)` over the rankings, each
/// given as its weight and the rank in it, from 1; `None` where the candidate does not occur.
///
/// G. V. Cormack, C. L. A. Clarke, S. Büttcher: "Reciprocal Rank Fusion outperforms Condorcet and
/// individual Rank Learning Methods", SIGIR 2009; the weights are an addition.
pub fn reciprocal_rank(rankings: impl IntoIterator<Item = (f64, Option<usize>)>) -> f64 {
    let share = |(weight, rank): (f64, Option<usize>)| {
        rank.map_or(0.0, |rank| weight / (RANK_OFFSET + rank as f64))
    };
    rankings.into_iter().map(share).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(bm25: f32, cosine: f32) -> Scores {
        Scores {
            bm25,
            cosine: Some(cosine),
            ..Scores::default()
        }
    }

    fn fused(
        candidates: &[Scores],
        threads: &[f32],
        bm25_bound: f32,
        weights: &Weights,
        depth: usize,
    ) -> Vec<FusedScores> {
        let threads: Vec<Thread> = threads
            .iter()
            .map(|&bm25| Thread { bm25, members: 4 })
            .collect();
        let query = Input {
            candidates,
            threads: &threads,
            bm25_bound,
            terms: 3,
            is_foreign: false,
        };
        fuse(&query, weights, depth)
    }

    fn relevance(candidates: &[Scores], bound: f32) -> Vec<f64> {
        fused(candidates, &[], bound, &Weights::default(), usize::MAX)
            .iter()
            .map(|fused| fused.relevance)
            .collect()
    }

    #[test]
    fn what_a_tool_put_out_weighs_less_than_what_was_said() {
        let said = scores(1.1, 0.4);
        let output = Scores {
            is_tool_output: true,
            ..scores(1.6, 0.4)
        };
        let [of_said, of_output] =
            [said, output].map(|text| relevance(&[said, output, text], 1.9)[2]);
        assert!(of_said > of_output, "{of_said} {of_output}");
        // It is found if no speech matches.
        let alone = relevance(
            &[
                output,
                Scores {
                    is_tool_output: false,
                    ..scores(0.2, 0.1)
                },
            ],
            1.9,
        );
        assert!(alone[0] > alone[1], "{alone:?}");
    }

    #[test]
    fn agreement_wins() {
        let found = relevance(&[scores(4.0, 0.2), scores(4.0, 0.8), scores(0.0, 0.8)], 8.0);
        assert!(found[1] > found[0] && found[1] > found[2]);
        assert!((found[1] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_text_that_no_model_has_read_yet_is_judged_by_its_words() {
        let unread = Scores {
            bm25: 4.0,
            matched: 1.0,
            ..Scores::default()
        };
        let read = Scores {
            matched: 0.3,
            ..scores(1.0, 0.4)
        };
        let found = relevance(&[unread, read], 4.0);
        assert!(found[0] > found[1], "{found:?}");
        let stray = Scores {
            bm25: 1.0,
            matched: 0.1,
            ..Scores::default()
        };
        let found = relevance(&[stray, scores(0.0, 0.5)], 22.0);
        assert!(found[0] < found[1], "{found:?}");
    }

    #[test]
    fn a_text_that_is_near_to_everything_counts_less() {
        let apart = Scores {
            apartness: 0.15,
            ..scores(0.0, 0.47)
        };
        let candidates = [scores(0.0, 0.5), apart];
        let is_hub_first = |weights: &Weights| {
            let found = fused(&candidates, &[], 4.0, weights, usize::MAX);
            found[0].relevance > found[1].relevance
        };
        assert!(!is_hub_first(&Weights::default()));
        assert!(is_hub_first(&Weights::default().without("hubs").unwrap()));
    }

    #[test]
    fn a_poor_best_is_not_perfect() {
        assert!(relevance(&[scores(0.0, 0.1)], 1.0)[0] < 0.25);
    }

    #[test]
    fn one_side_alone_decides_where_the_other_is_silent() {
        let words = [2.0, 1.0].map(|bm25| Scores {
            bm25,
            ..Scores::default()
        });
        let half = 0.5_f64.powf(Weights::default().contrast);
        assert_eq!(relevance(&words, 4.0), [1.0, half]);
        let weights = Weights::default();
        let half = 0.5_f64.powf(weights.meaning_contrast);
        let meaning = fused(
            &[scores(0.0, 0.9), scores(0.0, 0.45)],
            &[],
            4.0,
            &weights,
            usize::MAX,
        );
        assert!(
            (meaning[0].relevance - 1.0).abs() < 1e-6 && (meaning[1].relevance - half).abs() < 1e-6
        );
    }

    #[test]
    fn a_side_that_understands_the_query_is_not_drowned() {
        // A paraphrase beside a text that has one stray word of six.
        let paraphrase = relevance(&[scores(0.0, 0.55), scores(2.0, 0.1)], 22.0);
        assert!(paraphrase[0] > paraphrase[1], "{paraphrase:?}");
        // An identifier beside a text with a slightly higher cosine.
        let identifier = relevance(&[scores(6.0, 0.2), scores(0.0, 0.3)], 11.0);
        assert!(identifier[0] > identifier[1], "{identifier:?}");
    }

    #[test]
    fn words_decide_where_the_model_does_not_know_the_language() {
        // Half of the query's words beside a text that an English model scores as near.
        let candidates = [
            Scores {
                matched: 0.6,
                ..scores(4.0, 0.35)
            },
            scores(0.0, 0.6),
        ];
        let first = |is_foreign| {
            let query = Input {
                candidates: &candidates,
                threads: &[],
                bm25_bound: 14.0,
                terms: 5,
                is_foreign,
            };
            let found = fuse(&query, &Weights::default(), usize::MAX);
            usize::from(found[1].relevance > found[0].relevance)
        };
        assert_eq!((first(true), first(false)), (0, 1));
    }

    #[test]
    fn a_thread_lifts_what_stands_in_it() {
        let at = |position, bm25| Scores {
            place: Some((0, position)),
            ..scores(bm25, 0.2)
        };
        let elsewhere = Scores {
            place: Some((1, 0)),
            ..scores(1.0, 0.2)
        };
        let found = fused(
            &[at(0, 4.0), at(1, 1.0), elsewhere],
            &[3.0, 1.0],
            8.0,
            &Weights::default(),
            usize::MAX,
        );
        assert!(found[1].relevance > found[2].relevance);
        assert!(found[1].context > found[2].context);
        let none = Weights::default()
            .without("neighbours")
            .and_then(|weights| weights.without("threads"))
            .unwrap();
        let apart = fused(
            &[at(0, 4.0), at(1, 1.0), elsewhere],
            &[3.0, 1.0],
            8.0,
            &none,
            usize::MAX,
        );
        assert!((apart[1].relevance - apart[2].relevance).abs() < 1e-9);
    }

    #[test]
    fn a_good_fact_does_not_drown_in_a_thread() {
        let fact = scores(4.0, 0.7);
        let chatter = |position| Scores {
            place: Some((0, position)),
            ..scores(2.0, 0.4)
        };
        let found = fused(
            &[fact, chatter(0), chatter(1), chatter(2)],
            &[3.0],
            8.0,
            &Weights::default(),
            usize::MAX,
        );
        assert!(
            found[1..]
                .iter()
                .all(|chatter| chatter.relevance < found[0].relevance),
            "{found:?}"
        );
    }

    #[test]
    fn each_signal_counts_and_can_be_switched_off() {
        let with = |fits| Scores {
            query_bonus: fits,
            ..scores(1.0, 0.3)
        };
        let rows = [
            (
                "speakers",
                QueryMatches {
                    speaker: true,
                    ..QueryMatches::default()
                },
            ),
            (
                "dates",
                QueryMatches {
                    date: true,
                    ..QueryMatches::default()
                },
            ),
            (
                "times",
                QueryMatches {
                    time: true,
                    ..QueryMatches::default()
                },
            ),
        ];
        for (step, fits) in rows {
            let candidates = [with(fits), with(QueryMatches::default())];
            let found = fused(&candidates, &[], 2.0, &Weights::default(), usize::MAX);
            assert!(found[0].relevance > found[1].relevance, "{step}");
            let off = fused(
                &candidates,
                &[],
                2.0,
                &Weights::default().without(step).unwrap(),
                usize::MAX,
            );
            assert!((off[0].relevance - off[1].relevance).abs() < 1e-9, "{step}");
        }
        assert!(
            Weights::STEPS
                .iter()
                .all(|step| Weights::default().without(step).is_some())
        );
        assert_eq!(Weights::default().without("everything"), None);
    }

    #[test]
    fn the_scale_begins_where_any_question_finds_something() {
        let candidates = [8.0, 6.0, 5.0, 4.0].map(|bm25| Scores {
            bm25,
            ..Scores::default()
        });
        let relevance = |depth| {
            let weights = Weights {
                contrast: 1.0,
                ..Weights::default()
            };
            fused(&candidates, &[], 16.0, &weights, depth)
                .iter()
                .map(|fused| fused.relevance)
                .collect::<Vec<_>>()
        };
        assert_eq!(relevance(usize::MAX), [1.0, 0.75, 0.625, 0.5]);
        assert_eq!(relevance(3), [1.0, 0.5, 0.25, 0.0]);
        assert_eq!(relevance(2), [1.0, 1.0 / 3.0, 0.0, 0.0]);
        assert_eq!(relevance(0), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn what_is_worse_than_many_equals_is_not_their_equal() {
        let candidates = [8.0, 8.0, 8.0, 4.0].map(|bm25| Scores {
            bm25,
            ..Scores::default()
        });
        let found = fused(&candidates, &[], 16.0, &Weights::default(), 2);
        assert_eq!(
            found
                .iter()
                .map(|fused| fused.relevance)
                .collect::<Vec<_>>(),
            [1.0, 1.0, 1.0, 0.0]
        );
    }

    #[test]
    fn ranks_count_by_their_weight_and_absence_counts_nothing() {
        let rows = [
            ([(1.0, Some(1)), (0.7, Some(3))], 1.0 / 61.0 + 0.7 / 63.0),
            ([(1.0, None), (0.7, Some(1))], 0.7 / 61.0),
            ([(1.0, None), (0.7, None)], 0.0),
        ];
        for (rankings, expected) in rows {
            assert!(
                (reciprocal_rank(rankings) - expected).abs() < 1e-12,
                "{rankings:?}"
            );
        }
    }

    #[test]
    fn a_text_that_only_its_thread_speaks_for_does_not_push_an_answer_out() {
        // A paraphrase of the answer, and a message without a word of the question in a thread that
        // contains all words.
        let answer = Scores {
            place: Some((1, 0)),
            ..scores(0.0, 0.5)
        };
        let stray = Scores {
            place: Some((0, 9)),
            matched: 0.1,
            ..scores(1.0, 0.2)
        };
        // In a thread of many topics, even a message with nearly the same cosine.
        for (members, cosine) in [(1, 0.3), (20, 0.3), (170, 0.4)] {
            let silent = Scores {
                place: Some((0, 0)),
                ..scores(0.0, cosine)
            };
            let threads = [
                Thread { bm25: 9.0, members },
                Thread {
                    bm25: 0.0,
                    members: 1,
                },
            ];
            let candidates = [answer, stray, silent];
            let query = Input {
                candidates: &candidates,
                threads: &threads,
                bm25_bound: 22.0,
                terms: 5,
                is_foreign: false,
            };
            let found = fuse(&query, &Weights::default(), usize::MAX);
            assert!(
                found[1..]
                    .iter()
                    .all(|other| other.relevance < found[0].relevance),
                "{members}: {found:?}"
            );
        }
    }

    #[test]
    fn a_long_thread_counts_less() {
        let candidates = [0, 1].map(|thread| Scores {
            place: Some((thread, 0)),
            matched: 0.5,
            ..scores(2.0, 0.3)
        });
        let context = |members: usize| {
            let threads = [
                Thread { bm25: 4.0, members },
                Thread {
                    bm25: 0.0,
                    members: 1,
                },
            ];
            let query = Input {
                candidates: &candidates,
                threads: &threads,
                bm25_bound: 8.0,
                terms: 3,
                is_foreign: false,
            };
            let fused = fuse(&query, &Weights::default(), usize::MAX);
            fused[0].context - fused[1].context
        };
        assert!((context(1) - context(50)).abs() < 1e-9);
        assert!((context(200) * 2.0 - context(50)).abs() < 1e-9);
    }

    proptest::proptest! {
        #[test]
        fn what_is_no_worse_in_anything_comes_no_later(
            all in proptest::collection::vec((0.0f32..9.0, 0.0f32..1.0, -0.2f32..1.0), 2..20),
            terms in 1usize..12,
        ) {
            let candidates: Vec<_> =
                all.iter().map(|&(bm25, matched, cosine)| Scores { matched, ..scores(bm25, cosine) }).collect();
            let query = Input {
                candidates: &candidates,
                threads: &[],
                bm25_bound: 18.0,
                terms,
                is_foreign: false,
            };
            let found = fuse(&query, &Weights::default(), usize::MAX);
            for (left, one) in candidates.iter().zip(&found) {
                for (right, other) in candidates.iter().zip(&found) {
                    let is_no_worse =
                        left.bm25 >= right.bm25 && left.matched >= right.matched && left.cosine >= right.cosine;
                    proptest::prop_assert!(!is_no_worse || one.relevance >= other.relevance - 1e-9);
                    proptest::prop_assert!(!is_no_worse || one.words_in_context >= other.words_in_context - 1e-9);
                    proptest::prop_assert!(!is_no_worse || one.meaning_in_context >= other.meaning_in_context - 1e-9);
                }
            }
        }

        fn relevance_is_a_share(bm25 in proptest::collection::vec(0.0f32..50.0, 0..20)) {
            let candidates: Vec<_> = (0_u64..).zip(&bm25).map(|(position, &bm25)| Scores {
                place: (position % 3 != 0).then_some((position as usize % 2, position)),
                ..scores(bm25, bm25 / 25.0 - 1.0)
            }).collect();
            for fused in fused(&candidates, &[1.0, 0.0], 60.0, &Weights::default(), usize::MAX) {
                proptest::prop_assert!((0.0..=1.0).contains(&fused.relevance));
                proptest::prop_assert!((0.0..=1.0).contains(&fused.words_weight));
            }
        }
    }
}
