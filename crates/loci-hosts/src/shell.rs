//! Quotes and splits commands for a POSIX shell.

/// Quotes a word for the shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+:@,".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns the words of one simple command, without their quotation marks and with variables
/// unexpanded. `None` for more than one command, or an unclosed quotation.
pub fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '\n' | '|' | '&' | ';' | '<' | '>' | '(' | ')' | '`' => return None,
            '\\' => word.get_or_insert_default().push(characters.next()?),
            '\'' => {
                let word = word.get_or_insert_default();
                let quotation = characters.as_str();
                word.push_str(&quotation[..quotation.find('\'')?]);
                characters.find(|character| *character == '\'');
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' => match characters.next()? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        other => word.push(other),
                    }
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_it_has_to_be() {
        for (word, expected) in [
            ("/usr/bin/loci", "/usr/bin/loci"),
            ("/a b/loci", "'/a b/loci'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
            assert_eq!(words(&quoted(word)).unwrap(), [word]);
        }
    }

    #[test]
    fn words_of_commands() {
        for (command, expected) in [
            ("", &[][..]),
            ("  loci \t hook  ", &["loci", "hook"]),
            (r#""/a b/lo"'ci' x\ y """#, &["/a b/loci", "x y", ""]),
            (r#""a \"b\" \n \$c""#, &[r#"a "b" \n $c"#]),
            (
                "$HOME/bin/loci 'a `b` | c'",
                &["$HOME/bin/loci", "a `b` | c"],
            ),
        ] {
            assert_eq!(words(command).unwrap(), expected, "{command}");
        }
        for command in [
            "a; b", "a && b", "a | b", "a > b", "$(a)", "`a`", "a\nb", "'a", "\"a", "\"a\\", "a\\",
        ] {
            assert_eq!(words(command), None, "{command}");
        }
    }
}
