//! Damaged teams next to intact ones.

use std::fs::{self, File};
use std::net::TcpListener;

use swarm_tests::fake_api::{FakeApi, Script};
use swarm_tests::stage::World;

use crate::scene::{spawn_over, world, world_with_team};

/// A world with the team `one`, in which bob runs, and the empty team `two`.
fn world_with_two(api: &FakeApi) -> World {
    let world = world().with_api(api);
    world.swarm(&["team", "create", "two"]).ok();
    world.swarm(&["team", "create", "one"]).ok();
    spawn_over(&world, "bob");
    world
}

#[test]
fn a_damaged_team_is_never_skipped_silently() {
    let api = FakeApi::start(Script::new());
    let world = world_with_two(&api);
    let roster = world.team("two").directory().join("config.json");
    let own = world.team("two").directory().join("swarm");
    let aside = world.directory().join("aside");
    let told = |what: &str, why: &str| {
        for command in [&["status"][..], &["task", "list"], &["send", "bob", "hi"]] {
            let done = world.swarm(command);
            let said = done.ok().stderr.clone();
            let line = said.lines().find(|line| line.contains("`two` skipped"));
            assert!(
                line.is_some_and(|line| line.contains(why)),
                "{what}:\n{}",
                done.story()
            );
            assert!(!said.contains("team `one` skipped"), "{said}");
        }
        let quiet = world.swarm(&["status", "--json"]);
        assert_eq!(quiet.ok().stderr, "", "{what}");
    };
    let sound = fs::read(&roster).unwrap();
    fs::write(&roster, "{bad").unwrap();
    told("a roster that is no JSON", "config.json is damaged");
    fs::remove_file(&roster).unwrap();
    told("no roster", "the roster is missing");
    for (command, code) in [
        (&["team", "list"][..], 8),
        (&["status", "--team", "two"], 3),
    ] {
        let refused = world.swarm(command);
        refused.assert_code(code);
        refused.stderr_has("swarm team delete two --force");
    }
    let doctor = world.swarm(&["doctor"]).stdout;
    assert!(doctor.contains("the roster is missing"), "{doctor}");
    fs::write(&roster, sound).unwrap();
    // Whether members behind a symbolic link run is unknown.
    fs::rename(&own, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &own).unwrap();
    world
        .swarm(&["send", "bob", "hi"])
        .code(2)
        .stderr_has("two (damaged)");
    fs::remove_file(&own).unwrap();
    fs::rename(&aside, &own).unwrap();
    let done = world.swarm(&["send", "bob", "hi"]);
    assert!(
        !done.ok().stderr.contains("left out"),
        "it is sound again: {}",
        done.story()
    );
    world.swarm(&["kill", "bob@one"]).ok();
}

#[test]
fn where_a_damaged_team_may_have_living_members_none_is_chosen() {
    let api = FakeApi::start(Script::new());
    let world = world_with_two(&api);
    let two = world.team("two").directory();
    let member = two.join("swarm/members/eve");
    fs::create_dir_all(&member).unwrap();
    let life = File::create(member.join("life")).unwrap();
    life.lock().unwrap();
    let asks = |what: &str| {
        for command in [&["status"][..], &["send", "bob", "hi"]] {
            let asked = world.swarm(command);
            asked.assert_code(2);
            assert!(
                asked
                    .stderr
                    .contains("there are several teams: one, two (damaged)")
                    && asked.stderr.contains("swarm doctor"),
                "{what}: {}",
                asked.story()
            );
        }
    };
    fs::write(two.join("config.json"), "{bad").unwrap();
    asks("a roster that is no JSON");
    fs::remove_file(two.join("config.json")).unwrap();
    asks("no roster");
    life.unlock().unwrap();
    world.swarm(&["send", "bob", "hi"]).ok();
    world.swarm(&["kill", "bob@one"]).ok();
}

#[test]
fn a_damaged_team_is_reported_and_a_foreign_one_does_not_count() {
    let world = world_with_team("demo");
    // A directory of inboxes, as another program makes it.
    fs::create_dir_all(world.root().join("teams/theirs/inboxes")).unwrap();
    assert_eq!(world.swarm(&["status"]).ok().stderr, "");
    fs::remove_file(world.team("demo").directory().join("config.json")).unwrap();
    for command in [&["status"][..], &["send", "bob", "hi"]] {
        world
            .swarm(command)
            .code(8)
            .stderr_has("the roster is missing")
            .stderr_has("swarm team delete demo --force");
    }
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    world.swarm(&["status"]).assert_code(3);
}

