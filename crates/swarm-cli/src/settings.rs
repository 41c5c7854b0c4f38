//! Settings: the built-in file, then the user's `swarm.toml`, then flags.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use swarm_protocol::{ErrorKind, PermissionMode};

use crate::failure::Failure;

const BUILT_IN: &str = include_str!("../../../config/default.toml");
const MODELS: &str = include_str!("../../../config/models.toml");

/// Every setting, with the value in force.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) model: String,
    pub(crate) aliases: BTreeMap<String, String>,
    pub(crate) mode: PermissionMode,
    pub(crate) permission_timeout: Duration,
    pub(crate) max_requests: u32,
    pub(crate) backend: String,
    pub(crate) place: String,
    pub(crate) hello_timeout: Duration,
    pub(crate) shutdown_grace: Duration,
    pub(crate) kill_grace: Duration,
    pub(crate) max_unread: usize,
    pub(crate) pass: Vec<String>,
    pub(crate) pace: f64,
}

/// One file. Every key is optional; an unknown one is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Layer {
    model: ModelTable,
    permissions: PermissionTable,
    turn: TurnTable,
    spawn: SpawnTable,
    stop: StopTable,
    inbox: InboxTable,
    tmux: TmuxTable,
    env: EnvTable,
    scripted: ScriptedTable,
}

macro_rules! table {
    ($name:ident { $($key:ident: $type:ty),+ $(,)? }) => {
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct $name { $($key: Option<$type>),+ }

        impl $name {
            /// This table with the gaps filled from a weaker layer.
            fn over(self, weaker: Self) -> Self {
                Self { $($key: self.$key.or(weaker.$key)),+ }
            }
        }
    };
}

table!(ModelTable { default: String, aliases: BTreeMap<String, String> });
table!(PermissionTable {
    mode: PermissionMode,
    timeout_s: u64
});
table!(TurnTable { max_requests: u32 });
table!(SpawnTable {
    backend: String,
    hello_timeout_s: u64
});
table!(StopTable {
    grace_s: u64,
    kill_grace_s: u64
});
table!(InboxTable { max_unread: usize });
table!(TmuxTable { place: String });
table!(EnvTable { pass: Vec<String> });
table!(ScriptedTable { pace: f64 });

impl Layer {
    fn parse(text: &str, origin: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| {
            Failure::usage(format!("{origin}: {}", error.to_string().trim_end())).with_hint(
                "correct the file; `config/default.toml` in the sources lists every setting",
            )
        })
    }

    fn over(self, weaker: Self) -> Self {
        Self {
            model: self.model.over(weaker.model),
            permissions: self.permissions.over(weaker.permissions),
            turn: self.turn.over(weaker.turn),
            spawn: self.spawn.over(weaker.spawn),
            stop: self.stop.over(weaker.stop),
            inbox: self.inbox.over(weaker.inbox),
            tmux: self.tmux.over(weaker.tmux),
            env: self.env.over(weaker.env),
            scripted: self.scripted.over(weaker.scripted),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    aliases: BTreeMap<String, String>,
}

impl Settings {
    /// Reads the layers below `root`.
    pub(crate) fn load(root: &Path) -> Result<Self, Failure> {
        let path = root.join("swarm.toml");
        let user = match std::fs::read_to_string(&path) {
            Ok(text) => Layer::parse(&text, &path.display().to_string())?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Layer::default(),
            Err(error) => {
                let message = format!("{}: {error}", path.display());
                return Err(Failure::new(ErrorKind::Environment, message));
            }
        };
        let merged = user.over(Layer::parse(BUILT_IN, "the built-in settings")?);
        Self::of(merged)
    }

    /// What is in force where the user's file says nothing.
    pub(crate) fn built_in() -> Result<Self, Failure> {
        Self::of(Layer::parse(BUILT_IN, "the built-in settings")?)
    }

    fn of(layer: Layer) -> Result<Self, Failure> {
        fn need<T>(value: Option<T>, key: &str) -> Result<T, Failure> {
            value.ok_or_else(|| {
                Failure::new(
                    ErrorKind::Internal,
                    format!("the built-in settings lack `{key}`"),
                )
            })
        }
        let seconds = |value, key| need(value, key).map(Duration::from_secs);
        let models: ModelFile = toml::from_str(MODELS).map_err(|error| {
            Failure::new(
                ErrorKind::Internal,
                format!("the built-in model table: {error}"),
            )
        })?;
        let mut aliases = models.aliases;
        aliases.extend(layer.model.aliases.unwrap_or_default());
        Ok(Self {
            model: need(layer.model.default, "model.default")?,
            aliases,
            mode: need(layer.permissions.mode, "permissions.mode")?,
            permission_timeout: seconds(layer.permissions.timeout_s, "permissions.timeout_s")?,
            max_requests: need(layer.turn.max_requests, "turn.max_requests")?,
            backend: need(layer.spawn.backend, "spawn.backend")?,
            place: need(layer.tmux.place, "tmux.place")?,
            hello_timeout: seconds(layer.spawn.hello_timeout_s, "spawn.hello_timeout_s")?,
            shutdown_grace: seconds(layer.stop.grace_s, "stop.grace_s")?,
            kill_grace: seconds(layer.stop.kill_grace_s, "stop.kill_grace_s")?,
            max_unread: need(layer.inbox.max_unread, "inbox.max_unread")?,
            pass: need(layer.env.pass, "env.pass")?,
            pace: need(layer.scripted.pace, "scripted.pace")?,
        })
    }
}
