//! What a text is.

use super::sentence::Sentence;

/// The kind of a text, one of [`MEMORY_KINDS`](loci_core::MEMORY_KINDS): the first rule that holds.
///
/// 1. `question`: more than half of its sentences ask. The other rules read only those that don't.
/// 2. `preference`: somebody likes, dislikes or always does something.
/// 3. `decision`: something was settled.
/// 4. `task`: something is to be done.
/// 5. `event`: something happens at a time.
/// 6. `fact`: anything else that is stated, about the speaker or with a verb of being or having, or
///    that names something exactly.
/// 7. `other`: the rest, such as thanks and greetings.
///
/// The order is that of how much is lost by the wrong word: "I decided on Monday to call Ann" is a
/// decision before it is a task or an event, and everything with a date is a fact as well.
pub(super) fn kind(sentences: &[Sentence<'_>]) -> &'static str {
    let asked = sentences.iter().filter(|sentence| sentence.is_question).count();
    if asked * 2 > sentences.len() {
        return "question";
    }
    let any =
        |holds: fn(&Sentence<'_>) -> bool| sentences.iter().any(|sentence| !sentence.is_question && holds(sentence));
    if any(is_preference) {
        "preference"
    } else if any(is_decision) {
        "decision"
    } else if any(is_task) {
        "task"
    } else if any(is_event) {
        "event"
    } else if any(is_fact) {
        "fact"
    } else {
        "other"
    }
}

/// Whether it says what somebody likes.
pub(super) fn is_preference(sentence: &Sentence<'_>) -> bool {
    sentence.says(PREFERENCES)
}

/// Whether it says that something was settled.
pub(super) fn is_decision(sentence: &Sentence<'_>) -> bool {
    sentence.says(DECISIONS)
}

/// Whether it says that something is to be done.
pub(super) fn is_task(sentence: &Sentence<'_>) -> bool {
    sentence.begins_with(ORDERS) || sentence.says(TASKS)
}

/// Whether it is politeness alone.
pub(super) fn is_small_talk(sentence: &Sentence<'_>) -> bool {
    const WORDS_MAX: usize = 8;
    sentence.words <= WORDS_MAX && sentence.specifics() == 0 && sentence.begins_with(SMALL_TALK)
}

fn is_event(sentence: &Sentence<'_>) -> bool {
    sentence.says(EVENTS) || sentence.text.split_whitespace().any(is_iso_date)
}

fn is_fact(sentence: &Sentence<'_>) -> bool {
    !is_small_talk(sentence) && (sentence.says(STATEMENTS) || sentence.specifics() > 0)
}

/// Whether it begins like 2026-03-01.
fn is_iso_date(chunk: &str) -> bool {
    let mut fields = chunk.trim_start_matches(|character: char| !character.is_alphanumeric()).splitn(3, '-');
    let mut has_digits = |count: usize| {
        let field = fields.next().unwrap_or_default().as_bytes();
        field.len() >= count && field[..count].iter().all(u8::is_ascii_digit)
    };
    has_digits(4) && has_digits(2) && has_digits(2)
}

const PREFERENCES: &[&str] = &[
    "prefer",
    "prefers",
    "preferred",
    "preference",
    "preferences",
    "favourite",
    "favorite",
    "i like",
    "i love",
    "i hate",
    "i enjoy",
    "i dislike",
    "i adore",
    "i really like",
    "i really love",
    "i also like",
    "i don't like",
    "i do not like",
    "i don't enjoy",
    "i can't stand",
    "i cannot stand",
    "i'd rather",
    "i would rather",
    "i always",
    "i usually",
    "we like",
    "we always",
    "user likes",
    "user loves",
    "user hates",
    "user enjoys",
    "user dislikes",
    "she likes",
    "she loves",
    "she hates",
    "he likes",
    "he loves",
    "he hates",
    "they like",
    "they love",
    "big fan of",
    "a fan of",
    "not a fan of",
    "i never",
];
const DECISIONS: &[&str] = &[
    "decided",
    "decide to",
    "decision",
    "we chose",
    "i chose",
    "have chosen",
    "has chosen",
    "settled on",
    "agreed on",
    "agreed to",
    "agreed that",
    "let's go with",
    "let's use",
    "going with",
    "we go with",
    "we'll go with",
    "we will use",
    "we'll use",
    "i'll use",
    "i will use",
    "opted for",
    "we picked",
    "i picked",
    "from now on",
    "switching to",
    "we switched to",
    "i switched to",
    "approved",
    "we are dropping",
    "we're dropping",
    "we will keep",
    "we'll keep",
    "ruled out",
];
const TASKS: &[&str] = &[
    "todo",
    "to do list",
    "need to",
    "needs to",
    "have to",
    "has to",
    "must",
    "should",
    "remind me",
    "remember to",
    "don't forget to",
    "do not forget to",
    "deadline",
    "is due",
    "are due",
    "due on",
    "due by",
    "make sure",
    "please",
    "i'll",
    "i will",
    "we'll",
    "we will",
    "next step",
    "next steps",
    "action item",
    "action items",
    "i want to",
    "i plan to",
    "we plan to",
    "i am going to",
    "i'm going to",
    "we are going to",
    "we're going to",
    "let's",
];
/// Verbs that begin an order.
const ORDERS: &[&str] = &[
    "add",
    "book",
    "buy",
    "call",
    "check",
    "clean",
    "create",
    "delete",
    "deploy",
    "do",
    "email",
    "finish",
    "fix",
    "implement",
    "install",
    "migrate",
    "move",
    "order",
    "pay",
    "pick up",
    "prepare",
    "refactor",
    "remove",
    "rename",
    "reply",
    "review",
    "rewrite",
    "schedule",
    "send",
    "submit",
    "test the",
    "update",
    "upgrade",
    "write",
];
const EVENTS: &[&str] = &[
    "yesterday",
    "tomorrow",
    "tonight",
    "last night",
    "this morning",
    "this afternoon",
    "this evening",
    "last week",
    "last month",
    "last year",
    "last summer",
    "last winter",
    "next week",
    "next month",
    "next year",
    "this weekend",
    "last weekend",
    "next weekend",
    "ago",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "in may",
    "of may",
    "birthday",
    "wedding",
    "anniversary",
    "conference",
    "appointment",
    "meeting",
    "happened",
    "went to",
    "moved to",
    "i met",
    "we met",
    "visited",
    "was released",
    "was born",
    "got married",
    "graduated",
    "started working",
    "shipped",
    "launched",
    "an outage",
    "the outage",
    "an incident",
    "the incident",
];
const STATEMENTS: &[&str] = &[
    "i",
    "i'm",
    "i've",
    "my",
    "mine",
    "our",
    "we",
    "we're",
    "is",
    "isn't",
    "are",
    "aren't",
    "was",
    "were",
    "has",
    "have",
    "had",
    "it's",
    "he's",
    "she's",
    "that's",
    "there's",
    "uses",
    "use",
    "works",
    "work",
    "lives",
    "runs",
    "means",
    "contains",
    "needs",
    "requires",
    "belongs",
    "called",
    "named",
    "equals",
    "stands for",
    "consists of",
    "can",
    "will",
    "does",
    "cannot",
    "can't",
    "takes",
    "costs",
    "speaks",
    "supports",
    "allergic",
];
const SMALL_TALK: &[&str] = &[
    "thanks",
    "thank you",
    "thx",
    "hello",
    "hi",
    "hey",
    "good morning",
    "good evening",
    "good night",
    "good afternoon",
    "ok",
    "okay",
    "great",
    "cool",
    "nice",
    "awesome",
    "perfect",
    "wonderful",
    "lol",
    "haha",
    "bye",
    "goodbye",
    "see you",
    "sure",
    "yes",
    "yeah",
    "yep",
    "no",
    "nope",
    "got it",
    "sounds good",
    "that's great",
    "that's nice",
    "never mind",
    "no problem",
    "no worries",
    "you're welcome",
    "well done",
    "good job",
    "have a nice",
    "have a good",
    "have a great",
    "oh",
    "wow",
    "sorry",
    "i see",
    "that works",
    "looks good",
];

#[cfg(test)]
mod tests {
    use loci_core::MEMORY_KINDS;

    use crate::enrichment::judge;

    #[test]
    fn table_of_kinds() {
        let rows = [
            ("question", "What is the deadline of the migration?"),
            ("question", "how do i reset my password"),
            ("question", "Could you explain why the build is slow? It was fast. Or was it?"),
            ("question", "¿Dónde está la biblioteca?"),
            ("question", "会议几点开始？"),
            ("question", "Do I always have to rebase before I merge?"),
            ("preference", "I prefer dark mode in every editor."),
            ("preference", "My favourite language is Rust"),
            ("preference", "I don't like meetings before ten in the morning."),
            ("preference", "I can’t stand cilantro."),
            ("preference", "The user likes short answers."),
            ("preference", "Thanks! I love it, I always take the night train."),
            ("preference", "I prefer tea. Do you have any?"),
            ("decision", "We decided to use PostgreSQL for the billing service."),
            ("decision", "Let's go with the blue design then."),
            ("decision", "From now on all releases are signed."),
            ("decision", "After the meeting on Monday we settled on weekly releases."),
            ("decision", "We have agreed to meet in Lisbon in October."),
            ("task", "I need to renew my passport before the trip."),
            ("task", "Remember to call the dentist tomorrow."),
            ("task", "Fix the flaky test in the payment module"),
            ("task", "Please send the slides to Maria by Friday."),
            ("task", "TODO: rotate the deploy keys"),
            ("task", "We have not decided yet, but somebody should ask the customer."),
            ("event", "Yesterday the production database went down for an hour."),
            ("event", "I moved to Berlin last week. Do you know a good bakery there?"),
            ("event", "My sister got married in Porto."),
            ("event", "The conference takes place on 2026-09-14."),
            ("event", "We met Ann at the office on Tuesday."),
            ("fact", "I am allergic to peanuts."),
            ("fact", "The API key lives in the vault under ci/deploy."),
            ("fact", "My daughter is called Mia and she is seven."),
            ("fact", "Our staging server listens on port 8443"),
            ("fact", "Kubernetes cluster: eu-west-1, 12 nodes"),
            ("fact", "It looks like the cache is shared by both services."),
            ("other", "Thanks a lot, that was helpful!"),
            ("other", "ok great"),
            ("other", "Good morning!"),
            ("other", "hmm, interesting stuff"),
            ("other", "素晴らしい天気"),
            ("other", "!!!"),
        ];
        for (expected, text) in rows {
            assert_eq!(judge(text).kind, expected, "{text}");
        }
        for kind in MEMORY_KINDS {
            assert!(rows.iter().any(|(expected, _)| *expected == kind), "{kind} has no example");
        }
    }
}
