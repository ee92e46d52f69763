//! Small pictures of numbers by day: lines of 30 days in a tile, areas and bars of 90 days. A picture
//! has one path for each series, because a rectangle for each number would be most of a view.

use serde::Serialize;

use crate::charts::Chart;

/// The height of a picture, in its units.
pub(crate) const HEIGHT: u64 = 120;
/// The width of a day in a picture.
const DAY: usize = 10;
/// The width of the bar of a day.
const BAR: usize = 8;
/// The height of the picture in a tile.
pub(crate) const SPARK_HEIGHT: u64 = 24;

/// The path of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The place of its series, from 1.
    pub(crate) step: usize,
    pub(crate) path: String,
}

/// Numbers by day as a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Spark(pub(crate) Vec<u64>);

impl Spark {
    /// Returns the width of its picture.
    pub(crate) fn width(&self) -> usize {
        DAY * self.0.len().saturating_sub(1).max(1)
    }

    /// Returns the line; a flat one if there is nothing.
    pub(crate) fn path(&self) -> String {
        let highest = self.0.iter().copied().max().unwrap_or(0).max(1);
        let mut path = String::new();
        for (index, value) in self.0.iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            let y = scaled(highest - value, highest, SPARK_HEIGHT - 2) + 1;
            path.push_str(&format!("{command}{} {y}", index * DAY));
        }
        path
    }
}

/// Returns the middle of the place of a day in a picture.
pub(crate) fn middle_of(place: usize) -> usize {
    place * DAY + DAY / 2
}

impl Chart {
    /// Returns the width of its picture.
    pub(crate) fn width(&self) -> usize {
        DAY * self.labels.len().max(1)
    }

    /// Returns the series as areas on each other.
    pub(crate) fn areas(&self) -> Vec<Shape> {
        let highest = self.highest().max(1);
        let mut below = vec![0; self.labels.len()];
        self.shapes(|values| {
            let bottom = below.clone();
            for (sum, value) in below.iter_mut().zip(values) {
                *sum += value;
            }
            let point = |(index, sum): (usize, &u64)| {
                let y = HEIGHT - scaled(*sum, highest, HEIGHT);
                format!("{} {y}", index * DAY + DAY / 2)
            };
            let forth = below.iter().enumerate().map(point);
            let back = bottom.iter().enumerate().rev().map(point);
            let points: Vec<String> = forth.chain(back).collect();
            format!("M{}z", points.join("L"))
        })
    }

    /// Returns the series as bars, with the bars of a day on each other.
    pub(crate) fn stacks(&self) -> Vec<Shape> {
        let highest = self.highest().max(1);
        let mut below = vec![0; self.labels.len()];
        self.shapes(|values| {
            let mut path = String::new();
            for (index, (sum, value)) in below.iter_mut().zip(values).enumerate() {
                let bottom = HEIGHT - scaled(*sum, highest, HEIGHT);
                *sum += value;
                let top = HEIGHT - scaled(*sum, highest, HEIGHT);
                if *value > 0 {
                    path.push_str(&format!("M{} {bottom}V{top}h{BAR}V{bottom}z", index * DAY));
                }
            }
            path
        })
    }

    /// Returns the paths of the series that have anything.
    fn shapes(&self, mut path: impl FnMut(&[u64]) -> String) -> Vec<Shape> {
        let series = self.series.iter().enumerate();
        series
            .map(|(index, series)| Shape {
                step: index + 1,
                path: path(&series.values),
            })
            .zip(&self.series)
            .filter(|(_, series)| series.total() > 0)
            .map(|(shape, _)| shape)
            .collect()
    }

    /// Returns the rows of the table that say something: those with a number, and of running sums
    /// those on which one changes.
    pub(crate) fn telling_rows(&self) -> Vec<(&str, Vec<u64>)> {
        let mut before = vec![0; self.series.len()];
        let mut rows = self.rows();
        rows.retain(|(_, values)| {
            let says = if self.is_running {
                *values != before
            } else {
                values.iter().any(|value| *value > 0)
            };
            before.clone_from(values);
            says
        });
        rows
    }
}

/// Returns a share of a height, rounded.
fn scaled(value: u64, highest: u64, height: u64) -> u64 {
    let product = u128::from(value) * u128::from(height) + u128::from(highest / 2);
    u64::try_from(product / u128::from(highest.max(1))).unwrap_or(height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::Series;

    fn chart(is_running: bool) -> Chart {
        Chart {
            labels: ["a", "b", "c"].map(str::to_owned).to_vec(),
            series: vec![
                Series::message("one", vec![1, 0, 3]),
                Series::message("none", vec![0, 0, 0]),
                Series::message("two", vec![1, 0, 1]),
            ],
            is_running,
        }
    }

    #[test]
    fn bars_lie_on_each_other() {
        let expected = [
            (1, "M0 120V90h8V120zM20 120V30h8V120z"),
            (3, "M0 90V60h8V90zM20 30V0h8V30z"),
        ];
        let stacks = chart(false).stacks();
        let found: Vec<_> = stacks.iter().map(|s| (s.step, &*s.path)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn areas_lie_on_each_other() {
        let areas = chart(true).areas();
        let paths: Vec<_> = areas.iter().map(|shape| &*shape.path).collect();
        assert_eq!(
            paths,
            [
                "M5 90L15 120L25 30L25 120L15 120L5 120z",
                "M5 60L15 120L25 0L25 30L15 120L5 90z"
            ]
        );
    }

    #[test]
    fn a_table_leaves_out_days_that_say_nothing() {
        let rows = |is_running| -> Vec<String> {
            let chart = chart(is_running);
            let rows = chart.telling_rows().into_iter();
            rows.map(|(label, _)| label.to_owned()).collect()
        };
        assert_eq!(rows(false), ["a", "c"]);
        assert_eq!(rows(true), ["a", "b", "c"], "sums that fall are changes");
    }

    #[test]
    fn a_line_has_a_point_for_each_day() {
        assert_eq!(Spark(vec![0, 2, 1]).path(), "M0 23L10 1L20 12");
        assert_eq!(Spark(vec![0, 0]).path(), "M0 23L10 23");
        assert_eq!(Spark(Vec::new()).path(), "");
    }
}
