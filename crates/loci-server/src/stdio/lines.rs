//! Lines on the pipes: reads them up to the limit, and writes them while the client reads.

use std::io;
use std::time::Duration;

use loci_core::limits::REQUEST_BYTES_MAX;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::host::ReplyShare;

/// The time that the client has to read [`PART_BYTES`] of the replies after it closed its end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes that are written at a time: few, so that a slow reader is not taken for one that stopped.
const PART_BYTES: usize = 16 << 10;

/// A line to write, with its share of the budget for replies until it is written.
pub(super) struct Line {
    bytes: Vec<u8>,
    _share: ReplyShare,
}

impl Line {
    pub(super) fn of(message: &impl serde::Serialize, share: ReplyShare) -> io::Result<Self> {
        let mut bytes = serde_json::to_vec(message)?;
        bytes.push(b'\n');
        Ok(Line {
            bytes,
            _share: share,
        })
    }
}

/// Writes lines until `over` is cancelled; after the end of the input only as long as the client
/// keeps reading.
pub(super) async fn write_lines(
    mut writer: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Line>,
    ending: CancellationToken,
    over: CancellationToken,
) -> io::Result<()> {
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = over.cancelled(), if !lines.is_closed() => {
                // The lines in the queue are still written.
                lines.close();
                continue;
            }
        };
        let Some(line) = line else { return Ok(()) };
        for part in line.bytes.chunks(PART_BYTES) {
            unless_stalled(&ending, writer.write_all(part)).await?;
        }
        unless_stalled(&ending, writer.flush()).await?;
    }
}

/// Writes, unless the client reads nothing for too long after the end of the input.
///
/// # Errors
/// `TimedOut` in that case; otherwise the error of the writer.
async fn unless_stalled(
    ending: &CancellationToken,
    write: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let stalled = async {
        ending.cancelled().await;
        tokio::time::sleep(FLUSH_TIMEOUT).await;
    };
    tokio::select! {
        written = write => written,
        () = stalled => {
            tracing::warn!("the client did not read the last replies");
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// The way in which the reading of a line ended.
pub(super) enum LineEnd {
    Complete,
    /// The line exceeded the limit; its beginning was kept.
    TooLong,
    EndOfInput,
}

/// Reads one line up to the limit.
pub(super) async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<LineEnd> {
    let mut too_long = false;
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            // A last line without a newline is a message too.
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => LineEnd::TooLong,
                (false, false) => LineEnd::Complete,
                (false, true) => LineEnd::EndOfInput,
            });
        }
        let newline = available.iter().position(|byte| *byte == b'\n');
        let text = &available[..newline.unwrap_or(available.len())];
        let kept = text.len().min(REQUEST_BYTES_MAX - line.len());
        line.extend_from_slice(&text[..kept]);
        too_long |= kept < text.len();
        let consumed = text.len() + usize::from(newline.is_some());
        reader.consume(consumed);
        if newline.is_some() {
            return Ok(if too_long {
                LineEnd::TooLong
            } else {
                LineEnd::Complete
            });
        }
    }
}
