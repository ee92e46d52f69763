//! The parts that all views share: their form as HTML, and the frame of every page.

use std::fmt::Display;

use askama::Template;
use loci_core::{Error, ErrorCode, LOCAL, Timestamp};
use serde::Serialize;

use crate::assets::path_of;
use crate::change::Outcome;
use crate::icons::icon;
use crate::looks::{Density, Looks, SYSTEM, Theme};
use crate::request_user::{RequestUser, is_owner};
use crate::text::{Language, Value};
use crate::utc_timestamp::UtcTimestamp;

/// The places of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Home,
    Search,
    Browse,
    Facts,
    Review,
    Activity,
    Settings,
}

/// A place in the bar.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    tab: Tab,
    pub(crate) path: &'static str,
    pub(crate) label: &'static str,
    pub(crate) icon: &'static str,
}

impl Link {
    const fn new(tab: Tab, path: &'static str, label: &'static str, icon: &'static str) -> Self {
        Link {
            tab,
            path,
            label,
            icon,
        }
    }
}

/// The places, in their order.
static PLACES: [Link; 7] = [
    Link::new(Tab::Home, "/", "tab-home", "home"),
    Link::new(Tab::Search, "/search", "tab-search", "search"),
    Link::new(Tab::Browse, "/browse", "tab-browse", "browse"),
    Link::new(Tab::Facts, "/facts", "tab-facts", "facts"),
    Link::new(Tab::Review, "/review", "tab-review", "review"),
    Link::new(Tab::Activity, "/activity", "tab-activity", "activity"),
    Link::new(Tab::Settings, "/settings", "tab-settings", "settings"),
];
/// The places that a small screen shows in its bar; the others are behind a word.
const FIRST_PLACES: [Tab; 4] = [Tab::Home, Tab::Search, Tab::Browse, Tab::Review];

/// A choice of looks in the menu.
pub(crate) struct LooksGroup {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) options: Vec<LooksOption>,
}

/// One of the looks that can be chosen.
pub(crate) struct LooksOption {
    pub(crate) value: &'static str,
    pub(crate) text: String,
    pub(crate) is_chosen: bool,
}

/// The content of a view, as JSON and as HTML.
pub(crate) trait View: Serialize + Send + 'static {
    /// The place that it belongs to.
    const TAB: Tab;
    /// The parameters whose empty text means something.
    const KEPT: &'static [&'static str] = &[];

    /// Returns it as HTML.
    fn html(&self, ui: &Ui) -> askama::Result<String>;
}

/// Shows a type as a view, by a template of `templates` that reads it as `view` and the rest of the
/// page as `ui`.
macro_rules! view {
    ($view:ty, $tab:expr, $path:tt) => {
        view!($view, $tab, $path, []);
    };
    ($view:ty, $tab:expr, $path:tt, $kept:expr) => {
        const _: () = {
            #[derive(askama::Template)]
            #[template(path = $path)]
            struct Html<'a> {
                ui: &'a $crate::view::Ui,
                view: &'a $view,
            }

            impl $crate::view::View for $view {
                const TAB: $crate::view::Tab = $tab;
                const KEPT: &'static [&'static str] = &$kept;

                fn html(&self, ui: &$crate::view::Ui) -> askama::Result<String> {
                    askama::Template::render(&Html { ui, view: self })
                }
            }
        };
    };
}

pub(crate) use view;

/// A number in a message, as templates have it.
pub(crate) trait Count {
    fn count(&self) -> u64;
}

impl Count for u64 {
    fn count(&self) -> u64 {
        *self
    }
}

impl Count for usize {
    fn count(&self) -> u64 {
        u64::try_from(*self).unwrap_or(u64::MAX)
    }
}

impl<T: Count> Count for &T {
    fn count(&self) -> u64 {
        (**self).count()
    }
}

