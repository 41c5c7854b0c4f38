//! What stands around a command: the sandbox, the search path, and what its programs are told.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::ToolContext;
use crate::sandbox::{Plan, plan};

/// How a shell is started so that it is held by what holds its agent.
#[derive(Debug)]
pub(super) struct Surrounded {
    /// The program: the shell itself, or what becomes it.
    pub(super) program: OsString,
    /// Its first arguments.
    pub(super) words: Vec<OsString>,
    /// Variables besides those of the context.
    pub(super) env: BTreeMap<String, OsString>,
    /// Whether it is a sandbox.
    pub(super) sandboxed: bool,
    /// Whether it begins a session, and with it a process group, by itself.
    pub(super) own_session: bool,
}

impl Surrounded {
    pub(super) fn new(shell: &Path, ctx: &ToolContext) -> Result<Self, String> {
        let mut env = told(ctx);
        let Some(Plan {
            words,
            sandboxed,
            temporary,
        }) = plan(ctx)?
        else {
            return Ok(Self {
                program: shell.into(),
                words: Vec::new(),
                env,
                sandboxed: false,
                own_session: false,
            });
        };
        if let Some(directory) = temporary {
            std::fs::create_dir_all(&directory).map_err(|error| {
                format!(
                    "The temporary directory {} cannot be created: {error}.",
                    directory.display()
                )
            })?;
            env.insert("TMPDIR".to_owned(), directory.into());
        }
        if sandboxed {
            env.insert("SWARM_SANDBOX".to_owned(), "1".into());
        }
        let mut words = words.into_iter();
        // A plan begins with a helper.
        let program = words.next().unwrap_or_default();
        Ok(Self {
            program,
            words: words.chain([shell.into()]).collect(),
            env,
            sandboxed,
            own_session: true,
        })
    }
}

/// Where the agent works, for programs that stand first on the search path to hold it there.
fn told(ctx: &ToolContext) -> BTreeMap<String, OsString> {
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
