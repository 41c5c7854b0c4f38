//! Types that are written in files as their text, and types that wrap a text.

/// Implements serde for a type by its `Display` and `FromStr`.
#[macro_export]
macro_rules! serde_as_text {
    ($name:ident) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text: String = ::serde::Deserialize::deserialize(from)?;
                text.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}

/// Implements `as_str` and `Display` for a type that wraps its text.
#[macro_export]
macro_rules! wraps_text {
    ($name:ident) => {
        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
