//! Samples of each form against the expected result (`LOCI_BLESS=1` writes that again), and what
//! holds of all.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use loci_core::Timestamp;
use loci_mine::conversation::{self, Conversation, Format, Mark, TranscriptReading, Utterance};
use proptest::prelude::*;

/// The samples, each beside a file with the expected result.
const SAMPLES: [&str; 26] = [
    "chatgpt-broken.json",
    "chatgpt.json",
    "claude-ai-broken.json",
    "claude-ai.json",
    "claude-code-broken.jsonl",
    "claude-code.jsonl",
    "cline.json",
    "codex-broken.jsonl",
    "codex-older.jsonl",
    "codex.jsonl",
    "cursor.jsonl",
    "gemini-logs.json",
    "gemini-resumed.jsonl",
    "gemini-session.json",
    "gemini-session.jsonl",
    "kimi-cli.jsonl",
    "kimi-code.jsonl",
    "kimi.jsonl",
    "pi.jsonl",
    "plain-markdown.md",
    "plain-names.txt",
    "plain-roles.txt",
    "plain-terminal.txt",
    "slack/tea-room/2024-03-01.json",
    "vscode.json",
    "vscode.jsonl",
];
const GROWING: [&str; 10] = [
    "claude-code-broken.jsonl",
    "claude-code.jsonl",
    "codex-broken.jsonl",
    "codex-older.jsonl",
    "codex.jsonl",
    "cursor.jsonl",
    "kimi-cli.jsonl",
    "kimi-code.jsonl",
    "kimi.jsonl",
    "pi.jsonl",
];

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conversations")
}

fn sample(name: &str) -> Vec<u8> {
    fs::read(samples().join(name)).unwrap()
}

fn read(path: &Path, mark: Option<Mark>, bytes_max: u64) -> Option<TranscriptReading> {
    conversation::read(path, mark, bytes_max).unwrap()
}

fn whole(path: &Path) -> TranscriptReading {
    read(path, None, u64::MAX).unwrap()
}

/// A file in a folder of its own.
struct Scratch {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scratch {
    fn new(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let room = folder.path().join("room");
        fs::create_dir(&room).unwrap();
        let path = room.join("transcript");
        fs::write(&path, bytes).unwrap();
        Scratch {
            path,
            _folder: folder,
        }
    }

