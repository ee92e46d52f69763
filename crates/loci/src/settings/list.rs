//! The settings themselves. Help texts, `loci config` and the reference page are made from them.

use loci_core::limits::TTL_DAYS_MAX;

use super::Setting;

/// Declares settings and their table.
macro_rules! settings {
    ($table:ident; $($(#[doc = $doc:literal])+ $name:ident: $type:ty = { $($field:ident: $value:expr,)+ };)+) => {
        $(
            $(#[doc = $doc])+
            pub const $name: TypedSetting<$type> = TypedSetting::of(Setting {
                $($field: $value,)+
                check: |form, text| <$type>::parse(form, text).map(drop),
                ..UNNAMED
            });
        )+
        /// The settings of this file, in the order of the documentation.
        pub(super) static $table: &[Setting] = &[$($name.setting),+];
    };
}

mod access;
mod dialects;
mod models;
mod store;
mod upkeep;

pub use access::*;
pub use dialects::*;
pub use models::*;
pub use store::*;
pub use upkeep::*;

/// The hours of the longest time to live.
const HOURS_MAX: u64 = 24 * TTL_DAYS_MAX;

/// Returns every setting, in the order of the documentation.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    [
        STORE_SETTINGS,
        ACCESS_SETTINGS,
        MODELS_SETTINGS,
        DIALECTS_SETTINGS,
        UPKEEP_SETTINGS,
    ]
    .into_iter()
    .flatten()
}
