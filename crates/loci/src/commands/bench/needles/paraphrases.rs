//! Questions in other words than the facts that answer them, all invented.

/// Question and fact. No word of the question that the search looks at has a stem which the fact has,
/// too.
pub const PAIRS: [(&str, &str); 68] = [
    ("What pet does the family own?", "Our household has a tabby cat called Biscuit."),
    ("How do I get to the office?", "Take tram 9 to Mill Lane, then walk two minutes to work."),
    ("Whose body reacts badly to some foods?", "Priya is allergic to peanuts and carries an adrenaline pen."),
    ("What vehicle do we drive?", "The Hendersons bought a second-hand Volvo estate."),
    ("When is the rent due?", "The landlord wants his money on the first of each month."),
    ("Where do we keep spare copies of the files?", "Backups go to a disk in the basement every night."),
    ("Who repairs the heating?", "Call Mr Dabrowski if the boiler breaks down; he is a good plumber."),
    ("Which language is the backend written in?", "The server side is implemented entirely in Rust."),
    ("How long until users are logged out automatically?", "Idle sessions expire after thirty minutes."),
    ("What caused the outage?", "The site went down because a certificate had lapsed."),
    ("Which musical instrument is being learnt?", "Tomas takes cello lessons on Thursdays."),
    ("What sport is played at the weekend?", "On Saturdays the twins have football practice."),
    ("Is anyone in the group vegetarian?", "Leila does not eat meat or fish."),
    ("How cold should the bedroom be at night?", "Set the thermostat to 17 degrees before going to sleep."),
    ("Where was the honeymoon?", "After the wedding, the couple flew to Madeira."),
    ("What is the salary of the new hire?", "The freshly recruited engineer earns 68,000 a year."),
    ("Which doctor looks after the teeth?", "Our dentist is on Rose Street."),
    (
        "How can customers get their cash back?",
        "Refunds are issued within fourteen days if the buyer sends the goods in.",
    ),
    ("What speed limit applies to callers of the API?", "Clients may send at most 100 requests per second."),
    ("Which colour are the walls of the nursery?", "We painted the baby's room pale green."),
    ("Who is in charge of hiring?", "Recruitment is led by Oksana."),
    ("When does the shop close?", "The store's opening hours end at eight in the evening."),
    ("Which present would make mum happy?", "My mother has been wishing for a telescope."),
    ("Where is the closest place to board a plane?", "Flights leave from Gdansk, forty kilometres away."),
    ("Which disease did grandfather die of?", "Grandpa passed away after a stroke."),
    ("Which film do we all love?", "Everybody's favourite movie is Paddington."),
    (
        "How is the code tested before release?",
        "Every commit runs through the continuous integration pipeline prior to shipping.",
    ),
    ("Which tool formats the source?", "We let Prettier tidy up all JavaScript."),
    ("Why was the project cancelled?", "Management stopped the undertaking since funding ran out."),
    ("Which colleague can translate Spanish?", "Javier grew up in Madrid and is a native of Castile."),
    ("Where is the emergency key hidden?", "A duplicate for the front door lies under the blue flowerpot."),
    ("How old is the youngest child?", "Little Emma turned three in April."),
    ("Which medication is taken daily?", "Grandma swallows a blood pressure pill every morning."),
    ("When is the rubbish collected?", "The bins are emptied on alternate Mondays."),
    ("What hobby keeps dad busy?", "Father spends his evenings building model railways."),
    ("Which insurance covers the house?", "Our home is protected by a policy from Alderney Mutual."),
    ("What is the maximum size of an upload?", "Attachments larger than 25 megabytes are rejected."),
    ("Where do we store secrets?", "Passwords and tokens live in the vault."),
    ("How do we authenticate people?", "Login uses one-time codes sent by text message."),
    ("What slows down the page?", "Rendering takes long because of huge uncompressed pictures."),
    ("Which meal is the best at the canteen?", "The lasagne in the cafeteria is delicious."),
    ("When do pupils have holidays?", "School is out for summer from July 8 on."),
    ("What is broken in the bathroom?", "The tap over the sink keeps dripping."),
    ("Who won the election of the club?", "Members voted for Bettina as their new chair."),
    ("How was the weather during the trip?", "It rained on all six days of our Scottish tour."),
    ("What frightens the dog?", "Our puppy hides under the sofa when there are fireworks."),
    ("Which exam is coming up?", "Nadia sits her chemistry finals in three weeks."),
    ("What is the monthly cost of hosting?", "We pay 240 euros to the cloud provider every four weeks."),
    ("How do we announce downtime?", "Scheduled maintenance is posted on the status page beforehand."),
    ("Which animal damages the vegetables?", "Slugs have been eating the lettuce in the garden."),
    ("Where can I park?", "There is a free garage for cars behind the library."),
    ("What injury does the runner have?", "Jonas sprained his ankle while jogging."),
    ("What makes the deployment fail?", "Rollouts crash whenever the migration script lacks permission."),
    ("Who designed the logo?", "The emblem was drawn by a freelance artist named Pilar."),
    ("Which religion does the neighbour practise?", "The lady next door is a Buddhist."),
    ("How many employees are there?", "Our staff has grown to 43 people."),
    ("Which novel are we discussing next?", "The book circle will read Middlemarch in May."),
    ("What is the wifi called?", "Our wireless network goes by the name of Tangerine."),
    ("Which university did the manager attend?", "Our team lead studied physics at Uppsala."),
    ("How should mistakes in invoices be corrected?", "Wrong bills are cancelled and issued again."),
    ("What must not be discussed with journalists?", "Never talk to the press about the merger."),
    ("Which fabric irritates the skin?", "Wool makes Henrik itch."),
    ("Who looks after the children when we go out?", "Chloe from next door minds the kids on date nights."),
    ("What should be in the first-aid box?", "Bandages, plasters and disinfectant belong into the medical kit."),
    ("Which database engine was chosen?", "We settled on PostgreSQL for persistent storage."),
    ("How often are passwords changed?", "Credentials must be rotated every ninety days."),
    ("When can I reach the lawyer?", "Our solicitor takes phone calls on weekday afternoons."),
    ("What is the reason for the noise upstairs?", "The tenants above us are renovating their kitchen."),
];

