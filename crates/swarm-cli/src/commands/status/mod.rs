//! `swarm status`.

mod gather;
mod screen;
mod text;

use std::process::ExitCode;

use swarm_fs::NameFilter;
use swarm_protocol::TeamName;

use self::gather::Status;
use super::watch::Watch;
use crate::app::App;
use crate::args::StatusArgs;
use crate::failure::Failure;

pub(super) fn run(app: &App, args: &StatusArgs) -> Result<ExitCode, Failure> {
    let team = app.team()?;
    if args.watch {
        return watch(app, &team);
    }
    let status = Status::gather(app, &team)?;
    status.warn_of_damage(app);
    if app.out.json {
        app.out.json(&status.document()?)?;
    } else {
        app.out
            .data(text::text(app, &status, app.out.theme).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows the status again whenever it changes. A terminal is drawn anew; elsewhere each change is printed once.
fn watch(app: &App, team: &TeamName) -> Result<ExitCode, Failure> {
    let mut watch = Watch::new()?;
    let store = &app.store;
    watch.also(&store.team_folder(team), NameFilter::Suffix(".json"));
    watch.also(&store.inbox_folder(team), NameFilter::Suffix(".json"));
    watch.also(&store.tasks_folder(team), NameFilter::Suffix(".json"));
    watch.also(&store.requests_folder(team), NameFilter::Suffix(".json"));
    let mut last = serde_json::Value::Null;
    while app.out.is_wanted() {
        swarm_team::reconcile(&**store, team)?;
        for name in store.config(team)?.names() {
            watch.also(
                &store.member_dir(team, &name),
                NameFilter::Exact(vec!["state.json".into()]),
            );
        }
        let status = Status::gather(app, team)?;
        let document = status.document()?;
        if screen::is_there() && !app.out.json {
            screen::draw(app.out, &text::text(app, &status, app.out.theme))?;
        } else if document != last {
            if app.out.json {
                app.out.json_line(&document)?;
            } else {
                app.out.data(&text::text(app, &status, app.out.theme))?;
            }
            last = document;
        }
        watch.wait(None);
    }
    Ok(ExitCode::SUCCESS)
}
