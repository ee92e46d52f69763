//! Sections of source files: together they are the file, in order, at the borders of characters.

use std::path::Path;

pub(crate) fn run(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let Some(text) = crate::text(data) else {
        return;
    };
    let names = [
        "a.rs", "a.py", "a.md", "a.go", "a.ts", "a.java", "a.c", "a.sql", "a.toml", "a.txt",
        "Makefile",
    ];
    let sections =
        loci_mine::project::sections(Path::new(names[usize::from(*choice) % names.len()]), text);
    let mut end = 0;
    for section in &sections {
        assert_eq!(section.bytes.start, end);
        assert!(section.bytes.end > end && text.is_char_boundary(section.bytes.end));
        assert!(section.lines.0 >= 1 && section.lines.0 <= section.lines.1);
        end = section.bytes.end;
    }
    assert_eq!(end, text.len());
}