    fn append(&self, bytes: &[u8]) {
        OpenOptions::new()
            .append(true)
            .open(&self.path)
            .unwrap()
            .write_all(bytes)
            .unwrap();
    }
}

fn reading_of(bytes: &[u8]) -> Option<TranscriptReading> {
    read(&Scratch::new(bytes).path, None, u64::MAX)
}

fn texts(reading: &TranscriptReading) -> Vec<&str> {
    let messages = reading
        .transcript
        .conversations
        .iter()
        .flat_map(|conversation| &conversation.messages);
    messages.map(|said| said.text.as_str()).collect()
}

fn shown(reading: &TranscriptReading) -> String {
    let transcript = &reading.transcript;
    let mut out = format!(
        "{}, broken {}\n",
        transcript.format.name(),
        transcript.broken
    );
    for Conversation {
        id,
        title,
        folder,
        messages,
    } in &transcript.conversations
    {
        writeln!(out, "\nid {id:?}, title {title:?}, folder {folder:?}").unwrap();
        for Utterance { speaker, at, text } in messages {
            let at = at.map(|at| {
                jiff::Timestamp::from_microsecond(at.microseconds())
                    .unwrap()
                    .to_string()
            });
            writeln!(
                out,
                "{speaker} ({}): {text:?}",
                at.unwrap_or_else(|| "-".to_owned())
            )
            .unwrap();
        }
    }
    out
}

#[test]
fn samples_are_read_as_expected() {
    for name in SAMPLES {
        let shown = shown(&whole(&samples().join(name)));
        let expected = samples().join(format!("{name}.expected"));
        if std::env::var_os("LOCI_BLESS").is_some() {
            fs::write(&expected, &shown).unwrap();
        }
        assert_eq!(shown, fs::read_to_string(expected).unwrap(), "{name}");
    }
}

#[test]
fn what_is_no_transcript_is_none() {
    for entry in fs::read_dir(samples().join("none")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(read(&path, None, u64::MAX), None, "{}", path.display());
    }
    assert_eq!(read(&samples(), None, u64::MAX), None, "a folder");
    assert_eq!(
        reading_of(b"User: one\nAssistant: two\n\0"),
        None,
        "bytes of a program"
    );
    assert!(conversation::read(&samples().join("missing"), None, 1).is_err());
}

#[test]
fn the_form_is_in_the_file_not_in_its_name() {
    for name in SAMPLES {
        let (named, scratch) = (whole(&samples().join(name)), Scratch::new(&sample(name)));
        assert_eq!(
            whole(&scratch.path).transcript.format,
            named.transcript.format,
            "{name}"
        );
        assert_eq!(
            Format::from_name(named.transcript.format.name()),
            Some(named.transcript.format)
        );
    }
}

/// A mark of Unicode at the beginning and the line ends of Windows change nothing but the texts of
/// plain files.
#[test]
fn marks_and_line_ends_of_other_systems_are_read() {
    for name in SAMPLES
        .into_iter()
        .filter(|name| !name.starts_with("plain"))
    {
        let bytes = sample(name);
        let mut foreign = b"\xef\xbb\xbf".to_vec();
        for byte in &bytes {
            foreign.extend(if *byte == b'\n' {
                &b"\r\n"[..]
            } else {
                std::slice::from_ref(byte)
            });
        }
        let (plain, foreign) = (reading_of(&bytes).unwrap(), reading_of(&foreign).unwrap());
        assert_eq!(shown(&plain), shown(&foreign), "{name}");
    }
    let reading =
        reading_of(b"\xef\xbb\xbfUser: one\r\n\r\n  two\r\n\r\nAssistant: three\r\n").unwrap();
    assert_eq!(texts(&reading), ["one\r\n\r\n  two", "three"]);
}

#[test]
fn bytes_that_are_no_text_spoil_nothing_around_them() {
    let line = |text: &str| {
        format!(r#"{{"type":"user","message":{{"content":"{text}"}},"sessionId":"s"}}"#)
    };
    let mut bytes = line("one").into_bytes();
    bytes.extend(
        b"\n{\"type\":\"user\",\"message\":{\"content\":\"cut \xf0\x9f\"},\"sessionId\":\"s\"}\n",
    );
    bytes.extend(line("two").into_bytes());
    let reading = reading_of(&bytes).unwrap();
    assert_eq!(
        (texts(&reading), reading.transcript.repairs),
        (vec!["one", "cut \u{fffd}", "two"], 1)
    );

    let reading = reading_of(b"User: one\ncut \xf0\x9f\nAssistant: two\n").unwrap();
    assert_eq!(
        (texts(&reading), reading.transcript.repairs),
        (vec!["one\ncut \u{fffd}", "two"], 1)
    );

    let array = b"[{\"chat_messages\":[{\"sender\":\"human\",\"text\":\"\xff\"}]},{\"chat_messages\":[{\"sender\":\"human\",\"text\":\"kept\"}]}]";
    let reading = reading_of(array).unwrap();
    assert_eq!(
        (texts(&reading), reading.transcript.repairs),
        (vec!["\u{fffd}", "kept"], 1)
    );
}

#[test]
fn deep_nesting_spoils_its_element_alone() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let kept = r#"{"chat_messages":[{"sender":"human","text":"kept"}]}"#;
    let reading = reading_of(format!("[{deep},{kept},{deep}]").as_bytes()).unwrap();
    assert_eq!(
        (texts(&reading), reading.transcript.broken),
        (vec!["kept"], 2)
    );

    let line = r#"{"type":"user","message":{"content":"kept"},"sessionId":"s"}"#;
    let reading = reading_of(format!("{line}\n{{\"a\":{deep}}}\n{line}\n").as_bytes()).unwrap();
    assert_eq!(
        (texts(&reading), reading.transcript.broken),
        (vec!["kept"; 2], 1)
    );
}

/// A long chain of messages, and a node with many children, cost their length and no stack.
#[test]
fn long_and_wide_trees_are_read() {
    let node = |id: usize, parent: usize| {
        format!(
            r#""{id}":{{"parent":"{parent}","message":{{"author":{{"role":"user"}},"content":{{"content_type":"text","parts":["{id}"]}}}}}}"#
        )
    };
    let export = |parent: fn(usize) -> usize| {
        let nodes: Vec<String> = (1..20_000).map(|id| node(id, parent(id))).collect();
        format!(
            r#"[{{"id":"c","current_node":"19999","mapping":{{"0":{{"message":null}},{}}}}}]"#,
            nodes.join(",")
        )
    };
    let chain = reading_of(export(|id| id - 1).as_bytes()).unwrap();
    assert_eq!(chain.transcript.conversations.len(), 1);
    assert_eq!(texts(&chain).len(), 19_999);
    let fan = reading_of(export(|_| 0).as_bytes()).unwrap();
    assert_eq!(fan.transcript.conversations.len(), 19_999);
    assert_eq!(fan.transcript.conversations[1].id, "c/2");
}

/// Whatever is said further, and wherever the tree branches again, no message changes its
/// conversation or its place.
#[test]
fn a_tree_that_grows_keeps_its_branches() {
    // Each message's parent: an answer, another answer that is shown from then on, a question after
    // the first one.
    let parents = [
        ("q", "root"),
        ("a", "q"),
        ("a2", "q"),
        ("q2", "a"),
        ("q3", "a2"),
        ("a3", "q2"),
        ("b", "root"),
    ];
    let mut before: Vec<(String, Vec<String>)> = Vec::new();
    for count in 1..=parents.len() {
        let nodes = &parents[..count];
        let children = |id: &str| -> Vec<&str> {
            nodes
                .iter()
                .filter(|(_, parent)| *parent == id)
                .map(|(id, _)| *id)
                .collect()
        };
        let node = |id: &str, parent: &str| {
            let message = format!(
                r#"{{"author":{{"role":"user"}},"content":{{"content_type":"text","parts":["{id}"]}}}}"#
            );
            format!(
                r#""{id}":{{"parent":"{parent}","children":{:?},"message":{message}}}"#,
                children(id)
            )
        };
        // The file has them in any order.
        let mut written: Vec<String> = nodes.iter().map(|(id, parent)| node(id, parent)).collect();
        if count % 2 == 0 {
            written.reverse();
        }
        written.push(format!(
            r#""root":{{"children":{:?},"message":null}}"#,
            children("root")
        ));
        let current = nodes[count - 1].0;
        let text = format!(
            r#"[{{"id":"c","current_node":"{current}","mapping":{{{}}}}}]"#,
            written.join(",")
        );
        let reading = reading_of(text.as_bytes()).unwrap();
        assert_eq!(reading.transcript.broken, 0);
        let conversations = reading.transcript.conversations.into_iter();
        let now: Vec<(String, Vec<String>)> = conversations
            .map(|found| {
                (
                    found.id,
                    found.messages.into_iter().map(|said| said.text).collect(),
                )
            })
            .collect();
        for (id, messages) in &before {
            let (_, more) = now.iter().find(|(other, _)| other == id).unwrap();
            assert!(
                more.starts_with(messages),
                "{id}: {messages:?}, then {more:?}"
            );
        }
        assert_eq!(
            now.iter()
                .map(|(_, messages)| messages.len())
                .sum::<usize>(),
            count
        );
        before = now;
    }
}

#[test]
fn the_first_folder_of_a_transcript_is_read_alone() {
    let event = |folder: &str| {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":\"x\"}},\"sessionId\":\"s\",\"cwd\":\"{folder}\"}}\n"
        )
    };
    let late = format!(
        "{}{}",
        event("").repeat((1 << 20) / event("").len() + 1),
        event("/late")
    );
    for (bytes, expected) in [
        (
            event("").repeat(100) + &event("/one") + &event("/two") + "no event",
            Some("/one"),
        ),
        (event("/one").trim_end().to_owned(), Some("/one")),
        (event(""), None),
        (late, None),
        ("User: one\nAssistant: two\n".to_owned(), None),
    ] {
        assert_eq!(
            conversation::folder(&Scratch::new(bytes.as_bytes()).path)
                .unwrap()
                .as_deref(),
            expected
        );
    }
    for name in SAMPLES {
        let named = whole(&samples().join(name))
            .transcript
            .conversations
            .into_iter()
            .find_map(|found| found.folder);
        let is_lines = Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "jsonl");
        let found = conversation::folder(&samples().join(name)).unwrap();
        assert_eq!(found, named.filter(|_| is_lines), "{name}");
    }
    assert_eq!(conversation::folder(&samples()).unwrap(), None);
}

