//! The filters of a search, as a person sets them.

use loci_core::{CollectionFilter, OwnerFilter, Result};
use loci_engine::{Browse, Facets};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::card::CHARACTERS_READ;
use crate::encoding::encoded;
use crate::projects::collections_in;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;

/// The parameters whose empty text means something: no project, and no user.
pub(crate) const KEPT: [&str; 2] = ["wing", "who"];
/// The value of a project by which forms of old asked for all.
const ALL: &str = "*";

/// Declares the parameters of a search with those of its own, because a form cannot be read into one value
/// within another.
macro_rules! search_parameters {
    ($(#[$attribute:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$attribute])*
        #[derive(Deserialize, Default, Clone, IntoParams)]
        #[into_params(parameter_in = Query)]
        pub(crate) struct $name {
        /// The question; without one, the last memories that the filters admit.
        #[serde(default)]
        #[param(example = "which port does staging use")]
        pub(crate) q: String,
        /// Only memories of these projects; empty is no project.
        #[serde(default)]
        #[param(example = json!(["shop"]))]
        pub(crate) wing: Vec<String>,
        /// Only memories of these topics.
        #[serde(default)]
        #[param(example = json!(["payments"]))]
        pub(crate) room: Vec<String>,
        /// Only memories of these types.
        #[serde(rename = "type", default)]
        #[param(example = json!(["fact"]))]
        pub(crate) kind: Vec<String>,
        /// Only memories with all of these tags.
        #[serde(default)]
        #[param(example = json!(["deploy"]))]
        pub(crate) tag: Vec<String>,
        /// Only memories that these users stored; empty is no user.
        #[serde(default)]
        #[param(example = json!(["ann"]))]
        pub(crate) who: Vec<String>,
        /// Only memories that came in through these tool sets.
        #[serde(default)]
        #[param(example = json!(["mememory"]))]
        pub(crate) via: Vec<String>,
        /// Only memories that these apps stored, by the names that they give themselves.
        #[serde(default)]
        #[param(example = json!(["claude-code"]))]
        pub(crate) program: Vec<String>,
        /// Only memories that were stored on this day or instant, or later.
        #[param(example = "2026-11-01")]
        pub(crate) from: Option<String>,
        /// Only memories that were stored on this day or instant, or earlier.
        #[param(example = "2026-11-30")]
        pub(crate) until: Option<String>,
        /// Memories as they stood at this instant, or at the end of this day: with the texts of then, and
        /// with what was forgotten since.
        #[param(example = "2026-11-30")]
        pub(crate) as_of: Option<String>,
            $($own)*
        }
    };
}

search_parameters! {
    /// A question with its filters. Each filter may be repeated, and then takes any of its values; tags are the
    /// exception, because a memory must have all the tags.
    SearchQuery {
        /// The number of results to skip.
        #[serde(default)]
        #[param(example = 20)]
        pub(crate) offset: usize,
    }
}

search_parameters! {
    /// The same for a list in parts.
    HitsQuery {
        /// The number of results of this part, 1 to 100; 50 if it is left out.
        pub(crate) limit: Option<usize>,
        /// The `next_cursor` of the part before; the first part if it is left out.
        pub(crate) cursor: Option<String>,
    }
}

impl From<HitsQuery> for SearchQuery {
    fn from(query: HitsQuery) -> Self {
        SearchQuery {
            q: query.q,
            wing: query.wing,
            room: query.room,
            kind: query.kind,
            tag: query.tag,
            who: query.who,
            via: query.via,
            program: query.program,
            from: query.from,
            until: query.until,
            as_of: query.as_of,
            offset: 0,
        }
    }
}

/// A filter that is set, with the way to unset it.
#[derive(Serialize, ToSchema)]
pub(crate) struct Chip {
    /// The name of the parameter.
    pub(crate) name: &'static str,
    /// Its value.
    pub(crate) value: String,
    /// The name of the value that people know, if it has another one.
    pub(crate) title: Option<String>,
    /// The path of the same search without it.
    pub(crate) without: String,
}

/// Returns the message that names a filter.
pub(super) fn label(name: &str) -> &'static str {
    match name {
        "wing" => "b-facet-wing",
        "room" => "b-facet-room",
        "type" => "b-facet-type",
        "tag" => "b-facet-tag",
        "who" => "b-facet-who",
        "via" => "b-facet-via",
        "program" => "b-facet-program",
        "from" => "b-after",
        "as_of" => "b-as-of",
        _ => "b-before",
    }
}

/// Returns the message that names an empty value of a filter.
pub(super) fn empty_label(name: &str) -> &'static str {
    match name {
        "wing" => "b-no-project",
        "who" => "b-nobody",
        _ => "b-value-empty",
    }
}

/// Returns the name of a filter's value that people know, if it has another one.
pub(super) fn title_of(context: &RequestContext<'_>, name: &str, value: &str) -> Option<String> {
    let title = context.app_title(value);
    (name == "program" && title != value).then_some(title)
}

impl Chip {
    /// Returns the message that names the filter.
    pub(crate) fn label(&self) -> &'static str {
        label(self.name)
    }

    /// Returns the message that stands for an empty value.
    pub(crate) fn empty_label(&self) -> &'static str {
        empty_label(self.name)
    }

    /// Returns the filter as people read it, with the texts of its messages.
    pub(crate) fn shown(&self, label: &str, empty: &str) -> String {
        let value = match self.value.as_str() {
            "" => empty,
            value => self.title.as_deref().unwrap_or(value),
        };
        format!("{label}: {value}")
    }
}

