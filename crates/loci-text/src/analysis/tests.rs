use super::*;

fn terms(text: &str) -> Vec<String> {
    term_counts([text])
        .into_iter()
        .map(|(term, _)| term)
        .collect()
}

#[test]
fn table_of_forms() {
    let rows: &[(&str, &[&str])] = &[
        ("Running runners ran", &["run", "runner", "ran"]),
        ("Café CAFÉ cafe", &["cafe"]),
        ("ＦＵＬＬ　ｗｉｄｔｈ", &["full", "width"]),
        (
            "snake_case kebab-case",
            &["snakecas", "snake", "case", "kebabcas", "kebab"],
        ),
        ("ERR_4012", &["err4012", "err", "4012"]),
        ("CamelCase", &["camelcas", "camel", "case"]),
        ("HTTPServer", &["httpserver", "http", "server"]),
        (
            "sha256 utf8String k8s",
            &[
                "sha256",
                "sha",
                "256",
                "utf8string",
                "utf",
                "8",
                "string",
                "k8s",
            ],
        ),
        (
            "a1b2c3d4 0xDEADBEEF",
            &["a1b2c3d4", "0xdeadbeef", "deadbeef"],
        ),
        (
            "C++ and C#, .NET or .env",
            &["c++", "c", "c#", ".net", "net", ".env"],
        ),
        (
            "node.js R&D AT&T",
            &["node.js", "node", "js", "r&d", "at&t"],
        ),
        ("@handle #tag (#4012)", &["handl", "tag", "4012"]),
        ("10.0.0.1:8080", &["10.0.0.1:8080", "10.0.0.1", "8080"]),
        (
            "C:\\Users\\ada\\a.txt",
            &["c:/users/ada/a.txt", "user", "ada", "a.txt"],
        ),
        ("v1.2.3-rc.1", &["1.2.3rc.1", "1", "2", "3"]),
        ("1,000 1,234,567 v2", &["1000", "1234567", "v2", "2"]),
        ("twenty-three twenty-first seven", &["23", "21st", "7"]),
        ("7th seventh 5k", &["7th", "7", "5k", "5000"]),
        ("first (second)", &["1st", "2nd", "second"]),
        ("(foo)[bar]{baz}\"qux\"", &["foo", "bar", "baz", "qux"]),
        ("yes...no--maybe—so", &["yes", "no", "mayb", "so"]),
        ("e-mail", &["email", "mail"]),
    ];
    check(rows);
}

#[test]
fn table_of_scripts() {
    let rows: &[(&str, &[&str])] = &[
        ("東京都", &["東京", "京都", "東", "京", "都"]),
        ("食べる", &["食べ", "べる"]),
        ("ジョン・レノン", &["ジョ", "ョン", "レノ", "ノン"]),
        ("ｶﾒﾗ", &["カメ", "メラ"]),
        ("서울에서", &["서울", "울에", "에서", "서"]),
        ("iPhone手机", &["iphon", "i", "phone", "手机"]),
        ("黑猫，很可爱。", &["黑猫", "猫", "很可", "可爱"]),
        ("ภาษาไทย", &["ภา", "าษ", "ไท", "ทย"]),
        ("Москва Москвы ёж мой", &["москв", "еж", "мой"]),
        ("مُحَمَّد", &["محمد"]),
        ("الكتاب والكتاب كتاب", &["كتاب"]),
        ("أحمد إحمد آحمد احمد", &["احمد"]),
        ("مدرسة مدرسه على علي", &["مدرس", "علي"]),
        ("שָׁלוֹם", &["שלום"]),
        ("straße Größe", &["strass", "gross"]),
        ("İstanbul ırmak", &["istanbul", "irmak"]),
        ("ΟΔΟΣ οδός οδού", &["οδ"]),
        ("हिन्दी में", &["हिन्दी", "में"]),
        ("தமிழ்", &["தமிழ்"]),
        ("٢٠٢٣ १२", &["2023", "12"]),
    ];
    check(rows);
}

fn check(rows: &[(&str, &[&str])]) {
    for (text, expected) in rows {
        let found = terms(text);
        for term in *expected {
            assert!(
                found.iter().any(|found| found == term),
                "{text:?} lacks {term:?}: {found:?}"
            );
        }
    }
}

#[test]
fn nothing_but_these_terms() {
    let rows: &[(&str, &[&str])] = &[
        ("Caroline's", &["carolin"]),
        ("हिन्दी", &["हिन्दी"]),
        ("ジョン・レノン", &["ジョ", "ョン", "レノ", "ノン"]),
        ("don't I’m we'll can't", &["do", "i", "we", "can"]),
        ("O'Brien", &["obrien", "o", "brien"]),
        ("ёж", &["еж"]),
        ("a,b", &["a", "b"]),
        (
            "2023-05-07",
            &["2023-05-07", "2023", "05", "07", "may", "7"],
        ),
        ("7 May 2023", &["7", "may", "2023", "2023-05-07"]),
        (
            "since 7 May 2023",
            &["sinc", "7", "may", "2023", "2023-05-07"],
        ),
        (
            "Jan 7, 2023",
            &["jan", "7", "2023", "2023-01-07", "januari"],
        ),
        ("--- ... ***", &[]),
    ];
    for (text, expected) in rows {
        assert_eq!(terms(text), *expected, "{text:?}");
    }
}