/// Gemini CLI names it beside the sessions of a project.
#[test]
fn the_folders_of_other_programs_are_told_by_what_is_beside_their_sessions() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    };
    let folder_of = |path: &Path| conversation::folder(path).unwrap();
    let shop = home.join("src/my_shop");
    fs::create_dir_all(&shop).unwrap();
    let shop = shop.to_str().unwrap().to_owned();

    let named = shop.trim_start_matches('/').replace(['/', '.'], "-");
    let session = |name: &str| format!("projects/{name}/agent-transcripts/0a/0a.jsonl");
    let cursor = sample("cursor.jsonl");
    let told = folder_of(&put(&session(&named), &cursor));
    assert_eq!(told, cfg!(unix).then(|| shop.clone()));
    assert_eq!(folder_of(&put(&session("empty-window"), &cursor)), None);
    let helper = put(
        "projects/a/agent-transcripts/0a/subagents/0b.jsonl",
        &cursor,
    );
    let helper = whole(&helper).transcript;
    assert!(
        helper
            .conversations
            .iter()
            .all(|found| found.messages.is_empty())
    );
    assert_eq!(helper.left_out["helper"], 6);

    let sent = format!(
        r#"[{{"role":"user","content":[{{"type":"text","text":"x\n# Current Working Directory ({shop}) Files\na"}}]}}]"#
    );
    let task = put("tasks/1/ui_messages.json", &sample("cline.json"));
    assert_eq!(folder_of(&task), None);
    let sent = put("tasks/1/api_conversation_history.json", sent.as_bytes());
    assert_eq!(folder_of(&task), Some(shop.clone()));
    assert_eq!(
        read(&sent, None, u64::MAX),
        None,
        "it has all that the program added"
    );

    let chat = put("storage/1/chatSessions/a.json", &sample("vscode.json"));
    assert_eq!(folder_of(&chat), None);
    put(
        "storage/1/workspace.json",
        br#"{"folder": "file:///src/my%20shop"}"#,
    );
    assert_eq!(folder_of(&chat).as_deref(), Some("/src/my shop"));
    put(
        "storage/1/workspace.json",
        br#"{"folder": "file:///c%3A/src"}"#,
    );
    assert_eq!(folder_of(&chat).as_deref(), Some("c:/src"));
    put("storage/1/workspace.json", b"{");
    assert_eq!(folder_of(&chat), None);
}

