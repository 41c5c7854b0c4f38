//! The demo run, shown in a terminal or summarized.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use swarm_member::RunReport;
use swarm_os::replace_alone;
use swarm_protocol::{ErrorKind, TeamName};
use swarm_store::TeamStore as _;
use swarm_ui::picture as drawing;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::audience::{Audience, Impressions};
use super::hub::{self, Hub};
use super::machine::TEAM;
use super::person::Person;
use super::picture::panes;
use super::server::{DemoServer, Window};
use super::shell::Shell;
use super::stage::Stage;
use crate::app::{App, store_at};
use crate::commands::acting::require_person;
use crate::commands::{called_off_by_signals, runtime};
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A team with a scripted model fixes a repository with a failing test. Your own teams are not affected.

Examples:
  swarm demo
  swarm demo --hub
  swarm demo --no-attach --pace 0 --picture demo.svg
  swarm demo --recording demo.svg")]
pub(crate) struct DemoArgs {
    /// Print a summary instead of showing the panes, even in a terminal.
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Simulate a team on two machines, with a hub and a node.
    #[arg(long)]
    pub(crate) hub: bool,
    /// Keep the temporary directory.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Save a picture of the panes as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<PathBuf>,
    /// Save a recording of the demo as an animated SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// Playback speed: 1 for watching, 0 for as fast as possible, at most 100.
    #[arg(long, value_name = "FACTOR", value_parser = pace)]
    pub(crate) pace: Option<f64>,
}

/// Pace of the scripted model when a summary is printed.
const ACCOUNT_PACE: f64 = 0.35;

/// Timeout of the whole demo.
const CURTAIN: Duration = Duration::from_mins(2);

/// Time to read the last events after the terminal has detached.
const LAST_LOOK: Duration = Duration::from_millis(500);

const PROMPT: &str =
    "A test in this repository fails. Create a team, find the cause, fix it, and verify the fix.";

/// What to do after the demo.
const NEXT: &str = "
Next:
    swarm doctor    reports what is missing on your machine
    swarm           starts a lead in this terminal";

/// Parses a playback speed that the lead accepts.
fn pace(text: &str) -> Result<f64, String> {
    let pace = text
        .parse()
        .ok()
        .filter(|pace| (0.0..=100.0).contains(pace));
    pace.ok_or_else(|| "not a number from 0 to 100".to_owned())
}

pub(crate) fn run(app: &App, args: &DemoArgs) -> Result<()> {
    require_person(app, "demo")?;
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let draws = args.picture.is_some() || args.recording.is_some();
    let attach = terminal && !args.no_attach && !draws && !app.out.json;
    let pace = args.pace.unwrap_or(if attach { 1.0 } else { ACCOUNT_PACE });
    for path in [&args.picture, &args.recording].into_iter().flatten() {
        let directory = app.env.cwd.join(path);
        if !directory.parent().is_some_and(Path::is_dir) {
            let message = format!(
                "cannot save {}: its directory does not exist",
                path.display()
            );
            return Err(Failure::not_found(message));
        }
    }
    let hub = args.hub.then(|| hub::address(app)).transpose()?;
    let stage = Stage::build(app, pace, args.keep, hub)?;
    let (before, passes) = stage.run_test(app)?;
    if passes {
        return Err(Failure::new(
            ErrorKind::Internal,
            "the demo's test passes before the fix",
        ));
    }
    app.out.say("A small repository whose test fails:");
    tell(app, &before);
    let hub = match (hub, &stage.second) {
        (Some(hub), Some(second)) => Some(Hub::start(app, &stage, second, hub)?),
        _ => None,
    };
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    let shown = async {
        tokio::select! {
            shown = show(app, &stage, hub.as_ref(), attach, pace) => shown,
            () = cancel.cancelled() => Err(Failure::interrupted("interrupted")),
        }
    };
    let shown = runtime.block_on(called_off_by_signals(cancel.clone(), shown));
    let ended = shown.and_then(|impressions| finish(app, &stage, args, &impressions, attach));
    runtime.block_on(stage.end_processes());
    // Members that have ended have released their leases.
    drop(hub);
    ended
}

fn tell(app: &App, text: &str) {
    for line in text.lines() {
        app.out.say(&format!("    {line}"));
    }
    app.out.say("");
}

fn lead_command(stage: &Stage) -> Result<Vec<OsString>> {
    let own = std::env::current_exe()?;
    let mut model = OsString::from("scripted/");
    model.push(stage.scenario());
    let mut words: Vec<OsString> = vec![own.into(), "run".into(), PROMPT.into()];
    words.extend([
        "--mode".into(),
        "acceptEdits".into(),
        "--model".into(),
        model,
    ]);
    words.extend(["--report".into(), stage.report().into()]);
    if stage.second.is_some() {
        // The team exists, because it was created on the hub.
        words.extend(["--resume".into(), TEAM.into()]);
    }
    Ok(words)
}

