//! Elicitation: a server's form, presented to a person as questions.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};
use swarm_tools::PersonAnswer;

use super::calls::ActiveCall;

/// Maximum number of questions per `AskUserQuestion` request.
const MAX_QUESTIONS: usize = 4;

/// Maximum attempts to obtain a valid value.
const MAX_ATTEMPTS: usize = 3;

/// The answer that omits an optional value.
const OMIT_VALUE: &str = "-";

/// The option that omits an optional choice.
const OMIT_CHOICE: &str = "(leave out)";

/// Presents a form to the person behind a call. The error tells the server that the form is
/// unsupported.
pub(super) async fn elicit(
    call: &ActiveCall,
    request: ElicitRequestParams,
) -> Result<ElicitResult, String> {
    let (message, schema) = match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => (message, json!(requested_schema)),
        ElicitRequestParams::UrlElicitationParams { url, .. } => {
            return Err(format!(
                "the server asks a person to open {url}; swarm does not open URLs for servers, but a person can open it manually"
            ));
        }
        _ => return Err("the server asks for input in an unsupported form".to_owned()),
    };
    let fields = fields(&schema)?;
    let form = Form {
        call,
        // The question itself must name the server: the person sees nothing else.
        message: format!("MCP server {} asks: {message}", call.options.server),
    };
    Ok(match form.fill(&fields).await {
        Ok(content) => {
            let result = ElicitResult::new(ElicitationAction::Accept);
            result.with_content(Value::Object(content))
        }
        Err(action) => ElicitResult::new(action),
    })
}

/// A form presented to a person.
struct Form<'a> {
    call: &'a ActiveCall,
    message: String,
}

/// The values of a form, or how the person left it.
type FormResult = Result<Map<String, Value>, ElicitationAction>;

impl Form<'_> {
    async fn fill(&self, fields: &[Field]) -> FormResult {
        if fields.is_empty() {
            return self.confirm().await;
        }
        let mut content = Map::new();
        for group in fields.chunks(MAX_QUESTIONS) {
            // The open fields, each with the error of its last answer.
            let mut open: Vec<(&Field, String)> =
                group.iter().map(|field| (field, String::new())).collect();
            for _ in 0..MAX_ATTEMPTS {
                let questions = self.questions(&open);
                let answers = self.ask(&questions).await?;
                let mut wrong = Vec::new();
                for ((field, _), question) in open.iter().zip(&questions) {
                    let text = question["question"].as_str().unwrap_or_default();
                    let words = answers.get(text).and_then(Value::as_str);
                    match field.value(words.unwrap_or_default()) {
                        Ok(Some(value)) => {
                            content.insert(field.name.clone(), value);
                        }
                        Ok(None) => {}
                        Err(why) => wrong.push((*field, why)),
                    }
                }
                open = wrong;
                if open.is_empty() {
                    break;
                }
            }
            if !open.is_empty() {
                return Err(ElicitationAction::Cancel);
            }
        }
        Ok(content)
    }

    /// Asks for confirmation of a form without fields.
    async fn confirm(&self) -> FormResult {
        let options = json!([{"label": "Yes"}, {"label": "No"}]);
        let question = json!({"question": self.message, "header": "Confirm", "options": options});
        let answers = self.ask(&[question]).await?;
        if answers.values().any(|answer| answer == "Yes") {
            return Ok(Map::new());
        }
        Err(ElicitationAction::Decline)
    }

    fn questions(&self, open: &[(&Field, String)]) -> Vec<Value> {
        let questions = open.iter().enumerate().map(|(index, (field, wrong))| {
            let message = if index == 0 { &*self.message } else { "" };
            let text = format!("{message} {}{wrong}", field.label());
            let options: Vec<_> = field
                .options()
                .into_iter()
                .map(|label| json!({"label": label}))
                .collect();
            let several = matches!(field.kind, Kind::Several(_));
            json!({"question": text.trim(), "header": "Input", "options": options, "multiSelect": several})
        });
        questions.collect()
    }

    async fn ask(&self, questions: &[Value]) -> FormResult {
        let options = &self.call.options;
        let Some(host) = &options.host else {
            return Err(ElicitationAction::Cancel);
        };
        let _asking = self.call.pause_timeout();
        let why = format!("the MCP server `{}` asks for input", options.server);
        let over = self.call.over.clone();
        let answer = host.ask(json!({"questions": questions}), why, over.clone());
        match answer.await {
            _ if over.is_cancelled() => Err(ElicitationAction::Cancel),
            PersonAnswer::Answered(answers) => Ok(answers),
            PersonAnswer::Skipped | PersonAnswer::Unanswered => Err(ElicitationAction::Cancel),
            PersonAnswer::Refused(_) => Err(ElicitationAction::Decline),
        }
    }
}

