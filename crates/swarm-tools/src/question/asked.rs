//! The questions of a call, and the call with its answers.

use serde_json::{Map, Value};

use crate::input::Input;

/// Where a call holds its answers once it has them.
const ANSWERS: &str = "answers";

/// The most questions of one call, and the most options of one question, as models are told.
const MOST_QUESTIONS: usize = 4;

/// One question of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedQuestion {
    /// What is asked.
    pub question: String,
    /// Label and explanation of each option.
    pub options: Vec<(String, String)>,
    /// Whether several options may be chosen.
    pub several: bool,
}

/// The questions of a call of `AskUserQuestion`. The error is for the model.
pub fn questions(input: &Value) -> Result<Vec<AskedQuestion>, String> {
    let parameters = ["questions", ANSWERS, "annotations", "metadata"];
    let input = Input::new("AskUserQuestion", input, &parameters)?;
    let list = input.list("questions")?.unwrap_or_default();
    if list.is_empty() || list.len() > MOST_QUESTIONS {
        return Err(format!(
            "AskUserQuestion takes from 1 to {MOST_QUESTIONS} `questions`, not {}.",
            list.len()
        ));
    }
    let questions: Vec<AskedQuestion> = list.iter().map(question).collect::<Result<_, _>>()?;
    for (at, one) in questions.iter().enumerate() {
        if questions[..at]
            .iter()
            .any(|other| other.question == one.question)
        {
            return Err("Two `questions` are the same.".into());
        }
    }
    Ok(questions)
}

fn question(value: &Value) -> Result<AskedQuestion, String> {
    let parameters = ["question", "header", "options", "multiSelect"];
    let input = Input::new("A question", value, &parameters)?;
    let options = input.list("options")?.unwrap_or_default();
    let option = |value: &Value| {
        let input = Input::new("An option", value, &["label", "description", "preview"])?;
        let label = input.text("label")?.trim();
        if label.is_empty() {
            return Err("An option has an empty `label`.".to_owned());
        }
        let description = input.optional_text("description")?.unwrap_or_default();
        Ok((label.to_owned(), description.to_owned()))
    };
    let question = input.text("question")?.trim();
    if question.is_empty() {
        return Err("A question has an empty `question`.".into());
    }
    Ok(AskedQuestion {
        question: question.to_owned(),
        options: options.iter().map(option).collect::<Result<_, _>>()?,
        several: input.flag("multiSelect")?,
    })
}

impl AskedQuestion {
    /// A person's words as the answer: the number of an option stands for its label, several numbers with commas
    /// between them for several, and anything else for itself.
    pub fn answer(&self, words: &str) -> String {
        let by_number = |word: &str| {
            let number: usize = word.trim().parse().ok()?;
            let (label, _) = self.options.get(number.checked_sub(1)?)?;
            Some(label.clone())
        };
        let words = words.trim();
        let labels: Option<Vec<String>> = if self.several {
            words.split(',').map(by_number).collect()
        } else {
            by_number(words).map(|label| vec![label])
        };
        labels.map_or_else(|| words.to_owned(), |labels| labels.join(", "))
    }
}

/// The call with a person's answers, one for each question in their order. The error is for the person.
pub fn answered(input: &Value, answers: &[String]) -> Result<Value, String> {
    let questions = questions(input)?;
    if questions.len() != answers.len() {
        let wanted = match questions.len() {
            1 => "one question".to_owned(),
            many => format!("{many} questions, in their order"),
        };
        return Err(format!("there are {} answers to {wanted}", answers.len()));
    }
    let mut with = input.clone();
    let map: Map<String, Value> = questions
        .iter()
        .zip(answers)
        .map(|(question, words)| (question.question.clone(), question.answer(words).into()))
        .collect();
    with[ANSWERS] = Value::Object(map);
    Ok(with)
}

/// The answers that a call holds.
pub(super) fn answers(input: &Value) -> Option<&Map<String, Value>> {
    input.get(ANSWERS).and_then(Value::as_object)
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
    fn an_answer_is_a_number_or_ones_own_words() {
        for (several, words, answer) in [
            (false, "2", "SQLite"),
            (false, " 1 ", "Postgres"),
            (false, "3", "3"),
            (false, "0", "0"),
            (false, "1,2", "1,2"),
            (false, "neither, ask Bob", "neither, ask Bob"),
            (true, "1, 2", "Postgres, SQLite"),
            (true, "1, both", "1, both"),
        ] {
            let with = answered(&input(several), &[words.to_owned()]).unwrap();
            assert_eq!(with["answers"]["Which database?"], answer, "{words}");
        }
    }

    #[test]
    fn each_question_has_one_answer() {
        let why = answered(&input(false), &[]).unwrap_err();
        assert_eq!(why, "there are 0 answers to one question");
        assert!(answered(&input(false), &["1".into(), "2".into()]).is_err());
    }

    #[test]
    fn what_is_no_question_is_refused() {
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