#[test]
fn the_folder_of_a_project_is_noted_beside_its_sessions() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("tmp/tides-1");
    let session = project.join("chats/session-1.jsonl");
    fs::create_dir_all(session.parent().unwrap()).unwrap();
    fs::write(&session, sample("gemini-resumed.jsonl")).unwrap();
    let folder = || conversation::folder(&session).unwrap();
    assert_eq!(folder(), None);
    let projects = r#"{"projects": {"/srv/tides": "tides", "/srv/other/tides": "tides-1"}}"#;
    fs::write(home.path().join("projects.json"), projects).unwrap();
    assert_eq!(folder().as_deref(), Some("/srv/other/tides"));
    fs::write(project.join(".project_root"), "/srv/noted/tides\n").unwrap();
    assert_eq!(folder().as_deref(), Some("/srv/noted/tides"));
    // A document of a session is read by the same rule, a file elsewhere is not.
    let (document, elsewhere) = (
        project.join("chats/session-2.json"),
        project.join("session-3.jsonl"),
    );
    fs::write(&document, sample("gemini-session.json")).unwrap();
    fs::write(&elsewhere, sample("gemini-resumed.jsonl")).unwrap();
    assert_eq!(
        conversation::folder(&document).unwrap().as_deref(),
        Some("/srv/noted/tides")
    );
    assert_eq!(conversation::folder(&elsewhere).unwrap(), None);
}