/// One requested value.
#[derive(Debug, PartialEq)]
struct Field {
    name: String,
    title: Option<String>,
    about: Option<String>,
    is_required: bool,
    kind: Kind,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Text,
    Number {
        whole: bool,
    },
    Boolean,
    /// One of these values, each with its label.
    Choice(Vec<(Value, String)>),
    /// Any number of these values.
    Several(Vec<(Value, String)>),
}

fn fields(schema: &Value) -> Result<Vec<Field>, String> {
    let required: Vec<_> = schema["required"]
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema["properties"].as_object();
    let fields = properties.into_iter().flatten().map(|(name, property)| {
        let text = |field: &str| property[field].as_str().map(str::to_owned);
        Ok(Field {
            name: name.clone(),
            title: text("title"),
            about: text("description"),
            is_required: required.contains(&name.as_str()),
            kind: kind(name, property)?,
        })
    });
    fields.collect()
}

fn kind(name: &str, property: &Value) -> Result<Kind, String> {
    if let Some(choices) = choices(property) {
        return Ok(Kind::Choice(choices));
    }
    match property["type"].as_str() {
        Some("string") => Ok(Kind::Text),
        Some("number") => Ok(Kind::Number { whole: false }),
        Some("integer") => Ok(Kind::Number { whole: true }),
        Some("boolean") => Ok(Kind::Boolean),
        Some("array") if choices(&property["items"]).is_some() => Ok(Kind::Several(
            choices(&property["items"]).unwrap_or_default(),
        )),
        _ => Err(format!(
            "the server asks a person for `{name}`, but only texts, numbers, booleans and choices are supported"
        )),
    }
}

/// Returns the values of a choice: an `enum` with optional names, or titled constants.
fn choices(property: &Value) -> Option<Vec<(Value, String)>> {
    if let Some(values) = property["enum"].as_array() {
        let name = |index: usize| property["enumNames"][index].as_str();
        let named = values.iter().enumerate();
        let named = named.map(|(index, value)| {
            let label = name(index).or(value.as_str());
            (
                value.clone(),
                label.map_or_else(|| value.to_string(), str::to_owned),
            )
        });
        return Some(named.collect());
    }
    let titled = property["oneOf"]
        .as_array()
        .or(property["anyOf"].as_array())?;
    let titled = titled.iter().map(|choice| {
        let value = choice.get("const")?.clone();
        let label = choice["title"].as_str().or(value.as_str())?.to_owned();
        Some((value, label))
    });
    titled.collect()
}

impl Field {
    /// Returns the text shown to the person, unique among the fields.
    fn label(&self) -> String {
        let mut label = match &self.title {
            Some(title) if *title != self.name => format!("{title} [{}]", self.name),
            _ => self.name.clone(),
        };
        if let Some(about) = &self.about {
            label = format!("{label}: {about}");
        }
        if !self.is_required && self.options().is_empty() {
            label = format!("{label} (optional, `{OMIT_VALUE}` for none)");
        }
        label
    }

    fn options(&self) -> Vec<String> {
        let mut options: Vec<String> = match &self.kind {
            Kind::Text | Kind::Number { .. } => return Vec::new(),
            Kind::Boolean => vec!["Yes".to_owned(), "No".to_owned()],
            Kind::Choice(choices) | Kind::Several(choices) => {
                choices.iter().map(|(_, label)| label.clone()).collect()
            }
        };
        if !self.is_required {
            options.push(OMIT_CHOICE.to_owned());
        }
        options
    }

