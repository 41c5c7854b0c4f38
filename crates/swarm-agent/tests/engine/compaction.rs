//! Conversations that are longer than the model's context window.

use serde_json::{Value, json};
use swarm_model::ModelRequest;
use swarm_permissions::AgentLimits;
use swarm_protocol::{AgentEvent, ContextUse, MessageId};
use swarm_tools::builtin;

use crate::family::{Family, Line, calls, definition, says};
use crate::setup::{Setup, hooks_in, on};
use crate::sub_agents::agent;
use crate::valid::{assert_valid, results, texts};
use crate::window::{
    FILE_BYTES, FILES, Talk, WINDOW, asks_for_summary, assert_finished, bytes, compact, said,
    take_turn, tokens,
};

#[tokio::test]
async fn a_conversation_of_300_turns_ends_normally_in_a_window_of_30_000_tokens() {
    let talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    for turn in 0..300 {
        if turn % 50 == 49 {
            // A new process continues after the last boundary.
            session = talk.open();
        }
        assert_finished(&take_turn(&mut session, turn).await);
    }
    let requests = talk.server.requests();
    let (mut known, mut all, mut compactions) = (0, 0, 0);
    for pair in requests.windows(2) {
        let [before, after] = pair else {
            unreachable!()
        };
        assert!(tokens(after) <= WINDOW, "no request is rejected");
        assert_valid(&said(after));
        assert_eq!(
            (&before.system, &before.tools),
            (&after.system, &after.tools)
        );
        if asks_for_summary(before) {
            compactions += 1;
            assert_rebuilt(&talk, before, after);
        } else {
            // The earlier messages are unchanged, also before the summary request: the summarizer
            // sees the whole conversation.
            assert!(after.messages.starts_with(&before.messages));
            known += bytes(&before.messages);
            let more = if asks_for_summary(after) {
                1..=3
            } else {
                2..=2
            };
            assert!(more.contains(&(after.messages.len() - before.messages.len())));
        }
        all += bytes(&after.messages);
    }
    assert!(compactions >= 5, "{compactions}");
    assert_eq!(talk.boundaries(), compactions);
    assert!(
        known * 100 > all * 90,
        "{known} of {all} bytes of messages were sent before"
    );
    assert!((0..300).all(|turn| session.has_message(&MessageId::new(format!("m{turn}")))));
}

#[tokio::test]
async fn old_results_are_cleared_before_a_compaction() {
    const CLEARED: &str = "[Old tool result content cleared]";
    let talk = Talk::clearing();
    let mut session = talk.open();
    for turn in 0..300 {
        if turn % 50 == 49 {
            session = talk.open();
        }
        assert_finished(&take_turn(&mut session, turn).await);
    }
    let requests = talk.server.requests();
    let (mut known, mut all, mut sweeps) = (0, 0, 0);
    for pair in requests.windows(2) {
        let [before, after] = pair else {
            unreachable!()
        };
        assert!(tokens(after) <= WINDOW, "no request is rejected");
        assert_valid(&said(after));
        all += bytes(&after.messages);
        if asks_for_summary(before) {
            continue;
        }
        if after.messages.starts_with(&before.messages) {
            known += bytes(&before.messages);
            continue;
        }
        sweeps += 1;
        let (old, new) = (said(before), said(after));
        let changed: Vec<usize> = (0..old.len()).filter(|at| old[*at] != new[*at]).collect();
        for at in &changed {
            let shown = results(&old[*at]).into_iter().zip(results(&new[*at]));
            for ((id, text, _), (same_id, placeholder, _)) in shown {
                assert_eq!(id, same_id);
                assert!(placeholder == CLEARED || text == placeholder);
            }
            assert_eq!(texts(&old[*at]), texts(&new[*at]));
        }
        let freed = bytes(&before.messages) - bytes(&after.messages[..before.messages.len()]);
        assert!(
            freed as u64 >= WINDOW,
            "a quarter of the window, four bytes each: {freed}"
        );
        assert!(
            *changed.last().unwrap() + 4 < old.len(),
            "the last results are kept"
        );
    }
    let on_disk = talk.setup.on_disk();
    let boundaries = on_disk.matches("\"subtype\":\"microcompact_boundary\"");
    assert_eq!(boundaries.count(), sweeps);
    assert!(
        sweeps > talk.boundaries() && talk.boundaries() >= 1,
        "{sweeps}"
    );
    assert!(
        on_disk.matches(CLEARED).count() < 100,
        "what was cleared is still on disk"
    );
    assert!(
        known * 100 > all * 90,
        "{known} of {all} bytes of messages were sent before"
    );
}

