//! Skills: the rules they grant, and skills that a separate agent follows.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use swarm_agent::{Injected, Session};
use swarm_os::replace_alone;
use swarm_permissions::{AgentCatalog, AgentConfig, Behavior, PermissionOutcome, Rule, RuleSet};
use swarm_protocol::{PermissionMode, Skill};
use swarm_tools::{SkillTool, builtin};

use crate::family::{Family, calls, definition, says};
use crate::model::{call, say};
use crate::setup::{Setup, on, rights};
use crate::tools::{Log, echo, shell};

fn skill(directory: &Path, name: &str, text: &str) -> Skill {
    let directory = directory.join(name);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("SKILL.md");
    replace_alone(&path, format!("---\nname: {name}\n---\n{text}").as_bytes()).unwrap();
    Skill {
        name: name.into(),
        path,
        ..Skill::default()
    }
}

fn releasing(log: &Log, mode: PermissionMode) -> Setup {
    let mut setup = Setup::new(vec![shell(log.clone())]);
    let release = Skill {
        allowed_tools: vec!["Bash(make *)".into(), "Bash(git push:*)".into()],
        ..skill(setup.scratch.path(), "release", "Release it.")
    };
    setup.tools.push(Arc::new(SkillTool::new(&[release])));
    setup.rights = rights(mode);
    setup
}

#[tokio::test]
async fn rules_granted_by_a_skill_apply_until_the_turn_ends() {
    let log = Log::default();
    let setup = releasing(&log, PermissionMode::Default);
    let deny = || PermissionOutcome::deny("no");
    setup.gate.answers.lock().extend([deny(), deny(), deny()]);
    let bash = |command: &str| json!({"command": command});
    setup.model.play([
        call([("b", "Bash", bash("make before"))]),
        call([("s", "Skill", json!({"skill": "release"}))]),
        call([
            ("c", "Bash", bash("make it")),
            ("d", "Bash", bash("touch other")),
        ]),
        say("done"),
        call([("e", "Bash", bash("make again"))]),
        say("done"),
    ]);
    let mut session = setup.prompted();
    session.run_turn(on()).await;
    assert_eq!(*log.lock(), ["make it"]);
    session.deliver(vec![Injected::prompt("more")]).unwrap();
    session.run_turn(on()).await;
    assert_eq!(*log.lock(), ["make it"]);
    let asked = setup.gate.asked.lock();
    let asked: Vec<_> = asked
        .iter()
        .map(|ask| ask.input["command"].clone())
        .collect();
    assert_eq!(asked, ["make before", "touch other", "make again"]);
}

#[tokio::test]
async fn a_skill_cannot_override_rules_or_the_mode() {
    for (mode, command) in [
        (PermissionMode::Plan, "make it"),
        (PermissionMode::Default, "git push origin"),
    ] {
        let log = Log::default();
        let mut setup = releasing(&log, mode);
        let mut rules = RuleSet::default();
        let rule = Rule::parse("Bash(git push:*)").unwrap();
        rules.add(Behavior::Deny, rule, "settings.json");
        setup.rights = Arc::new(swarm_agent::Rights::new(mode, rules, mode));
        setup.model.play([
            call([("s", "Skill", json!({"skill": "release"}))]),
            call([("c", "Bash", json!({"command": command}))]),
            say("done"),
        ]);
        let outcome = setup.prompted().run_turn(on()).await;
        assert_eq!(outcome.text, "done");
        assert!(log.lock().is_empty(), "{mode}");
        assert!(setup.gate.asked.lock().is_empty(), "{mode}");
    }
}

#[tokio::test]
async fn a_skill_for_people_is_neither_offered_nor_loaded() {
    let mut setup = Setup::new(vec![echo()]);
    let directory = setup.scratch.path().to_owned();
    let mine = Skill {
        person_only: true,
        ..skill(&directory, "deploy", "Deploy it.")
    };
    let other = skill(
        &directory,
        "review",
        "In ${CLAUDE_SKILL_DIR}/list.md: $ARGUMENTS",
    );
    setup.tools.push(Arc::new(SkillTool::new(&[mine, other])));
    setup.model.play([
        call([
            ("a", "Skill", json!({"skill": "deploy"})),
            ("b", "Skill", json!({"skill": "review", "args": "all"})),
        ]),
        say("done"),
    ]);
    setup.prompted().run_turn(on()).await;
    let request = setup.model.last_request();
    let tool = request
        .tools
        .iter()
        .find(|tool| tool.name == "Skill")
        .unwrap();
    assert!(tool.description.contains("- review") && !tool.description.contains("deploy"));
    let told = format!("{:?}", request.messages);
    assert!(told.contains("Only users can start"), "{told}");
    let file = directory.join("review/list.md").display().to_string();
    assert!(told.contains(&format!("In {file}: all")), "{told}");
}

