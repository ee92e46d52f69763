//! Unit vectors, the form in which every [`Embedder`](crate::Embedder) returns its vectors.

/// Scales a vector to unit length; returns `None` if it has no direction (all zero, or not finite).
pub fn unit_vector(mut values: Vec<f32>) -> Option<Vec<f32>> {
    let norm = values
        .iter()
        .map(|&value| f64::from(value).powi(2))
        .sum::<f64>()
        .sqrt();
    if !norm.is_finite() || norm < f64::from(f32::MIN_POSITIVE) {
        return None;
    }
    for value in &mut values {
        *value = (f64::from(*value) / norm) as f32;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_and_refuses() {
        assert_eq!(unit_vector(vec![3.0, 4.0]), Some(vec![0.6, 0.8]));
        assert_eq!(unit_vector(vec![0.0, 2e38, 0.0]), Some(vec![0.0, 1.0, 0.0]));
        for no_direction in [
            vec![],
            vec![0.0; 3],
            vec![1.0, f32::NAN],
            vec![f32::INFINITY, 1.0],
        ] {
            assert_eq!(unit_vector(no_direction), None);
        }
    }
}
