//! A bar for long work, on a terminal alone.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// How often it is drawn, while nothing happens, too.
const TICK: Duration = Duration::from_millis(200);

/// A bar with what is done, the rate and the time that remains. On anything but a terminal it does
/// not show.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar that shows from [`begin`](Progress::begin) on; `unit` is what it counts, in the
    /// plural.
    pub fn new(unit: &'static str) -> Self {
        Progress::of(&format!(
            "{{bar:30}} {{pos}} of {{len}} {unit}, {{rate}}, {{eta}} left"
        ))
    }

    /// The same for bytes.
    pub fn of_bytes() -> Self {
        Progress::of(
            "{bar:30} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left",
        )
    }

    fn of(template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let rate = |state: &ProgressState, text: &mut dyn Write| {
            // Nothing to be done about a bar that cannot be drawn.
            let _ = write!(text, "{:.0}/s", state.per_sec());
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", rate));
        }
        Progress(bar)
    }

    /// Says how much there is to do.
    pub fn begin(&self, length: u64) {
        self.0.set_length(length);
        self.0.reset();
        self.0.enable_steady_tick(TICK);
    }

    /// That much more is done.
    pub fn advance(&self, by: u64) {
        self.0.inc(by);
    }

    /// That much is done in all.
    pub fn reach(&self, position: u64) {
        self.0.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
