//! A bar for long work, on a terminal alone.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often it is drawn, while nothing happens, too.
const TICK: Duration = Duration::from_millis(200);

/// A bar with what is done, the rate and the time that remains. On anything but a terminal it does not show.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar that shows from [`begin`](Progress::begin) on; `unit` is what it counts, in the plural.
    pub fn new(unit: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let template = format!("{{bar:30}} {{pos}} of {{len}} {unit}, {{per_sec}}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
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
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
