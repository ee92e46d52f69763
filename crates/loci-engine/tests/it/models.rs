//! Tests of the switch from one embedding model to another.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use loci_core::{FormerModels, Partition, Space, Store, unit_vector};
use loci_engine::{ModelState, SimilarQuery};

use super::faulty_store::FaultyStore;
use super::*;

/// More memories than one round embeds.
const MEMORIES: usize = 40;

/// A model with the vectors of another one, rotated: they rank as before when compared with each
/// other, and differently when compared with vectors of another rotation.
struct Turned {
    inner: HashingEmbedder,
    model: ModelId,
    by: usize,
    /// The texts that it embedded.
    read: Mutex<Vec<String>>,
    is_away: AtomicBool,
    /// A word in a text that it refuses.
    refuses: &'static str,
    /// The number of components of its vectors, if they are cut.
    dimensions: AtomicUsize,
}

impl Turned {
    fn new(name: &str, by: usize) -> Arc<Self> {
        Turned::refusing(name, by, "poison by name")
    }

    fn refusing(name: &str, by: usize, refuses: &'static str) -> Arc<Self> {
        let (inner, model) = (HashingEmbedder::default(), ModelId::new(name));
        let (is_away, dimensions) = (AtomicBool::new(false), AtomicUsize::new(usize::MAX));
        Arc::new(Turned {
            inner,
            model,
            by,
            read: Mutex::default(),
            is_away,
            refuses,
            dimensions,
        })
    }

    fn both() -> [Arc<Self>; 2] {
        [Turned::new("old", 1), Turned::new("new", 2)]
    }

    fn has_read(&self, text: &str) -> usize {
        self.read
            .lock()
            .unwrap()
            .iter()
            .filter(|read| *read == text)
            .count()
    }
}

impl Embedder for Turned {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.read
            .lock()
            .unwrap()
            .extend(texts.iter().map(|text| (*text).to_owned()));
        if self.is_away.load(Ordering::SeqCst)
            || texts.iter().any(|text| text.contains(self.refuses))
        {
            return Err(Error::unavailable("the model is away"));
        }
        let mut vectors = self.inner.embed(texts)?;
        for vector in &mut vectors {
            vector.rotate_left(self.by);
            vector.truncate(self.dimensions.load(Ordering::SeqCst));
            // The remaining components may all be zero.
            if self.dimensions.load(Ordering::SeqCst) < usize::MAX {
                vector[0] += 1e-6;
            }
            *vector = unit_vector(std::mem::take(vector)).unwrap();
        }
        Ok(vectors)
    }
}

/// The available former models.
struct Shelf(Vec<Arc<Turned>>);

impl FormerModels for Shelf {
    fn embedder_of(&self, model: &ModelId) -> Option<Arc<dyn Embedder>> {
        let found = self.0.iter().find(|embedder| embedder.model() == model)?;
        Some(Arc::<Turned>::clone(found))
    }
}

struct Place {
    store: Arc<FaultyStore>,
    clock: Arc<FixedClock>,
}

impl Place {
    fn new() -> Self {
        let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(1_000_000)));
        Place {
            store: FaultyStore::new(Arc::new(NaiveStore::new())),
            clock,
        }
    }

    /// Creates an engine with that model, which the store takes for another process.
    fn engine(&self, model: &Arc<Turned>, others: &[&Arc<Turned>]) -> Engine {
        let shelf = Shelf(others.iter().map(|other| Arc::clone(other)).collect());
        Engine::new(
            self.store.clone(),
            model.clone(),
            self.clock.clone(),
            SearchMode::Hybrid,
        )
        .with_former_models(Arc::new(shelf))
    }

    fn models(&self) -> Vec<String> {
        self.store
            .inner
            .models()
            .unwrap()
            .into_iter()
            .map(|(model, _)| model.to_string())
            .collect()
    }

    fn pending(&self, model: &Turned) -> usize {
        self.store
            .inner
            .pending_embeddings(model.model(), usize::MAX)
            .unwrap()
    }
}

fn keep(engine: &Engine, content: &str) -> Embedding {
    engine
        .system(&Caller::local())
        .memories()
        .remember(fact(content, Visibility::Common))
        .unwrap()
        .embedding
}

