//! The classes of English words and phrases that the rules know.
//!
//! A list separates its phrases with a comma and a space. They are in lower case, with one space
//! between words, and "I'm", "we're", "I've", "I'll" written out; a `.` among the words is the end
//! of a clause. Where only the first match counts, the longer phrase comes first. A list may be
//! incomplete: a missing word loses a signal, and a wrong word adds a false one.

/// A list of phrases in the format of the module.
pub(super) type Phrases = &'static str;

/// Returns true if the list contains this word.
pub(super) fn has(list: Phrases, word: &str) -> bool {
    list.split(", ").any(|phrase| phrase == word)
}

/// Phrases that ask the listener to remember the rest of the sentence.
pub(super) const REQUESTS: Phrases = "remembering that, remembering, remember that, remember this, remember, \
    memorize, memorise, keep in mind that, keep in mind, keep that in mind, keep this in mind, keep it in mind, \
    bear in mind that, bear in mind, bear that in mind, don't forget that, don't forget, do not forget that, \
    do not forget, never forget that, never forget, don't ever forget, note that, note down, note this, take note, \
    take a note, make a note, make a mental note, write down, write this down, write that down, write it down, \
    save this ., save that ., store this ., store that ., for the record, for future reference, for your information, \
    fyi, note to self, just so you know, remind me that, add to your memory that, add this to your memory, \
    commit this to memory, i want you to know that, i'd like you to know that, you should know that, \
    you need to know that, be aware that";
/// Phrases that ask for a reminder.
pub(super) const REMINDERS: Phrases = "remind me, set a reminder, set me a reminder";
/// Words after a request that are not yet its content.
pub(super) const LINKS: Phrases = "that, this, down, of, about";
/// Words after "remember" that make it a question about the past or a reverie.
pub(super) const RECOLLECTIONS: Phrases =
    "when, what, where, who, whose, which, why, how, if, whether, the time";
/// Words before a request or an order that address it to the listener; an order may also start a
/// clause.
pub(super) const INVITATIONS: Phrases = "would you mind, can you, could you, would you, will you, i want you to, \
    i need you to, i'd like you to, i would like you to, you should, you must, you need to, you have to, \
    make sure to, make sure you, be sure to, .";
/// Words with which a request may start, too. Before an order they can mean that the subject
/// continues.
pub(super) const CONJUNCTIONS: Phrases = "and, but, so, then, hey, ok, okay";
/// Words just before an order or a request that make it gentle or firm.
pub(super) const SOFTENERS: Phrases = "please, kindly, just, also, always, really, try to, do";
/// Words that remain of a request without content of its own.
pub(super) const BLANKS: Phrases = "., it, that, this, these, them, all, for, me, us, please, the, following, thanks, \
    next, time, later, future, in, now, on, too, as, well, always, ok, okay, forever, hi, hey, hello, and, so";

/// Introductory words without content.
pub(super) const OPENERS: Phrases = "so, well, anyway, anyways, ok, okay, and, but, also, oh, hey, hi, hello, ah, \
    please, btw, by the way, basically, actually, look, listen, right, yeah, yes, no, then, plus, honestly, ., just";
/// Politeness and fillers, at the beginning of a sentence.
pub(super) const SMALL_TALK: Phrases = "thanks, thank you, many thanks, thx, hello, hi, hey, good morning, \
    good evening, good night, good afternoon, ok, okay, great, cool, nice, awesome, perfect, wonderful, amazing, lol, \
    haha, bye, goodbye, see you, talk to you, talk later, yeah, yep, nope, got it, sounds good, that's great, \
    that's nice, that's cool, that's awesome, that's funny, that's all, never mind, no problem, no worries, \
    don't worry, you are welcome, well done, good job, good luck, congratulations, congrats, have a nice, \
    have a good, have a great, have fun, wow, sorry, i see, that works, looks good, how are you, hope you are, \
    hope all, i hope you, anyway, anyways, where was i, where do i, let me see, let me think, let's see, you know, \
    i don't know, i dunno, i mean, so yeah, long story, what a day, what can i say, where to start, fun fact, \
    nothing special, nothing much, not much, that's it, that's about it, by the way, hmm, mhm, phew, ugh, \
    just wanted to say, my pleasure, take care, cheers, happy to hear, glad to hear, nice to meet, i guess, whatever, \
    no ., no thanks, no thank you, yes ., yes please, sure ., sure thing, oh ., oh wow, oh no, oh well";

