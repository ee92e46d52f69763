//! Graceful shutdown on a signal, with a timeout.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::output::status_line;

/// The longest time of a graceful shutdown, so that the process ends within two seconds. Work that
/// is unacknowledged by then does not harm the store, which survives an end at any instant.
const END_TIMEOUT: Duration = Duration::from_millis(1_600);

/// Waits for a signal to end, which is handled from this call on. After [`END_TIMEOUT`] the process
/// ends with success all the same, because nothing that was acknowledged is lost, even if it waits
/// for a lock of another process, a model or a disk. Another signal ends it at once.
pub fn signal() -> impl Future<Output = ()> {
    let (tell, told) = oneshot::channel();
    // A thread of its own, which nothing else blocks.
    let watching = start().and_then(|(runtime, signals)| {
        let watch = move || runtime.block_on(watch(signals, tell));
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(watch)
    });
    if let Err(error) = &watching {
        tracing::warn!(%error, "a signal ends this process at once, which the store survives");
    }
    async {
        if told.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Makes a signal run `work` and then end the process, within the time of a server's shutdown.
pub fn before_end(work: impl FnOnce() + Send + 'static) {
    let watching = start().and_then(|(runtime, mut signals)| {
        let watch = move || {
            let signal = runtime.block_on(signals.next());
            let (tell, told) = mpsc::channel();
            let work = move || {
                work();
                // The waiting thread may have given up.
                let _ = tell.send(());
            };
            if thread::Builder::new()
                .name("end".to_owned())
                .spawn(work)
                .is_ok()
            {
                let _ = told.recv_timeout(END_TIMEOUT);
            }
            end(EXIT_BY_SIGNAL + signal);
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(watch)
    });
    if let Err(error) = watching {
        tracing::warn!(%error, "a signal ends this process at once, which the store survives");
    }
}

/// Ends the process with an exit code.
fn end(code: i32) -> ! {
    #[expect(
        clippy::disallowed_methods,
        reason = "a caller that waits here would not let destructors run, either"
    )]
    std::process::exit(code);
}

fn start() -> io::Result<(Runtime, Signals)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let signals = {
        let _entered = runtime.enter();
        Signals::new()?
    };
    Ok((runtime, signals))
}

async fn watch(mut signals: Signals, tell: oneshot::Sender<()>) {
    signals.next().await;
    // The server may have ended by itself.
    let _ = tell.send(());
    if let Ok(another) = tokio::time::timeout(END_TIMEOUT, signals.next()).await {
        end(EXIT_BY_SIGNAL + another);
    }
    note_aside("ended before all work in progress was; nothing that was acknowledged is lost");
    end(0);
}

/// The longest wait for a line to be written.
const NOTE_TIMEOUT: Duration = Duration::from_millis(100);

/// Prints a line for the user at the terminal, unless that takes too long: a shutdown must not wait
/// for the reader of a full pipe.
pub fn note_aside(words: &'static str) {
    let (tell, told) = mpsc::channel();
    let write = move || {
        status_line(words);
        // The waiting thread may have given up.
        let _ = tell.send(());
    };
    if thread::Builder::new()
        .name("note".to_owned())
        .spawn(write)
        .is_ok()
    {
        let _ = told.recv_timeout(NOTE_TIMEOUT);
    }
}

/// The number that shells add to the signal that ended a process.
const EXIT_BY_SIGNAL: i32 = 128;

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// `None` if SIGHUP is ignored or may be, as under `nohup`.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hang_up = ends_at_hang_up()
            .then(|| signal(SignalKind::hangup()))
            .transpose()?;
        let (terminate, interrupt) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        Ok(Signals {
            terminate,
            interrupt,
            hang_up,
        })
    }

    /// Returns the number of the next signal.
    async fn next(&mut self) -> i32 {
        use tokio::signal::unix::SignalKind;
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        let kind = tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = hang_up => SignalKind::hangup(),
        };
        kind.as_raw_value()
    }
}

/// Returns true if SIGHUP is known to end this process; Linux lists the signals that are ignored
/// from its start on.
#[cfg(unix)]
fn ends_at_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Signal 1 is the lowest bit.
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 0)
}

#[cfg(not(unix))]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Signals)
    }

    /// Returns the number that other systems give to this signal.
    async fn next(&mut self) -> i32 {
        const INTERRUPT: i32 = 2;
        self.0.recv().await;
        INTERRUPT
    }
}
