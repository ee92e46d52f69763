//! Files that are damaged, or in another form than usual.

use crate::*;

#[test]
fn a_wrong_character_loses_no_message() {
    let half = r#"{"type":"user","message":{"content":"Seeds \ud83c, please"},"sessionId":"s"}"#;
    let control = "{\"type\":\"user\",\"message\":{\"content\":\"Peas\tand beans\"},\"n\":NaN,\"sessionId\":\"s\"}";
    let bytes =
        b"{\"type\":\"user\",\"message\":{\"content\":\"Gro\xdfe Bohnen\"},\"sessionId\":\"s\"}";
    let deep = format!(
        r#"{{"type":"user","message":{{"content":"Leeks"}},"x":{}{},"sessionId":"s"}}"#,
        "[".repeat(300),
        "]".repeat(300)
    );
    let file = [half.as_bytes(), control.as_bytes(), bytes, deep.as_bytes()].join(&b"\n"[..]);
    let reading = read(&file);
    let texts: Vec<_> = said(&reading)
        .into_iter()
        .map(|(_, text)| text.to_owned())
        .collect();
    assert_eq!(
        texts,
        [
            "Seeds \u{fffd}, please",
            "Peas\tand beans",
            "Gro\u{fffd}e Bohnen",
            "Leeks"
        ]
    );
    assert_eq!(
        (reading.transcript.broken, reading.transcript.repairs),
        (0, 5)
    );
}

#[test]
fn a_wrong_type_loses_no_other_field() {
    let blocks = json!([{"type": "text", "text": 7}, {"type": "text", "text": "Beans"}, null, 5]);
    let odd = json!({"type": "user", "sessionId": 3, "timestamp": {}, "cwd": 9, "message": {"content": {"type": "text", "text": "Peas"}}});
    let reading = read(&lines(&[event("user", &blocks), odd]));
    assert_eq!(said(&reading), [("user", "Beans"), ("user", "Peas")]);
    assert_eq!(reading.transcript.broken, 2);

    let message =
        json!({"author": {"role": "user"}, "content": {"content_type": "text", "parts": "Leeks"}});
    let sound = json!({"author": {"role": "user"}, "content": {"content_type": "multimodal_text",
        "parts": [{"content_type": "audio_transcription", "text": null}, "Kale"]}});
    let export = json!([{"id": "c", "mapping": {"a": {"message": message}, "b": {"parent": "a", "message": sound}}}]);
    let reading = read(export.to_string().as_bytes());
    assert_eq!(said(&reading), [("user", "Leeks"), ("user", "Kale")]);
    assert_eq!(reading.transcript.broken, 1);
}

#[test]
fn after_a_broken_line_the_next_record_is_read() {
    let whole = |text: &str| event("user", &json!(text)).to_string();
    let cut = |text: &str| whole(text)[..60].to_owned();
    for (file, expected) in [
        (format!("{}{}\n", cut("lost"), whole("one")), vec!["one"]),
        (format!("{}\n{}\n", cut("lost"), whole("one")), vec!["one"]),
        (
            format!("{}{}{}\n", whole("one"), cut("lost"), whole("two")),
            vec!["one", "two"],
        ),
        (
            format!("{}{}\n", "\0".repeat(5000), whole("one")),
            vec!["one"],
        ),
        (
            format!("{}\n{}\n{}\n", whole("one"), "\0".repeat(99), whole("two")),
            vec!["one", "two"],
        ),
        (format!("junk }}]\" {}\n", whole("one")), vec!["one"]),
    ] {
        let reading = read(file.as_bytes());
        let texts: Vec<_> = said(&reading).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, expected, "{file:?}");
    }
}

#[test]
fn what_begins_like_a_transcript_is_one() {
    let start = session(&json!({"id": "t", "cwd": "/garden"})).to_string();
    let reading = read(&start.as_bytes()[..start.len() - 5]);
    assert_eq!(
        (said(&reading), reading.transcript.has_more),
        (vec![], false)
    );
    // A download that was interrupted.
    let export = json!([
        {"uuid": "c", "chat_messages": [{"sender": "human", "text": "Sow in May"}]},
        {"uuid": "d", "chat_messages": [{"sender": "human", "text": "Reap in"}, {"sender": "assistant", "text": "August"}]},
    ])
    .to_string();
    let reading = read(&export.as_bytes()[..export.len() - 30]);
    assert_eq!(
        said(&reading)[..2],
        [("user", "Sow in May"), ("user", "Reap in")]
    );
    assert!(reading.transcript.repairs > 0);
    // A quotation mark is missing, and the conversation after it is whole.
    let export = r#"[{"uuid":"c","chat_messages":[{"sender":"human","text":"lost}]},{"uuid":"d","chat_messages":[{"sender":"human","text":"Kept"}]},{"uuid":"e","chat_messages":[{"sender":"human","text":"too"}]}]"#;
    let reading = read(export.as_bytes());
    assert!(
        said(&reading).contains(&("user", "too")),
        "{:?}",
        said(&reading)
    );
    assert!(reading.transcript.broken > 0);
}

#[test]
fn a_compressed_session_goes_on_from_the_plain_one() {
    let file = lines(&[
        session(&json!({"id": "t"})),
        codex_message("user", "Sow peas"),
    ]);
    let plain = read(&file);
    let length = u32::try_from(file.len()).unwrap();
    // A frame of one raw block, without a checksum.
    let mut frame = b"\x28\xb5\x2f\xfd\xa0".to_vec();
    frame.extend(length.to_le_bytes());
    frame.extend(&((length << 3) | 1).to_le_bytes()[..3]);
    frame.extend(&file);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rollout-t.jsonl.zst");
    fs::write(&path, &frame).unwrap();
    let packed = read_at(&path).unwrap();
    assert_eq!(said(&packed), [("user", "Sow peas")]);
    assert_eq!(packed.transcript.mark, plain.transcript.mark);
    assert_eq!(packed.transcript.stamp.bytes, frame.len() as u64);
    assert!(conversation::goes_on(&path, plain.transcript.format, plain.transcript.mark).unwrap());
}

#[test]
fn transcripts_in_utf_16_are_read() {
    let text = "User: where is the spade?\r\nAssistant: in the shed.\r\nUser: thanks\r\n";
    let line = event("user", &json!("Größe der Beete")).to_string();
    for (text, count) in [(text, 3), (line.as_str(), 1)] {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let reading = read(&[&b"\xff\xfe"[..], &units].concat());
        assert_eq!(said(&reading).len(), count, "{text}");
    }
}
