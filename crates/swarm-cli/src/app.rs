//! Shared state of all commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use swarm_config::{
    ActivePlugin, Environment, FoundServers, Project, ServerSources, Settings, SettingsFiles,
    is_trusted, mcp_bounds, project_top,
};
use swarm_hooks::TeamEvents;
use swarm_os::LockInterrupt;
use swarm_protocol::{Clock, SessionId, SystemClock, TeamName, with_causes};
use swarm_store::{FileStore, HubSettings, RootStore, StoreLimits, TeamStore};

use crate::command_line::CommandLine;
use crate::config_directory;
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::output::{GlobalArgs, Output, plain, say};

/// The flags of a command that affect the shared state.
#[derive(Debug, Default)]
pub(crate) struct CommandFlags<'a> {
    /// Whether the command only stops processes; such a command must work with invalid settings.
    pub(crate) only_stops: bool,
    /// Whether the current repository is trusted for this command.
    pub(crate) trusts: bool,
    /// Agent definitions from the command line.
    pub(crate) agents: Option<&'a str>,
    /// MCP servers from the command line.
    pub(crate) mcp_config: &'a [String],
}

/// Returns the store of a config directory, for code that works without settings.
pub(crate) fn store_at(root: &Path) -> RootStore {
    RootStore::new(FileStore::new(root.to_owned(), Arc::new(SystemClock)))
}

/// The environment of the program, read once.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) env: Environment,
    pub(crate) root: PathBuf,
    pub(crate) settings: Arc<Settings>,
    pub(crate) store: Arc<dyn TeamStore>,
    /// The same store, for what concerns hubs.
    pub(crate) hubs: RootStore,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) out: Output,
    /// Journal events of this process that hooks must be run for.
    pub(crate) team_events: Arc<TeamEvents>,
    /// Whether this command trusts the current repository.
    pub(crate) trusts: bool,
    /// Agent definitions from `--agents`, as JSON.
    pub(crate) agents: Option<String>,
    mcp_config: Vec<String>,
    pub(crate) flag_team: Option<String>,
    /// The known actor, in the terminal of a lead; other commands detect it.
    pub(crate) acting: Option<Acting>,
    pub(crate) env_team: Option<String>,
    /// The conversation that the person at a lead's terminal wants to continue next.
    pub(crate) next_session: Arc<Mutex<Option<SessionId>>>,
    /// Whether the person has just answered not to trust the repository, and knows what is disabled.
    pub(crate) declined_trust: Arc<AtomicBool>,
    /// The commands that can be typed in this process.
    pub(crate) command_line: Arc<dyn CommandLine>,
}

impl App {
    /// Reads the environment. A command that only stops processes falls back to the default
    /// settings.
    pub(crate) fn new(
        env: Environment,
        global: &GlobalArgs,
        flags: &CommandFlags<'_>,
        command_line: Arc<dyn CommandLine>,
    ) -> Result<Self> {
        let root = env.root()?;
        config_directory::check(&root)?;
        let places = SettingsFiles::new(&root, &env.cwd);
        let settings = match Settings::load(&places, &env) {
            Err(error) if flags.only_stops => {
                if !global.json {
                    say(&format!("swarm: {}", plain(&with_causes(&error))));
                    say("  stopping members with the built-in settings");
                }
                Settings::built_in()?
            }
            loaded => loaded?,
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let limits = StoreLimits {
            max_unread: settings.max_unread,
            max_members: settings.max_members,
            max_message_bytes: settings.max_message_bytes,
            ..StoreLimits::default()
        };
        let team_events = Arc::new(TeamEvents::default());
        let events = Arc::clone(&team_events);
        let out = Output::new(&env, global);
        let store = FileStore::new(root.clone(), Arc::clone(&clock))
            .with_limits(limits)
            .on_event(move |team, event| events.note(team, event))
            .announcing(move |team, tasks| {
                out.say(&format!(
                    "completing the creation of {tasks} tasks in team {team}, which was interrupted"
                ));
            });
        let hubs = RootStore::new(store);
        let env_team = env.get("SWARM_TEAM").map(str::to_owned);
        Ok(Self {
            env,
            root,
            settings: Arc::new(settings),
            store: Arc::new(hubs.clone()),
            hubs,
            clock,
            out,
            team_events,
            trusts: flags.trusts,
            agents: flags.agents.map(str::to_owned),
            mcp_config: flags.mcp_config.to_vec(),
            flag_team: global.team.clone(),
            acting: None,
            env_team,
            next_session: Arc::default(),
            declined_trust: Arc::default(),
            command_line,
        })
    }

    /// Returns who runs this command.
    pub(crate) fn acting(&self) -> Result<Acting> {
        match &self.acting {
            Some(acting) => Ok(acting.clone()),
            None => Ok(Acting::find(&*self.store, &self.env)?),
        }
    }

    /// Returns what a person types here before the name of a command.
    pub(crate) fn command_prefix(&self) -> &'static str {
        if self.acting.is_some() { "/" } else { "swarm " }
    }

