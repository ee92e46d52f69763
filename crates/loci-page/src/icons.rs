//! The pictures beside words, each one path of lines in a square of 24.

const ICONS: [(&str, &str); 24] = [
    ("home", "M3 11 12 4l9 7M6 9v11h12V9M10 20v-6h4v6"),
    (
        "search",
        "M4 10.5a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0M15.5 15.5 21 21",
    ),
    ("browse", "M3 6h7l2 2h9v11H3z"),
    ("facts", "M4 6h10M4 12h16M9 18h11"),
    ("review", "M4 4h16v16H4zM8 12l3 3 5-6"),
    ("activity", "M3 13h4l3-8 4 14 3-6h4"),
    ("settings", "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4"),
    ("more", "M5 12h.01M12 12h.01M19 12h.01"),
    (
        "person",
        "M8 8a4 4 0 1 0 8 0a4 4 0 1 0-8 0M4 21c1-5 15-5 16 0",
    ),
    ("fact", "M5 4h14v16H5zM8 9h8M8 13h8M8 17h4"),
    ("rule", "M6 3v18M6 4h12l-3 4 3 4H6"),
    (
        "decision",
        "M12 3v7M12 10 5 17M12 10l7 7M5 14v3h3M19 14v3h-3",
    ),
    ("note", "M5 3h10l4 4v14H5zM14 3v5h5"),
    ("conversation", "M4 5h16v11H10l-5 4v-4H4z"),
    (
        "person-fact",
        "M9 7a3 3 0 1 0 6 0a3 3 0 1 0-6 0M5 20c1-6 13-6 14 0",
    ),
    ("code", "M8 7 3 12l5 5M16 7l5 5-5 5"),
    ("time", "M4 12a8 8 0 1 0 16 0a8 8 0 1 0-16 0M12 7v5l4 2"),
    ("backup", "M4 7h16v4H4zM6 11v9h12v-9M10 15h4"),
    ("app", "M4 5h16v11H4zM9 20h6M12 16v4"),
    ("check", "M4 12.5 10 18 20 6"),
    ("open", "M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18"),
    ("warning", "M12 4 3 20h18zM12 10v5M12 17.5v.01"),
    (
        "problem",
        "M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18M9 9l6 6M15 9l-6 6",
    ),
    ("copy", "M8 8h11v12H8zM5 16V4h11"),
];

/// Returns the lines of a picture, or a sheet of paper for a name that is not here.
pub(crate) fn icon(name: &str) -> &'static str {
    let found = ICONS.iter().find(|(icon, _)| *icon == name);
    found.map_or("M5 4h14v16H5zM8 9h8M8 13h8M8 17h4", |(_, lines)| lines)
}
