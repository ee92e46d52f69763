//! Made-up passages with vectors, each a function of its number only, so that a million need no
//! memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use loci_core::{
    Embedder, Error, Memory, MemoryId, ModelId, Passage, Result, Space, Term, Timestamp, Vector,
    Visibility, unit_vector,
};

use super::super::corpus::Random;

/// The number of components of a vector, as in the bundled model.
pub const DIMENSION: usize = 384;
/// The number of words of a passage.
const WORDS: usize = 40;
/// The number of words of a query.
const QUERY_WORDS: usize = 6;
/// The number of words in the made-up language. Their frequencies follow Zipf's law.
const VOCABULARY: f64 = 50_000.0;
/// One of this many words belongs to the topic of its passage.
const WORDS_PER_TOPIC_WORD: usize = 3;
/// The number of words of a topic.
const TOPIC_WORDS: usize = 40;
/// The number of passages of a topic.
const PASSAGES_PER_TOPIC: usize = 500;
/// The distance of vectors from the centre of their topic, which has the length 1. Two of one topic
/// have a cosine of about 0.6, as texts about one topic have with the bundled model.
const NOISE: f32 = 0.8;

/// The model's name.
const MODEL: &str = "synthetic";

/// The made-up corpus.
pub struct Synthetic {
    passages: usize,
    topics: Vec<Vec<f32>>,
}

/// A question with its vector.
pub struct Question {
    /// Its words, by their ranks.
    pub ranks: Vec<u32>,
    /// The words as a text.
    pub text: String,
    /// Its vector.
    pub vector: Vec<f32>,
}

impl Synthetic {
    /// Returns a corpus of that many passages.
    pub fn new(passages: usize) -> Self {
        let centre = |topic| noise(&mut Random(u64::MAX - topic as u64), 1.0);
        let topics = passages.div_ceil(PASSAGES_PER_TOPIC).max(1);
        Synthetic {
            passages,
            topics: (0..topics).map(centre).map(unit).collect(),
        }
    }

    /// Returns the number of passages.
    pub fn passages(&self) -> usize {
        self.passages
    }

    /// Returns the topic of a passage, and the random generator of its words.
    fn topic(&self, index: usize) -> (usize, Random) {
        let mut random = Random(index as u64);
        (random.below(self.topics.len()), random)
    }

    /// Returns the words of a passage, by their ranks.
    pub fn ranks(&self, index: usize) -> Vec<u32> {
        let (topic, mut random) = self.topic(index);
        let rank = |word| {
            if word % WORDS_PER_TOPIC_WORD == 0 {
                let own = topic * TOPIC_WORDS + random.below(TOPIC_WORDS);
                return (own % VOCABULARY as usize) as u32;
            }
            VOCABULARY.powf(random.share()) as u32
        };
        (0..WORDS).map(rank).collect()
    }

    /// Returns the vector of a passage.
    pub fn vector(&self, index: usize) -> Vec<f32> {
        self.near(self.topic(index).0, &mut Random((1 << 40) + index as u64))
    }

    fn near(&self, topic: usize, random: &mut Random) -> Vec<f32> {
        let noise = noise(random, NOISE);
        unit(
            self.topics[topic]
                .iter()
                .zip(noise)
                .map(|(centre, noise)| centre + noise)
                .collect(),
        )
    }

    /// Returns a question about the topic of some passage, in words of that passage.
    pub fn question(&self, number: usize) -> Question {
        let mut random = Random((1 << 50) + number as u64);
        let index = random.below(self.passages);
        let passage = self.ranks(index);
        let ranks: Vec<u32> = (0..QUERY_WORDS)
            .map(|_| passage[random.below(WORDS)])
            .collect();
        Question {
            text: text(&ranks),
            ranks,
            vector: self.near(self.topic(index).0, &mut random),
        }
    }

    /// Returns the passage as a memory, and its index entry.
    pub fn memory(&self, index: usize) -> (Memory, Passage) {
        let ranks = self.ranks(index);
        let content = text(&ranks);
        let mut counts: HashMap<String, u32> = HashMap::new();
        content
            .split(' ')
            .for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
        let mut terms: Vec<Term> = counts
            .into_iter()
            .map(|(text, count)| Term { text, count })
            .collect();
        terms.sort_by(|a, b| a.text.cmp(&b.text));
        let (scale, values) = quantised(&self.vector(index));
        let vector = Vector {
            model: model(),
            scale,
            values,
        };
        let passage = Passage {
            range: 0..content.len(),
            terms,
            vector: Some(vector),
        };
        (record(index, content), passage)
    }
}

