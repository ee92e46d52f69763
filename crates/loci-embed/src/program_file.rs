//! Reads data of the program from its file.

#[cfg(target_os = "linux")]
use std::fs::{self, File};
#[cfg(target_os = "linux")]
use std::os::unix::fs::FileExt;

/// Returns a copy of data that was compiled into this program, from the file of the program. Pages
/// that are read in place stay in the memory of the process; a copy can be dropped. `None` if the
/// data is not mapped from that file, as on systems other than Linux.
#[cfg(target_os = "linux")]
pub(crate) fn copy_of(data: &'static [u8]) -> Option<Vec<u8>> {
    let begin = data.as_ptr().addr() as u64;
    let end = begin + data.len() as u64;
    let program = fs::read_link("/proc/self/exe").ok()?;
    let mappings = fs::read_to_string("/proc/self/maps").ok()?;
    let offset = mappings.lines().find_map(|mapping| {
        let (mapped, path) = mapping.split_at_checked(mapping.find('/')?)?;
        let mut fields = mapped.split_ascii_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
        let (from, to) = (number(from)?, number(to)?);
        let offset = number(fields.nth(1)?)?;
        let holds = from <= begin && end <= to && program.as_os_str() == path;
        holds.then(|| offset + (begin - from))
    })?;
    let mut copy = vec![0; data.len()];
    let file = File::open("/proc/self/exe").ok()?;
    file.read_exact_at(&mut copy, offset).ok()?;
    Some(copy)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn copy_of(_: &'static [u8]) -> Option<Vec<u8>> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn the_copy_is_equal() {
        let tokenizer: &[u8] = include_bytes!("../model/tokenizer.json");
        for part in [tokenizer, &tokenizer[5_000..5_001], &tokenizer[7..]] {
            assert!(copy_of(part).is_some_and(|copy| copy == part));
        }
    }

    #[test]
    fn data_that_is_not_in_the_file_is_not_copied() {
        assert_eq!(copy_of(vec![1; 9].leak()), None);
    }
}
