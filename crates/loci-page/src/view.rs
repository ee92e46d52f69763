//! The parts that all views share: their form as HTML, and the frame of every page.

use std::fmt::Display;

use askama::Template;
use loci_core::{Error, LOCAL};
use serde::Serialize;

use crate::assets::path_of;
use crate::change::Outcome;
use crate::request_user::RequestUser;
use crate::text::{Language, Value};

/// The views that every page leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Now,
    Search,
    Palace,
    Time,
    Review,
    Recalls,
    Keep,
}

/// A tab in the navigation.
pub(crate) struct Link {
    tab: Tab,
    pub(crate) path: &'static str,
    pub(crate) label: &'static str,
}

/// The tabs, in their order.
const TABS: [Link; 7] = [
    Link {
        tab: Tab::Now,
        path: "/",
        label: "tab-now",
    },
    Link {
        tab: Tab::Search,
        path: "/search",
        label: "tab-search",
    },
    Link {
        tab: Tab::Palace,
        path: "/palace",
        label: "tab-palace",
    },
    Link {
        tab: Tab::Time,
        path: "/time",
        label: "tab-time",
    },
    Link {
        tab: Tab::Review,
        path: "/review",
        label: "tab-review",
    },
    Link {
        tab: Tab::Recalls,
        path: "/recalls",
        label: "tab-recalls",
    },
    Link {
        tab: Tab::Keep,
        path: "/keep",
        label: "tab-keep",
    },
];

/// The content of a view, as JSON and as HTML.
pub(crate) trait View: Serialize + Send + 'static {
    /// The tab that it belongs to.
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
    language: Language,
    tab: Option<Tab>,
    csrf: String,
    outcome: Option<Outcome>,
    user: String,
    has_session: bool,
    /// True if the owner chose to see what others keep private; `None` for all other visitors.
    all_users: Option<bool>,
    /// The path of this page, with its query.
    path: String,
}

impl Ui {
    /// Returns what a visitor sees around a view.
    pub(crate) fn of(visitor: &RequestUser, tab: Tab, path: String) -> Self {
        let session = visitor.session.as_ref();
        let principal = &visitor.caller.principal;
        Ui {
            language: visitor.language,
            tab: Some(tab),
            csrf: session.map_or_else(String::new, |session| session.csrf().to_owned()),
            outcome: session.and_then(|session| session.take_outcome()),
            user: principal.subject.clone().unwrap_or_default(),
            has_session: session.is_some_and(|session| session.credential().header.is_some()),
            all_users: session
                .filter(|_| principal.subject.as_deref() == Some(LOCAL))
                .map(|session| session.all_users()),
            path,
        }
    }

    /// Returns what a stranger sees.
    pub(crate) fn of_stranger(language: Language) -> Self {
        Ui {
            language,
            tab: None,
            csrf: String::new(),
            outcome: None,
            user: String::new(),
            has_session: false,
            all_users: None,
            path: "/".to_owned(),
        }
    }

    /// Returns a message.
    pub(crate) fn t(&self, name: &str) -> String {
        self.language.message(name, &[])
    }

    /// Returns a message with a number in it, as `count`.
    pub(crate) fn n(&self, name: &str, count: impl Count) -> String {
        self.language
            .message(name, &[("count", Value::Number(count.count()))])
    }

    /// Returns a message with a text in it, as `value`.
    pub(crate) fn with(&self, name: &str, value: impl Display) -> String {
        self.language
            .message(name, &[("value", Value::Text(value.to_string()))])
    }

    /// Returns the tag of the language.
    pub(crate) fn lang(&self) -> &'static str {
        self.language.tag()
    }

    /// Returns the tabs; none for a stranger.
    pub(crate) fn tabs(&self) -> &'static [Link] {
        if self.tab.is_some() { &TABS } else { &[] }
    }

    /// Returns true if the page belongs to this tab.
    pub(crate) fn is_at(&self, link: &Link) -> bool {
        self.tab == Some(link.tab)
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
    error: &'a Error,
}

/// Returns an error as a page.
pub(crate) fn error_page(error: &Error, language: Language) -> String {
    let ui = Ui::of_stranger(language);
    let page = ErrorPage { ui: &ui, error };
    page.render().unwrap_or_else(|_| error.message.clone())
}
