//! The `AskUserQuestion` tool: multiple-choice questions and their answers.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use swarm_protocol::ToolKind;

use crate::one_line::{counted, one_line};
use crate::parameters::{parse, schema};
use crate::{Tool, ToolContext, ToolOutput, prompt};

/// Input field that holds the answers.
const ANSWERS: &str = "answers";

/// Maximum number of questions per call, as in the tool's schema.
const MAX_QUESTIONS: usize = 4;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<Entry>,
    #[schemars(skip)]
    #[expect(dead_code, reason = "set by `answered`")]
    answers: Option<Value>,
    #[schemars(skip)]
    #[expect(dead_code, reason = "accepted, since models pass it")]
    annotations: Option<Value>,
    #[schemars(skip)]
    #[expect(dead_code, reason = "accepted, since models pass it")]
    metadata: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    /// The complete question, ending with a question mark
    question: String,
    /// A short label, at most 12 characters
    #[expect(dead_code, reason = "shown by other clients")]
    header: Option<String>,
    #[serde(default)]
    #[schemars(length(min = 2, max = 4))]
    options: Vec<Choice>,
    /// Allow several options to be chosen
    #[serde(default)]
    multi_select: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Choice {
    /// The option in one to five words
    label: String,
    /// What choosing it means
    #[serde(default)]
    description: String,
    #[schemars(skip)]
    #[expect(dead_code, reason = "accepted, since models pass it")]
    preview: Option<Value>,
}

/// One question of an `AskUserQuestion` call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedQuestion {
    /// Text of the question.
    pub question: String,
    /// Label and description of each option.
    pub options: Vec<(String, String)>,
    /// Whether several options may be chosen.
    pub several: bool,
}

/// Parses the questions of an `AskUserQuestion` call. The error is a message for the model.
pub fn questions(input: &Value) -> Result<Vec<AskedQuestion>, String> {
    let input: Parameters = parse("AskUserQuestion", input.clone())?;
    let count = input.questions.len();
    if count == 0 || count > MAX_QUESTIONS {
        return Err(format!(
            "AskUserQuestion takes from 1 to {MAX_QUESTIONS} `questions`, not {count}."
        ));
    }
    let questions: Vec<_> = input
        .questions
        .into_iter()
        .map(question)
        .collect::<Result<_, _>>()?;
    for (at, one) in questions.iter().enumerate() {
        if questions[..at]
            .iter()
            .any(|other: &AskedQuestion| other.question == one.question)
        {
            return Err("Two `questions` are identical.".into());
        }
    }
    Ok(questions)
}

fn question(asked: Entry) -> Result<AskedQuestion, String> {
    let text = |text: &str, what: &str| match text.trim() {
        "" => Err(format!("AskUserQuestion: {what} is empty.")),
        text => Ok(text.to_owned()),
    };
    let option = |choice: Choice| Ok((text(&choice.label, "a `label`")?, choice.description));
    Ok(AskedQuestion {
        question: text(&asked.question, "a `question`")?,
        options: asked
            .options
            .into_iter()
            .map(option)
            .collect::<Result<_, String>>()?,
        several: asked.multi_select,
    })
}

/// Prefix that marks the rest of an answer as free text.
const FREE_TEXT_PREFIX: &str = "other:";

impl AskedQuestion {
    /// Converts the user's input to an answer. The number of an option selects its label, several
    /// numbers separated by commas select several if allowed, and other text is the answer itself.
    /// A number without an option is probably a typo, so it is accepted only after `other:`. The
    /// error is a message for the user.
    ///
    /// # Errors
    /// Lists the available options.
    pub fn answer(&self, words: &str) -> Result<String, String> {
        let words = words.trim();
        if let Some(own) = self.free_text(words) {
            return if own.is_empty() {
                Err(format!("the answer to \"{}\" is empty", self.question))
            } else {
                Ok(own.to_owned())
            };
        }
        let chosen: Option<Vec<&str>> = words.split(',').map(|one| self.by_number(one)).collect();
        match chosen {
            Some(labels) if labels.len() == 1 || self.several => Ok(labels.join(", ")),
            _ => Err(self.not_an_option(words)),
        }
    }

    /// Returns the text if it is a free-text answer, not a selection by number.
    fn free_text<'a>(&self, words: &'a str) -> Option<&'a str> {
        let head = words.get(..FREE_TEXT_PREFIX.len());
        if head.is_some_and(|head| head.eq_ignore_ascii_case(FREE_TEXT_PREFIX)) {
            return Some(words[FREE_TEXT_PREFIX.len()..].trim());
        }
        let is_number = |word: &str| {
            let word = word.trim().trim_start_matches(['-', '+', '#']);
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
        };
        let is_label = self.options.iter().any(|(label, _)| label == words);
        let chooses = !self.options.is_empty() && !is_label && words.split(',').all(is_number);
        (!chooses).then_some(words)
    }

    fn by_number(&self, word: &str) -> Option<&str> {
        let number: usize = word.trim().trim_start_matches('#').parse().ok()?;
        let (label, _) = self.options.get(number.checked_sub(1)?)?;
        Some(label)
    }

    fn not_an_option(&self, words: &str) -> String {
        let options: Vec<_> = (1..)
            .zip(&self.options)
            .map(|(number, (label, _))| format!("{number} {label}"))
            .collect();
        let takes = if self.several {
            "accepts one or more of these numbers"
        } else {
            "accepts one of these numbers"
        };
        format!(
            "`{words}` is not an option: \"{}\" {takes}: {}; write `{FREE_TEXT_PREFIX} {words}` to answer in your own words",
            self.question,
            options.join(", ")
        )
    }
}

