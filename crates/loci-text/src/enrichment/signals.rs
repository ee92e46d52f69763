//! The importance of a text.

use super::cues::Cue;

/// The worth of any sentence.
const SAID: f64 = 0.2;
/// The weight of names and numbers, and the number that reaches 63% of that weight (1 - 1/e).
const SPECIFICS: (f64, f64) = (0.4, 2.0);
/// The same for words.
const LENGTH: (f64, f64) = (0.15, 20.0);
/// The weights of signals that raise the worth.
const REASONS: [(Cue, f64); 11] = [
    (Cue::Request, 0.65),
    (Cue::Life, 0.65),
    (Cue::StandingOrder, 0.65),
    (Cue::Rule, 0.65),
    (Cue::Decision, 0.65),
    (Cue::Preference, 0.4),
    (Cue::Task, 0.35),
    (Cue::Detail, 0.3),
    (Cue::Emphasis, 0.3),
    (Cue::Event, 0.15),
    (Cue::Speaker, 0.1),
];
/// The weights of signals that lower the worth.
const DOUBTS: [(Cue, f64); 4] = [
    (Cue::SmallTalk, 0.8),
    (Cue::Question, 0.6),
    (Cue::Moment, 0.5),
    (Cue::Hedge, 0.3),
];
/// The share of each further sentence, relative to the one before.
const FURTHER_SENTENCE: f64 = 0.25;

/// Returns the worth of a sentence, 0 to 1, from its number of words, the number of words that name
/// something exactly, and its signals.
///
/// Each signal `s`, 0 to 1, has a weight `w`: the worth of a sentence that has only this signal.
/// They combine like independent reasons (a noisy-or, Pearl, Probabilistic Reasoning in Intelligent
/// Systems, 1988): each one raises the sum, the sum never exceeds 1, and their order does not
/// matter. The signals against it then scale the sum down:
///
/// `worth = (1 - product of (1 - w s)) x product of (1 - d t)`
///
/// | for it | w | s | because |
/// |---|---|---|---|
/// | said at all | 0.2 | 1 | a sentence of more than 30 characters has a meaning |
/// | request to remember | 0.65 | yes or no | the user says so |
/// | life, health, diet, home, work | 0.65 | yes or no | it changes what is right for years |
/// | standing order, rule | 0.65 | yes or no | it binds every later answer |
/// | decision | 0.65 | yes or no | contradicting it later costs work |
/// | preference | 0.4 | yes or no | it guides every later answer |
/// | task | 0.35 | yes or no | it matters until it is done |
/// | name, address, job, relatives | 0.3 | yes or no | it says who the user is |
/// | called important | 0.3 | yes or no | the user says so, but not of what |
/// | event | 0.15 | yes or no | users ask for it by its time |
/// | about the speaker | 0.1 | yes or no | the memory is about its user |
/// | `n` numbers, dates, names, ids | 0.4 | 1 - e^(-n/2) | hard to guess; the first count most |
/// | `n` words | 0.15 | 1 - e^(-n/20) | it says more, with diminishing returns |
///
/// | against it | d | t | because |
/// |---|---|---|---|
/// | small talk | 0.8 | yes or no | it has no content |
/// | question | 0.6 | yes or no | it asks for knowledge and contains none |
/// | moment: now, weather, mood, jokes | 0.5 | yes or no | it is over before a user asks for it |
/// | hedge | 0.3 | yes or no | it may be false |
pub(super) fn worth(words: usize, specifics: usize, cues: &[Cue]) -> f64 {
    let saturated = |count: usize, (weight, scale): (f64, f64)| {
        weight * (1.0 - (-(count as f64) / scale).exp())
    };
    let none_of = |signals: &[(Cue, f64)]| {
        let held = signals.iter().filter(|(cue, _)| cues.contains(cue));
        held.map(|(_, weight)| 1.0 - weight).product::<f64>()
    };
    let unsaid = (1.0 - SAID)
        * (1.0 - saturated(specifics, SPECIFICS))
        * (1.0 - saturated(words, LENGTH))
        * none_of(&REASONS);
    (1.0 - unsaid) * none_of(&DOUBTS)
}

