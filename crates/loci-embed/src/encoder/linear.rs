//! Products of rows of bytes with matrices of int8. They are exact, so every kernel gives the same.

use std::borrow::Cow;

use rten_base::byte_cast::cast_slice;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::rows::{ByteRows, Products};

/// Multiplies by the kernel that is best on this processor.
pub(crate) type Kernel = GemmExecutor<u8, i8, i32>;

/// The columns that a kernel computes at once. It packs the inputs for each such part, unless they
/// are packed before.
const COLUMNS: usize = 1024;

thread_local! {
    /// The kernel of a thread: it is not for several, and to find out what the processor has takes
    /// microseconds where the system is a guest.
    pub(crate) static KERNEL: Kernel = Kernel::new();
}

/// A matrix of weights, with a scale and a bias for each of its columns.
pub(crate) struct Linear {
    pub(crate) inputs: usize,
    pub(crate) weights: Weights,
    /// The sum of the weights of each column.
    pub(crate) column_sums: Vec<i32>,
    pub(crate) scales: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// Weights of -64 to 64, so that no kernel overflows.
pub(crate) enum Weights {
    /// In the order of the kernel, which takes time once.
    Packed(PackedBMatrix<i8>),
    /// In int8, a row for each input. A product packs them.
    Plain(Cow<'static, [u8]>),
}

impl Linear {
    /// Returns the number of columns.
    pub(crate) fn outputs(&self) -> usize {
        self.scales.len()
    }

    /// Multiplies rows, writes the sums of products and returns them with their scales. The error
    /// describes the internal failure.
    pub(crate) fn multiply<'a>(
        &'a self,
        rows: &'a ByteRows,
        count: usize,
        sums: &'a mut [i32],
    ) -> Result<Products<'a>, String> {
        let shape = [self.inputs, self.outputs()];
        let weights = match &self.weights {
            Weights::Packed(packed) => GemmInputB::Packed(packed),
            Weights::Plain(plain) => {
                let plain = cast_slice(plain).ok_or("the weights are not in bytes")?;
                GemmInputB::Unpacked(NdTensorView::from_data(shape, plain))
            }
        };
        let bytes = &rows.bytes[..count * self.inputs];
        let bytes = NdTensorView::from_data([count, self.inputs], bytes);
        let sums = &mut sums[..count * self.outputs()];
        KERNEL.with(|kernel| {
            let packed = (self.outputs() > COLUMNS).then(|| kernel.prepack_a(bytes));
            let bytes = packed
                .as_ref()
                .map_or(GemmInputA::Unpacked(bytes), GemmInputA::Packed);
            // Without the zeros of rows: with more than one, version 0.27 of the kernel takes
            // those of the first rows for all.
            let done = kernel.gemm(sums, bytes, weights, GemmOptions::default());
            done.map_err(|error| error.to_string())
        })?;
        Ok(Products {
            sums,
            row_scales: &rows.scales[..count],
            row_zeros: &rows.zeros[..count],
            column_sums: &self.column_sums,
            scales: &self.scales,
            bias: &self.bias,
        })
    }
}
