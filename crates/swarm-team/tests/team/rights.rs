//! Changes of permissions count only if a command has recorded and signed them.

use serde_json::json;
use swarm_permissions::Rule;
use swarm_protocol::PermissionMode::{AcceptEdits, BypassPermissions, Default, Plan};
use swarm_protocol::{
    AnsweredBy, Event, LEAD_NAME, ModeSetRequest, PermissionMode, TeamPermissionUpdate,
};
use swarm_team::{
    OrderedRules, allow_for_team, disallow_for_team, ordered_mode, ordered_rules, request_mode,
};

use crate::world::{World, name};

fn by() -> AnsweredBy {
    AnsweredBy::person(1, None)
}

fn sets(mode: PermissionMode) -> ModeSetRequest {
    ModeSetRequest {
        mode: mode.to_string(),
        from: LEAD_NAME.to_owned(),
    }
}

#[tokio::test]
async fn a_mode_is_the_last_one_that_a_command_signed_for_the_spawn() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context.spawn_id;
    world.join("eve");
    let files = world.files();
    let key = files.verify_key().await.unwrap();
    for (member, mode) in [("bob", AcceptEdits), ("bob", Plan), ("eve", Default)] {
        let ordered = request_mode(&*files, &name(member), mode, by()).await;
        ordered.unwrap();
    }
    let ordered = async |mode| {
        let ordered = ordered_mode(&*files, bob, &sets(mode), key.as_ref()).await;
        ordered.unwrap()
    };
    assert!(ordered(Plan).await.unwrap().signature.is_some());
    assert_eq!(ordered(AcceptEdits).await, None, "an earlier one");
    assert_eq!(ordered(Default).await, None, "that of another member");
    let unverified = ordered_mode(&*files, bob, &sets(Plan), None).await;
    assert_eq!(unverified.unwrap().unwrap().signature, None);

    let unsigned = Event::ModeSet {
        member: name("bob"),
        spawn_id: Some(bob),
        mode: BypassPermissions.to_string(),
        by: by(),
    };
    files.journal(unsigned).await.unwrap();
    assert_eq!(ordered(BypassPermissions).await, None);
}

fn update(kind: &str, behavior: &str, rules: &[&Rule]) -> TeamPermissionUpdate {
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| json!({"toolName": rule.tool(), "ruleContent": rule.content_text()}))
        .collect();
    TeamPermissionUpdate {
        permission_update: json!({
            "type": kind, "behavior": behavior, "destination": "session", "rules": rules
        }),
        directory_path: String::new(),
        tool_name: "Bash".to_owned(),
    }
}

#[tokio::test]
async fn the_rules_of_a_frame_count_if_a_command_has_signed_each_of_them() {
    let world = World::on_files();
    let files = world.files();
    let key = files.verify_key().await.unwrap();
    let [make, npm, rm] =
        ["make", "npm", "rm"].map(|program| Rule::parse(&format!("Bash({program}:*)")).unwrap());
    let ordered = async |kind, behavior, rules: &[&Rule]| {
        let frame = update(kind, behavior, rules);
        let ordered = ordered_rules(&*files, &frame, key.as_ref()).await;
        ordered.unwrap()
    };
    let adds = async |behavior, rules: &[&Rule]| {
        let ordered = ordered("addRules", behavior, rules).await;
        matches!(ordered, Some(OrderedRules::Granted(_)))
    };
    let removes = async |behavior, rules: &[&Rule]| {
        let ordered = ordered("removeRules", behavior, rules).await;
        matches!(ordered, Some(OrderedRules::Revoked(_)))
    };
    allow_for_team(&*files, &make, by()).await.unwrap();
    assert!(adds("allow", &[&make]).await);
    assert!(
        !adds("deny", &[&make]).await,
        "the journal has no deny rules"
    );
    assert!(!adds("allow", &[&make, &npm]).await, "one is not allowed");
    assert!(!removes("allow", &[&make]).await, "it is not revoked");

    allow_for_team(&*files, &npm, by()).await.unwrap();
    assert!(adds("allow", &[&make, &npm]).await);
    assert!(disallow_for_team(&*files, &make, by()).await.unwrap());
    assert!(!disallow_for_team(&*files, &make, by()).await.unwrap());
    assert!(!adds("allow", &[&make]).await);
    assert!(removes("allow", &[&make]).await);
    assert!(!removes("deny", &[&make]).await);
    assert!(
        !removes("allow", &[&make, &npm]).await,
        "one is not revoked"
    );

    let events = files.events().await.unwrap().entries.into_iter();
    let mut events = events.map(|entry| entry.event);
    let added = events.find(|event| matches!(event, Event::TeamRuleAdded { .. }));
    files.journal(added.unwrap()).await.unwrap();
    assert!(!adds("allow", &[&make]).await, "a copy of the event");

    for rule in [&rm, &make] {
        let rule = rule.to_string();
        let unsigned = Event::TeamRuleAdded { rule, by: by() };
        files.journal(unsigned).await.unwrap();
    }
    let rule = npm.to_string();
    let unsigned = Event::TeamRuleRemoved { rule, by: by() };
    files.journal(unsigned).await.unwrap();
    assert!(!adds("allow", &[&rm]).await);
    assert!(!adds("allow", &[&make]).await);
    assert!(!removes("allow", &[&npm]).await);
    let frame = update("addRules", "allow", &[&rm]);
    let unverified = ordered_rules(&*files, &frame, None).await.unwrap();
    assert!(unverified.is_some(), "a team without a key");
}
