use super::kernel;

/// Vectors of one model, by slot: eight bits a component, with a scale for each vector.
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    dimensions: usize,
    values: Vec<i8>,
    /// `NaN` where the slot has no vector.
    scales: Vec<f32>,
    count: usize,
    norm_max: f32,
}

/// A query made ready for [`Vectors::approximate`].
#[derive(Debug, Clone)]
pub struct PreparedQuery {
    values: Vec<i16>,
    scale: f32,
    error: f32,
}

impl PreparedQuery {
    /// By how much an approximate cosine may differ from the exact one, at most.
    pub fn error(&self) -> f32 {
        self.error
    }
}

impl Vectors {
    /// No vectors yet, of that many components.
    pub fn new(dimensions: usize) -> Self {
        Vectors { dimensions, ..Vectors::default() }
    }

    /// How many components each vector has.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many slots have a vector.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no slot has a vector.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the slot has a vector.
    pub fn has(&self, slot: u32) -> bool {
        self.scales.get(slot as usize).is_some_and(|scale| !scale.is_nan())
    }

    /// Gives the slot a vector: component `i` is `values[i] * scale`. A vector of another number of
    /// components, or with a scale that is no finite number, cannot be compared and is left out.
    pub fn set(&mut self, slot: u32, scale: f32, values: &[i8]) {
        self.clear(slot);
        if values.len() != self.dimensions || !scale.is_finite() {
            return;
        }
        let slot = slot as usize;
        if slot >= self.scales.len() {
            self.scales.resize(slot + 1, f32::NAN);
            self.values.resize((slot + 1) * self.dimensions, 0);
        }
        self.values[slot * self.dimensions..][..self.dimensions].copy_from_slice(values);
        self.scales[slot] = scale;
        self.count += 1;
        let squares: i64 = values.iter().map(|value| i64::from(i32::from(*value).pow(2))).sum();
        self.norm_max = self.norm_max.max((squares as f32).sqrt() * scale.abs());
    }

    /// Takes the slot's vector away, if it has one.
    pub fn clear(&mut self, slot: u32) {
        if self.has(slot) {
            self.scales[slot as usize] = f32::NAN;
            self.count -= 1;
        }
    }

    /// Quantises a query to 16 bits (fewer, where the sums could leave 32 bits); none if it has
    /// another number of components and so cannot be compared.
    pub fn prepare(&self, query: &[f32]) -> Option<PreparedQuery> {
        if query.len() != self.dimensions {
            return None;
        }
        let largest = query.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let limit = f32::from(kernel::query_limit(self.dimensions));
        let scale = if largest > 0.0 && largest.is_finite() { largest / limit } else { 1.0 };
        let values: Vec<i16> = query.iter().map(|value| (value / scale).round().clamp(-limit, limit) as i16).collect();
        let squares: f32 =
            query.iter().zip(&values).map(|(value, step)| (value - f32::from(*step) * scale).powi(2)).sum();
        // The bound of Cauchy and Schwarz, and some room for the rounding of the sums themselves.
        let error = squares.sqrt() * self.norm_max + 1e-5;
        Some(PreparedQuery { values, scale, error })
    }

    /// Appends the approximate cosine of the query with each slot. Every slot must have a vector.
    pub fn approximate(&self, query: &PreparedQuery, slots: &[u32], cosines: &mut Vec<f32>) {
        let mut products = vec![0; slots.len()];
        kernel::dots(&query.values, &self.values, slots, &mut products);
        let scaled = |(slot, product): (&u32, i32)| product as f32 * query.scale * self.scales[*slot as usize];
        cosines.extend(slots.iter().zip(products).map(scaled));
    }

    /// The cosine of the query, not quantised, with the slot's vector; none if it has none.
    pub fn exact(&self, query: &[f32], slot: u32) -> Option<f32> {
        const LANES: usize = 16;
        if !self.has(slot) || query.len() != self.dimensions {
            return None;
        }
        let row = &self.values[slot as usize * self.dimensions..][..self.dimensions];
        let (query_chunks, query_rest) = query.as_chunks::<LANES>();
        let (row_chunks, row_rest) = row.as_chunks::<LANES>();
        let mut sums = [0.0_f32; LANES];
        for (query, row) in query_chunks.iter().zip(row_chunks) {
            for lane in 0..LANES {
                sums[lane] += query[lane] * f32::from(row[lane]);
            }
        }
        let rest: f32 = query_rest.iter().zip(row_rest).map(|(query, value)| query * f32::from(*value)).sum();
        Some((sums.iter().sum::<f32>() + rest) * self.scales[slot as usize])
    }

    /// Gives back memory that growing has reserved, after the load of many vectors.
    pub fn shrink(&mut self) {
        self.values.shrink_to_fit();
        self.scales.shrink_to_fit();
    }

    /// Bytes that it holds in memory.
    pub fn bytes(&self) -> usize {
        self.values.capacity() + self.scales.capacity() * size_of::<f32>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_approximation_is_within_its_error(
            query in vec(-1.0_f32..1.0, 37),
            rows in vec((vec(any::<i8>(), 37), 0.001_f32..0.02), 1..8),
        ) {
            let mut vectors = Vectors::new(37);
            for (slot, (values, scale)) in rows.iter().enumerate() {
                vectors.set(slot as u32, *scale, values);
            }
            let slots: Vec<u32> = (0..rows.len() as u32).collect();
            let prepared = vectors.prepare(&query).unwrap();
            let mut cosines = Vec::new();
            vectors.approximate(&prepared, &slots, &mut cosines);
            for (slot, cosine) in slots.iter().zip(cosines) {
                let exact = vectors.exact(&query, *slot).unwrap();
                prop_assert!((cosine - exact).abs() <= prepared.error(), "{cosine} {exact} {}", prepared.error());
            }
        }
    }

    #[test]
    fn slots_are_set_replaced_and_cleared() {
        let mut vectors = Vectors::new(2);
        vectors.set(3, 0.5, &[2, 4]);
        vectors.set(3, 0.5, &[4, 2]);
        assert_eq!((vectors.len(), vectors.has(3), vectors.has(0), vectors.has(9)), (1, true, false, false));
        assert_eq!(vectors.exact(&[1.0, 0.0], 3), Some(2.0));
        assert!(vectors.prepare(&[1.0]).is_none());
        vectors.set(3, 0.5, &[4, 2, 1]);
        assert!(vectors.is_empty(), "a vector of another length cannot stay");
        vectors.set(1, f32::NAN, &[1, 1]);
        vectors.clear(7);
        assert!(vectors.is_empty());
        assert_eq!(vectors.exact(&[1.0, 0.0], 3), None);
    }
}
