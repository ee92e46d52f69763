use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::{Embedder, Error, ModelId, Result, Vector};

/// An embedder without a model: each word adds one to the component that its hash selects, and the
/// sum is normalized. Texts are the closer the more words they share.
#[derive(Debug)]
pub struct HashingEmbedder {
    model: ModelId,
    dimensions: usize,
}

impl HashingEmbedder {
    /// Creates an embedder of vectors with this number of components, at least 1.
    pub fn new(dimensions: usize) -> Self {
        let dimensions = dimensions.max(1);
        HashingEmbedder {
            model: ModelId::new(format!("hashing-{dimensions}")),
            dimensions,
        }
    }

    /// Returns the vector of one text; the zero vector for a text without words.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut values = vec![0.0_f32; self.dimensions];
        for word in text
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let component = fnv(&word.to_lowercase()) % self.dimensions as u64;
            values[component as usize] += 1.0;
        }
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        if norm > 0.0 {
            for value in &mut values {
                *value /= norm;
            }
        }
        values
    }
}

impl Default for HashingEmbedder {
    /// Uses 384 components, like the shipped model.
    fn default() -> Self {
        HashingEmbedder::new(384)
    }
}

impl Embedder for HashingEmbedder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

/// An embedder whose calls always fail.
#[derive(Debug)]
pub struct FailingEmbedder {
    model: ModelId,
}

impl Default for FailingEmbedder {
    fn default() -> Self {
        FailingEmbedder {
            model: ModelId::new("failing"),
        }
    }
}

impl Embedder for FailingEmbedder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Err(Error::unavailable(
            "the model `failing` never answers; it stands in for one that is missing",
        ))
    }
}

/// A [`HashingEmbedder`] whose calls wait until the test opens the gate, so that a test can act
/// while a write is in progress.
#[derive(Debug, Default)]
pub struct GatedEmbedder {
    embedder: HashingEmbedder,
    gate: Mutex<Gate>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Gate {
    is_entered: bool,
    is_open: bool,
}

impl GatedEmbedder {
    /// The maximum wait, so that a test that never opens the gate ends.
    const PATIENCE: Duration = Duration::from_mins(1);

    /// Waits until a call of `embed` has started; panics after a minute.
    pub fn wait_until_entered(&self) {
        let gate = self.wait_until(|gate| gate.is_entered);
        assert!(gate.is_entered, "nobody embeds anything");
    }

    /// Lets all calls through from now on.
    pub fn open(&self) {
        self.change(|gate| gate.is_open = true);
    }

    fn change(&self, change: impl FnOnce(&mut Gate)) {
        change(&mut self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        self.moved.notify_all();
    }

    fn wait_until(&self, holds: impl Fn(&Gate) -> bool) -> MutexGuard<'_, Gate> {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .moved
            .wait_timeout_while(gate, Self::PATIENCE, |gate| !holds(gate));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Embedder for GatedEmbedder {
    fn model(&self) -> &ModelId {
        self.embedder.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.change(|gate| gate.is_entered = true);
        if !self.wait_until(|gate| gate.is_open).is_open {
            return Err(Error::unavailable(
                "nobody opened the gate of the embedder for a minute",
            ));
        }
        self.embedder.embed(texts)
    }
}

/// Quantizes a vector as a store does: the largest component becomes 127 steps.
pub fn quantise(model: &ModelId, values: &[f32]) -> Vector {
    let largest = values
        .iter()
        .fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    let values = values
        .iter()
        .map(|value| (value / scale).round() as i8)
        .collect();
    Vector {
        model: model.clone(),
        scale,
        values,
    }
}

fn fnv(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_gate_holds_calls_until_it_is_opened() {
        let embedder = GatedEmbedder::default();
        thread::scope(|scope| {
            let call = scope.spawn(|| embedder.embed(&["tea"]));
            embedder.wait_until_entered();
            assert!(!call.is_finished());
            embedder.open();
            assert_eq!(
                call.join().expect("no panic"),
                HashingEmbedder::default().embed(&["tea"])
            );
        });
    }

    #[test]
    fn texts_with_the_same_words_have_the_same_unit_vector() {
        let embedder = HashingEmbedder::new(64);
        let vectors = embedder
            .embed(&["Green tea, please", "tea green PLEASE"])
            .expect("hashing cannot fail");
        assert_eq!(vectors[0], vectors[1]);
        let norm: f32 = vectors[0].iter().map(|value| value * value).sum();
        assert!((norm - 1.0).abs() < 1e-6);
    }
}
