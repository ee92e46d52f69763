//! One page of a b-tree, and the records in it.
//!
//! The form is that of <https://www.sqlite.org/fileformat2.html#b_tree_pages> and its section 2 on
//! records. Nothing in the bytes is believed: what leads out of them, or is too long, is not there.

use rusqlite::types::ValueRef;

use super::pages::{Pages, number_at};

/// Columns that a record may have; the widest table has half of them.
const COLUMNS_MAX: usize = 64;
/// Bytes that a cell takes, and a free block.
const CELL_BYTES_MIN: usize = 4;
const BLOCK_BYTES_MIN: usize = 4;
/// Bytes of the number of a page.
const NUMBER_BYTES: usize = 4;

/// What a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    IndexInterior,
    TableInterior,
    IndexLeaf,
    TableLeaf,
}

impl Kind {
    /// Whether rows have numbers in trees with such pages.
    pub(crate) fn is_of_table(self) -> bool {
        matches!(self, Kind::TableInterior | Kind::TableLeaf)
    }
}

/// A page of a b-tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreePage<'a> {
    pub(crate) kind: Kind,
    /// How many cells it says to have, as far as their list fits into it.
    pub(crate) cells: usize,
    bytes: &'a [u8],
    /// Where the list of cells begins.
    list: usize,
    /// The page that comes after those of all cells.
    last_child: Option<u32>,
}

/// One entry of a page.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    /// The number of the row, in tables.
    pub(crate) row: Option<i64>,
    /// The record, but in the interior of tables.
    payload: Option<Payload<'a>>,
    /// Where in the page it ends.
    end: usize,
}

/// A record, of which a part may be in other pages.
#[derive(Debug)]
struct Payload<'a> {
    length: usize,
    here: &'a [u8],
    /// Where it goes on.
    overflow: u32,
}

impl<'a> TreePage<'a> {
    /// The page of that number as a page of a b-tree, if it is one.
    pub(crate) fn parse(number: u32, bytes: &'a [u8]) -> Option<Self> {
        let start = if number == 1 { 100 } else { 0 };
        let kind = match bytes.get(start)? {
            0x02 => Kind::IndexInterior,
            0x05 => Kind::TableInterior,
            0x0a => Kind::IndexLeaf,
            0x0d => Kind::TableLeaf,
            _ => return None,
        };
        let is_interior = matches!(kind, Kind::IndexInterior | Kind::TableInterior);
        let list = start + if is_interior { 12 } else { 8 };
        let cells = short_at(bytes, start + 3)?.min(bytes.len().checked_sub(list)? / 2);
        let last_child = is_interior.then(|| number_at(bytes, start + 8));
        Some(TreePage {
            kind,
            cells,
            bytes,
            list,
            last_child,
        })
    }

