//! Launch of a program with the restrictions of an agent's commands: the sandbox, the search path and
//! environment variables.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::namespaces::Replacement;
use swarm_protocol::SandboxNetwork;
use tokio::process::Command;

use super::running::ShellProcess;
use crate::ToolContext;
use crate::sandbox::{Launcher, Plan, ProgramPlace, UserProgram, place, plan};

/// How to start programs with the restrictions of an agent's shell commands.
#[derive(Debug)]
pub struct ProgramLaunch {
    /// A helper that executes the program, with its first arguments; empty if there is none.
    helper: Vec<OsString>,
    /// Starts shell commands in its place, in namespaces.
    launcher: Option<Arc<Launcher>>,
    /// Variables in addition to those of the program.
    env: BTreeMap<String, OsString>,
    /// What the program reaches of the network in the sandbox; `None` without a sandbox.
    pub(super) sandbox: Option<SandboxNetwork>,
}

impl ProgramLaunch {
    /// Plans the start outside the runtime's threads: it creates the agent's sandbox if there is none.
    ///
    /// # Errors
    /// A sentence for the model if a sandbox is required or does not work.
    pub async fn prepare(ctx: &ToolContext) -> Result<Self, String> {
        Self::outside_runtime(ctx, |ctx| Self::new(ctx, None)).await
    }

    /// Does the same for another agent program, which sees other files and directories in the place of
    /// its own, in the namespaces of a sandbox.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub async fn prepare_program(
        ctx: &ToolContext,
        replaced: Vec<Replacement>,
    ) -> Result<Self, String> {
        Self::outside_runtime(ctx, move |ctx| Self::new(ctx, Some(&replaced))).await
    }

    /// Does the same for a program that the user configures, but without restrictions if agents cannot
    /// write what it runs. Then its search path has only directories in which they cannot write.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub async fn prepare_user_program(
        ctx: &ToolContext,
        program: UserProgram,
    ) -> Result<Self, String> {
        Self::outside_runtime(ctx, move |ctx| match place(ctx, &program)? {
            ProgramPlace::Sandbox => Self::new(ctx, None),
            ProgramPlace::Outside { search_path } => Ok(Self {
                helper: Vec::new(),
                launcher: None,
                env: search_path
                    .map(|path| ("PATH".to_owned(), path.into()))
                    .into_iter()
                    .collect(),
                sandbox: None,
            }),
        })
        .await
    }

    /// Plans the start of a shell command and calls `start`, both outside the runtime's threads: that
    /// may take long on a machine under load. If the caller stops waiting, what `start` returns is dropped.
    pub(super) async fn start<T: Send + 'static>(
        ctx: &ToolContext,
        start: impl FnOnce(&ToolContext, &Self) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        Self::outside_runtime(ctx, move |ctx| start(ctx, &Self::new(ctx, None)?)).await
    }

    async fn outside_runtime<T: Send + 'static>(
        ctx: &ToolContext,
        work: impl FnOnce(&ToolContext) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let ctx = ctx.clone();
        let done = tokio::task::spawn_blocking(move || work(&ctx)).await;
        done.unwrap_or_else(|error| Err(format!("Internal error of the tool: {error}")))
    }

    fn new(ctx: &ToolContext, program: Option<&[Replacement]>) -> Result<Self, String> {
        let mut env = shim_variables(ctx);
        let Some(Plan {
            words,
            launcher,
            sandboxed,
            temporary,
            proxy,
        }) = plan(ctx, program)?
        else {
            return Ok(Self {
                helper: Vec::new(),
                launcher: None,
                env,
                sandbox: None,
            });
        };
        if let Some(directory) = temporary {
            env.insert("TMPDIR".to_owned(), directory.into());
        }
        if sandboxed {
            env.insert("SWARM_SANDBOX".to_owned(), "1".into());
        }
        env.extend(proxy.map(proxy_variables).into_iter().flatten());
        let network = match ctx.guards.network {
            SandboxNetwork::Proxy if proxy.is_none() => SandboxNetwork::None,
            network => network,
        };
        Ok(Self {
            helper: words,
            launcher,
            env,
            sandbox: sandboxed.then_some(network),
        })
    }

    /// Returns whether the sandbox confines the program.
    pub fn is_sandboxed(&self) -> bool {
        self.sandbox.is_some()
    }

    /// Returns the shell for a command line of the user with these variables.
    pub fn shell(&self, env: &BTreeMap<String, String>) -> PathBuf {
        let own = self.env.get("PATH").and_then(|path| path.to_str());
        match own {
            Some(path) => {
                swarm_os::find_shell(&BTreeMap::from([("PATH".to_owned(), path.to_owned())]))
            }
            None => swarm_os::find_shell(env),
        }
    }

    /// Returns the command that starts a program with these variables, in a new process group.
    pub fn command(&self, program: &OsStr, env: &BTreeMap<String, String>) -> Command {
        let mut command = if let [helper, words @ ..] = self.helper.as_slice() {
            // It creates a session.
            let mut command = Command::new(helper);
            command.args(words).arg(program);
            command
        } else {
            let mut command = Command::new(program);
            command.process_group(0);
            command
        };
        self.set_variables(&mut command, env);
        command
    }

    /// Starts a shell command with these variables and standard streams, in a new process group.
    /// `complete` adds its arguments and directory. Blocks; call it in a blocking task of a runtime.
    pub(super) fn start_shell(
        &self,
        shell: &Path,
        env: &BTreeMap<String, String>,
        streams: [OwnedFd; 3],
        complete: impl FnOnce(&mut std::process::Command),
    ) -> std::io::Result<ShellProcess> {
        if let Some(launcher) = &self.launcher {
            let mut command = Command::new(shell);
            self.set_variables(&mut command, env);
            complete(command.as_std_mut());
            let launched = launcher.start(command.as_std(), &streams)?;
            return Ok(ShellProcess::Launched(launched));
        }
        let mut command = self.command(shell.as_os_str(), env);
        complete(command.as_std_mut());
        let [input, output, errors] = streams;
        command.stdin(input).stdout(output).stderr(errors);
        command.spawn().map(ShellProcess::Child)
    }

    fn set_variables(&self, command: &mut Command, env: &BTreeMap<String, String>) {
        command.env_clear().envs(env).envs(&self.env);
    }
}

