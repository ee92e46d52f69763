//! Charts: numbers by day as stacked bars, and as a calendar. Templates draw them as SVG, with a table
//! of the same numbers beside them.

use serde::Serialize;
use utoipa::ToSchema;

/// The width of the drawing area, in units of the picture.
const WIDTH: f64 = 600.0;
/// The height of the drawing area.
const HEIGHT: f64 = 120.0;
/// The share of the place of a bar that it fills.
const FILLED: f64 = 0.8;
/// The side of a day in a calendar, with its gap.
const DAY: usize = 14;
/// The days of a week.
const WEEK: usize = 7;
/// The steps of colour of a calendar; 0 is nothing.
const STEPS: u64 = 4;

/// A row of numbers, one for each label of its chart.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Series {
    /// The name of a message, or a name that has none.
    pub(crate) name: String,
    /// True if the name is that of a message.
    #[serde(skip)]
    pub(crate) is_message: bool,
    pub(crate) values: Vec<u64>,
}

/// Numbers by day; the numbers of a day lie on each other.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Chart {
    /// The days.
    pub(crate) labels: Vec<String>,
    pub(crate) series: Vec<Series>,
    /// True if each number includes those before it, so that their sum says nothing.
    #[serde(skip)]
    pub(crate) is_running: bool,
}

/// A rectangle of a picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) width: String,
    pub(crate) height: String,
    /// The place of its series, from 1; of a calendar, the step of its colour.
    pub(crate) step: usize,
    pub(crate) label: String,
    pub(crate) value: u64,
}

impl Series {
    pub(crate) fn message(name: &str, values: Vec<u64>) -> Self {
        Series {
            name: name.to_owned(),
            is_message: true,
            values,
        }
    }

    /// Returns the sum of its numbers.
    pub(crate) fn total(&self) -> u64 {
        self.values.iter().sum()
    }
}

impl Chart {
    /// Returns the sum of the numbers of each label.
    pub(crate) fn totals(&self) -> Vec<u64> {
        let of = |index| {
            let values = self
                .series
                .iter()
                .filter_map(|series| series.values.get(index));
            values.sum()
        };
        (0..self.labels.len()).map(of).collect()
    }

    /// Returns the greatest of these sums.
    pub(crate) fn highest(&self) -> u64 {
        self.totals().into_iter().max().unwrap_or(0)
    }

    /// Returns the rows of the table: the label, and the number of each series.
    pub(crate) fn rows(&self) -> Vec<(&str, Vec<u64>)> {
        let of = |index| {
            let values = self.series.iter();
            values
                .map(|series| series.values.get(index).copied().unwrap_or(0))
                .collect()
        };
        let labels = self.labels.iter().enumerate();
        labels
            .map(|(index, label)| (label.as_str(), of(index)))
            .collect()
    }

    pub(crate) fn first(&self) -> &str {
        self.labels.first().map_or("", String::as_str)
    }

    pub(crate) fn last(&self) -> &str {
        self.labels.last().map_or("", String::as_str)
    }

    /// Returns the bars, with the bars of a day on each other.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        let highest = self.highest().max(1) as f64;
        let place = WIDTH / self.labels.len().max(1) as f64;
        let mut bars = Vec::new();
        for (index, label) in self.labels.iter().enumerate() {
            let mut top = HEIGHT;
            for (number, series) in self.series.iter().enumerate() {
                let value = series.values.get(index).copied().unwrap_or(0);
                if value == 0 {
                    continue;
                }
                let height = HEIGHT * value as f64 / highest;
                top -= height;
                bars.push(Bar {
                    x: unit(index as f64 * place),
                    y: unit(top),
                    width: unit(place * FILLED),
                    height: unit(height),
                    step: number + 1,
                    label: label.clone(),
                    value,
                });
            }
        }
        bars
    }

    /// Returns the days as a calendar: a column for each week, a row for each day of the week, of
    /// which the first label has `first_weekday`, 0 for Monday.
    pub(crate) fn calendar(&self, first_weekday: usize) -> Vec<Bar> {
        let highest = self.highest().max(1);
        let totals = self.totals();
        let days = self.labels.iter().zip(totals).enumerate();
        let day = |(index, (label, value)): (usize, (&String, u64))| {
            let at = first_weekday + index;
            Bar {
                x: (at / WEEK * DAY).to_string(),
                y: (at % WEEK * DAY).to_string(),
                width: (DAY - 2).to_string(),
                height: (DAY - 2).to_string(),
                step: usize::try_from((value * STEPS).div_ceil(highest)).unwrap_or(0),
                label: label.clone(),
                value,
            }
        };
        days.map(day).collect()
    }
}

/// Returns a length as a picture has it.
fn unit(length: f64) -> String {
    format!("{length:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        Chart {
            labels: ["a", "b", "c"].map(str::to_owned).to_vec(),
            series: vec![
                Series::message("one", vec![1, 0, 3]),
                Series::message("two", vec![1, 0, 1]),
            ],
            is_running: false,
        }
    }

    #[test]
    fn bars_have_the_sums_of_the_table() {
        let chart = chart();
        let bars: u64 = chart.bars().iter().map(|bar| bar.value).sum();
        let table: u64 = chart.rows().iter().flat_map(|(_, values)| values).sum();
        let series: u64 = chart.series.iter().map(Series::total).sum();
        assert_eq!((bars, table, series), (6, 6, 6));
        assert_eq!(chart.totals(), [2, 0, 4]);
        let heights: Vec<_> = chart.bars().into_iter().map(|bar| bar.height).collect();
        assert_eq!(heights, ["30.0", "30.0", "90.0", "30.0"]);
        let of_c: Vec<_> = chart.bars()[2..].iter().map(|bar| bar.y.clone()).collect();
        assert_eq!(of_c, ["30.0", "0.0"]);
    }

    #[test]
    fn a_calendar_has_a_column_for_each_week() {
        let days = chart().calendar(5);
        let places: Vec<_> = days.iter().map(|day| (&*day.x, &*day.y)).collect();
        assert_eq!(places, [("0", "70"), ("0", "84"), ("14", "0")]);
        let steps: Vec<_> = days.iter().map(|day| day.step).collect();
        assert_eq!(steps, [2, 0, 4]);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let empty = Chart {
            labels: Vec::new(),
            series: Vec::new(),
            is_running: false,
        };
        assert_eq!((empty.bars().len(), empty.highest()), (0, 0));
    }
}