/// Returns the importance of a text, 0 to 1, to two digits: that of its best sentence, and a little
/// more for each further one, with the worths `v` from the highest down:
///
/// `importance = 1 - product of (1 - v_i)^(1 / 4^i), i = 0, 1, ...`
///
/// So one important sentence counts among many others, and many unimportant ones do not add up to
/// one.
pub(super) fn importance(worths: impl Iterator<Item = f64>) -> f64 {
    let mut worths: Vec<f64> = worths.collect();
    worths.sort_by(|left, right| right.total_cmp(left));
    let shares = std::iter::successors(Some(1.0), |share| Some(share * FURTHER_SENTENCE));
    let unsaid: f64 = worths
        .iter()
        .zip(shares)
        .map(|(worth, share)| (1.0 - worth).powf(share))
        .product();
    ((1.0 - unsaid) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use crate::enrichment::judge;

    #[test]
    fn what_lasts_matters_more_than_what_is_useful_and_that_more_than_the_moment() {
        let groups: [&[&str]; 3] = [
            &[
                "can you remember that I am allergic to penicillin?",
                "My doctor told me that I have type 2 diabetes",
                "My mother died last week, I'm flying home for the funeral",
                "I was promoted to team lead in October",
                "Don't ever push to main without a review",
                "Never send invoices without the purchase order number",
                "Interns must not have access to the production database",
                "We decided to cancel the gym contract",
                "My new address is 12 Harbour Street, third floor",
                "We're expecting twins in March",
                "Please keep in mind that the garage door only opens from inside",
                "I can't eat gluten",
                "We lost the baby in the second trimester",
                "Would you mind remembering that my surname is spelled with two t's?",
                "We moved the daily call to ten, remember that please",
                "Anna retired last year and moved to Spain",
            ],
            &[
                "I prefer the window seat on long flights",
                "My wife hates coriander",
                "I need to renew my passport before the trip",
                "Remind me to water the plants on Sunday",
                "My name is Ana and I work for a publisher",
                "The invoice is due on 14 June",
                "My brother is a nurse in Leeds",
                "Ann and Bob visited the plant in Gdansk on Tuesday",
                "The staging server listens on port 8443 of atlas-7",
                "My flight to Tokyo leaves tomorrow at seven",
                "Call me Sam and not Samantha",
                "Someone needs to fix the leaky tap in the kitchen",
            ],
            &[
                "You have to see this video of a cat that plays the piano",
                "I can't remember where I put my keys",
                "I'm dying to see that film",
                "He's nice but always talks too much",
                "Went home and never looked back",
                "The new job queue is slow since the update",
                "The old build must have been promoted by mistake",
                "Never mind, I found it",
                "People like you are rare",
                "It is raining outside and I am a bit bored right now",
                "That must be the funniest thing that I have read today",
                "I have to laugh at that joke every single time",
                "Thanks a lot, that was really helpful",
                "Good morning, I hope you are well",
                "I am so hungry right now that I cannot think",
                "You must be joking, there is no way that this is true",
                "What is the capital of France, by the way?",
                "tell me something about the history of chess",
                "The soup was quite good and the bread as well",
                "It should be fine, let's see what happens",
                "I wonder whether the old lamp still works",
            ],
        ];
        for pair in groups.windows(2) {
            for (more, less) in pair[0]
                .iter()
                .flat_map(|more| pair[1].iter().map(move |less| (more, less)))
            {
                let (high, low) = (judge(more).importance, judge(less).importance);
                assert!(
                    high > low,
                    "{high} {more:?} should matter more than {low} {less:?}"
                );
            }
        }
    }

    #[test]
    fn each_signal_moves_it_in_its_direction() {
        let rows = [
            ("The backup runs at night", "My backup runs at night"),
            (
                "The backup runs at night",
                "The backup runs at night on atlas-7",
            ),
            (
                "The backup runs at night",
                "The backup runs at night on Sunday",
            ),
            (
                "The backup runs at night",
                "The backup runs at night, that is important",
            ),
            (
                "The backup runs at night",
                "Keep in mind that the backup runs at night",
            ),
            ("I make backups at night", "I have to make backups at night"),
            (
                "The backup runs at night",
                "We decided that the backup runs at night",
            ),
            (
                "The backup runs at night",
                "I prefer that the backup runs at night",
            ),
            (
                "The backup may run at night",
                "The backup may only run at night",
            ),
            ("Run the backup at night", "Never run the backup at night"),
            ("My friend runs at night", "My friend had surgery at night"),
            ("I exist at night", "I live at night"),
            (
                "The backup runs at night",
                "The backup runs at night and copies all the photos to the disk",
            ),
            (
                "Does the backup run at night?",
                "The backup does run at night",
            ),
            (
                "Apparently the backup runs at night",
                "The backup runs at night",
            ),
            ("The backup is boring", "The backup is complete"),
            ("Great, that is nice", "The backup runs late"),
        ];
        for (less, more) in rows {
            assert!(
                judge(less).importance < judge(more).importance,
                "{less:?} should matter less than {more:?}"
            );
        }
    }

    #[test]
    fn a_text_matters_as_its_best_sentence_does_and_a_little_more() {
        let best = judge("I am allergic to penicillin.").importance;
        let idle = "The soup was good. ";
        let several = judge(&format!("{}I am allergic to penicillin.", idle.repeat(20))).importance;
        assert!(best < several && several < best + 0.1, "{best} {several}");
        assert!(judge(&idle.repeat(1_000)).importance < 0.4);
    }
}