/// Words between a subject and its verb that do not change who does what.
pub(super) const ADVERBS: Phrases = "also, really, still, just, only, always, now, then, probably, definitely, \
    actually, simply, usually, finally, already, soon, even, both, all, absolutely, truly, totally, certainly, \
    kindly, please, recently, eventually, urgently, maybe, perhaps, often, sometimes, secretly, generally, mostly, \
    personally, ever, quickly, suddenly";
/// Auxiliary verbs between a subject and its verb.
pub(super) const AUXILIARIES: Phrases = "will, would, shall, might, may, have, has, had, am, is, are, was, were, be, \
    been, being, got, get, getting, going, to";
/// Persons by pronoun, role or relation; names are recognized by their capital.
pub(super) const AGENTS: Phrases = "i, we, you, he, she, they, who, someone, somebody, everyone, everybody, people, \
    user, team, manager, boss, colleague, colleagues, coworker, coworkers, client, clients, customer, customers, \
    doctor, dentist, teacher, landlord, neighbour, neighbours, neighbor, neighbors, roommate, flatmate, guys, friend, \
    friends";
/// Relatives and others close to a person, including pets.
pub(super) const RELATIVES: Phrases = "mother, mom, mum, father, dad, parents, wife, husband, spouse, partner, \
    fiancé, fiancée, fiance, fiancee, girlfriend, boyfriend, son, sons, daughter, daughters, kid, kids, child, \
    children, baby, twins, brother, brothers, sister, sisters, sibling, siblings, aunt, uncle, cousin, cousins, \
    niece, nephew, grandma, grandpa, grandmother, grandfather, grandparents, grandson, granddaughter, stepmother, \
    stepfather, stepson, stepdaughter, family, ex, dog, dogs, cat, cats, puppy, kitten";
/// Possessives of persons.
pub(super) const POSSESSIVES: Phrases = "my, our, his, her, their, user's";
/// Subjects that cannot act.
pub(super) const THINGS: Phrases = "it, this, that, there, these, those, which, what, everything, something, nothing, anything, one, here";
/// Words after which no verb stands.
pub(super) const DETERMINERS: Phrases = "., a, an, the, my, our, your, his, her, their, its, this, that, these, \
    those, me, us, you, it, him, them, some, any, no";

/// Phrases that express an obligation of a person.
pub(super) const OBLIGATIONS: Phrases = "must, have to, has to, need to, needs to, should, ought to, got to, gotta, \
    am supposed to, are supposed to, is supposed to";
/// Phrases that express an intention, or ask the listener to act.
pub(super) const INTENTIONS: Phrases = "i will, we will, i am going to, we are going to, gonna, plan to, plans to, \
    planning to, intend to, want to, would like to, i'd like to, we'd like to, promised to, hope to, remember to, \
    forget to, make sure to, make sure you, make sure we, be sure to, please, let's, need you to, want you to, \
    would like you to";
/// Words that name a task.
pub(super) const TASKS: Phrases = "todo, to do list, deadline, deadlines, is due, are due, due on, due by, due date, \
    due tomorrow, due next, next step, next steps, action item, action items, on my list, to be done by, reminder, \
    remind me, remind us";
/// Verbs that start an order.
pub(super) const ORDERS: Phrases = "add, arrange, ask, cancel, clean, complete, create, delete, deploy, do, finish, \
    fix, follow up, get, implement, install, migrate, move, pay, pick up, prepare, refactor, register, remove, \
    rename, renew, replace, reply, rewrite, send, set up, submit, take out, upgrade, write, buy, invite";
/// Verbs that start an order and are also nouns.
pub(super) const ORDERS_OR_NOUNS: Phrases = "book, call, check, email, mail, message, order, print, return, review, schedule, sign, test, text, update, water";
/// Words after such a verb that show that it does not start an order.
pub(super) const NO_OBJECTS: Phrases = "., is, was, are, were, has, will, of, i, you, we, they, not, me, us, it out, this out, case, cases";
/// Verbs that are not tasks: states, thoughts, utterances, things that happen to a person,
/// recommendations and farewells.
pub(super) const STATES: Phrases = "be, been, have, say, admit, confess, agree, disagree, laugh, smile, cry, think, \
    guess, know, understand, believe, feel, love, like, hate, seem, wonder, hope, wish, want, mean, mention, warn, \
    tell you, thank, apologize, apologise, see this, see that, see how, see what, see if, see it, see ., look like, \
    look at this, hear this, hear that, hear about, try this, try it, try that, try the, taste, wait, go ., go now, \
    go home, run ., sleep, rest, eat, stay, live, wear, die, bed, work ., school, not, never, forget, remember, \
    get used, get over, enjoy, ask ., care, worry, mind, prefer, appreciate, need, miss, deal, cope, \
    use the bathroom, pee, joke, kid, see you, help me, help us, relax, chill, hang out, talk";
