//! Worlds in which one backend confines agent programs.

use swarm_protocol::SandboxKind;
use swarm_tests::escapes::working_backends;
use swarm_tests::stage::{Finished, Running, World};

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

/// Runs a program, and adopts the processes that it leaves behind without ever reaping them.
const SLOW_INIT: [&str; 3] = [
    "python3",
    "-c",
    "import ctypes, signal, subprocess, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); \
     subprocess.call(sys.argv[1:]); signal.pause()",
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
    let env = env.iter().flat_map(|variable| ["--env", variable]);
    let arguments = spawn_bob(runtime).into_iter().chain(env);
    let arguments: Vec<&str> = arguments.chain(["--prompt", prompt]).collect();
    match backend {
        SandboxKind::Namespaces => world.swarm(&arguments),
        SandboxKind::Landlock => world
            .start_under(&WITHOUT_NAMESPACES, &arguments, &[])
            .wait(),
    }
}

/// Spawns the member `bob` with Claude Code, as a child of an init that reaps nothing while the
/// returned program runs, so that no namespace of the member closes. Returns once it is ready.
pub(super) fn spawn_under_slow_init(world: &World) -> Running {
    let arguments = [&spawn_bob("claude")[..], &["--prompt", "hello"]].concat();
    let init = world.start_under(&SLOW_INIT, &arguments, &[]);
    world.wait_until("bob is ready", || init.stdout().contains("is ready"));
    init
}

fn spawn_bob(runtime: &str) -> [&str; 6] {
    [
        "spawn",
        "bob",
        "--runtime",
        runtime,
        "--backend",
        "headless",
    ]
}