    /// The cell at that place of the list, if it is within the page.
    pub(crate) fn cell(&self, place: usize) -> Option<Cell<'a>> {
        let start = short_at(self.bytes, self.list + 2 * place)?;
        // It cannot begin before the list of cells ends.
        let mut rest = self
            .bytes
            .get(start..)
            .filter(|_| start >= self.list + 2 * self.cells)?;
        if self.last_child.is_some() {
            rest = rest.get(4..)?;
        }
        let length = match self.kind {
            Kind::TableInterior => None,
            _ => Some(usize::try_from(varint(&mut rest)?).ok()?),
        };
        let row = match self.kind {
            Kind::TableInterior | Kind::TableLeaf => Some(varint(&mut rest)?.cast_signed()),
            Kind::IndexInterior | Kind::IndexLeaf => None,
        };
        let payload = match length {
            Some(length) => Some(self.payload(length, rest)?),
            None => None,
        };
        let here = payload.as_ref().map_or(0, |Payload { length, here, .. }| {
            // The number of the page where it goes on comes after it.
            here.len()
                + if here.len() < *length {
                    NUMBER_BYTES
                } else {
                    0
                }
        });
        let end = (self.bytes.len() - rest.len() + here).max(start + CELL_BYTES_MIN);
        Some(Cell { row, payload, end })
    }

    /// Whether each byte after the list of cells belongs to one cell or to free space, as the page
    /// says, and the rows of a table are in order, after `above` and up to `up_to`.
    pub(crate) fn is_sound(&self, above: Option<i64>, up_to: Option<i64>) -> bool {
        let cells: Option<Vec<_>> = (0..self.cells).map(|place| self.cell(place)).collect();
        let Some(cells) = cells else { return false };
        let rows = || cells.iter().filter_map(|cell| cell.row);
        if !rows().is_sorted_by(|one, next| one < next)
            || above.is_some_and(|above| rows().any(|row| row <= above))
            || up_to.is_some_and(|up_to| rows().any(|row| row > up_to))
        {
            return false;
        }
        let starts =
            (0..self.cells).filter_map(|place| short_at(self.bytes, self.list + 2 * place));
        let used: Vec<_> = starts.zip(cells.iter().map(|cell| cell.end)).collect();
        self.are_all_bytes(used).unwrap_or(false)
    }

    /// Whether these parts and the free blocks do not overlap, and what is between them is as much
    /// as the page says.
    fn are_all_bytes(&self, mut parts: Vec<(usize, usize)>) -> Option<bool> {
        let header = self.list - if self.last_child.is_some() { 12 } else { 8 };
        let short = |place| short_at(self.bytes, place);
        let (mut block, mut end) = (short(header + 1)?, 0);
        while block > 0 {
            // In ascending order, so that this has an end.
            if block < end {
                return Some(false);
            }
            end = block + short(block + 2)?.max(BLOCK_BYTES_MIN);
            parts.push((block, end));
            block = short(block)?;
        }
        parts.sort_unstable();
        let begin = short(header + 5)?;
        let (mut end, mut between) = (begin, 0);
        for (start, next) in parts {
            between += start.checked_sub(end)?;
            end = next;
        }
        between += self.bytes.len().checked_sub(end)?;
        let cells = short(header + 3)?;
        Some(between == usize::from(*self.bytes.get(header + 7)?) && self.list + 2 * cells <= begin)
    }

    fn payload(&self, length: usize, rest: &'a [u8]) -> Option<Payload<'a>> {
        let usable = self.bytes.len();
        let most = if self.kind == Kind::TableLeaf {
            usable - 35
        } else {
            (usable - 12) * 64 / 255 - 23
        };
        if length <= most {
            return Some(Payload {
                length,
                here: rest.get(..length)?,
                overflow: 0,
            });
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (usable - 4);
        let local = if fitting <= most { fitting } else { least };
        let (here, after) = rest.split_at_checked(local)?;
        Some(Payload {
            length,
            here,
            overflow: number_at(after, 0),
        })
    }

    /// The pages below it; of a table each with the last row that it may have.
    pub(crate) fn children(&self) -> impl Iterator<Item = (u32, Option<i64>)> {
        let child = |place| {
            let row = self.cell(place).and_then(|cell| cell.row);
            Some((
                number_at(self.bytes, short_at(self.bytes, self.list + 2 * place)?),
                row,
            ))
        };
        let cells = if self.last_child.is_some() {
            self.cells
        } else {
            0
        };
        (0..cells)
            .filter_map(child)
            .chain(self.last_child.map(|last| (last, None)))
    }
}

impl Cell<'_> {
    /// The bytes of the record, if its columns are as many as that and their lengths those of the
    /// whole.
    pub(crate) fn record(&self, pages: &Pages) -> Option<Record> {
        let payload = self.payload.as_ref()?;
        // Before anything is read from other pages.
        let columns = Columns::parse(payload.here)?;
        if columns.end != payload.length {
            return None;
        }
        let mut bytes = payload.here.to_vec();
        let (mut last, mut next) = (0, payload.overflow);
        // Each page brings some bytes, so that not even a circle is without end.
        while bytes.len() < payload.length {
            let page = pages.read(next)?;
            (last, next) = (next, number_at(&page, 0));
            let missing = payload.length - bytes.len();
            bytes.extend_from_slice(page.get(4..)?.get(..missing.min(page.len() - 4))?);
            if bytes.len() / page.len() > pages.count as usize {
                return None;
            }
        }
        Some(Record {
            bytes,
            columns,
            leads_on: (next > 0).then_some(last),
        })
    }
}

/// Where each column of a record begins, and what it is.
#[derive(Debug)]
struct Columns {
    /// Serial type and first byte.
    columns: Vec<(u64, usize)>,
    /// After the last.
    end: usize,
}

impl Columns {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let header = usize::try_from(varint(&mut rest)?).ok()?;
        let mut list = rest.get(..header.checked_sub(bytes.len() - rest.len())?)?;
        let mut columns = Vec::new();
        let mut end = header;
        while !list.is_empty() {
            let kind = varint(&mut list)?;
            columns.push((kind, end));
            end = end.checked_add(length(kind)?)?;
            if columns.len() > COLUMNS_MAX {
                return None;
            }
        }
        Some(Columns { columns, end })
    }
}

/// A whole record.
#[derive(Debug)]
pub(crate) struct Record {
    bytes: Vec<u8>,
    columns: Columns,
    /// The page in which it ends, if that says that it goes on.
    pub(crate) leads_on: Option<u32>,
}

impl Record {
    /// The values of its columns.
    pub(crate) fn values(&self) -> Option<Vec<ValueRef<'_>>> {
        let value = |(kind, start): &(u64, usize)| {
            let bytes = self.bytes.get(*start..*start + length(*kind)?)?;
            Some(match kind {
                0 => ValueRef::Null,
                1..=6 => ValueRef::Integer(signed(bytes)),
                7 => ValueRef::Real(f64::from_bits(signed(bytes).cast_unsigned())),
                8 => ValueRef::Integer(0),
                9 => ValueRef::Integer(1),
                kind if kind % 2 == 0 => ValueRef::Blob(bytes),
                _ => ValueRef::Text(bytes),
            })
        };
        self.columns.columns.iter().map(value).collect()
    }
}

/// The bytes of a value of that serial type; none of the two that are never written.
fn length(kind: u64) -> Option<usize> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(kind).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        10 | 11 => None,
        _ => usize::try_from((kind - 12) / 2).ok(),
    }
}

/// The number that at most eight bytes are.
fn signed(bytes: &[u8]) -> i64 {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) {
        -1
    } else {
        0
    };
    bytes
        .iter()
        .fold(sign, |number, byte| number << 8 | i64::from(*byte))
}

fn short_at(bytes: &[u8], place: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(
        *bytes.get(place..)?.first_chunk()?,
    )))
}

/// Takes a number of one to nine bytes, in each seven bits of it, in the ninth eight.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}