/// Words after "to be" that make it a task.
pub(super) const APPOINTMENTS: Phrases = "at, there, ready, back, home, done, finished, paid, sent";

/// Verbs of taste; the person stands before them.
pub(super) const TASTES: Phrases = "like, likes, love, loves, hate, hates, enjoy, enjoys, dislike, dislikes, adore, \
    adores, despise, detest, detests, can't stand, cannot stand, couldn't stand, don't like, do not like, \
    doesn't like, does not like, don't enjoy, do not enjoy, doesn't enjoy, don't eat, do not eat, doesn't eat, \
    don't drink, doesn't drink, can't bear, don't care for";
/// Words after a verb of taste that refer to something just said or shown.
pub(super) const REACTIONS: Phrases =
    "it ., that ., this ., them ., you, your, how, what, to think, it so, that so, .";
/// Words that express a habit; the person stands before them.
pub(super) const HABITS: Phrases = "always, never, usually, normally, would rather, rarely";
/// Other phrases that express a preference.
pub(super) const PREFERENCES: Phrases = "prefer, prefers, preferred, preference, preferences, favourite, favorite, \
    favourites, favorites, i'd rather, we'd rather, big fan, huge fan, fond of, keen on, obsessed with, rather have, \
    can't live without, not into, really into, hobby, hobbies, passionate about, my fave, my faves, my fav, am a fan, \
    is a fan, not a fan";

/// Orders about the manner of every answer, at the beginning of a sentence.
pub(super) const MANNERS: Phrases = "use, keep answers, keep your, keep it short, answer in, answer with, \
    answer me in, reply in, respond in, respond with, write in, write to me in, speak, talk to me in, address me";
/// Phrases that say that something is settled.
pub(super) const DECISIONS: Phrases = "decided, decision is, decision was, final decision, our decision, \
    made a decision, made the decision, made up my mind, made up our minds, we chose, i chose, have chosen, \
    has chosen, settled on, agreed on, agreed to, agreed that, let's go with, we go with, we will go with, \
    we are going with, we went with, let's use, we will use, i will use, opted for, from now on, switching to, \
    we switched to, i switched to, approved, we are dropping, ruled out, called off, it's settled, signed off, \
    concluded that, the plan is to, ended up choosing, ended up picking, ended up with, chose to, we picked the, \
    i picked the, have picked the, we will keep the, we will keep using";

/// Permanent orders, at the beginning of a clause.
pub(super) const STANDING_ORDERS: Phrases = "never, never ever, always, don't, don't ever, do not, do not ever, avoid, refrain from, stop using";
/// Words after these that show that they are not an order.
pub(super) const NO_ORDERS: Phrases = "worry, you, i, we, bother, even, panic, been, heard, said, seen, had, knew, \
    thought, went, did, got, saw, found, again, mind, get it, a, an, the, nice, good, great, fun, happy, there, so, \
    too, as, in, at, it, much, really, ., is, was, are, that, stress, hesitate, on, to, with, for, from, by, of, \
    before, after, without, get me, understood";
/// Other phrases that permanently require or forbid something.
pub(super) const RULES: Phrases = "must not, mustn't, must never, must always, should never, should always, \
    shall not, not allowed, aren't allowed, isn't allowed, prohibited, off limits, under no circumstances, \
    at all times, without exception, no exceptions, as a rule, the rule is, our rule, house rule, our policy, \
    policy is, is mandatory, are mandatory, never ever, has to always, may never, may only, only ever, need to never, \
    under any circumstances, is forbidden, are forbidden, strictly forbidden, forbidden to, is banned, are banned";

