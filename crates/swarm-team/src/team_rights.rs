//! Changes of members' permissions: modes, and rules for a whole team. They are sent by mail, but
//! swarm's members only apply changes that a command has recorded in the journal and signed.

use serde_json::json;
use swarm_permissions::{Behavior, Destination, Rule, RuleSet, RuleValue, Suggestion};
use swarm_protocol::{
    AnsweredBy, ControlFrame, Event, Grant, GrantSignature, LEAD_NAME, Member, MemberName,
    ModeSetRequest, PermissionMode, SpawnId, TeamPermissionUpdate,
};
use swarm_store::{Draft, StoreError, Team, VerifyKey};

/// Source of rules for a whole team.
const TEAM_RULE: &str = "swarm allow";

/// Tells a member to change its mode, up to its ceiling.
///
/// # Errors
/// Errors of the store; nothing is sent then.
pub async fn request_mode(
    team: &dyn Team,
    member: &MemberName,
    mode: PermissionMode,
    by: AnsweredBy,
) -> Result<(), StoreError> {
    let config = team.config().await?;
    let spawn_id = config.member(member).and_then(Member::spawn_id);
    let mode = mode.to_string();
    let by = team.signed(&Grant::mode(spawn_id, &mode), by).await?;
    team.journal(Event::ModeSet {
        member: member.clone(),
        spawn_id,
        mode: mode.clone(),
        by,
    })
    .await?;
    let frame = ControlFrame::ModeSetRequest(ModeSetRequest {
        mode,
        from: LEAD_NAME.to_owned(),
    });
    let draft = Draft::control(LEAD_NAME, &frame).urgent();
    team.send(member, draft).await.map(drop)
}

/// A change of a mode that a command has recorded in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedMode {
    /// The mode.
    pub mode: PermissionMode,
    /// The verified signature; `None` in a team without a key.
    pub signature: Option<GrantSignature>,
}

/// Returns the mode that a frame sets, if it is the last one recorded in the journal for this
/// spawn and signed with the private half of `key`.
///
/// # Errors
/// Errors of the store.
pub async fn ordered_mode(
    team: &dyn Team,
    spawn_id: SpawnId,
    frame: &ModeSetRequest,
    key: Option<&VerifyKey>,
) -> Result<Option<OrderedMode>, StoreError> {
    let events = team.events().await?.entries;
    let last = events.iter().rev().find_map(|entry| match &entry.event {
        Event::ModeSet {
            spawn_id: Some(spawn),
            mode,
            by,
            ..
        } if *spawn == spawn_id => Some((mode, by)),
        _ => None,
    });
    let Some((mode, by)) = last.filter(|(mode, _)| **mode == frame.mode) else {
        return Ok(None);
    };
    let grant = Grant::mode(Some(spawn_id), mode);
    if key.is_some_and(|key| !key.verifies(team.name(), &grant, by)) {
        return Ok(None);
    }
    Ok(mode.parse().ok().map(|mode| OrderedMode {
        mode,
        signature: key.and(by.signature.clone()),
    }))
}

/// Adds an allow rule for all current and future members of the team. A rule about a directory is
/// also added to the roster, where other programs read it.
///
/// # Errors
/// Errors of the store.
pub async fn allow_for_team(
    team: &dyn Team,
    rule: &Rule,
    by: AnsweredBy,
) -> Result<(), StoreError> {
    let config = team.config().await?;
    let text = rule.to_string();
    let by = team.signed(&Grant::team_rule(&text), by).await?;
    team.journal(Event::TeamRuleAdded { rule: text, by })
        .await?;
    let content = rule.content_text();
    let path = content.and_then(|content| content.strip_suffix("/**")?.strip_prefix("//"));
    let path = path.map(|path| format!("/{path}"));
    if let Some(path) = &path {
        team.add_allowed_path(path, rule.tool()).await?;
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
    // A failure for one member does not affect the others.
    let sent = team.post_all(&letters).await?.into_iter();
    sent.map(|sent| sent.map(drop)).fold(Ok(()), Result::and)
}

/// Returns the grant of a frame, if its rules are recorded in the journal and signed with the
/// private half of `key`.
///
/// # Errors
/// Errors of the store.
pub async fn ordered_rules(
    team: &dyn Team,
    frame: &TeamPermissionUpdate,
    key: Option<&VerifyKey>,
) -> Result<Option<Suggestion>, StoreError> {
    let Ok(Suggestion::AddRules {
        rules,
        behavior: Behavior::Allow,
        destination,
    }) = serde_json::from_value(frame.permission_update.clone())
    else {
        return Ok(None);
    };
    let known = team_rules(team, key).await?;
    let is_known = |value: &RuleValue| {
        value
            .rule()
            .is_ok_and(|rule| known.allow.iter().any(|known| known.rule == rule))
    };
    Ok(rules.iter().all(is_known).then_some(Suggestion::AddRules {
        rules,
        behavior: Behavior::Allow,
        destination,
    }))
}

/// Returns the team's rules, for a member that joins. With `key`, rules that are not signed with its
/// private half are ignored, as are invalid ones.
///
/// # Errors
/// Errors of the store.
pub async fn team_rules(team: &dyn Team, key: Option<&VerifyKey>) -> Result<RuleSet, StoreError> {
    let events = team.events().await?.entries.into_iter();
    let mut rules = RuleSet::default();
    for entry in events {
        let Event::TeamRuleAdded { rule, by } = entry.event else {
            continue;
        };
        let grant = Grant::team_rule(&rule);
        if key.is_some_and(|key| !key.verifies(team.name(), &grant, &by)) {
            tracing::warn!(team = %team.name(), rule, "ignored a team rule without a valid signature");
            continue;
        }
        match Rule::parse(&rule) {
            Ok(rule) => rules.add(Behavior::Allow, rule, TEAM_RULE),
            Err(error) => tracing::warn!(team = %team.name(), %error, "ignored a team rule"),
        }
    }
    Ok(rules)
}