#[test]
fn the_last_answer_is_found_from_the_end() {
    let last_from =
        |bytes: &[u8], from| conversation::last_answer(&Scratch::new(bytes).path, from).unwrap();
    let last = |bytes: &[u8]| last_from(bytes, 0);
    let event = |kind: &str, text: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"message\":{{\"content\":\"{text}\"}},\"sessionId\":\"s\"}}\n"
        )
    };
    let (asked, answered) = (event("user", "one"), event("assistant", "two"));
    let further = "{\"type\":\"mode\",\"sessionId\":\"s\"}\n";
    for (text, expected) in [
        (asked.clone(), None),
        (asked.clone() + &answered, Some("two")),
        (asked.clone() + &answered + further, Some("two")),
        // The answer before may be the same as the one that is to come.
        (asked.clone() + &answered + &event("user", "three"), None),
        // It is still being written.
        (
            asked.clone() + &answered + event("assistant", "four").trim_end_matches(['}', '\n']),
            Some("two"),
        ),
        (
            answered.clone() + &further.repeat((1 << 20) / further.len() + 1),
            None,
        ),
        ("User: one\nAssistant: two\n".to_owned(), None),
    ] {
        assert_eq!(last(text.as_bytes()).as_deref(), expected);
    }
    let both = asked.clone() + &answered;
    for (from, expected) in [
        (asked.len(), Some("two")),
        (both.len(), None),
        (both.len() + 9, None),
    ] {
        assert_eq!(
            last_from(both.as_bytes(), from as u64).as_deref(),
            expected,
            "from {from}"
        );
    }
    assert_eq!(last(&sample("codex.jsonl")), None, "a person spoke last");
    assert_eq!(
        last(&sample("codex-older.jsonl")).as_deref(),
        Some("`a` and `b`.")
    );
    // Lines about the session follow the message.
    let session = sample("gemini-resumed.jsonl");
    assert_eq!(last(&session), None, "a person spoke last");
    let more = "{\"id\":\"a2\",\"type\":\"gemini\",\"content\":\"At three.\"}\n{\"$set\":{\"lastUpdated\":\"now\"}}\n";
    let answered = [session.as_slice(), more.as_bytes()].concat();
    assert_eq!(last(&answered).as_deref(), Some("At three."));
    assert_eq!(last_from(&answered, answered.len() as u64), None);
    assert!(conversation::last_answer(&samples().join("missing"), 0).is_err());
}

#[test]
fn what_hooks_said_to_gemini_cli_is_not_said_by_a_person() {
    let told = "<hook_context>&gt; Low water is at three.</hook_context>";
    let asked = format!("{told}\n\nWhen is high water?");
    assert_eq!(conversation::prompt(&asked), Some("When is high water?"));
    assert_eq!(conversation::prompt(told), None);
    let line = serde_json::json!({"id": "q3", "type": "user", "content": [{"text": asked}, {"text": told}]});
    let session = [
        sample("gemini-resumed.jsonl"),
        format!("{line}\n").into_bytes(),
    ]
    .concat();
    let read = whole(&Scratch::new(&session).path).transcript;
    let said: Vec<_> = read.conversations[0]
        .messages
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    assert_eq!(said.last(), Some(&"When is high water?"));
    assert!(
        !said.iter().any(|text| text.contains("Low water is")),
        "{said:?}"
    );
}

/// The results of several readings.
#[derive(Debug, Default, PartialEq)]
struct Gathered {
    messages: Vec<Utterance>,
    broken: u64,
    mark: Option<Mark>,
}

impl Gathered {
    /// Reads on until there is no more; how often it took.
    fn read_on(&mut self, path: &Path, bytes_max: u64) -> usize {
        let mut steps = 0;
        while let Some(TranscriptReading {
            transcript,
            is_from_start,
        }) = read(path, self.mark, bytes_max)
        {
            assert_eq!(is_from_start, self.mark.is_none_or(|mark| mark.bytes == 0));
            let messages = transcript
                .conversations
                .into_iter()
                .flat_map(|conversation| conversation.messages);
            self.messages.extend(messages);
            self.broken += transcript.broken;
            self.mark = Some(transcript.mark);
            steps += 1;
            if !transcript.has_more {
                break;
            }
        }
        steps
    }
}

#[test]
fn a_file_that_grows_at_any_byte_is_read_once() {
    for name in GROWING {
        let bytes = sample(name);
        let mut expected = Gathered::default();
        expected.read_on(&Scratch::new(&bytes).path, u64::MAX);
        for split in 0..bytes.len() {
            // At each byte around the end of a line, and at some of the others.
            let around = &bytes[split.saturating_sub(3)..bytes.len().min(split + 3)];
            if !around.contains(&b'\n') && split % 31 > 0 {
                continue;
            }
            let scratch = Scratch::new(&bytes[..split]);
            let mut gathered = Gathered::default();
            gathered.read_on(&scratch.path, u64::MAX);
            scratch.append(&bytes[split..]);
            gathered.read_on(&scratch.path, u64::MAX);
            assert_eq!(gathered, expected, "{name} at {split}");
        }
    }
}

