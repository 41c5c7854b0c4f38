//! Completion candidates. Reads without changing files and skips what it cannot read.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap_complete::CompletionCandidate;
use swarm_config::{Environment, Settings, SettingsFiles};
use swarm_protocol::{MemberName, PermissionMode, SystemClock, TeamConfig, TeamName};
use swarm_store::{BlockOn as _, FileStore, RootStore, TeamStore};

use crate::commands::requests::is_open;

/// Context of a command line that is being typed.
pub(super) struct Offer {
    root: Option<PathBuf>,
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
            root,
        }
    }

    fn store(&self) -> Option<RootStore> {
        let files = FileStore::new(self.root.clone()?, Arc::new(SystemClock));
        Some(RootStore::new(files))
    }

    /// Returns the selected team, or every team if none is selected.
    fn configs(&self) -> Vec<TeamConfig> {
        let Some(store) = self.store() else {
            return Vec::new();
        };
        let teams = match &self.asked {
            Some(asked) => TeamName::parse(asked).into_iter().collect(),
            None => store.teams().block_on().unwrap_or_default(),
        };
        let config = |team: &TeamName| store.team(team).config().block_on().ok();
        teams.iter().filter_map(config).collect()
    }

    pub(super) fn teams(&self) -> Vec<CompletionCandidate> {
        let teams = self.store().and_then(|store| store.teams().block_on().ok());
        let teams = teams.unwrap_or_default();
        teams
            .iter()
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
        for config in self.configs() {
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
        let mut found = Vec::new();
        for config in self.configs() {
            let list = self
                .store()
                .and_then(|store| store.team(&config.name).tasks().block_on().ok());
            for task in list.map(|list| list.tasks).unwrap_or_default() {
                let subject = swarm_ui::clean_text(&task.subject);
                found
                    .push(CompletionCandidate::new(task.id.to_string()).help(Some(subject.into())));
            }
        }
        found
    }

    pub(super) fn requests(&self) -> Vec<CompletionCandidate> {
        let mut found = Vec::new();
        for config in self.configs() {
            let list = self
                .store()
                .and_then(|store| store.team(&config.name).requests().block_on().ok());
            let requests = list.map(|list| list.requests).unwrap_or_default();
            for request in requests.iter().filter(|request| is_open(request)) {
                let help = format!("{}: {}", request.from, request.description);
                let help = swarm_ui::clean_text(&help);
                found.push(
                    CompletionCandidate::new(request.short().as_ref()).help(Some(help.into())),
                );
            }
        }
        found
    }

    pub(super) fn settings(&self) -> Vec<CompletionCandidate> {
        let listed = self.settings.as_ref().map(|settings| settings.list(None));
        let listed = listed.unwrap_or_default();
        listed
            .into_iter()
            .map(|listed| CompletionCandidate::new(listed.key))
            .collect()
    }

    pub(super) fn models(&self) -> Vec<CompletionCandidate> {
        let aliases = self
            .settings
            .as_ref()
            .map(|settings| settings.aliases.clone());
        let candidate = |(alias, model): (String, String)| {
            CompletionCandidate::new(alias).help(Some(model.into()))
        };
        aliases
            .unwrap_or_default()
            .into_iter()
            .map(candidate)
            .collect()
    }

    #[expect(
        clippy::unused_self,
        reason = "every list of candidates is asked for in the same way"
    )]
    pub(super) fn modes(&self) -> Vec<CompletionCandidate> {
        PermissionMode::ALL
            .map(|mode| CompletionCandidate::new(mode.name()))
            .into()
    }

    #[expect(
        clippy::unused_self,
        reason = "every list of candidates is asked for in the same way"
    )]
    pub(super) fn backends(&self) -> Vec<CompletionCandidate> {
        let words = swarm_panes::BACKEND_WORDS.iter();
        words.map(CompletionCandidate::new).collect()
    }
}
