//! Completion candidates. Reads without changing files and skips what it cannot read.

use std::ffi::OsString;
use std::sync::Arc;

use clap_complete::CompletionCandidate;
use swarm_config::{Environment, Settings, SettingsFiles};
use swarm_protocol::{MemberName, PermissionMode, TeamName};
use swarm_store::{BlockOn as _, RootStore, Team, TeamStore as _};

use crate::app::store_at;
use crate::commands::requests::is_open;

/// Context of a command line that is being typed.
pub(super) struct Offer {
    store: Option<RootStore>,
    settings: Option<Settings>,
    /// Team from `--team` or the environment variable.
    asked: Option<String>,
}

impl Offer {
    pub(super) fn new(env: &Environment, words: &[OsString]) -> Self {
        let root = env.root().ok();
        let settings = root
            .as_ref()
            .and_then(|root| Settings::load(&SettingsFiles::new(root, &env.cwd), env).ok());
        let flag = |word: &OsString| word.to_str()?.strip_prefix("--team=").map(str::to_owned);
        let pair = |pair: &[OsString]| {
            (pair[0] == "--team").then(|| pair[1].to_str().map(str::to_owned))?
        };
        let asked = words
            .iter()
            .find_map(flag)
            .or_else(|| words.windows(2).find_map(pair));
        Self {
            asked: asked.or_else(|| env.get("SWARM_TEAM").map(str::to_owned)),
            settings,
            store: root.as_deref().map(store_at),
        }
    }

    /// Returns the selected team, or every team if none is selected.
    fn selected(&self) -> Vec<Arc<dyn Team>> {
        let Some(store) = &self.store else {
            return Vec::new();
        };
        let teams = match &self.asked {
            Some(asked) => TeamName::parse(asked).into_iter().collect(),
            None => store.teams().block_on().unwrap_or_default(),
        };
        teams.iter().map(|team| store.team(team)).collect()
    }

    pub(super) fn teams(&self) -> Vec<CompletionCandidate> {
        let teams = self.store.as_ref().map(|store| store.teams().block_on());
        let teams = teams.into_iter().flatten().flatten();
        teams
            .map(|team| CompletionCandidate::new(team.as_str()))
            .collect()
    }

    pub(super) fn members(&self) -> Vec<CompletionCandidate> {
        self.names(|_| true)
    }

    pub(super) fn teammates(&self) -> Vec<CompletionCandidate> {
        self.names(|name| !name.is_lead())
    }

    pub(super) fn receivers(&self) -> Vec<CompletionCandidate> {
        let all = CompletionCandidate::new("*").help(Some("all but the sender".into()));
        let mut receivers = self.members();
        receivers.push(all);
        receivers
    }

    fn names(&self, wanted: impl Fn(&MemberName) -> bool) -> Vec<CompletionCandidate> {
        let mut found = Vec::new();
        let teams = self.selected().into_iter();
        for config in teams.filter_map(|team| team.config().block_on().ok()) {
            for member in config.members.iter().filter(|member| wanted(&member.name)) {
                let agent = member.agent_type.as_ref().map(|agent| agent.clone().into());
                found.push(CompletionCandidate::new(member.name.as_str()).help(agent));
            }
        }
        // Several teams may have members with the same name.
        found.sort();
        found.dedup_by(|one, other| one.get_value() == other.get_value());
        found
    }

    pub(super) fn tasks(&self) -> Vec<CompletionCandidate> {
        let teams = self.selected().into_iter();
        let lists = teams.filter_map(|team| team.tasks().block_on().ok());
        let tasks = lists.flat_map(|list| list.tasks);
        tasks
            .map(|task| described(task.id.to_string(), &task.subject))
            .collect()
    }

    pub(super) fn requests(&self) -> Vec<CompletionCandidate> {
        let teams = self.selected().into_iter();
        let lists = teams.filter_map(|team| team.requests().block_on().ok());
        let requests = lists.flat_map(|list| list.requests).filter(is_open);
        requests
            .map(|request| {
                let help = format!("{}: {}", request.from, request.description);
                described(request.short().into_owned(), &help)
            })
            .collect()
    }

    pub(super) fn settings(&self) -> Vec<CompletionCandidate> {
        let listed = self.settings.iter();
        let listed = listed.flat_map(|settings| settings.list(None));
        listed
            .map(|listed| CompletionCandidate::new(listed.key))
            .collect()
    }

    pub(super) fn models(&self) -> Vec<CompletionCandidate> {
        let aliases = self.settings.iter();
        let aliases = aliases.flat_map(|settings| &settings.aliases);
        aliases
            .map(|(alias, model)| described(alias, model))
            .collect()
    }

    pub(super) fn modes(_: &Self) -> Vec<CompletionCandidate> {
        PermissionMode::ALL
            .map(|mode| CompletionCandidate::new(mode.name()))
            .into()
    }

    pub(super) fn backends(_: &Self) -> Vec<CompletionCandidate> {
        let words = swarm_panes::BACKEND_WORDS.iter();
        words.map(CompletionCandidate::new).collect()
    }
}

/// Returns a candidate with foreign text as its help.
fn described(value: impl Into<OsString>, help: &str) -> CompletionCandidate {
    let help = swarm_ui::clean_text(help);
    CompletionCandidate::new(value).help(Some(help.into()))
}