/// Returns the variables by which programs find the proxy. Their own servers are reached directly.
/// `all_proxy` does not name SOCKS, because many Python programs fail if they lack a package for it.
fn proxy_variables(port: u16) -> impl Iterator<Item = (String, OsString)> {
    let http = format!("http://127.0.0.1:{port}");
    let variables = [
        ("http_proxy", http.clone()),
        ("https_proxy", http.clone()),
        ("all_proxy", http),
        (
            "no_proxy",
            "localhost,.localhost,127.0.0.1,0.0.0.0,::1".to_owned(),
        ),
    ];
    let both = variables.into_iter().flat_map(|(name, value)| {
        [
            (name.to_uppercase(), value.clone()),
            (name.to_owned(), value),
        ]
    });
    // Node.js ignores the others without this one.
    let node = ("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    let all = both.chain([node]);
    all.map(|(name, value)| (name, value.into()))
}

/// Returns the variables that the shims at the front of the search path use to confine the agent.
fn shim_variables(ctx: &ToolContext) -> BTreeMap<String, OsString> {
    let mut env = BTreeMap::from([("SWARM_CWD".to_owned(), ctx.cwd.clone().into_os_string())]);
    if let Some(confine) = &ctx.confine {
        env.insert("SWARM_WORKTREE".to_owned(), confine.root().into());
    }
    if let Some(shims) = &ctx.guards.shims {
        let mut path = shims.clone().into_os_string();
        if let Some(rest) = ctx.env.get("PATH") {
            path.push(":");
            path.push(rest);
        }
        env.insert("PATH".to_owned(), path);
    }
    env
}
