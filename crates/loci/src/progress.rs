//! A progress bar for long work, only on a terminal.

use std::fmt::Write;
use std::io;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// The interval between drawings, also without progress.
const TICK: Duration = Duration::from_millis(200);

/// A bar with the progress, the rate and the remaining time. It is hidden on anything but a
/// terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Makes a bar that appears at [`begin`](Progress::begin); `unit` is the counted noun, in the
    /// plural.
    pub fn new(unit: &'static str) -> Self {
        Progress::of(&format!(
            "{{bar:30}} {{pos}} of {{len}} {unit}, {{rate}}, {{eta}} left"
        ))
    }

    /// Makes a bar that counts bytes.
    pub fn of_bytes() -> Self {
        Progress::of(
            "{bar:30} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left",
        )
    }

    /// Makes a bar for work whose amount is unknown: it shows what is done so far, in `words`.
    pub fn open(words: &'static str) -> Self {
        let progress = Progress::of(&format!(
            "{{spinner}} {words} {{pos}}, {{rate}}, {{elapsed}}"
        ));
        progress.0.unset_length();
        progress.0.enable_steady_tick(TICK);
        progress
    }

    /// Makes a bar for one long step, which says only that it goes on.
    pub fn of_step(words: &'static str) -> Self {
        let progress = Progress::of(&format!("{{spinner}} {words}, {{elapsed}}"));
        progress.0.enable_steady_tick(TICK);
        progress
    }

    /// Returns a writer that adds each byte to the work that is done.
    pub fn counting<W>(&self, into: W) -> CountingWriter<'_, W> {
        CountingWriter {
            into,
            progress: self,
        }
    }

    fn of(template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let rate = |state: &ProgressState, text: &mut dyn Write| {
            // A bar that cannot be drawn is ignored.
            let _ = write!(text, "{:.0}/s", state.per_sec());
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", rate));
        }
        Progress(bar)
    }

    /// Sets the amount of work and shows the bar.
    pub fn begin(&self, length: u64) {
        self.0.set_length(length);
        self.0.reset();
        self.0.enable_steady_tick(TICK);
    }

    /// Adds to the work that is done.
    pub fn advance(&self, by: u64) {
        self.0.inc(by);
    }

    /// Sets the work that is done in all.
    pub fn reach(&self, position: u64) {
        self.0.set_position(position);
    }
}

/// A writer whose bytes are counted by a [`Progress`].
pub struct CountingWriter<'a, W> {
    into: W,
    progress: &'a Progress,
}

impl<W: io::Write> io::Write for CountingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.into.write(bytes)?;
        self.progress.advance(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl loci_ingest::Progress for Progress {
    fn begin(&self, length: u64) {
        Progress::begin(self, length);
    }

    fn advance(&self, by: u64) {
        Progress::advance(self, by);
    }

    fn reach(&self, position: u64) {
        Progress::reach(self, position);
    }
}
