//! Searches a text for all secrets at once.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use crate::escapes::{self, View};
use crate::forms::{self, FORMS, Form};
use crate::languages::{self, Meaning};
use crate::patterns::{Pattern, Patterns};
use crate::positions::{self, POSITIONS, Position};
use crate::special;
use crate::{
    PrivateMarks, RemovedRange, SecretMatch, assignment, cookies, joined, names, options, own,
    private,
};

/// Prefixes of secrets from which the same bytes are read again.
const READINGS_MAX: usize = 8;
/// Maximum readings of a text without its escapes, each without the escapes of the one before.
const VIEWS_MAX: usize = 3;

/// The way in which a rule finds secrets at a match.
#[derive(Debug, Clone, Copy)]
enum FindFunction {
    One(fn(&str, Range<usize>) -> Option<SecretMatch>),
    Many(fn(&str, Range<usize>, &mut Vec<SecretMatch>)),
}

/// The rule for an occurrence of a pattern.
#[derive(Debug, Clone, Copy)]
enum Trigger {
    Form(&'static Form),
    Name,
    /// A name that ends with the match.
    NameEnd,
    /// A name that ends before the last byte of the match.
    ShortName,
    ForeignName(Meaning),
    /// An option of a command line, with its dashes.
    Option,
    Position(&'static Position),
    JsonWebToken,
    Private,
    /// An escape, for which the text is read again.
    Escape,
    /// A rule of its own.
    Special(FindFunction),
}

macro_rules! specials {
    ($($case:ident $many:ident $find:expr, $($pattern:literal)+;)+) => {
        /// Patterns with a rule of their own, true if they must match with their case.
        static SPECIALS: &[(&str, bool, FindFunction)] = &[
            $($(($pattern, specials!($case), FindFunction::$many($find)),)+)+
        ];
    };
    (exact) => { true };
    (any) => { false };
}

specials! {
    exact One special::private_key, "-----BEGIN ";
    exact One special::encoded_private_key, "LS0tLS1CRUdJTi";
    exact One special::putty_key, "Private-Lines: ";
    exact One special::url_password, "://";
    exact One special::thin_password, "thin:";
    any One special::bearer, "bearer " "authorization: token ";
    any One special::basic, "basic ";
    exact One special::telegram, ":AA";
    exact One special::mailchimp, "-us";
    exact One special::new_relic, "NRAL";
    exact One special::terraform, ".atlasv1.";
    exact One special::azure_secret, "0Q~" "1Q~" "2Q~" "3Q~" "4Q~" "5Q~" "6Q~" "7Q~" "8Q~" "9Q~";
    exact One special::azure_signature, "sig=";
    exact One special::airtable, "pat";
    exact One special::azure_key, "JQQJ99" "+ASt" "+ASb" "+AEh" "+ACR" "+ABa" "ACDb" "AIoT" "AzSe" "AzFu" "AzCa" "APIM";
    exact One own::secret, "loci_";
    exact One special::braintree, "access_token$";
    exact One special::teams_webhook, ".webhook.office.com/webhookb2/" "outlook.office.com/webhook/"
        "outlook.office365.com/webhook/";
    exact One |text, hit| special::webhook(text, hit, "webhook"), "hooks.zapier.com/hooks/catch/" "/bot/v2/hook/"
        "maker.ifttt.com/trigger/";
    exact One |text, hit| special::webhook(text, hit, "slack-webhook"), "hooks.slack.com/";
    exact One |text, hit| special::webhook(text, hit, "discord-webhook"),
        "discord.com/api/webhooks/" "discordapp.com/api/webhooks/";
    any Many special::kubernetes, "kind: secret";
    exact Many special::json_web_key, "\"kty\"";
    any Many cookies::header, "cookie";
    exact Many cookies::line, "\tTRUE\t" "\tFALSE\t";
    exact One special::password_hash, "$2y$" "$2b$" "$2a$" "$apr1$" "$argon2id$" "$argon2i$" "$6$" "$5$" "$1$" "$y$"
        "$7$" "$gy$" "$scrypt$" "pbkdf2_sha256$" "{SSHA}" "{SSHA512}";
    // Ports of databases.
    exact One special::pgpass, ":5432:" ":5433:" ":5434:" ":5435:" ":5439:" ":6432:" ":6543:" ":15432:" ":25060:" ":26257:" ":54322:" ":*:";
}

/// The first two digits of ids of users of Discord in base64, and what goes on from them.
const DISCORD: [&str; 12] = [
    "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "MD", "Mg", "NA",
];
const DISCORD_THIRD: &str = "AEIMQUYcgk";

/// Returns all patterns with their rules.
fn patterns() -> Vec<Pattern<Trigger>> {
    let row = |text: Cow<'static, str>, is_exact, rule| Pattern {
        text,
        is_exact,
        rule,
    };
    let exact = |text: &'static str, rule| row(text.into(), true, rule);
    let any_case = |text: &'static str, rule| row(text.into(), false, rule);
    let mut rows = vec![
        any_case(private::BEGIN, Trigger::Private),
        exact("eyJ", Trigger::JsonWebToken),
    ];
    for form in FORMS {
        // A prefix of two bytes is looked for with the one after it.
        let thirds: Vec<u8> = match form.prefix.len() {
            2 => (0..0x80).filter(|byte| form.alphabet.has(*byte)).collect(),
            _ => Vec::new(),
        };
        if thirds.is_empty() {
            rows.push(exact(form.prefix, Trigger::Form(form)));
        }
        let texts = thirds
            .into_iter()
            .map(|third| [form.prefix, &char::from(third).to_string()].concat());
        rows.extend(texts.map(|text| row(text.into(), true, Trigger::Form(form))));
    }
    rows.extend(
        names::PARTS
            .iter()
            .map(|part| any_case(part, Trigger::Name)),
    );
    rows.extend(
        names::ENDS
            .iter()
            .map(|part| any_case(part, Trigger::NameEnd)),
    );
    rows.extend(
        names::SHORT_ENDS
            .iter()
            .map(|end| any_case(end, Trigger::ShortName)),
    );
    rows.extend(
        languages::needles().map(|(word, meaning)| row(word, false, Trigger::ForeignName(meaning))),
    );
    rows.extend(options::patterns().map(|text| row(text.into(), true, Trigger::Option)));
    rows.extend(
        POSITIONS
            .iter()
            .map(|position| any_case(position.word, Trigger::Position(position))),
    );
    rows.extend(escapes::beginnings().map(|text| row(text.into(), false, Trigger::Escape)));
    let discord = DISCORD.iter().flat_map(|first| {
        let third = DISCORD_THIRD.chars();
        third.map(move |third| format!("{first}{third}"))
    });
    let rule = Trigger::Special(FindFunction::One(special::discord));
    rows.extend(discord.map(|text| row(text.into(), true, rule)));
    rows.extend(
        SPECIALS
            .iter()
            .map(|(text, is_exact, find)| row((*text).into(), *is_exact, Trigger::Special(*find))),
    );
    rows
}

/// Finds the candidates for secrets in a text.
pub struct Finder {
    patterns: Patterns<Trigger>,
}

impl Finder {
    pub fn get() -> &'static Finder {
        static FINDER: OnceLock<Finder> = OnceLock::new();
        FINDER.get_or_init(|| Finder {
            patterns: Patterns::new(patterns()),
        })
    }

