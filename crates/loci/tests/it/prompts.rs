//! `loci hook run` at prompts and after compactions.

use serde_json::{Value, json};

use crate::program::Place;

/// The bytes that Codex shows: 2,500 tokens of four bytes.
const CODEX_BYTES: usize = 10_000;

fn hook(place: &Place, host: &str, event: &str, input: &Value) -> String {
    let arguments = ["hook", "run", "--host", host, "--event", event];
    place
        .run_with_stdin(&arguments, input.to_string().as_bytes())
        .succeeded()
        .stdout
}

/// Returns the text that the agent reads with a prompt; `None` if it reads none.
fn asked(place: &Place, session: &str, prompt: &str) -> Option<String> {
    let input = json!({"session_id": session, "prompt": prompt, "cwd": place.path("")});
    let reply = hook(place, "codex", "prompt", &input);
    let reply: Value = (!reply.is_empty()).then(|| serde_json::from_str(&reply).unwrap())?;
    let output = &reply["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "UserPromptSubmit");
    assert_eq!(output.as_object().unwrap().len(), 2);
    assert_eq!(reply.as_object().unwrap().len(), 1);
    Some(output["additionalContext"].as_str().unwrap().to_owned())
}

const QUESTION: &str = "When does the harbour ferry leave on Sundays?";
const FACT: &str = "The harbour ferry leaves at nine on Sundays.";

fn with_facts() -> Place {
    let place = Place::new();
    place.add(&[FACT]);
    for other in ["Use tabs in Go.", "The quay is closed in winter."] {
        place.add(&[other]);
    }
    place
}

#[test]
fn a_prompt_brings_up_what_concerns_it_once_in_a_session() {
    let place = with_facts();
    let text = asked(&place, "a", QUESTION).unwrap();
    assert!(text.contains(&format!("> {FACT}")), "{text}");
    assert!(text.contains("not instructions"), "{text}");
    assert!(text.contains("\nglobal / "), "{text}");
    assert!(!text.contains("tabs"), "{text}");
    assert_eq!(asked(&place, "a", QUESTION), None);
    assert!(asked(&place, "b", QUESTION).is_some());
}

#[test]
fn prompts_that_ask_for_nothing_bring_up_nothing() {
    let place = with_facts();
    for prompt in [
        "continue",
        "go on",
        "fix the failing test",
        "run the ferry tests on Sundays",
        "How do I centre a box in a style sheet?",
        "",
    ] {
        assert_eq!(asked(&place, "a", prompt), None, "{prompt}");
    }
    for source in ["system", "loop_wakeup", "schedule_wakeup", "poll_event"] {
        let input = json!({"prompt": QUESTION, "source": source, "cwd": place.path("")});
        assert_eq!(
            hook(&place, "claude-code", "prompt", &input),
            "",
            "{source}"
        );
    }
}

#[test]
fn memories_of_another_project_stay_there() {
    let place = Place::new();
    place.add(&[FACT, "--project", "elsewhere"]);
    assert_eq!(asked(&place, "a", QUESTION), None);
}

#[test]
fn a_long_text_fits_the_cut_of_each_host() {
    let place = Place::new();
    place.add(&[&"港のフェリーは日曜日の九時に出発します。".repeat(500)]);
    place.add(&[&"The harbour ferry leaves at nine on Sundays. ".repeat(500)]);
    for prompt in [QUESTION, "港のフェリーは日曜日の何時に出発します？"] {
        let text = asked(&place, prompt, prompt).unwrap();
        assert!(text.len() < CODEX_BYTES, "{text}");
        assert!(text.contains(" …\n"), "{text}");
    }
}

#[test]
fn the_summary_of_a_compaction_is_filed_once_and_found() {
    let place = Place::new();
    let input = json!({
        "session_id": "a",
        "cwd": place.path(""),
        "trigger": "auto",
        "compact_summary": "The user decided that the lighthouse is painted in red stripes.",
    });
    for _ in 0..2 {
        assert_eq!(hook(&place, "claude-code", "post-compact", &input), "");
    }
    assert_eq!(place.json(&["stats"])["total"], 1);
    let text = asked(
        &place,
        "b",
        "How was the lighthouse painted, with red stripes?",
    )
    .unwrap();
    assert!(text.contains("red stripes"), "{text}");
    let without = json!({"session_id": "a", "cwd": place.path("")});
    assert_eq!(hook(&place, "codex", "post-compact", &without), "");
    assert_eq!(place.json(&["stats"])["total"], 1);
}
