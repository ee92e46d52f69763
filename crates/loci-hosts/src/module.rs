//! The module by which a host calls the hooks of loci, where it has no settings for them. Only loci
//! writes the file, and its first line says so.

use serde_json::Value;

/// The beginning of the line with the words of the command, a list in JSON.
const COMMAND: &str = "const command = ";

/// Returns the module with those words, in the place of an older one.
///
/// # Errors
/// The text is of another.
pub fn put(text: &str, source: &str, words: &[String]) -> Result<String, String> {
    let words = Value::from(words);
    let line = format!("{COMMAND}{words};\n");
    let lines = source.split_inclusive('\n');
    let new: String = lines
        .map(|old| if old.starts_with(COMMAND) { &line } else { old })
        .collect();
    if text.trim().is_empty() || is_own(text, source) {
        Ok(new)
    } else {
        Err("another program wrote it".to_owned())
    }
}

/// Returns true if loci wrote the module, in any version.
pub fn is_own(text: &str, source: &str) -> bool {
    text.lines().next() == source.lines().next()
}

/// Returns the module of another text in the place of an empty one.
///
/// # Errors
/// The text is not empty.
pub fn replaced(text: &str, from: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Ok(from.to_owned())
    } else {
        Err("it is not empty".to_owned())
    }
}

/// Returns the words of the command in a module, if there are any.
pub fn words(text: &str) -> Option<Vec<String>> {
    let line = text.lines().find_map(|line| line.strip_prefix(COMMAND))?;
    serde_json::from_str(line.strip_suffix(';')?).ok()
}