#[test]
fn commands_on_a_team_do_not_connect_to_the_hub_of_another_one() {
    let world = world();
    // It accepts connections and says nothing.
    let hub = TcpListener::bind("127.0.0.1:0").unwrap();
    hub.set_nonblocking(true).unwrap();
    let url = format!("nats://{}", hub.local_addr().unwrap());
    let own = world.team("far").directory().join("swarm");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("hub.json"), format!(r#"{{"url": "{url}"}}"#)).unwrap();
    world.swarm(&["team", "create", "here"]).ok();
    world.commit_project();
    for command in [
        &["task", "create", "work", "--team", "here"][..],
        &["worktree", "list", "--team", "here"],
        &["task", "list", "--team", "here"],
        &["requests", "--team", "here"],
    ] {
        let done = world.swarm(command);
        done.ok();
        let asked = hub.accept();
        assert!(asked.is_err(), "{}", done.story());
    }
    world
        .swarm(&["approve", "p1", "--team", "here"])
        .assert_code(3);
    assert!(hub.accept().is_err(), "the caller is known without the hub");
}

#[test]
fn a_team_whose_hub_is_unreachable_is_left_out_of_listings_with_a_warning() {
    const HUB: &str = "nats://127.0.0.1:1";
    let world = world();
    world.swarm(&["team", "create", "here"]).ok();
    let own = world.team("far").directory().join("swarm");
    fs::create_dir_all(&own).unwrap();
    let file = own.join("hub.json");
    fs::write(&file, format!(r#"{{"url": "{HUB}"}}"#)).unwrap();
    let further = world.team("further").directory().join("swarm");
    fs::create_dir_all(&further).unwrap();
    fs::copy(&file, further.join("hub.json")).unwrap();
    for command in [
        &["team", "list"][..],
        &["status", "--all"],
        &["requests", "--all"],
        &["gc", "--dry-run"],
    ] {
        let done = world.swarm(command);
        done.ok()
            .stderr_has("left out: teams `far`, `further`: hub ");
        assert_eq!(done.stderr.matches(HUB).count(), 1, "{}", done.story());
    }
    for words in [&["peers"][..], &["peers", "--json"]] {
        let done = world.swarm(words);
        done.ok().stderr_has("left out: hub ");
        assert_eq!(done.stderr.matches(HUB).count(), 1, "{}", done.story());
    }
    let unnamed = world.swarm(&["task", "list"]);
    unnamed
        .code(2)
        .stderr_has("far (its hub cannot be used), further (its hub cannot be used), here");
    fs::remove_dir_all(world.team("further").directory()).unwrap();
    for command in [
        &["team", "list"][..],
        &["status", "--all"],
        &["requests", "--all"],
    ] {
        let done = world.swarm(command);
        let said = &done.ok().stderr;
        assert!(
            said.contains("far") && said.contains(HUB),
            "{}",
            done.story()
        );
    }
    let list = world.swarm(&["team", "list", "--json"]);
    assert_eq!(list.json()[0]["name"], "here");
    list.stderr_has(HUB);
    world.swarm(&["team", "show", "far"]).assert_code(7);

    fs::write(&file, r#"{"url""#).unwrap();
    world
        .swarm(&["team", "list"])
        .code(8)
        .stderr_has("far/swarm/hub.json is damaged");
    world.swarm(&["team", "delete", "far", "--force"]).ok();
    assert!(!world.team("far").directory().exists());
}

#[test]
fn doctor_checks_the_hub_of_the_settings_before_a_team_is_on_it() {
    let world = world();
    let doctor = |url: &str| {
        let variable = ("SWARM_HUB_URL".to_owned(), url.to_owned());
        world.start_with(&["doctor"], &[variable]).wait()
    };
    doctor("nats://127.0.0.1:1")
        .code(7)
        .stdout_has("hub: setting `hub.url`: hub nats://127.0.0.1:1 cannot be reached");
    doctor("nats://127.0.0.1:1/path")
        .code(7)
        .stdout_has("hub: `nats://127.0.0.1:1/path` is not the URL of a hub");
}