#[tokio::test]
async fn files_next_to_a_users_skill_can_be_read_without_approval() {
    let mut setup = Setup::new(builtin());
    let directory = setup.scratch.path().canonicalize().unwrap();
    let user = skill(&directory.join("root/skills"), "forms", "See fields.md.");
    let beside = user.path.with_file_name("fields.md");
    replace_alone(&beside, b"the fields").unwrap();
    setup.tools.push(Arc::new(SkillTool::new(&[user])));
    setup.rights = rights(PermissionMode::Default);
    let mut parts = setup.parts();
    parts.tool_context.cwd = directory.join("work");
    std::fs::create_dir_all(&parts.tool_context.cwd).unwrap();
    let mut session = Session::open(setup.transcript(), parts).unwrap();
    session.deliver(vec![Injected::prompt("go")]).unwrap();
    setup.model.play([
        call([
            ("s", "Skill", json!({"skill": "forms"})),
            ("r", "Read", json!({"file_path": beside})),
        ]),
        say("done"),
    ]);
    session.run_turn(on()).await;
    let told = format!("{:?}", setup.model.last_request().messages);
    assert!(told.contains("the fields"), "{told}");
    assert!(setup.gate.asked.lock().is_empty());
}

#[tokio::test]
async fn a_forking_skill_is_followed_by_an_agent_of_its_type() {
    let setup = Setup::new(builtin());
    let directory = setup.scratch.path().to_owned();
    let audit = Skill {
        fork: true,
        agent: Some("auditor".into()),
        ..skill(&directory, "audit", "Audit $ARGUMENTS.")
    };
    let agent_config = AgentConfig {
        agents: AgentCatalog::new(vec![definition("auditor")]),
        skills: vec![audit.clone()],
        ..AgentConfig::default()
    };
    let mut setup = setup;
    setup.tools.push(Arc::new(SkillTool::new(&[audit])));
    let mut family = Family::configured(setup, agent_config);
    let input = json!({"skill": "audit", "args": "the parser"});
    family.plays("bob", [calls([("Skill", input)]), says("done")]);
    family.plays("bob/auditor", [says("it is sound")]);
    family.turn("go").await;
    assert!(
        family.results()[0].0.starts_with("it is sound"),
        "{:?}",
        family.results()
    );
    let asked = family.cast.asked_by("bob/auditor").remove(0);
    let prompt = format!("{:?}", asked.messages[0].content);
    assert!(prompt.contains("Audit the parser."), "{prompt}");
}

#[tokio::test]
async fn rules_of_a_forking_skill_apply_only_to_its_agent() {
    let log = Log::default();
    let mut setup = Setup::new(vec![shell(log.clone())]);
    let release = Skill {
        fork: true,
        agent: Some("releaser".into()),
        allowed_tools: vec!["Bash(make *)".into()],
        ..skill(setup.scratch.path(), "release", "Release it.")
    };
    setup
        .tools
        .push(Arc::new(SkillTool::new(std::slice::from_ref(&release))));
    setup.rights = rights(PermissionMode::Default);
    let deny = PermissionOutcome::deny("no");
    setup.gate.answers.lock().push_back(deny);
    let agent_config = AgentConfig {
        agents: AgentCatalog::new(vec![definition("releaser")]),
        skills: vec![release],
        ..AgentConfig::default()
    };
    let mut family = Family::configured(setup, agent_config);
    let make = |what: &str| ("Bash", json!({"command": format!("make {what}")}));
    let script = [
        calls([("Skill", json!({"skill": "release"}))]),
        calls([make("mine")]),
        says("done"),
    ];
    family.plays("bob", script);
    let script = [calls([make("its")]), says("released")];
    family.plays("bob/releaser", script);
    family.turn("go").await;
    assert_eq!(*log.lock(), ["make its"], "{:?}", family.results());
    assert_eq!(family.setup.gate.asked.lock().len(), 1);
}

#[tokio::test]
async fn a_prompt_that_names_a_skill_is_replaced_with_its_text() {
    let log = Log::default();
    let setup = releasing(&log, PermissionMode::Default);
    let mut parts = setup.parts();
    let release = Skill {
        allowed_tools: vec!["Bash(make *)".into()],
        person_only: true,
        ..skill(setup.scratch.path(), "release", "Release $ARGUMENTS.")
    };
    parts.skills = Arc::new([release]);
    let mut session = Session::open(setup.transcript(), parts).unwrap();
    setup.model.play([
        call([("m", "Bash", json!({"command": "make it"}))]),
        say("done"),
        say("done"),
    ]);
    for typed in ["/release 1.2", "/unknown x"] {
        let prompts = vec![Injected::prompt(typed)];
        session.submit(Vec::new(), prompts, &on()).await.unwrap();
        session.run_turn(on()).await;
    }
    let told = format!("{:?}", setup.model.last_request().messages);
    assert!(
        told.contains("starts the skill `release`") && told.contains("Release 1.2."),
        "{told}"
    );
    assert!(
        !told.contains("/release 1.2") && told.contains("/unknown x"),
        "{told}"
    );
    assert_eq!(*log.lock(), ["make it"]);
}
