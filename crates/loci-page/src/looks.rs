//! The looks that a person chose for a browser: the theme, the language and the density of lists.
//!
//! They are in a cookie, because they belong to a screen and not to a user, and because a page has to
//! know them before anybody has signed in.

use http::header::ACCEPT_LANGUAGE;
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use crate::cookies::{cookie_value, secure_attribute};
use crate::text::Language;

/// The name of the cookie. All servers of a host share it.
const COOKIE: &str = "loci-looks";
/// The seconds for which a browser keeps it: a year.
const COOKIE_SECONDS: u32 = 31_536_000;
/// The value of a choice that follows the browser or its system.
pub(crate) const SYSTEM: &str = "system";

/// The colours of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Theme {
    /// As the system of the browser has it.
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    pub(crate) const ALL: [Theme; 3] = [Theme::System, Theme::Light, Theme::Dark];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Theme::System => SYSTEM,
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    /// Returns the colour schemes that a browser may show the page in.
    pub(crate) fn schemes(self) -> &'static str {
        match self {
            Theme::System => "light dark",
            theme => theme.name(),
        }
    }
}

/// The height of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Density {
    #[default]
    Roomy,
    Dense,
}

impl Density {
    pub(crate) const ALL: [Density; 2] = [Density::Roomy, Density::Dense];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Density::Roomy => "roomy",
            Density::Dense => "dense",
        }
    }
}

/// The looks of the page in a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Looks {
    pub(crate) theme: Theme,
    /// The language in which the page is shown.
    pub(crate) language: Language,
    /// The language that the person chose; `None` follows the browser.
    pub(crate) chosen_language: Option<Language>,
    pub(crate) density: Density,
}

impl Looks {
    /// Returns the looks that the browser of a request asks for.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let kept = cookie_value(headers, COOKIE).unwrap_or_default();
        let mut parts = kept.split('.');
        let choice = LooksChoice {
            theme: parts.next().map(str::to_owned),
            language: parts.next().map(str::to_owned),
            density: parts.next().map(str::to_owned),
            next: String::new(),
        };
        let accepted = headers
            .get(ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok());
        Looks {
            language: Language::accepted(accepted.unwrap_or_default()),
            ..Looks::default()
        }
        .with(&choice)
    }

    /// Returns them with what a person chose; what is not known changes nothing.
    pub(crate) fn with(self, choice: &LooksChoice) -> Self {
        let theme = |name: &str| Theme::ALL.into_iter().find(|theme| theme.name() == name);
        let density = |name: &str| {
            let mut all = Density::ALL.into_iter();
            all.find(|density| density.name() == name)
        };
        let chosen_language = match choice.language.as_deref() {
            Some(SYSTEM) => None,
            Some(tag) => Language::of_tag(tag).or(self.chosen_language),
            None => self.chosen_language,
        };
        Looks {
            theme: choice
                .theme
                .as_deref()
                .and_then(theme)
                .unwrap_or(self.theme),
            language: chosen_language.unwrap_or(self.language),
            chosen_language,
            density: choice
                .density
                .as_deref()
                .and_then(density)
                .unwrap_or(self.density),
        }
    }

    /// Returns the cookie that keeps them.
    pub(crate) fn cookie(self, base_url: &str) -> Option<HeaderValue> {
        let language = self.chosen_language.map_or(SYSTEM, Language::tag);
        let (theme, density) = (self.theme.name(), self.density.name());
        let secure = secure_attribute(base_url);
        HeaderValue::try_from(format!(
            "{COOKIE}={theme}.{language}.{density}; HttpOnly; SameSite=Strict; Path=/; Max-Age={COOKIE_SECONDS}{secure}"
        ))
        .ok()
    }
}

/// The choices of a person in the menu.
#[derive(Default, Deserialize)]
pub(crate) struct LooksChoice {
    #[serde(default)]
    theme: Option<String>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    density: Option<String>,
    #[serde(default)]
    pub(crate) next: String,
}

#[cfg(test)]
mod tests {
    use http::header::COOKIE as COOKIE_HEADER;

    use super::*;

    fn looks(cookie: &str) -> (&'static str, &'static str, &'static str) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("de"));
        headers.insert(COOKIE_HEADER, cookie.parse().unwrap());
        let looks = Looks::of(&headers);
        (
            looks.theme.name(),
            looks.language.tag(),
            looks.density.name(),
        )
    }

    #[test]
    fn a_cookie_says_how_the_page_looks() {
        let rows = [
            ("loci-looks=dark.en.dense", ("dark", "en", "dense")),
            ("loci-looks=light.system.roomy", ("light", "de", "roomy")),
            ("loci-looks=purple.xx.wide", ("system", "de", "roomy")),
            ("loci-looks=dark", ("dark", "de", "roomy")),
            ("other=dark", ("system", "de", "roomy")),
        ];
        for (cookie, expected) in rows {
            assert_eq!(looks(cookie), expected, "{cookie}");
        }
    }

    #[test]
    fn a_choice_changes_only_what_it_names() {
        let dark = LooksChoice {
            theme: Some("dark".to_owned()),
            ..LooksChoice::default()
        };
        let german = LooksChoice {
            language: Some("de".to_owned()),
            ..LooksChoice::default()
        };
        let both = Looks::default().with(&dark).with(&german);
        assert_eq!((both.theme, both.language.tag()), (Theme::Dark, "de"));
        let cookie = both.cookie("https://loci.example").unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.starts_with("loci-looks=dark.de.roomy; "), "{cookie}");
        assert!(cookie.ends_with("; Secure"), "{cookie}");
    }
}
