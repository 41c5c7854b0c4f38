//! Launch of a shell: the sandbox, the search path and environment variables.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::ToolContext;
use crate::sandbox::{Plan, plan};

/// How to start a shell with the restrictions of its agent.
#[derive(Debug)]
pub(super) struct ShellLaunch {
    /// The shell.
    pub(super) shell: PathBuf,
    /// The program: the shell, or a helper that executes it.
    pub(super) program: OsString,
    /// The first arguments.
    pub(super) words: Vec<OsString>,
    /// Variables in addition to those of the context.
    pub(super) env: BTreeMap<String, OsString>,
    /// Whether the program sets up a sandbox.
    pub(super) sandboxed: bool,
    /// Whether the program creates its own session and process group.
    pub(super) own_session: bool,
}

impl ShellLaunch {
    /// Plans the start outside the runtime's threads: it creates the agent's sandbox if there is none.
    /// The error is a message for the model.
    pub(super) async fn prepare(ctx: &ToolContext) -> Result<Self, String> {
        let ctx = ctx.clone();
        let planned =
            tokio::task::spawn_blocking(move || Self::new(swarm_os::find_shell(&ctx.env), &ctx));
        let planned = planned.await;
        planned.unwrap_or_else(|error| Err(format!("Internal error of the tool: {error}")))
    }

    fn new(shell: PathBuf, ctx: &ToolContext) -> Result<Self, String> {
        let mut env = shim_variables(ctx);
        let Some(Plan {
            words,
            sandboxed,
            temporary,
            proxy,
        }) = plan(ctx)?
        else {
            return Ok(Self {
                program: shell.clone().into(),
                shell,
                words: Vec::new(),
                env,
                sandboxed: false,
                own_session: false,
            });
        };
        if let Some(directory) = temporary {
            env.insert("TMPDIR".to_owned(), directory.into());
        }
        if sandboxed {
            env.insert("SWARM_SANDBOX".to_owned(), "1".into());
        }
        env.extend(proxy.map(proxy_variables).into_iter().flatten());
        let mut words = words.into_iter();
        // The first word of a plan is the helper program.
        let program = words.next().unwrap_or_default();
        Ok(Self {
            program,
            words: words.chain([shell.clone().into()]).collect(),
            shell,
            env,
            sandboxed,
            own_session: true,
        })
    }
}

/// Returns the variables by which programs find the proxy. Their own servers are reached directly.
fn proxy_variables(port: u16) -> impl Iterator<Item = (String, OsString)> {
    let http = format!("http://127.0.0.1:{port}");
    let variables = [
        ("http_proxy", http.clone()),
        ("https_proxy", http),
        ("all_proxy", format!("socks5h://127.0.0.1:{port}")),
        ("no_proxy", "localhost,127.0.0.1,::1".to_owned()),
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
