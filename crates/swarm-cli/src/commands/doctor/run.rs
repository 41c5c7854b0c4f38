//! Runs all checks and prints their findings.

use std::process::ExitCode;

use swarm_config::Environment;
use swarm_protocol::ErrorKind;

use super::finding::{Finding, State};
use super::{
    agent_config, agent_programs, cleanup, disk, hubs, instructions, programs, sandbox, servers,
    trust, written,
};
use crate::failure::{Result, exit_code};
use crate::output::{Output, plain};

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Model of the lead in whose terminal it runs, instead of the default one.
    #[arg(long, hide = true)]
    model: Option<String>,
}

pub(in crate::commands) fn run(
    env: &Environment,
    out: Output,
    args: &DoctorArgs,
) -> Result<ExitCode> {
    let findings = check(env, args.model.as_deref())?;
    let lines: Vec<String> = findings.iter().map(line).collect();
    out.result(&findings, &lines.join("\n"))?;
    let missing = |finding: &Finding| finding.state == State::Missing;
    let is_missing = findings.iter().any(missing);
    Ok(exit_code(is_missing.then_some(ErrorKind::Environment)))
}

fn check(env: &Environment, model: Option<&str>) -> Result<Vec<Finding>> {
    let (mut findings, written) = written::check(env)?;
    let settings = &written.settings;
    findings.push(programs::teammate(env));
    findings.extend(programs::backends(env, settings)?);
    findings.push(programs::git(env));
    findings.extend(agent_programs::check(env)?);
    findings.push(sandbox::check(settings));
    findings.push(programs::terminal(env));
    findings.push(written::model(env, &written, model));
    let root = env.root();
    // The check of the disk reports why there is no config directory.
    let Ok(root) = &root else {
        findings.extend(disk::check(env));
        return Ok(findings);
    };
    findings.extend(trust::check(env, root));
    findings.extend(agent_config::check(env, settings, root));
    findings.extend(instructions::check(env, settings));
    findings.extend(servers::check(env, settings, root)?);
    findings.extend(disk::check(env));
    let (of_hubs, unusable) = hubs::check(env, settings, root);
    findings.extend(of_hubs);
    findings.extend(cleanup::check(env, root, &unusable));
    Ok(findings)
}

fn line(finding: &Finding) -> String {
    let word = match finding.state {
        State::Ok => "ok",
        State::Warning => "warning",
        State::Missing => "MISSING",
    };
    let line = format!("{word:<8} {}: {}", finding.name, plain(&finding.found));
    match &finding.hint {
        Some(hint) => format!("{line}\n         -> {}", plain(hint)),
        None => line,
    }
}