#[test]
fn a_line_is_never_split_and_one_is_always_read() {
    for name in GROWING {
        let bytes = sample(name);
        let scratch = Scratch::new(&bytes);
        let mut expected = Gathered::default();
        expected.read_on(&scratch.path, u64::MAX);
        let end = usize::try_from(expected.mark.unwrap().bytes).unwrap();
        let lines = bytes[..end].split_inclusive(|byte| *byte == b'\n').count();
        for bytes_max in [0, 1, 300, 1000, 5000] {
            let mut gathered = Gathered::default();
            let steps = gathered.read_on(&scratch.path, bytes_max);
            assert_eq!(gathered, expected, "{name} by {bytes_max}");
            assert!(
                bytes_max > 1 || steps == lines,
                "{name}: {steps} steps for {lines} lines"
            );
        }
        let first = read(&scratch.path, None, 1).unwrap().transcript;
        assert_eq!(bytes[usize::try_from(first.mark.bytes).unwrap() - 1], b'\n');
        assert!(first.has_more);
    }
}

#[test]
fn a_line_beyond_the_limit_is_broken_and_the_next_is_read() {
    const LIMIT: usize = 64 << 20;
    let line = |text: &str| {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":\"{text}\"}},\"sessionId\":\"s\"}}\n"
        )
    };
    let scratch = Scratch::new(line("one").as_bytes());
    scratch.append(line(&"x".repeat(LIMIT + 1 - line("").len())).as_bytes());
    scratch.append(line("two").as_bytes());
    let mut gathered = Gathered::default();
    assert_eq!(gathered.read_on(&scratch.path, 100), 3);
    let texts: Vec<_> = gathered
        .messages
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    assert_eq!((texts, gathered.broken), (vec!["one", "two"], 1));
}

#[test]
fn a_file_that_was_rewritten_is_read_anew() {
    let bytes = sample("claude-code.jsonl");
    let scratch = Scratch::new(&bytes);
    let first = whole(&scratch.path);
    let mark = Some(first.transcript.mark);
    assert!(
        read(&scratch.path, Some(Mark::start()), u64::MAX)
            .unwrap()
            .is_from_start
    );
    let again = read(&scratch.path, mark, u64::MAX).unwrap();
    assert!(!again.is_from_start && again.transcript.conversations.is_empty());
    assert_eq!(again.transcript.mark, first.transcript.mark);

    // A byte near the end of what was read has changed.
    let mut changed = bytes.clone();
    let place = bytes.len() - 100;
    changed[place] = b'#';
    fs::write(&scratch.path, &changed).unwrap();
    assert!(read(&scratch.path, mark, u64::MAX).unwrap().is_from_start);

    // It is shorter.
    let shorter = &bytes[..bytes.len() - 50];
    fs::write(&scratch.path, shorter).unwrap();
    let reading = read(&scratch.path, mark, u64::MAX).unwrap();
    assert!(reading.is_from_start);
    assert_eq!(shown(&reading), shown(&whole(&scratch.path)));
}

#[test]
fn what_does_not_grow_is_read_as_a_whole() {
    for name in SAMPLES {
        let bytes = sample(name);
        let scratch = Scratch::new(&bytes);
        let first = whole(&scratch.path);
        if first.transcript.format.grows() {
            continue;
        }
        let again = read(&scratch.path, Some(first.transcript.mark), 1).unwrap();
        assert!(again.is_from_start && !again.transcript.has_more, "{name}");
        assert_eq!(again.transcript, first.transcript, "{name}");
        // A line that is not whole is not part of what was read.
        let is_cut = name == "gemini-session.jsonl";
        assert_eq!(
            first.transcript.mark.bytes < bytes.len() as u64,
            is_cut,
            "{name}"
        );
    }
}

/// Under another name a file is known by what was read.
#[test]
fn what_was_read_is_known_again() {
    for name in SAMPLES {
        let scratch = Scratch::new(&sample(name));
        let TranscriptReading { transcript, .. } = whole(&scratch.path);
        let goes_on =
            |path: &Path| conversation::goes_on(path, transcript.format, transcript.mark).unwrap();
        if name != "gemini-session.jsonl" {
            assert!(goes_on(&scratch.path), "{name}");
        }
        assert!(
            SAMPLES
                .iter()
                .all(|other| *other == name || !goes_on(&samples().join(other))),
            "{name}"
        );
        scratch.append(b"\n");
        assert_eq!(goes_on(&scratch.path), transcript.format.grows(), "{name}");
    }
}

