//! `swarm-teammate`: the child program of one member. Started by `swarm`, never by hand.

fn main() -> std::process::ExitCode {
    swarm::teammate_main_impl()
}