/// Words about things that change or shape a life: health, diet, family, home, work. They may stand
/// anywhere.
pub(super) const LIFE: Phrases = "funeral, pregnant, pregnancy, miscarriage, gave birth, giving birth, \
    expecting a baby, expecting our, expecting twins, expecting my, got married, get married, getting married, \
    am married, been married, my wedding, our wedding, divorce, divorced, divorcing, widowed, widower, got engaged, \
    are engaged, i am engaged, broke up with, diagnosed with, cancer, tumor, tumour, leukemia, diabetes, diabetic, \
    asthma, asthmatic, epilepsy, epileptic, celiac, coeliac, allergic, allergy, allergies, intolerant, intolerance, \
    anaphylaxis, epipen, surgery, hospitalized, hospitalised, chemotherapy, chemo, insulin, pacemaker, \
    blood pressure, heart attack, heart condition, heart disease, depression, anxiety disorder, panic attacks, \
    therapist, autism, autistic, adhd, dyslexia, dyslexic, bipolar, a disability, wheelchair, colorblind, \
    colourblind, color blind, colour blind, legally blind, deaf, hearing aid, dementia, alzheimer's, parkinson's, \
    arthritis, migraines, antidepressants, blood thinners, medication, prescribed, hiv, hepatitis, sober, alcoholic, \
    vegetarian, vegan, pescatarian, gluten, lactose, kosher, halal, job offer, lost my job, lost his job, \
    lost her job, quit my job, laid off, my retirement, my promotion, my resignation, handed in my notice, new house, \
    new apartment, new flat, new home, our first home, moved house, moved in with, citizenship, bankrupt, bankruptcy, \
    rehab, lost the baby, lost our baby, are separating, are separated, we separated, got separated, broke my leg, \
    broke my arm, broke my wrist, broke my hip, broke my ankle, broken leg, broken arm, sclerosis, bought a house, \
    bought our first, bought a flat, bought an apartment, my phd, my degree, my masters, a promotion, my new job, \
    started a new job, start a new job, starting a new job, got a new job, found a new job, new job at, new job as, \
    had a stroke, suffered a stroke, my diagnosis, chronic pain, chronic illness, chronic disease, adopted a child, \
    adopted a baby, adopted a boy, adopted a girl, adopted a dog, adopted a cat, adopted a puppy, adopted a kitten, \
    my new address, our new address, his new address, her new address, got the job";
/// Phrases that concern a person's life only if the subject is a person: a machine can die, and a
/// build can be promoted.
pub(super) const LIFE_OF_PERSONS: Phrases = "died, passed away, resigned, graduated, graduating, moved to, \
    moved from, moving to, moved back, relocated to, relocating to, emigrated, was promoted, were promoted, \
    got promoted, been promoted, getting promoted, was fired, were fired, got fired, been fired, was hired, \
    got hired, been hired, was born, were born, accepted into, dropped out, is dying, are dying, was dying, \
    am retired, is retired, retired from, retired last, retired in, retire in, retiring";

/// Phrases that say who a person is or how to reach them.
pub(super) const DETAILS: Phrases = "my name, call me, i go by, my address, phone number, my number, my email, \
    email address, my birthday, birthday is, date of birth, years old, i live, we live, lives in, i am from, \
    grew up in, works as, works at, works for, my job, my company, my password, password is, passport number, \
    account number, licence plate, license plate, my pin, pin code, emergency contact, blood type, native language, \
    mother tongue, my pronouns, pronouns are, my timezone, my time zone, i speak, i study, i am married, \
    we are married, my salary, my house, my car, social security, insurance number, i work as, i work at, i work for, \
    i work in, i work from, i work with, his name is, her name is, our address";
/// Phrases before a profession or an origin.
pub(super) const PROFESSIONS: Phrases = "i am a, i am an, he's a, she's a, he is a, she is a";
/// Words after these that show a mood or a taste instead.
pub(super) const NO_PROFESSIONS: Phrases =
    "bit, little, fan, big, huge, lot, mess, few, tad, idiot, loss, good, great";