    /// Converts an answer to a value; `None` omits it. The error is for the person.
    fn value(&self, words: &str) -> Result<Option<Value>, String> {
        let words = words.trim();
        if !self.is_required && (words == OMIT_VALUE || words == OMIT_CHOICE) {
            return Ok(None);
        }
        let wrong = |wanted: &str| format!(" (`{words}` is not {wanted})");
        let chosen = |choices: &[(Value, String)], words: &str| {
            let found = choices.iter().find(|(_, label)| label == words.trim());
            found.map(|(value, _)| value.clone())
        };
        Ok(Some(match &self.kind {
            Kind::Text => words.into(),
            Kind::Number { whole: true } => words
                .parse::<i64>()
                .map_err(|_| wrong("a whole number"))?
                .into(),
            Kind::Number { whole: false } => words
                .parse::<f64>()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .ok_or_else(|| wrong("a number"))?
                .into(),
            Kind::Boolean => match words.to_ascii_lowercase().as_str() {
                "yes" | "true" => true.into(),
                "no" | "false" => false.into(),
                _ => return Err(wrong("yes or no")),
            },
            Kind::Choice(choices) => {
                chosen(choices, words).ok_or_else(|| wrong("one of the options"))?
            }
            Kind::Several(choices) => {
                let values: Option<Vec<Value>> = words
                    .split(", ")
                    .map(|word| chosen(choices, word))
                    .collect();
                values.ok_or_else(|| wrong("a list of the options"))?.into()
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Value {
        json!({"type": "object", "required": ["name", "count", "color"], "properties": {
            "name": {"type": "string", "title": "Name", "description": "as in the passport"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "sure": {"type": "boolean"},
            "color": {"type": "string", "enum": ["r", "g"], "enumNames": ["red", "green"]},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "small"}]},
            "days": {"type": "array", "items": {"anyOf": [{"const": "mo", "title": "Monday"}, {"const": "tu", "title": "Tuesday"}]}}
        }})
    }

    #[test]
    fn fields_are_presented_with_their_options() {
        let fields = fields(&form()).unwrap();
        let of = |name: &str| fields.iter().find(|field| field.name == name).unwrap();
        assert_eq!(of("name").label(), "Name [name]: as in the passport");
        assert_eq!(of("share").label(), "share (optional, `-` for none)");
        assert_eq!(of("sure").options(), ["Yes", "No", OMIT_CHOICE]);
        assert_eq!(of("color").options(), ["red", "green"]);
        assert_eq!(of("days").options(), ["Monday", "Tuesday", OMIT_CHOICE]);
    }

    #[test]
    fn answers_are_converted_to_the_requested_type() {
        let fields = fields(&form()).unwrap();
        for (name, words, value) in [
            ("name", " Ann ", Ok(Some(json!("Ann")))),
            ("name", "-", Ok(Some(json!("-")))),
            ("count", "7", Ok(Some(json!(7)))),
            ("count", "7.5", Err(" (`7.5` is not a whole number)")),
            ("share", "0.5", Ok(Some(json!(0.5)))),
            ("share", "-", Ok(None)),
            ("share", "much", Err(" (`much` is not a number)")),
            ("sure", "Yes", Ok(Some(json!(true)))),
            ("sure", OMIT_CHOICE, Ok(None)),
            ("color", "green", Ok(Some(json!("g")))),
            ("color", "blue", Err(" (`blue` is not one of the options)")),
            ("size", "small", Ok(Some(json!("s")))),
            ("days", "Monday, Tuesday", Ok(Some(json!(["mo", "tu"])))),
        ] {
            let field = fields.iter().find(|field| field.name == name).unwrap();
            let value = value.map_err(str::to_owned);
            assert_eq!(field.value(words), value, "{name}: {words}");
        }
    }

    #[test]
    fn a_nested_object_is_rejected() {
        let schema = json!({"properties": {"a": {"type": "object"}}});
        assert!(fields(&schema).unwrap_err().contains("`a`"));
    }
}
