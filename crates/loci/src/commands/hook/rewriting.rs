//! Detects what JSON text loses when it is parsed and written again.

/// Returns what a value that was read from `text` has lost when written as `rewritten`, for the
/// owner of the file; `None` if both mean the same. Both have to be JSON.
pub fn loss(text: &str, rewritten: &str) -> Option<String> {
    let (before, after) = (tokens(text), tokens(rewritten));
    if before.len() != after.len() {
        return Some(
            "an object in it has a key twice, and one of the two would be lost".to_owned(),
        );
    }
    let changed = before
        .iter()
        .zip(&after)
        .find(|(before, after)| before.meaning != after.meaning);
    changed.map(|(before, _)| {
        let line = 1 + text[..before.start].matches('\n').count();
        format!("what is in its line {line} would become something else, as a number with very many digits does")
    })
}

/// A string, a number, a word or a punctuation mark.
struct Token {
    /// The byte offset in the text at which it begins.
    start: usize,
    /// A normal form, equal for all tokens of the same meaning.
    meaning: String,
}

fn tokens(json: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = json[start..].chars().next() {
        let rest = &json[start..];
        let length = match first {
            '"' => string_bytes(rest),
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            _ if first.is_whitespace() => first.len_utf8(),
            _ => rest
                .find([' ', '\t', '\r', '\n', ',', ']', '}'])
                .unwrap_or(rest.len()),
        };
        let token = &rest[..length];
        let meaning = match first {
            '"' => serde_json::from_str(token)
                .map_or_else(|_| token.to_owned(), |text: String| format!("\"{text}")),
            '-' | '0'..='9' => number(token),
            _ => token.to_owned(),
        };
        if !first.is_whitespace() {
            tokens.push(Token { start, meaning });
        }
        start += length;
    }
    tokens
}

/// Returns the length of the string that a text begins with, in bytes.
fn string_bytes(text: &str) -> usize {
    let mut is_escaped = true;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 1)
}

/// Returns the normal form of a number: the digits without zeros around them, and the power of ten
/// that multiplies them.
fn number(token: &str) -> String {
    let (sign, unsigned) = token
        .strip_prefix('-')
        .map_or(("", token), |unsigned| ("-", unsigned));
    let (decimal, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    let Ok(exponent) = exponent.parse::<i64>() else {
        return token.to_owned();
    };
    let zeros = digits.len() - significant.len();
    // Zero has the same value with every power.
    let power = if significant.is_empty() {
        0
    } else {
        exponent
            .saturating_add(zeros as i64)
            .saturating_sub(fraction.len() as i64)
    };
    format!("{sign}{}e{power}", significant.trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn lost(text: &str) -> Option<String> {
        let value: Value = serde_json::from_str(text).unwrap();
        loss(text, &format!("{value:#}"))
    }

    #[test]
    fn what_says_the_same_has_lost_nothing() {
        for text in [
            "{}",
            "[1, -2, 3.50, 1e3, 1.5E+2, -0, 0.0, 100, 0.001, 18446744073709551615]",
            r#"{"a\"b": "\u00e9\/\n", "é": ["x", true, false, null, {"a": {}}]}"#,
            "\n\t{ \"a\\\\\" :\r\n[ ] }\n",
        ] {
            assert_eq!(lost(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_lost_is_told() {
        for (text, said) in [
            ("{\n\"a\": 12345678901234567890123}", "line 2"),
            ("[0.12345678901234567890123]", "line 1"),
            (r#"{"a": 1, "a": 1}"#, "twice"),
            (r#"{"a": {"b": 1, "\u0062": 2}}"#, "twice"),
        ] {
            assert!(lost(text).unwrap().contains(said), "{text}");
        }
    }
}
