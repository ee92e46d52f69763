//! Questions that name exactly what they are about.

use super::super::corpus::Random;
use super::material::{Class, Shelf};

const NOUNS: [&str; 16] = [
    "ledger", "beacon", "harbor", "anchor", "meadow", "signal", "packet", "cursor", "mosaic", "orchid", "falcon",
    "quartz", "ribbon", "tunnel", "velvet", "walnut",
];

/// Identifiers of each kind.
const IDENTIFIERS_EACH: usize = 6;

/// Identifiers of seven kinds, each kind alike within itself.
pub fn identifiers(shelf: &mut Shelf, random: &mut Random) {
    type Make = fn(&mut Random, usize) -> String;
    let kinds: [(&str, Make); 7] = [
        ("The nightly job stops with {} on the third node.", |_, index| format!("ERR-{}", 4_017 + 31 * index)),
        ("The borrow checker complains with {} about the session handle.", |_, index| format!("E{:04}", 499 + index)),
        ("The panic comes from {} and nowhere else.", |random, index| {
            format!("src/{}/{}.rs:{}", random.pick(&NOUNS), random.pick(&NOUNS), 118 + 7 * index)
        }),
        ("The tenant of the pilot has the id {} everywhere.", |random, _| uuid(random)),
        ("The memory leak is gone with {} of the driver.", |_, index| {
            format!("v2.{}.{}", 14 + index / 3, 7 + index % 3)
        }),
        ("Raise {} when the queue grows.", |random, index| {
            let [first, second] = [random.pick(&NOUNS), NOUNS[index]];
            if index % 2 == 0 { format!("{first}_{second}_limit_ms") } else { camel(&[first, second, "limit"]) }
        }),
        ("The regression was introduced by commit {} on a Friday.", |random, _| hex(random, 9)),
    ];
    for (template, make) in kinds {
        for index in 0..IDENTIFIERS_EACH {
            let identifier = make(random, index);
            let fact = shelf.add(template.replace("{}", &identifier));
            let question = if index % 2 == 0 { identifier } else { format!("what do we know about {identifier}?") };
            shelf.ask(Class::Identifier, question, fact);
        }
    }
}

fn hex(random: &mut Random, digits: usize) -> String {
    (0..digits).map(|_| char::from(b"0123456789abcdef"[random.below(16)])).collect()
}

fn uuid(random: &mut Random) -> String {
    [8, 4, 4, 4, 12].map(|digits| hex(random, digits)).join("-")
}

fn camel(words: &[&str]) -> String {
    let (first, rest) = words.split_first().unwrap_or((&"", &[]));
    let upper = |word: &&str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
    rest.iter().map(upper).fold((*first).to_owned(), |name, word| name + &word)
}

/// People of whom each shares the first name with some and the last name with others.
pub fn names(shelf: &mut Shelf) {
    const FIRST: [&str; 5] = ["Ottilie", "Thaddeus", "Saskia", "Leopold", "Mireille"];
    const LAST: [&str; 5] = ["Vasquez", "Lindqvist", "Abernathy", "Szymanski", "Okonkwo"];
    const WORK: [&str; 5] = ["customs office", "planetarium", "tram depot", "seed bank", "lighthouse"];
    for (row, first) in FIRST.iter().enumerate() {
        for (column, last) in LAST.iter().enumerate() {
            // Every place of work has five people, no two of them with a name in common.
            let fact = shelf.add(format!("{first} {last} works at the {}.", WORK[(row + column) % WORK.len()]));
            let question = match (row + 2 * column) % 3 {
                0 => format!("Where does {first} {last} work?"),
                1 => format!("{first} {last}"),
                _ => format!("tell me about {}, {first}", last.to_uppercase()),
            };
            shelf.ask(Class::Name, question, fact);
        }
    }
}

