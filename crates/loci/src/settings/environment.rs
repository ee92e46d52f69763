//! The environment: which variables are settings, and which look like one without an effect.

use std::collections::{BTreeMap, BTreeSet};
use std::env;

use super::{CONFIG_VARIABLE, Variables, settings};
use crate::exit::{Exit, Failure};

/// The start of each variable of loci.
const PREFIX: &str = "LOCI_";
/// Variables that start like settings and belong to hosts, tests and builds.
const OF_OTHERS: [&str; 11] = [
    "LOCI_BIN",
    "LOCI_BLESS",
    "LOCI_DAMAGES",
    "LOCI_FAULT",
    "LOCI_FAULTS",
    "LOCI_HOSTS",
    "LOCI_HOSTS_SESSIONS",
    "LOCI_HOST_WRITES",
    "LOCI_MEASURED_MEMORIES",
    "LOCI_PACKAGES",
    // The token that a host sends.
    "LOCI_TOKEN",
];
/// The same for whole groups.
const PREFIXES_OF_OTHERS: [&str; 5] = [
    "LOCI_CRASH_",
    "LOCI_FIXTURE_",
    "LOCI_FUZZ_",
    "LOCI_TEST_",
    "LOCI_TOKEN_",
];
/// The most edits between a name and the one that was meant.
const EDITS_MAX: usize = 3;

const TOKENS: &str = "callers need a token of `loci token create`";
const MODELS: &str = "LOCI_EMBEDDING_PROVIDER and LOCI_LLM_URL choose models";
const PLACE: &str = "LOCI_DATA and LOCI_STORE say where memories are";
const LIMIT: &str = "LOCI_RATE_LIMIT_PER_MINUTE limits calls";
const NOTHING: &str = "loci has nothing of the kind";

/// The variables of the original of memory-mcp that no setting stands for, and what loci has
/// instead.
const WITHOUT_TWIN: [(&str, &str); 31] = [
    ("AUTH_ENABLED", TOKENS),
    ("AUTH_SECRET", TOKENS),
    ("AUTH_TOKEN_EXPIRY_SECONDS", TOKENS),
    ("GOVERNANCE_ENABLED", TOKENS),
    ("RATE_LIMIT_ENABLED", LIMIT),
    ("MONGODB_CONNECTION_STRING", PLACE),
    ("MONGODB_DATABASE_NAME", PLACE),
    ("MONGODB_MAX_POOL_SIZE", PLACE),
    ("MONGODB_MIN_POOL_SIZE", PLACE),
    ("EMBEDDING_PROVIDER", MODELS),
    ("EMBEDDING_MODEL", MODELS),
    ("EMBEDDING_MODEL_ID", MODELS),
    ("EMBEDDING_DIMENSION", MODELS),
    ("LLM_PROVIDER", MODELS),
    ("LLM_MODEL_ID", MODELS),
    ("LTM_RETENTION_CRITICAL_DAYS", NOTHING),
    ("LTM_RETENTION_REFERENCE_DAYS", NOTHING),
    ("LTM_RETENTION_STANDARD_DAYS", NOTHING),
    ("LTM_RETENTION_TEMPORARY_DAYS", NOTHING),
    ("REINFORCE_THRESHOLD", NOTHING),
    ("MERGE_THRESHOLD", NOTHING),
    ("RRF_K", NOTHING),
    ("MAX_RESPONSE_BYTES", NOTHING),
    ("ENRICHMENT_INTERVAL_SECONDS", NOTHING),
    ("ENRICHMENT_BATCH_SIZE", NOTHING),
    ("ENRICHMENT_CONCURRENCY", NOTHING),
    ("ENRICHMENT_MAX_RETRIES", NOTHING),
    ("AUDIT_FLUSH_ON_WRITE", NOTHING),
    ("AUTO_CAPTURE_ENABLED", NOTHING),
    ("AUTO_CAPTURE_TOOLS", NOTHING),
    ("PROMPT_EXPERIMENT_ENABLED", NOTHING),
];

/// Returns the environment variables of this process that may be settings.
///
/// # Errors
/// [`Exit::Usage`] if one is no UTF-8 text.
pub fn variables() -> Result<Variables, Failure> {
    let all = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let of_originals: BTreeSet<&str> = settings().filter_map(|setting| setting.alias).collect();
    let ours =
        all.filter(|(name, _)| name.starts_with(PREFIX) || of_originals.contains(name.as_str()));
    ours.map(|(name, value)| match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(Failure::new(
            Exit::Usage,
            format!("the environment variable {name} is no UTF-8 text"),
        )),
    })
    .collect()
}

