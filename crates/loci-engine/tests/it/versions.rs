//! Tests of the former versions of memories.

use std::collections::BTreeMap;

use loci_core::Version;
use loci_engine::{RedactionScope, Refile};

use super::reconciling::vault;
use super::redacting::{SECRET, bench_of};
use super::*;

fn texts(versions: &[Version]) -> Vec<&str> {
    let with_text = versions.iter().filter_map(|it| it.content.as_deref());
    with_text.collect()
}

#[test]
fn a_new_text_keeps_the_former_one() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let written = fact("ann keeps bees", Visibility::Common);
    let before = engine
        .system(&ann)
        .memories()
        .remember(written)
        .unwrap()
        .memory;
    let versions = || engine.system(&ann).memories().versions(&before.id).unwrap();
    let refile = |change: Refile| {
        engine
            .system(&bob)
            .memories()
            .refile(&before.id, change)
            .unwrap()
    };
    refile(Refile {
        section: Some("places".to_owned()),
        ..Refile::default()
    });
    engine
        .system(&bob)
        .memories()
        .update(&before.id, "ann keeps bees", None)
        .unwrap();
    assert_eq!(texts(&versions()), ["ann keeps bees"], "the place changed");
    let update = |text| {
        engine
            .system(&bob)
            .memories()
            .update(&before.id, text, None)
            .unwrap()
    };
    let (second, _) = update("ann keeps two hives");
    refile(Refile {
        content: Some("ann keeps three hives".to_owned()),
        ..Refile::default()
    });
    let kept = versions();
    let bees = "ann keeps bees";
    assert_eq!(texts(&kept), ["ann keeps two hives", bees, bees]);
    assert_eq!(kept[0].revision, second.revision);
    assert_eq!(kept[0].updated_by.as_deref(), Some("bob"));
    assert_eq!(kept[1].location.section, "places");
    assert_eq!(
        found(&engine, &ann, "two"),
        std::slice::from_ref(&before.id)
    );
    engine.system(&ann).memories().forget(&before.id).unwrap();
    let gone = engine
        .system(&ann)
        .memories()
        .versions(&before.id)
        .unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
}

#[test]
fn versions_are_read_under_the_rule_of_their_memory() {
    let engine = engine();
    let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
    let written = fact("ann keeps bees", Visibility::Private);
    let id = engine
        .system(&ann)
        .memories()
        .remember(written)
        .unwrap()
        .memory
        .id;
    engine
        .system(&ann)
        .memories()
        .update(&id, "ann keeps wasps", None)
        .unwrap();
    assert_eq!(
        engine.system(&ann).memories().versions(&id).unwrap().len(),
        1
    );
    let refused = engine.system(&bob).memories().versions(&id).unwrap_err();
    let shown = engine.system(&bob).memories().show(&id).unwrap_err();
    assert_eq!(refused, shown);
}

#[test]
fn what_a_person_changes_in_a_note_is_kept() {
    let vault = vault();
    vault.folder.write("tea.md", "# Tea\n\nAt four.\n");
    vault.reconcile();
    let id = vault.id("tea.md");
    vault.folder.replace("tea.md", "four", "five");
    vault.reconcile();
    let local = Caller::local();
    let kept = vault
        .engine
        .system(&local)
        .memories()
        .versions(&id)
        .unwrap();
    let [version] = &kept[..] else {
        panic!("{kept:?}")
    };
    let text = |version: &Version| version.content.clone().unwrap_or_default();
    assert!(text(version).contains("At four."), "{version:?}");
    vault
        .engine
        .system(&local)
        .memories()
        .update(&id, "At six.", None)
        .unwrap();
    let kept = vault
        .engine
        .system(&local)
        .memories()
        .versions(&id)
        .unwrap();
    assert_eq!(kept.len(), 2);
    assert!(text(&kept[0]).contains("At five."), "{kept:?}");
}

#[test]
fn secrets_leave_no_former_version() {
    let Bench { engine, .. } = bench_of(RedactionScope::Nothing);
    let local = Caller::local();
    let remember = |text: &str| {
        let written = Remember::new(text, "fact");
        engine
            .system(&local)
            .memories()
            .remember(written)
            .unwrap()
            .memory
            .id
    };
    let update = |id: &MemoryId, text: &str| {
        engine
            .system(&local)
            .memories()
            .update(id, text, None)
            .unwrap();
    };
    // One has its secret only in a former text, the other only in its text.
    let (former, current) = (
        remember(&format!("the {SECRET} of tea")),
        remember("coffee at noon"),
    );
    update(&former, "milk");
    update(&current, &format!("the {SECRET} of coffee"));
    let found = engine.system(&local).secrets().find_secrets().unwrap();
    let named: BTreeMap<&str, &str> = found
        .iter()
        .map(|stored| (stored.id.as_str(), stored.holder.name()))
        .collect();
    let expected = [
        (former.as_str(), "former text"),
        (current.as_str(), "memory"),
    ];
    assert_eq!(named, BTreeMap::from(expected));
    for stored in &found {
        for is_done in [true, false] {
            let redacted = engine.system(&local).secrets().redact_stored(stored);
            assert_eq!(redacted, Ok(is_done), "{stored:?}");
        }
    }
    for id in [&former, &current] {
        assert_eq!(engine.system(&local).memories().versions(id).unwrap(), []);
    }
    assert_eq!(engine.system(&local).secrets().find_secrets().unwrap(), []);
}
