//! The command that lets a node spawn a member.

use swarm_agent::MemberRequest;
use swarm_protocol::{AgentId, MemberName, Order, TeamName};

/// A `swarm spawn` for a node. Options that are not given have the defaults of that command there.
#[derive(Debug, Clone)]
pub struct SpawnCommand {
    words: Vec<String>,
    prompt: Option<String>,
    /// Name of its worktree.
    worktree: Option<String>,
    replaces: bool,
    name: MemberName,
}

impl SpawnCommand {
    /// Creates the command for a member with this name.
    pub fn new(name: MemberName) -> Self {
        Self {
            words: vec!["spawn".to_owned(), name.to_string()],
            prompt: None,
            worktree: None,
            replaces: false,
            name,
        }
    }

    /// Returns the name of the member, and whether it replaces a running one.
    pub(super) fn name(&self) -> (&MemberName, bool) {
        (&self.name, self.replaces)
    }

    /// Returns the member of this team that it replaces, if it may replace one.
    pub fn replaced(&self, team: &TeamName) -> Option<AgentId> {
        let id = || AgentId::new(self.name.clone(), team.clone());
        self.replaces.then(id)
    }

    /// Adds an option, if it has a value.
    pub fn option(&mut self, flag: &str, value: Option<impl ToString>) {
        // In one word, because a value may begin with a dash.
        let word = value.map(|value| format!("--{flag}={}", value.to_string()));
        self.words.extend(word);
    }

    /// Adds an option without value, if it is given.
    pub fn flag(&mut self, flag: &str, is_given: bool) {
        self.words.extend(is_given.then(|| format!("--{flag}")));
    }

    /// Adds the properties of the member.
    pub fn member(&mut self, member: &MemberRequest) {
        let MemberRequest {
            agent_type,
            runtime,
            model,
            effort,
            mode,
            plan,
            env,
        } = member;
        self.option("agent", agent_type.as_deref());
        self.option("runtime", runtime.as_ref());
        self.option("model", model.as_deref());
        self.option("effort", *effort);
        self.option("mode", *mode);
        self.flag("plan", *plan);
        for (name, value) in env {
            self.option("env", Some(format!("{name}={value}")));
        }
    }

    /// Sets the initial prompt, with its summary.
    pub fn prompt(&mut self, prompt: Option<String>, summary: Option<&str>) {
        self.option("prompt-file", prompt.as_ref().map(|_| "-"));
        self.option("summary", summary);
        self.prompt = prompt;
    }

    /// Lets the member replace a running one of its name.
    pub fn replace(&mut self, is_given: bool) {
        self.flag("replace", is_given);
        self.replaces = is_given;
    }

    /// Lets the member work in a worktree; without a name, in the one named like the member.
    pub fn worktree(&mut self, name: Option<&str>) {
        let named = name.map(|name| Some(name).filter(|name| !name.is_empty()));
        self.worktree = named.map(|name| name.unwrap_or(self.name.as_str()).to_owned());
    }

    /// Returns the order for a node that has received a repository or not. A member of a repository
    /// works in a worktree.
    pub fn order(mut self, has_repository: bool) -> Order {
        let own = || has_repository.then(|| self.name.to_string());
        let worktree = self.worktree.clone().or_else(own);
        self.option("worktree", worktree);
        Order {
            spawns: Some(self.name),
            replaces: self.replaces,
            input: self.prompt,
            ..Order::new(self.words)
        }
    }
}
