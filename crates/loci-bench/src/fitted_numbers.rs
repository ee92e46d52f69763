//! The numbers of the fusion that are fitted to sets.

use loci_engine::Weights;

/// A number of [`Weights`] that is fitted.
pub struct Number {
    pub name: &'static str,
    /// Borrows it from the weights.
    pub of: fn(&mut Weights) -> &mut f64,
    /// Its least and greatest value.
    pub range: (f64, f64),
}

/// All fitted numbers.
pub const NUMBERS: [Number; 16] = [
    Number {
        name: "bias",
        of: |weights| &mut weights.words_weight.bias,
        range: (-6.0, 4.0),
    },
    Number {
        name: "coverage",
        of: |weights| &mut weights.words_weight.coverage,
        range: (0.0, 12.0),
    },
    Number {
        name: "words_margin",
        of: |weights| &mut weights.words_weight.words_margin,
        range: (0.0, 8.0),
    },
    Number {
        name: "meaning_margin",
        of: |weights| &mut weights.words_weight.meaning_margin,
        range: (-8.0, 0.0),
    },
    Number {
        name: "brevity",
        of: |weights| &mut weights.words_weight.brevity,
        range: (-4.0, 0.0),
    },
    Number {
        name: "foreign",
        of: |weights| &mut weights.words_weight.foreign,
        range: (0.0, 4.0),
    },
    Number {
        name: "contrast",
        of: |weights| &mut weights.contrast,
        range: (0.6, 2.5),
    },
    Number {
        name: "matched",
        of: |weights| &mut weights.matched,
        range: (0.0, 1.5),
    },
    Number {
        name: "meaning_contrast",
        of: |weights| &mut weights.meaning_contrast,
        range: (0.6, 4.0),
    },
    Number {
        name: "apartness",
        of: |weights| &mut weights.apartness,
        range: (0.0, 1.0),
    },
    Number {
        name: "near_neighbour",
        of: |weights| &mut weights.near_neighbour,
        range: (0.0, 0.6),
    },
    Number {
        name: "far_neighbour",
        of: |weights| &mut weights.far_neighbour,
        range: (0.0, 0.3),
    },
    Number {
        name: "neighbours_meaning",
        of: |weights| &mut weights.neighbours_meaning,
        range: (0.0, 1.0),
    },
    Number {
        name: "thread",
        of: |weights| &mut weights.thread,
        range: (0.0, 0.8),
    },
    Number {
        name: "thread_members",
        of: |weights| &mut weights.thread_members,
        range: (5.0, 85.0),
    },
    Number {
        name: "thread_follows",
        of: |weights| &mut weights.thread_follows,
        range: (0.0, 1.0),
    },
];

/// Returns the weights with another value of a fitted number; `None` if there is no such number.
pub fn with_number(mut weights: Weights, name: &str, value: f64) -> Option<Weights> {
    let number = NUMBERS.iter().find(|number| number.name == name)?;
    *(number.of)(&mut weights) = value;
    Some(weights)
}

/// Returns the fitted numbers of the weights, by name.
pub fn numbers(mut weights: Weights) -> [(&'static str, f64); NUMBERS.len()] {
    NUMBERS.map(|number| (number.name, *(number.of)(&mut weights)))
}