#[tokio::test]
async fn context_use_is_reported_after_each_response() {
    let talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    take_turn(&mut session, 0).await;
    let asked = talk.server.requests();
    let events = talk.setup.watcher.events().into_iter();
    let reported: Vec<ContextUse> = events
        .filter_map(|event| match event {
            AgentEvent::Context(used) => Some(used),
            _ => None,
        })
        .collect();
    let expected = asked.iter().map(|request| ContextUse {
        tokens: tokens(request) + 20,
        window: WINDOW,
    });
    assert_eq!(reported, expected.collect::<Vec<_>>());
}

/// Asserts that the request after a summary contains everything that is attached again.
#[track_caller]
fn assert_rebuilt(talk: &Talk, asked: &ModelRequest, next: &ModelRequest) {
    let (_, whole) = asked.messages.split_last().unwrap();
    let kept = next.messages.len() - 1;
    assert!(kept >= 1);
    assert_eq!(
        next.messages[1..],
        whole[whole.len() - kept..],
        "the last messages"
    );
    let first = next.messages[0].message();
    let texts = texts(&first);
    assert!(
        texts[0].contains("Always whistle while you work."),
        "{texts:#?}"
    );
    assert!(texts[1].contains("This is summary "), "{texts:#?}");
    let path = talk.setup.path().display().to_string();
    assert!(
        texts[1].contains(&path),
        "the path of the whole conversation"
    );
    assert!(
        texts[2].contains("[x] begin ") && texts[2].contains("[ ] end "),
        "{texts:#?}"
    );
    assert!(
        texts[3].contains("Your team now:\n\nalice: working"),
        "{texts:#?}"
    );
    let shown: Vec<usize> = (0..FILES)
        .filter(|number| {
            let file = talk.server.file(*number).display().to_string();
            texts[4..].iter().any(|text| {
                let lines = text.matches(&format!("line of file {number}")).count();
                text.contains(&file)
                    && lines == FILE_BYTES / format!("line of file {number}\n").len()
            })
        })
        .collect();
    assert!(
        shown.len() >= 2,
        "recent files are there as a whole: {texts:#?}"
    );
    let heading = asked.messages.last().unwrap().message();
    for section in [
        "Request and intent",
        "Decisions",
        "Files and code",
        "Errors and fixes",
        "Open work",
    ] {
        assert!(super::valid::texts(&heading)[0].contains(section));
    }
}

#[tokio::test]
async fn a_reopened_conversation_sends_the_same_requests() {
    let talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    let mut turn = 0;
    while talk.boundaries() == 0 || turn < 3 {
        assert_finished(&take_turn(&mut session, turn).await);
        turn += 1;
    }
    let on_disk = talk.setup.on_disk();
    assert_finished(&take_turn(&mut session, turn).await);
    let uninterrupted = talk.server.requests().pop().unwrap();
    swarm_os::replace_alone(&talk.setup.path(), on_disk.as_bytes()).unwrap();
    let mut session = talk.open();
    assert!(!session.needs_turn());
    assert_finished(&take_turn(&mut session, turn).await);
    let reopened = talk.server.requests().pop().unwrap();
    let last = uninterrupted.messages.len() - 2;
    assert_eq!(uninterrupted.messages[..last], reopened.messages[..last]);
    let asked = talk.server.requests().len() - 2;
    assert_eq!(session.totals().requests, asked as u64);
}

#[tokio::test]
async fn the_boundary_has_the_shape_of_claude_code() {
    let talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    compact(&talk, &mut session).await;
    let on_disk = talk.setup.on_disk();
    let lines: Vec<Value> = on_disk
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let at = lines
        .iter()
        .position(|line| line["subtype"] == "compact_boundary")
        .unwrap();
    let (boundary, summary) = (&lines[at], &lines[at + 1]);
    assert_eq!(boundary["type"], "system");
    assert_eq!(boundary["content"], "Conversation compacted");
    assert_eq!(boundary["compactMetadata"]["trigger"], "auto");
    let before = boundary["compactMetadata"]["preTokens"].as_u64().unwrap();
    assert!((WINDOW * 8 / 10..WINDOW).contains(&before), "{before}");
    assert_eq!(boundary["parentUuid"], Value::Null);
    assert_eq!(boundary["logicalParentUuid"], lines[at - 1]["uuid"]);
    assert_eq!(summary["type"], "user");
    assert_eq!(summary["isCompactSummary"], true);
    assert_eq!(summary["parentUuid"], boundary["uuid"]);
    assert_eq!(lines[at + 2]["isCompactSummary"], Value::Null);
    assert!(at > 40, "earlier messages are still there");
}

