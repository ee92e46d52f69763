//! Measures the cost of analysing text: `cargo bench -p loci-text --bench analysis`.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::hint::black_box;
use std::time::Instant;

use jiff::civil::date;
use loci_text::query::Query;
use loci_text::{analysis, dates, document, excerpt, passages};

/// Calls of one round; the fastest round counts.
const CALLS: usize = 200;
const ROUNDS: usize = 5;

/// About 500 characters each.
const TEXTS: [(&str, &str); 5] = [
    (
        "prose",
        "Caroline: I went to a support group yesterday and it was so powerful. The stories were inspiring, and I was \
         happy and thankful for all the help that they gave me. We talked about painting, about our children's school, \
         and about the camping trip to the lake that Melanie had planned for the summer. I don't know yet whether I'll \
         join, but it would be wonderful to see the mountains again! My brother said that he'd come along with his \
         two dogs, and that we should leave early on Friday morning.",
    ),
    (
        "prose with dates",
        "On 7 May 2023 the team met in Berlin, and again on May 21, 2023. The release of version 2.4.1 was moved from \
         2023-06-01 to the week of 12 June 2023, since the tests had failed for three weeks. In 2022 the same thing \
         happened in the summer: two weeks ago Anna counted 1,250 open issues, 30% of them older than a year. Last \
         Friday she closed forty of them. The next review is on 3 July at 14:30, and a report is due by the end of \
         August 2023, before the holidays begin in many of the countries.",
    ),
    (
        "identifiers",
        "See crates/loci-text/src/lib.rs:120 and getUserName in user_service.py; the id is \
         550e8400-e29b-41d4-a716-446655440000 and the error ERR_4012_TIMEOUT (https://example.com/docs/v1.2.3?page=4). \
         Call std::io::Error::new(kind, message) with sha256 a1b2c3d4e5f6a7b8c9d0, host 10.0.0.1:8080, mail \
         ada@example.com. The flags are --max-old-space-size=4096 and -Wno-unused; set RUST_LOG=debug,hyper=info, \
         build with C++ or C# on .NET 8, and read snake_case, kebab-case, CamelCase, HTTPServer, utf8String, k8s.",
    ),
    (
        "chinese",
        "昨天我和朋友一起去了东京都的博物馆，看到了很多有意思的画。我们在那里待了三个小时，然后去附近的餐厅吃了晚饭。\
         她说她想在二〇二三年搬到京都，因为那里的大学很好，而且她的妹妹也住在那里。我觉得这个主意不错，不过房租可能有点贵。\
         回家的路上我们讨论了下个月的旅行计划，决定坐火车去北海道。",
    ),
    (
        "accents",
        "Ayer fui con mi hermana a la exposición del museo; había más gente de la que esperábamos. Después comimos en \
         un café pequeño junto al río y hablamos de José, que volverá de Perú en otoño. Él dice que el año próximo \
         estudiará música en Málaga. Mi madre cree que será difícil encontrar habitación, pero también está segura de \
         que todo saldrá bien. Quizás vayamos a verlo en Navidad, si el niño ya está mejor y los billetes no están \
         demasiado caros.",
    ),
];

fn main() {
    let today = date(2023, 6, 14);
    println!(
        "{:18} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "us for each text", "analysis", "dates", "document", "embedded", "passages"
    );
    for (name, text) in TEXTS {
        let tags = ["2023-05-08".to_owned(), "conversation".to_owned()];
        let range = 0..text.len();
        let figures = [
            microseconds(|| analysis::term_counts([text]).len()),
            microseconds(|| dates::expressions(text, today).len()),
            microseconds(|| document::terms(text, range.clone(), &tags, today).len()),
            microseconds(|| document::embedded_text(text, range.clone()).len()),
            microseconds(|| passages::passages(text).len()),
        ];
        let [analysis, dates, document, embedded, passages] = figures;
        println!(
            "{name:18} {analysis:>9.1} {dates:>9.1} {document:>9.1} {embedded:>9.1} {passages:>9.1}"
        );
    }
    let question =
        "When did Caroline's brother read \"Nothing is Impossible\" at the lake in May 2023?";
    println!(
        "{:18} {:>9.1}",
        "one query",
        microseconds(|| Query::parse(question, today).terms.len())
    );
    let long = TEXTS[0].1.repeat(20);
    println!(
        "{:18} {:>9.1}",
        "10k for passages",
        microseconds(|| passages::passages(&long).len())
    );
    // An excerpt as a search result shows it, of the longest text.
    let terms = analysis::query_terms(question);
    let longest = format!("{}\n\n", TEXTS[0].1).repeat(2_000);
    let near = longest.len() / 2..longest.len() / 2 + 800;
    let shown = || excerpt::excerpt(&longest, &terms, Some(near.clone()), 2_000).len();
    println!("{:18} {:>9.1}", "excerpt of 1 MB", microseconds(shown));
}

/// Returns the time of one call in the fastest round.
fn microseconds(work: impl Fn() -> usize) -> f64 {
    let round = || {
        let start = Instant::now();
        (0..CALLS).for_each(|_| {
            black_box(work());
        });
        start.elapsed().as_secs_f64() * 1e6 / CALLS as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}
