//! The problems of the fields of a definition.

/// Why a value is invalid, to complete a sentence about the field.
pub(super) type ValueError = String;

/// The effect of a problem on the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The definition is rejected.
    Refused,
    /// The definition is used; the text says what applies instead.
    Instead(&'static str),
    /// The definition is used unchanged.
    None,
}

/// The problems of one field.
#[derive(Debug, Default)]
pub(super) struct Notes(pub(super) Vec<(ValueError, Effect)>);

impl Notes {
    /// Adds an invalid value, with what applies `instead`.
    pub(super) fn instead(&mut self, what: impl Into<ValueError>, instead: &'static str) {
        self.0.push((what.into(), Effect::Instead(instead)));
    }

    pub(super) fn remark(&mut self, what: impl Into<ValueError>) {
        self.0.push((what.into(), Effect::None));
    }

    /// Returns the value if it is valid.
    pub(super) fn value<T>(&mut self, value: Result<T, ValueError>) -> Option<T> {
        value
            .map_err(|wrong| self.instead(wrong, "it is ignored"))
            .ok()
    }

    /// Returns a value that the definition requires.
    pub(super) fn required(&mut self, value: Result<String, ValueError>) -> String {
        value.unwrap_or_else(|wrong| {
            self.0.push((wrong, Effect::Refused));
            String::new()
        })
    }
}
