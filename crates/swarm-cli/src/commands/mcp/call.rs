//! The command line of a call.

use serde_json::{Map, Value};
use swarm_protocol::{MemberName, PermissionMode};

use super::tools::{ClientRole, Kind, MAX_WAIT, Parameter, TOOLS, TeamTool};

/// The wait of a call without a time, in seconds.
const USUAL_WAIT: u64 = 60;

pub(super) struct Call<'a> {
    tool: &'static TeamTool,
    input: &'a Map<String, Value>,
}

impl<'a> Call<'a> {
    /// Validates the name and the parameters of a call.
    pub(super) fn check(
        name: &str,
        input: &'a Map<String, Value>,
        role: &ClientRole,
    ) -> Result<Self, String> {
        let mut offered = TOOLS.iter().filter(|tool| tool.is_for(role));
        let tool = offered.find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| format!("there is no tool `{}`", name.escape_debug()))?;
        let parameters = tool.parameters;
        let is_known = |field: &&String| parameters.iter().any(|one| one.name == **field);
        if let Some(unknown) = input.keys().find(|field| !is_known(field)) {
            return Err(format!(
                "{name} has no parameter `{}`",
                unknown.escape_debug()
            ));
        }
        for parameter in parameters {
            let is_valid = match (input.get(parameter.name), parameter.kind) {
                (None | Some(Value::Null), _) => !parameter.required,
                (Some(Value::String(_)), Kind::Text) | (Some(Value::Bool(_)), Kind::Flag) => true,
                (Some(value), Kind::Number) => value.is_u64(),
                (Some(Value::Array(list)), Kind::Numbers) => list.iter().all(Value::is_u64),
                _ => false,
            };
            if !is_valid {
                return Err(wrong(name, parameter));
            }
        }
        Ok(Self { tool, input })
    }

    /// Returns the name of a team that the call creates.
    pub(super) fn created_team(&self) -> Option<&'a str> {
        (self.tool.name == "team")
            .then(|| self.text("create"))
            .flatten()
    }

    /// Whether the call returns messages.
    pub(super) fn reads_mail(&self) -> bool {
        ["inbox", "wait_for_mail"].contains(&self.tool.name)
    }

    /// Returns the arguments of the command. `ceiling` is the highest mode of a spawned member.
    pub(super) fn arguments(
        &self,
        role: &ClientRole,
        ceiling: PermissionMode,
    ) -> Result<Vec<String>, String> {
        let mut line = Line::default();
        match self.tool.name {
            "team" => match self.text("create") {
                Some(name) => {
                    line.words(&["team", "create"]);
                    line.option("--description", self.text("description"));
                    line.last(&[name]);
                }
                None => line.words(&["team", "list"]),
            },
            "inbox" | "wait_for_mail" => {
                line.words(&["inbox", "--json", "--unread", "--assign-ids"]);
                if self.tool.name == "wait_for_mail" {
                    let seconds = self.number("seconds").unwrap_or(USUAL_WAIT);
                    let seconds = seconds.min(MAX_WAIT).to_string();
                    line.option("--wait", Some(&seconds));
                }
                let inbox = role.inbox().map(|name| name.to_string());
                line.last(&[inbox.as_deref().unwrap_or_default()]);
            }
            "tasks" => match self.number("id") {
                Some(id) => line.words(&["task", "show", &id.to_string()]),
                None => line.words(&["task", "list"]),
            },
            name => {
                line.words(&name.split('_').collect::<Vec<_>>());
                self.parameters(&mut line);
                let acting = role.name().map(MemberName::as_str);
                match name {
                    "spawn" => line.option("--mode", Some(self.mode(ceiling)?.name())),
                    "send" => line.option("--from", acting),
                    "task_claim" | "task_update" => line.option("--as", acting),
                    _ => {}
                }
                let required = self.tool.parameters.iter().filter(|one| one.required);
                let texts: Vec<&str> = required.filter_map(|one| self.text(one.name)).collect();
                if !texts.is_empty() {
                    line.last(&texts);
                }
            }
        }
        Ok(line.0)
    }

    /// Adds the parameters as options, except required texts, which come last, and the mode.
    fn parameters(&self, line: &mut Line) {
        for parameter in self.tool.parameters {
            let option = format!("--{}", parameter.name.replace('_', "-"));
            match (self.input.get(parameter.name), parameter.kind) {
                (Some(Value::Number(id)), _) if parameter.required => {
                    line.words(&[&id.to_string()]);
                }
                (Some(Value::String(text)), Kind::Text)
                    if !parameter.required && parameter.name != "mode" =>
                {
                    line.option(&option, Some(text));
                }
                (Some(Value::Bool(true)), _) => line.words(&[&option]),
                (Some(Value::Array(ids)), _) if !ids.is_empty() => {
                    let ids: Vec<String> = ids.iter().map(Value::to_string).collect();
                    line.option(&option, Some(&ids.join(",")));
                }
                _ => {}
            }
        }
    }

    /// Returns the mode of a spawned member.
    fn mode(&self, ceiling: PermissionMode) -> Result<PermissionMode, String> {
        let asked = self.text("mode").map(str::parse::<PermissionMode>);
        match asked.transpose().map_err(|error| error.to_string())? {
            Some(asked) if !ceiling.covers(asked) => Err(format!(
                "mode {asked} is above {ceiling}, the highest mode that the person allows here"
            )),
            Some(asked) => Ok(asked),
            None if ceiling.covers(PermissionMode::Default) => Ok(PermissionMode::Default),
            None => Ok(ceiling),
        }
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.input.get(name).and_then(Value::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.input.get(name).and_then(Value::as_u64)
    }
}