/// Words that say that something happens at a time.
pub(super) const EVENTS: Phrases = "today, yesterday, tomorrow, tonight, last night, this morning, this afternoon, \
    this evening, last week, last month, last year, last spring, last summer, last autumn, last winter, this week, \
    next week, next month, next year, next summer, this weekend, last weekend, next weekend, the weekend, ago, \
    monday, tuesday, wednesday, thursday, friday, saturday, sunday, january, february, in march, of march, on march, \
    april, june, july, august, september, october, november, december, in may, of may, on may, anniversary, \
    conference, appointment, meeting, happened, went to, moved to, moving to, i met, we met, visited, was released, \
    was born, were born, gave birth, got married, get married, getting married, got engaged, got divorced, died, \
    passed away, funeral, graduated, started working, shipped, launched, an outage, the outage, an incident, \
    the incident, broke up, was promoted, got promoted, been promoted, was fired, got fired, laid off, retired, \
    resigned, quit my job, lost my job, adopted a, bought a";
/// Words of a sentence that states something.
pub(super) const STATEMENTS: Phrases = "i, my, mine, our, we, is, isn't, are, aren't, was, were, has, have, had, \
    it's, he's, she's, that's, there's, uses, use, works, work, lives, runs, means, contains, needs, requires, \
    belongs, called, named, equals, stands for, consists of, can, will, does, cannot, can't, takes, costs, speaks, \
    supports, allergic, must, mustn't, should";

/// Words for the speaker.
pub(super) const SPEAKER: Phrases =
    "i, i'd, me, my, mine, myself, we, we'd, us, our, ours, the user, user's";
/// Words for passing things: the present moment, the weather, moods and amusement.
pub(super) const MOMENTS: Phrases = "right now, at the moment, at this moment, just now, today only, for now, \
    this minute, this second, in a minute, in a bit, in a second, as we speak, brb, raining, rain, rained, rainy, \
    snowing, sunny, sunshine, cloudy, windy, foggy, weather, so hot, so cold, cold today, hot today, bored, boring, \
    tired, sleepy, exhausted, hungry, thirsty, starving, yawning, grumpy, in a mood, mood today, funny, funniest, \
    hilarious, joke, jokes, laugh, laughed, laughing, giggle, lol, lmao, haha, meme, cute, traffic, what a day, \
    long day, busy day, weird day, pretty cold, cold in here, hot in here, freezing, chilly, shining, feel great, \
    feel good, feel bad, feeling great, feeling good";
/// Words that express uncertainty.
pub(super) const HEDGES: Phrases = "maybe, perhaps, possibly, might, not sure, i guess, i think, i suppose, probably, \
    kind of, sort of, apparently, not certain, as far as i know, if i remember, could be";
/// Words by which the speaker stresses something.
pub(super) const EMPHASIS: Phrases =
    "important, importantly, crucial, essential, urgent, urgently, asap, emergency, vital";

/// Words at the beginning of a sentence that demand an answer without the form of a question.
pub(super) const DEMANDS: Phrases = "tell me, explain, show me, give me, describe, help me understand, \
    remind me what, remind me when, remind me where, remind me who, remind me how, remind me which, remind me why, \
    remind me of, i wonder, i was wondering, i am wondering, any idea, any ideas, what about, how about, \
    i'd like to know, i want to know, i would like to know, translate, summarize, summarise, write me, list";
/// Question words that already contain the verb.
pub(super) const ASKING: Phrases = "what's, who's, where's, how's, when's, why's";
/// Question words that need a verb after them.
pub(super) const ASKING_WITH_VERB: Phrases = "what, who, whose, which, where, why, how";
/// Verbs and measures after a question word; the verbs also start a question before a subject.
pub(super) const QUESTION_VERBS: Phrases = "is, are, was, were, do, does, did, can, could, should, would, will, has, \
    have, had, am, to, many, much, long, often";
/// Verbs that also start an order.
pub(super) const ORDER_VERBS: Phrases = "do, have";
/// Subjects after the verb of a question.
pub(super) const QUESTION_SUBJECTS: Phrases = "i, you, we, they, he, she, it, there, this, that, the, my, your, our, anyone, anybody, someone, somebody";
/// Subjects after "do" and "have" in a question, where others make an order ("do it").
pub(super) const QUESTION_PERSONS: Phrases = "i, you, we, they, anyone, anybody";
/// Questions that ask only for agreement, as the last clause before a question mark.
pub(super) const TAGS: Phrases =
    "ok, okay, remember, got it, deal, alright, you know, will you, please, thanks, thank you";

/// Words that negate the words after them, besides the words that end in "n't".
pub(super) const NEGATIONS: Phrases = "not, never, no, without";