/// Shows the team: in this terminal, or as an account of its events.
async fn show(
    app: &App,
    stage: &Stage,
    hub: Option<&Hub<'_>>,
    attach: bool,
    pace: f64,
) -> Result<Impressions> {
    let (tell, events) = unbounded_channel();
    let began = app.clock.now();
    let shell = Shell {
        app,
        server: None,
        began,
        prints: !attach,
    };
    let lead = lead_command(stage)?;
    let server = if let Some(hub) = hub {
        hub.open(shell, &lead).await?
    } else {
        let window = Window {
            session: "swarm-demo",
            name: "team",
            directory: &stage.first.repo(),
            words: &lead,
        };
        DemoServer::start(app, stage, &window).await?
    };
    let server = &server;
    let shell = Shell {
        server: Some(server),
        ..shell
    };
    let mut audience = Audience {
        app,
        team: store_at(&stage.first.root()).team(&TeamName::parse(TEAM)?),
        server,
        backend: server.backend()?,
        began,
        prints: !attach,
        is_asked: false,
        person: tell,
    };
    let person = Person {
        shell,
        machine: &stage.first,
        pace,
        events,
        request: None,
    };
    let mut impressions = Impressions::default();
    let followed = async {
        let acted = async {
            match hub {
                None => person.act().await,
                Some(_) => person.act_on_two_machines().await,
            }
        };
        tokio::select! {
            followed = audience.follow(stage, &mut impressions) => followed?,
            failed = acted => failed?,
        }
        match hub {
            Some(hub) => hub.close(shell, server).await,
            None => Ok(()),
        }
    };
    if attach {
        let (mut followed, mut attached) = (pin!(followed), pin!(server.attach()));
        tokio::select! {
            done = &mut followed => attached.await.and(done)?,
            done = &mut attached => {
                done?;
                // Either the run has ended, or the person has detached, which ends the demo.
                if let Ok(done) = tokio::time::timeout(LAST_LOOK, followed).await {
                    done?;
                }
            }
        }
    } else {
        let done = tokio::time::timeout(CURTAIN, followed).await;
        done.map_err(|_| {
            let message = format!("the demo did not finish within {} s", CURTAIN.as_secs());
            Failure::timed_out(message)
        })??;
    }
    Ok(impressions)
}

fn finish(
    app: &App,
    stage: &Stage,
    args: &DemoArgs,
    impressions: &Impressions,
    attach: bool,
) -> Result<()> {
    let frames = &impressions.frames;
    // While the team stops, panes vanish.
    let picture = frames.iter().max_by_key(|frame| panes(&frame.windows));
    let windows = picture.map_or(&[][..], |frame| &frame.windows);
    if !attach && !windows.is_empty() && !app.out.json {
        app.out.data("")?;
        app.out.data(&drawing::text(windows))?;
    }
    let save = |path: &Path, what: &str, svg: String| {
        let written = replace_alone(&app.env.cwd.join(path), svg.as_bytes());
        written.map_err(anyhow::Error::from)?;
        app.out
            .say(&format!("The {what} is in {}.", path.display()));
        Ok::<(), Failure>(())
    };
    if let Some(path) = &args.picture {
        save(path, "picture", drawing::svg(windows))?;
    }
    if let Some(path) = &args.recording {
        save(path, "recording", drawing::recording(frames))?;
    }
    let (after, passes) = stage.run_test(app)?;
    app.out.say("The same test afterwards:");
    tell(app, &after);
    app.out.say(&impressions.tally.sentence());
    if args.keep {
        app.out.say(&format!(
            "Everything is kept in {}.",
            stage.directory().display()
        ));
    }
    let report = std::fs::read(stage.report()).ok();
    let report: Option<RunReport> = report.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match report {
        Some(report) if passes && report.error_kind().is_none() => {
            if app.out.json {
                app.out.json(&report)?;
            } else {
                app.out.wrapped(report.result.trim_end())?;
                app.out.say(NEXT);
            }
            Ok(())
        }
        Some(report) => Err(match report.error_kind() {
            Some(ErrorKind::Interrupted) => Failure::interrupted("interrupted"),
            Some(kind) => Failure::new(kind, report.outcome.sentence()),
            None => Failure::new(
                ErrorKind::AgentFailed,
                "the team has finished, but the test still fails",
            ),
        }),
        None => Err(Failure::interrupted(
            "the demo was closed before it finished",
        )),
    }
}
