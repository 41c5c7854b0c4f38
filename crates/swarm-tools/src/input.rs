//! Reading a tool's input: strict about what it means, lenient about how a model spells a number.

use serde_json::{Map, Value};

/// The input of a call, with the tool's name for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    tool: &'static str,
    fields: &'a Map<String, Value>,
}

impl<'a> Input<'a> {
    /// Takes an input apart. An unknown parameter is an error, since leaving it out would mean something else.
    pub(crate) fn new(
        tool: &'static str,
        input: &'a Value,
        parameters: &[&str],
    ) -> Result<Self, String> {
        let Value::Object(fields) = input else {
            return Err(format!(
                "{tool} takes an object with the parameters {}.",
                list(parameters)
            ));
        };
        match fields
            .keys()
            .find(|key| !parameters.contains(&key.as_str()))
        {
            Some(unknown) => Err(format!(
                "{tool} has no parameter `{}`. It has {}.",
                unknown.escape_debug(),
                list(parameters)
            )),
            None => Ok(Self { tool, fields }),
        }
    }

    fn field(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// A text that must be there.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, String> {
        self.optional_text(name)?
            .ok_or_else(|| format!("{} needs the parameter `{name}`.", self.tool))
    }

    /// A text.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` of {} must be a text.", self.tool)),
        }
    }

    /// A list.
    pub(crate) fn list(&self, name: &str) -> Result<Option<&'a [Value]>, String> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(format!("`{name}` of {} must be a list.", self.tool)),
        }
    }

    /// A number from 0 on. Texts of digits and floats without fraction count.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.field(name) else {
            return Ok(None);
        };
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            // A float without fraction prints as `5.0`.
            other => other.to_string().trim_end_matches(".0").parse().ok(),
        };
        let error = || {
            format!(
                "`{name}` of {} must be a whole number from 0 on.",
                self.tool
            )
        };
        number.map(Some).ok_or_else(error)
    }

    /// Yes or no; absent is no.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        Ok(self.optional_flag(name)?.unwrap_or(false))
    }

    /// Yes or no.
    pub(crate) fn optional_flag(&self, name: &str) -> Result<Option<bool>, String> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" => Ok(Some(false)),
            Some(_) => Err(format!("`{name}` of {} must be true or false.", self.tool)),
        }
    }
}

fn list(parameters: &[&str]) -> String {
    parameters
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_flags_may_be_spelled_as_texts() {
        let input = json!({"a": 5, "b": "5", "c": 5.0, "d": "true", "e": null});
        let input = Input::new("T", &input, &["a", "b", "c", "d", "e"]).unwrap();
        for name in ["a", "b", "c"] {
            assert_eq!(input.count(name), Ok(Some(5)));
        }
        assert_eq!(input.flag("d"), Ok(true));
        assert_eq!(input.count("e"), Ok(None));
    }

    #[test]
    fn what_cannot_be_meant_is_an_error() {
        let input = json!({"a": -1, "b": 1.5, "c": [], "d": "yes"});
        let input = Input::new("T", &input, &["a", "b", "c", "d"]).unwrap();
        assert!(input.count("a").is_err() && input.count("b").is_err());
        assert!(input.optional_text("c").is_err() && input.flag("d").is_err());
        assert_eq!(input.text("x").unwrap_err(), "T needs the parameter `x`.");
    }

    #[test]
    fn an_unknown_parameter_is_named_with_the_known_ones() {
        let error = Input::new("Read", &json!({"path": "x"}), &["file_path", "limit"]).unwrap_err();
        assert_eq!(
            error,
            "Read has no parameter `path`. It has `file_path`, `limit`."
        );
        assert!(Input::new("Read", &json!("x"), &["file_path"]).is_err());
    }
}