/// Stores memories that are more or less similar to some questions.
fn fill(engine: &Engine) {
    const WORDS: [&str; 5] = ["tea", "bread", "honey", "rain", "stone"];
    for number in 0..MEMORIES {
        let words: Vec<&str> = (0..=number % 4)
            .map(|word| WORDS[(number / 4 + word) % 5])
            .collect();
        assert_eq!(
            keep(engine, &format!("{number} {}", words.join(" "))),
            Embedding::Done
        );
    }
}

/// The results of a question, with the score and the cosine of each.
type Found = Vec<(MemoryId, f64, Option<f32>)>;

fn ask(engine: &Engine, query: &str) -> (Found, Option<String>) {
    let recalled = engine
        .system(&Caller::local())
        .search()
        .recall(&question(query))
        .unwrap();
    let hit = |hit: loci_engine::Hit| (hit.memory.id, hit.score, hit.signals.cosine);
    (
        recalled.hits.into_iter().map(hit).collect(),
        recalled.degraded,
    )
}

/// Returns the results of the question; fails unless meaning finds some and none is missing.
fn ask_whole(engine: &Engine, query: &str) -> Found {
    let (found, degraded) = ask(engine, query);
    assert_eq!(degraded, None, "{query}");
    assert!(
        !found.is_empty() && found.iter().all(|(_, _, cosine)| cosine.is_some()),
        "{query}: {found:?}"
    );
    found
}

fn state(engine: &Engine) -> ModelState {
    engine.models().model_state().unwrap().unwrap()
}

/// Runs all rounds until there is nothing to do; returns the number of embedded memories, and of
/// passages from which vectors were removed.
fn rounds(engine: &Engine) -> (usize, usize) {
    let (mut embedded, mut retired) = (0, 0);
    loop {
        let tended = engine.models().retire_unused_models().unwrap();
        let read = engine.background().embed_pending().unwrap_or(0);
        if tended + read == 0 {
            return (embedded, retired);
        }
        (embedded, retired) = (embedded + read, retired + tended);
    }
}

#[test]
fn a_change_of_model_leaves_no_gap_in_search() {
    let place = Place::new();
    let [old, new] = Turned::both();
    fill(&place.engine(&old, &[]));
    let before = ask_whole(&place.engine(&old, &[]), "tea and bread");

    let engine = place.engine(&new, &[&old]);
    assert_eq!(ask_whole(&engine, "tea and bread"), before);
    assert_eq!(new.has_read("tea and bread"), 0);
    assert_eq!(
        engine
            .system(&Caller::local())
            .search()
            .find_duplicates("tea", &similar())
            .unwrap()
            .degraded,
        None
    );
    // Meaning finds memories written since at once.
    assert_eq!(keep(&engine, "a cup on the table"), Embedding::Done);
    let written = ask_whole(&engine, "a table with a cup");
    // One more memory changes the weights of words slightly.
    let before = ask_whole(&engine, "tea and bread");
    let waiting = MEMORIES as u64 + 1;
    let expected = ModelState {
        chosen: new.model.clone(),
        serving: old.model.clone(),
        pending: waiting,
        not_found: 0,
        others: vec![(old.model.clone(), waiting)],
    };
    assert_eq!(state(&engine), expected);

    let mut embedded = Vec::new();
    loop {
        if place.pending(&new) > 0 {
            assert_eq!(
                engine.models().retire_unused_models(),
                Ok(0),
                "nothing is removed before all is read"
            );
        }
        match engine.background().embed_pending().unwrap() {
            0 => break,
            some => embedded.push(some),
        }
        assert_eq!(ask_whole(&engine, "tea and bread"), before, "{embedded:?}");
        assert_eq!(
            ask_whole(&engine, "a table with a cup"),
            written,
            "{embedded:?}"
        );
    }
    assert!(
        embedded.len() > 1 && embedded.iter().sum::<usize>() == MEMORIES + 1,
        "{embedded:?}"
    );
    let [asked_old, asked_new] = [&old, &new].map(|model| model.has_read("stone"));
    ask_whole(&engine, "stone");
    assert_eq!(
        [&old, &new].map(|model| model.has_read("stone")),
        [asked_old, asked_new + 1],
        "the new one serves"
    );
    assert_eq!(ask_whole(&engine, "tea and bread"), before);
    assert_eq!(place.models(), ["new", "old"]);

    assert_eq!(rounds(&engine), (0, MEMORIES + 1));
    assert_eq!(place.models(), ["new"]);
    assert_eq!(ask_whole(&engine, "tea and bread"), before);
    let ModelState {
        chosen,
        serving,
        pending: 0,
        not_found: 0,
        others,
    } = state(&engine)
    else {
        panic!()
    };
    assert_eq!((chosen, others), (serving, vec![]));
}

