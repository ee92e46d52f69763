//! Tests of what exports hold beside the texts of messages.

use crate::*;

#[test]
fn pastes_and_documents_of_claude_ai_are_read() {
    let paste = json!({"file_name": "paste.txt", "extracted_content": "Bed 3 is for peas."});
    let write = |input: Value| json!({"type": "tool_use", "name": "artifacts", "input": input});
    let export = json!([{"uuid": "c", "chat_messages": [
        {"sender": "human", "text": "", "content": [], "attachments": [paste]},
        {"sender": "human", "text": "See", "content": [{"type": "text", "text": "See"}, null], "attachments": [paste, {"file_name": "x"}], "files": [{"file_name": "a.png"}]},
        {"sender": "assistant", "text": "Done", "content": [
            write(json!({"command": "create", "content": "# Beds"})), write(json!({"command": "update", "old_str": "B", "new_str": "# Three beds"})),
            {"type": "thinking", "thinking": "hm"}, {"type": "tool_result", "content": []}, {"type": "text", "text": "Done"}]},
    ]}]);
    let reading = read(export.to_string().as_bytes());
    assert_eq!(
        said(&reading),
        [
            ("user", "Bed 3 is for peas."),
            ("user", "See"),
            ("user", "Bed 3 is for peas."),
            ("assistant", "# Beds"),
            ("assistant", "# Three beds"),
            ("assistant", "Done"),
        ]
    );
    assert_eq!(reading.transcript.broken, 0);
    assert_eq!(reading.transcript.attachments, 2);
    let left_out: Vec<_> = reading.transcript.left_out.into_iter().collect();
    assert_eq!(
        left_out,
        [("attachment", 2), ("reasoning", 1), ("tool_result", 1)]
    );
}

#[test]
fn the_canvas_of_chat_gpt_is_read() {
    let message = |role: &str, recipient: &str, content: Value| json!({"author": {"role": role}, "recipient": recipient, "content": content});
    let code = |call: Value| json!({"content_type": "code", "text": call.to_string()});
    let messages = [
        message(
            "assistant",
            "canmore.create_textdoc",
            code(json!({"name": "beds", "type": "document", "content": "# Beds"})),
        ),
        message(
            "assistant",
            "canmore.update_textdoc",
            code(json!({"updates": [{"pattern": ".*", "replacement": "# Four beds"}]})),
        ),
        message(
            "assistant",
            "canmore.comment_textdoc",
            json!({"content_type": "text", "parts": ["{\"comments\":[{\"comment\":\"Dig deeper\"}]}"]}),
        ),
        message(
            "tool",
            "all",
            json!({"content_type": "text", "parts": ["Created"]}),
        ),
        message("assistant", "python", code(json!("print()"))),
        message(
            "assistant",
            "all",
            json!({"content_type": "text", "parts": ["Done \u{e200}cite\u{e202}turn0\u{e201}."]}),
        ),
    ];
    let mut mapping = serde_json::Map::new();
    for (place, message) in messages.iter().enumerate() {
        let parent = place.checked_sub(1).map(|before| before.to_string());
        mapping.insert(
            place.to_string(),
            json!({"message": message, "parent": parent}),
        );
    }
    let reading = read(
        json!([{"id": "c", "mapping": mapping}])
            .to_string()
            .as_bytes(),
    );
    assert_eq!(
        said(&reading),
        [
            ("assistant", "# Beds"),
            ("assistant", "# Four beds"),
            ("assistant", "Dig deeper"),
            ("assistant", "Done."),
        ]
    );
}

#[test]
fn what_programs_and_people_say_in_slack_is_read_as_words() {
    let folder = tempfile::tempdir().unwrap();
    let channel = folder.path().join("beds");
    fs::create_dir(&channel).unwrap();
    let users = json!([{"id": "U1", "profile": {"real_name": "Eve Digger", "display_name": ""}}, {"id": "U2", "name": "fay"}]);
    fs::write(folder.path().join("users.json"), users.to_string()).unwrap();
    let said_by = |user: &str, more: Value| {
        let mut message =
            json!({"type": "message", "user": user, "ts": "1777622400.0001", "text": ""});
        message
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        message
    };
    let day = json!([
        said_by("U1", json!({"text": "<@U2> &amp; co: <https://example.org/b|the beds>"})),
        said_by("U2", json!({"attachments": [{"pretext": "Alarm", "text": "Bed 3 is dry", "fields": [{"title": "Since", "value": "noon"}]}]})),
        said_by("U2", json!({"text": "look", "attachments": [{"is_msg_unfurl": true, "author_id": "U1", "text": "Peas are up"}, {"from_url": "https://example.org", "text": "A page"}]})),
        said_by("U1", json!({"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "<@U1> digs"}}]})),
        said_by("U1", json!({"subtype": "file_share", "files": [{"mimetype": "text/plain", "plain_text": "1. Dig"}, {"mimetype": "image/png"}]})),
        said_by("U2", json!({"subtype": "channel_join", "text": "joined"})),
        {"type": "message", "bot_id": "B1", "username": "rain", "subtype": "bot_message", "ts": "1777622401.0001", "text": null, "attachments": [{"fallback": "Rain at four"}]},
    ]);
    let path = channel.join("2026-05-01.json");
    fs::write(&path, day.to_string()).unwrap();
    let reading = read_at(&path).unwrap();
    assert_eq!(
        said(&reading),
        [
            ("Eve Digger", "@fay & co: the beds (https://example.org/b)"),
            ("fay", "Alarm\nBed 3 is dry\nSince\nnoon"),
            ("fay", "look"),
            ("Eve Digger", "Peas are up"),
            ("Eve Digger", "@Eve Digger digs"),
            ("Eve Digger", "1. Dig"),
            ("rain", "Rain at four"),
        ]
    );
    let left_out: Vec<_> = reading.transcript.left_out.into_iter().collect();
    assert_eq!(left_out, [("event", 1), ("image", 1), ("preview", 1)]);
}

#[test]
fn the_export_of_deep_seek_is_a_tree_of_fragments() {
    let message = |fragments: Value| json!({"inserted_at": "2026-05-01T08:00:00+08:00", "fragments": fragments});
    let export = json!([{"id": "c", "title": "Beds", "mapping": {
        "root": {"children": ["1"], "message": null},
        "1": {"parent": "root", "children": ["2"], "message": message(json!([{"type": "REQUEST", "content": "Which bed?"}]))},
        "2": {"parent": "1", "children": [], "message": message(json!([{"type": "THINK", "content": "hm"}, {"type": "RESPONSE", "content": "The sunny one."}]))},
    }}]);
    let reading = read(export.to_string().as_bytes());
    assert_eq!(
        said(&reading),
        [("user", "Which bed?"), ("assistant", "The sunny one.")]
    );
}
