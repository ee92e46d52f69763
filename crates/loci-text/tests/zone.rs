//! The zone of a process, which is one for all of its tests.

use jiff::civil::date;
use jiff::tz::{Offset, TimeZone};
use loci_text::dates;
use loci_text::query::Query;

#[test]
fn days_are_those_of_the_zone_that_was_set_first() {
    let zone = |hours| TimeZone::fixed(Offset::constant(hours));
    dates::set_zone(zone(13));
    dates::set_zone(zone(-5));
    let hour = 3_600_000_000;
    assert_eq!(dates::day(0), date(1970, 1, 1));
    assert_eq!(dates::day(11 * hour - 1), date(1970, 1, 1));
    assert_eq!(dates::day(11 * hour), date(1970, 1, 2));
    let noon_in_utc = Query::parse("what did we do yesterday?", dates::day(12 * hour));
    assert_eq!(noon_in_utc.days, Some(date(1970, 1, 1)..=date(1970, 1, 1)));
}
