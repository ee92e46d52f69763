//! The kind of a text.

use super::SentenceSignals;
use super::cues::Cue;

/// The worth from which a sentence decides the kind of a text, even if most of the others are
/// questions.
const WORTH_BEYOND_QUESTIONS: f64 = 0.5;

/// Returns the kind of a text, one of [`MEMORY_KINDS`](loci_core::MEMORY_KINDS): `question` if more
/// than half of its sentences are questions and the others have a low worth, otherwise the kind of
/// its sentence of the highest worth. The first rule that applies to the sentence decides:
///
/// 1. `question`: it is a question.
/// 2. `preference`: a person likes, dislikes or always does something, or orders it permanently.
/// 3. `decision`: something was settled.
/// 4. `task`: something is to be done.
/// 5. `other`: thanks, greetings, moods and the weather.
/// 6. `event`: something happens at a time.
/// 7. `fact`: it is another statement, about the speaker or with a verb of being or having, is to
///    be remembered, is about the course of a life, or names something exactly.
/// 8. `other`: the rest.
///
/// The order puts the costliest mistakes first: "I decided on Monday to call Ann" is a decision
/// before it is a task or an event, and every sentence with a date is a fact as well.
pub(super) fn kind(sentences: &[SentenceSignals<'_>]) -> &'static str {
    let asked = sentences
        .iter()
        .filter(|judged| judged.has(Cue::Question))
        .count();
    let told = sentences.iter().filter(|judged| !judged.has(Cue::Question));
    let best = told.reduce(|best, next| if next.worth > best.worth { next } else { best });
    match best {
        Some(best) if asked * 2 <= sentences.len() || best.worth >= WORTH_BEYOND_QUESTIONS => {
            kind_of(best)
        }
        _ if asked > 0 => "question",
        _ => "other",
    }
}

/// Returns the kind of a sentence that is not a question.
fn kind_of(told: &SentenceSignals<'_>) -> &'static str {
    let rules: [(&str, &[Cue]); 6] = [
        ("preference", &[Cue::Preference, Cue::StandingOrder]),
        ("decision", &[Cue::Decision]),
        ("task", &[Cue::Task]),
        ("other", &[Cue::SmallTalk, Cue::Moment]),
        ("event", &[Cue::Event]),
        ("fact", &[Cue::Statement, Cue::Request, Cue::Life]),
    ];
    match rules
        .into_iter()
        .find(|(_, cues)| cues.iter().any(|cue| told.has(*cue)))
    {
        Some((kind, _)) => kind,
        None if told.specifics > 0 => "fact",
        None => "other",
    }
}

#[cfg(test)]
mod tests {
    use loci_core::MEMORY_KINDS;

    use crate::enrichment::judge;

    #[test]
    fn table_of_kinds() {
        let table: [(&str, &[&str]); 7] = [
            (
                "question",
                &[
                    "Can you send me the file, please?",
                    "Is it possible that I am allergic to cats?",
                    "Remember when we got lost in Prague?",
                    "What is the deadline of the migration?",
                    "how do i reset my password",
                    "so what did we say about the staging server",
                    "Could you explain why the build is slow? Or is it the network?",
                    "Do I always have to rebase before I merge?",
                    "Do you remember where I parked the car?",
                    "Can you remind me what my landlord is called?",
                    "Tell me how the retry queue works",
                    "I wonder whether the old laptop still boots.",
                    "¿Dónde está la biblioteca?",
                    "会议几点开始？",
                ],
            ),
            (
                "preference",
                &[
                    "Use tabs, not spaces, in all my projects.",
                    "I really dislike it when people call me at work.",
                    "I prefer dark mode in every editor.",
                    "My favourite language is Rust",
                    "I don't like meetings before ten in the morning.",
                    "I can’t stand cilantro.",
                    "The user likes short answers.",
                    "My wife loves hiking in the Dolomites.",
                    "Thanks! I love it, I always take the night train.",
                    "I prefer tea. Do you have any?",
                    "Please never use emojis in your replies",
                    "Don't ever push to main without a review",
                    "Always answer me in German, and without bullet points",
                    "Could you always give me metric units?",
                ],
            ),
            (
                "decision",
                &[
                    "We've chosen Svelte for the frontend.",
                    "We decided to use PostgreSQL for the billing service.",
                    "Let's go with the blue design then.",
                    "From now on all releases are signed.",
                    "After the meeting on Monday we settled on weekly releases.",
                    "We have agreed to meet in Lisbon in October.",
                    "I've made up my mind, I'm taking the offer from Siemens.",
                    "Just so you know, we switched to pnpm last week.",
                ],
            ),
            (
                "task",
                &[
                    "Update the dependencies of the parser",
                    "I've got to get the car inspected next week.",
                    "I need to renew my passport before the trip.",
                    "I still have to book the hotel in Lyon",
                    "We really should replace the boiler before winter.",
                    "Remember to call the dentist tomorrow.",
                    "Can you remind me to water the plants on Sunday?",
                    "Fix the flaky test in the payment module",
                    "Please send the slides to Maria by Friday.",
                    "TODO: rotate the deploy keys",
                    "The tax return has to be submitted by the end of July",
                    "Ann needs to sign the lease this week",
                    "I'm going to repaint the kitchen",
                    "We have not decided yet, but somebody should ask the customer.",
                ],
            ),
            (
                "event",
                &[
                    "Dentist appointment on 12 May at 15:30.",
                    "Yesterday the production database went down for an hour.",
                    "I moved to Berlin last week. Do you know a good bakery there?",
                    "My sister got married in Porto.",
                    "My mother died last week, I'm flying home for the funeral",
                    "I was promoted to team lead in October",
                    "The conference takes place on 2026-09-14.",
                    "We met Ann at the office on Tuesday.",
                    "I'm going to Paris next week with two friends",
                ],
            ),
            (
                "fact",
                &[
                    "Use case three is broken",
                    "Test results are in.",
                    "I picked up the kids from school.",
                    "You should have seen his face when he opened the door.",
                    "I would like a large pizza.",
                    "We use Postgres, ok?",
                    "Note the following:\nThe archive is on disk two.",
                    "can you remember that I am allergic to penicillin?",
                    "I'm allergic to bee stings, please remember that",
                    "Would you please keep in mind that my son has coeliac disease?",
                    "Remember this: the alarm code of the office is 4711",
                    "We deploy from the release branch. Please remember that.",
                    "My doctor told me that I have type 2 diabetes",
                    "I am allergic to peanuts. Which snacks are safe? Is marzipan?",
                    "The API key lives in the vault under ci/deploy.",
                    "My daughter is called Mia and she is seven.",
                    "Our staging server listens on port 8443",
                    "Kubernetes cluster: eu-west-1, 12 nodes",
                    "It looks like the cache is shared by both services.",
                    "Visitors are not allowed in the server room",
                    "This must be the oldest bridge of the town",
                    "I have to admit that the old printer is quite good",
                ],
            ),
            (
                "other",
                &[
                    "Don't worry about it.",
                    "It must have rained all night.",
                    "Thanks a lot, that was helpful!",
                    "ok great",
                    "Good morning!",
                    "So anyway.",
                    "hmm, interesting stuff",
                    "I am so tired right now",
                    "It is raining outside and I am a bit bored right now",
                    "That must be the funniest thing that I have read today",
                    "I have to laugh at that joke every single time",
                    "素晴らしい天気",
                    "!!!",
                ],
            ),
        ];
        for (expected, texts) in table {
            for text in texts {
                assert_eq!(judge(text).kind, expected, "{text}");
            }
        }
        assert_eq!(
            table
                .map(|(kind, _)| kind)
                .iter()
                .filter(|kind| MEMORY_KINDS.contains(kind))
                .count(),
            MEMORY_KINDS.len()
        );
    }
}