/// Returns a warning for each variable that starts like a setting and is not one, with the nearest
/// one. An empty variable counts as unset.
pub fn warnings(variables: &Variables) -> Vec<String> {
    let is_known = |name: &str| {
        known().any(|known| known == name)
            || settings().any(|setting| setting.alias == Some(name))
            || OF_OTHERS.contains(&name)
            || PREFIXES_OF_OTHERS
                .iter()
                .any(|prefix| name.starts_with(prefix))
    };
    let unknown = variables
        .iter()
        .filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty() && !is_known(name));
    let warning = |(name, _): (&String, &String)| {
        let meant = nearest(name, known()).map_or_else(
            || "`loci config` lists the settings".to_owned(),
            |meant| format!("did you mean {meant}?"),
        );
        format!("the environment variable {name} is no setting and has no effect; {meant}")
    };
    unknown.map(warning).collect()
}

/// Returns a warning for each kind of variable of memory-mcp's original that is set and has no
/// effect here, so that its user does not rely on it.
pub fn warnings_of_original(is_set: impl Fn(&str) -> bool) -> Vec<String> {
    let mut set: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, instead) in WITHOUT_TWIN {
        if is_set(name) {
            set.entry(instead).or_default().push(name);
        }
    }
    set.into_iter()
        .map(|(instead, names)| {
            let names = names.join(", ");
            format!("of memory-mcp's variables, these have no effect in loci: {names}; {instead}")
        })
        .collect()
}

/// Returns whether this process has a variable that is not empty.
pub fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Returns the variables of all settings.
fn known() -> impl Iterator<Item = &'static str> {
    let of_settings = settings().map(|setting| setting.variable);
    of_settings.chain([CONFIG_VARIABLE])
}

/// Returns the name among these that differs least from a wrong one, if a slip explains it.
pub fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(edits, name)| *edits <= EDITS_MAX.min(name.len() / 2))
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(variables: &[(&str, &str)]) -> Vec<String> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        warnings(&variables.collect())
    }

    #[test]
    fn a_variable_that_is_no_setting_is_named_with_the_nearest() {
        let rows = [
            ("LOCI_DATE", "did you mean LOCI_DATA?"),
            ("LOCI_BNID", "did you mean LOCI_BIND?"),
            ("LOCI_OIDC_AUDIENCES", "did you mean LOCI_OIDC_AUDIENCE?"),
            ("LOCI_CONFIGS", "did you mean LOCI_CONFIG?"),
            ("LOCI_WHATEVER_IT_IS", "`loci config` lists the settings"),
        ];
        for (name, expected) in rows {
            let warnings = warned(&[(name, "1"), ("LOCI_BIND", "x"), ("PGPASSWORD", "x")]);
            let [warning] = warnings.as_slice() else {
                panic!("{warnings:?}");
            };
            assert!(
                warning.contains(&format!("variable {name} is no setting"))
                    && warning.ends_with(expected),
                "{warning}"
            );
        }
    }

    #[test]
    fn variables_of_settings_and_of_others_are_no_mistakes() {
        assert_eq!(warned(&[("LOCI_DATE", "")]), Vec::<String>::new());
        for setting in settings() {
            for name in [Some(setting.variable), setting.alias]
                .into_iter()
                .flatten()
            {
                assert_eq!(warned(&[(name, "1")]), Vec::<String>::new(), "{name}");
            }
        }
        for name in ["LOCI_TOKEN", "LOCI_TEST_SEED", "LOCI_BIN", "LOCI_CONFIG"] {
            assert_eq!(warned(&[(name, "1")]), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn the_originals_variables_work_or_are_warned_of() {
        let aliases: Vec<&str> = settings().filter_map(|it| it.alias).collect();
        for (name, _) in WITHOUT_TWIN {
            assert!(!aliases.contains(&name), "{name}");
        }
        let set = ["AUTH_SECRET", "AUTH_ENABLED", "RRF_K", "TAVILY_API_KEY"];
        let warnings = warnings_of_original(|name| set.contains(&name));
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        let expected = "AUTH_ENABLED, AUTH_SECRET; callers need a token of `loci token create`";
        assert!(
            warnings.iter().any(|warning| warning.ends_with(expected)),
            "{warnings:?}"
        );
    }
}