/// Adds the user's answers to a call, one per question and in the same order. The error is a
/// message for the user.
pub fn answered(input: &Value, answers: &[String]) -> Result<Value, String> {
    let questions = questions(input)?;
    if questions.len() != answers.len() {
        let wanted = match questions.len() {
            1 => "one question".to_owned(),
            many => format!("{many} questions; give one per question, in order"),
        };
        return Err(format!("there are {} answers to {wanted}", answers.len()));
    }
    let mut map = Map::new();
    for (question, words) in questions.iter().zip(answers) {
        map.insert(question.question.clone(), question.answer(words)?.into());
    }
    let mut with = input.clone();
    with[ANSWERS] = Value::Object(map);
    Ok(with)
}

/// Returns the answers in the input of a call.
pub fn given_answers(input: &Value) -> Option<&Map<String, Value>> {
    input.get(ANSWERS).and_then(Value::as_object)
}

/// Asks the user questions. A call is sent as a permission request, and the answers are returned in
/// the call's input.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskUserQuestion;

#[async_trait]
impl Tool for AskUserQuestion {
    fn name(&self) -> &'static str {
        "AskUserQuestion"
    }

    fn description(&self) -> String {
        prompt!("tools/AskUserQuestion").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Parameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Person
    }

    fn one_line(&self, input: &Value) -> String {
        let first = input["questions"][0]["question"].as_str();
        one_line(&format!("AskUserQuestion {}", first.unwrap_or_default()))
    }

    fn check(&self, input: &Value, _ctx: &ToolContext) -> Result<(), String> {
        questions(input)?;
        match given_answers(input) {
            Some(_) => Err("`answers` must not be set: the user answers.".into()),
            None => Ok(()),
        }
    }

    /// Runs only after the questions were answered or skipped.
    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        let answers = given_answers(&input).filter(|answers| !answers.is_empty());
        let Some(answers) = answers else {
            return ToolOutput::error(
                "The question was seen but not answered. Continue with your best judgement.",
            );
        };
        let lines: Vec<String> = answers
            .iter()
            .map(|(question, answer)| {
                let answer = answer
                    .as_str()
                    .map_or_else(|| answer.to_string(), str::to_owned);
                format!("{question}\n-> {answer}")
            })
            .collect();
        let first = answers.values().next().and_then(Value::as_str);
        ToolOutput::ok(
            format!("Answers:\n{}", lines.join("\n")),
            one_line(&match answers.len() {
                1 => first.unwrap_or("answered").to_owned(),
                many => counted(many, "answer"),
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(several: bool) -> Value {
        json!({"questions": [{
            "question": "Which database?", "header": "Database", "multiSelect": several,
            "options": [{"label": "Postgres", "description": "big"}, {"label": "SQLite", "description": "small"}],
        }]})
    }

    #[test]
    fn an_answer_is_an_option_number_or_free_text() {
        for (several, words, answer) in [
            (false, "2", "SQLite"),
            (false, " 1 ", "Postgres"),
            (false, "#2", "SQLite"),
            (false, "SQLite", "SQLite"),
            (false, "neither, ask Bob", "neither, ask Bob"),
            (false, "2 replicas", "2 replicas"),
            (false, "other: 7", "7"),
            (false, "Other:1", "1"),
            (true, "1, 2", "Postgres, SQLite"),
            (true, "2", "SQLite"),
            (true, "1, both", "1, both"),
        ] {
            let with = answered(&input(several), &[words.to_owned()]).unwrap();
            assert_eq!(with["answers"]["Which database?"], answer, "{words}");
        }
        let open = json!({"questions": [{"question": "How many?"}]});
        let with = answered(&open, &["7".to_owned()]).unwrap();
        assert_eq!(with["answers"]["How many?"], "7");
    }

    #[test]
    fn a_numeric_label_selects_its_option() {
        let ports = json!({"questions": [{
            "question": "Which port?", "multiSelect": true,
            "options": [{"label": "8080"}, {"label": "2"}, {"label": "80,443"}],
        }]});
        for (words, answer) in [
            ("8080", "8080"),
            ("2", "2"),
            ("80,443", "80,443"),
            ("1", "8080"),
        ] {
            let with = answered(&ports, &[words.to_owned()]).unwrap();
            assert_eq!(with["answers"]["Which port?"], answer, "{words}");
        }
    }

    #[test]
    fn the_error_for_an_invalid_option_number_lists_the_options() {
        for (several, words) in [
            (false, "7"),
            (false, "0"),
            (false, "-1"),
            (false, "1,2"),
            (false, ""),
            (false, "other:"),
            (true, "1,7"),
        ] {
            let refused = answered(&input(several), &[words.to_owned()]);
            let Err(why) = refused else {
                panic!("{words}: {refused:?}")
            };
            let lists_options = why.contains("1 Postgres, 2 SQLite") && why.contains("`other: ");
            assert!(lists_options || why.contains("empty"), "{words}: {why}");
        }
    }

    #[test]
    fn each_question_has_one_answer() {
        let why = answered(&input(false), &[]).unwrap_err();
        assert_eq!(why, "there are 0 answers to one question");
        assert!(answered(&input(false), &["1".into(), "2".into()]).is_err());
    }

    #[test]
    fn invalid_questions_are_rejected() {
        for bad in [
            json!({}),
            json!({"questions": []}),
            json!({"questions": "x"}),
            json!({"questions": [{"question": " "}]}),
            json!({"questions": [{"question": "a"}, {"question": "a"}]}),
            json!({"questions": [{"question": "a", "options": [{"label": ""}]}]}),
            json!({"questions": [{"question": "a"}, {"question": "b"}, {"question": "c"}, {"question": "d"}, {"question": "e"}]}),
        ] {
            assert!(questions(&bad).is_err(), "{bad}");
        }
    }
}
