//! Links the programs for a fixed address. Otherwise every start rewrites 1.5 MB of pointers, which
//! takes more time than the rest of `swarm --version` and as much memory in every process.
//! Distributions that require position-independent executables set `SWARM_PIE=1` for the build.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SWARM_PIE");
    let is_static = (target("FEATURE").split(',')).any(|feature| feature == "crt-static");
    let is_linux = target("OS") == "linux" && target("ENV") == "gnu";
    if is_linux && !is_static && variable("SWARM_PIE") != "1" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

fn target(fact: &str) -> String {
    variable(&format!("CARGO_CFG_TARGET_{fact}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "settings of a build are variables"
)]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
