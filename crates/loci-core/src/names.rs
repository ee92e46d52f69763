//! Enums whose values have names on the wire.

/// Gives an enum `ALL`, `name` and `from_name` from one table, because three lists written by hand
/// can miss a value. The documentation is that of `ALL`; `$used` says where the names are written.
macro_rules! names {
    ($(#[$every:meta])+ $enum:ident, $used:literal { $($variant:ident = $name:literal,)+ }) => {
        impl $enum {
            $(#[$every])+
            pub const ALL: [$enum; [$($name),+].len()] = [$($enum::$variant),+];

            #[doc = concat!("Returns the name ", $used, ".")]
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name,)+
                }
            }

            /// Returns the value with that name.
            pub fn from_name(name: &str) -> Option<Self> {
                $enum::ALL.into_iter().find(|value| value.name() == name)
            }
        }
    };
}

pub(crate) use names;
