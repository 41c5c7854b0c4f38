//! Both sides of the shutdown handshake.

use swarm_protocol::{BackendType, ControlFrame, IsoTime, PaneId, ShutdownRequest};
use swarm_store::BlockOn as _;
use swarm_team::{Incoming, PendingShutdown, ShutdownAsk, approve_shutdown, request_shutdown};

use crate::world::{World, name, now, request_id};

#[test]
fn an_approval_names_request_member_pane_and_backend() {
    let world = World::new();
    let bob = world.seat_of_new("bob");
    let ask = ShutdownAsk {
        reason: None,
        by: "person",
        spawn_id: None,
        force: false,
    };
    let id = request_shutdown(&*world.files(), &name("bob"), now(), ask)
        .block_on()
        .unwrap();
    let mail = world.mail("bob");
    let [
        Incoming {
            frame: Some(ControlFrame::ShutdownRequest(request)),
            ..
        },
    ] = &mail[..]
    else {
        panic!("{mail:?}");
    };
    let pane = Some(PaneId::new("%3"));
    approve_shutdown(
        &bob.context,
        &*world.files(),
        request,
        pane,
        &BackendType::Tmux,
    )
    .block_on()
    .unwrap();
    let mail = world.mail("team-lead");
    let [
        Incoming {
            frame: Some(ControlFrame::ShutdownApproved(frame)),
            ..
        },
    ] = &mail[..]
    else {
        panic!("{mail:?}");
    };
    assert_eq!((&frame.request_id, frame.from.as_str()), (&id, "bob"));
    assert_eq!(frame.pane_id, Some(PaneId::new("%3")));
    assert_eq!(frame.backend_type.as_deref(), Some("tmux"));
}

#[test]
fn a_request_does_not_wait_for_the_disk_on_the_callers_thread() {
    let world = World::on_files();
    world.seat_of_new("bob");
    let (team, bob) = (world.files(), name("bob"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let only_thread = tokio::task::spawn_blocking(move || released.recv().unwrap());
        let ask = ShutdownAsk {
            reason: None,
            by: "person",
            spawn_id: None,
            force: true,
        };
        let asking = request_shutdown(&*team, &bob, now(), ask);
        tokio::pin!(asking);
        tokio::select! {
            biased;
            _ = &mut asking => panic!("it was sent by the caller's thread"),
            () = std::future::ready(()) => {}
        }
        assert!(team.inbox(&bob).await.unwrap().entries.is_empty());
        release.send(()).unwrap();
        only_thread.await.unwrap();
        asking.await.unwrap();
    });
    assert_eq!(world.mail("bob").len(), 1);
}

#[test]
fn a_later_request_takes_the_place_of_an_earlier_one() {
    let shutdown = PendingShutdown::default();
    assert_eq!(shutdown.open(), None);
    let request = |id: &str| ShutdownRequest {
        request_id: request_id(id),
        from: "team-lead".to_owned(),
        reason: None,
        timestamp: IsoTime::new("now"),
        spawn_id: None,
        force: false,
    };
    shutdown.enter(request("r-1"));
    shutdown.enter(request("r-2"));
    assert_eq!(shutdown.open(), Some(request("r-2")));
    assert!(!shutdown.is_open(&request_id("r-1")));
    shutdown.mark_notified(&request_id("r-2"));
    assert!(shutdown.was_notified(&request_id("r-2")));
    assert!(!shutdown.was_notified(&request_id("r-1")));
    assert_eq!(shutdown.close(&request_id("r-1")), None);
    shutdown.close(&request_id("r-2"));
    assert!(shutdown.is_refused(&request_id("r-2")) && !shutdown.is_refused(&request_id("r-1")));

    // A message that could not be marked as read is delivered again.
    shutdown.enter(request("r-2"));
    assert_eq!(shutdown.open(), None);

    // Also if the refusal of the earlier one could not be sent.
    shutdown.enter(request("r-3"));
    let refused = shutdown.close(&request_id("r-3")).unwrap();
    shutdown.enter(request("r-4"));
    shutdown.reopen(refused);
    assert_eq!(shutdown.open(), Some(request("r-4")));
    assert!(!shutdown.is_refused(&request_id("r-3")));
}
