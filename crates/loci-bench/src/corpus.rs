//! Made-up memories and a model without cost, the same in every run.

use loci_core::{Embedder, ModelId, Result, Visibility};
use loci_embed::LocalModel;
use loci_engine::Remember;

/// The number of words in the made-up language.
const VOCABULARY: u64 = 8_000;
/// The number of words of one memory.
const WORDS: usize = 40;
/// The number of components of the bundled model's vectors.
const DIMENSION: usize = 384;

/// A reproducible random generator (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// Returns a number from 0 up to 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number from 0 up to the bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }

    /// Returns one of several items.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// Returns a word; some are far more frequent than others, as in any language.
    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 16] = [
            "ba", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "da", "fe", "gi", "ho",
            "ju", "za",
        ];
        let mut rank = ((VOCABULARY as f64).powf(self.share()) as u64).min(VOCABULARY);
        let mut word = String::new();
        loop {
            word.push_str(SYLLABLES[(rank % 16) as usize]);
            rank /= 16;
            if rank == 0 {
                return word + "n";
            }
        }
    }

    /// Returns that many words.
    pub fn words(&mut self, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

/// Returns a sentence of a user: common words around individual names and numbers.
pub fn sentence(random: &mut Random) -> String {
    const SHAPES: [&str; 8] = [
        "We decided to move the # of # to # after the meeting on day #, because the old one was too slow.",
        "I prefer # over # for every new project, and my colleague # agrees with that.",
        "My sister # moved to # in the year #, and she works there as a teacher for #.",
        "The password for # is kept by #, who can be asked on the phone at number #.",
        "Remember that # must be restarted with # whenever # has changed its configuration file.",
        "Yesterday # told me that the release of # is late by # days, so the customers have to wait.",
        "The database of # runs on the server called #, which has # cores and belongs to #.",
        "On weekends I like to go to # with #, have a coffee and read a book about #.",
    ];
    let shape = SHAPES[(random.bits() % SHAPES.len() as u64) as usize];
    filled(shape, random)
}

/// Returns a question that the user may ask later.
pub fn question(random: &mut Random) -> String {
    const SHAPES: [&str; 4] = [
        "What did we decide about # and #?",
        "Where does the sister # live?",
        "Who keeps the password for #?",
        "When is the release of # and why is it late?",
    ];
    let shape = SHAPES[(random.bits() % SHAPES.len() as u64) as usize];
    filled(shape, random)
}

fn filled(shape: &str, random: &mut Random) -> String {
    let mut text = String::new();
    for part in shape.split_inclusive('#') {
        let Some(part) = part.strip_suffix('#') else {
            return text + part;
        };
        text = text + part + &random.word();
    }
    text
}

/// Returns a memory to store.
pub fn memory(random: &mut Random) -> Remember {
    let content = random.words(WORDS);
    let collection = Some(format!("project-{}", random.bits() % 10));
    Remember {
        collection,
        visibility: Visibility::Common,
        ..Remember::new(content, "fact")
    }
}

/// Gives each text a vector that depends only on the text, in no time. It has the bundled model's
/// name, so that a server that opens the store finds nothing left to embed.
pub struct NoCostModel(ModelId);

impl NoCostModel {
    pub fn new() -> Self {
        NoCostModel(LocalModel::bundled().model().clone())
    }
}

impl Embedder for NoCostModel {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vector = |text: &&str| {
            let seed = text.bytes().fold(7u64, |seed, byte| {
                seed.wrapping_mul(31).wrapping_add(u64::from(byte))
            });
            let mut random = Random(seed);
            let values: Vec<f32> = (0..DIMENSION)
                .map(|_| random.share() as f32 - 0.5)
                .collect();
            let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
            values.into_iter().map(|value| value / length).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}
