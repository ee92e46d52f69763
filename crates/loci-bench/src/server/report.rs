//! Prints the comparison as a table or as JSON.

use std::time::Duration;

use loci::exit::Failure;
use loci::output::Output;
use serde_json::{Value, json};

use crate::speed::milliseconds;

/// The promise of a comparison.
#[derive(Clone, Copy)]
pub enum Goal {
    /// At most this many times the other figure.
    TimesMax(f64),
    /// At least this many times the other figure.
    TimesMin(f64),
    /// At most this much more than the other figure.
    MoreMax(f64),
    /// At most this.
    Max(f64),
    /// Nothing.
    None,
}

/// A figure of the store beside another one.
pub struct Comparison {
    /// The measured quantity.
    pub name: String,
    /// The figure of the store.
    pub own: f64,
    /// Whose figure the other one is.
    pub beside: &'static str,
    /// The other figure.
    pub other: f64,
    /// The unit of both.
    pub unit: &'static str,
    /// The promise of the store.
    pub goal: Goal,
}

impl Comparison {
    fn ratio(&self) -> f64 {
        self.own / self.other
    }

    /// Returns the goal for people, and whether it is met; `None` without a goal.
    fn judged(&self) -> (String, Option<bool>) {
        let unit = self.unit;
        match self.goal {
            Goal::TimesMax(most) => (format!("≤ {most} times"), Some(self.ratio() <= most)),
            Goal::TimesMin(least) => (format!("≥ {least} times"), Some(self.ratio() >= least)),
            Goal::MoreMax(most) => (
                format!("≤ {most} {unit} more"),
                Some(self.own - self.other <= most),
            ),
            Goal::Max(most) => (format!("≤ {most} {unit}"), Some(self.own <= most)),
            Goal::None => (String::new(), None),
        }
    }
}

/// Prints comparisons as a table, or as JSON.
///
/// # Errors
/// If stdout is closed or full.
pub fn print(comparisons: &[Comparison], output: Output) -> Result<(), Failure> {
    let mut text = format!(
        "{:52} {:>9} {:>9}  {:4} {:>6} {:>6}  {:18} goal\n",
        "", "store", "other", "", "times", "more", "other"
    );
    for comparison in comparisons {
        let Comparison {
            name,
            own,
            beside,
            other,
            unit,
            ..
        } = comparison;
        let (ratio, more) = (comparison.ratio(), own - other);
        let (goal, is_met) = comparison.judged();
        let verdict = match is_met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        text += &format!(
            "{name:52} {own:>9.3} {other:>9.3}  {unit:4} {ratio:>6.2} {more:>6.2}  {beside:18} {goal} {verdict}\n"
        );
    }
    let row = |comparison: &Comparison| {
        let (goal, is_met) = comparison.judged();
        json!({
            "name": comparison.name,
            "store": comparison.own,
            "beside": comparison.beside,
            "other": comparison.other,
            "unit": comparison.unit,
            "times": comparison.ratio(),
            "goal": goal,
            "is_met": is_met,
        })
    };
    Ok(output.either(&comparisons.iter().map(row).collect::<Value>(), text)?)
}

/// Returns the median in milliseconds.
pub fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .map_or(f64::NAN, |time| milliseconds(*time))
}
