use std::borrow::Cow;
use std::sync::LazyLock;

use proptest::prelude::*;
use rten_simd::SimdOp;
use rten_simd::isa::GenericIsa;
#[cfg(target_arch = "x86_64")]
use rten_simd::isa::{Avx2Isa, Avx512Isa};

use super::arithmetic::{exp, rounded, twice_normal};
use super::attention::{Attention, Distances, Room};
use super::linear::{Linear, Weights};
use super::rows::{
    AddAndNormalise, ByteRows, Dequantise, GeluAndQuantise, Norm, Products, Quantise,
};
use super::table::{Table, Words};
use super::*;
use crate::bundled::{GRAPH, TENSORS};

static BUNDLED: LazyLock<Encoder> = LazyLock::new(|| Encoder::load(GRAPH, TENSORS, true).unwrap());

/// Returns the outcomes with the instructions that this processor has, and without any.
macro_rules! on_all_instructions {
    (|$isa:ident| $outcome:expr) => {{
        let $isa = GenericIsa::new();
        let mut outcomes = vec![$outcome];
        #[cfg(target_arch = "x86_64")]
        {
            outcomes.extend(Avx2Isa::new().map(|$isa| $outcome));
            outcomes.extend(Avx512Isa::new().map(|$isa| $outcome));
        }
        #[cfg(target_arch = "aarch64")]
        outcomes.extend(rten_simd::isa::ArmNeonIsa::new().map(|$isa| $outcome));
        outcomes
    }};
}

fn run(texts: &[Vec<i32>]) -> Vec<Vec<f32>> {
    let texts: Vec<&[i32]> = texts.iter().map(Vec::as_slice).collect();
    BUNDLED.run(&texts).unwrap()
}

/// Numbers between -`size` and `size` that repeat late.
fn numbers(count: usize, size: f32) -> Vec<f32> {
    let number = |index: usize| ((index * 7_919 + 13) % 20_011) as f32 / 10_005.5 - 1.0;
    (0..count).map(|index| number(index) * size).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Texts of any lengths, which neither fill a block of rows nor end at one.
    #[test]
    fn a_text_has_one_vector_whichever_texts_share_its_run(
        texts in proptest::collection::vec(proptest::collection::vec(0_i32..30_522, 1..90), 1..7),
        turned_by in 0_usize..6,
    ) {
        let alone: Vec<_> = texts.iter().map(|text| run(std::slice::from_ref(text)).remove(0)).collect();
        prop_assert_eq!(&run(&texts), &alone);
        let (mut turned, mut expected) = (texts.clone(), alone);
        turned.rotate_left(turned_by % texts.len());
        expected.rotate_left(turned_by % texts.len());
        prop_assert_eq!(run(&turned), expected);
    }
}

#[test]
fn weights_where_they_are_give_the_same() {
    let plain = Encoder::load(GRAPH, TENSORS, false).unwrap();
    let text: &[i32] = &[101, 2_023, 2_003, 1_037, 3_231, 102];
    assert_eq!(plain.run(&[text]), BUNDLED.run(&[text]));
}

