//! The tools, as a table. Each runs one command of swarm, so that an MCP client can do nothing that
//! a command in its shell could not.

use serde_json::{Map, Value, json};
use swarm_permissions::McpToolSpec;
use swarm_protocol::MemberName;

/// The longest wait for mail in one call, in seconds: clients have timeouts too.
pub(super) const MAX_WAIT: u64 = 600;

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Flag,
    Numbers,
}

#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    about: &'static str,
}

/// Who gets a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    Everyone,
    Lead,
    /// Clients whose mail does not arrive as prompts.
    Readers,
}

#[derive(Debug)]
pub(super) struct TeamTool {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [Parameter],
    about: &'static str,
    given_to: For,
}

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter {
        name,
        kind,
        required: true,
        about,
    }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter {
        name,
        kind,
        required: false,
        about,
    }
}

/// Defines the tools: who gets each, its name, description and parameters.
macro_rules! tools {
    ($($given_to:ident $name:literal $about:literal {
        $($how:ident $kind:ident $parameter:literal $text:literal;)*
    })+) => {
        pub(super) const TOOLS: &[TeamTool] = &[$(TeamTool {
            name: $name,
            about: $about,
            given_to: For::$given_to,
            parameters: &[$($how($parameter, Kind::$kind, $text)),*],
        }),+];
    };
}

tools! {
    Everyone "status" "Show the members of the team, their state, open tasks and pending requests." {}
    Lead "team" "List the teams, or create one. A team is created before members are spawned." {
        optional Text "create" "Name of the team to create; without it the teams are listed";
        optional Text "description" "Purpose of the new team";
    }
    Lead "spawn" "Start a member in its own process. Returns when it is ready. Its report arrives in your inbox: call wait_for_mail." {
        required Text "name" "Name of the member";
        optional Text "prompt" "Its first message: the whole task, since it knows nothing else";
        optional Text "agent" "Agent type";
        optional Text "runtime" "Agent program: swarm or acp:PRESET";
        optional Text "model" "Model";
        optional Text "mode" "Permission mode, at most that of this server";
        optional Flag "worktree" "Work in a separate git worktree";
        optional Flag "plan" "Require approval of a plan by the person first";
    }
    Lead "shutdown" "Ask a member to finish and exit; its tasks are released." {
        required Text "name" "Name of the member";
    }
    Everyone "send" "Send a message to a member, to team-lead, or to everyone else (`*`)." {
        required Text "to" "Recipient";
        required Text "text" "The message";
        optional Flag "urgent" "Deliver it between the tool calls of a running turn";
    }
    Readers "inbox" "Return the unread messages. Your next call marks them as read." {}
    Readers "wait_for_mail" "Wait for a message and return the unread messages. Your next call marks them as read. Call it instead of checking repeatedly." {
        optional Number "seconds" "Longest wait, at most 600 [default: 60]";
    }
    Everyone "tasks" "List the shared tasks with owners and dependencies, or show one in full." {
        optional Number "id" "Task to show";
    }
    Everyone "task_create" "Create a shared task and return its number." {
        required Text "subject" "Short description";
        optional Text "description" "Full description";
        optional Text "owner" "Member that must do it; without one, any member can claim it";
        optional Numbers "blocked_by" "Tasks that must be completed first";
    }
    Everyone "task_claim" "Claim a task and start working on it." {
        required Number "id" "Task";
    }
    Everyone "task_update" "Change a task. A task that you complete needs a result." {
        required Number "id" "Task";
        optional Text "status" "pending, in_progress or completed";
        optional Text "result" "Result: a text, a commit or a path";
        optional Text "subject" "New short description";
        optional Text "description" "New full description";
        optional Text "owner" "New owner";
    }
    Lead "requests" "List requests of members that wait for the person. You cannot answer them: tell the person to run `swarm approve` or `swarm deny`." {}
}

impl TeamTool {
    /// Returns whether a client in this role gets the tool.
    pub(super) fn is_for(&self, role: &ClientRole) -> bool {
        match self.given_to {
            For::Everyone => true,
            For::Lead => *role == ClientRole::Lead,
            For::Readers => *role != ClientRole::Member,
        }
    }

    pub(super) fn spec(&self) -> McpToolSpec {
        let parameters = self.parameters.iter();
        let properties: Map<String, Value> = parameters
            .clone()
            .map(|parameter| (parameter.name.to_owned(), parameter.schema()))
            .collect();
        let required = parameters.filter(|parameter| parameter.required);
        let required: Vec<_> = required.map(|parameter| parameter.name).collect();
        McpToolSpec {
            name: self.name.to_owned(),
            description: self.about.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        }
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let about = self.about;
        match self.kind {
            Kind::Text => json!({"type": "string", "description": about}),
            Kind::Number => json!({"type": "integer", "minimum": 0, "description": about}),
            Kind::Flag => json!({"type": "boolean", "description": about}),
            Kind::Numbers => {
                json!({"type": "array", "items": {"type": "integer"}, "description": about})
            }
        }
    }
}

/// The client's place in the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientRole {
    /// It leads teams.
    Lead,
    /// It is a member that swarm runs. Its mail arrives as prompts, and the member is recognized by
    /// its processes.
    Member,
    /// It is a member that joined by itself and reads its inbox with these tools.
    External(MemberName),
}

impl ClientRole {
    /// Returns the owner of the inbox that the client reads.
    pub(super) fn inbox(&self) -> Option<MemberName> {
        match self {
            Self::Lead => Some(MemberName::lead()),
            Self::Member => None,
            Self::External(name) => Some(name.clone()),
        }
    }

    /// Returns the name that a command needs as an option.
    pub(super) fn name(&self) -> Option<&MemberName> {
        match self {
            Self::Lead | Self::Member => None,
            Self::External(name) => Some(name),
        }
    }
}
