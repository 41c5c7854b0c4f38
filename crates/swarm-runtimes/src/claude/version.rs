//! The installed version of Claude Code.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use swarm_agent::AgentError;
use swarm_tools::ToolContext;

use crate::ProgramSpec;
use crate::sandbox::Launch;

/// Versions whose messages were compared with this client.
const TRIED: [&str; 4] = ["2.1.329", "2.1.330", "2.1.331", "2.1.332"];

/// Timeout of `claude --version`.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs `claude --version`. Returns a notice if this version was not tried.
pub(super) async fn check(
    spec: &ProgramSpec,
    context: &ToolContext,
    launch: &Launch,
) -> Result<Option<String>, AgentError> {
    let failed = |why: String| spec.failed(&why);
    let program = spec.argv.first().map_or("claude", String::as_str);
    let asked = launch
        .restrictions
        .command(OsStr::new(program), &context.env)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .arg("--version")
        .current_dir(&context.cwd)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(TIMEOUT, asked).await;
    let output = output.map_err(|_elapsed| failed(format!("{program} --version did not end")))?;
    let output = output.map_err(|error| failed(format!("{program} cannot be run: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().next().unwrap_or_default();
    if !output.status.success() || !text.contains("Claude Code") {
        let said = text.trim().escape_debug();
        return Err(failed(format!(
            "{program} is not Claude Code: it printed `{said}`"
        )));
    }
    if TRIED.contains(&version) {
        return Ok(None);
    }
    let tried = TRIED.join(", ");
    Ok(Some(format!(
        "Claude Code {version} was not tried with this version of swarm; tried: {tried}"
    )))
}
