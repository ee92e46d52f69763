//! Reads the parts of an encoder from the graph that `scripts/build-model` writes.

use std::borrow::Cow;
use std::collections::HashMap;

use rten_base::byte_cast::cast_slice;
use rten_onnx::onnx::{DataLocation, ModelProto, TensorProto};
use rten_simd::SimdOp;
use rten_tensor::NdTensorView;

use super::arithmetic::LANES;
use super::attention::Distances;
use super::linear::{KERNEL, Linear, Weights};
use super::rows::{AddRows, Norm};
use super::table::{Table, Words};
use super::{Encoder, Layer};
use crate::program_file;

/// The tensors of a graph, by name.
pub(crate) struct Graph {
    tensors: HashMap<String, TensorProto>,
    epsilon: f32,
    /// The bytes of the tensors that are not in the graph itself.
    outside: &'static [u8],
    /// False if weights are multiplied where they are.
    packs: bool,
}

type Result<T> = std::result::Result<T, String>;

impl Graph {
    /// Parses a graph. The error describes the problem with it.
    pub(crate) fn parse(graph: &[u8], outside: &'static [u8], packs: bool) -> Result<Self> {
        let model = ModelProto::parse_buf(graph).map_err(|error| error.to_string())?;
        let graph = model.graph.ok_or("it has no graph")?;
        let norm = graph
            .node
            .iter()
            .find(|node| node.op_type.as_deref() == Some("LayerNormalization"));
        let attributes = norm.into_iter().flat_map(|node| &node.attribute);
        let epsilon = attributes
            .filter(|attribute| attribute.name.as_deref() == Some("epsilon"))
            .find_map(|attribute| attribute.f);
        let tensors = graph.initializer.into_iter();
        Ok(Graph {
            tensors: tensors
                .filter_map(|tensor| Some((tensor.name.clone()?, tensor)))
                .collect(),
            epsilon: epsilon.ok_or("it normalises nothing")?,
            outside,
            packs,
        })
    }

