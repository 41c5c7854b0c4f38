//! Changes of members' rights: their modes, and rules for a whole team. They go out by mail, and
//! what swarm's own members obey is what a command has entered in the journal, as with answers to
//! requests.

use serde_json::json;
use swarm_permissions::{Behavior, Destination, Rule, RuleValue, Suggestion};
use swarm_protocol::{
    AnsweredBy, ControlFrame, Event, LEAD_NAME, Member, MemberName, ModeSetRequest, PermissionMode,
    RuleText, SpawnId, TeamPermissionUpdate,
};
use swarm_store::blocking::Team;
use swarm_store::{Draft, StoreError};

/// Where rules for a whole team say that they come from.
const TEAM_RULE: &str = "swarm allow --team";

/// Tells a member to change its mode. It obeys up to its ceiling.
///
/// # Errors
/// Whatever the store says; nothing is sent then.
pub fn request_mode(
    team: &dyn Team,
    member: &MemberName,
    mode: PermissionMode,
    by: AnsweredBy,
) -> Result<(), StoreError> {
    let config = team.config()?;
    let spawn_id = config.member(member).and_then(Member::spawn_id);
    team.journal(Event::ModeSet {
        member: member.clone(),
        spawn_id,
        mode: mode.to_string(),
        by,
    })?;
    let frame = ControlFrame::ModeSetRequest(ModeSetRequest {
        mode: mode.to_string(),
        from: LEAD_NAME.to_owned(),
    });
    let draft = Draft::control(LEAD_NAME, &frame).urgent();
    team.send(member, draft).map(drop)
}

/// The mode that a frame sets, if the journal has it as the last one for this spawn of the member.
///
/// # Errors
/// Whatever the store says.
pub fn ordered_mode(
    team: &dyn Team,
    spawn_id: SpawnId,
    frame: &ModeSetRequest,
) -> Result<Option<PermissionMode>, StoreError> {
    let events = team.events()?.entries;
    let last = events.iter().rev().find_map(|entry| match &entry.event {
        Event::ModeSet {
            spawn_id: Some(spawn),
            mode,
            ..
        } if *spawn == spawn_id => Some(mode),
        _ => None,
    });
    Ok(last
        .filter(|mode| **mode == frame.mode)
        .and_then(|mode| mode.parse().ok()))
}

/// Gives a rule that allows calls to everybody in the team, now and later. A rule about a directory
/// is entered in the roster, too, where other programs look for it.
///
/// # Errors
/// Whatever the store says.
pub fn allow_for_team(team: &dyn Team, rule: &Rule, by: AnsweredBy) -> Result<(), StoreError> {
    let config = team.config()?;
    team.journal(Event::TeamRuleAdded {
        rule: rule.to_string(),
        by,
    })?;
    let content = rule.content_text();
    let path = content.and_then(|content| content.strip_suffix("/**")?.strip_prefix("//"));
    let path = path.map(|path| format!("/{path}"));
    if let Some(path) = &path {
        team.add_allowed_path(path, rule.tool())?;
    }
    let update = Suggestion::AddRules {
        rules: vec![RuleValue {
            tool_name: rule.tool().to_owned(),
            rule_content: content.map(str::to_owned),
        }],
        behavior: Behavior::Allow,
        destination: Destination::Session,
    };
    let frame = ControlFrame::TeamPermissionUpdate(TeamPermissionUpdate {
        permission_update: json!(update),
        directory_path: path.unwrap_or_default(),
        tool_name: rule.tool().to_owned(),
    });
    let is_led = config.lead_process.is_some();
    let members = config.members.iter().map(|member| &member.name);
    let letters: Vec<(MemberName, Draft)> = members
        .filter(|name| is_led || !name.is_lead())
        .map(|name| {
            let draft = Draft::control(LEAD_NAME, &frame).urgent();
            (name.clone(), draft)
        })
        .collect();
    // One that cannot be told keeps no other from it.
    let sent = team.post_all(&letters)?.into_iter();
    sent.map(|sent| sent.map(drop)).fold(Ok(()), Result::and)
}

/// The grant that a frame carries, if the journal has its rule.
///
/// # Errors
/// Whatever the store says.
pub fn ordered_rules(
    team: &dyn Team,
    frame: &TeamPermissionUpdate,
) -> Result<Option<Suggestion>, StoreError> {
    let Ok(Suggestion::AddRules {
        rules,
        behavior: Behavior::Allow,
        destination,
    }) = serde_json::from_value(frame.permission_update.clone())
    else {
        return Ok(None);
    };
    let known = team_rules(team)?;
    let is_known = |value: &RuleValue| {
        let text = value.rule().map(|rule| rule.to_string());
        text.is_ok_and(|text| known.iter().any(|known| known.rule == text))
    };
    Ok(rules.iter().all(is_known).then_some(Suggestion::AddRules {
        rules,
        behavior: Behavior::Allow,
        destination,
    }))
}

/// The rules that everybody in the team has, for a member that joins.
///
/// # Errors
/// Whatever the store says.
pub fn team_rules(team: &dyn Team) -> Result<Vec<RuleText>, StoreError> {
    let events = team.events()?.entries.into_iter();
    let mut rules: Vec<RuleText> = Vec::new();
    for entry in events {
        let Event::TeamRuleAdded { rule, .. } = entry.event else {
            continue;
        };
        if !rules.iter().any(|known| known.rule == rule) {
            rules.push(RuleText {
                rule,
                origin: TEAM_RULE.to_owned(),
            });
        }
    }
    Ok(rules)
}
