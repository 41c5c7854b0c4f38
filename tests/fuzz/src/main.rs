//! Runs libFuzzer on a check of the test suite. `SWARM_FUZZ_TARGET` names the check (`list` prints
//! all names), and `SWARM_FUZZ_SEEDS` the directory to which valid seed data is written.

#![no_main]

#[path = "../../src/faults/foreign/checks.rs"]
mod checks;
#[path = "../../src/faults/foreign/seeds.rs"]
mod seeds;

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

static CHECK: OnceLock<fn(&[u8])> = OnceLock::new();

fn initialize() {
    let requested = std::env::var("SWARM_FUZZ_TARGET").unwrap_or_default();
    let Some((name, check)) = checks::TARGETS.into_iter().find(|(name, _)| *name == requested) else {
        let names = checks::TARGETS.map(|(name, _)| name);
        println!("{}", names.join(" "));
        std::process::exit(i32::from(requested != "list"));
    };
    CHECK.get_or_init(|| check);
    if let Some(directory) = std::env::var_os("SWARM_FUZZ_SEEDS") {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (number, seed) in seeds::seeds(name, &repository).iter().enumerate() {
            let path = Path::new(&directory).join(format!("seed-{number}"));
            std::fs::write(path, seed).expect("a directory for seeds");
        }
    }
}

fuzz_target!(init: initialize(), |data: &[u8]| {
    if let Some(check) = CHECK.get() {
        check(data);
    }
});
