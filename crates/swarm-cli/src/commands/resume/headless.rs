//! A new lead process carries on the conversation of the lost one.

use std::process::ExitCode;
use std::time::Duration;

use swarm_fs::process::forbid_inspection;
use swarm_member::LeadParts;
use swarm_protocol::{ErrorKind, Member, MemberName, SessionId, TeamConfig};

use crate::app::App;
use crate::args::ResumeArgs;
use crate::commands::run::{conduct, output_format, parts, prompt as read_prompt, show};
use crate::commands::worktree::leave_entered;
use crate::deployment::{Choices, Prepared, deployment};
use crate::failure::Failure;

pub(super) fn run(
    app: &App,
    args: &ResumeArgs,
    config: &TeamConfig,
    prompt: &str,
) -> Result<ExitCode, Failure> {
    forbid_inspection();
    let prompt = read_prompt(prompt)?;
    let lead = config.member(&MemberName::lead());
    let choices = Choices {
        model: args
            .model
            .clone()
            .or_else(|| lead.and_then(|lead| lead.model.clone())),
        mode: args.mode,
        backend: args.backend.clone(),
        in_run: true,
    };
    let Prepared {
        mut deployment,
        claude,
        ..
    } = deployment(app, &choices)?;
    if let Some(lead) = lead {
        deployment.cwd = folder_of(app, lead)?;
    }
    let max_requests = args.max_turns.unwrap_or(app.settings.max_requests);
    app.settings.permit("turn.max_requests", max_requests)?;
    let output = output_format(app, args.output);
    // A team that was driven by hand has no conversation to go on with.
    let session = config
        .lead_session_id
        .as_deref()
        .and_then(|id| id.parse::<SessionId>().ok());
    let lead = LeadParts {
        team: Some(config.name.clone()),
        takes_over: true,
        brings_back: args.respawn,
        session: session.unwrap_or_else(SessionId::random),
        max_requests,
        timeout: args.timeout.map(Duration::from_secs),
        remove_team: args.rm,
        ..parts(app, deployment, claude, output)?
    };
    let report = conduct(app, lead, prompt);
    leave_entered(app);
    let report = report?;
    show(app, output, &report)
}

/// The lead goes on in the folder in which it worked: its conversation belongs to that folder, and so do its rules.
fn folder_of(app: &App, lead: &Member) -> Result<std::path::PathBuf, Failure> {
    if lead.cwd.as_os_str().is_empty() || lead.cwd == app.env.cwd {
        return Ok(app.env.cwd.clone());
    }
    let folder = lead.cwd.display();
    let message = if lead.cwd.is_dir() {
        format!("the lead worked in {folder}, and this is another folder")
    } else {
        format!("the lead worked in {folder}, which is not there any more")
    };
    Err(Failure::new(ErrorKind::Usage, message).with_hint(format!(
        "`cd {folder}` first; without a prompt, `swarm resume` takes the team over from anywhere"
    )))
}
