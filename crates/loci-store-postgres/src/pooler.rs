//! Finds out whether a pooler lies between this process and the server.
//!
//! A client is told the number of the process that serves its connection, with which it can ask for
//! the end of a statement. A pooler tells a number of its own, because the process behind it
//! changes. tokio-postgres hands the number out only in such a request, which is read here and not
//! sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio_postgres::CancelToken;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// The bytes of a request for the end of a statement: its length, its code, the process and the key.
const REQUEST_BYTES: usize = 16;
/// The bytes of a request for encryption, which comes before it where a server must encrypt.
const ENCRYPTION_BYTES: usize = 8;
/// The code of the latter.
const ENCRYPTION_CODE: [u8; 4] = 80_877_103_i32.to_be_bytes();

/// Returns the number of the process that serves a connection, as the client was told it.
///
/// # Errors
/// The request is not the one that the protocol has.
pub(crate) async fn process_told(token: &CancelToken) -> io::Result<i32> {
    let (near, mut far) = tokio::io::duplex(64);
    let read = async {
        let mut head = [0; ENCRYPTION_BYTES];
        far.read_exact(&mut head).await?;
        if head[4..] == ENCRYPTION_CODE {
            far.write_all(b"S").await?;
            far.read_exact(&mut head).await?;
        }
        let mut rest = [0; REQUEST_BYTES - ENCRYPTION_BYTES];
        far.read_exact(&mut rest).await?;
        let [first, second, third, fourth, ..] = rest;
        Ok(i32::from_be_bytes([first, second, third, fourth]))
    };
    let (sent, process) = tokio::join!(token.cancel_query_raw(near, PlainConnector), read);
    sent.map_err(io::Error::other)?;
    process
}

/// Takes a stream within this process for an encrypted one.
struct PlainConnector;

impl TlsConnect<DuplexStream> for PlainConnector {
    type Stream = Wire;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Wire>>;

    fn connect(self, stream: DuplexStream) -> Self::Future {
        std::future::ready(Ok(Wire(stream)))
    }
}

/// A stream within this process.
struct Wire(DuplexStream);

impl TlsStream for Wire {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
