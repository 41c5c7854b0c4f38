//! Tool parameters: the JSON Schema that a model sees and the parsing of its calls, both from one
//! type.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Returns the text of a file in `config/prompts`, such as `tools/Read`.
#[macro_export]
macro_rules! prompt {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../config/prompts/",
            $name,
            ".md"
        ))
        .trim_ascii_end()
    };
}

/// Parameters of a tool without parameters.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// Returns the JSON Schema of a tool's parameters. The output is deterministic, so that requests
/// share a cached prefix.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    simplify(&mut schema);
    if let Some(fields) = schema.as_object_mut() {
        // This describes the Rust type, not the tool.
        fields.shift_remove("description");
        // Some servers refuse an object schema without properties.
        fields
            .entry("properties")
            .or_insert_with(|| Map::new().into());
    }
    schema
}

/// Removes details that are irrelevant to a model: names of Rust types, number formats, and `null`
/// for optional parameters.
fn simplify(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    for noise in ["title", "format"] {
        if fields.get(noise).is_some_and(Value::is_string) {
            fields.shift_remove(noise);
        }
    }
    if fields.get("default").is_some_and(Value::is_null) {
        fields.shift_remove("default");
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = &types[..] {
            fields["type"] = only.clone();
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|one| !one.is_null());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if let Some(items) = fields.get_mut("items") {
        simplify(items);
    }
    flatten_optional(fields);
}

/// Replaces `anyOf: [X, null]` by `X`.
fn flatten_optional(fields: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = fields.get("anyOf") else {
        return;
    };
    let is_null = |choice: &Value| choice["type"] == "null";
    if let ([choice, null], true) = (&choices[..], choices.iter().any(is_null))
        && is_null(null)
        && let Value::Object(mut choice) = choice.clone()
    {
        fields.shift_remove("anyOf");
        choice.append(fields);
        *fields = choice;
        let mut whole = Value::Object(std::mem::take(fields));
        simplify(&mut whole);
        if let Value::Object(whole) = whole {
            *fields = whole;
        }
    }
}

/// Parses the input of a call. Strict about names and types, lenient about how models spell a
/// value: numbers and booleans in quotes, numbers where text is expected, `null` for an absent
/// parameter.
///
/// # Errors
/// A sentence for the model that names the tool and the parameter.
pub fn parse<T: JsonSchema + DeserializeOwned>(tool: &str, mut input: Value) -> Result<T, String> {
    if !input.is_object() {
        return Err(format!("{tool} takes an object of parameters."));
    }
    // Most calls are exact; the schema takes longer than their parsing.
    if let Ok(parameters) = T::deserialize(&input) {
        return Ok(parameters);
    }
    coerce(&mut input, &schema::<T>());
    serde_path_to_error::deserialize(input).map_err(|error| {
        let path = error.path().to_string();
        let why = error.into_inner().to_string();
        let why = why
            .replace("unknown field", "unknown parameter")
            .replace("missing field", "missing parameter");
        if path == "." || why.contains("parameter") {
            format!("{tool}: {why}")
        } else {
            format!("{tool}: `{path}`: {why}")
        }
    })
}

fn coerce(value: &mut Value, schema: &Value) {
    match (&*value, schema["type"].as_str()) {
        (Value::String(text), Some("integer")) => {
            if let Ok(number) = text.trim().parse::<i64>() {
                *value = number.into();
            }
        }
        (Value::Number(number), Some("integer")) => {
            // A float without fraction prints as `5.0`.
            if let Some(Ok(whole)) = number.to_string().strip_suffix(".0").map(str::parse::<i64>) {
                *value = whole.into();
            }
        }
        (Value::Number(number), Some("string")) => *value = number.to_string().into(),
        (Value::String(text), Some("boolean")) => match text.as_str() {
            "true" => *value = true.into(),
            "false" => *value = false.into(),
            _ => {}
        },
        _ => {}
    }
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| coerce(item, &schema["items"])),
        Value::Object(fields) if schema["properties"].is_object() => {
            fields.retain(|_, field| !field.is_null());
            for (name, field) in fields {
                coerce(field, &schema["properties"][name.as_str()]);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Parameters of every supported kind.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Parameters {
        /// The path
        file_path: String,
        /// The number of lines
        #[schemars(range(min = 1))]
        limit: Option<usize>,
        #[serde(default)]
        everywhere: bool,
        kind: Option<Kind>,
        #[serde(default)]
        items: Vec<Item>,
        #[schemars(skip)]
        hidden: Option<String>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        OneThing,
        Other,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Item {
        title: String,
    }

    #[test]
    fn a_schema_contains_only_what_a_model_needs() {
        assert_eq!(
            schema::<Parameters>(),
            json!({
                "type": "object",
                "properties": {
                    "filePath": {"description": "The path", "type": "string"},
                    "limit": {"description": "The number of lines", "type": "integer", "minimum": 1},
                    "everywhere": {"type": "boolean", "default": false},
                    "kind": {"type": "string", "enum": ["one_thing", "other"]},
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"title": {"type": "string"}},
                            "additionalProperties": false,
                            "required": ["title"],
                        },
                    },
                },
                "additionalProperties": false,
                "required": ["filePath"],
            })
        );
        assert_eq!(
            schema::<NoParameters>(),
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        );
    }

    #[test]
    fn quoted_values_are_accepted_and_null_counts_as_absent() {
        let input = json!({"filePath": 7, "limit": " 5 ", "everywhere": "true", "kind": null, "items": [{"title": 1}]});
        let parsed: Parameters = parse("T", input).unwrap();
        assert_eq!(parsed.file_path, "7");
        assert_eq!((parsed.limit, parsed.everywhere), (Some(5), true));
        assert_eq!(parsed.items[0].title, "1");
        let parsed: Parameters = parse("T", json!({"filePath": "x", "limit": 5.0})).unwrap();
        assert_eq!((parsed.limit, parsed.kind), (Some(5), None));
        let parsed: Parameters = parse("T", json!({"filePath": "x", "hidden": "h"})).unwrap();
        assert_eq!(parsed.hidden.as_deref(), Some("h"));
    }

    #[test]
    fn errors_name_the_tool_and_the_parameter() {
        for (input, expected) in [
            (json!([]), "T takes an object of parameters."),
            (json!({}), "T: missing parameter `filePath`"),
            (
                json!({"filePath": "x", "path": "y"}),
                "T: unknown parameter `path`, expected one of `filePath`, `limit`",
            ),
            (
                json!({"filePath": "x", "limit": -1}),
                "T: `limit`: invalid value",
            ),
            (
                json!({"filePath": "x", "limit": 1.5}),
                "T: `limit`: invalid type",
            ),
            (json!({"filePath": []}), "T: `filePath`: invalid type"),
            (
                json!({"filePath": "x", "items": [{"title": []}]}),
                "T: `items[0].title`: invalid type",
            ),
            (
                json!({"filePath": "x", "kind": "none"}),
                "T: `kind`: unknown variant `none`, expected `one_thing` or `other`",
            ),
        ] {
            let error = parse::<Parameters>("T", input).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
