//! Reports to the lead at the end of a turn.

use swarm_agent::{AgentError, Totals, TurnOutcome, TurnStop};
use swarm_protocol::{AgentEvent, IdleNotification, IdleReason, IsoTime};

use crate::reporter::TurnMail;
use crate::teammate::turn_reporter::notice;

fn ended(end: Result<(), TurnStop>, text: &str) -> TurnOutcome {
    TurnOutcome {
        end,
        text: text.to_owned(),
        spent: Totals::default(),
        stop_reason: None,
    }
}

fn finished(text: &str) -> TurnOutcome {
    ended(Ok(()), text)
}

fn told(outcome: &TurnOutcome, mail: &TurnMail) -> IdleNotification {
    notice("bob".to_owned(), IsoTime::new("now"), outcome, mail)
}

fn mail_to(to: &str) -> AgentEvent {
    AgentEvent::MailOut {
        to: to.to_owned(),
        line: "the report".to_owned(),
    }
}

fn tool(tool: &str) -> AgentEvent {
    AgentEvent::ToolStarted {
        id: "1".to_owned(),
        tool: tool.to_owned(),
        line: String::new(),
    }
}

fn turn(events: &[AgentEvent]) -> TurnMail {
    let mut mail = TurnMail::default();
    mail.follow(&AgentEvent::TurnStarted);
    for event in events {
        mail.follow(event);
    }
    mail
}

#[test]
fn d5_the_last_text_is_reported_unless_the_lead_just_got_a_message() {
    let report = [tool("SendMessage"), mail_to("team-lead")];
    let cases: [(Vec<AgentEvent>, bool); 6] = [
        (vec![], true),
        (report.to_vec(), false),
        (vec![tool("SendMessage"), mail_to("alice")], true),
        ([&report[..], &[tool("Bash")]].concat(), true),
        ([&[tool("Bash")], &report[..]].concat(), false),
        (
            [&report[..], &[tool("SendMessage"), mail_to("alice")]].concat(),
            false,
        ),
    ];
    for (events, attached) in cases {
        let notice = told(&finished("done"), &turn(&events));
        assert_eq!(notice.result.is_some(), attached, "{events:?}");
        assert_eq!(notice.idle_reason, Some(IdleReason::Available));
    }
}

#[test]
fn d5_a_message_that_was_not_sent_is_no_report() {
    let notice = told(&finished("done"), &turn(&[tool("SendMessage")]));
    assert_eq!(notice.result.as_deref(), Some("done"));
}

#[test]
fn a_turn_without_words_has_no_result() {
    assert_eq!(told(&finished(" \n"), &TurnMail::default()).result, None);
}

#[test]
fn the_last_message_to_a_peer_is_reported_and_cut() {
    let long = AgentEvent::MailOut {
        to: "alice".to_owned(),
        line: "é".repeat(100),
    };
    let notice = told(&finished("done"), &turn(&[long]));
    assert_eq!(
        notice.summary,
        Some(format!("[to alice] {}", "é".repeat(80)))
    );
}

#[test]
fn failures_limits_and_interruptions_say_so() {
    let none = TurnMail::default();
    let stop = TurnStop::Failed(AgentError::ContextFull);
    let failed = ended(Err(stop), "half a word");
    let notice = told(&failed, &none);
    assert_eq!(
        (notice.idle_reason, notice.result),
        (Some(IdleReason::Failed), None)
    );
    assert!(notice.failure_reason.unwrap().contains("context window"));
    let limit = ended(Err(TurnStop::Limit), "I stopped without finishing");
    let notice = told(&limit, &none);
    assert_eq!(notice.idle_reason, Some(IdleReason::Failed));
    assert_eq!(
        notice.failure_reason.as_deref(),
        Some("I stopped without finishing")
    );
    let interrupted = ended(Err(TurnStop::Interrupted), "half a word");
    let notice = told(&interrupted, &none);
    assert_eq!(notice.idle_reason, Some(IdleReason::Interrupted));
    assert_eq!((notice.result, notice.failure_reason), (None, None));
}

#[test]
fn a_huge_text_is_cut_between_characters_and_says_how_much_is_missing() {
    let limit = 64 * 1024;
    let whole = "x".repeat(limit);
    let notice = told(&finished(&whole), &TurnMail::default());
    assert_eq!(notice.result.as_deref(), Some(whole.as_str()));
    let huge = format!("x{}", "é".repeat(limit));
    let notice = told(&finished(&huge), &TurnMail::default());
    let result = notice.result.unwrap();
    let (kept, note) = result.rsplit_once('\n').unwrap();
    assert_eq!(kept.len(), limit - 1);
    assert!(huge.starts_with(kept));
    let missing = huge.len() - kept.len();
    assert!(note.contains(&format!("{missing} more bytes")), "{note}");
}
