//! Tests of the change of one entry in each form.

use serde_json::json;

use super::*;

fn slot(form: Form) -> Slot<'static> {
    Slot {
        form,
        key: "servers",
        name: "loci",
    }
}

fn entry() -> Value {
    json!({"command": "/bin/loci", "args": ["mcp", "mememory"], "timeout": 3})
}

/// Texts of each form: with comments, other servers, odd white space.
fn texts(form: Form) -> Vec<&'static str> {
    match form {
        Form::Json => vec![
            "",
            "\n",
            "{}",
            "{\"a\":1}",
            "// first\n{\n\t\"a\": 12345678901234567890123, // long\n\t\"b\": [1,2, ],\n}\n",
            "{\r\n  \"servers\": {\r\n    \"x\": {\"command\": \"y\"} // last\r\n  }\r\n}\r\n",
            "{\"servers\":{}}",
            "{\n  \"servers\": {\n    /* all */\n    \"x\": {},\n  },\n  \"z\": null\n}",
            "\u{feff}{\n  \"a\": 1\n}\n",
        ],
        Form::Toml => vec![
            "",
            "a = 1",
            "# first\n\na   =  1 # odd\n\n[table]\nb = [ 1,\n  2, ]\n",
            "[servers.x]\ncommand = \"y\" # last\n\n# of z\n[z]\nq = 1\n",
            "[servers]\n# none\n",
            "servers = { x = { command = \"y\" } }\n",
            "a = 1\r\n\r\n[servers.x]\r\ncommand = 'y'\r\n",
            "t = 1979-05-27T07:32:00Z\nn = nan\n[[list]]\na = 1\n[[list]]\na = 2\n",
            "\u{feff}a = 1\n",
        ],
        Form::Yaml => vec![
            "",
            "# only a comment\n",
            "a: 1",
            "a: 1\nservers:\n  x:\n    cmd: y # last\n    args: [1, 2]\n\n# of z\nz: |\n  text\n  # text\n",
            "servers:\n    x:\n        cmd: y\n    # off:\n    #     cmd: z\n",
            "servers:\nb: 2\n",
            "servers: {}\n",
            "servers: {x: {cmd: y}} # flow\nb: 2\n",
            "servers: { x: [y] }\n",
            "a: é\nservers: { # all, here\n  'x, y': [1, 2], # last\n  z: {},\n}\n# of b\nb: 2\n",
            "---\r\nservers:\r\n  x:\r\n    cmd: y\r\n",
            "b: &b\n  c: 1\nd: *b\nservers:\n  x: {cmd: y}\n  \"quoted name\":\n    cmd: 'z'\n",
        ],
    }
}

fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut whole = whole.chars();
    part.chars()
        .all(|letter| whole.any(|candidate| candidate == letter))
}

#[test]
fn an_entry_comes_and_goes_and_every_other_byte_stays() {
    for form in [Form::Json, Form::Toml, Form::Yaml] {
        for text in texts(form) {
            let slot = slot(form);
            let with = slot.put(text, &entry()).unwrap_or_else(|problem| {
                panic!("{form}: {problem}: {text}");
            });
            assert_eq!(slot.get(&with).unwrap(), Some(entry()), "{with}");
            if !text.trim().is_empty() {
                assert!(
                    is_subsequence(text, &with),
                    "{form}: {text:?} became {with:?}"
                );
            }
            if text.contains("\r\n") {
                assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
            }
            assert_eq!(slot.put(&with, &entry()).unwrap(), with, "twice is once");
            let other = json!({"url": "http://h/mcp/vault", "headers": {"A": "B c"}, "on": true});
            let changed = slot.put(&with, &other).unwrap();
            assert_eq!(slot.get(&changed).unwrap(), Some(other), "{changed}");
            assert_eq!(
                slot.put(&changed, &entry())
                    .and_then(|back| slot.get(&back))
                    .unwrap(),
                Some(entry())
            );
            let without = slot.remove(&with).unwrap();
            assert_eq!(slot.get(&without).unwrap(), None);
            assert_eq!(slot.remove(&without).unwrap(), without, "twice is once");
            if text.contains(['x', 'z']) && text.contains("servers: {") {
                assert_eq!(without, text, "in braces, nothing else changes");
            }
            for line in text.lines().filter(|line| line.contains(['#', '/'])) {
                assert!(without.contains(line), "{form}: {line} in {without:?}");
            }
        }
    }
}

#[test]
fn entries_look_as_people_write_them() {
    let alone = |form| slot(form).put("", &entry()).unwrap();
    assert_eq!(
        alone(Form::Toml),
        "[servers.loci]\ncommand = \"/bin/loci\"\nargs = [\"mcp\", \"mememory\"]\ntimeout = 3\n"
    );
    assert_eq!(
        alone(Form::Yaml),
        "servers:\n  loci:\n    command: /bin/loci\n    args:\n    - mcp\n    - mememory\n    timeout: 3\n"
    );
    let json = alone(Form::Json);
    assert!(
        json.starts_with(
            "{\n  \"servers\": {\n    \"loci\": {\n      \"command\": \"/bin/loci\",\n"
        ),
        "{json}"
    );
    assert!(json.ends_with("\"timeout\": 3\n    }\n  }\n}\n"), "{json}");
}