fn similar() -> SimilarQuery {
    SimilarQuery {
        collections: CollectionFilter::Any,
        limit: 5,
        cosine_min: 0.5,
    }
}

#[test]
fn a_change_goes_on_where_a_process_ended() {
    let place = Place::new();
    let [old, new] = Turned::both();
    fill(&place.engine(&old, &[]));
    let before = ask_whole(&place.engine(&old, &[]), "rain");
    let first = place
        .engine(&new, &[&old])
        .background()
        .embed_pending()
        .unwrap();
    assert!((1..MEMORIES).contains(&first));
    // It held a lease when it ended, which expires.
    place.clock.advance(1_000);
    let engine = place.engine(&new, &[&old]);
    assert_eq!(ask_whole(&engine, "rain"), before);
    assert_eq!(rounds(&engine), (MEMORIES - first, MEMORIES));
    assert_eq!(ask_whole(&engine, "rain"), before);
}

#[test]
fn a_read_that_fails_leaves_the_former_model_serving() {
    for failing in ["models", "pending_embeddings"] {
        let place = Place::new();
        let [old, new] = Turned::both();
        fill(&place.engine(&old, &[]));
        let engine = place.engine(&new, &[&old]);
        let before = ask_whole(&engine, "rain");
        // Long enough for another comparison of the models.
        place.clock.advance(1_000);
        place.store.before(move |entered| match entered {
            entered if entered == failing => Err(Error::unavailable("the store is busy")),
            _ => Ok(()),
        });
        assert_eq!(
            engine.models().model_state().unwrap_err().code,
            ErrorCode::Unavailable
        );
        place.store.before(|_| Ok(()));
        assert_eq!(ask_whole(&engine, "rain"), before, "{failing}");
        assert_eq!(
            (old.has_read("rain"), new.has_read("rain")),
            (2, 0),
            "{failing}"
        );
    }
}

/// Another process finishes the switch between a question's embedding and its search.
#[test]
fn a_search_that_is_overtaken_by_the_change_is_made_again() {
    let place = Place::new();
    let [old, new] = Turned::both();
    fill(&place.engine(&old, &[]));
    let (engine, other) = (place.engine(&new, &[&old]), place.engine(&new, &[]));
    let before = ask_whole(&engine, "honey");
    let once = AtomicBool::new(true);
    place.store.before(move |entered| {
        if entered == "candidates" && once.swap(false, Ordering::SeqCst) {
            assert_eq!(rounds(&other), (MEMORIES, MEMORIES));
        }
        Ok(())
    });
    assert_eq!(ask_whole(&engine, "honey"), before);
    assert_eq!(place.models(), ["new"]);
    place.store.before(|_| Ok(()));
}

