//! Validates a scenario file, so that mistakes are reported with their line when it is loaded, not
//! during a run.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use toml::Spanned;

use super::file::{CallFile, FailFile, InterruptFile, ScenarioFile, StepFile, StopKind, TurnFile};
use super::scenario::{Call, Conditions, Fail, Interrupt, Scenario, ScenarioError, Step, Turn};
use super::template::{BUILT_IN, Template, TemplateValue};
use crate::model::StopReason;

/// Default delay after each streamed word in milliseconds: about reading speed.
const CHUNK_MS: u64 = 25;

/// Parses and validates the text of a scenario. `path` is used only in errors.
pub(super) fn load(text: &str, path: &Path) -> Result<Scenario, ScenarioError> {
    let loader = Loader { text, path };
    let file: ScenarioFile = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        loader.invalid(start, error.message())
    })?;
    if file.turn.is_empty() {
        return Err(loader.invalid(0, "a scenario needs at least one [[turn]]"));
    }
    Ok(Scenario {
        path: path.to_owned(),
        chunk_delay: Duration::from_millis(file.chunk_ms.unwrap_or(CHUNK_MS)),
        turns: file
            .turn
            .into_iter()
            .map(|turn| loader.turn(turn))
            .collect::<Result<_, _>>()?,
    })
}

struct Loader<'a> {
    text: &'a str,
    path: &'a Path,
}

/// Required end of a list of steps.
#[derive(Clone, Copy, PartialEq)]
enum Ending {
    /// The last step ends the turn.
    EndsTurn,
    /// The last step calls a tool, since the interrupted turn continues with its results.
    Continues,
}

