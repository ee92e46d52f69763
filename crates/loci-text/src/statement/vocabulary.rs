//! The tables of the comparison: negations, opposites, mutually exclusive words, units. Folded, in
//! dictionary form; they are compared by their stems.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::analysis::term_of_unit;
use crate::dates::MONTHS;

/// Negations in English and German.
const NEGATIONS: &[&str] = &[
    "aint", "arent", "cannot", "cant", "couldnt", "didnt", "doesnt", "dont", "hadnt", "hasnt",
    "havent", "isnt", "kein", "keine", "keinem", "keinen", "keiner", "mustnt", "neednt", "neither",
    "never", "nicht", "nie", "niemals", "no", "none", "nor", "not", "ohne", "shouldnt", "wasnt",
    "werent", "without", "wont", "wouldnt",
];

/// Pairs of words of which one reverses a statement with the other.
const OPPOSITES: &[(&str, &str)] = &[
    ("above", "below"),
    ("accept", "refuse"),
    ("accept", "reject"),
    ("add", "delete"),
    ("add", "remove"),
    ("after", "before"),
    ("allow", "deny"),
    ("allow", "forbid"),
    ("allow", "prohibit"),
    ("allowed", "forbidden"),
    ("always", "never"),
    ("always", "rarely"),
    ("ascending", "descending"),
    ("automatic", "manual"),
    ("begin", "end"),
    ("best", "worst"),
    ("big", "small"),
    ("buy", "sell"),
    ("cheap", "expensive"),
    ("client", "server"),
    ("cold", "hot"),
    ("cover", "exclude"),
    ("dark", "light"),
    ("decrease", "increase"),
    ("decrypt", "encrypt"),
    ("detailed", "short"),
    ("dislike", "enjoy"),
    ("dislike", "like"),
    ("dislike", "love"),
    ("down", "up"),
    ("download", "upload"),
    ("dry", "wet"),
    ("early", "late"),
    ("enable", "disable"),
    ("enabled", "off"),
    ("disabled", "on"),
    ("exclude", "include"),
    ("export", "import"),
    ("external", "internal"),
    ("fail", "pass"),
    ("fail", "succeed"),
    ("fast", "slow"),
    ("first", "last"),
    ("forget", "remember"),
    ("full", "empty"),
    ("good", "bad"),
    ("hate", "like"),
    ("hate", "love"),
    ("high", "low"),
    ("higher", "lower"),
    ("hide", "show"),
    ("inside", "outside"),
    ("join", "leave"),
    ("left", "right"),
    ("less", "more"),
    ("lock", "unlock"),
    ("long", "short"),
    ("mandatory", "optional"),
    ("maximum", "minimum"),
    ("max", "min"),
    ("merge", "split"),
    ("new", "old"),
    ("normal", "high"),
    ("off", "on"),
    ("open", "close"),
    ("open", "closed"),
    ("optional", "required"),
    ("over", "under"),
    ("private", "public"),
    ("quiet", "loud"),
    ("remote", "local"),
    ("safe", "dangerous"),
    ("skip", "abort"),
    ("start", "stop"),
    ("stopped", "take"),
    ("strict", "lenient"),
    ("strong", "weak"),
    ("synchronous", "asynchronous"),
    ("true", "false"),
    ("with", "without"),
    ("yes", "no"),
];

/// Prefixes that turn a word into its opposite.
const OPPOSING_PREFIXES: [&str; 6] = ["un", "in", "il", "im", "dis", "non"];

