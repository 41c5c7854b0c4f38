//! `swarm` runs a team of coding agents in tmux panes.

fn main() -> std::process::ExitCode {
    swarm::main_impl()
}