impl SearchQuery {
    pub(crate) fn is_question(&self) -> bool {
        !self.q.trim().is_empty()
    }

    /// Returns the filters that are set, by the names of their parameters.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, &str)> {
        let lists = [
            ("wing", &self.wing),
            ("room", &self.room),
            ("type", &self.kind),
            ("tag", &self.tag),
            ("who", &self.who),
            ("program", &self.program),
            ("via", &self.via),
        ];
        let lists = lists
            .into_iter()
            .flat_map(|(name, values)| values.iter().map(move |value| (name, value.as_str())));
        let single = [
            ("from", &self.from),
            ("until", &self.until),
            ("as_of", &self.as_of),
        ];
        let single = single
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)));
        lists.chain(single).collect()
    }

    /// Returns the parameters of this search without this filter, and without an offset.
    fn parameters_without(&self, left_out: Option<(&str, &str)>) -> String {
        let question = [("q", self.q.as_str())];
        let question = question.into_iter().filter(|_| self.is_question());
        let filters = self.pairs().into_iter();
        let filters = filters.filter(|pair| left_out != Some(*pair));
        let pairs: Vec<String> = question
            .chain(filters)
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        pairs.join("&")
    }

    /// Returns the parameters of this search, for a link or to keep them.
    pub(crate) fn parameters(&self) -> String {
        self.parameters_without(None)
    }

    /// Returns the path of this search.
    pub(crate) fn path(&self) -> String {
        format!("/search?{}", self.parameters())
    }

    /// Returns the path of this search from a number of results on.
    pub(crate) fn path_at(&self, offset: usize) -> String {
        format!("{}&offset={offset}", self.path())
    }

    /// Returns the filters that are set, each with the way to unset it.
    pub(crate) fn chips(&self, context: &RequestContext<'_>) -> Vec<Chip> {
        let chip = |pair: (&'static str, &str)| Chip {
            name: pair.0,
            value: pair.1.to_owned(),
            title: title_of(context, pair.0, pair.1),
            without: format!("/search?{}", self.parameters_without(Some(pair))),
        };
        self.pairs().into_iter().map(chip).collect()
    }

    /// Returns the first day that is asked for, as a field for a date has it.
    pub(crate) fn day_of_from(&self) -> &str {
        day(self.from.as_deref())
    }

    /// Returns the last day that is asked for, as a field for a date has it.
    pub(crate) fn day_of_until(&self) -> &str {
        day(self.until.as_deref())
    }

    /// Returns the day as it is looked at, as a field for a date has it.
    pub(crate) fn day_of_as_of(&self) -> &str {
        day(self.as_of.as_deref())
    }

    /// Returns the memories that the filters admit now.
    ///
    /// # Errors
    /// `invalid_argument` for a time that cannot be read.
    pub(crate) fn browse(&self, limit: usize) -> Result<Browse> {
        let any_of = |values: &[String]| -> Vec<Option<String>> {
            let named = |value: &String| Some(value.clone()).filter(|value| !value.is_empty());
            values.iter().map(named).collect()
        };
        let wings: Vec<String> = self
            .wing
            .iter()
            .filter(|name| *name != ALL)
            .flat_map(|name| match name.as_str() {
                "" => vec![String::new()],
                name => collections_in(name).into(),
            })
            .collect();
        Ok(Browse {
            collections: if wings.is_empty() {
                CollectionFilter::Any
            } else {
                CollectionFilter::AnyOf(any_of(&wings))
            },
            sections: self.room.clone(),
            kinds: self.kind.clone(),
            tags: self.tag.clone(),
            facets: Facets {
                owner: if self.who.is_empty() {
                    OwnerFilter::Any
                } else {
                    OwnerFilter::AnyOf(any_of(&self.who))
                },
                origins: self.via.clone(),
                programs: self.program.clone(),
                created_from: parse_time("from", self.from.as_deref(), false)?,
                created_until: parse_time("until", self.until.as_deref(), true)?,
                ..Facets::default()
            },
            limit,
            characters_max: Some(CHARACTERS_READ),
            ..Browse::default()
        })
    }
}

/// Returns the day of a day or an instant.
fn day(text: Option<&str>) -> &str {
    let text = text.unwrap_or_default();
    text.split_once('T').map_or(text, |(day, _)| day)
}

/// Returns the time of the argument `argument`, at which something was known: a day means its end, or now
/// if it is today.
///
/// # Errors
/// `invalid_argument`, naming the argument, for another text.
pub(crate) fn past_time(
    context: &RequestContext<'_>,
    argument: &str,
    text: Option<&str>,
) -> Result<Option<loci_core::Timestamp>> {
    let now = context.engine().now();
    let first = parse_time(argument, text, false)?;
    let last = parse_time(argument, text, true)?;
    // The end of today lies in the future.
    Ok(first
        .zip(last)
        .map(|(first, last)| if first <= now { last.min(now) } else { last }))
}

pub(crate) fn parse_time(
    argument: &str,
    text: Option<&str>,
    is_end: bool,
) -> Result<Option<loci_core::Timestamp>> {
    text.map(|text| UtcTimestamp::parse(argument, text, is_end))
        .transpose()
}
