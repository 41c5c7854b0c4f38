//! `swarm logs`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use swarm_fs::Liveness;
use swarm_protocol::{MemberName, TeamName};
use swarm_store::StoreError;

use super::output;
use crate::app::App;
use crate::args::LogsArgs;
use crate::commands::members;
use crate::commands::watch::Watch;
use crate::failure::Failure;
use crate::output::plain;

pub(in crate::commands) fn run(app: &App, args: &LogsArgs) -> Result<ExitCode, Failure> {
    let team = app.team()?;
    let path = output::path(app, &team, &args.name);
    if !path.exists() {
        // What a member printed outlives its place in the roster.
        members::known(&app.store.config(&team)?, &args.name)?;
    }
    if args.follow {
        return follow(app, &team, &args.name, &path);
    }
    let text = output::read(&path)?.unwrap_or_default();
    if app.out.json {
        app.out
            .json(&json!({ "name": args.name, "text": plain(&text) }))?;
    } else if text.trim().is_empty() {
        app.out.say(&format!("{} has printed nothing", args.name));
    } else {
        app.out.data(&output::shown(app, text.trim_end()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints whole lines as they come, until the member has ended and all is printed.
fn follow(app: &App, team: &TeamName, name: &MemberName, path: &Path) -> Result<ExitCode, Failure> {
    let mut watch = Watch::new()?;
    watch.file(path);
    let mut position = 0;
    loop {
        // Asked before reading, so that the last words are not missed.
        let has_ended = has_ended(app, team, name)?;
        position = print_from(app, name, path, position)?;
        if has_ended {
            app.out.say(&format!("{name} has ended"));
        }
        if has_ended || !app.out.is_wanted() {
            return Ok(ExitCode::SUCCESS);
        }
        watch.wait(None);
    }
}

fn has_ended(app: &App, team: &TeamName, name: &MemberName) -> Result<bool, Failure> {
    match app.store.liveness(team, name) {
        Ok(liveness) => Ok(liveness == Liveness::Dead),
        Err(StoreError::MemberNotFound { .. } | StoreError::TeamNotFound { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Prints the complete lines behind `position` and returns where the next one begins.
fn print_from(app: &App, name: &MemberName, path: &Path, position: u64) -> Result<u64, Failure> {
    let Ok(file) = File::open(path) else {
        return Ok(position);
    };
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(position))?;
    let mut at = position;
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        at += line.len() as u64;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        if app.out.json {
            app.out
                .json_line(&json!({ "name": name, "line": plain(text) }))?;
        } else {
            app.out.data(&output::shown(app, text))?;
        }
        line.clear();
    }
    Ok(at)
}
