//! How long the sequence of a key may pause before an Esc counts as the key Esc.

use std::time::Duration;

use swarm_config::Environment;

/// As in vim's `defaults.vim`.
const LOCAL: Duration = Duration::from_millis(100);

/// Over a network, which may deliver a sequence in pieces: the time of readline.
const REMOTE: Duration = Duration::from_millis(500);

/// Returns the time for this terminal. tmux reads the sequences of the outer terminal itself and
/// passes them on whole.
pub(crate) fn escape_time(env: &Environment) -> Duration {
    if env.get("SSH_CONNECTION").is_some() && env.get("TMUX").is_none() {
        REMOTE
    } else {
        LOCAL
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn keys_may_take_longer_over_ssh_unless_tmux_reads_them() {
        let time = |variables: &[(&str, &str)]| {
            escape_time(&Environment::new(variables.iter().copied(), Path::new("/")))
        };
        let ssh = ("SSH_CONNECTION", "10.0.0.1 50000 10.0.0.2 22");
        assert_eq!(time(&[]), LOCAL);
        assert_eq!(time(&[ssh]), REMOTE);
        assert_eq!(time(&[ssh, ("TMUX", "/tmp/tmux,1,0")]), LOCAL);
    }
}