/// Each keeps its own model, and neither embeds anything twice.
#[test]
fn two_processes_with_two_models_leave_each_other_alone() {
    let place = Place::new();
    let [old, new] = Turned::both();
    let [one, other] = [place.engine(&old, &[&new]), place.engine(&new, &[&old])];
    fill(&one);
    assert_eq!(rounds(&one), (0, 0));
    assert_eq!(rounds(&other), (MEMORIES, 0));
    for number in 0..6 {
        let engine = if number % 2 == 0 { &one } else { &other };
        keep(engine, &format!("number {number} was written meanwhile"));
        for engine in [&one, &other] {
            assert_eq!(ask_whole(engine, "number written").len(), 10);
        }
        // All that each process finds to do is that one memory.
        assert_eq!(
            [rounds(&one), rounds(&other)]
                .iter()
                .map(|done| done.0)
                .sum::<usize>(),
            1
        );
    }
    assert_eq!((place.pending(&old), place.pending(&new)), (0, 0));
    let version = one.version(&Space::default());
    for _ in 0..3 {
        place.clock.advance(200);
        assert_eq!((rounds(&one), rounds(&other)), ((0, 0), (0, 0)));
    }
    assert_eq!(one.version(&Space::default()), version);
    for (engine, model, not) in [(&one, &old, &new), (&other, &new, &old)] {
        let (asked, not_asked) = (model.has_read("rain"), not.has_read("rain"));
        ask_whole(engine, "rain");
        assert_eq!(
            (model.has_read("rain"), not.has_read("rain")),
            (asked + 1, not_asked)
        );
    }
    // Until the first process ends, and not while it answers its last calls.
    one.background().end_rounds();
    assert_eq!(rounds(&other), (0, 0));
    one.background().hand_back();
    assert_eq!(rounds(&other), (0, MEMORIES + 6));
    assert_eq!(place.models(), ["new"]);
    // For a process that comes back with the old model, the new one is active while the old one
    // embeds everything again.
    let again = place.engine(&old, &[&new]);
    ask_whole(&again, "rain");
    assert_eq!(rounds(&again), (MEMORIES + 6, 0));
    assert_eq!(rounds(&other), (0, 0));
}

#[test]
fn a_model_whose_process_ended_without_a_word_is_retired_later() {
    let place = Place::new();
    let [old, new] = Turned::both();
    let engine = place.engine(&new, &[]);
    {
        let killed = place.engine(&old, &[]);
        fill(&killed);
        assert_eq!(rounds(&killed), (0, 0));
    }
    assert_eq!(rounds(&engine), (MEMORIES, 0));
    place.clock.advance(700);
    assert_eq!(rounds(&engine), (0, MEMORIES));
}

/// Vectors are removed in batches, between which a process that starts to use their model gets its
/// lease.
#[test]
fn who_begins_to_use_a_model_ends_its_removal() {
    let place = Place::new();
    let [old, new] = Turned::both();
    let engine = place.engine(&new, &[]);
    let writer = place.engine(&old, &[]);
    let long = "Some words follow here, and a few others come after them. ".repeat(4_000);
    keep(&writer, &long);
    assert_eq!(rounds(&engine).0, 1, "nothing to remove yet");
    while writer.background().embed_pending().unwrap() > 0 {}
    let passages = place.store.inner.size().unwrap().passages as usize;
    assert!(passages > 256, "{passages}");
    assert_eq!(engine.models().retire_unused_models(), Ok(256));
    writer.models().retire_unused_models().unwrap();
    assert_eq!(engine.models().retire_unused_models(), Ok(0));
    assert_eq!(place.models(), ["new", "old"]);
}

#[test]
fn without_the_former_model_search_says_what_it_lacks() {
    let place = Place::new();
    let [old, new] = Turned::both();
    fill(&place.engine(&old, &[]));
    let engine = place.engine(&new, &[]);
    let (found, degraded) = ask(&engine, "tea");
    assert!(
        degraded.is_some_and(|notice| notice.starts_with("40 of 40 passages are not embedded yet"))
    );
    assert!(!found.is_empty() && found.iter().all(|(_, _, cosine)| cosine.is_none()));
    let ModelState {
        chosen,
        serving,
        pending,
        not_found,
        ..
    } = state(&engine);
    assert_eq!((chosen, pending, not_found), (serving, 40, 40));
    let first = engine.background().embed_pending().unwrap();
    let notice = ask(&engine, "tea").1.unwrap();
    assert!(
        notice.starts_with(&format!("{} of 40 passages", 40 - first)),
        "{notice}"
    );
    rounds(&engine);
    ask_whole(&engine, "tea");
    assert_eq!(place.models(), ["new"]);
}

