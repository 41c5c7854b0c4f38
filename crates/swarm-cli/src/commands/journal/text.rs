//! An event as people read it.

use std::fmt::Display;

use swarm_protocol::{Event, JournalEntry};
use swarm_team::speaker;

/// Time, what kind of thing happened, and the thing, in one line.
pub(super) fn line(entry: &JournalEntry) -> String {
    let (word, what) = words(&entry.event);
    swarm_ui::clean_line(&format!("{} {word}: {what}", entry.at.iso()))
}

fn words(event: &Event) -> (&'static str, String) {
    match event {
        Event::Queued { .. }
        | Event::Delivered { .. }
        | Event::MalformedMail { .. }
        | Event::FileDamaged { .. } => ("mail", mail(event)),
        Event::TaskCreated { .. } | Event::TaskChanged { .. } | Event::TaskDeleted { .. } => {
            ("task", task(event))
        }
        Event::TeamCreated { by } => ("team", format!("made by {by}")),
        Event::TeamDeleted { by } => ("team", format!("deleted by {by}")),
        Event::LeadTaken { pid, .. } => (
            "team",
            match pid {
                Some(pid) => format!("led by process {pid} from here on"),
                None => "taken over by hand".to_owned(),
            },
        ),
        Event::RequestOpened {
            request,
            from,
            tool,
        } => ("request", format!("{from} asks for {tool} ({request})")),
        Event::RequestAnswered { request, answer } => ("request", format!("{answer} ({request})")),
        Event::TurnEnded {
            member,
            outcome,
            usage,
            model,
        } => {
            let tokens = swarm_ui::print::short_count(usage.total());
            (
                "turn",
                format!("{member} {outcome}, {tokens} tokens of {model}"),
            )
        }
        Event::SubAgentEnded {
            member,
            agent,
            agent_type,
            outcome,
            usage,
            model,
        } => {
            let tokens = swarm_ui::print::short_count(usage.total());
            (
                "agent",
                format!("{agent} ({agent_type}) of {member} {outcome}, {tokens} tokens of {model}"),
            )
        }
        Event::Unknown => ("other", "an event of a later version".to_owned()),
        _ => ("member", member(event)),
    }
}

fn mail(event: &Event) -> String {
    match event {
        Event::Queued {
            msg_id,
            from,
            to,
            summary,
            frame,
            kind,
            superseded,
        } => {
            let what = match (summary, frame) {
                (_, Some(frame)) => format!("[{frame}]"),
                (Some(summary), None) => summary.clone(),
                (None, None) => String::new(),
            };
            let from = speaker(from, *kind);
            let instead = match &superseded[..] {
                [] => String::new(),
                ids => format!(" in place of {}", joined(ids, "")),
            };
            format!("queued from {from} to {to} ({msg_id}){instead} {what}")
        }
        Event::Delivered { msg_id, to } => format!("delivered to {to} ({msg_id})"),
        Event::MalformedMail { to, count, kept } => {
            format!("{count} elements of {to}'s inbox were no messages; kept in {kept}")
        }
        Event::FileDamaged { file, kept, reason } => {
            format!("{file} was damaged ({reason}); kept as {kept}")
        }
        _ => String::new(),
    }
}

fn task(event: &Event) -> String {
    match event {
        Event::TaskCreated {
            task, subject, by, ..
        } => format!("#{task} made by {by}: {subject}"),
        Event::TaskChanged {
            task,
            from,
            to,
            owner,
            by,
            set,
        } => {
            let owner = owner
                .as_ref()
                .map_or_else(String::new, |owner| format!(", owner {owner}"));
            if from == to {
                let fields = set
                    .keys()
                    .map(String::as_str)
                    .filter(|key| *key != "metadata");
                let fields: Vec<&str> = fields.collect();
                return format!("#{task} changed by {by}: {}{owner}", fields.join(", "));
            }
            format!("#{task} {} → {} by {by}{owner}", from.name(), to.name())
        }
        Event::TaskDeleted { task, by } => format!("#{task} deleted by {by}"),
        _ => String::new(),
    }
}

fn member(event: &Event) -> String {
    match event {
        Event::SpawnReserved { member, .. } => format!("{member} is being started"),
        Event::SpawnCommitted { member, pid, .. } => format!("{member} is in, process {pid}"),
        Event::SpawnAborted { member, reason, .. } => {
            format!("{member} was not started: {reason}")
        }
        Event::ShutdownRequested { member, request } => {
            format!("{member} is asked to shut down ({request})")
        }
        Event::ShutdownRejected { member, reason } => {
            format!("{member} does not shut down: {reason}")
        }
        Event::MemberParked { member, reason } => format!("{member} parks: {reason}"),
        Event::MemberPaused { member, by, reason } => {
            let why = reason
                .as_ref()
                .map_or_else(String::new, |why| format!(": {why}"));
            format!("{member} is paused by {by}{why}")
        }
        Event::MemberContinued { member, from } => {
            format!("{member} goes on and is no longer {}", from.name())
        }
        Event::MemberStopped { member, how, .. } => format!("{member} ended ({how})"),
        Event::MemberDied {
            member,
            reason,
            released,
            ..
        } => format!("{member} died: {reason}{}", given_back(released)),
        _ => String::new(),
    }
}

fn given_back<T: Display>(released: &[T]) -> String {
    if released.is_empty() {
        String::new()
    } else {
        format!("; given back: {}", joined(released, "#"))
    }
}

fn joined<T: Display>(ids: &[T], sign: &str) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("{sign}{id}")).collect();
    ids.join(", ")
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{MemberName, MessageId, TaskId, TaskState, UnixMs};

    use super::*;

    #[test]
    fn events_are_one_line_each_whatever_is_in_them() {
        let at = UnixMs(1_795_195_646_590);
        let show = |event| line(&JournalEntry { at, event });
        let queued = Event::Queued {
            msg_id: MessageId::new("m1"),
            from: "bob".to_owned(),
            to: MemberName::lead(),
            summary: Some("two\nlines\u{1b}[2J".to_owned()),
            frame: None,
            kind: None,
            superseded: Vec::new(),
        };
        assert_eq!(
            show(queued),
            "2026-11-20T17:27:26.590Z mail: queued from bob to team-lead (m1) two lines"
        );
        let changed = Event::TaskChanged {
            task: TaskId::new(3),
            from: TaskState::Pending,
            to: TaskState::InProgress,
            owner: Some("bob".to_owned()),
            by: "bob".to_owned(),
            set: serde_json::Map::new(),
        };
        assert_eq!(
            show(changed),
            "2026-11-20T17:27:26.590Z task: #3 pending → in_progress by bob, owner bob"
        );
    }
}
