//! Lookup and display of members.

use std::fmt::Display;
use std::path::Path;

use serde_json::{Value, json};
use swarm_protocol::{
    ContextUse, Member, MemberName, MemberState, Task, TaskStatus, TeamConfig, TeamName, UnixMs,
    Usage,
};
use swarm_store::{Actor, MemberView, StoreError};
use swarm_ui::print::{Cell, short_duration};

use crate::failure::Result;

/// Returns the member with this name, or an error that lists the members.
pub(super) fn known<'a>(config: &'a TeamConfig, name: &MemberName) -> Result<&'a Member> {
    let missing = || StoreError::member_not_found(&config.name, config, name);
    Ok(config.member(name).ok_or_else(missing)?)
}

/// Returns a member's stored record with its state.
pub(super) fn record(view: &MemberView, tasks: &[Task], team: &TeamName) -> Result<Value> {
    let mut record = serde_json::to_value(&view.member)?;
    let report = view.report.as_ref();
    let id = view.member.id_in(team);
    let at_work = tasks
        .iter()
        .filter(|task| task.status == TaskStatus::InProgress && task.is_owned_by(&id));
    let ids: Vec<_> = at_work.map(|task| task.id).collect();
    record["state"] = json!(view.state);
    record["detail"] = json!(report.and_then(|report| report.detail.as_deref()));
    record["since"] = json!(since(view));
    record["frozen"] = json!(view.frozen);
    if let Some(host) = &view.parked_on {
        record["parkedOn"] = json!(host);
    }
    record["pause"] = json!(view.pause);
    record["unread"] = json!(view.unread);
    record["tasks"] = json!(ids);
    record["turns"] = json!(report.map_or(0, |report| report.turns));
    record["context"] = json!(report.and_then(|report| report.context).map(context));
    record["usage"] = json!(report.map_or_else(Usage::default, |report| report.usage));
    Ok(record)
}

fn context(used: ContextUse) -> Value {
    json!({"tokens": used.tokens, "window": used.window, "percent": used.percent()})
}

/// Returns when a member entered its state, if known.
pub(super) fn since(view: &MemberView) -> Option<UnixMs> {
    let report = view.report.as_ref().map(|report| report.since);
    let died = view.member.swarm.as_ref().and_then(|mark| mark.died_at);
    died.or(report)
}

/// Returns whether a member in this state has stopped.
pub(super) fn is_over(state: MemberState) -> bool {
    matches!(state, MemberState::Dead | MemberState::Stopped)
}

/// Describes a process that was stopped by a signal.
pub(super) fn frozen(pid: impl Display) -> String {
    format!("its process was stopped by a signal; run `kill -CONT {pid}` to continue it")
}

/// Returns the file name of the tmux server of a member's pane if the team uses several servers.
pub(super) fn server_of<'a>(member: &'a Member, all: &[MemberView]) -> Option<&'a str> {
    let mine = socket_of(member)?;
    let others = all.iter().filter_map(|view| socket_of(&view.member));
    let is_one_of_several = others.into_iter().any(|socket| socket != mine);
    mine.file_name()?.to_str().filter(|_| is_one_of_several)
}

fn socket_of(member: &Member) -> Option<&Path> {
    let in_pane = member.tmux_pane_id.as_str().starts_with('%');
    member.swarm.as_ref()?.socket.as_deref().filter(|_| in_pane)
}

/// Formats the time since `at`, rounded down to seconds.
pub(super) fn age(now: UnixMs, at: UnixMs) -> String {
    match now.since(at) {
        0..1000 => "0 s".to_owned(),
        milliseconds => short_duration(milliseconds / 1000 * 1000),
    }
}

/// Returns a member as an actor on the task list, for a person who acts on its behalf.
pub(super) fn actor(config: &TeamConfig, name: &MemberName) -> Result<Actor> {
    let member = known(config, name)?;
    Ok(Actor::member(&config.name, name.clone(), member.spawn_id()))
}

pub(super) fn state_cell(view: &MemberView) -> Cell {
    let word = if view.by_hand && view.state == MemberState::Foreign {
        "by hand"
    } else {
        view.state.name()
    };
    if view.frozen {
        return Cell::new(format!("{word}, frozen")).warn();
    }
    if view.parked_on.is_some() {
        return Cell::new(MemberState::Parked.name()).warn();
    }
    let cell = Cell::of_state(word, view.state);
    if view.state.needs_answer() {
        cell.warn()
    } else {
        cell
    }
}
