//! Reserving, committing and aborting spawns.

use std::path::PathBuf;

use swarm_protocol::{
    BackendType, Event, Hello, MemberState, PaneId, PermissionMode, SessionId, SpawnId, SpawnTerms,
};
use swarm_store::{BlockOn as _, Draft, StoreError};

use crate::values::{name, new_member};
use crate::world::World;

pub(crate) fn a_committed_spawn_is_a_full_member(world: &World) {
    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    new.entry.mode = Some(PermissionMode::AcceptEdits.to_string());
    let spawn = new.spawn_id;
    let reserved = world.handle().reserve(new).block_on().unwrap();
    assert_eq!(reserved.color.as_deref(), Some("blue"));
    assert!(reserved.tmux_pane_id.is_none());
    assert_eq!(
        world.handle().member_view().block_on().unwrap()[1].state,
        MemberState::Starting
    );
    assert_eq!(world.unread("alice")[0].text, "begin");

    let hello = hello(spawn);
    world
        .handle()
        .write_hello(&name("alice"), &hello)
        .block_on()
        .unwrap();
    let socket = Some(PathBuf::from("/tmp/socket"));
    let member = world
        .handle()
        .commit_spawn(&spawn, PaneId::new("%7"), BackendType::Tmux, socket.clone())
        .block_on()
        .unwrap();
    assert_eq!(member.tmux_pane_id, PaneId::new("%7"));
    assert_eq!(member.session(), Some(hello.session_id));
    assert_eq!(member.prompt.as_deref(), Some("begin"));
    let mark = member.swarm.unwrap();
    assert_eq!((mark.reservation, mark.socket), (None, socket));
    assert!(world.events().contains(&Event::SpawnCommitted {
        member: name("alice"),
        spawn_id: spawn,
        pid: 4711,
        terms: Box::new(SpawnTerms {
            agent_type: member.agent_type.clone(),
            model: Some(hello.model.clone()),
            mode: Some(hello.mode.to_string()),
            cwd: Some(hello.cwd.clone()),
            worktree: None,
            backend: Some(BackendType::Tmux),
            pane: Some(PaneId::new("%7")),
        }),
    }));

    let before = world.content();
    world.commit(spawn);
    assert_eq!(world.content(), before, "a second commit changes nothing");
    assert!(
        !world
            .handle()
            .abort_spawn(&spawn, "late")
            .block_on()
            .unwrap()
    );
    assert_eq!(world.content(), before, "a committed spawn is not aborted");
}

pub(crate) fn a_held_name_says_by_whom_and_after_the_spawners_death_for_how_long(world: &World) {
    let mut held = new_member("bob");
    let refused = || {
        let refused = world.handle().reserve(new_member("bob")).block_on();
        refused.unwrap_err().to_string()
    };
    world.handle().reserve(held.clone()).block_on().unwrap();
    let pid = held.reservation.spawner_pid;
    let message = refused();
    assert!(
        message.contains(&format!("process {pid} is spawning")),
        "{message}"
    );
    world
        .handle()
        .abort_spawn(&held.spawn_id, "for the next")
        .block_on()
        .unwrap();
    // No process with this PID started at that time.
    held.reservation.spawner_start = "0".to_owned();
    world.handle().reserve(held.clone()).block_on().unwrap();
    let message = refused();
    assert!(message.contains("exited while spawning"), "{message}");
    assert!(message.contains("s at the latest"), "{message}");
}

pub(crate) fn an_aborted_spawn_leaves_roster_and_inbox_as_before(world: &World) {
    world.join("bob");
    let before = shared_files(world);
    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    let spawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    assert_ne!(shared_files(world), before);
    assert!(
        world
            .handle()
            .abort_spawn(&spawn, "no hello")
            .block_on()
            .unwrap()
    );
    assert_eq!(shared_files(world), before);
    assert!(matches!(
        world.events().last(),
        Some(Event::SpawnAborted { reason, .. }) if reason == "no hello"
    ));
    assert!(
        !world
            .handle()
            .abort_spawn(&spawn, "again")
            .block_on()
            .unwrap()
    );
    let error = world
        .handle()
        .commit_spawn(&spawn, PaneId::new("%1"), BackendType::Tmux, None)
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::SpawnGone { .. }));
}

