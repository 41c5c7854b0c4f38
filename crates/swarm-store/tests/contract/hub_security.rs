//! Hubs with certificates, keys and limited users, as the page about hubs describes them.

use std::path::{Path, PathBuf};
use std::process::Command;

use swarm_hubkit::NatsServer;
use swarm_protocol::ErrorKind;
use swarm_store::{BlockOn as _, Draft, HubSettings, TeamStore};

use crate::hub::has_no_server;
use crate::hub_scene::{crew, join, machine};
use crate::values::{name, new_team};

/// A key pair of NATS's documentation.
const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
const KEY: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

/// The permissions of a user for one team.
const PERMISSIONS: &str = r#"permissions: {
    publish: ["swarm.crew.>", "$JS.API.INFO", "$JS.API.STREAM.*.swarm-crew", "$JS.API.STREAM.MSG.*.swarm-crew",
              "$JS.API.CONSUMER.*.swarm-crew", "$JS.API.CONSUMER.*.swarm-crew.>",
              "$JS.API.CONSUMER.MSG.NEXT.swarm-crew.*"],
    subscribe: ["swarm.crew.>"] }"#;

/// Creates a certificate for the loopback address and its key. Returns `false` without `openssl`.
#[expect(
    clippy::print_stderr,
    reason = "the developer must see that the test was skipped"
)]
fn make_certificate(directory: &Path) -> bool {
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=hub \
                 -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
                 -keyout hub-key.pem -out hub.pem";
    std::fs::create_dir_all(directory).unwrap();
    let mut openssl = Command::new("openssl");
    let made = openssl
        .args(words.split_whitespace())
        .current_dir(directory);
    let Ok(made) = made.output() else {
        eprintln!("NOT PROVEN HERE: openssl is not installed, so no encrypted hub was tried");
        return false;
    };
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
    true
}

fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    swarm_os::replace_alone(&path, text.as_bytes()).unwrap();
    path
}

/// Creates the team from one machine and reads its mail on another one.
fn two_machines_work(directory: &Path, hub: &HubSettings) {
    let here = machine(&directory.join("here"), hub.clone());
    here.create_team(new_team("crew")).block_on().unwrap();
    let there = machine(&directory.join("there"), hub.clone());
    there.join(&new_team("crew").name).block_on().unwrap();
    join(&*crew(&here), "alice");
    let sent = Draft::person("hello");
    crew(&here).send(&name("alice"), sent).block_on().unwrap();
    let mail = crew(&there).take_unread(&name("alice")).block_on().unwrap();
    assert_eq!(mail[0].text, "hello");
}

fn refused(directory: &Path, hub: &HubSettings) -> String {
    let store = machine(&directory.join("other"), hub.clone());
    let error = store.create_team(new_team("crew")).block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment, "{error}");
    error.to_string()
}

#[test]
fn an_encrypted_hub_is_reached_by_those_who_know_its_authority() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    if has_no_server() || !make_certificate(at) {
        return;
    }
    let config = format!(
        "tls {{ cert_file: \"{0}/hub.pem\", key_file: \"{0}/hub-key.pem\" }}\n\
         authorization {{ users: [ {{ user: crew, password: secret, {PERMISSIONS} }} ] }}\n",
        at.display()
    );
    let server = NatsServer::with_config(&at.join("server"), &config);
    let hub = HubSettings {
        url: format!("tls://127.0.0.1:{}", server.port()),
        credentials: Some(file(at, "credentials", "crew:secret\n")),
        ca: Some(at.join("hub.pem")),
    };
    two_machines_work(at, &hub);
    let without_ca = HubSettings {
        ca: None,
        ..hub.clone()
    };
    let why = refused(at, &without_ca);
    let unknown = "its certificate is not signed by an authority that this system trusts";
    assert!(why.ends_with(unknown), "{why}");
    // An authority implies encryption.
    let plain = NatsServer::start(&at.join("plain"), &[]);
    let unencrypted = HubSettings {
        url: plain.url(),
        credentials: None,
        ..hub.clone()
    };
    refused(at, &unencrypted);
    let wrong = HubSettings {
        credentials: Some(file(at, "wrong", "crew:guess\n")),
        ..hub
    };
    let why = refused(at, &wrong);
    assert!(why.contains("does not accept the credentials"), "{why}");
}

#[test]
fn an_nkey_seed_is_a_credential_for_one_team() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    if has_no_server() {
        return;
    }
    let config = format!("authorization {{ users: [ {{ nkey: {KEY}, {PERMISSIONS} }} ] }}\n");
    let server = NatsServer::with_config(&at.join("server"), &config);
    let hub = HubSettings {
        url: server.url(),
        credentials: Some(file(at, "seed", &format!("{SEED}\n"))),
        ca: None,
    };
    two_machines_work(at, &hub);
    let store = machine(&at.join("here"), hub.clone());
    let other = store.create_team(new_team("other")).block_on();
    assert!(other.is_err(), "the user is for another team");
    let none = HubSettings {
        credentials: None,
        ..hub
    };
    let why = refused(at, &none);
    assert!(why.contains("requires credentials"), "{why}");
}