/// It is not called for a minute, so that questions do not wait for it again and again.
#[test]
fn a_former_model_that_fails_is_passed_over_for_a_while() {
    let place = Place::new();
    let [old, new] = Turned::both();
    fill(&place.engine(&old, &[]));
    let engine = place.engine(&new, &[&old]);
    let before = ask_whole(&engine, "tea");
    old.is_away.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let notice = ask(&engine, "tea").1.unwrap();
        assert!(
            notice.starts_with("40 of 40 passages are not embedded yet"),
            "{notice}"
        );
    }
    assert_eq!(old.has_read("tea"), 2, "once in vain");
    // The new model embeds new texts now, and the old one once it is back.
    assert_eq!(keep(&engine, "a cup on the table"), Embedding::Done);
    assert!(ask(&engine, "a table with a cup").0[0].2.is_some());
    old.is_away.store(false, Ordering::SeqCst);
    place.clock.advance(61);
    engine.background().embed_pending().unwrap();
    assert!(place.pending(&new) > 0);
    let cosines = |found: Found| {
        found
            .into_iter()
            .map(|(id, _, cosine)| (id, cosine))
            .collect::<Vec<_>>()
    };
    assert_eq!(cosines(ask_whole(&engine, "tea")), cosines(before));
}

/// Both models embed a text that is too long to be embedded before the reply.
#[test]
fn a_long_text_is_found_while_the_change_goes_on() {
    let place = Place::new();
    let [old, new] = Turned::both();
    let engine = place.engine(&new, &[&old]);
    fill(&place.engine(&old, &[]));
    ask_whole(&engine, "tea");
    let long = "An elephant walks through the wood and sees another elephant. ".repeat(300);
    assert!(matches!(keep(&engine, &long), Embedding::Pending(_)));
    assert!(ask(&engine, "elephant").1.is_some());
    // One round of several.
    engine.background().embed_pending().unwrap();
    assert!(place.pending(&new) > 0);
    let found = ask_whole(&engine, "elephant");
    assert!(found[0].2.unwrap() > 0.3, "{found:?}");
}

/// Otherwise it would keep two models for ever.
#[test]
fn a_text_that_the_new_model_refuses_does_not_hold_up_the_change() {
    let place = Place::new();
    let [old, new] = [Turned::new("old", 1), Turned::refusing("new", 2, "poison")];
    let writer = place.engine(&old, &[]);
    fill(&writer);
    keep(&writer, "a glass of poison");
    let engine = place.engine(&new, &[&old]);
    ask_whole(&engine, "poison");
    assert_eq!(rounds(&engine), (MEMORIES, MEMORIES + 1));
    assert_eq!(
        (place.models(), place.pending(&new)),
        (vec!["new".to_owned()], 1)
    );
    assert!(ask(&engine, "tea").1.unwrap().starts_with("1 of 41"));
    // Later texts are embedded all the same.
    keep(&engine, "a cup on the table");
    assert_eq!(place.pending(&new), 1);
}

/// A model that is away has refused nothing: the former one stays active.
#[test]
fn while_the_new_model_is_away_the_former_one_serves() {
    let place = Place::new();
    let [old, new] = Turned::both();
    let writer = place.engine(&old, &[]);
    keep(&writer, "tea");
    keep(&writer, "bread and tea");
    new.is_away.store(true, Ordering::SeqCst);
    let engine = place.engine(&new, &[&old]);
    for _ in 0..5 {
        assert!(engine.background().embed_pending().is_err());
        assert_eq!(engine.models().retire_unused_models(), Ok(0));
        assert_eq!(ask_whole(&engine, "tea").len(), 2);
        place.clock.advance(100);
    }
    keep(&engine, "more tea");
    assert_eq!(ask_whole(&engine, "tea").len(), 3);
    new.is_away.store(false, Ordering::SeqCst);
    assert_eq!(rounds(&engine), (3, 3));
}

/// A few vectors of a former model are not a reason to embed everything with it.
#[test]
fn a_model_that_has_read_little_does_not_serve() {
    let place = Place::new();
    let [old, new] = Turned::both();
    let words = Engine::new(
        place.store.clone(),
        old.clone(),
        place.clock.clone(),
        SearchMode::Words,
    );
    for number in 0..20 {
        keep(&words, &format!("tea {number}"));
    }
    keep(&place.engine(&old, &[]), "tea, read by the old one");
    let engine = place.engine(&new, &[&old]);
    assert!(ask(&engine, "tea").1.unwrap().starts_with("21 of 21"));
    assert_eq!(rounds(&engine), (21, 1));
    assert_eq!(old.has_read("tea"), 0);
}