    /// Warns of what is disabled because the repository is not trusted.
    pub(crate) fn warn_of_trust(&self, text: &str) {
        if !self.declined_trust.load(Ordering::Relaxed) {
            self.out.warn(&format!("swarm: {}", plain(text)));
        }
    }

    /// Returns the same state for a command with `--team`.
    pub(crate) fn for_team(&self, team: &TeamName) -> Self {
        Self {
            flag_team: Some(team.to_string()),
            ..self.clone()
        }
    }

    /// Returns the same state for a command that must not wait for the locks of other programs.
    pub(crate) fn hurried(&self) -> Self {
        let interrupt = LockInterrupt::default();
        interrupt.hurry();
        Self {
            store: self.store.with_lock_interrupt(&interrupt),
            ..self.clone()
        }
    }

    /// Returns the same state for a command that creates teams on a hub.
    pub(crate) fn creating_on(&self, hub: HubSettings) -> Self {
        let hubs = self.hubs.creating_on(hub);
        Self {
            store: Arc::new(hubs.clone()),
            hubs,
            ..self.clone()
        }
    }

    /// Returns the state of a session of another program in a directory, with the MCP servers of that
    /// program as the value of `--mcp-config`. `--trust` covers only the repository in which this
    /// process was started.
    pub(crate) fn for_session(&self, cwd: PathBuf, servers: Option<String>) -> Result<Self> {
        let top = |directory: &Path| project_top(&self.root, directory);
        let trusts = self.trusts && top(&cwd) == top(&self.env.cwd);
        let mut env = self.env.clone();
        env.cwd = cwd;
        let mcp_config: Vec<_> = self.mcp_config.iter().cloned().chain(servers).collect();
        let flags = CommandFlags {
            trusts,
            agents: self.agents.as_deref(),
            mcp_config: &mcp_config,
            ..CommandFlags::default()
        };
        let global = GlobalArgs::of(self.flag_team.clone(), self.out);
        Self::new(env, &global, &flags, Arc::clone(&self.command_line))
    }

    /// Returns the MCP servers of all sources, with those of these plugins.
    pub(crate) fn mcp_servers(
        &self,
        project: &Project,
        plugins: &[&ActivePlugin],
    ) -> Result<FoundServers> {
        let sources = ServerSources {
            env: &self.env,
            root: &self.root,
            project,
            given: &self.mcp_config,
            plugins,
        };
        let mut found = sources.load();
        if let Some(why) = found.refused.take() {
            let hint = "fix it, or omit `--mcp-config`";
            return Err(Failure::usage(why).with_hint(hint));
        }
        found.settings.bounds = mcp_bounds(&self.settings);
        Ok(found)
    }

    /// Returns the project of this command. Code that needs it more than once hands it on.
    pub(crate) fn project(&self) -> Result<Project> {
        let (root, cwd) = (&self.root, &self.env.cwd);
        if !self.trusts {
            return Ok(Project::of(root, cwd)?);
        }
        Ok(Project {
            is_trusted: true,
            ..Project::untrusted(root, cwd)
        })
    }

    /// Returns whether hooks, servers and definitions of the current repository may run.
    pub(crate) fn is_trusted(&self) -> Result<bool> {
        Ok(self.trusts || is_trusted(&self.root, &self.env.cwd)?)
    }
}
