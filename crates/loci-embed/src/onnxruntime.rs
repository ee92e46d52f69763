//! Runs a graph on an onnxruntime that the user installed.
//!
//! No part is linked or downloaded: the first loaded model opens its library.

use std::borrow::Cow;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use loci_core::{Error, Result};
use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::{Shape, Tensor};

use crate::cores::Core;
use crate::network::{
    IDS, MASK, Network, Output, TYPES, guarded, no_input, sum_of_rows, unit_vector,
};

/// The variable that names the library, the same as for all programs with the crate `ort`.
const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

/// A process can open one library, which stays open.
static STARTED: Mutex<Option<OpenLibrary>> = Mutex::new(None);

struct OpenLibrary {
    library: PathBuf,
    environment: Environment,
}

/// Opens the library: the given one, otherwise the one in `ORT_DYLIB_PATH`, otherwise the one that
/// the system's loader finds. A later call returns the same environment.
///
/// # Errors
/// `unavailable` if no library works, or if another one is open.
pub(crate) fn start(library: Option<&Path>) -> Result<Environment> {
    let library = library.map_or_else(library_of_the_system, Path::to_owned);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(OpenLibrary {
        library: open,
        environment,
    }) = started.as_ref()
    {
        if *open == library {
            return Ok(environment.clone());
        }
        let problem = format!(
            "this process has already opened {}, and can open only one",
            open.display()
        );
        return Err(unusable(&library, problem));
    }
    let environment = guarded(|| {
        let builder = ort::init_from(&library).map_err(|error| error.to_string())?;
        // Microsoft's builds report models and runs to Microsoft by default.
        builder
            .with_name("loci")
            .with_telemetry(false)
            .build()
            .map_err(|error| error.to_string())
    })
    .map_err(|problem| unusable(&library, problem))?;
    *started = Some(OpenLibrary {
        library,
        environment: environment.clone(),
    });
    Ok(environment)
}

fn library_of_the_system() -> PathBuf {
    let named = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty());
    named.map_or_else(
        || format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}").into(),
        PathBuf::from,
    )
}

fn unusable(library: &Path, problem: impl std::fmt::Display) -> Error {
    Error::unavailable(format!(
        "the onnxruntime library {} cannot be used: {problem}; install onnxruntime 1.{} or newer and set {LIBRARY_VARIABLE} to the path of its library, or set `embedding.runtime` to rten, the runtime inside this binary",
        library.display(),
        ort::MINOR_VERSION
    ))
}

/// A graph in memory, and a session for each core that was used.
pub(crate) struct OnnxruntimeNetwork {
    environment: Environment,
    graph: Cow<'static, [u8]>,
    has_types: bool,
    output: Output,
    /// A session runs one text at a time, so each core has its own, opened at its first use. Empty
    /// after a failure.
    sessions: Vec<Mutex<Option<Session>>>,
}

impl OnnxruntimeNetwork {
    /// Loads a graph for this number of cores. The error describes the problem with it.
    pub(crate) fn load(
        environment: Environment,
        graph: Cow<'static, [u8]>,
        cores: usize,
    ) -> Result<Self, String> {
        let first = open(&environment, &graph)?;
        let has = |name: &str| first.inputs().iter().any(|input| input.name() == name);
        if let Some(missing) = [IDS, MASK].into_iter().find(|name| !has(name)) {
            return Err(no_input(missing));
        }
        let has_types = has(TYPES);
        let gives = |name: &str| {
            first
                .outputs()
                .iter()
                .find(|output| output.name() == name)
                .map(drop)
        };
        let (output, ()) = Output::choose(gives)?;
        let mut sessions: Vec<_> = (1..cores).map(|_| Mutex::new(None)).collect();
        sessions.insert(0, Mutex::new(Some(first)));
        Ok(OnnxruntimeNetwork {
            environment,
            graph,
            has_types,
            output,
            sessions,
        })
    }
}

impl OnnxruntimeNetwork {
    fn vector(&self, token_ids: &[i32], core: &Core<'_>) -> Result<Vec<f32>, String> {
        let mut slot = self.sessions[core.number()]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut session = slot
            .take()
            .map_or_else(|| open(&self.environment, &self.graph), Ok)?;
        let values = guarded(|| {
            let count = token_ids.len();
            let mut inputs = vec![
                (
                    IDS,
                    tensor(token_ids.iter().map(|&id| i64::from(id)).collect())?,
                ),
                (MASK, tensor(vec![1; count])?),
            ];
            if self.has_types {
                inputs.push((TYPES, tensor(vec![0; count])?));
            }
            let outputs = session.run(inputs).map_err(|error| error.to_string())?;
            let name = self.output.name();
            let value = outputs
                .get(name)
                .ok_or_else(|| format!("the graph gave no `{name}`"))?;
            let (shape, values) = value
                .try_extract_tensor::<f32>()
                .map_err(|error| error.to_string())?;
            pooled(self.output, shape, values)
        })?;
        *slot = Some(session);
        unit_vector(values)
    }
}

impl Network for OnnxruntimeNetwork {
    fn run(&self, texts: &[&[i32]], core: &Core<'_>) -> Result<Vec<Vec<f32>>, String> {
        texts.iter().map(|text| self.vector(text, core)).collect()
    }
}

fn open(environment: &Environment, graph: &[u8]) -> Result<Session, String> {
    guarded(|| {
        let builder = Session::builder(environment).map_err(|error| error.to_string())?;
        let builder = builder
            .with_intra_threads(1)
            .map_err(|error| error.to_string())?;
        let mut builder = builder
            .with_inter_threads(1)
            .map_err(|error| error.to_string())?;
        builder
            .commit_from_memory(graph)
            .map_err(|error| error.to_string())
    })
}

fn tensor(values: Vec<i64>) -> Result<SessionInputValue<'static>, String> {
    let tensor =
        Tensor::from_array(([1, values.len()], values)).map_err(|error| error.to_string())?;
    Ok(tensor.into())
}

fn pooled(output: Output, shape: &Shape, values: &[f32]) -> Result<Vec<f32>, String> {
    match (output, &shape[..]) {
        (Output::Sentence, [1, _]) => Ok(values.to_vec()),
        (Output::Tokens, [1, _, dimension]) => Ok(sum_of_rows(
            values,
            usize::try_from(*dimension).unwrap_or(0),
        )),
        _ => Err(format!(
            "its output `{}` has the shape {shape:?}",
            output.name()
        )),
    }
}
