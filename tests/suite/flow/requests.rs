//! What the models were asked, in the same work.

use serde_json::Value;
use swarm_tests::fake_api::{Ask, Recorded};

use super::places::AtWork;
use super::work::{MATES, PROMPT, TEAM};

fn done() -> (AtWork, Vec<Recorded>) {
    let work = AtWork::new();
    work.run("headless", &[], || {}).ok();
    let requests = work.api.requests();
    (work, requests)
}

fn of<'a>(requests: &'a [Recorded], agent: &str) -> Vec<&'a Ask> {
    let of_agent = requests
        .iter()
        .filter(|recorded| recorded.ask.agent == agent);
    of_agent.map(|recorded| &recorded.ask).collect()
}

/// A message without its cache markers, which move from request to request.
fn bare(message: &Value) -> Value {
    match message {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "cache_control");
            kept.map(|(name, value)| (name.clone(), bare(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}

#[test]
fn requests_are_those_that_the_api_documents() {
    let (_work, requests) = done();
    assert!(requests.len() >= 4, "{}", requests.len());
    for recorded in &requests {
        assert_eq!(recorded.path.split('?').next(), Some("/v1/messages"));
        assert_eq!(recorded.header("x-api-key"), Some("sk-test-not-a-key"));
        assert_eq!(recorded.header("anthropic-version"), Some("2023-06-01"));
        let body = &recorded.ask.body;
        assert_eq!(body["stream"], true);
        assert_eq!(body["model"], "claude-sonnet-4-6");
        assert_eq!(body["max_tokens"], 64_000, "the model's own limit");
        assert_eq!(recorded.ask.messages()[0]["role"], "user");
        assert!(body.to_string().contains("cache_control"), "{body}");
    }
}

#[test]
fn a_conversation_only_grows_so_that_its_prefix_stays_cached() {
    let (_work, requests) = done();
    for agent in ["team-lead"].into_iter().chain(MATES) {
        let asks = of(&requests, agent);
        assert!(asks.len() >= 2, "{agent}: {}", asks.len());
        for pair in asks.windows(2) {
            for part in ["tools", "system"] {
                let (before, after) = (bare(&pair[0].body[part]), bare(&pair[1].body[part]));
                assert_eq!(before, after, "{agent}: {part}");
            }
            let (before, after) = (pair[0].messages(), pair[1].messages());
            let (before, after): (Vec<_>, Vec<_>) = (
                before.iter().map(bare).collect(),
                after.iter().map(bare).collect(),
            );
            assert!(
                after.starts_with(&before),
                "{agent}: {before:#?}\n{after:#?}"
            );
        }
    }
}

#[test]
fn thoughts_come_back_with_their_signature() {
    let (_work, requests) = done();
    let lead = of(&requests, "team-lead");
    let thought = lead[1]
        .messages()
        .iter()
        .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    let thought = thought
        .into_iter()
        .find(|block| block["type"] == "thinking")
        .unwrap();
    assert_eq!(thought["signature"], "signed-by-the-test");
    assert_eq!(thought["thinking"], "A team of three will do.");
}

#[test]
fn each_agent_is_offered_its_tools_and_gets_its_prompt() {
    let (_work, requests) = done();
    let lead = of(&requests, "team-lead")[0];
    assert!(lead.news_has(PROMPT), "{}", lead.news());
    for tool in
        "TeamCreate TeamDelete Agent SendMessage TaskCreate TaskGet TaskList TaskUpdate Bash"
            .split(' ')
    {
        assert!(lead.tools().contains(&tool), "{tool}: {:?}", lead.tools());
    }
    for mate in MATES {
        let first = of(&requests, mate)[0];
        assert!(
            first.system().contains(&format!("{mate}@{TEAM}")),
            "{}",
            first.system()
        );
        assert!(first.has_seen(&format!("You are the {mate}.")));
        assert!(
            first.news_has("<teammate-message teammate_id=\"team-lead\""),
            "{}",
            first.news()
        );
        for tool in "Read Write Edit Glob Grep Bash SendMessage TaskUpdate".split(' ') {
            assert!(first.tools().contains(&tool), "{tool}: {:?}", first.tools());
        }
        for tool in ["TeamCreate", "TeamDelete"] {
            assert!(
                !first.tools().contains(&tool),
                "{tool}: {:?}",
                first.tools()
            );
        }
    }
}

#[test]
fn messages_and_reports_arrive_under_the_name_of_who_wrote_them() {
    let (_work, requests) = done();
    let heard = |agent: &str, from: &str, text: &str| {
        let asks = of(&requests, agent);
        let last = asks.last().unwrap();
        let sender = format!("<teammate-message teammate_id=\"{from}\"");
        assert!(
            last.has_seen(&sender) && last.has_seen(text),
            "{agent}: {:#?}",
            last.messages()
        );
    };
    heard("implementer", "explorer", "The fault is found");
    heard("tester", "implementer", "please check");
    heard("team-lead", "tester", "All green");
    heard("team-lead", "explorer", "I found it in greet.sh.");
}

#[test]
fn d6_empty_idle_notices_cost_the_lead_no_turn() {
    let (_work, requests) = done();
    for ask in of(&requests, "team-lead").iter().skip(1) {
        let news = ask.news();
        assert!(!news.trim().is_empty(), "{:#?}", ask.messages());
        assert!(
            !news.contains("idle_notification"),
            "a frame is for the program: {news}"
        );
    }
}