/// Groups of mutually exclusive words: a statement with another word of the group replaces the
/// older one.
const ALTERNATIVES: &[&[&str]] = &[
    // Software.
    &[
        "sqlite",
        "postgresql",
        "postgres",
        "mysql",
        "mariadb",
        "mongodb",
        "oracle",
        "cassandra",
        "dynamodb",
        "duckdb",
        "cockroachdb",
        "firestore",
    ],
    &["redis", "memcached", "valkey"],
    &[
        "elasticsearch",
        "opensearch",
        "solr",
        "meilisearch",
        "typesense",
    ],
    &["kafka", "rabbitmq", "nats", "pulsar", "sqs"],
    &[
        "python",
        "java",
        "javascript",
        "typescript",
        "rust",
        "go",
        "golang",
        "kotlin",
        "swift",
        "ruby",
        "php",
        "scala",
        "c",
        "c++",
        "c#",
        "bash",
        "perl",
        "elixir",
        "haskell",
        "dart",
    ],
    &[
        "react", "vue", "angular", "svelte", "solid", "htmx", "ember",
    ],
    &[
        "redux", "zustand", "mobx", "recoil", "jotai", "pinia", "vuex",
    ],
    &[
        "django", "flask", "fastapi", "rails", "spring", "express", "laravel", "axum", "actix",
    ],
    &["jest", "vitest", "mocha", "jasmine"],
    &["pytest", "unittest", "nose"],
    &["cypress", "playwright", "selenium", "puppeteer"],
    &["npm", "yarn", "pnpm", "bun"],
    &[
        "webpack",
        "vite",
        "rollup",
        "parcel",
        "esbuild",
        "turbopack",
    ],
    &["pip", "poetry", "conda", "uv", "pipenv"],
    &["maven", "gradle", "ant", "bazel", "sbt"],
    &["celery", "dramatiq", "rq", "sidekiq", "huey", "temporal"],
    &["log4j", "logback", "slf4j", "winston", "pino"],
    &["rest", "graphql", "grpc", "soap", "trpc"],
    &["json", "xml", "yaml", "toml", "csv", "protobuf", "text"],
    &["cookie", "jwt", "basic", "oauth", "saml"],
    &["mit", "apache", "gpl", "agpl", "bsd", "mpl", "proprietary"],
    &["monorepo", "polyrepo"],
    &["tab", "space"],
    &[
        "vim", "neovim", "emacs", "vs code", "vscode", "intellij", "zed", "sublime", "nano",
        "cursor",
    ],
    &["functional", "object"],
    &["utc", "local"],
    &["squash", "rebase"],
    &["rebase", "merge"],
    &["sass", "less", "tailwind", "bootstrap"],
    // Infrastructure and operations.
    &[
        "aws",
        "azure",
        "gcp",
        "hetzner",
        "digitalocean",
        "heroku",
        "fly",
    ],
    &[
        "jenkins",
        "github actions",
        "gitlab",
        "circleci",
        "travis",
        "buildkite",
        "teamcity",
    ],
    &["nginx", "apache", "caddy", "traefik", "haproxy", "envoy"],
    &["kubernetes", "nomad", "swarm", "ecs"],
    &["docker", "podman", "containerd"],
    &["terraform", "pulumi", "cloudformation", "opentofu"],
    &["ansible", "puppet", "chef", "salt"],
    &[
        "nagios",
        "prometheus",
        "zabbix",
        "datadog",
        "icinga",
        "newrelic",
    ],
    &["pagerduty", "opsgenie", "victorops", "grafana oncall"],
    &["openvpn", "wireguard", "ipsec", "tailscale"],
    &["cloudflare", "route", "akamai", "fastly"],
    &[
        "hashicorp",
        "secrets manager",
        "doppler",
        "infisical",
        "sops",
    ],
    &["linux", "windows", "macos"],
    &[
        "ubuntu", "debian", "fedora", "centos", "alpine", "rocky", "arch", "rhel",
    ],
    &["github", "gitlab", "bitbucket", "gitea"],
    &[
        "slack",
        "teams",
        "discord",
        "mattermost",
        "mail",
        "email",
        "sms",
        "phone",
    ],
    &["jira", "linear", "asana", "trello"],
    &["sentry", "rollbar", "bugsnag"],
    // People and their days.
    &[
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "weekend",
    ],
    &MONTHS,
    &["spring", "summer", "autumn", "winter"],
    &["morning", "noon", "afternoon", "evening", "night"],
    &["yesterday", "today", "tomorrow"],
    &[
        "hourly",
        "daily",
        "weekly",
        "monthly",
        "quarterly",
        "yearly",
    ],
    &[
        "developer",
        "designer",
        "manager",
        "tester",
        "intern",
        "director",
        "analyst",
        "consultant",
    ],
    &["breakfast", "lunch", "dinner"],
    &["man", "woman"],
    &["men", "women"],
    &["child", "adult"],
    // Languages, nationalities and preferences of people.
    &[
        "english",
        "german",
        "french",
        "spanish",
        "italian",
        "russian",
        "portuguese",
        "chinese",
        "japanese",
        "polish",
    ],
    &["british", "american"],
    &["metric", "imperial"],
    &["celsius", "fahrenheit"],
    &["coffee", "tea", "cocoa"],
    &["vegetarian", "vegan", "meat"],
    &["beer", "wine"],
    &["window", "aisle"],
    &[
        "black", "white", "grey", "gray", "red", "green", "blue", "yellow", "orange", "purple",
        "brown", "pink",
    ],
    &["diesel", "petrol", "electric", "hybrid"],
    &[
        "car", "train", "bus", "bike", "bicycle", "cycle", "plane", "walk", "foot", "tram",
    ],
    &["swim", "gym", "run", "yoga", "climb"],
    &["cat", "dog"],
    &["single", "married", "divorced"],
    &["rent", "own"],
    &["cash", "card", "invoice"],
    &["vodafone", "telekom", "o2", "orange", "verizon"],
    &["paper", "digital"],
    &["spicy", "mild"],
];