/// The frame of every page around its view.
pub(crate) struct Ui {
    looks: Looks,
    /// The place that the page belongs to; no place has an error.
    tab: Option<Tab>,
    /// True for a visitor, false for a stranger, who has no places.
    is_signed_in: bool,
    /// True if the visitor may look at the installation.
    is_owner: bool,
    csrf: String,
    outcome: Option<Outcome>,
    user: String,
    has_session: bool,
    /// True if the owner chose to see what others keep private; `None` for all other visitors.
    all_users: Option<bool>,
    /// The path of this page, with its query.
    path: String,
    /// The number of items that the visitor has to decide, if that is known.
    open: Option<usize>,
    /// The time at which the page is made.
    now: Timestamp,
}

impl Ui {
    /// Returns what a visitor sees around a view.
    pub(crate) fn of(
        visitor: &RequestUser,
        tab: Option<Tab>,
        path: String,
        open: Option<usize>,
    ) -> Self {
        let session = visitor.session.as_ref();
        let principal = &visitor.caller.principal;
        Ui {
            looks: visitor.looks,
            tab,
            is_signed_in: true,
            is_owner: is_owner(&visitor.caller),
            csrf: session.map_or_else(String::new, |session| session.csrf().to_owned()),
            outcome: session.and_then(|session| session.take_outcome()),
            user: principal.subject.clone().unwrap_or_default(),
            has_session: session.is_some_and(|session| session.credential().header.is_some()),
            all_users: session
                .filter(|_| principal.subject.as_deref() == Some(LOCAL))
                .map(|session| session.all_users()),
            path,
            open,
            now: visitor.now,
        }
    }

    /// Returns what a stranger sees.
    pub(crate) fn of_stranger(looks: Looks) -> Self {
        Ui {
            looks,
            tab: None,
            is_signed_in: false,
            is_owner: false,
            csrf: String::new(),
            outcome: None,
            user: String::new(),
            has_session: false,
            all_users: None,
            path: "/".to_owned(),
            open: None,
            now: Timestamp::from_microseconds(0),
        }
    }

    /// Returns a message.
    pub(crate) fn t(&self, name: &str) -> String {
        self.looks.language.message(name, &[])
    }

    /// Returns a message with a number in it, as `count`.
    pub(crate) fn n(&self, name: &str, count: impl Count) -> String {
        self.looks
            .language
            .message(name, &[("count", Value::Number(count.count()))])
    }

    /// Returns a message with a text in it, as `value`.
    pub(crate) fn with(&self, name: &str, value: impl Display) -> String {
        self.looks
            .language
            .message(name, &[("value", Value::Text(value.to_string()))])
    }

    /// Returns a number in groups of three digits, as the language writes it.
    pub(crate) fn number(&self, count: impl Count) -> String {
        self.n("number", count)
    }