/// Questions that begin with a pronoun, and the facts that answer them in other words. The pronoun says
/// nothing, though [`STRAYS`] have it.
pub const STRAY_PAIRS: [(&str, &str); 12] = [
    ("Did she ever overcome the fear of heights?", "Marta climbed the tower without a tremor at last."),
    ("Did she learn how to bake?", "Wanda's sourdough bread turned out perfect."),
    ("Has she found a flat yet?", "Ingrid signed the lease for two rooms by the canal."),
    ("What did she give up smoking for?", "Cigarettes are history for Renate because of her pregnancy."),
    ("Did they get married?", "Ruth and Emil celebrated their wedding at the town hall."),
    ("Did they sell the farm?", "A developer acquired the Kowalskis' land and stables."),
    ("Have they settled the quarrel?", "The brothers made peace after years of dispute."),
    ("Are they expecting a baby?", "Hana is pregnant, and Piotr is building a cradle."),
    ("Did he quit the job?", "Anton handed in his resignation to the bank."),
    ("Has he recovered from the operation?", "Viktor is well again after surgery on the hip."),
    ("Is he afraid of flying?", "Aircraft terrify Ludwig, who takes trains instead."),
    ("Did he lose much weight?", "Boris slimmed down by twenty kilos with a diet."),
];

/// Facts that have the pronouns and nothing else to say about anything.
pub const STRAYS: [&str; 6] = [
    "Yes, she did, as ever.",
    "And has she? Ever?",
    "Did they, or did they not, is what they have to say.",
    "They are what they are.",
    "He did, and he is, and he has.",
    "Is he? Has he? Did he?",
];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loci_core::{Caller, CollectionFilter};
    use loci_embed::NoModel;
    use loci_engine::{Engine, Recall, Remember, SearchMode};
    use loci_store_sqlite::{Options, SqliteStore};

    use super::*;
    use crate::wiring::SystemClock;

    /// The words of the search itself are the judge: without a model, a question finds nothing but what
    /// shares a stem with it.
    #[test]
    fn no_question_shares_a_stem_with_its_fact() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let engine = Engine::new(Arc::new(store), Arc::new(NoModel::new()), Arc::new(SystemClock), SearchMode::Words);
        let caller = Caller::local();
        let mut shared = Vec::new();
        for (index, (question, fact)) in PAIRS.iter().chain(&STRAY_PAIRS).enumerate() {
            let collection = Some(format!("pair-{index}"));
            let memory = Remember { collection, ..Remember::new(*fact, "fact") };
            engine.remember(&caller, memory).unwrap();
            let found = |query: &str| {
                let collections = CollectionFilter::Only(format!("pair-{index}"));
                let recall = Recall { collections, ..Recall::new(query, 1, &|signals| signals.relevance) };
                !engine.recall(&caller, &recall).unwrap().hits.is_empty()
            };
            assert!(found(fact), "{fact}");
            shared.extend(found(question).then_some((question, fact)));
        }
        assert_eq!(shared, []);
    }
}
