//! A hub whose disk is full.

use swarm_hubkit::{NatsServer, SmallDisk, has_server};

use crate::scene::{column, not_proven, wait_for_no_process, world};

#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_disk_of_the_hub_is_full() {
    if !has_server() {
        return not_proven("nats-server is not installed");
    }
    let world = world();
    let directory = world.directory().join("nats");
    let Some(disk) = SmallDisk::mount(&directory.join("disk"), "8m") else {
        return not_proven("no disk can be mounted");
    };
    let mut server = NatsServer::on_disk(&disk, &directory);
    let silent = format!("hub {} does not answer in time", server.url());
    let create = ["team", "create", "demo", "--hub", &server.url()];
    world.swarm(&create).ok();
    world.swarm(&["task", "create", "before"]).ok();
    let subjects = || {
        let tasks = world.swarm(&["task", "list", "--json"]);
        column(&tasks.json(), "subject")
    };

    disk.fill();
    let long = "x".repeat(60_000);
    let words = [
        "task",
        "create",
        "under way",
        "--description",
        &long,
        "--json",
    ];
    let mut under_way = world.start(&words);
    // From its first failed write on, nats-server 2.9 answers nobody.
    let unanswered = world.wait_for("a command fails", || {
        let listed = world.swarm(&["task", "list", "--json"]);
        let has_failed = listed.code != Some(0);
        (has_failed || under_way.has_ended()).then(|| has_failed.then_some(listed))
    });
    if let Some(unanswered) = unanswered {
        let told = unanswered.error(6)["message"].to_string();
        assert!(told.contains(&silent), "{told}");
    }
    disk.make_room();
    server.restart();
    // A write that may have been made is repeated for a minute longer, and never made twice.
    let under_way = under_way.wait();
    let made = if under_way.code == Some(0) {
        ["before", "under way"].as_slice()
    } else {
        let told = under_way.error(7)["message"].to_string();
        assert!(told.contains("its storage is full"), "{told}");
        ["before"].as_slice()
    };
    assert_eq!(subjects(), made, "{}", under_way.story());
    world.swarm(&["task", "create", "after"]).ok();
    assert_eq!(subjects().last().unwrap(), "after");
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    wait_for_no_process(&world);
}
