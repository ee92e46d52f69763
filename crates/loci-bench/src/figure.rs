//! The figures that a benchmark prints.

use loci::exit::Failure;
use loci::output::Output;
use serde_json::{Value, json};

/// A measurement.
pub struct Figure {
    /// The name of the measurement.
    pub name: String,
    /// The single value, or the median of several.
    pub p50: f64,
    /// The 95th percentile of several values.
    pub p95: Option<f64>,
    /// The unit of both.
    pub unit: &'static str,
    /// The goal of the design; empty without one.
    pub goal: &'static str,
}

impl Figure {
    /// Makes a figure of one value.
    pub fn one(
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        goal: &'static str,
    ) -> Self {
        Figure {
            name: name.into(),
            p50: value,
            p95: None,
            unit,
            goal,
        }
    }

    /// Makes a figure with the median and the 95th percentile of several values.
    pub fn many(
        name: impl Into<String>,
        mut values: Vec<f64>,
        unit: &'static str,
        goal: &'static str,
    ) -> Self {
        values.sort_by(f64::total_cmp);
        Figure {
            name: name.into(),
            p50: percentile(&values, 0.5),
            p95: Some(percentile(&values, 0.95)),
            unit,
            goal,
        }
    }
}

/// Returns a percentile of sorted values; not a number without any.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    values
        .get((values.len() as f64 * share) as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// Prints figures as a table, or as JSON.
///
/// # Errors
/// If stdout is closed or full.
pub fn print(figures: &[Figure], output: Output) -> Result<(), Failure> {
    let mut text = format!("{:58} {:>9} {:>9}  {:6}  goal\n", "", "p50", "p95", "");
    for Figure {
        name,
        p50,
        p95,
        unit,
        goal,
    } in figures
    {
        let p95 = p95.map_or_else(String::new, |p95| format!("{p95:.3}"));
        text += &format!("{name:58} {p50:>9.3} {p95:>9}  {unit:6}  {goal}\n");
    }
    let row = |Figure {
                   name,
                   p50,
                   p95,
                   unit,
                   goal,
               }: &Figure| json!({"name": name, "p50": p50, "p95": p95, "unit": unit, "goal": goal});
    Ok(output.either(&figures.iter().map(row).collect::<Value>(), text)?)
}
