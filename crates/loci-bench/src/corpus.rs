//! Made-up memories and a model that costs nothing, the same in every run.

use loci_core::{Embedder, ModelId, Result, Visibility};
use loci_embed::LocalModel;
use loci_engine::Remember;

/// Words that the made-up language has.
const VOCABULARY: u64 = 8_000;
/// Words of one memory.
const WORDS: usize = 40;
/// Components of the bundled model's vectors.
const DIMENSION: usize = 384;

/// Repeatable randomness (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// Sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// From 0 up to 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 up to that number.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }

    /// One of several.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// A word; some are far more frequent than others, as in any language.
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

    /// That many words.
    pub fn words(&mut self, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

/// What a person may say: common words around names and numbers of its own.
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

/// What that person may ask later.
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

/// A memory to store.
pub fn memory(random: &mut Random) -> Remember {
    let content = random.words(WORDS);
    let collection = Some(format!("project-{}", random.bits() % 10));
    Remember {
        collection,
        visibility: Visibility::Common,
        ..Remember::new(content, "fact")
    }
}

/// Gives each text a vector that depends on nothing but the text, in no time. It goes by the
/// bundled model's name, so that a server which opens the store finds nothing left to embed.
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
