//! What every command starts from.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_fs::Liveness;
use swarm_protocol::{Clock, ErrorKind, SystemClock, TeamName};
use swarm_store::{FileStore, StoreError, StoreLimits, TeamStore};

use crate::args::Args;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Output, plain, say};
use crate::settings::Settings;

/// The program's surroundings, read once.
pub(crate) struct App {
    pub(crate) env: Environment,
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) store: Arc<dyn TeamStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) out: Output,
    asked_team: Option<String>,
}

impl App {
    /// Reads the surroundings. A command that only ends what runs works with whatever settings there are.
    pub(crate) fn new(env: Environment, args: &Args) -> Result<Self, Failure> {
        let global = &args.global;
        let root = env.root()?;
        let settings = match Settings::load(&root) {
            Err(failure) if args.command.only_stops() => {
                say(&format!("swarm: {}", plain(&failure.message)));
                say("  members are ended with the built-in settings");
                Settings::built_in()?
            }
            loaded => loaded?,
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let limits = StoreLimits {
            max_unread: settings.max_unread,
            ..StoreLimits::default()
        };
        let store = FileStore::new(root.clone(), Arc::clone(&clock)).with_limits(limits);
        let asked_team = global
            .team
            .clone()
            .or_else(|| env.get("SWARM_TEAM").map(str::to_owned));
        let out = Output::new(&env, global);
        Ok(Self {
            env,
            root,
            settings,
            store: Arc::new(store),
            clock,
            out,
            asked_team,
        })
    }

    /// The team that was asked for by flag or variable, if any.
    pub(crate) fn asked_team(&self) -> Result<Option<TeamName>, Failure> {
        Ok(self
            .asked_team
            .as_deref()
            .map(TeamName::parse)
            .transpose()?)
    }

    /// The team to act on: the one asked for, else the only one there is. Brings its records in line.
    pub(crate) fn team(&self) -> Result<TeamName, Failure> {
        let team = match self.asked_team()? {
            Some(team) => team,
            None => self.only_team()?,
        };
        swarm_team::reconcile(&*self.store, &team)?;
        Ok(team)
    }

    /// The only team there is; of several the only one in which somebody lives.
    fn only_team(&self) -> Result<TeamName, Failure> {
        let teams = self.store.teams()?;
        if let [only] = &teams[..] {
            return Ok(only.clone());
        }
        let mut live = Vec::new();
        for team in &teams {
            if self.is_live(team)? {
                live.push(team.clone());
            }
        }
        match (&teams[..], &live[..]) {
            ([], _) => Err(Failure::new(ErrorKind::NotFound, "there is no team")
                .with_hint("make one with `swarm team create NAME`")),
            (_, [only]) => Ok(only.clone()),
            _ => {
                let names: Vec<&str> = teams.iter().map(TeamName::as_str).collect();
                let message = format!("there are several teams: {}", names.join(", "));
                Err(Failure::usage(message).with_hint("say which with --team NAME or SWARM_TEAM"))
            }
        }
    }

    fn is_live(&self, team: &TeamName) -> Result<bool, Failure> {
        let config = match self.store.config(team) {
            Ok(config) => config,
            // Deleted meanwhile, or damaged: whoever names it is told so.
            Err(StoreError::TeamNotFound { .. } | StoreError::Damaged { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        for name in config.names() {
            if self.store.liveness(team, &name)? == Liveness::Alive {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