#[test]
fn times_are_moments_to_the_microsecond() {
    let line = |time: &str| {
        format!(
            r#"{{"type":"user","message":{{"content":"x"}},"sessionId":"s","timestamp":{time}}}"#
        )
    };
    let cases = [
        (
            r#""2026-01-20T12:00:05.000001Z""#,
            Some(1_768_910_405_000_001),
        ),
        (
            r#""2026-01-20T12:00:05+02:00""#,
            Some(1_768_903_205_000_000),
        ),
        (r#""2026-01-20T12:00:05""#, Some(1_768_910_405_000_000)),
        ("1768910405.000001", Some(1_768_910_405_000_001)),
        ("-1", Some(-1_000_000)),
        ("1e300", None),
        ("99999999999999999999", None),
        (r#""soon""#, None),
        ("[]", None),
    ];
    for (time, expected) in cases {
        let reading = reading_of(line(time).as_bytes()).unwrap();
        let at = reading.transcript.conversations[0].messages[0].at;
        assert_eq!(at, expected.map(Timestamp::from_microseconds), "{time}");
    }
}

#[test]
fn a_plain_transcript_beyond_the_limit_is_said_to_be_too_large() {
    let turn = "User: a question\nAssistant: an answer\n";
    let scratch = Scratch::new(turn.repeat((10 << 20) / turn.len() + 1).as_bytes());
    let error = conversation::read(&scratch.path, None, u64::MAX).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    let scratch = Scratch::new(&b"no conversation\n".repeat(1 << 20));
    assert_eq!(read(&scratch.path, None, u64::MAX), None);
}

/// Fences that nothing closes are searched for once, not once for each fence.
#[test]
fn many_open_fences_take_no_time() {
    let text = format!("User: one\nAssistant: two\n{}", "```text\n".repeat(200_000));
    assert_eq!(texts(&reading_of(text.as_bytes()).unwrap())[0], "one");
}

fn bytes_of_json() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\n",
        "\"type\"",
        "\"user\"",
        "\"message\"",
        "\"content\"",
        "\"mapping\"",
        "\"chat_messages\"",
        "\"sessionId\"",
        "\"ts\"",
        "\"1.5\"",
        "\"payload\"",
        "null",
        "1e999",
        "```",
        "> ",
        "User: ",
        "Assistant: ",
        "\u{feff}",
        "**",
    ];
    let word = proptest::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec());
    let byte = any::<u8>().prop_map(|byte| vec![byte]);
    proptest::collection::vec(prop_oneof![4 => word, 1 => byte], 0..200)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn random_bytes_are_read_without_a_panic(bytes in prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..2000),
        bytes_of_json(),
    ]) {
        let scratch = Scratch::new(&bytes);
        if let Some(reading) = read(&scratch.path, None, 100) {
            prop_assert!(reading.transcript.mark.bytes <= bytes.len() as u64);
            read(&scratch.path, Some(reading.transcript.mark), 100);
        }
    }

    #[test]
    fn damaged_samples_are_read_without_a_panic(
        name in proptest::sample::select(SAMPLES.to_vec()),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..10),
        end in any::<proptest::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = sample(name);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        reading_of(&bytes);
    }

    #[test]
    fn many_steps_of_growth_are_read_once(
        name in proptest::sample::select(GROWING.to_vec()),
        splits in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
        bytes_max in 0_u64..3000,
    ) {
        let bytes = sample(name);
        let mut splits: Vec<usize> = splits.iter().map(|split| split.index(bytes.len())).collect();
        splits.push(bytes.len());
        splits.sort_unstable();
        let mut expected = Gathered::default();
        expected.read_on(&Scratch::new(&bytes).path, u64::MAX);
        let scratch = Scratch::new(b"");
        let (mut gathered, mut start) = (Gathered::default(), 0);
        for end in splits {
            scratch.append(&bytes[start..end]);
            start = end;
            gathered.read_on(&scratch.path, bytes_max);
        }
        prop_assert_eq!(gathered, expected);
    }
}