#[test]
fn identifiers_are_found_whole_and_by_their_parts() {
    let found =
        terms("see src/lib.rs:120 and 550e8400-e29b-41d4-a716-446655440000, mail ada@example.com");
    let whole = [
        "src/lib.rs:120",
        "lib.rs",
        "550e8400e29b41d4a716-446655440000",
        "ada@example.com",
        "example.com",
    ];
    for term in whole.into_iter().chain(["src", "120", "550e8400", "ada"]) {
        assert!(
            found.iter().any(|found| found == term),
            "{term:?} is missing: {found:?}"
        );
    }
}

#[test]
fn an_identifier_meets_itself_in_other_spellings() {
    let groups: &[&[&str]] = &[
        &[
            "getUserName",
            "get_user_name",
            "get-user-name",
            "GetUserName",
        ],
        &["wi-fi", "wifi", "Wi-Fi"],
        &["src/lib.rs", "src\\lib.rs"],
        &["v1.2.3", "1.2.3", "V1.2.3"],
        &["O'Brien", "OBRIEN", "o’brien"],
        &["1,000", "1000"],
        &[
            "2023-05-07",
            "7 May 2023",
            "May 7th, 2023",
            "7.5.2023",
            "2023年5月7日",
            "2023-05-07T10:00:00Z",
        ],
        &["سيارة", "السيارة", "سياره"],
    ];
    for group in groups {
        let (first, others) = group.split_first().unwrap();
        let first = query_terms(first);
        for other in others {
            assert!(
                terms(other).iter().any(|term| first.contains(term)),
                "{other:?} shares none of {first:?}"
            );
        }
    }
    assert!(terms("getUserName").contains(&terms("get_user_name")[0]));
    assert!(terms("3-9").iter().all(|term| term != "39"));
}

#[test]
fn every_form_of_an_identifier_counts_once() {
    let counts = term_counts(["foo/foo_foo"]);
    assert!(counts.iter().all(|(_, count)| *count == 1), "{counts:?}");
    assert!(term_counts(["2023-05-07T10:00"]).contains(&("2023-05-07".to_owned(), 1)));
}

#[test]
fn endless_words_are_no_identifiers() {
    let found = terms(&"someWord/".repeat(200));
    assert_eq!(found, ["someword", "some", "word"]);
    let found = terms(&"someWord".repeat(200));
    assert_eq!((found.len(), found[0].len()), (1, TERM_BYTES_MAX));
}

#[test]
fn iso_dates_are_found_by_month_and_day() {
    let found = terms("2023-05-07T10:00:00Z");
    for term in ["may", "7", "2023", "2023-05-07"] {
        assert!(
            found.iter().any(|found| found == term),
            "{term:?} is missing: {found:?}"
        );
    }
}

#[test]
fn query_drops_stop_words_unless_nothing_else_is_left() {
    assert_eq!(query_terms("what is the database"), ["databas"]);
    assert_eq!(
        query_terms("What's her dog's name? I don't know."),
        ["dog", "name", "know"]
    );
    assert_eq!(query_terms("who am I"), ["who", "am", "i"]);
    assert_eq!(query_terms("is US law for us"), ["us", "law"]);
    assert_eq!(query_terms("\u{4f60}好"), ["你好"]);
    assert_eq!(query_terms("猫"), ["猫"]);
}

#[test]
fn a_query_has_its_first_terms() {
    let numbers: Vec<String> = (1_000..2_000).map(|number| number.to_string()).collect();
    let query = format!("what is {}", numbers.join(" "));
    assert_eq!(query_terms(&query), numbers[..QUERY_TERMS_MAX]);
}

#[test]
fn counts_repeat_and_keep_order() {
    assert_eq!(
        term_counts(["b a b"]),
        [("b".to_owned(), 2), ("a".to_owned(), 1)]
    );
}

proptest::proptest! {
    #[test]
    fn what_is_indexed_is_found(text in "([a-zA-Z0-9' ,.:/_-]|\\PC){0,80}") {
        let indexed = terms(&text);
        for term in query_terms(&text) {
            proptest::prop_assert!(indexed.contains(&term));
        }
        for term in indexed {
            proptest::prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES_MAX && !term.starts_with('@'));
        }
    }
}

#[test]
fn symbols_are_found_by_themselves() {
    let rows: &[(&str, &[&str])] = &[
        ("🏺", &["🏺"]),
        ("fire 🔥🔥 out", &["fire", "out", "🔥"]),
        // A profession, a colour of skin, a flag, a sign as a picture and as text.
        ("👩\u{200d}🚒", &["👩\u{200d}🚒", "👩", "🚒"]),
        ("👍🏽 👍", &["👍"]),
        ("🇨🇭🇫🇷", &["🇨🇭", "🇫🇷"]),
        ("❤\u{fe0f} ❤", &["❤"]),
        ("a→b 5€ ≠", &["b", "→", "5", "€"]),
        ("✅done", &["done", "✅"]),
        // Keys of a telephone are digits, and drawings are no symbols.
        ("1\u{fe0f}\u{20e3}", &["1"]),
        ("├── x │ █ ⠋ \u{e0b0}", &["x"]),
        ("* ??? “quoted” — …", &["quot"]),
    ];
    for (text, expected) in rows {
        let found = terms(text);
        for term in *expected {
            assert!(found.iter().any(|known| known == term), "{text}: {found:?}");
        }
    }
    assert_eq!(terms("├ █ ⠋ * ??? — …"), Vec::<String>::new());
    assert_eq!(query_terms("🏺"), ["🏺"]);
    assert_eq!(query_terms("where is the 🏺 pot"), ["pot"]);
    assert_eq!(query_terms("???"), Vec::<String>::new());
}
