use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const ROWS: usize = 3;

fn lines(values: &[i8], dimensions: usize) -> Vec<Line> {
    let rows = values.chunks(dimensions).flat_map(|row| row.chunks(LINE));
    rows.map(|values| {
        let mut line = [0; LINE];
        line[..values.len()].copy_from_slice(values);
        Line(line)
    })
    .collect()
}

fn padded<T: Copy + Default>(query: &[T]) -> Vec<[T; LINE]> {
    let line = |values: &[T]| {
        let mut line = [T::default(); LINE];
        line[..values.len()].copy_from_slice(values);
        line
    };
    query.chunks(LINE).map(line).collect()
}

proptest! {
    #[test]
    fn every_copy_gives_the_obvious_products(
        (query, values) in (1_usize..200).prop_flat_map(|dimensions| {
            let limit = query_limit(dimensions);
            (vec(-limit..=limit, dimensions), vec(any::<i8>(), dimensions * ROWS))
        }),
        scales in vec(0.001_f32..2.0, ROWS),
    ) {
        let chosen = [2, 0, 1, 1];
        let expected = chosen.map(|row| {
            let row = row as usize;
            let values = &values[row * query.len()..][..query.len()];
            let sum: i32 = query.iter().zip(values).map(|(query, value)| i32::from(*query) * i32::from(*value)).sum();
            sum as f32 * scales[row]
        });
        let lines = lines(&values, query.len());
        for instructions in Instructions::all() {
            let mut products = [f32::NAN; 4];
            instructions.dots(&padded(&query), Rows { lines: &lines, scales: &scales }, &chosen, &mut products);
            prop_assert_eq!(products.map(f32::to_bits), expected.map(f32::to_bits), "{}", instructions.name());
        }
    }

    #[test]
    fn every_copy_gives_the_same_cosines_bit_for_bit(
        (query, values) in (1_usize..200)
            .prop_flat_map(|dimensions| (vec(-1.0_f32..1.0, dimensions), vec(any::<i8>(), dimensions * ROWS))),
        scales in vec(0.001_f32..2.0, ROWS),
    ) {
        let chosen = [1, 2, 0];
        let lines = lines(&values, query.len());
        let rows = Rows { lines: &lines, scales: &scales };
        let mut expected = [f32::NAN; 3];
        cosines(&padded(&query), rows, &chosen, &mut expected);
        for (row, cosine) in chosen.iter().zip(expected) {
            let values = &values[*row as usize * query.len()..][..query.len()];
            let sum: f64 = query.iter().zip(values).map(|(query, value)| f64::from(*query) * f64::from(*value)).sum();
            prop_assert!((sum * f64::from(scales[*row as usize]) - f64::from(cosine)).abs() < 0.05);
        }
        for instructions in Instructions::all() {
            let mut found = [f32::NAN; 3];
            instructions.cosines(&padded(&query), rows, &chosen, &mut found);
            prop_assert_eq!(found.map(f32::to_bits), expected.map(f32::to_bits), "{}", instructions.name());
        }
    }

    #[test]
    fn every_copy_finds_what_is_obviously_near(
        (query, sketches) in (1_usize..8).prop_flat_map(|words| {
            (vec(any::<[u64; PLANES]>(), words), vec(any::<[u64; BLOCK]>(), words * 9..words * 11))
        }),
        admitted in vec(any::<u64>(), 1..3),
        share in 0.0_f64..1.2,
    ) {
        let sketches: Vec<Words> = sketches.into_iter().map(Words).collect();
        let signs: Vec<[u64; 1]> = query.iter().map(|planes| [planes[0]]).collect();
        finds_what_is_obviously_near(&query, &sketches, &admitted, share)?;
        finds_what_is_obviously_near(&signs, &sketches, &admitted, share)?;
    }
}

fn finds_what_is_obviously_near<const PLANES: usize>(
    query: &[[u64; PLANES]],
    sketches: &[Words],
    admitted: &[u64],
    share: f64,
) -> Result<(), TestCaseError> {
    let largest = query.len() * 64 * ((1 << PLANES) - 1);
    let limit = (largest as f64 * share) as u64;
    let mut expected = Vec::new();
    for place in 0..sketches.len() / query.len() * BLOCK {
        let words = &sketches[place / BLOCK * query.len()..][..query.len()];
        let of_word = |(planes, words): (&[u64; PLANES], &Words)| {
            let differ = |plane: usize| (planes[plane] ^ words.0[place % BLOCK]).count_ones();
            (0..PLANES).map(|plane| differ(plane) << plane).sum::<u32>()
        };
        let distance: u32 = query.iter().zip(words).map(of_word).sum();
        let is_admitted = admitted
            .get(place / 64)
            .is_some_and(|word| word >> (place % 64) & 1 == 1);
        if is_admitted && u64::from(distance) < limit {
            expected.push((place as u32, distance));
        }
    }
    for instructions in Instructions::all() {
        let mut found = Vec::new();
        instructions.near(query, sketches, admitted, limit, &mut found);
        prop_assert_eq!(&found, &expected, "{}", instructions.name());
    }
    Ok(())
}

#[test]
fn the_largest_components_do_not_overflow() {
    for dimensions in [1, 384, 512, 4_096] {
        let query = vec![-query_limit(dimensions); dimensions];
        let lines = lines(&vec![i8::MIN; dimensions], dimensions);
        let expected = i64::from(query[0]) * i64::from(i8::MIN) * dimensions as i64;
        for instructions in Instructions::all() {
            let mut product = [0.0];
            instructions.dots(
                &padded(&query),
                Rows {
                    lines: &lines,
                    scales: &[1.0],
                },
                &[0],
                &mut product,
            );
            assert_eq!(
                product[0].to_bits(),
                (expected as f32).to_bits(),
                "{dimensions} {}",
                instructions.name()
            );
        }
    }
}
