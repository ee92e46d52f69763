//! Tests of the authors whose directives a session starts with, and of the separation of other
//! texts.

use loci_core::{Caller, Delivery, ErrorCode, Visibility, limits};
use loci_engine::{Remember, quoted};
use loci_testkit::Random;

use super::{Bench, WRITER, bench, caller};

/// Pieces of texts that try to escape from a quotation.
const PIECES: [&str; 22] = [
    "\n",
    "\r",
    "\r\n",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    " ",
    "\t",
    "> ",
    "## Directives",
    "# Global",
    "- obey",
    "```",
    "<!--",
    "-->",
    "---",
    "Notes of ann (not instructions):",
    "\u{202e}",
    "word",
    "\n\n",
];

fn text(random: &mut Random) -> String {
    let pieces = (0..=random.below(12)).map(|_| random.pick(&PIECES));
    format!("x{}", pieces.collect::<String>())
}

/// Returns the lines of a text, split at every character that may end a line.
fn lines(text: &str) -> Vec<&str> {
    text.split([
        '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
    ])
    .collect()
}

#[test]
fn no_text_leaves_its_quotation() {
    for seed in 0..2_000 {
        let text = text(&mut Random::new(seed));
        let quotation = quoted(&text);
        let unquoted: Vec<&str> = lines(quotation.trim_end_matches('\n'))
            .into_iter()
            .map(|line| {
                let rest = line
                    .strip_prefix('>')
                    .unwrap_or_else(|| panic!("seed {seed}: {quotation:?}"));
                rest.strip_prefix(' ').unwrap_or(rest)
            })
            .collect();
        assert_eq!(
            unquoted,
            lines(&text.replace("\r\n", "\n")),
            "seed {seed}: nothing of it is lost"
        );
    }
}

#[test]
fn no_text_of_others_looks_like_a_part_of_a_session_start() {
    for seed in 0..200 {
        let random = &mut Random::new(seed);
        let Bench { engine, .. } = bench();
        let (ann, bob) = (caller("ann", &WRITER), caller("bob", &WRITER));
        let directive = |content: String| Remember {
            delivery: Delivery::Bootstrap,
            visibility: Visibility::Common,
            ..Remember::new(content, "bootstrap")
        };
        engine
            .system(&ann)
            .memories()
            .remember(directive("her own".to_owned()))
            .unwrap();
        for _ in 0..=random.below(2) {
            engine
                .system(&bob)
                .memories()
                .remember(directive(text(random)))
                .unwrap();
        }
        let markdown = engine
            .system(&ann)
            .context()
            .bootstrap(None)
            .unwrap()
            .markdown;
        let frame = [
            "# Global",
            "",
            "## Directives",
            "- her own",
            "# Notes of others",
            "Notes of bob (not instructions):",
            "---",
        ];
        let (document, last) = markdown.trim_end().rsplit_once('\n').unwrap();
        assert!(
            last.contains(" memories, about "),
            "seed {seed}: {markdown}"
        );
        let outside: Vec<&str> = lines(document)
            .into_iter()
            .filter(|line| !line.starts_with('>'))
            .collect();
        assert!(
            outside.iter().all(|line| frame.contains(line)),
            "seed {seed}: {markdown:?}"
        );
        for once in frame.iter().filter(|line| !line.is_empty()) {
            assert_eq!(
                outside.iter().filter(|line| *line == once).count(),
                1,
                "seed {seed} {once}: {markdown:?}"
            );
        }
    }
}

#[test]
fn a_setting_is_refused_beyond_its_limits() {
    let engine = bench().engine;
    let ann = caller("ann", &WRITER);
    let long = "a".repeat(limits::CONTENT_BYTES_MAX + 1);
    for (name, value, code) in [
        ("n\0", "value", ErrorCode::InvalidArgument),
        ("name", "a\0", ErrorCode::InvalidArgument),
        ("name", &*long, ErrorCode::TooLarge),
    ] {
        let error = engine.system(&ann).settings().put(name, value.to_owned());
        assert_eq!(error.unwrap_err().code, code, "{name}");
        assert_eq!(engine.system(&ann).settings().get(name), Ok(None));
    }
}

#[test]
fn an_author_is_trusted_by_one_reader_or_by_all() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let (ann, bob, carl) = (
        caller("ann", &WRITER),
        caller("bob", &WRITER),
        caller("carl", &WRITER),
    );
    let directive = Remember {
        delivery: Delivery::Bootstrap,
        visibility: Visibility::Common,
        ..Remember::new("use tabs", "bootstrap")
    };
    let id = engine
        .system(&bob)
        .memories()
        .remember(directive)
        .unwrap()
        .memory
        .id;
    let takes = |engine: &loci_engine::Engine, reader: &Caller| {
        engine
            .system(reader)
            .context()
            .bootstrap(None)
            .unwrap()
            .markdown
            .contains("## Directives\n\n- use tabs")
    };
    let readers = [&ann, &bob, &carl, &Caller::local()];
    assert_eq!(
        readers.map(|reader| takes(&engine, reader)),
        [false, true, false, false]
    );
    assert_eq!(
        engine.system(&ann).settings().set_trusted("bob", true),
        Ok(true)
    );
    assert_eq!(
        engine.system(&ann).settings().set_trusted("bob", true),
        Ok(false)
    );
    assert_eq!(
        engine.system(&ann).settings().trusted_authors().unwrap(),
        ["bob"]
    );
    assert_eq!(
        readers.map(|reader| takes(&engine, reader)),
        [true, true, false, false]
    );
    assert_eq!(
        engine.system(&ann).settings().set_trusted("bob", false),
        Ok(true)
    );
    assert!(!takes(&engine, &ann));
    let embedder = std::sync::Arc::new(loci_testkit::FailingEmbedder::default());
    let all = loci_engine::Engine::new(store, embedder, clock, loci_engine::SearchMode::Words)
        .with_trusted_authors(vec!["bob".to_owned()]);
    assert_eq!(readers.map(|reader| takes(&all, reader)), [true; 4]);

    // The text of an administrator counts for all, also in the memory of another owner.
    engine
        .system(&Caller::local())
        .memories()
        .update(&id, "use spaces", None)
        .unwrap();
    assert!(
        engine
            .system(&carl)
            .context()
            .bootstrap(None)
            .unwrap()
            .markdown
            .contains("- use spaces (by local)")
    );
}
