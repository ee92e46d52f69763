use std::collections::HashMap;

use super::NONE;

const PAGE: usize = 256;

/// The memory in each row of the database. Rows are mostly dense, so they are kept in pages; a row
/// that damage made enormous costs one page.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pages: HashMap<i64, Box<[u32; PAGE]>>,
}

impl Rows {
    /// The number of the memory of that row.
    pub(crate) fn get(&self, row: i64) -> Option<u32> {
        let (page, place) = split(row);
        let number = self.pages.get(&page)?[place];
        (number != NONE).then_some(number)
    }

    pub(crate) fn insert(&mut self, row: i64, number: u32) {
        let (page, place) = split(row);
        self.pages
            .entry(page)
            .or_insert_with(|| Box::new([NONE; PAGE]))[place] = number;
    }

    pub(crate) fn remove(&mut self, row: i64) -> Option<u32> {
        let number = self.get(row)?;
        let (key, place) = split(row);
        if let Some(page) = self.pages.get_mut(&key) {
            page[place] = NONE;
            if page.iter().all(|number| *number == NONE) {
                self.pages.remove(&key);
            }
        }
        Some(number)
    }

    /// The rows, with their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = (i64, u32)> + '_ {
        let of_page = |(page, numbers): (&i64, &'_ [u32; PAGE])| {
            let page = *page;
            let numbers = *numbers;
            (0..)
                .zip(numbers)
                .filter(|(_, number)| *number != NONE)
                .map(move |(place, number)| (page * PAGE as i64 + place, number))
        };
        self.pages
            .iter()
            .flat_map(move |(page, numbers)| of_page((page, numbers)))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.pages.len() * size_of::<[u32; PAGE]>()
            + self.pages.capacity() * (size_of::<(i64, usize)>() + 1)
    }
}

fn split(row: i64) -> (i64, usize) {
    (
        row.div_euclid(PAGE as i64),
        row.rem_euclid(PAGE as i64) as usize,
    )
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_as_a_map(steps in vec((-600_i64..600, 0_u32..9, any::<bool>()), 0..200)) {
            let (mut rows, mut map) = (Rows::default(), HashMap::new());
            for (row, number, put_in) in steps {
                if put_in {
                    rows.insert(row, number);
                    map.insert(row, number);
                } else {
                    prop_assert_eq!(rows.remove(row), map.remove(&row));
                }
            }
            prop_assert!((-700..700).all(|row| rows.get(row) == map.get(&row).copied()));
            let pages = map.keys().map(|row| row.div_euclid(256)).collect::<std::collections::HashSet<_>>().len();
            prop_assert_eq!(rows.pages.len(), pages, "empty pages go");
        }
    }

    #[test]
    fn the_ends_of_the_range_are_rows_too() {
        let mut rows = Rows::default();
        for row in [i64::MIN, i64::MAX, 0] {
            rows.insert(row, 7);
            assert_eq!(
                (rows.get(row), rows.remove(row), rows.get(row)),
                (Some(7), Some(7), None)
            );
        }
    }
}