/// The names of each unit, the first of which is the canonical one.
const UNITS: &[&[&str]] = &[
    &["ns", "nanosecond"],
    &["us", "microsecond"],
    &["ms", "millisecond", "millis", "msec"],
    &["s", "second", "sec", "secs"],
    &["min", "minute", "mins"],
    &["h", "hour", "hr", "hrs"],
    &["d", "day"],
    &["week", "w"],
    &["month"],
    &["year", "y"],
    &["b", "byte"],
    &["kb", "kilobyte", "kib"],
    &["mb", "megabyte", "mib"],
    &["gb", "gigabyte", "gib", "g"],
    &["tb", "terabyte", "tib"],
    &["mm", "millimetre", "millimeter"],
    &["cm", "centimetre", "centimeter"],
    &["m", "metre", "meter"],
    &["km", "kilometre", "kilometer"],
    &["mile", "mi"],
    &["ft", "foot", "feet"],
    &["inch"],
    &["mcg", "microgram"],
    &["mg", "milligram"],
    &["gram"],
    &["kg", "kilogram", "kilo"],
    &["lb", "pound", "lbs"],
    &["ml", "millilitre", "milliliter"],
    &["l", "litre", "liter"],
    &["%", "percent"],
    &["€", "euro", "eur"],
    &["$", "dollar", "usd"],
    &["£", "gbp"],
    &["celsius"],
    &["fahrenheit"],
    &["bar"],
    &["w", "watt"],
    &["kw", "kilowatt"],
];

/// Words that indicate that a statement was different before.
const CHANGES: &[&str] = &[
    "anymore",
    "again",
    "became",
    "cancelled",
    "change",
    "dropped",
    "instead",
    "longer",
    "lowered",
    "migrate",
    "moved",
    "now",
    "quit",
    "raised",
    "removed",
    "renamed",
    "replace",
    "since",
    "stopped",
    "switch",
    "gave",
    "ended",
];

/// Words that carry little information, because most statements of people and teams contain them.
const COMMON: &[&str] = &[
    "always", "ask", "call", "code", "company", "file", "keep", "like", "love", "make", "need",
    "never", "new", "now", "people", "please", "prefer", "project", "run", "start", "store",
    "take", "team", "thing", "time", "use", "user", "want", "work", "write",
];

/// Words that determine the role of the thing after them.
const ROLES: &[&str] = &[
    "after", "at", "before", "by", "for", "from", "in", "into", "of", "on", "onto", "over", "than",
    "through", "to", "under", "via", "with", "without",
];

/// Roles that express a direction or a rank, so that things with them are not interchangeable.
const DIRECTIONS: &[&str] = &[
    "after", "before", "by", "from", "into", "onto", "over", "than", "to", "under",
];

type Table = LazyLock<HashMap<String, Vec<usize>>>;

fn stem(word: &str) -> String {
    term_of_unit(word).unwrap_or_else(|| word.to_owned())
}

