//! `loci memory-tool`: commands of Anthropic's memory tool over stdin and stdout.
//!
//! The form is ours, because the tool has none of its own: the model's input goes in as it is, one
//! JSON object a line, and each line has one JSON object as its reply.

use std::io::{self, BufRead as _, Read as _, Write as _};

use loci_core::{Error, ErrorCode};
use loci_dialects::Context;
use loci_dialects::anthropic::reply_to;
use serde_json::{Map, Value, json};

use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::wiring::Parts;

/// The largest length in bytes of a command: the largest text twice, each of its bytes escaped.
const LINE_BYTES_MAX: u64 = 16 << 20;

pub fn run(settings: &Settings) -> Result<(), Failure> {
    let parts = Parts::open_for_clients(settings)?;
    let broken = |error: io::Error| {
        let message = format!("the commands cannot be read, or a reply not be written: {error}");
        Failure::new(Exit::Failure, message)
    };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = input.by_ref().take(LINE_BYTES_MAX);
        if limited.read_until(b'\n', &mut line).map_err(broken)? == 0 {
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
            let message = format!("a command has more than {LINE_BYTES_MAX} bytes");
            return Err(Failure::new(Exit::Usage, message));
        }
        let reply = match command(&line).and_then(|arguments| call(&parts, arguments)) {
            Ok(content) => json!({"content": content}),
            Err(error) => json!({"content": error.message, "is_error": true}),
        };
        writeln!(output, "{reply}")
            .and_then(|()| output.flush())
            .map_err(broken)?;
    }
}

/// Returns the command of a line.
fn command(line: &[u8]) -> Result<Map<String, Value>, Error> {
    match serde_json::from_slice(line) {
        Ok(Value::Object(command)) => Ok(command),
        Ok(_) => Err(no_command("it is no object".to_owned())),
        Err(error) => Err(no_command(error.to_string())),
    }
}

fn no_command(problem: String) -> Error {
    let message = format!(
        "the line is no command such as {{\"command\": \"view\", \"path\": \"/memories\"}}: {problem}"
    );
    Error::new(ErrorCode::InvalidArgument, message)
}

fn call(parts: &Parts, arguments: Map<String, Value>) -> Result<String, Error> {
    let caller = parts.caller();
    let context = Context {
        engine: &parts.engine,
        caller: &caller,
    };
    reply_to(context, arguments)
}