#[test]
fn what_the_model_does_not_have_is_an_error() {
    let long = vec![1; 257];
    let rows: [(&[i32], &str); 3] = [
        (&[30_522], "no token 30522"),
        (&[-1], "no token -1"),
        (&long, "no position 256"),
    ];
    for (text, problem) in rows {
        let error = BUNDLED.run(&[&[5, 6], text]).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
    assert_eq!(BUNDLED.run(&[]), Ok(Vec::new()));
}

#[test]
fn a_graph_without_its_tensors_is_refused() {
    for (graph, tensors, problem) in [
        (&GRAPH[..GRAPH.len() / 2], TENSORS, ""),
        (GRAPH, &TENSORS[..TENSORS.len() / 2], "it has no "),
        (&[][..], TENSORS, "it has no graph"),
    ] {
        let error = Encoder::load(graph, tensors, true).err().unwrap();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn functions_are_near_their_definitions() {
    for step in 0..=8_700_u16 {
        let x = -f32::from(step) / 100.0;
        let exact = f64::from(x).exp();
        assert!((f64::from(exp(x)) / exact - 1.0).abs() < 4e-7, "exp({x})");
    }
    assert!(exp(-1e30) > 0.0 && exp(-1e30) < 2e-38);
    // Twice the distribution function of the normal distribution.
    for (x, expected) in [
        (0.0, 1.0),
        (0.5, 1.382_924_9),
        (1.0, 1.682_689_5),
        (-1.0, 0.317_310_5),
        (2.0, 1.954_499_7),
        (-3.0, 0.002_699_8),
        (40.0, 2.0),
        (-40.0, 0.0),
    ] {
        let found = twice_normal(x);
        assert!((found - expected).abs() < 2e-6, "{x}: {found}");
    }
    let found = [0.5, 1.5, -2.5, 254.9].map(|value| rounded(value).to_bits());
    assert_eq!(found, [0.0_f32, 2.0, -2.0, 255.0].map(f32::to_bits));
}

#[test]
fn products_are_those_of_the_quantised_values() {
    let (inputs, outputs) = (96, 64);
    let weights: Vec<i8> = (0..inputs * outputs)
        .map(|index| ((index * 31 % 129) as i32 - 64) as i8)
        .collect();
    let column = |column: usize| {
        weights
            .iter()
            .skip(column)
            .step_by(outputs)
            .map(|&weight| i32::from(weight))
    };
    let linear = Linear {
        inputs,
        weights: Weights::Plain(Cow::Owned(
            weights
                .iter()
                .map(|weight| weight.cast_unsigned())
                .collect(),
        )),
        column_sums: (0..outputs).map(|number| column(number).sum()).collect(),
        scales: vec![0.01; outputs],
        bias: vec![0.0; outputs],
    };
    // More rows than a kernel computes at once, each with a range of its own.
    let rows: Vec<f32> = (0..21)
        .flat_map(|row| numbers(inputs, 0.1 + row as f32))
        .collect();
    let mut bytes = ByteRows::with_room(21, inputs);
    Quantise {
        rows: &rows,
        width: inputs,
        factors: None,
        into: &mut bytes,
    }
    .dispatch();
    let mut sums = vec![0; 21 * outputs];
    let products = linear.multiply(&bytes, 21, &mut sums).unwrap();
    let mut found = vec![0.0; 21 * outputs];
    Dequantise {
        products,
        into: &mut found,
    }
    .dispatch();
    for (index, found) in found.into_iter().enumerate() {
        let (row, number) = (index / outputs, index % outputs);
        let values = &bytes.bytes[row * inputs..(row + 1) * inputs];
        let sum: i32 = values
            .iter()
            .zip(column(number))
            .map(|(&byte, weight)| (i32::from(byte) - bytes.zeros[row]) * weight)
            .sum();
        let expected = sum as f32 * (bytes.scales[row] * 0.01);
        assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "row {row}, column {number}"
        );
        let exact: f32 = rows[row * inputs..][..inputs]
            .iter()
            .zip(column(number))
            .map(|(value, weight)| value * weight as f32 * 0.01)
            .sum();
        // Half a step of each input.
        let bound = bytes.scales[row] * 0.6 * 0.64 * inputs as f32;
        assert!(
            (found - exact).abs() < bound,
            "row {row}, column {number}: {found}, not {exact}"
        );
    }
}

#[test]
fn rows_are_the_same_with_any_instructions() {
    let (count, width) = (5, 96);
    let sums: Vec<i32> = numbers(count * width, 9e4)
        .into_iter()
        .map(|sum| sum as i32)
        .collect();
    let (scales, bias, factors) = (
        numbers(width, 1e-3),
        numbers(width, 2.0),
        numbers(width, 0.5),
    );
    let products = Products {
        sums: &sums,
        row_scales: &[0.01, 0.02, 0.0, 1e-4, 3.0],
        row_zeros: &[0, 255, 3, 128, 7],
        column_sums: &sums[..width],
        scales: &scales,
        bias: &bias,
    };
    let norm = Norm {
        weight: numbers(width, 1.5),
        bias: numbers(width, 0.1),
        epsilon: 1e-12,
    };
    let rows = numbers(count * width, 30.0);
    let outcomes = on_all_instructions!(|isa| {
        let mut gelu = ByteRows::with_room(count, width);
        GeluAndQuantise {
            products,
            factors: &factors,
            into: &mut gelu,
        }
        .eval(isa);
        let mut plain = ByteRows::with_room(count, width);
        Quantise {
            rows: &rows,
            width,
            factors: Some(&factors),
            into: &mut plain,
        }
        .eval(isa);
        let mut normalised = rows.clone();
        AddAndNormalise {
            products,
            rows: &mut normalised,
            norm: &norm,
        }
        .eval(isa);
        let bits = |values: &[f32]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        let of_bytes = [gelu, plain].map(|rows| (rows.bytes, bits(&rows.scales), rows.zeros));
        (of_bytes, bits(&normalised))
    });
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
    assert!(outcomes[0].0[0].0.iter().any(|&byte| byte > 9));
}

/// Attention by its definition.
fn attention(
    inputs: &[f32],
    hidden: usize,
    heads: usize,
    distances: Option<&Distances>,
) -> Vec<f64> {
    let (tokens, size) = (inputs.len() / 3 / hidden, hidden / heads);
    let at = |token: usize, part: usize, column: usize| {
        f64::from(inputs[token * 3 * hidden + part * hidden + column])
    };
    let mut outcome = vec![0.0; tokens * hidden];
    for head in 0..heads {
        let columns = head * size..(head + 1) * size;
        for token in 0..tokens {
            let weights: Vec<f64> = (0..tokens)
                .map(|other| {
                    let score: f64 = columns
                        .clone()
                        .map(|column| at(token, 0, column) * at(other, 1, column))
                        .sum();
                    let added = distances.map_or(0.0, |distances| {
                        distances.by_head
                            [head * distances.count + distances.count / 2 + other - token]
                    });
                    (score + f64::from(added)).exp()
                })
                .collect();
            let sum: f64 = weights.iter().sum();
            for column in columns.clone() {
                let value: f64 = (0..tokens)
                    .map(|other| weights[other] * at(other, 2, column))
                    .sum();
                outcome[token * hidden + column] = value / sum;
            }
        }
    }
    outcome
}

#[test]
fn attention_is_its_definition_with_any_instructions() {
    let (hidden, heads) = (64, 2);
    let distances = Distances {
        by_head: numbers(2 * 99, 1.0),
        count: 99,
    };
    for tokens in [1, 2, 5, 6, 16, 17, 50] {
        for distances in [None, Some(&distances)] {
            let inputs = numbers(tokens * 3 * hidden, 1.2);
            let outcomes = on_all_instructions!(|isa| {
                let mut into = vec![0.0; tokens * hidden];
                let mut room = Room::default();
                // Room in which a longer text left something.
                for inputs in [&numbers(60 * 3 * hidden, 5.0), &inputs] {
                    into.resize(inputs.len() / 3, 0.0);
                    Attention {
                        hidden,
                        heads,
                        inputs,
                        distances: distances.filter(|_| inputs.len() / 3 / hidden <= 50),
                        into: &mut into,
                        room: &mut room,
                    }
                    .eval(isa);
                }
                into
            });
            assert!(
                outcomes.iter().all(|outcome| *outcome == outcomes[0]),
                "{tokens}"
            );
            let expected = attention(&inputs, hidden, heads, distances);
            for (found, expected) in outcomes[0].iter().zip(expected) {
                assert!(
                    (f64::from(*found) - expected).abs() < 1e-5,
                    "{tokens}: {found}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn tables_of_both_forms_are_read() {
    let norm = || Norm {
        weight: vec![1.0; 32],
        bias: vec![0.0; 32],
        epsilon: 0.0,
    };
    // Token 1 has the weights 0 to 7 and -8 to -1 in turn; both forms say the same.
    let weights: Vec<i8> = (0..32)
        .map(|index| ((index * 5 + 3) % 16) as i8 - 8)
        .collect();
    let nibbles =
        (0..16).map(|index| (weights[index] + 8) as u8 | (((weights[index + 16] + 8) as u8) << 4));
    let nibbles: Vec<u8> = std::iter::repeat_n(0, 16).chain(nibbles).collect();
    let bytes: Vec<u8> = std::iter::repeat_n(0, 32)
        .chain(weights.iter().map(|weight| weight.cast_unsigned()))
        .collect();
    let rows = [(Words::Nibbles, nibbles), (Words::Bytes, bytes)].map(|(words, bytes)| {
        let table = Table::new(
            words,
            Cow::Owned(bytes),
            vec![1.0, 0.5],
            vec![0.0; 64],
            norm(),
        )
        .unwrap();
        let mut row = vec![0.0; 32];
        table.write(&[1], &mut row).unwrap();
        row
    });
    assert_eq!(rows[0], rows[1]);
    let mean = weights.iter().map(|&weight| f32::from(weight)).sum::<f32>() / 32.0;
    let variance = weights
        .iter()
        .map(|&weight| (f32::from(weight) - mean).powi(2))
        .sum::<f32>()
        / 32.0;
    for (found, weight) in rows[0].iter().zip(weights) {
        assert!((found - (f32::from(weight) - mean) / variance.sqrt()).abs() < 1e-5);
    }
    assert!(
        Table::new(
            Words::Bytes,
            Cow::Borrowed(&[1, 2]),
            vec![1.0],
            vec![],
            norm()
        )
        .is_err()
    );
}
