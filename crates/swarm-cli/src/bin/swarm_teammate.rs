//! `swarm-teammate` is the process of one member. `swarm` starts it.

fn main() -> std::process::ExitCode {
    swarm::teammate_main_impl()
}
