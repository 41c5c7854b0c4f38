//! Text form of an event.

use serde_json::{Map, Value};
use swarm_protocol::{
    AnsweredBy, Event, JournalEntry, LEAD_NAME, PERSON, SpawnTerms, TaskId, task_numbers,
    with_commas,
};
use swarm_team::speaker;

/// The kinds of events.
pub(super) const WORDS: [&str; 8] = [
    "agent", "mail", "member", "other", "request", "task", "team", "turn",
];

/// Returns the kind of an event: one of [`WORDS`].
pub(super) fn word(event: &Event) -> &'static str {
    words(event).0
}

/// Formats time, kind and description in one line.
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
        Event::TeamCreated { by } => ("team", format!("created by {by}")),
        Event::TeamAdopted { by } => ("team", format!("created by another program, led by {by}")),
        Event::MemberAdded { member } => ("member", format!("{member} joined by itself")),
        Event::TeamDeleted { by } => ("team", format!("deleted by {by}")),
        Event::LeadTaken { pid, .. } => (
            "team",
            match pid {
                Some(pid) => format!("led by process {pid} from now on"),
                None => "taken over manually".to_owned(),
            },
        ),
        Event::ModeSet {
            member, mode, by, ..
        } => (
            "member",
            format!("{member} was set to mode {mode}{}", answerer(by)),
        ),
        Event::TeamRuleAdded { rule, by } => (
            "team",
            format!("allowed for all members: {rule}{}", answerer(by)),
        ),
        Event::TeamRuleRemoved { rule, by } => (
            "team",
            format!("no longer allowed for all members: {rule}{}", answerer(by)),
        ),
        Event::RequestOpened { .. }
        | Event::RequestAnswered { .. }
        | Event::AnswerIgnored { .. } => ("request", request(event)),
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
        Event::Unknown => ("other", "an event of a newer version".to_owned()),
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
                ids => format!(" in place of {}", with_commas(ids)),
            };
            format!("queued from {from} to {to} ({msg_id}){instead} {what}")
        }
        Event::Delivered { msg_id, to } => format!("delivered to {to} ({msg_id})"),
        Event::MalformedMail { to, count, kept } => {
            format!("{count} elements of {to}'s inbox were not messages; kept in {kept}")
        }
        Event::FileDamaged {
            file, kept, reason, ..
        } => {
            format!("{file} was damaged ({reason}); kept as {kept}")
        }
        _ => String::new(),
    }
}

fn request(event: &Event) -> String {
    match event {
        Event::RequestOpened {
            request,
            from,
            tool,
            description,
            ..
        } => {
            let call = if description.is_empty() {
                tool
            } else {
                description
            };
            format!("{from} asks: {call} ({request})")
        }
        Event::AnswerIgnored {
            request,
            member,
            reason,
        } => format!("an answer to {member} was ignored ({request}): {reason}"),
        Event::RequestAnswered {
            request,
            to,
            answer,
            always,
            why,
            answers,
            updated_digest,
            by,
            ..
        } => {
            let is_plan = request.as_str().starts_with("plan_approval-");
            let answer = match answer.as_str() {
                "answered" if is_plan => "approved with a remark",
                "approved" if updated_digest.is_some() => "approved with changes",
                word => word,
            };
            let always = if *always { " with --always" } else { "" };
            let to = match to {
                Some(to) => format!(" for {to}"),
                None => String::new(),
            };
            let answers = (!answers.is_empty()).then(|| answers.join("; "));
            let why = because(why.as_ref().or(answers.as_ref()).map(String::as_str));
            format!("{answer}{always}{to}{} ({request}){why}", answerer(by))
        }
        _ => String::new(),
    }
}

/// Formats who answered, if known.
fn answerer(by: &AnsweredBy) -> String {
    let host = by.host.as_ref().map(|host| format!(" on {host}"));
    let host = host.unwrap_or_default();
    let process = by.pid.map(|pid| format!("process {pid}{host}"));
    let user = by.user.as_ref().map(|user| format!("user {user}"));
    let known: Vec<String> = user.into_iter().chain(process).collect();
    match (by_whom(&by.by), &known[..]) {
        (whom, []) => whom,
        (whom, known) => format!("{whom}, {}", known.join(", ")),
    }
}