fn wrong(tool: &str, parameter: &Parameter) -> String {
    let kind = match parameter.kind {
        Kind::Text => "a text",
        Kind::Number => "a number",
        Kind::Flag => "true or false",
        Kind::Numbers => "a list of numbers",
    };
    format!("{tool}: `{}` must be {kind}", parameter.name)
}

/// The arguments of a command. A value never counts as an option.
#[derive(Debug, Default)]
struct Line(Vec<String>);

impl Line {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn option(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.0.push(format!("{name}={value}"));
        }
    }

    fn last(&mut self, words: &[&str]) {
        self.words(&["--"]);
        self.words(words);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(role: &ClientRole, tool: &str, input: &Value) -> Result<String, String> {
        let call = Call::check(tool, input.as_object().unwrap(), role)?;
        let arguments = call.arguments(role, PermissionMode::Default)?;
        Ok(arguments.join(" "))
    }

    #[test]
    fn a_value_is_never_an_option() {
        let sent = line(
            &ClientRole::Lead,
            "send",
            &json!({"to": "*", "text": "--urgent"}),
        );
        assert_eq!(sent.unwrap(), "send -- * --urgent");
        let created = json!({"subject": "-x", "description": "--force", "blocked_by": [1, 2]});
        assert_eq!(
            line(&ClientRole::Lead, "task_create", &created).unwrap(),
            "task create --description=--force --blocked-by=1,2 -- -x"
        );
    }

    #[test]
    fn a_member_that_joined_by_itself_acts_in_its_own_name() {
        let carl = ClientRole::External("carl".parse().unwrap());
        let sent = line(&carl, "send", &json!({"to": "bob", "text": "hi"}));
        assert_eq!(sent.unwrap(), "send --from=carl -- bob hi");
        let waited = line(&carl, "wait_for_mail", &json!({"seconds": 9999}));
        assert_eq!(
            waited.unwrap(),
            "inbox --json --unread --assign-ids --wait=600 -- carl"
        );
        let claimed = line(&carl, "task_claim", &json!({"id": 3}));
        assert_eq!(claimed.unwrap(), "task claim 3 --as=carl");
        assert!(line(&carl, "spawn", &json!({"name": "x"})).is_err());
        assert!(line(&ClientRole::Member, "inbox", &json!({})).is_err());
    }

    #[test]
    fn a_spawn_gets_at_most_the_mode_of_the_server() {
        let spawn = |input: &Value| line(&ClientRole::Lead, "spawn", input);
        let usual = spawn(&json!({"name": "bob"})).unwrap();
        assert_eq!(usual, "spawn --mode=default -- bob");
        let above = spawn(&json!({"name": "bob", "mode": "acceptEdits"}));
        assert!(above.unwrap_err().contains("above default"));
        let below = spawn(&json!({"name": "bob", "mode": "plan"})).unwrap();
        assert_eq!(below, "spawn --mode=plan -- bob");
    }

    #[test]
    fn wrong_parameters_are_named() {
        let lead = &ClientRole::Lead;
        let unknown = line(lead, "send", &json!({"to": "a", "text": "b", "from": "c"}));
        assert_eq!(unknown.unwrap_err(), "send has no parameter `from`");
        let missing = line(lead, "send", &json!({"to": "a"}));
        assert_eq!(missing.unwrap_err(), "send: `text` must be a text");
        assert!(line(lead, "approve", &json!({})).is_err());
    }
}