#[test]
fn the_form_of_the_lines_around_is_kept() {
    let json = "{\n\t\"servers\": {\n\t\t\"x\": {}\n\t}\n}\n";
    let with = slot(Form::Json).put(json, &json!({"a": 1})).unwrap();
    assert!(
        with.contains("\t\t\"loci\": {\n\t\t\t\"a\": 1\n\t\t}\n\t}\n}\n"),
        "{with}"
    );
    let yaml = "servers:\n    x:\n        cmd: y\n\n# of z\nz: 1\n";
    assert_eq!(
        slot(Form::Yaml).put(yaml, &json!({"a": "1"})).unwrap(),
        "servers:\n    x:\n        cmd: y\n    loci:\n      a: \"1\"\n\n# of z\nz: 1\n"
    );
    let toml = "[servers.loci]\na = 1 # mine\nb = 2\n\n[z]\nc = 3\n";
    assert_eq!(
        slot(Form::Toml)
            .put(toml, &json!({"a": 1, "d": "e"}))
            .unwrap(),
        "[servers.loci]\na = 1 # mine\nd = \"e\"\n\n[z]\nc = 3\n"
    );
    assert_eq!(slot(Form::Toml).remove(toml).unwrap(), "\n[z]\nc = 3\n");
}

#[test]
fn an_entry_in_braces_goes_alone() {
    let slot = slot(Form::Yaml);
    for (text, expected) in [
        ("servers: {loci: 1, x: 2}\n", "servers: {x: 2}\n"),
        (
            "servers: {x: [2, 3], loci: {a: b}}\n",
            "servers: {x: [2, 3]}\n",
        ),
        ("servers: {x: 2 , loci: 1,}\n", "servers: {x: 2,}\n"),
        ("servers: {&a loci: 1, x: 2}\n", "servers: {x: 2}\n"),
        ("servers: {x: 2, loci: 1, y}\n", "servers: {x: 2, y}\n"),
        (
            "servers: {\n  \"loci\": 1, # a\n  'x': 2 # b\n}\n",
            "servers: {\n   # a\n  'x': 2 # b\n}\n",
        ),
        (
            "a: 1\nservers: {\n  loci: 1\n} # a\n# b\nb: 2\n",
            "a: 1\n# b\nb: 2\n",
        ),
    ] {
        assert_eq!(slot.remove(text).as_deref(), Ok(expected), "{text}");
    }
    // A comma in a comment does not count.
    let refused = slot
        .remove("servers: {loci: 1 # a, b\n , x: 2}\n")
        .unwrap_err();
    assert!(refused.contains("cannot change"), "{refused}");
}

#[test]
fn what_could_not_go_again_is_not_put() {
    for text in [
        // Found by the fuzz target of settings.
        "# e\nservers:\n  other:\n  \t\r\t\rmm  \u{feff}: true\n",
        "servers:\n  x: 1\r  y: 2\n",
    ] {
        let refused = slot(Form::Yaml).put(text, &entry()).unwrap_err();
        assert!(refused.contains("carriage return"), "{refused}");
    }
}

#[test]
fn texts_of_another_form_are_refused() {
    for (form, text, problem) in [
        (Form::Json, "{\"servers\": ", "no JSON"),
        (Form::Json, "[]", "no JSON object"),
        (Form::Json, "{\"servers\": []}", "no map"),
        (Form::Json, "{\"servers\": {}, \"servers\": {}}", "twice"),
        (Form::Json, "{\"servers\": {\"x\": 1, \"x\": 2}}", "twice"),
        (Form::Toml, "a = ", "no TOML"),
        (Form::Toml, "servers = 3", "no map"),
        (Form::Toml, "[[servers]]\na = 1", "no map"),
        (Form::Yaml, "a: [", "no YAML"),
        (Form::Yaml, "- a\n", "no YAML map"),
        (Form::Yaml, "servers: 3\n", "no map"),
        (Form::Yaml, "{servers: {}}\n", "line by line"),
        (Form::Yaml, "servers: &a\n  x: 1\nservers: 2\n", "no YAML"),
        (Form::Yaml, "a: 1\n---\nb: 2\n", "YAML"),
        (Form::Yaml, "a: 1\n...\n", "cannot change"),
        (Form::Yaml, "servers: null\n", "cannot change"),
    ] {
        let refused = slot(form).put(text, &entry()).unwrap_err();
        assert!(refused.contains(problem), "{text}: {refused}");
    }
}
