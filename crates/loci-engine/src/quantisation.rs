//! Vectors of eight bits, as they are stored.

use loci_core::{QueryVector, Vector};

/// Quantises a vector symmetrically to eight bits: the largest component becomes 127.
pub(crate) fn quantise(vector: &QueryVector) -> Vector {
    let largest = vector
        .values
        .iter()
        .fold(0.0f32, |largest, component| largest.max(component.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    let values = vector
        .values
        .iter()
        .map(|component| (component / scale).round() as i8)
        .collect();
    Vector {
        model: vector.model.clone(),
        scale,
        values,
    }
}

/// Returns a stored vector as a query, as exact as it was stored.
pub(crate) fn dequantise(vector: &Vector) -> QueryVector {
    QueryVector {
        model: vector.model.clone(),
        values: vector
            .values
            .iter()
            .map(|value| f32::from(*value) * vector.scale)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use loci_core::ModelId;

    use super::*;

    #[test]
    fn a_vector_comes_back_within_half_a_step() {
        let vector = QueryVector {
            model: ModelId::new("a model"),
            values: vec![0.6, -0.8, 0.0, 0.001],
        };
        let stored = quantise(&vector);
        let back = dequantise(&stored);
        assert_eq!(back.model, vector.model);
        for (value, back) in vector.values.iter().zip(&back.values) {
            assert!((value - back).abs() <= stored.scale / 2.0, "{value} {back}");
        }
        let nothing = QueryVector {
            values: vec![0.0; 3],
            ..vector
        };
        assert_eq!(dequantise(&quantise(&nothing)), nothing);
    }
}
