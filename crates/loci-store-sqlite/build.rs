//! Compiles SQLite's `dbdata.c`, which salvage reads the pages of corrupt databases with, against
//! the SQLite that `libsqlite3-sys` bundles.

fn main() {
    const SOURCE: &str = "vendor/sqlite/dbdata.c";
    println!("cargo:rerun-if-changed={SOURCE}");
    let mut build = cc::Build::new();
    // Set by `libsqlite3-sys`, which built SQLite before.
    if let Ok(include) = std::env::var("DEP_SQLITE3_INCLUDE") {
        build.include(include);
    }
    build
        .file(SOURCE)
        // Its assertions state invariants of SQLite, not of the file that is read.
        .define("NDEBUG", None)
        .warnings(false)
        .compile("loci_dbdata");
}
