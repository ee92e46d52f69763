//! Treemaps: rectangles whose areas are in the proportion of numbers.
//!
//! The rows are laid so that the rectangles are as near to squares as can be (M. Bruls, K. Huizing,
//! J. van Wijk, "Squarified treemaps", 2000), because thin ones can neither be compared nor labelled.

/// A rectangle of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Area {
    fn size(&self) -> f64 {
        self.width * self.height
    }

    /// Returns the rectangle without a frame, and without a strip at its top.
    pub(crate) fn within(&self, frame: f64, top: f64) -> Self {
        Area {
            x: self.x + frame,
            y: self.y + top,
            width: (self.width - 2.0 * frame).max(0.0),
            height: (self.height - frame - top).max(0.0),
        }
    }
}

/// Returns a rectangle for each number, in their order, which is that of their size, the largest
/// first. Together they fill `whole`.
pub(crate) fn areas(numbers: &[u64], whole: Area) -> Vec<Area> {
    let sum: u64 = numbers.iter().sum();
    let scale = whole.size() / sum.max(1) as f64;
    let sizes: Vec<f64> = numbers
        .iter()
        .map(|number| *number as f64 * scale)
        .collect();
    let mut areas = Vec::with_capacity(sizes.len());
    let (mut left, mut rest) = (whole, sizes.as_slice());
    while !rest.is_empty() {
        let side = left.width.min(left.height);
        let mut count = 1;
        while count < rest.len() && worst(&rest[..=count], side) <= worst(&rest[..count], side) {
            count += 1;
        }
        let (row, further) = rest.split_at(count);
        left = lay(row, left, &mut areas);
        rest = further;
    }
    areas
}

/// Returns the greatest relation of two sides in a row of this length.
fn worst(row: &[f64], side: f64) -> f64 {
    let sum: f64 = row.iter().sum();
    if sum <= 0.0 || side <= 0.0 {
        return f64::MAX;
    }
    let relation = |size: &f64| {
        let (one, other) = (side * side * size, sum * sum);
        (one / other).max(other / one)
    };
    row.iter().map(relation).fold(0.0, f64::max)
}

/// Lays a row along the shorter side, and returns what is left.
fn lay(row: &[f64], whole: Area, areas: &mut Vec<Area>) -> Area {
    let sum: f64 = row.iter().sum();
    let is_column = whole.width >= whole.height;
    let side = if is_column { whole.height } else { whole.width };
    let depth = if side > 0.0 { sum / side } else { 0.0 };
    let mut at = 0.0;
    for size in row {
        let length = if depth > 0.0 { size / depth } else { 0.0 };
        areas.push(if is_column {
            Area {
                x: whole.x,
                y: whole.y + at,
                width: depth,
                height: length,
            }
        } else {
            Area {
                x: whole.x + at,
                y: whole.y,
                width: length,
                height: depth,
            }
        });
        at += length;
    }
    if is_column {
        Area {
            x: whole.x + depth,
            width: (whole.width - depth).max(0.0),
            ..whole
        }
    } else {
        Area {
            y: whole.y + depth,
            height: (whole.height - depth).max(0.0),
            ..whole
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Area = Area {
        x: 0.0,
        y: 0.0,
        width: 600.0,
        height: 400.0,
    };

    #[test]
    fn areas_are_in_the_proportion_of_the_numbers_and_fill_the_whole() {
        for numbers in [
            vec![6, 6, 4, 3, 2, 2, 1],
            vec![1],
            vec![1_000_000, 1],
            vec![5; 40],
        ] {
            let sum: u64 = numbers.iter().sum();
            let found = areas(&numbers, WHOLE);
            for (number, area) in numbers.iter().zip(&found) {
                let expected = WHOLE.size() * *number as f64 / sum as f64;
                assert!(
                    (area.size() - expected).abs() < 1.0,
                    "{numbers:?}: {area:?}"
                );
                assert!(area.x >= 0.0 && area.x + area.width < 600.01, "{area:?}");
                assert!(area.y >= 0.0 && area.y + area.height < 400.01, "{area:?}");
            }
        }
        // The example of the paper: the first two stand in one column.
        let found = areas(&[6, 6, 4, 3, 2, 2, 1], WHOLE);
        assert_eq!((found[0].width, found[0].height), (300.0, 200.0));
        assert_eq!((found[1].x, found[1].y), (0.0, 200.0));
    }

    #[test]
    fn nothing_has_no_area() {
        assert!(areas(&[], WHOLE).is_empty());
        assert_eq!(areas(&[0, 0], WHOLE).len(), 2);
    }
}