/// Phrases of four words, each beside one with the words in another order.
pub fn phrases(shelf: &mut Shelf, random: &mut Random) {
    const VERBS: [&str; 8] = ["follows", "paints", "forgives", "borrows", "outlives", "carries", "answers", "measures"];
    const QUALITIES: [&str; 8] = ["quiet", "crooked", "golden", "patient", "hollow", "distant", "bitter", "silent"];
    const PHRASES: usize = 16;
    for index in 0..PHRASES {
        let (subject, object) = (NOUNS[index], NOUNS[(index + 5) % NOUNS.len()]);
        let (verb, quality) = (VERBS[index % VERBS.len()], random.pick(&QUALITIES));
        let phrase = format!("{subject} {verb} the {quality} {object}");
        let wrong = format!("{object} {verb} the {quality} {subject}");
        shelf.add(format!("Somebody has written \"{wrong}\" on the {} door.", NOUNS[(index + 9) % NOUNS.len()]));
        let fact = shelf.add(format!("On the back of the photo it says \"{phrase}\" in pencil, for whatever reason."));
        shelf.add(format!("The {quality} {subject} and what {verb} it: an {object}, says the catalogue."));
        shelf.ask(Class::Phrase, format!("where does it say \"{phrase}\"?"), fact);
    }
}

/// Facts in other scripts, with a word or two of each.
pub fn scripts(shelf: &mut Shelf) {
    const FACTS: [(&str, &str); 28] = [
        ("会议室的投影仪坏了，需要更换灯泡。", "投影仪"),
        ("祖母的茶壶放在厨房的柜子里。", "茶壶"),
        ("下个月我们去桂林看山水。", "桂林"),
        ("数据库的备份每天凌晨三点开始。", "备份"),
        ("東京の倉庫には古い地球儀があります。", "地球儀"),
        ("毎週木曜日に三味線の稽古をしています。", "三味線"),
        ("サーバーの再起動は田中さんに頼んでください。", "再起動"),
        ("冷蔵庫の中にスイカがあります。", "スイカ"),
        ("회의는 부산 지사에서 열립니다.", "부산"),
        ("할머니의 김치냉장고가 고장났습니다.", "김치냉장고"),
        ("배포 일정은 수요일로 변경되었습니다.", "배포"),
        ("도서관 열쇠는 경비실에 있습니다.", "도서관"),
        ("Ключ от гаража лежит в синей коробке.", "гаража"),
        ("Бабушка варит варенье из крыжовника каждое лето.", "крыжовника"),
        ("Сервер переехал в новую стойку в Казани.", "Казани"),
        ("Совещание перенесли на четверг из-за метели.", "метели"),
        ("مفتاح المكتبة عند الحارس في الطابق الأول.", "الحارس"),
        ("يبدأ الاجتماع بعد صلاة العصر في القاهرة.", "القاهرة"),
        ("تحتاج الطابعة إلى حبر جديد.", "الطابعة"),
        ("زرعت جدتي شجرة زيتون في الحديقة.", "زيتون"),
        ("पुस्तकालय की चाबी चौकीदार के पास है।", "चौकीदार"),
        ("अगली बैठक जयपुर में होगी।", "जयपुर"),
        ("दादी हर सर्दी में गाजर का हलवा बनाती हैं।", "हलवा"),
        ("सर्वर का बैकअप रविवार को होता है।", "रविवार"),
        ("Το κλειδί της αποθήκης είναι κάτω από τη γλάστρα.", "γλάστρα"),
        ("Η συνάντηση θα γίνει στη Θεσσαλονίκη.", "Θεσσαλονίκη"),
        ("Ο παππούς παίζει μπουζούκι τα Σάββατα.", "μπουζούκι"),
        ("Ο εκτυπωτής χρειάζεται καινούργιο μελάνι.", "μελάνι"),
    ];
    for (fact, question) in FACTS {
        let fact = shelf.add(fact);
        shelf.ask(Class::Script, question, fact);
    }
}
