//! Links the programs for a fixed address. Otherwise every start rewrites 1.5 MB of pointers, which
//! takes more time than the rest of `swarm --version` and as much memory in every process.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_static = (target("FEATURE").split(',')).any(|feature| feature == "crt-static");
    if target("OS") == "linux" && target("ENV") == "gnu" && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

#[expect(clippy::disallowed_methods, reason = "cargo describes the target so")]
fn target(fact: &str) -> String {
    env::var(format!("CARGO_CFG_TARGET_{fact}")).unwrap_or_default()
}
