//! Finds the marks that a merge leaves in a file where two versions differ.

/// The length of a mark, of which a repository may have set a longer one.
const MARK_MIN: usize = 7;

/// Returns the line, from 1, at which the first conflict starts: a line of `<` before its two
/// sides, a line that divides them, and a line of `>` after them, as git, Mercurial, Subversion and
/// Jujutsu write them. A conflict within a block of code is an example.
pub(crate) fn conflict(text: &str) -> Option<usize> {
    if !text.contains("<<<<<<<") {
        return None;
    }
    let (mut fence, mut begun, mut is_divided) = (None, None, false);
    for (index, line) in text.lines().enumerate() {
        let indented = line.trim_start();
        if begun.is_none()
            && let Some(this) = ["```", "~~~"]
                .into_iter()
                .find(|it| indented.starts_with(it))
        {
            fence = match fence {
                None => Some(this),
                Some(open) if open == this => None,
                open => open,
            };
        } else if fence.is_none() && is_mark(line, '<') {
            (begun, is_divided) = (Some(index + 1), false);
        } else if begun.is_some() {
            is_divided |= ['=', '%', '+'].into_iter().any(|mark| is_mark(line, mark));
            if is_divided && is_mark(line, '>') {
                return begun;
            }
        }
    }
    None
}

/// True if the line has the mark, and after it nothing or the name of a side.
fn is_mark(line: &str, mark: char) -> bool {
    let rest = line.trim_start_matches(mark);
    line.len() - rest.len() >= MARK_MIN && (rest.trim_end().is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_has_both_sides_and_is_no_example() {
        let rows = [
            ("<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> branch\n", Some(1)),
            (
                "a\r\n<<<<<<< .mine\r\n=======\r\ntwo\r\n>>>>>>> .r2\r\n",
                Some(2),
            ),
            (
                "---\n<<<<<<< HEAD\ntags: [a]\n||||||| base\n=======\n>>>>>>> x\n---\n",
                Some(2),
            ),
            (
                "<<<<<<< Conflict 1 of 1\n%%%%%%% Changes\n-a\n+++++++ Contents\nb\n>>>>>>> ends",
                Some(1),
            ),
            ("<<<<<<<<<< HEAD\n==========\n>>>>>>>>>> b", Some(1)),
            ("<<<<<<< HEAD\n```\n=======\n```\n>>>>>>> b", Some(1)),
            ("Title\n=======\n\ntext <<<<<<< here\n>>>>>>> quoted", None),
            ("```\n<<<<<<< HEAD\n=======\n>>>>>>> b\n```\n", None),
            (
                "~~~diff\n<<<<<<< HEAD\n```\n=======\n>>>>>>> b\n~~~\n",
                None,
            ),
            ("<<<<<<< HEAD\n>>>>>>> b\n", None),
            (">>>>>>> b\n=======\n<<<<<<< HEAD\n", None),
            ("<<<<<<<x\n=======\n>>>>>>>y\n", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(conflict(text), expected, "{text:?}");
        }
    }
}
