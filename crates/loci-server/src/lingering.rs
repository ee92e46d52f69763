//! The end of a connection whose client may still send, e.g. the rest of a body that was refused.
//!
//! A system that closes a socket with unread bytes resets the connection, and the client's system
//! then throws away the reply that it has not read yet. So the sending half is closed first, and
//! what still comes is read and discarded, until the client ends or has had its time. This is at
//! the socket, so that it holds for every route, and under TLS, too.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The longest time for which a client may send on.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest pause in what it sends.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The bytes that are discarded at a time.
const BUFFER_BYTES: usize = 16 << 10;

/// A socket that is handed back instead of being closed.
pub(crate) struct LingeringStream {
    /// None only while it is dropped.
    inner: Option<TcpStream>,
    hand_back: Option<oneshot::Sender<TcpStream>>,
}

/// The socket of a connection, once that has ended.
pub(crate) struct EndedStream(oneshot::Receiver<TcpStream>);

impl LingeringStream {
    pub(crate) fn new(stream: TcpStream) -> (Self, EndedStream) {
        let (hand_back, ended) = oneshot::channel();
        let lingering = LingeringStream {
            inner: Some(stream),
            hand_back: Some(hand_back),
        };
        (lingering, EndedStream(ended))
    }

    fn with<T>(
        &mut self,
        poll: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut self.inner {
            Some(inner) => poll(Pin::new(inner)),
            None => Poll::Ready(Err(ErrorKind::NotConnected.into())),
        }
    }
}

impl Drop for LingeringStream {
    fn drop(&mut self) {
        if let (Some(inner), Some(hand_back)) = (self.inner.take(), self.hand_back.take()) {
            // Where no task waits for it, it is closed at once.
            let _ = hand_back.send(inner);
        }
    }
}

impl EndedStream {
    /// Closes the connection when the client has ended it, or has had its time.
    pub(crate) async fn close(self) {
        let Ok(mut stream) = self.0.await else {
            return;
        };
        let discard = async {
            stream.shutdown().await?;
            loop {
                timeout(PAUSE_TIMEOUT, stream.readable()).await??;
                match discard_once(&stream) {
                    Ok(0) => return io::Result::Ok(()),
                    Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                    Ok(_) | Err(_) => {}
                }
            }
        };
        // A client that is gone needs no reply.
        let _ = timeout(WHOLE_TIMEOUT, discard).await;
    }
}

/// Reads and discards what has come; returns how many bytes that was. The buffer is on the stack and
/// not in the future, because a thousand refused clients may send on at a time.
fn discard_once(stream: &TcpStream) -> io::Result<usize> {
    stream.try_read(&mut [0; BUFFER_BYTES])
}

impl AsyncRead for LingeringStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        read: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|inner| inner.poll_read(context, read))
    }
}

impl AsyncWrite for LingeringStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|inner| inner.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.with(|inner| inner.poll_write_vectored(context, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner
            .as_ref()
            .is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|inner| inner.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|inner| inner.poll_shutdown(context))
    }
}
