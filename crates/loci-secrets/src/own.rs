//! The tokens that loci makes itself: bearer tokens, and the secrets of sessions and of codes of its
//! page.
//!
//! A token is `loci_`, 64 hexadecimal digits of random bits, and eight of the CRC-32 of all before
//! (ADR 73). Tokens of earlier versions lack the last eight.

use std::fmt::Write;
use std::ops::Range;

use crate::random::is_placeholder;
use crate::{SecretMatch, work};

/// The beginning of each token.
pub const PREFIX: &str = "loci_";
/// The random bytes of a token.
pub const TOKEN_BYTES: usize = 32;
/// The digits of a token without its checksum.
const BODY: usize = 2 * TOKEN_BYTES;
/// The digits of a token with its checksum.
const WHOLE: usize = BODY + 8;

/// The fewest digits of a token that was cut off: hashes of commits have fewer.
const CUT_MIN: usize = 48;

/// Returns the token of random bytes, which the caller takes from the system.
pub fn own_token(random: &[u8; TOKEN_BYTES]) -> String {
    let mut token = PREFIX.to_owned();
    for byte in random {
        let _ = write!(token, "{byte:02x}");
    }
    let checksum = crc32fast::hash(token.as_bytes());
    let _ = write!(token, "{checksum:08x}");
    token
}

/// Returns true if a text has the form of a token, with the right checksum if it has one.
pub fn is_own_token(text: &str) -> bool {
    let digits = text.strip_prefix(PREFIX).unwrap_or_default();
    digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        && (digits.len() == BODY || (digits.len() == WHOLE && has_checksum(digits)))
}

/// Returns true if a token with its checksum begins with these digits.
fn has_checksum(digits: &str) -> bool {
    let Some((body, checksum)) = digits.get(..WHOLE).map(|whole| whole.split_at(BODY)) else {
        return false;
    };
    let expected = crc32fast::hash([PREFIX, body].concat().as_bytes());
    u32::from_str_radix(checksum, 16) == Ok(expected)
}

/// Finds a token: `hit` is its beginning. A token with a checksum is found whatever is around it, also
/// on two lines; others end with their digits.
pub fn secret(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    const FIRST_MIN: usize = 8;
    const DIGITS_MAX: usize = 256;
    let bytes = text.as_bytes();
    let rest = &bytes[hit.end..bytes.len().min(hit.end + DIGITS_MAX)];
    let length = rest
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    work::read(length);
    if length < FIRST_MIN {
        return None;
    }
    let (digits, ends) = joined_digits(bytes, hit.end);
    let end = if has_checksum(&digits) {
        ends[WHOLE - 1]
    } else if is_placeholder(&digits) {
        return None;
    } else if length >= BODY {
        hit.end + length
    } else if digits.len() == BODY {
        ends[BODY - 1]
    } else if length >= CUT_MIN {
        hit.end + length
    } else {
        return None;
    };
    Some((hit.start..end, "loci-token"))
}

/// Returns the digits of at most one token from `at` on, which may go on on the next lines, and the
/// end of each.
fn joined_digits(bytes: &[u8], at: usize) -> (String, Vec<usize>) {
    const BREAKS_MAX: usize = 3;
    const INDENT_MAX: usize = 40;
    let (mut digits, mut ends) = (String::with_capacity(WHOLE), Vec::with_capacity(WHOLE));
    let (mut place, mut breaks) = (at, 0);
    while digits.len() < WHOLE {
        match bytes.get(place) {
            Some(digit) if digit.is_ascii_hexdigit() => {
                digits.push(char::from(*digit));
                place += 1;
                ends.push(place);
            }
            Some(b'\n' | b'\r' | b'\\') if breaks < BREAKS_MAX => {
                breaks += 1;
                let is_between =
                    |byte: &&u8| matches!(byte, b'\n' | b'\r' | b'\\' | b' ' | b'\t' | b'>' | b'|');
                place += bytes[place..]
                    .iter()
                    .take(INDENT_MAX)
                    .take_while(is_between)
                    .count();
            }
            _ => break,
        }
    }
    (digits, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(first: u8) -> String {
        let mut random = [0; TOKEN_BYTES];
        for (place, byte) in (0..).zip(&mut random) {
            *byte = first
                .wrapping_mul(29)
                .wrapping_add(89_u8.wrapping_mul(place))
                ^ 0x5a;
        }
        own_token(&random)
    }

    #[test]
    fn a_token_holds_its_checksum() {
        let whole = token(7);
        assert_eq!(whole.len(), PREFIX.len() + WHOLE);
        assert!(is_own_token(&whole));
        assert!(
            is_own_token(&whole[..PREFIX.len() + BODY]),
            "of an earlier version"
        );
        let last = if whole.ends_with('0') { '1' } else { '0' };
        for wrong in [
            &whole[1..],
            &whole[..whole.len() - 1],
            &format!("{}{last}", &whole[..whole.len() - 1]),
            &format!("{whole}0"),
            "loci_",
            "",
        ] {
            assert!(!is_own_token(wrong), "{wrong}");
        }
    }

    #[test]
    fn tokens_are_found_in_any_context() {
        for (number, form) in (0..).zip([
            "@",
            "x@ y",
            "token@",
            "_@_",
            "`@`",
            "**@**",
            "<@>",
            "\\n@\\n",
            "%20@%20",
            "[@]($)",
            "\u{ab}@\u{bb}",
            "?t=@&x=1",
            "/@/",
            "密码@です",
            "\"@\",",
            "9@",
            "@.",
            "@…",
            "ABC@",
            "\u{1b}[1m@\u{1b}[0m",
        ]) {
            for length in [PREFIX.len() + WHOLE, PREFIX.len() + BODY] {
                let text = form.replace('@', &token(number)[..length]);
                let redacted = crate::redact(&text).text.into_owned();
                assert_eq!(
                    redacted,
                    form.replace('@', "[redacted: loci-token]"),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn what_goes_on_after_a_checksum_stays() {
        let whole = token(3);
        for after in ["abc", "0", "deadbeef", "Z", "\n3f"] {
            let redacted = crate::redact(&format!("{whole}{after}")).text.into_owned();
            assert_eq!(redacted, format!("[redacted: loci-token]{after}"));
        }
    }

    #[test]
    fn broken_tokens_are_found() {
        let whole = token(5);
        let old = &whole[..PREFIX.len() + BODY];
        for (token, at, between) in [
            (whole.as_str(), 40, "\n"),
            (&whole, 76, "\r\n"),
            (&whole, 60, "\n    "),
            (&whole, 30, "\\\n  "),
            (old, 40, "\n> "),
        ] {
            let text = [&token[..at], between, &token[at..]].concat();
            assert_eq!(
                crate::redact(&text).text,
                "[redacted: loci-token]",
                "{text:?}"
            );
        }
        assert_eq!(crate::redact(&whole[..60]).text, "[redacted: loci-token]");
    }

    #[test]
    fn other_names_with_the_prefix_stay() {
        for text in [
            "loci_",
            "loci_memories 12",
            "loci_call_duration_seconds",
            "loci_3f9a1c7be2d045886a0f",
            &format!("loci_{}", "0".repeat(64)),
            &format!("loci_{}", "0123456789abcdef".repeat(4)),
            &format!("loci_{}.tar.gz", &token(2)[5..45]),
        ] {
            assert_eq!(crate::redact(text).text, text);
        }
    }
}