fn table<'a>(rows: impl Iterator<Item = &'a [&'a str]>) -> HashMap<String, Vec<usize>> {
    let mut table: HashMap<String, Vec<usize>> = HashMap::new();
    for (row, words) in rows.enumerate() {
        for word in words {
            let word = word.split(' ').map(stem).collect::<Vec<_>>().join(" ");
            let rows = table.entry(word).or_default();
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    table
}

static ALTERNATIVES_BY_STEM: Table = LazyLock::new(|| table(ALTERNATIVES.iter().copied()));
static CHANGES_BY_STEM: Table = LazyLock::new(|| table(CHANGES.chunks(1)));
static COMMON_BY_STEM: Table = LazyLock::new(|| table(COMMON.chunks(1)));
static OPPOSITES_BY_STEM: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut table: HashMap<String, Vec<String>> = HashMap::new();
    for (one, other) in OPPOSITES {
        let (one, other) = (stem(one), stem(other));
        table.entry(one.clone()).or_default().push(other.clone());
        table.entry(other).or_default().push(one);
    }
    table
});

/// True if a folded word is a negation; contractions (`don't`) are split before.
pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.binary_search(&word).is_ok()
}

/// True if a stem indicates a change.
pub(super) fn tells_of_change(stem: &str) -> bool {
    CHANGES_BY_STEM.contains_key(stem)
}

/// True if a stem carries little information.
pub(super) fn is_common(stem: &str) -> bool {
    COMMON_BY_STEM.contains_key(stem)
}

/// Returns the groups of alternatives that these stems belong to, one word or two with a space.
pub(super) fn alternatives(stem: &str) -> &'static [usize] {
    ALTERNATIVES_BY_STEM.get(stem).map_or(&[], Vec::as_slice)
}

/// True if the one folded word is the other with a negating prefix (`illegal`).
pub(super) fn is_negated(long: &str, short: &str) -> bool {
    short.len() > 3
        && OPPOSING_PREFIXES
            .iter()
            .any(|prefix| long.strip_prefix(prefix) == Some(short))
}

/// True if two stems are opposites.
pub(super) fn are_opposites(one: &str, other: &str) -> bool {
    OPPOSITES_BY_STEM
        .get(one)
        .is_some_and(|opposites| opposites.iter().any(|opposite| opposite == other))
}

/// Returns the canonical name of the unit that a folded word names. Single letters are units only
/// after a number.
pub(super) fn unit(word: &str, is_after_number: bool) -> Option<&'static str> {
    if word.len() < 2 && word.is_ascii() && !is_after_number && !matches!(word, "%" | "$") {
        return None;
    }
    let is_it = |name: &&str| {
        *name == word
            || name.len() > 2 && word.strip_suffix('s') == Some(name)
            || *name == "inch" && word == "inches"
    };
    UNITS
        .iter()
        .find(|names| names.iter().any(&is_it))
        .map(|names| names[0])
}

/// Returns the quantity that a unit measures, named by the first of its units; an unknown unit is a
/// quantity of its own.
pub(super) fn dimension(unit: &str) -> &str {
    const DIMENSIONS: [&[&str]; 6] = [
        &[
            "s", "ns", "us", "ms", "min", "h", "d", "week", "month", "year",
        ],
        &["b", "kb", "mb", "gb", "tb"],
        &["m", "mm", "cm", "km", "mile", "ft", "inch"],
        &["gram", "mcg", "mg", "kg", "lb"],
        &["l", "ml"],
        &["$", "€", "£"],
    ];
    DIMENSIONS
        .iter()
        .find(|units| units.contains(&unit))
        .map_or(unit, |units| units[0])
}

/// Returns the role that a folded word gives to the thing after it.
pub(super) fn role(word: &str) -> Option<&'static str> {
    ROLES.binary_search(&word).ok().map(|place| ROLES[place])
}

/// True if things with this role are not interchangeable with others.
pub(super) fn is_direction(role: &str) -> bool {
    DIRECTIONS.binary_search(&role).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_for_binary_search() {
        for table in [NEGATIONS, ROLES, DIRECTIONS] {
            assert!(table.is_sorted(), "{table:?}");
        }
        assert!(DIRECTIONS.iter().all(|direction| role(direction).is_some()));
    }

    #[test]
    fn units_have_one_name() {
        let rows = [
            ("ms", false, Some("ms")),
            ("milliseconds", false, Some("ms")),
            ("s", true, Some("s")),
            ("s", false, None),
            ("hours", false, Some("h")),
            ("feet", false, Some("ft")),
            ("%", false, Some("%")),
            ("cats", true, None),
        ];
        for (word, is_after_number, expected) in rows {
            assert_eq!(unit(word, is_after_number), expected, "{word}");
        }
    }
}
