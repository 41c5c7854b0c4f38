//! `Debug` for types that have fields without it.

/// Implements `Debug` for a type by some of its fields: `Type: field` or `Type: name = field.inner`.
/// The other fields cannot be shown, or say too much.
#[macro_export]
macro_rules! partial_debug {
    ($type:ident) => {
        $crate::partial_debug!($type:);
    };
    ($type:ident: $($name:ident),+) => {
        $crate::partial_debug!($type: $($name = $name),+);
    };
    ($type:ident: $($name:ident = $($field:ident).+),*) => {
        impl ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($name), &self.$($field).+))*
                    .finish_non_exhaustive()
            }
        }
    };
}