    fn search<'a>(&self, text: &'a str) -> Search<'a> {
        let mut search = Search::new(text);
        self.patterns
            .search(text, |trigger, hit| search.visit(trigger, hit));
        search
    }

    /// Returns the ranges to remove from a text, in order. As long as the text has private text,
    /// returns only that.
    pub fn cuts(&self, text: &str, marks: PrivateMarks, is_last_pass: bool) -> Vec<RemovedRange> {
        let search = self.search(text);
        if search.has_private {
            let cuts = private::cuts(text, marks, is_last_pass);
            if !cuts.is_empty() {
                return cuts;
            }
        }
        let (mut cuts, mut has_escapes) = (search.cuts, search.has_escapes);
        let mut views: Vec<View> = Vec::new();
        while has_escapes && views.len() < VIEWS_MAX {
            let Some(view) = View::of(views.last().map_or(text, |view| &view.text)) else {
                break;
            };
            let search = self.search(&view.text);
            let found = search.cuts;
            has_escapes = search.has_escapes;
            views.push(view);
            cuts.extend(found.into_iter().map(|cut| {
                let range = views
                    .iter()
                    .rev()
                    .fold(cut.range, |range, view| view.source(range));
                RemovedRange { range, ..cut }
            }));
        }
        joined(cuts)
    }
}

