//! Images that carry what an agent knows to the server that they are of.

use super::Place;

/// The beginnings of an image in Markdown and in HTML.
const IMAGES: [&str; 2] = ["![", "<img"];
/// The most bytes of an image that are looked at.
const IMAGE_BYTES_MAX: usize = 600;
/// The words that a place to fill in names, for it to ask for what an agent knows.
const KNOWN: [&str; 20] = [
    "answer",
    "chat",
    "context",
    "conversation",
    "credential",
    "email",
    "history",
    "inbox",
    "key",
    "memor",
    "message",
    "note",
    "password",
    "prompt",
    "question",
    "secret",
    "summar",
    "transcript",
    "user_",
    "your",
];
/// The marks at the beginning of a place to fill in, with its end.
const PLACES: [(&str, &str); 6] = [
    ("{", "}"),
    ("%7b", "%7d"),
    ("<", ">"),
    ("[", "]"),
    ("%5b", "%5d"),
    ("$", "&"),
];

/// Returns the images in whose address an agent is to put something that it knows.
pub(super) fn leaking(text: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for (begins, _) in IMAGES.iter().flat_map(|image| text.match_indices(image)) {
        let end = text.floor_char_boundary(text.len().min(begins + IMAGE_BYTES_MAX));
        let image = &text[begins..end];
        let line = image.find('\n').unwrap_or(image.len());
        if let Some(end) = leak(&image[..line]) {
            places.push(Place {
                range: begins..begins + end,
                read_as: None,
            });
        }
    }
    places
}

/// Returns the end of a place to fill in behind the question mark of an image's address.
fn leak(image: &str) -> Option<usize> {
    let address = image.find("://")?;
    let query = address + image[address..].find('?')?;
    let rest = image[query..].to_ascii_lowercase();
    PLACES.iter().find_map(|(begins, ends)| {
        let begin = rest.find(begins)?;
        let inner = begin + begins.len();
        let end = rest[inner..]
            .find(ends)
            .map_or(rest.len(), |end| inner + end);
        let asks = KNOWN.iter().any(|word| rest[inner..end].contains(word));
        asks.then_some(query + end)
    })
}
