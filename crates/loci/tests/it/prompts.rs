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
    let again = format!("{QUESTION} Tell me again.");
    assert_eq!(asked(&place, "a", &again), None);
    assert!(asked(&place, "b", QUESTION).is_some());
    assert_eq!(sessions_told(&place), ["a", "b"]);
}

/// Returns the sessions to which the audit log says that a prompt brought up a memory.
fn sessions_told(place: &Place) -> Vec<String> {
    let entries = place.rows(&["audit", "--tool", "prompt", "--client", "codex"]);
    let told = |entry: &Value| {
        assert_eq!(entry["dialect"], "hook");
        assert_eq!(entry["records"][0]["verb"], "returned", "{entry}");
        assert!(entry["metadata"]["reply_tokens"].as_u64().unwrap() > 20);
        assert!(entry["metadata"]["query"].is_string());
        entry["session"].as_str().unwrap().to_owned()
    };
    entries.as_array().unwrap().iter().map(told).collect()
}

/// As a host does with a plug-in beside the hooks of `loci connect`.
#[test]
fn of_two_hooks_at_an_event_one_answers() {
    let place = with_facts();
    let answers = |event: &str, input: &Value| {
        let answer = || !hook(&place, "claude-code", event, input).is_empty();
        let at_once = std::thread::scope(|scope| {
            let hooks = [(); 2].map(|()| scope.spawn(answer));
            hooks.map(|hook| hook.join().unwrap())
        });
        at_once.into_iter().filter(|answers| *answers).count()
    };
    let started = json!({"session_id": "a", "source": "startup", "cwd": place.path(""), "transcript_path": null});
    assert_eq!(answers("session-start", &started), 1);
    let asked = json!({"session_id": "a", "prompt": QUESTION, "cwd": place.path("")});
    assert_eq!(answers("prompt", &asked), 1);
    let resumed = json!({"session_id": "a", "source": "resume", "cwd": place.path(""), "transcript_path": null});
    assert_eq!(answers("session-start", &resumed), 1);
    // One that failed leaves the answer to the other.
    let broken = place.with("LOCI_STORE", "postgres://nobody@127.0.0.1:1/none");
    let arguments = [
        "hook",
        "run",
        "--host",
        "claude-code",
        "--event",
        "session-start",
    ];
    let failed = json!({"session_id": "b", "source": "startup"}).to_string();
    let failed = broken.run_with_stdin(&arguments, failed.as_bytes());
    assert_ne!(failed.code, 0, "{failed:?}");
    let data = broken.data();
    let mended = broken.with("LOCI_STORE", data.to_str().unwrap());
    let input = json!({"session_id": "b", "source": "startup"});
    assert!(!hook(&mended, "claude-code", "session-start", &input).is_empty());
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

#[test]
fn gemini_cli_has_names_of_its_own() {
    let place = with_facts();
    let asked = format!("<hook_context>&gt; Tea at four.</hook_context>\n\n{QUESTION}");
    let input = json!({"session_id": "a", "prompt": asked, "cwd": place.path("")});
    let reply = hook(&place, "gemini-cli", "prompt", &input);
    let reply: Value = serde_json::from_str(&reply).unwrap();
    let output = &reply["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "BeforeAgent");
    let told = output["additionalContext"].as_str().unwrap();
    assert!(told.contains(FACT), "{told}");

    let transcript = place.path("session-1.jsonl");
    let message = |id: &str, kind: &str, text: &str| {
        json!({"id": id, "type": kind, "content": [{"text": text}]}).to_string()
    };
    let lines = [
        json!({"sessionId": "a", "projectHash": "b", "kind": "main"}).to_string(),
        message("1", "user", &asked),
        message("2", "gemini", "At nine."),
        json!({"$set": {"lastUpdated": "2026-11-22T15:10:20.504Z"}}).to_string(),
    ];
    std::fs::write(&transcript, lines.map(|line| line + "\n").concat()).unwrap();
    let input = json!({
        "session_id": "a",
        "cwd": place.path(""),
        "transcript_path": transcript,
        "prompt": asked,
        "prompt_response": "At nine.",
        "stop_hook_active": false,
    });
    let facts = place.json(&["stats"])["total"].as_u64().unwrap();
    assert_eq!(hook(&place, "gemini-cli", "stop", &input), "");
    assert_eq!(hook(&place, "gemini-cli", "session-end", &input), "");
    assert_eq!(place.json(&["stats"])["total"], facts + 2);
    let filed = place.run(&["export", "-"]).succeeded().stdout;
    assert!(!filed.contains("Tea at four"), "{filed}");
}

#[test]
fn cursor_takes_the_start_of_a_session_alone() {
    let place = Place::new();
    let input = json!({"conversation_id": "a", "workspace_roots": [place.path("")]});
    let reply = hook(&place, "cursor", "session-start", &input);
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply.as_object().unwrap().len(), 1);
    let told = reply["additional_context"].as_str().unwrap();
    assert!(told.contains("memory of your sessions"), "{told}");
    let refused = place.run(&["hook", "install", "--host", "zed"]);
    refused.failed(2, "claude-code, codex, cursor, gemini-cli, opencode");
}

/// As its plug-in calls them.
#[test]
fn opencode_takes_texts_alone() {
    let place = with_facts();
    for (event, input, expected) in [
        (
            "session-start",
            json!({"source": "startup"}),
            "memory of your sessions",
        ),
        ("prompt", json!({"prompt": QUESTION}), FACT),
    ] {
        let mut input = input;
        input["session_id"] = json!("ses_a");
        input["cwd"] = json!(place.path(""));
        let reply = hook(&place, "opencode", event, &input);
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(reply.as_object().unwrap().len(), 1);
        let told = reply["additional_context"].as_str().unwrap();
        assert!(told.contains(expected), "{told}");
    }
}

/// The hooks of prompts, and processes that answer them.
#[cfg(unix)]
mod sockets {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;
    use std::process::{Child, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::program::mode;

    /// A question in other words than the fact, which only its meaning finds.
    const PARAPHRASE: &str = "At what time does the boat in the port depart at the weekend?";

    /// A process that serves one host, until it is dropped.
    struct Serving(Child);

    impl Drop for Serving {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Starts a process that searches by meaning and answers hooks; the hooks of this place search
    /// only by words.
    fn serving() -> (Place, Serving) {
        let place = Place::new().with("LOCI_EMBEDDING_PROVIDER", "bundled");
        place.add(&[FACT]);
        let mut command = place.command(&["mcp", "mememory"]);
        let serving = Serving(command.stdin(Stdio::piped()).spawn().unwrap());
        until(|| (sockets(&place).len() == 1).then_some(()));
        (place.with("LOCI_SEARCH", "words"), serving)
    }

    fn sockets(place: &Place) -> Vec<PathBuf> {
        let entries = fs::read_dir(place.data().join("run"));
        let paths = entries.into_iter().flatten();
        paths.map(|entry| entry.unwrap().path()).collect()
    }

    #[track_caller]
    fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = found() {
                return found;
            }
            assert!(begin.elapsed() < Duration::from_mins(1));
            thread::yield_now();
        }
    }

    #[test]
    fn a_process_that_serves_answers_by_meaning() {
        let (place, mut serving) = serving();
        assert_eq!(mode(&place.data().join("run")), 0o700);
        // On a busy machine the hook does not wait until the model is loaded.
        let mut session = 0;
        let text = until(|| {
            session += 1;
            asked(&place, &session.to_string(), PARAPHRASE)
        });
        assert!(text.contains(FACT), "{text}");
        // It notes what it showed after its answer.
        until(|| {
            let again = format!("{PARAPHRASE} Tell me again.");
            let again = asked(&place, &session.to_string(), &again);
            again.is_none().then_some(())
        });
        drop(serving.0.stdin.take());
        serving.0.wait().unwrap();
        assert_eq!(sockets(&place), [""; 0].map(PathBuf::from));
        assert!(sessions_told(&place).contains(&session.to_string()));
        assert_eq!(asked(&place, "b", PARAPHRASE), None);
        assert!(asked(&place, "b", QUESTION).is_some());
    }

    #[test]
    fn the_socket_of_a_killed_process_is_removed() {
        let (place, mut serving) = serving();
        serving.0.kill().unwrap();
        serving.0.wait().unwrap();
        assert_eq!(sockets(&place).len(), 1);
        assert!(asked(&place, "a", QUESTION).is_some());
        assert_eq!(sockets(&place).len(), 0);
    }

    #[test]
    fn a_process_with_another_store_refuses() {
        let (place, _serving) = serving();
        let other = place.path("other");
        let place = place.with("LOCI_STORE", other.to_str().unwrap());
        assert_eq!(asked(&place, "a", QUESTION), None);
        place.add(&[FACT]);
        assert!(asked(&place, "b", QUESTION).is_some());
    }

    #[test]
    fn a_question_in_another_form_is_refused() {
        let (place, _serving) = serving();
        for question in ["", "{", "[]", r#"{"form": 1}"#, &"x".repeat(100_000)] {
            let mut stream = UnixStream::connect(&sockets(&place)[0]).unwrap();
            // More than it reads may be cut off.
            let _ = stream.write_all(question.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut answer = String::new();
            let read = stream.read_to_string(&mut answer);
            assert!(read.is_err() || answer.contains("Refused"), "{answer}");
        }
        assert!(asked(&place, "a", QUESTION).is_some());
    }

    /// A socket of a process that is stopped, whose queue is full.
    fn full_socket(place: &Place, runtime: &tokio::runtime::Runtime) -> impl Sized {
        use tokio::net::{UnixSocket, UnixStream};
        let path = place.data().join("run/serve-2.socket");
        let _guard = runtime.enter();
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(&path).unwrap();
        let listener = socket.listen(1).unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = runtime.block_on(UnixStream::connect(&path)) {
            waiting.push(stream);
        }
        (listener, waiting)
    }

    /// The hook gives up on it in time, and others start and answer.
    #[test]
    fn a_process_that_is_stopped_keeps_nobody() {
        use rustix::process::{Pid, Signal, kill_process};
        let (place, serving) = serving();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _full = full_socket(&place, &runtime);
        let before = sockets(&place).len();
        kill_process(Pid::from_child(&serving.0), Signal::STOP).unwrap();
        assert!(asked(&place, "a", QUESTION).is_some());
        let mut command = place.command(&["mcp", "mememory"]);
        let mut beside = Serving(command.stdin(Stdio::piped()).spawn().unwrap());
        until(|| (sockets(&place).len() == before + 1).then_some(()));
        drop(beside.0.stdin.take());
        assert!(beside.0.wait().unwrap().success());
        assert_eq!(sockets(&place).len(), before);
        let server = crate::servers::Server::start(&place, &[]);
        assert_eq!(
            server.call(None, "recall", &json!({"query": "ferry"})).0,
            401
        );
    }

    /// The hook does not wait for one that hangs, nor believe one that answers nonsense.
    #[test]
    fn a_process_that_does_not_answer_is_passed_over() {
        let place = with_facts();
        fs::create_dir(place.data().join("run")).unwrap();
        let silent = UnixListener::bind(place.data().join("run/serve-1.socket")).unwrap();
        assert!(asked(&place, "a", QUESTION).is_some());
        thread::scope(|scope| {
            scope.spawn(|| {
                // The first connection is the one that was not answered.
                let streams = [silent.accept(), silent.accept()];
                let [_, Ok((mut stream, _))] = streams else {
                    panic!("no connection");
                };
                let _ = stream.read_to_string(&mut String::new());
                let _ = stream.write_all(b"{\"Surfaced\": 3}");
            });
            assert!(asked(&place, "b", QUESTION).is_some());
        });
    }
}
