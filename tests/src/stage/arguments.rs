//! Command lines that many tests share.

/// A model whose answers come from the fake server.
pub const MODEL: &str = "anthropic/claude-sonnet-4-6";

/// The arguments of `swarm spawn` with [`MODEL`], a backend and further arguments.
pub fn spawn_args<'a>(name: &'a str, backend: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["spawn", name, "--model", MODEL, "--backend", backend];
    [&fixed, more].concat()
}

/// The arguments of a headless `swarm run` with [`MODEL`] and further arguments.
pub fn run_args<'a>(prompt: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["run", prompt, "--model", MODEL, "--backend", "headless"];
    [&fixed, more].concat()
}