/// Formats ` by bob`; empty if unknown.
fn by_whom(by: &str) -> String {
    match by {
        "" => String::new(),
        PERSON => " by a person".to_owned(),
        LEAD_NAME => " by the lead".to_owned(),
        by => format!(" by {by}"),
    }
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

fn task(event: &Event) -> String {
    match event {
        Event::TaskCreated {
            task, subject, by, ..
        } => format!("#{task} created by {by}: {subject}"),
        Event::TaskChanged {
            task,
            from,
            to,
            owner,
            by,
            set,
        } => {
            if from == to {
                return format!("#{task} changed by {by}: {}", changed(set));
            }
            let owner = owner
                .as_ref()
                .map_or_else(String::new, |owner| format!(", owner {owner}"));
            format!("#{task} {} → {} by {by}{owner}", from.name(), to.name())
        }
        Event::TaskDeleted { task, by } => format!("#{task} deleted by {by}"),
        _ => String::new(),
    }
}

/// Formats the changed fields. Every change increments a counter in the metadata, so `metadata` is
/// only named if no other field changed.
fn changed(set: &Map<String, Value>) -> String {
    let fields = set.iter().filter(|(key, _)| *key != "metadata");
    let named = fields.map(|(key, value)| match (key.as_str(), value) {
        ("owner", Value::String(owner)) => format!("owner {owner}"),
        ("owner", _) => "no owner".to_owned(),
        (key, _) => key.to_owned(),
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return "metadata".to_owned();
    }
    named.join(", ")
}

/// Formats the effective values of a new member that the event contains.
fn in_force(terms: &SpawnTerms) -> String {
    let words = [
        terms.agent_type.clone(),
        terms.model.clone(),
        terms.mode.as_ref().map(|mode| format!("mode {mode}")),
        terms
            .cwd
            .as_ref()
            .map(|cwd| format!("in {}", cwd.display())),
        terms.worktree.as_ref().map(|_| "own worktree".to_owned()),
        match (&terms.backend, &terms.pane) {
            (Some(backend), Some(pane)) => Some(match pane.as_str().split_once(':') {
                // `headless:SPAWN` and `in-process:SPAWN`
                Some((name, _)) if name == backend.name() => name.to_owned(),
                _ => format!("{} {}", backend.name(), pane.as_str()),
            }),
            _ => None,
        },
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    if words.is_empty() {
        return String::new();
    }
    format!(": {}", words.join(", "))
}

fn member(event: &Event) -> String {
    match event {
        Event::SpawnReserved { member, .. } => format!("{member} is being started"),
        Event::SpawnCommitted {
            member, pid, terms, ..
        } => format!("{member} joined, process {pid}{}", in_force(terms)),
        Event::SpawnAborted { member, reason, .. } => {
            format!("{member} was not started: {reason}")
        }
        Event::ShutdownRequested {
            member,
            request,
            by,
            reason,
        } => {
            let (by, why) = (by_whom(by), because(reason.as_deref()));
            format!("{member} was asked to shut down{by} ({request}){why}")
        }
        Event::ShutdownRejected { member, reason } => {
            format!("{member} refused to shut down: {reason}")
        }
        Event::Compacted {
            member,
            trigger,
            pre_tokens,
            tokens,
        } => {
            let by_hand = if trigger == "manual" { " manually" } else { "" };
            let [before, after] = [*pre_tokens, *tokens].map(swarm_ui::print::short_count);
            format!("{member}'s conversation was compacted{by_hand}, {before} to {after} tokens")
        }
        Event::CompactionFailed { member, reason } => {
            format!("{member}'s conversation was not compacted: {reason}")
        }
        Event::MemberParked { member, reason } => format!("{member} parks: {reason}"),
        Event::MemberPaused { member, by, reason } => {
            let why = because(reason.as_deref());
            format!("{member} is paused{}{why}", by_whom(by))
        }
        Event::MemberContinued { member, from } => {
            format!("{member} continues and is no longer {}", from.name())
        }
        Event::MemberStopped { member, how, .. } => format!("{member} stopped ({how})"),
        Event::MemberDied {
            member,
            reason,
            released,
            ..
        } => format!("{member} died: {reason}{}", given_back(released)),
        _ => String::new(),
    }
}

fn given_back(released: &[TaskId]) -> String {
    if released.is_empty() {
        return String::new();
    }
    format!("; released tasks: {}", task_numbers(released))
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{MemberName, MessageId, TaskState, UnixMs};

    use super::*;

    #[test]
    fn events_name_changed_fields_and_answering_user() {
        let show = |event: serde_json::Value| {
            let event: Event = serde_json::from_value(event).unwrap();
            words(&event).1
        };
        let set = |set: serde_json::Value| {
            show(serde_json::json!({
                "type": "task_changed", "task": "1", "from": "pending", "to": "pending",
                "owner": "ann", "by": "ann", "set": set,
            }))
        };
        assert_eq!(
            set(serde_json::json!({"metadata": {}})),
            "#1 changed by ann: metadata"
        );
        assert_eq!(
            set(serde_json::json!({"owner": "ann", "subject": "x", "metadata": {}})),
            "#1 changed by ann: owner ann, subject"
        );
        assert_eq!(
            show(serde_json::json!({
                "type": "request_answered", "request": "perm-1-a", "to": "bob", "answer": "denied",
                "why": "not now", "by": "person", "pid": 7, "user": "eve",
            })),
            "denied for bob by a person, user eve, process 7 (perm-1-a): not now"
        );
        let answered = |request: &str, answer: &str, more: serde_json::Value| {
            let mut event = serde_json::json!({
                "type": "request_answered", "request": request, "to": "bob", "answer": answer, "by": "person",
            });
            for (name, value) in more.as_object().into_iter().flatten() {
                event[name] = value.clone();
            }
            show(event)
        };
        assert_eq!(
            answered(
                "perm-1-a",
                "approved",
                serde_json::json!({"updatedDigest": "d"})
            ),
            "approved with changes for bob by a person (perm-1-a)"
        );
        let words = serde_json::json!({"answers": ["blue", "2"]});
        assert_eq!(
            answered("perm-1-a", "answered", words.clone()),
            "answered for bob by a person (perm-1-a): blue; 2"
        );
        let plan = "plan_approval-1@bob@t";
        assert_eq!(
            answered(plan, "answered", words),
            format!("approved with a remark for bob by a person ({plan}): blue; 2")
        );
        assert_eq!(
            show(serde_json::json!({
                "type": "mode_set", "member": "bob", "mode": "plan",
                "by": "person", "pid": 7, "user": "eve", "host": "box",
            }))
            .split(" by ")
            .last(),
            Some("a person, user eve, process 7 on box")
        );
        // Written by an older version.
        let old =
            serde_json::json!({"type": "request_answered", "request": "p", "answer": "expired"});
        assert_eq!(show(old), "expired (p)");
        let old =
            serde_json::json!({"type": "shutdown_requested", "member": "bob", "request": "s"});
        assert_eq!(show(old), "bob was asked to shut down (s)");
        let spawn = swarm_protocol::SpawnId::random();
        let old = serde_json::json!({"type": "spawn_committed", "member": "bob", "spawnId": spawn, "pid": 7});
        assert_eq!(show(old), "bob joined, process 7");
        let new = serde_json::json!({
            "type": "spawn_committed", "member": "bob", "spawnId": spawn, "pid": 7, "model": "a/b",
            "mode": "plan", "cwd": "/repo", "backend": "tmux", "pane": "%3",
        });
        assert_eq!(
            show(new),
            "bob joined, process 7: a/b, mode plan, in /repo, tmux %3"
        );
        let headless = serde_json::json!({
            "type": "spawn_committed", "member": "bob", "spawnId": spawn, "pid": 7,
            "backend": "headless", "pane": format!("headless:{spawn}"),
        });
        assert_eq!(show(headless), "bob joined, process 7: headless");
    }

    #[test]
    fn every_event_is_formatted_in_one_line() {
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