    /// Returns the encoder.
    pub(crate) fn into_encoder(mut self) -> Result<Encoder> {
        let heads = *self
            .integers("shape.heads")?
            .get(2)
            .ok_or("it has no heads")?;
        let heads = usize::try_from(heads).map_err(|error| error.to_string())?;
        let norm = self.norm("embeddings.norm")?;
        let hidden = norm.weight.len();
        let mut layers = Vec::new();
        while self.has(&format!("layer.{}.query.weight", layers.len())) {
            layers.push(self.layer(layers.len())?);
        }
        let table = self.table(norm)?;
        let distances = self
            .has("relative")
            .then(|| self.distances(heads))
            .transpose()?;
        let steps = 2 * LANES;
        if layers.is_empty()
            || heads == 0
            || !hidden.is_multiple_of(heads * LANES)
            || !hidden.is_multiple_of(steps)
        {
            return Err("it has no layers, or heads of another size".to_owned());
        }
        let fits = |layer: &Layer| layer.fits(hidden) && layer.second.inputs.is_multiple_of(steps);
        if !layers.iter().all(fits) {
            return Err("its matrices do not fit each other".to_owned());
        }
        Ok(Encoder {
            hidden,
            heads,
            table,
            layers,
            distances,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    fn layer(&mut self, number: usize) -> Result<Layer> {
        let name = |part: &str| format!("layer.{number}.{part}");
        let three = ["query", "key", "value"].map(name);
        let first = self.linear(&[name("first")])?;
        let factors = |graph: &mut Graph, part: &str| {
            let name = name(part);
            graph.has(&name).then(|| graph.floats(&name)).transpose()
        };
        let first_factors = factors(self, "first.factors")?;
        let halves = factors(self, "second.factors")?;
        let halves = halves.unwrap_or_else(|| vec![0.5; first.outputs()]);
        Ok(Layer {
            query_key_value: self.linear(&three)?,
            output: self.linear(&[name("output")])?,
            norm: self.norm(&name("norm1"))?,
            first_factors,
            first,
            halves,
            second: self.linear(&[name("second")])?,
            last_norm: self.norm(&name("norm2"))?,
        })
    }

    /// Returns matrices with the same inputs as one, side by side.
    fn linear(&mut self, names: &[String]) -> Result<Linear> {
        let (mut scales, mut bias, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            scales.extend(self.floats(&format!("{name}.scale"))?);
            bias.extend(self.floats(&format!("{name}.bias"))?);
            parts.push(self.matrix(&format!("{name}.weight"))?);
        }
        let inputs = parts[0].0[0];
        let outputs: usize = parts.iter().map(|(shape, _)| shape[1]).sum();
        if parts.iter().any(|(shape, _)| shape[0] != inputs)
            || [&scales, &bias].iter().any(|of| of.len() != outputs)
        {
            return Err(format!("{} and its scales have other sizes", names[0]));
        }
        let weights = match parts.len() {
            1 if self.packs => copied_from_program(parts.remove(0).1),
            1 => parts.remove(0).1,
            _ => Cow::Owned(side_by_side(&parts, inputs)),
        };
        let signed: &[i8] = cast_slice(&weights).ok_or("its weights are not in bytes")?;
        let mut column_sums = vec![0; outputs];
        AddRows {
            rows: signed,
            sums: &mut column_sums,
        }
        .dispatch();
        let weights = if self.packs {
            let view = NdTensorView::from_data([inputs, outputs], signed);
            Weights::Packed(KERNEL.with(|kernel| kernel.prepack_b(view)))
        } else {
            Weights::Plain(weights)
        };
        Ok(Linear {
            inputs,
            weights,
            column_sums,
            scales,
            bias,
        })
    }

    fn norm(&mut self, name: &str) -> Result<Norm> {
        let [weight, bias] = ["weight", "bias"].map(|part| self.floats(&format!("{name}.{part}")));
        let (weight, bias) = (weight?, bias?);
        if weight.len() != bias.len() {
            return Err(format!("{name} has parts of other sizes"));
        }
        Ok(Norm {
            weight,
            bias,
            epsilon: self.epsilon,
        })
    }

    fn table(&mut self, norm: Norm) -> Result<Table> {
        let hidden = norm.weight.len();
        let (shape, bytes) = self.matrix("embeddings.word")?;
        let scales = self.floats("embeddings.word.scale")?;
        let words = if shape[1] == hidden {
            Words::Bytes
        } else {
            Words::Nibbles
        };
        let positions = self.floats("embeddings.position")?;
        Table::new(words, bytes, scales, positions, norm)
    }

    fn distances(&mut self, heads: usize) -> Result<Distances> {
        let by_head = self.floats("relative")?;
        let count = by_head.len() / heads;
        Ok(Distances { by_head, count })
    }

    fn floats(&mut self, name: &str) -> Result<Vec<f32>> {
        let (_, bytes) = self.tensor(name)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers
            .iter()
            .map(|&bytes| f32::from_le_bytes(bytes))
            .collect())
    }

    fn integers(&mut self, name: &str) -> Result<Vec<i64>> {
        let (_, bytes) = self.tensor(name)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        Ok(numbers
            .iter()
            .map(|&bytes| i64::from_le_bytes(bytes))
            .collect())
    }

    /// Takes a matrix of bytes.
    fn matrix(&mut self, name: &str) -> Result<([usize; 2], Cow<'static, [u8]>)> {
        let (shape, bytes) = self.tensor(name)?;
        match shape[..] {
            [rows, columns] if rows * columns == bytes.len() => Ok(([rows, columns], bytes)),
            _ => Err(format!("{name} is no matrix of bytes")),
        }
    }

    /// Takes the shape and the bytes of a tensor.
    fn tensor(&mut self, name: &str) -> Result<(Vec<usize>, Cow<'static, [u8]>)> {
        let missing = || format!("it has no {name}");
        let tensor = self.tensors.remove(name).ok_or_else(missing)?;
        let shape = tensor
            .dims
            .iter()
            .map(|&size| usize::try_from(size).unwrap_or(0))
            .collect();
        if tensor.data_location != Some(DataLocation::EXTERNAL) {
            let bytes = tensor.raw_data.ok_or_else(missing)?.into_inner();
            return Ok((shape, Cow::Owned(bytes)));
        }
        let number = |key: &str| -> Option<usize> {
            let entry = tensor
                .external_data
                .iter()
                .find(|entry| entry.key.as_deref() == Some(key))?;
            entry.value.as_ref()?.parse().ok()
        };
        let place = number("offset").zip(number("length"));
        let bytes = place
            .and_then(|(offset, length)| self.outside.get(offset..offset.checked_add(length)?));
        Ok((shape, Cow::Borrowed(bytes.ok_or_else(missing)?)))
    }
}

/// Returns the matrices side by side. Each has that number of rows.
fn side_by_side(parts: &[([usize; 2], Cow<'static, [u8]>)], rows: usize) -> Vec<u8> {
    let mut joined = Vec::with_capacity(parts.iter().map(|(_, bytes)| bytes.len()).sum());
    for row in 0..rows {
        for ([_, columns], bytes) in parts {
            joined.extend_from_slice(&bytes[row * columns..(row + 1) * columns]);
        }
    }
    joined
}

/// Returns data of the program as a copy, because it is read once, and pages that are read in place
/// stay in the memory of the process.
fn copied_from_program(data: Cow<'static, [u8]>) -> Cow<'static, [u8]> {
    match data {
        Cow::Borrowed(bytes) => program_file::copy_of(bytes).map_or(data, Cow::Owned),
        Cow::Owned(_) => data,
    }
}
