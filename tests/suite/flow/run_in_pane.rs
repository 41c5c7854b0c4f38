//! A lead in a pane whose keys a person presses.

use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::{InsideTmux, World};

use crate::scene::{MODEL, world_with};

pub(super) fn type_in(inside: &InsideTmux, pane: &str, text: &str) {
    inside.tmux().run(&["send-keys", "-t", pane, "-l", text]);
}

pub(super) fn press(inside: &InsideTmux, pane: &str, key: &str) {
    inside.tmux().run(&["send-keys", "-t", pane, key]);
}

/// A lead in its own shell.
pub(super) struct RunInPane {
    pub(super) inside: InsideTmux,
    pub(super) pane: String,
    pub(super) api: FakeApi,
    pub(super) world: World,
}

impl RunInPane {
    /// Starts `swarm run`; `behind` follows on the command line.
    pub(super) fn start(
        shell: &str,
        behind: &str,
        model: impl Fn(&Ask) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let run = Self::shell(shell, model);
        run.swarm(&format!("run go --mode bypassPermissions {behind}"));
        run.api
            .wait_for("the lead's request", "team-lead", |_| true);
        run
    }

    /// A shell in which leads can be started.
    pub(super) fn shell(
        shell: &str,
        model: impl Fn(&Ask) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let (api, world) = world_with(model);
        let inside = InsideTmux::start(&world, 100, 30);
        let pane = inside
            .tmux()
            .run(&["new-window", "-P", "-F", "#{pane_id}", shell]);
        let line = format!(
            "cd '{}'; export ANTHROPIC_API_KEY=key ANTHROPIC_BASE_URL={}",
            world.project().display(),
            api.base_url(),
        );
        let run = Self {
            inside,
            pane,
            api,
            world,
        };
        run.line(&line);
        run
    }

    /// Starts swarm with these arguments.
    pub(super) fn swarm(&self, arguments: &str) {
        let swarm = self.world.program("swarm");
        let (command, rest) = arguments.split_once(' ').unwrap_or((arguments, ""));
        self.line(&format!(
            "'{}' {command} --model {MODEL} {rest}",
            swarm.display()
        ));
    }

    pub(super) fn keys(&self, text: &str) {
        type_in(&self.inside, &self.pane, text);
    }

    pub(super) fn press(&self, key: &str) {
        press(&self.inside, &self.pane, key);
    }

    pub(super) fn line(&self, text: &str) {
        self.keys(text);
        self.press("Enter");
    }

    pub(super) fn shows(&self, text: &str) {
        self.inside.tmux().wait_for_text(&self.pane, text);
    }

    /// Asks a lead in mode `default` for its rules until it has started and knows them.
    pub(super) fn rules_are_shown(&self) {
        self.world.wait_until("the rules of the lead", || {
            self.line("/permissions");
            self.shows("permission mode: default");
            let screen = self.inside.tmux().screen(&self.pane);
            assert!(!screen.contains("no permission rules"), "{screen}");
            screen.contains("scratchpad")
        });
    }

    /// Allows the call in the dialog once, by its key. The call creates this file of the project.
    pub(super) fn allows_call_that_makes(&self, file: &str) {
        let made = self.world.project().join(file);
        self.world
            .wait_until("the call that was allowed by a key", || {
                // A key that comes too soon after the question is not an answer, but text.
                self.press("C-u");
                self.press("1");
                made.exists()
            });
    }

    /// Waits until this is the last line on the screen.
    pub(super) fn ends_in(&self, line: &str) {
        self.world.wait_until("the last line", || {
            let screen = self.inside.tmux().screen(&self.pane);
            screen.trim_end().lines().last() == Some(line)
        });
    }

    /// The shell reads whole lines again, and got nothing of what was typed before.
    pub(super) fn shell_is_as_before(&self) {
        self.shows("\n1\n1\n");
        self.line("echo after-$((1+1))");
        self.shows("after-2");
        assert!(
            !self.world.project().join("typed-ahead").exists(),
            "{}",
            self.inside.tmux().screen(&self.pane)
        );
    }
}
