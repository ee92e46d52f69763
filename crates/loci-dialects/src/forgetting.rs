//! The notice about memories with the text of one that was deleted.

use loci_engine::ForgetReport;

/// Returns a notice that says how many memories with the same text were deleted, too, and how many
/// stay; `None` if there were no others.
pub fn notice(forgetting: ForgetReport) -> Option<String> {
    let ForgetReport { copies, equal } = forgetting;
    let counted = |count: u64, one: &str, more: &str| {
        format!("{count} more {}", if count == 1 { one } else { more })
    };
    let gone = (copies > 0).then(|| {
        counted(
            copies,
            "with the same text, read from a file, was deleted, too",
            "with the same text, read from files, were deleted, too",
        )
    });
    let left = (equal > 0).then(|| {
        counted(
            equal,
            "with the same text stays, which was filed by hand or belongs to someone else",
            "with the same text stay, which were filed by hand or belong to others",
        )
    });
    let parts: Vec<String> = gone.into_iter().chain(left).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_told() {
        let told = |copies, equal| notice(ForgetReport { copies, equal }).unwrap_or_default();
        assert_eq!(told(0, 0), "");
        assert!(told(1, 0).starts_with("1 more with the same text, read from a file, was"));
        assert!(told(2, 3).contains("were deleted, too; 3 more with the same text stay"));
    }
}
