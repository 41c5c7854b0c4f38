//! Worlds in which one backend confines agent programs.

use swarm_protocol::SandboxKind;
use swarm_tests::escapes::working_backends;
use swarm_tests::stage::{Finished, World};

use crate::interop::programs::install;
use crate::scene::world;

/// Runs a program without privileges where no further namespaces can be created.
const WITHOUT_NAMESPACES: [&str; 5] = [
    "unshare",
    "-Ur",
    "sh",
    "-c",
    "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$0\" \"$@\"",
];

/// A world with the team `demo` and an agent program on its path; `None` where the backend does not
/// work, or cannot be the only one.
#[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
pub(super) fn world_with(backend: SandboxKind, program: &str, script: &str) -> Option<World> {
    let world = world();
    let mut is_there = working_backends(&world.program("swarm-teammate")).contains(&backend);
    if is_there && backend == SandboxKind::Landlock {
        let [wrapper, words @ ..] = WITHOUT_NAMESPACES;
        let tried = world.command(wrapper).args(words).arg("true").status();
        is_there = tried.is_ok_and(|status| status.success());
    }
    if !is_there {
        eprintln!(
            "NOT PROVEN HERE: no agent program was confined by {}",
            backend.name()
        );
        return None;
    }
    install(&world, program, script);
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{path}", world.project().display());
    let world = world.with_variable("PATH", &path);
    world.swarm(&["team", "create", "demo"]).ok();
    Some(world)
}

/// Spawns the member `bob` with an agent program.
pub(super) fn spawn(
    world: &World,
    backend: SandboxKind,
    runtime: &str,
    env: &[String],
    prompt: &str,
) -> Finished {
    let spawn = [
        "spawn",
        "bob",
        "--runtime",
        runtime,
        "--backend",
        "headless",
    ];
    let env = env.iter().flat_map(|variable| ["--env", variable]);
    let arguments = spawn.into_iter().chain(env).chain(["--prompt", prompt]);
    let arguments: Vec<&str> = arguments.collect();
    match backend {
        SandboxKind::Namespaces => world.swarm(&arguments),
        SandboxKind::Landlock => world
            .start_under(&WITHOUT_NAMESPACES, &arguments, &[])
            .wait(),
    }
}