    /// Returns a number as people read it at a glance, e.g. 1.2k.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn short(&self, count: impl Count) -> String {
        let count = count.count();
        match count {
            0..1_000 => count.to_string(),
            1_000..10_000 => format!("{:.1}k", count as f64 / 1_000.0),
            10_000..1_000_000 => format!("{}k", count / 1_000),
            _ => format!("{:.1}M", count as f64 / 1_000_000.0),
        }
    }

    /// Returns how long ago a moment was.
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "templates pass references"
    )]
    pub(crate) fn ago(&self, moment: &UtcTimestamp) -> String {
        let now = self.now.microseconds();
        let seconds = now.saturating_sub(moment.0.microseconds()) / 1_000_000;
        let count = |unit: i64| u64::try_from(seconds / unit).unwrap_or(0);
        match seconds {
            ..60 => self.t("ago-now"),
            60..3_600 => self.n("ago-minutes", count(60)),
            3_600..86_400 => self.n("ago-hours", count(3_600)),
            86_400..172_800 => self.t("ago-yesterday"),
            172_800..2_592_000 => self.n("ago-days", count(86_400)),
            _ => moment.day(),
        }
    }

    /// Returns the tag of the language.
    pub(crate) fn lang(&self) -> &'static str {
        self.looks.language.tag()
    }

    /// Returns the theme that a person chose.
    pub(crate) fn theme(&self) -> Option<&'static str> {
        (self.looks.theme != Theme::System).then(|| self.looks.theme.name())
    }

    /// Returns the colour schemes that the page may have.
    pub(crate) fn schemes(&self) -> &'static str {
        self.looks.theme.schemes()
    }

    pub(crate) fn is_dense(&self) -> bool {
        self.looks.density == Density::Dense
    }

    /// Returns the looks that a person can choose.
    pub(crate) fn looks(&self) -> [LooksGroup; 3] {
        let option = |value, text, is_chosen| LooksOption {
            value,
            text,
            is_chosen,
        };
        let named = |prefix: &str, value: &'static str, is_chosen| {
            option(value, self.t(&format!("{prefix}-{value}")), is_chosen)
        };
        let Looks {
            theme,
            chosen_language,
            density,
            ..
        } = self.looks;
        let languages = Language::all().map(|language| {
            let text = language.message("language-name", &[]);
            option(language.tag(), text, chosen_language == Some(language))
        });
        let of_browser = named("language", SYSTEM, chosen_language.is_none());
        [
            LooksGroup {
                name: "theme",
                label: "theme",
                options: Theme::ALL
                    .map(|other| named("theme", other.name(), other == theme))
                    .into(),
            },
            LooksGroup {
                name: "language",
                label: "language",
                options: std::iter::once(of_browser).chain(languages).collect(),
            },
            LooksGroup {
                name: "density",
                label: "density",
                options: Density::ALL
                    .map(|other| named("density", other.name(), other == density))
                    .into(),
            },
        ]
    }

    /// Returns true for a visitor, false for a stranger.
    pub(crate) fn is_signed_in(&self) -> bool {
        self.is_signed_in
    }

    /// Returns the places that the visitor may open.
    fn open_places(&self) -> impl Iterator<Item = &'static Link> {
        PLACES
            .iter()
            .filter(|link| self.is_owner || link.tab != Tab::Settings)
    }

    /// Returns the places of the bar, in which the search is a field.
    pub(crate) fn places(&self) -> Vec<&'static Link> {
        let places = self.open_places();
        places.filter(|link| link.tab != Tab::Search).collect()
    }

    /// Returns the places that the bar of a small screen shows.
    pub(crate) fn first_places(&self) -> Vec<&'static Link> {
        let places = self.open_places();
        let is_first = |link: &&Link| FIRST_PLACES.contains(&link.tab);
        places.filter(is_first).collect()
    }

    /// Returns the places that a small screen shows when asked for more.
    pub(crate) fn more_places(&self) -> Vec<&'static Link> {
        let places = self.open_places();
        let is_first = |link: &&Link| FIRST_PLACES.contains(&link.tab);
        places.filter(|link| !is_first(link)).collect()
    }

    /// Returns true if the page belongs to one of these.
    pub(crate) fn is_at_more(&self) -> bool {
        self.tab.is_some_and(|tab| !FIRST_PLACES.contains(&tab))
    }

    /// Returns the question that the page answers, for the search field.
    pub(crate) fn question(&self) -> String {
        if self.tab != Some(Tab::Search) {
            return String::new();
        }
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let pairs: Vec<(String, String)> = serde_html_form::from_str(query).unwrap_or_default();
        let question = pairs.into_iter().find(|(name, _)| name == "q");
        question.map(|(_, question)| question).unwrap_or_default()
    }

    /// Returns the key that leads to a place after `g`.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn key(&self, link: &Link) -> char {
        match link.tab {
            Tab::Home => 'h',
            Tab::Search => '/',
            Tab::Browse => 'b',
            Tab::Facts => 'f',
            Tab::Review => 'r',
            Tab::Activity => 'a',
            Tab::Settings => 's',
        }
    }

    /// Returns the lines of a picture.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn icon(&self, name: &str) -> &'static str {
        icon(name)
    }

    /// Returns true if the page belongs to this place.
    pub(crate) fn is_at(&self, link: &Link) -> bool {
        self.tab == Some(link.tab)
    }

    /// Returns how much the visitor has to decide, if a place leads there and there is something.
    pub(crate) fn open_of(&self, link: &Link) -> Option<usize> {
        self.open
            .filter(|open| *open > 0 && link.tab == Tab::Review)
    }

    pub(crate) fn csrf(&self) -> &str {
        &self.csrf
    }

    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// Returns true if the owner sees what others keep private, and `None` for all other visitors.
    pub(crate) fn all_users(&self) -> Option<bool> {
        self.all_users
    }

    /// Returns true if there is a session that can be ended.
    pub(crate) fn has_session(&self) -> bool {
        self.has_session
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path of an asset.
    #[expect(
        clippy::unused_self,
        reason = "templates reach it as they reach the rest"
    )]
    pub(crate) fn asset(&self, name: &str) -> &'static str {
        path_of(name)
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    ui: &'a Ui,
    /// The words of the error, without the name of the parameter that it is about.
    message: &'a str,
    /// The message that names the field of the page that it is about.
    named: Option<&'static str>,
    /// The message that says it for people, if the error's own is for programs.
    said: Option<&'static str>,
    /// The place whose path is like the one that was asked for.
    near: Option<&'static Link>,
}

