//! Commands that check a task.

use std::time::{Duration, Instant};

use super::run::{CommandResult, run_in};
use super::running::{Outcome, sentence};
use crate::ToolContext;

/// Most characters of output that are kept.
const OUTPUT_CHARS: usize = 4_000;

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedCommand {
    /// Exit code; `None` if it was terminated.
    pub exit_code: Option<i32>,
    /// Duration.
    pub duration: Duration,
    /// End of the output; how it was terminated, if it was.
    pub output: String,
}

/// Runs a command line like the Bash tool, with the same sandbox and environment, in the agent's
/// working directory, whatever directory its shell has changed to.
///
/// # Errors
/// Why it could not be started, or that the turn was interrupted.
pub async fn run_check(command: &str, context: &ToolContext) -> Result<CheckedCommand, String> {
    let context = ToolContext {
        scratch: None,
        ..context.clone()
    };
    let limit = context.limits.bash_timeout_max;
    let began = Instant::now();
    let (result, _) = run_in(&context.cwd, command, limit, &context).await?;
    let CommandResult {
        outcome, output, ..
    } = result;
    let (exit_code, note) = match outcome {
        Outcome::Exited(status) => {
            let note = status.code().is_none().then(|| sentence(status));
            (status.code(), note)
        }
        Outcome::TimedOut(_) => {
            let limit = limit.as_secs();
            let note = format!("terminated at the time limit of {limit} s");
            (None, Some(note))
        }
        Outcome::Interrupted(_) => return Err("the check was interrupted".to_owned()),
    };
    let parts = [Some(output.trim_end().to_owned()), note];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Ok(CheckedCommand {
        exit_code,
        duration: began.elapsed(),
        output: tail(parts.join("\n").trim_start_matches('\n')),
    })
}

fn tail(output: &str) -> String {
    let count = output.chars().count();
    let cut = count.saturating_sub(OUTPUT_CHARS);
    if cut == 0 {
        return output.to_owned();
    }
    let kept: String = output.chars().skip(cut).collect();
    format!("[{cut} characters before this]\n{kept}")
}

#[cfg(test)]
mod tests {
    use swarm_protocol::MemberName;

    use super::*;
    use crate::Caller;

    fn context(directory: &std::path::Path) -> ToolContext {
        let caller = Caller::new(MemberName::parse("bob").unwrap());
        ToolContext::new(directory.canonicalize().unwrap(), caller)
    }

    #[tokio::test]
    async fn a_check_reports_its_exit_code_and_the_end_of_its_output() {
        let directory = tempfile::tempdir().unwrap();
        let context = context(directory.path());
        let failed = run_check("seq 3000; pwd; exit 3", &context).await.unwrap();
        assert_eq!(failed.exit_code, Some(3));
        let end = format!("3000\n{}", context.cwd.display());
        assert!(failed.output.ends_with(&end), "{}", failed.output);
        assert!(failed.output.starts_with('['), "{}", failed.output);
        assert!(failed.output.chars().count() < OUTPUT_CHARS + 100);
        let passed = run_check("true", &context).await.unwrap();
        assert_eq!((passed.exit_code, passed.output.as_str()), (Some(0), ""));
        let killed = run_check("kill -9 $$", &context).await.unwrap();
        assert_eq!(killed.exit_code, None);
        assert!(killed.output.contains("signal 9"), "{}", killed.output);
    }

    #[tokio::test]
    async fn a_check_is_terminated_at_the_time_limit() {
        let directory = tempfile::tempdir().unwrap();
        let mut context = context(directory.path());
        context.limits.bash_timeout_max = Duration::from_millis(50);
        let late = run_check("echo begun; sleep 60", &context).await.unwrap();
        assert_eq!(late.exit_code, None);
        assert!(
            late.output.starts_with("begun\nterminated"),
            "{}",
            late.output
        );
    }
}