#[test]
fn where_nothing_changes_a_search_asks_the_store_for_candidates_alone() {
    let place = Place::new();
    let [old, new] = Turned::both();
    let engine = place.engine(&new, &[&old]);
    fill(&engine);
    let before = ask_whole(&engine, "tea");
    let asked = Arc::new(Mutex::new(Vec::<String>::new()));
    let seen = asked.clone();
    place.store.before(move |entered| {
        seen.lock().unwrap().push(entered.to_owned());
        Ok(())
    });
    assert_eq!(ask_whole(&engine, "tea"), before);
    // The results, then the ones that may have the same texts.
    assert_eq!(*asked.lock().unwrap(), ["candidates", "get_all", "get_all"]);
    place.store.before(|_| Ok(()));
}

/// If a model's vectors have another number of components, another model has its name now. Without
/// a check, search by meaning would fail for ever, without a notice.
#[test]
fn another_model_under_the_same_name_reads_everything_anew() {
    let place = Place::new();
    let model = Turned::new("name", 0);
    fill(&place.engine(&model, &[]));
    let dimensions = model.embed(&["tea"]).unwrap()[0].len();
    for now in [dimensions / 2, dimensions] {
        model.dimensions.store(now, Ordering::SeqCst);
        // Each in a process of its own: one asks once, one works in the background, one comes
        // later.
        let asks = place.engine(&model, &[]);
        let notice = ask(&asks, "tea").1.unwrap();
        assert!(
            notice.starts_with("40 of 40 passages are not embedded yet"),
            "{notice}"
        );
        assert!(state(&asks).pending > 0, "it is seen that they wait");
        let serves = place.engine(&model, &[]);
        let mut turns = 0;
        while serves.background().embed_pending().unwrap() > 0 {
            turns += 1;
            assert!(turns < 100, "it ends");
        }
        assert_eq!(place.pending(&model), 0);
        assert!(
            !place
                .store
                .inner
                .has_other_dimensions(&Partition::Whole, model.model(), now)
                .unwrap()
        );
        for engine in [&serves, &asks, &place.engine(&model, &[])] {
            ask_whole(engine, "tea");
        }
        // An engine that still considers the vectors outdated removes none that were made since.
        let read = model.read.lock().unwrap().len();
        assert_eq!((rounds(&asks), rounds(&serves)), ((0, 0), (0, 0)));
        assert_eq!(model.read.lock().unwrap().len(), read);
    }
}

/// A process that writes without a search stores vectors that cannot be compared with the existing
/// ones.
#[test]
fn vectors_of_two_numbers_of_components_do_not_stay() {
    let place = Place::new();
    let model = Turned::new("name", 0);
    let writer = place.engine(&model, &[]);
    // More than one batch removes.
    for number in 0..300 {
        keep(&writer, &format!("tea {number}"));
    }
    model.dimensions.store(7, Ordering::SeqCst);
    let other = place.engine(&model, &[]);
    keep(&other, "bread of seven");
    assert_eq!(place.pending(&model), 0);
    ask(&other, "honey");
    // It ends in the middle of the removal, and the next one starts with a text to embed.
    assert!(other.background().embed_pending().unwrap() > 0);
    place.clock.advance(1_000);
    let next = place.engine(&model, &[]);
    while next.background().embed_pending().unwrap() > 0 {}
    assert_eq!(place.pending(&model), 0);
    assert!(
        !place
            .store
            .inner
            .has_other_dimensions(&Partition::Whole, model.model(), 7)
            .unwrap()
    );
    ask_whole(&next, "bread");
}

/// A former model that changed is not used any more.
#[test]
fn a_former_model_with_other_dimensions_does_not_serve() {
    let place = Place::new();
    let [old, new] = Turned::both();
    fill(&place.engine(&old, &[]));
    old.dimensions.store(7, Ordering::SeqCst);
    let engine = place.engine(&new, &[&old]);
    ask(&engine, "tea");
    assert_eq!(state(&engine).serving, new.model);
    rounds(&engine);
    ask_whole(&engine, "tea");
    assert_eq!(place.models(), ["new"]);
}