/// Returns the id of the model.
pub fn model() -> ModelId {
    ModelId::new(MODEL)
}

/// Returns the id of a passage's memory.
pub fn id(index: usize) -> MemoryId {
    MemoryId::new(format!("passage-{index}"))
}

fn record(index: usize, content: String) -> Memory {
    let moment = Timestamp::from_microseconds(index as i64);
    Memory {
        weight: 1.0,
        visibility: Visibility::Common,
        ..Memory::new(Space::default(), id(index), content, "fact", moment)
    }
}

/// Quantises a vector symmetrically to eight bits, as the engine does it.
pub fn quantised(vector: &[f32]) -> (f32, Vec<i8>) {
    let largest = vector
        .iter()
        .fold(0.0f32, |largest, component| largest.max(component.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    (
        scale,
        vector
            .iter()
            .map(|component| (component / scale).round() as i8)
            .collect(),
    )
}

/// Returns a vector of about that length, in a random direction.
fn noise(random: &mut Random, length: f32) -> Vec<f32> {
    // The uniform distribution from -1 to 1 has the variance 1/3.
    let unit = length * (3.0 / DIMENSION as f32).sqrt() / f32::from(i16::MAX);
    let mut values = Vec::with_capacity(DIMENSION);
    while values.len() < DIMENSION {
        let bits = random.bits();
        values.extend([0, 16, 32, 48].map(|shift| f32::from((bits >> shift) as i16) * unit));
    }
    values
}

fn unit(vector: Vec<f32>) -> Vec<f32> {
    unit_vector(vector).unwrap_or_else(|| vec![0.0; DIMENSION])
}

fn text(ranks: &[u32]) -> String {
    let words: Vec<String> = ranks.iter().map(|rank| word(*rank)).collect();
    words.join(" ")
}

/// Returns a word that no stemmer changes.
fn word(mut rank: u32) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "ke", "la", "mo", "nu", "pa", "re", "sa", "to", "vu", "da", "fe", "ga", "ho", "ju",
        "za",
    ];
    let mut word = String::new();
    loop {
        word.push_str(SYLLABLES[(rank % 16) as usize]);
        rank /= 16;
        if rank == 0 {
            return word + "k";
        }
    }
}

/// A model that has the vectors of the questions beforehand and takes no time for them.
pub struct PreparedModel {
    model: ModelId,
    vectors: Mutex<HashMap<String, Vec<f32>>>,
}

impl PreparedModel {
    /// Returns a model with these questions.
    pub fn new(questions: &[Question]) -> Self {
        let vectors = questions
            .iter()
            .map(|question| (question.text.clone(), question.vector.clone()))
            .collect();
        PreparedModel {
            model: model(),
            vectors: Mutex::new(vectors),
        }
    }
}

impl Embedder for PreparedModel {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let vector = |text: &&str| vectors.get(*text).cloned();
        texts
            .iter()
            .map(vector)
            .collect::<Option<_>>()
            .ok_or_else(|| Error::internal("no question of the benchmark"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(left: &[f32], right: &[f32]) -> f32 {
        left.iter().zip(right).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn passages_of_a_topic_are_near_each_other() {
        let corpus = Synthetic::new(2_000);
        let of = |topic| {
            (0..2_000)
                .filter(move |index| corpus.topic(*index).0 == topic)
                .collect::<Vec<_>>()
        };
        let (here, there) = (of(0), Synthetic::new(2_000).topics.len() - 1);
        let corpus = Synthetic::new(2_000);
        let other = (0..2_000)
            .find(|index| corpus.topic(*index).0 == there)
            .unwrap();
        let [first, second, other] = [here[0], here[1], other].map(|index| corpus.vector(index));
        assert!((cosine(&first, &first) - 1.0).abs() < 1e-4);
        assert!(cosine(&first, &second) > 0.45 && cosine(&first, &other) < 0.3);
        let (scale, values) = quantised(&first);
        let back: Vec<f32> = values
            .iter()
            .map(|value| f32::from(*value) * scale)
            .collect();
        assert!(cosine(&first, &back) > 0.999);
    }
}