/// A search through a text.
struct Search<'a> {
    text: &'a str,
    cuts: Vec<RemovedRange>,
    found: Vec<SecretMatch>,
    /// The end of the known certain secrets; matches before it are skipped.
    certain_end: usize,
    has_escapes: bool,
    has_private: bool,
    forms: Readings,
    names: Readings,
    web_tokens: Readings,
}

impl<'a> Search<'a> {
    fn new(text: &'a str) -> Self {
        Search {
            text,
            cuts: Vec::new(),
            found: Vec::new(),
            certain_end: 0,
            has_escapes: false,
            has_private: false,
            forms: Readings::default(),
            names: Readings::default(),
            web_tokens: Readings::default(),
        }
    }

    /// Applies the rule of a match.
    fn visit(&mut self, trigger: Trigger, hit: Range<usize>) {
        match trigger {
            Trigger::Escape => {
                self.has_escapes = true;
                return;
            }
            Trigger::Private => {
                self.has_private = true;
                return;
            }
            _ => {}
        }
        if hit.start < self.certain_end {
            return;
        }
        let (text, found) = (self.text, &mut self.found);
        let is_certain = !matches!(
            trigger,
            Trigger::Name
                | Trigger::NameEnd
                | Trigger::ShortName
                | Trigger::ForeignName(_)
                | Trigger::Option
                | Trigger::Position(_)
        );
        match trigger {
            Trigger::Form(form) => self
                .forms
                .read(&hit, |hit| collect(found, forms::secret(text, hit, form))),
            Trigger::JsonWebToken => {
                self.web_tokens.read(&hit, |hit| {
                    collect(found, special::json_web_token(text, hit))
                });
            }
            Trigger::Name => self
                .names
                .read(&hit, |hit| assignment::secrets(text, hit, found)),
            Trigger::NameEnd => {
                let next = text.as_bytes().get(hit.end);
                if next.is_none_or(|next| !next.is_ascii_alphanumeric()) {
                    self.names
                        .read(&hit, |hit| assignment::secrets(text, hit, found));
                }
            }
            Trigger::ShortName => self.names.read(&(hit.start..hit.end - 1), |hit| {
                assignment::secrets(text, hit, found)
            }),
            Trigger::ForeignName(meaning) => {
                self.names.read(&hit, |hit| {
                    assignment::foreign_secrets(text, hit, meaning, found)
                });
            }
            Trigger::Option => options::secrets(text, hit, found),
            Trigger::Position(position) => found.extend(positions::secret(text, hit, position)),
            Trigger::Special(FindFunction::One(find)) => found.extend(find(text, hit)),
            Trigger::Special(FindFunction::Many(find)) => find(text, hit, found),
            Trigger::Private | Trigger::Escape => {}
        }
        for (range, kind) in self.found.drain(..) {
            if is_certain {
                self.certain_end = self.certain_end.max(range.end);
            }
            self.cuts.push(RemovedRange {
                range,
                kind,
                is_certain,
            });
        }
    }
}

/// Adds a secret to the ones that were found; returns the end of the text that was read for it.
fn collect(found: &mut Vec<SecretMatch>, (secret, end): (Option<SecretMatch>, usize)) -> usize {
    found.extend(secret);
    end
}

/// Counts the reads of the same text for secrets of one kind. Without a limit, a text full of their
/// prefixes would be read to its end from each prefix.
#[derive(Debug, Default)]
struct Readings {
    /// The end of the text that was read.
    end: usize,
    /// The number of prefixes from which it was read.
    count: usize,
}

impl Readings {
    /// Reads from a match, but not text that was read [`READINGS_MAX`] times. `find` returns the end
    /// of the text that it read.
    fn read(&mut self, hit: &Range<usize>, find: impl FnOnce(Range<usize>) -> usize) {
        let is_within = hit.start < self.end;
        if is_within && self.count >= READINGS_MAX {
            return;
        }
        let end = find(hit.clone());
        if end > hit.end {
            self.count = if is_within { self.count + 1 } else { 1 };
            self.end = self.end.max(end);
        }
    }
}