impl Loader<'_> {
    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    fn invalid(&self, offset: usize, message: impl Into<String>) -> ScenarioError {
        ScenarioError::Invalid {
            path: self.path.to_owned(),
            line: self.line(offset),
            message: message.into(),
        }
    }

    fn turn(&self, turn: Spanned<TurnFile>) -> Result<Turn, ScenarioError> {
        let start = turn.span().start;
        let turn = turn.into_inner();
        if turn.nth == Some(0) {
            return Err(self.invalid(start, "nth: prompts are counted from 1"));
        }
        let mut known: BTreeSet<String> = BUILT_IN.map(str::to_owned).into();
        let when = Conditions {
            agent: turn.agent,
            nth: turn.nth,
            contains: turn.contains.into_iter().chain(turn.contains_all).collect(),
            matches: self.optional_regex("matches", turn.matches, &mut known)?,
            system_matches: self.optional_regex(
                "system_matches",
                turn.system_matches,
                &mut known,
            )?,
            seen_all: turn.seen_all,
        };
        // An interrupt can arrive before any step of the turn has captured groups, and may not
        // arrive at all. So neither sees the groups of the other.
        let interrupts = turn
            .interrupt
            .into_iter()
            .map(|interrupt| self.interrupt(interrupt, known.clone()))
            .collect::<Result<_, _>>()?;
        Ok(Turn {
            line: self.line(start),
            when,
            steps: self.steps(turn.step, start, "turn", Ending::EndsTurn, known)?,
            interrupts,
        })
    }

    fn interrupt(
        &self,
        interrupt: Spanned<InterruptFile>,
        mut known: BTreeSet<String>,
    ) -> Result<Interrupt, ScenarioError> {
        let start = interrupt.span().start;
        let interrupt = interrupt.into_inner();
        if interrupt.contains.is_none() && interrupt.matches.is_none() {
            return Err(self.invalid(
                start,
                "an interrupt needs `contains` or `matches`; otherwise every text would trigger it",
            ));
        }
        let ending = if interrupt.resume {
            Ending::Continues
        } else {
            Ending::EndsTurn
        };
        Ok(Interrupt {
            contains: interrupt.contains,
            matches: self.optional_regex("matches", interrupt.matches, &mut known)?,
            resume: interrupt.resume,
            steps: self.steps(interrupt.step, start, "interrupt", ending, known)?,
        })
    }

    fn steps(
        &self,
        files: Vec<Spanned<StepFile>>,
        start: usize,
        of: &str,
        ending: Ending,
        mut known: BTreeSet<String>,
    ) -> Result<Vec<Step>, ScenarioError> {
        let mut steps = Vec::with_capacity(files.len());
        let mut last_start = start;
        let count = files.len();
        for (index, file) in files.into_iter().enumerate() {
            last_start = file.span().start;
            let step = self.step(file, &mut known)?;
            if index + 1 < count && step.ends_turn() {
                return Err(self.invalid(
                    last_start,
                    "this step ends the turn, so later steps are never reached; add a `call` or a `stop` to it",
                ));
            }
            steps.push(step);
        }
        let Some(last) = steps.last() else {
            return Err(self.invalid(start, format!("this {of} has no steps; add a [[…step]]")));
        };
        match ending {
            Ending::EndsTurn if !last.may_end() => Err(self.invalid(
                last_start,
                format!("the last step of the {of} calls a tool; add a step that answers the result with `say`"),
            )),
            Ending::Continues if last.ends_turn() => Err(self.invalid(
                last_start,
                "an interrupt with `resume` must end with a `call`; otherwise the turn ends here",
            )),
            _ => Ok(steps),
        }
    }

    fn step(
        &self,
        file: Spanned<StepFile>,
        known: &mut BTreeSet<String>,
    ) -> Result<Step, ScenarioError> {
        let start = file.span().start;
        let file = file.into_inner();
        let idle = file.say.is_none() && file.call.is_empty() && file.fail.is_none();
        if idle && file.stop.is_none() {
            return Err(self.invalid(
                start,
                "a step needs `say`, `call` or `fail`; an empty answer is `stop = \"end_turn\"`",
            ));
        }
        let capture = self.optional_regex("capture", file.capture, known)?;
        let fail = file.fail.map(|fail| self.fail(fail)).transpose()?;
        let stop = match file.stop {
            Some(word) => word.reason(),
            None if file.call.is_empty() => StopReason::EndTurn,
            None => StopReason::ToolUse,
        };
        Ok(Step {
            line: self.line(start),
            capture,
            wait: Duration::from_millis(file.wait_ms.unwrap_or(0)),
            think: self.optional_template("think", file.think, known)?,
            say: self.optional_template("say", file.say, known)?,
            calls: file
                .call
                .into_iter()
                .map(|call| self.call(call, known))
                .collect::<Result<_, _>>()?,
            fail,
            stop,
        })
    }

    fn call(
        &self,
        call: Spanned<CallFile>,
        known: &BTreeSet<String>,
    ) -> Result<Call, ScenarioError> {
        let start = call.span().start;
        let CallFile {
            tool,
            input,
            broken_input,
        } = call.into_inner();
        if tool.is_empty() {
            return Err(self.invalid(start, "tool: a call needs the name of a tool"));
        }
        let input = match broken_input {
            None => TemplateValue::parse(&Value::Object(input), known)
                .map_err(|why| self.invalid(start, format!("input of {tool}: {why}")))?,
            Some(raw) if input.is_empty() => TemplateValue::Fixed(Value::String(raw)),
            Some(_) => {
                return Err(self.invalid(start, "a call has `input` or `broken_input`, not both"));
            }
        };
        Ok(Call { tool, input })
    }

    fn fail(&self, fail: Spanned<FailFile>) -> Result<Fail, ScenarioError> {
        let start = fail.span().start;
        let fail = fail.into_inner();
        let fail = Fail {
            kind: fail.kind,
            message: fail
                .message
                .unwrap_or_else(|| "simulated by the scenario".to_owned()),
            times: fail.times,
            wait: Duration::from_millis(fail.wait_ms),
            after_text: fail.after_text,
        };
        if fail.times.is_some() && !fail.error("").is_transient() {
            return Err(self.invalid(
                start,
                "fail: `times` is for failures that are retried: rate_limited, overloaded, server, network, idle_timeout, bad_stream",
            ));
        }
        Ok(fail)
    }

    fn optional_template(
        &self,
        field: &str,
        text: Option<Spanned<String>>,
        known: &BTreeSet<String>,
    ) -> Result<Option<Template>, ScenarioError> {
        let parse = |text: Spanned<String>| {
            Template::parse(text.as_ref(), known)
                .map_err(|why| self.invalid(text.span().start, format!("{field}: {why}")))
        };
        text.map(parse).transpose()
    }

    /// Compiles a regular expression and adds its groups to the known names.
    fn optional_regex(
        &self,
        field: &str,
        pattern: Option<Spanned<String>>,
        known: &mut BTreeSet<String>,
    ) -> Result<Option<Regex>, ScenarioError> {
        let Some(pattern) = pattern else {
            return Ok(None);
        };
        let start = pattern.span().start;
        let regex = Regex::new(pattern.as_ref())
            .map_err(|error| self.invalid(start, format!("{field}: {error}")))?;
        for name in regex.capture_names().flatten() {
            if name == "result" {
                return Err(self.invalid(
                    start,
                    format!(
                        "{field}: a group cannot be named `result`, which refers to tool results"
                    ),
                ));
            }
            known.insert(name.to_owned());
        }
        Ok(Some(regex))
    }
}

impl Step {
    /// Whether this step always ends its turn.
    fn ends_turn(&self) -> bool {
        self.stop == StopReason::EndTurn || self.always_fails()
    }

    /// Whether this step may be the last one.
    fn may_end(&self) -> bool {
        self.stop != StopReason::ToolUse || self.always_fails()
    }

    fn always_fails(&self) -> bool {
        self.fail.as_ref().is_some_and(|fail| fail.times.is_none())
    }
}

impl StopKind {
    fn reason(self) -> StopReason {
        match self {
            Self::EndTurn => StopReason::EndTurn,
            Self::ToolUse => StopReason::ToolUse,
            Self::MaxTokens => StopReason::MaxTokens,
            Self::PauseTurn => StopReason::PauseTurn,
            Self::Refusal => StopReason::Refusal,
        }
    }
}
