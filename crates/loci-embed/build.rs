//! Moves the large tensors of the bundled graph out of its ONNX file, so that the runtime reads them
//! in place in the binary. Those inside of the file it would copy, which costs memory and takes most
//! of the time of a load.

use std::cell::RefCell;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::{env, fs};

use rten_onnx::onnx::{DataLocation, DataType, ModelProto, StringStringEntryProto};

const GRAPH: &str = "model/model_int8.onnx";
/// The name by which the graph refers to the tensors.
const TENSORS: &str = "tensors.data";
/// The least bytes of a tensor that is moved.
const BYTES_MIN: usize = 1 << 16;

fn main() -> Result<(), Box<dyn Error>> {
    writeln!(
        std::io::stdout(),
        "cargo::rerun-if-changed=build.rs\ncargo::rerun-if-changed={GRAPH}"
    )?;
    let mut model = ModelProto::parse_buf(&fs::read(GRAPH)?)?;
    let mut tensors = Vec::new();
    let graph = model.graph.as_mut().ok_or("the model has no graph")?;
    for tensor in &mut graph.initializer {
        // Single bytes have no alignment.
        let is_of_bytes = matches!(tensor.data_type, Some(DataType::INT8 | DataType::UINT8));
        let is_large = |data: &Vec<u8>| is_of_bytes && data.len() >= BYTES_MIN;
        let moved = tensor.raw_data.take_if(|data| is_large(data.get_mut()));
        let Some(data) = moved.map(RefCell::into_inner) else {
            continue;
        };
        tensor.data_location = Some(DataLocation::EXTERNAL);
        tensor.external_data = [
            ("location", TENSORS.to_owned()),
            ("offset", tensors.len().to_string()),
            ("length", data.len().to_string()),
        ]
        .map(|(key, value)| StringStringEntryProto {
            key: Some(key.to_owned()),
            value: Some(value),
        })
        .into();
        tensors.extend(data);
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(folder.join("graph.onnx"), model.write_buf()?)?;
    fs::write(folder.join(TENSORS), tensors)?;
    Ok(())
}