#[tokio::test]
async fn a_process_killed_in_a_compaction_leaves_the_conversation_before_or_after_it() {
    let talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    let turn = compact(&talk, &mut session).await;
    drop(session);
    let whole = talk.setup.on_disk();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let first = lines
        .iter()
        .position(|line| line.contains("compact_boundary"))
        .unwrap();
    let mark: Value = serde_json::from_str(lines[first]).unwrap();
    let count = usize::try_from(mark["swarm"]["compaction"]["lines"].as_u64().unwrap()).unwrap();
    let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let ends: Vec<usize> = (first..=first + count + 1)
        .map(|at| length(&lines[..at]))
        .collect();
    // The last line also counts without its newline.
    let complete = ends.last().unwrap() - 1;
    let mut after_boundary = 0;
    for end in &ends {
        for cut in [end - 1, *end, end + 1, end + 100] {
            swarm_os::replace_alone(&talk.setup.path(), &whole.as_bytes()[..cut]).unwrap();
            let mut session = talk.open();
            assert!(session.needs_turn(), "the turn goes on after {cut}");
            assert!((0..turn).all(|turn| session.has_message(&MessageId::new(format!("m{turn}")))));
            let asked = talk.summaries();
            assert_finished(&session.run_turn(on()).await);
            let last = talk.server.requests().pop().unwrap();
            assert_valid(&said(&last));
            let first = said(&last).remove(0);
            let mut texts = texts(&first).into_iter();
            assert!(texts.any(|text| text.contains("This is summary ")));
            let compacts_again = talk.summaries() > asked;
            assert_eq!(compacts_again, cut < complete, "{cut} of {complete}");
            after_boundary += usize::from(!compacts_again);
        }
        if *end >= complete {
            break;
        }
    }
    assert!(after_boundary > 0);
}

#[tokio::test]
async fn summaries_are_not_emitted_as_messages() {
    let talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    compact(&talk, &mut session).await;
    let events = talk.setup.watcher.events();
    let is_summary = |event: &AgentEvent| matches!(event, AgentEvent::MessageDone { text } if text.contains("summary"));
    assert!(!events.iter().any(is_summary));
    let compacted = events.iter().find_map(|event| match event {
        AgentEvent::Compacted { before, after, .. } => Some((*before, *after)),
        _ => None,
    });
    let (before, after) = compacted.unwrap();
    assert!(
        before >= WINDOW * 8 / 10 && after < WINDOW / 2,
        "{before} {after}"
    );
}

#[tokio::test]
async fn hooks_extend_the_summary_request_and_receive_the_summary() {
    let mut talk = Talk::new(Some(WINDOW));
    let log = talk.server.directory.join("hooks.log");
    let tee = format!("cat >> {}", log.display());
    let hook = |command: &str| json!([{"matcher": "auto", "hooks": [{"type": "command", "command": command}]}]);
    let start = json!([{"matcher": "compact", "hooks": [{"type": "command", "command": "echo The build is green."}]}]);
    let pre = format!("{tee}; echo Mention the weather.");
    let hooks = json!({"PreCompact": hook(&pre), "PostCompact": hook(&tee), "SessionStart": start});
    talk.hooks = hooks_in(talk.setup.scratch.path(), &hooks);
    let mut session = talk.open();
    compact(&talk, &mut session).await;
    let requests = talk.server.requests();
    let at = requests.iter().position(asks_for_summary).unwrap();
    let question = requests[at].messages.last().unwrap().message();
    assert!(texts(&question)[0].contains("Additional instructions: Mention the weather."));
    let first = requests[at + 1].messages[0].message();
    assert!(
        texts(&first)
            .iter()
            .any(|text| text.contains("The build is green."))
    );
    let log = std::fs::read_to_string(log).unwrap();
    let inputs: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(inputs.len(), 2, "{log}");
    assert_eq!(inputs[0]["hook_event_name"], "PreCompact");
    assert_eq!(inputs[0]["trigger"], "auto");
    assert_eq!(inputs[1]["hook_event_name"], "PostCompact");
    let summary = inputs[1]["compact_summary"].as_str().unwrap();
    assert!(summary.starts_with("This is summary "), "{summary}");
}