/// The most letters in which a path differs from that of a place near it.
const NEAR: usize = 3;

/// Returns an error as a page.
pub(crate) fn error_page(error: &Error, ui: &Ui) -> String {
    let is_missing = error.code == ErrorCode::NotFound;
    let said = match error.code {
        ErrorCode::NotFound if ui.path.starts_with("/memory/") => Some("error-memory"),
        ErrorCode::NotFound if ui.path != "/" => Some("error-path"),
        ErrorCode::InvalidArgument if error.argument.as_deref() == Some("confirmed") => {
            Some("b-type-delete")
        }
        _ => None,
    };
    let named = error.argument.as_deref().and_then(label_of);
    let page = ErrorPage {
        ui,
        message: match (named, &error.argument) {
            (Some(_), Some(argument)) => {
                let start = format!("`{argument}` ");
                error.message.strip_prefix(&start).unwrap_or(&error.message)
            }
            _ => &error.message,
        },
        named,
        said,
        near: is_missing.then(|| near(ui)).flatten(),
    };
    page.render().unwrap_or_else(|_| error.message.clone())
}

/// Returns the message that names the field of a parameter, since its own name is for programs.
fn label_of(argument: &str) -> Option<&'static str> {
    let label = match argument {
        "wing" | "collection" | "project" | "scope" => "wing",
        "room" | "section" => "room",
        "type" | "kind" => "type",
        "tag" | "tags" | "add" | "remove" => "tags",
        "content" => "text",
        "q" | "query" => "question",
        "subject" | "right_subject" => "subject",
        "predicate" | "right_predicate" => "predicate",
        "object" | "right_object" => "object",
        "from" | "valid_from" => "holds-from",
        "until" | "valid_to" | "ended" => "holds-until",
        "as_of" => "as-of-day",
        "name" | "confirm" => "person",
        "file" | "upload" => "file",
        _ => return None,
    };
    Some(label)
}

/// Returns the place whose path is most like the one that was asked for, e.g. Browse for `/brows`.
fn near(ui: &Ui) -> Option<&'static Link> {
    let first = ui.path.split(['/', '?']).nth(1).unwrap_or_default();
    let rated = ui.open_places().map(|link| {
        let letters = link.path.trim_start_matches('/');
        (strsim::osa_distance(first, letters), link)
    });
    let (distance, link) = rated.min_by_key(|(distance, _)| *distance)?;
    let is_near = distance > 0 && distance <= NEAR && distance < first.len();
    is_near.then_some(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_nowhere_has_a_place_near_it() {
        let near_path = |path: &str| {
            let mut ui = Ui::of_stranger(Looks::default());
            ui.path = path.to_owned();
            near(&ui).map(|link| link.path)
        };
        let rows = [
            ("/brows", Some("/browse")),
            ("/reviews?kind=secret", Some("/review")),
            ("/a", None),
            ("/wp-login.php", None),
            ("/facts/none", None),
        ];
        for (path, expected) in rows {
            assert_eq!(near_path(path), expected, "{path}");
        }
    }
}
