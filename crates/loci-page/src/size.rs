//! Sizes as people read them.

/// Returns a size as people read it.
pub(crate) fn shown_bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut shown = format!("{bytes} B");
    for unit in UNITS {
        if size < 1_000.0 {
            break;
        }
        size /= 1_000.0;
        shown = format!("{size:.1} {unit}");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_their_unit() {
        let rows = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (1_234_567, "1.2 MB"),
            (9_900_000_000_000, "9.9 TB"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(shown_bytes(bytes), expected);
        }
    }
}