#[tokio::test]
async fn manual_compaction_takes_instructions() {
    for window in [Some(WINDOW), None] {
        let talk = Talk::new(window);
        let mut session = talk.open();
        let nothing = session.compact_by_hand(None, on()).await.unwrap_err();
        assert!(
            nothing.to_string().contains("nothing to summarize"),
            "{nothing}"
        );
        for turn in 0..3 {
            assert_finished(&take_turn(&mut session, turn).await);
        }
        let before = session.totals();
        let wish = Some("Keep all <system-reminder> numbers.");
        session.compact_by_hand(wish, on()).await.unwrap();
        assert!(!session.needs_turn(), "no message needs a response");
        let asked = talk.server.requests().pop().unwrap();
        let question = asked.messages.last().unwrap().message();
        let text = texts(&question)[0];
        assert!(
            text.contains("Additional instructions: Keep all <\\system-reminder> numbers."),
            "{text}"
        );
        assert!(talk.setup.on_disk().contains("\"trigger\":\"manual\""));
        let spent = session.totals().since(before).usage;
        assert_eq!(spent.total(), tokens(&asked) + 20);
        let mut reopened = talk.open();
        assert!(!reopened.needs_turn());
        assert_finished(&take_turn(&mut reopened, 3).await);
        assert_valid(&said(&talk.server.requests().pop().unwrap()));
    }
}

#[tokio::test]
async fn a_fork_keeps_the_conversation_with_which_it_began() {
    let limits = AgentLimits {
        fork: true,
        ..AgentLimits::default()
    };
    let mut family = Family::of(Setup::new(builtin()), vec![definition("finder")], limits);
    let fork = (
        "Agent",
        json!({"description": "part", "prompt": "look", "run_in_background": true}),
    );
    family.plays(
        "bob",
        [
            calls([fork]),
            says("begun"),
            Line::TooLong,
            says("This is the summary."),
            says("gone on"),
        ],
    );
    family.plays("bob/fork", [Line::Gated("half".into()), says("whole")]);
    let long = format!("the secret of bob {}", "x".repeat(40_000));
    family.turn(&long).await;
    family.cast.at_gate(1).await;
    let outcome = family.turn("and now?").await;
    assert_eq!(outcome.text, "gone on");
    assert!(family.setup.on_disk().contains("compact_boundary"));
    family.cast.open();
    family.hear().await;
    family.send("fork-1", "more").await.unwrap().unwrap();
    family.hear().await;
    let asked = family.cast.asked_by("bob/fork");
    assert_eq!(asked.len(), 2);
    assert!(asked[1].messages.starts_with(&asked[0].messages));
    assert!(texts(&asked[1].messages[0])[0].contains("the secret of bob"));
    assert_eq!(
        (&asked[0].system, &asked[0].tools),
        (&asked[1].system, &asked[1].tools)
    );
}

#[tokio::test]
async fn a_sub_agent_compacts_its_own_conversation() {
    let mut family = Family::of(
        Setup::new(builtin()),
        vec![definition("finder")],
        AgentLimits::default(),
    );
    family.plays(
        "bob",
        [
            calls([agent("finder", &json!({"prompt": "y".repeat(40_000)}))]),
            says("done"),
        ],
    );
    let glob = ("Glob", json!({"pattern": "*.nothing"}));
    family.plays(
        "bob/finder",
        [
            calls([glob]),
            Line::TooLong,
            says("This is the summary."),
            says("found"),
        ],
    );
    family.turn("go").await;
    let (result, is_error) = family.results().remove(0);
    assert!(!is_error && result.contains("found"), "{result}");
    let asked = family.cast.asked_by("bob/finder");
    let first = &asked.last().unwrap().messages[0];
    assert!(
        texts(first)
            .iter()
            .any(|text| text.contains("This is the summary."))
    );
    assert_valid(&asked.last().unwrap().messages);
    assert!(family.file(".jsonl").contains("compact_boundary"));
}
