//! Templates with `${name}` placeholders.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Names that always have a value, in addition to captured groups.
pub(super) const BUILT_IN: [&str; 2] = ["agent", "prompt"];

/// The values for one answer.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Values {
    /// Captured groups and built-in names.
    pub(super) named: BTreeMap<String, String>,
    /// Texts of the tool results that the answer responds to.
    pub(super) results: Vec<String>,
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Literal(String),
    Named(String),
    /// Number of a tool result, from 1; `None` means all, joined by line breaks.
    Result(Option<usize>),
}

impl Template {
    /// Parses a text. `$${` is a literal `${`. A name that is neither in `known` nor `result` is an
    /// error, so that typos are found when the file is loaded.
    pub(super) fn parse(text: &str, known: &BTreeSet<String>) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                literal.push_str(&rest[..at - 1]);
                literal.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            literal.push_str(&rest[..at]);
            let after = &rest[at + 2..];
            let end = after
                .find('}')
                .ok_or("`${` without `}`; write `$${` for a literal `${`")?;
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.push(Part::parse(&after[..end], known)?);
            rest = &after[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self(parts))
    }

    /// Fills in the placeholders. The error names a missing tool result.
    pub(super) fn fill(&self, values: &Values) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Named(name) => {
                    text.push_str(values.named.get(name).map_or("", String::as_str));
                }
                Part::Result(None) if values.results.is_empty() => {
                    return Err("${result} is used, but there is no tool result".to_owned());
                }
                Part::Result(None) => text.push_str(&values.results.join("\n")),
                Part::Result(Some(number)) => {
                    let result = values.results.get(number - 1).ok_or_else(|| {
                        format!(
                            "${{result:{number}}} is used, but there are only {} tool results",
                            values.results.len()
                        )
                    })?;
                    text.push_str(result);
                }
            }
        }
        Ok(text)
    }
}

impl Part {
    fn parse(name: &str, known: &BTreeSet<String>) -> Result<Self, String> {
        if name == "result" {
            return Ok(Self::Result(None));
        }
        if let Some(number) = name.strip_prefix("result:") {
            return match number.parse::<usize>() {
                Ok(number) if number > 0 => Ok(Self::Result(Some(number))),
                _ => Err(format!("`${{{name}}}`: results are counted from 1")),
            };
        }
        if known.contains(name) {
            return Ok(Self::Named(name.to_owned()));
        }
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        Err(format!(
            "unknown name `${{{name}}}`; known names are {}, result and result:N. Write `$${{` for a literal `${{`",
            names.join(", ")
        ))
    }
}

/// A JSON value whose strings are templates.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TemplateValue {
    Text(Template),
    List(Vec<TemplateValue>),
    Fields(Vec<(String, TemplateValue)>),
    Fixed(Value),
}

impl TemplateValue {
    pub(super) fn parse(value: &Value, known: &BTreeSet<String>) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::parse(text, known)?),
            Value::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| Self::parse(item, known))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(fields) => Self::Fields(
                fields
                    .iter()
                    .map(|(name, field)| Ok((name.clone(), Self::parse(field, known)?)))
                    .collect::<Result<_, String>>()?,
            ),
            fixed => Self::Fixed(fixed.clone()),
        })
    }

    pub(super) fn fill(&self, values: &Values) -> Result<Value, String> {
        Ok(match self {
            Self::Text(template) => Value::String(template.fill(values)?),
            Self::List(items) => Value::Array(
                items
                    .iter()
                    .map(|item| item.fill(values))
                    .collect::<Result<_, _>>()?,
            ),
            Self::Fields(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, field)| Ok((name.clone(), field.fill(values)?)))
                    .collect::<Result<Map<_, _>, String>>()?,
            ),
            Self::Fixed(value) => value.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn known(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn values() -> Values {
        Values {
            named: [("id".to_owned(), "7".to_owned())].into(),
            results: vec!["one".into(), "two".into()],
        }
    }

    fn filled(text: &str) -> Result<String, String> {
        Template::parse(text, &known(&["id"]))?.fill(&values())
    }

    #[test]
    fn placeholders_are_filled_in() {
        assert_eq!(filled("task ${id}: ${result:2}.").unwrap(), "task 7: two.");
        assert_eq!(filled("${result}").unwrap(), "one\ntwo");
        assert_eq!(filled("").unwrap(), "");
    }

    #[test]
    fn shell_variables_are_unchanged_and_a_doubled_dollar_escapes() {
        assert_eq!(
            filled("echo $HOME $(ls) $$").unwrap(),
            "echo $HOME $(ls) $$"
        );
        assert_eq!(filled("echo $${HOME} ${id}").unwrap(), "echo ${HOME} 7");
    }

    #[test]
    fn the_error_for_an_unknown_name_lists_the_known_names() {
        let error = filled("${idd}").unwrap_err();
        assert!(error.contains("${idd}") && error.contains("id"), "{error}");
        assert!(filled("${id").unwrap_err().contains("without"));
        assert!(filled("${result:0}").unwrap_err().contains("from 1"));
        let error = filled("${result:3}").unwrap_err();
        assert!(error.contains("result:3") && error.contains('2'), "{error}");
        let none = Template::parse("${result}", &known(&[])).unwrap();
        assert!(none.fill(&Values::default()).is_err());
    }

    #[test]
    fn every_string_of_an_input_is_a_template() {
        let input = json!({"id": "${id}", "list": ["${result:1}", 3], "deep": {"flag": true}});
        let template = TemplateValue::parse(&input, &known(&["id"])).unwrap();
        assert_eq!(
            template.fill(&values()).unwrap(),
            json!({"id": "7", "list": ["one", 3], "deep": {"flag": true}})
        );
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_text_without_placeholders_is_unchanged(text in "[$a{}é]{0,12}") {
            let parsed = Template::parse(&text, &known(&["a"]));
            if !text.contains("${") {
                prop_assert_eq!(parsed.unwrap().fill(&values()).unwrap(), text);
            }
        }
    }
}
