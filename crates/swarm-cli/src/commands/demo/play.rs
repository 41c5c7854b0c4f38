//! The demo run, shown in a terminal or summarized.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use swarm_member::RunReport;
use swarm_os::{DirectoryWatcher, NameFilter, Subscription, replace_alone};
use swarm_panes::TmuxBackend;
use swarm_protocol::{ErrorKind, TeamName, UnixMs};
use swarm_store::{Cursor, FileStore, TeamStore as _};
use swarm_ui::picture::{self as drawing, Window};

use super::account::{is_moment, line};
use super::picture::{capture, panes};
use super::server::DemoServer;
use super::stage::Stage;
use crate::app::App;
use crate::commands::acting::require_person;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A team with a scripted model fixes a repository with a failing test. Your own teams are not affected.

Examples:
  swarm demo
  swarm demo --no-attach --pace 0 --picture demo.svg")]
pub(crate) struct DemoArgs {
    /// Print a summary instead of showing the panes, even in a terminal.
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Keep the temporary directory.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Save a picture of the panes as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<PathBuf>,
    /// Playback speed: 1 for watching, 0 for as fast as possible.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) pace: Option<f64>,
}

/// Pace of the scripted model when a summary is printed.
const ACCOUNT_PACE: f64 = 0.35;

/// Timeout of the whole demo.
const CURTAIN: Duration = Duration::from_mins(2);

const TEAM: &str = "demo";
const PROMPT: &str =
    "A test in this repository fails. Create a team, find the cause, fix it, and verify the fix.";

/// Runs the demo.
pub(crate) fn run(app: &App, args: &DemoArgs) -> Result<ExitCode, Failure> {
    require_person(app, "demo")?;
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let attach = terminal && !args.no_attach && args.picture.is_none() && !app.out.json;
    let pace = args.pace.unwrap_or(if attach { 1.0 } else { ACCOUNT_PACE });
    let stage = Stage::build(app, pace, args.keep)?;
    let (before, passes) = stage.run_test(app)?;
    if passes {
        return Err(Failure::new(
            ErrorKind::Internal,
            "the demo's test passes before the fix",
        ));
    }
    app.out.say("A small repository whose test fails:");
    tell(app, &before);
    let server = DemoServer::start(app, &stage, &lead_command(&stage)?)?;
    let windows = if attach {
        server.attach()?;
        Vec::new()
    } else {
        super::super::runtime()?.block_on(watch(app, &stage, &server))?
    };
    let ended = finish(app, &stage, args, &windows);
    drop(server);
    super::super::runtime()?.block_on(stage.end_processes());
    ended
}

fn tell(app: &App, text: &str) {
    for line in text.lines() {
        app.out.say(&format!("    {line}"));
    }
    app.out.say("");
}

fn lead_command(stage: &Stage) -> Result<Vec<OsString>, Failure> {
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
    Ok(words)
}

/// Prints the summary as events arrive and keeps the last picture of the working team.
async fn watch(app: &App, stage: &Stage, server: &DemoServer) -> Result<Vec<Window>, Failure> {
    let audience = Audience {
        app,
        store: FileStore::new(stage.root(), Arc::clone(&app.clock)),
        team: TeamName::parse(TEAM)?,
        backend: server.backend()?,
        began: app.clock.now(),
    };
    tokio::time::timeout(CURTAIN, audience.follow(stage))
        .await
        .map_err(|_| {
            let message = format!("the demo did not finish within {} s", CURTAIN.as_secs());
            Failure::new(ErrorKind::TimedOut, message)
        })?
}

struct Audience<'a> {
    app: &'a App,
    store: FileStore,
    team: TeamName,
    backend: TmuxBackend,
    began: UnixMs,
}

impl Audience<'_> {
    async fn follow(&self, stage: &Stage) -> Result<Vec<Window>, Failure> {
        let watcher = DirectoryWatcher::new();
        let end = NameFilter::Exact(vec!["report.json".into()]);
        let mut report = watcher.subscribe(stage.directory(), end);
        let mut teams = watcher.subscribe(&stage.root().join("teams"), NameFilter::Any);
        let journal = self.store.team(&self.team).journal_path();
        let mut entered: Option<Subscription> = None;
        let (mut position, mut pictures) = (Cursor::default(), Vec::new());
        loop {
            if entered.is_none() && journal.exists() {
                let name = NameFilter::Exact(vec!["journal.jsonl".into()]);
                entered = journal
                    .parent()
                    .map(|directory| watcher.subscribe(directory, name));
            }
            if journal.exists() {
                let news = self.store.team(&self.team).events_from(position).await?;
                position = news.next;
                if news.entries.iter().any(|entry| is_moment(&entry.event)) {
                    self.take_picture(&mut pictures).await;
                }
                let lines = news
                    .entries
                    .iter()
                    .filter_map(|entry| line(entry, self.began));
                lines.for_each(|line| self.app.out.say(&line));
            }
            if stage.report().exists() {
                return Ok(pictures);
            }
            let entered = async {
                match entered.as_mut() {
                    Some(entered) => entered.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = report.changed() => {}
                () = teams.changed() => {}
                () = entered => {}
            }
        }
    }

    /// Replaces the picture unless panes were closed since.
    async fn take_picture(&self, pictures: &mut Vec<Window>) {
        match capture(&self.backend, &self.team).await {
            Ok(fresh) if panes(&fresh) >= panes(pictures) => *pictures = fresh,
            Ok(_) => {}
            Err(failure) => tracing::debug!(message = failure.message, "no picture"),
        }
    }
}

fn finish(
    app: &App,
    stage: &Stage,
    args: &DemoArgs,
    windows: &[Window],
) -> Result<ExitCode, Failure> {
    if !windows.is_empty() && !app.out.json {
        app.out.data("")?;
        app.out.data(&drawing::text(windows, true))?;
    }
    if let Some(path) = &args.picture {
        replace_alone(&app.env.cwd.join(path), drawing::svg(windows).as_bytes())
            .map_err(anyhow::Error::from)?;
        app.out
            .say(&format!("The picture is in {}.", path.display()));
    }
    let (after, passes) = stage.run_test(app)?;
    app.out.say("The same test afterwards:");
    tell(app, &after);
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
                app.out
                    .data(&crate::output::plain(report.result.trim_end()))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(report) if report.error_kind().is_none() => Err(Failure::new(
            ErrorKind::AgentFailed,
            "the team has finished, but the test still fails",
        )),
        Some(report) => Err(Failure::new(
            ErrorKind::AgentFailed,
            report.outcome.sentence(),
        )),
        None => Err(Failure::new(
            ErrorKind::Interrupted,
            "the demo was closed before it finished",
        )),
    }
}
