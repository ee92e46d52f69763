//! Counts the bytes that a search for secrets reads, for tests.

#[cfg(test)]
thread_local! {
    static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts read bytes. Does nothing outside of tests.
#[inline]
#[cfg_attr(
    not(test),
    expect(clippy::missing_const_for_fn, reason = "it counts in tests")
)]
pub fn read(bytes: usize) {
    #[cfg(test)]
    READ.with(|read| read.set(read.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

/// Returns the number of bytes that `work` reads.
#[cfg(test)]
pub fn count(work: impl FnOnce()) -> usize {
    READ.with(|read| read.set(0));
    work();
    READ.with(std::cell::Cell::get)
}
