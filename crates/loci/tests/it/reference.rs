use std::path::Path;

use crate::program::Place;

#[test]
fn the_reference_page_is_fresh() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let page = Place::new().run(&["reference"]).succeeded().stdout;
    if std::env::var_os("LOCI_BLESS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference.md is stale; run `just bless` and read the difference"
    );
}
