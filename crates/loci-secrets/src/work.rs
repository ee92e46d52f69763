//! The bytes that are read when secrets are looked for, which tests count.

#[cfg(test)]
thread_local! {
    static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes that are read. Outside of tests it does nothing.
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

/// The bytes that are read while `work` is done.
#[cfg(test)]
pub fn count(work: impl FnOnce()) -> usize {
    READ.with(|read| read.set(0));
    work();
    READ.with(std::cell::Cell::get)
}