pub(crate) fn an_aborted_respawn_brings_the_dead_member_and_its_mail_back(world: &World) {
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    let send = |text| {
        let draft = Draft::new("bob", text);
        world
            .handle()
            .send(&name("alice"), draft)
            .block_on()
            .unwrap();
    };
    send("waits");
    world.handle().reconcile().block_on().unwrap();
    let before = shared_files(world);
    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin again"));
    let respawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    assert_eq!(world.unread("alice").len(), 2);
    world
        .handle()
        .abort_spawn(&respawn, "no hello")
        .block_on()
        .unwrap();
    assert_eq!(shared_files(world), before);

    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin again"));
    let respawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    send("came meanwhile");
    world
        .handle()
        .abort_spawn(&respawn, "no hello")
        .block_on()
        .unwrap();
    let texts = world.texts("alice");
    assert_eq!(texts, ["waits", "came meanwhile"], "mail of others is kept");
}

pub(crate) fn hello(spawn_id: SpawnId) -> Hello {
    Hello {
        definition: None,
        spawn_id,
        pid: 4711,
        proc_start: "1".to_owned(),
        pane: None,
        cwd: PathBuf::from("/work"),
        worktree: None,
        model: "m".to_owned(),
        mode: PermissionMode::Default,
        tools: Vec::new(),
        session_id: SessionId::random(),
        version: "0".to_owned(),
    }
}

/// What a failed spawn must not change: the roster and all inboxes.
fn shared_files(world: &World) -> String {
    let team = world.handle();
    let config = team.config().block_on().unwrap();
    let names = ["team-lead", "alice", "bob"];
    let inboxes = names.map(|member| {
        let inbox = team.inbox(&name(member)).block_on();
        inbox.ok().map(|inbox| inbox.entries)
    });
    format!("{config:?} {inboxes:?}")
}

pub(crate) fn a_prompt_for_a_full_inbox_undoes_the_reservation(world: &World) {
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    world.handle().reconcile().block_on().unwrap();
    world.send("alice", "waits");
    let before = shared_files(world);
    let full = world.limit(swarm_store::StoreLimits {
        max_unread: 1,
        ..swarm_store::StoreLimits::default()
    });
    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    let error = full.reserve(new).block_on().unwrap_err();
    assert!(matches!(error, StoreError::InboxFull { .. }), "{error}");
    assert_eq!(shared_files(world), before);
}

/// In either order, there is a member with its prompt, or neither.
pub(crate) fn of_commit_and_abort_one_wins(world: &World) {
    for round in 0..4 {
        let member = format!("mate{round}");
        let mut new = new_member(&member);
        new.prompt = Some(Draft::new("team-lead", "begin"));
        let spawn = new.spawn_id;
        world.handle().reserve(new).block_on().unwrap();
        let (committed, aborted) = std::thread::scope(|scope| {
            let commit = scope.spawn(|| {
                let team = world.handle();
                let pane = PaneId::new("%1");
                let committed = team.commit_spawn(&spawn, pane, BackendType::Tmux, None);
                committed.block_on().is_ok()
            });
            let abort = world
                .handle()
                .abort_spawn(&spawn, "late")
                .block_on()
                .unwrap();
            (commit.join().unwrap(), abort)
        });
        assert_ne!(committed, aborted);
        let config = world.handle().config().block_on().unwrap();
        assert_eq!(config.member(&name(&member)).is_some(), committed);
        let inbox = world.handle().inbox(&name(&member)).block_on();
        assert_eq!(inbox.is_ok_and(|inbox| inbox.entries.len() == 1), committed);
    }
}
