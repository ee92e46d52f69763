//! The `loci` binary; the library of the same crate holds the commands.

use std::process::ExitCode;

/// It gives free memory back after a burst of calls, which glibc's allocator keeps.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    loci::main()
}
