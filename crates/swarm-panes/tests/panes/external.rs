//! Panes of terminals that other programs control.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use futures::FutureExt as _;
use rustix::process::Signal;
use swarm_os::process::Process;
use swarm_panes::{
    BackendRequest, ExternalBackend, PaneBackend, PaneError, PanePlacement, PaneProgram,
    PaneStatus, PaneText, TerminalFacts, choose,
};
use swarm_protocol::BackendType;

use crate::rig::{
    Directory, UserServer, close_all, open_sleeper, sh, spec, team, tmux_program, until, within,
};
use crate::terminals::{calls, close_windows, in_iterm2, it2, with_program, with_script};

#[tokio::test]
async fn iterm2_gets_the_first_pane_right_of_the_lead_and_the_next_below_the_newest() {
    let directory = Directory::new();
    let backend = in_iterm2(&directory);
    let (_, _first) = open_sleeper(&backend, "ada").await;
    let second = backend
        .launch(&spec("bob"), &sh("exec sleep 1000000", &[]))
        .await
        .unwrap();
    assert_eq!(
        second.id.as_str(),
        "uuid-2",
        "the roster has the session id, as with Claude Code"
    );
    let splits: Vec<String> = calls(&directory)
        .into_iter()
        .filter(|call| call.contains("split"))
        .collect();
    assert_eq!(
        splits,
        ["session split -v -s lead", "session split -s uuid-1"]
    );
    assert_eq!(
        backend.attach_command(&second).await[1..],
        ["session", "focus", "uuid-2"]
    );
    close_all(&backend, &team()).await;
    let closed = calls(&directory)
        .into_iter()
        .filter(|call| call.starts_with("session close"));
    assert_eq!(closed.count(), 2);
}

async fn automatic(facts: &TerminalFacts, place: PanePlacement) -> BackendType {
    let request = BackendRequest {
        backend: None,
        place,
    };
    let (_, chosen) = choose(&request, facts).await.unwrap();
    chosen.backend
}

#[tokio::test]
async fn auto_selects_iterm2_only_directly_in_it_with_an_it2_that_works() {
    let directory = Directory::new();
    let (program, mut env) = it2(&directory);
    env.push(("TERM_PROGRAM".to_owned(), "iTerm.app".to_owned()));
    let facts = TerminalFacts {
        tmux_program: Some(tmux_program()),
        iterm_session: Some("w0t0p0:lead".to_owned()),
        it2_program: Some(program),
        own_socket_dir: directory.path("sockets"),
        server_number: std::process::id(),
        control_env: env,
        ..TerminalFacts::default()
    };
    let iterm2 = automatic(&facts, PanePlacement::Auto).await;
    assert_eq!(iterm2, BackendType::ITerm2);
    let hidden = automatic(&facts, PanePlacement::Hidden).await;
    assert_eq!(hidden, BackendType::Tmux);
    let mut in_editor = facts.clone();
    in_editor.control_env.pop();
    let in_tmux = TerminalFacts {
        tmux_env: Some("/nonexistent/tmux,1,0".to_owned()),
        ..facts.clone()
    };
    let without_api = TerminalFacts {
        it2_program: Some(directory.script("refused", "#!/bin/sh\nexit 1\n")),
        ..facts
    };
    for facts in [in_editor, in_tmux, without_api] {
        let backend = automatic(&facts, PanePlacement::Auto).await;
        assert_eq!(backend, BackendType::Tmux, "{facts:?}");
    }
}

#[tokio::test]
async fn a_member_keeps_its_environment_directory_and_arguments_in_a_pane() {
    let directory = Directory::new();
    let backend = with_program(&directory);
    let odd = directory.path("it's a $directory");
    std::fs::create_dir(&odd).unwrap();
    let out = directory.path("out");
    let script = "{ pwd; env; printf '<%s>' \"$@\"; } >\"$0\"; exec sleep 1000000";
    let mut command = sh(
        script,
        &[
            out.to_str().unwrap(),
            "a b",
            "it's",
            "$HOME",
            "line\nbreak",
            "",
        ],
    );
    command.cwd = odd.clone();
    command.env = vec![("GREETING".to_owned(), "it's \"$5\"\n`x`".to_owned())];
    let spec = spec("ada");
    let pane = backend.launch(&spec, &command).await.unwrap();
    until("the program has written", || {
        std::fs::read_to_string(&out).is_ok_and(|text| text.ends_with("<>"))
    })
    .await;
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.starts_with(odd.to_str().unwrap()), "{text}");
    assert!(text.contains("GREETING=it's \"$5\"\n`x`\n"), "{text}");
    assert!(
        text.ends_with("<a b><it's><$HOME><line\nbreak><>"),
        "{text}"
    );
    assert!(
        !text.contains("FAKE="),
        "the environment of the terminal: {text}"
    );
    let scripts = std::fs::read_dir(directory.path("members/command")).unwrap();
    for file in scripts {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "others can read it");
    }
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    let left = std::fs::read_dir(directory.path("members/command")).unwrap();
    assert_eq!(left.count(), 0, "files of a closed pane");
}

#[tokio::test]
async fn a_program_that_opens_no_pane_is_named_with_its_message_and_leaves_nothing() {
    let directory = Directory::new();
    let broken = directory.script(
        "broken",
        "#!/bin/sh\necho 'zellij: no session' >&2\nexit 1\n",
    );
    let driver = PaneProgram {
        program: broken.clone(),
        env: Vec::new(),
    };
    let backend = ExternalBackend::new(&directory.path("members"), Arc::new(driver));
    let refused = backend
        .launch(&spec("ada"), &sh("true", &[]))
        .await
        .unwrap_err();
    let said = refused.to_string();
    assert!(
        matches!(refused, PaneError::ControlProgram { .. }),
        "{said}"
    );
    assert!(
        said.contains("broken open failed: zellij: no session"),
        "{said}"
    );
    assert_eq!(backend.all_panes().await.unwrap(), []);
}

#[tokio::test]
async fn a_program_that_runs_in_no_pane_is_terminated() {
    let directory = Directory::new();
    let (cue, started) = (directory.fifo("cue"), directory.path("started"));
    let script = format!(
        "#!/bin/sh\n\"$2\" \"$3\" >/dev/null 2>&1 </dev/null &\nread -r pid <'{}'\n\
         echo \"$pid\" >'{}'\necho 'no room' >&2\nexit 1\n",
        cue.display(),
        started.display()
    );
    let backend = with_script(&directory, &script);
    let script = "echo $$ >\"$0\"; exec sleep 1000000";
    let command = sh(script, &[cue.to_str().unwrap()]);
    let refused = backend.launch(&spec("ada"), &command).await.unwrap_err();
    assert!(refused.to_string().contains("no room"), "{refused}");
    let pid = std::fs::read_to_string(&started).unwrap();
    let pid = pid.trim().parse().unwrap();
    until("it is gone", || Process::running(pid).is_none()).await;
}

#[tokio::test]
async fn a_pane_that_the_user_closed_is_never_touched_again() {
    let directory = Directory::new();
    let backend = with_program(&directory);
    let (spec, pane) = open_sleeper(&backend, "ada").await;
    assert_eq!(backend.attach_command(&pane).await[1..], ["focus", "1"]);
    close_windows(&directory);
    within("the end is seen", backend.exited(&pane))
        .await
        .unwrap();
    // The program ends before the shell of its pane.
    until("the pane is closed", || {
        let attach = backend.attach_command(&pane).now_or_never();
        attach.is_some_and(|command| command.is_empty())
    })
    .await;
    let before = calls(&directory);
    let gone = backend
        .capture(&pane, PaneText::default())
        .await
        .unwrap_err();
    assert!(matches!(gone, PaneError::Gone(_)), "{gone}");
    backend.close(&pane, &spec.spawn_id).await.unwrap();
    assert_eq!(
        calls(&directory),
        before,
        "its id may be that of another pane"
    );
}

#[tokio::test]
async fn panes_that_are_opened_at_the_same_time_know_of_each_other() {
    let directory = Directory::new();
    let backend = with_program(&directory);
    let command = sh("exec sleep 1000000", &[]);
    let specs = ["ada", "bob", "eve"].map(spec);
    let opened = specs.iter().map(|spec| backend.launch(spec, &command));
    for pane in futures::future::join_all(opened).await {
        pane.unwrap();
    }
    let newest = std::fs::read_to_string(directory.path("newest")).unwrap();
    assert_eq!(newest, "\n1\n2\n");
    close_all(&backend, &team()).await;
}

#[tokio::test]
async fn no_other_process_opens_a_pane_meanwhile() {
    let directory = Directory::new();
    let lock = directory.path("members/command/opening.lock");
    let held = directory.path("held");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = open ] || exit 0\n\
         perl -e 'open F, \"<\", shift or die; exit(flock(F, 6) ? 0 : 7)' '{}'\n\
         [ $? = 7 ] && echo held >'{}'\n\
         \"$2\" \"$3\" >/dev/null 2>&1 </dev/null &\necho 1\n",
        lock.display(),
        held.display()
    );
    let backend = with_script(&directory, &script);
    let (spec, pane) = open_sleeper(&backend, "ada").await;
    assert!(held.exists());
    assert!(!lock.exists());
    backend.close(&pane, &spec.spawn_id).await.unwrap();
}

fn killed() -> PaneStatus {
    PaneStatus::Dead {
        code: None,
        signal: Some("9".to_owned()),
    }
}

#[tokio::test]
async fn another_process_finds_the_pane_and_its_exit() {
    let directory = Directory::new();
    let pane = with_program(&directory)
        .launch(&spec("ada"), &sh("kill -9 $$", &[]))
        .await
        .unwrap();
    let other = with_program(&directory);
    let status = within("the end is seen", other.exited(&pane))
        .await
        .unwrap();
    assert_eq!(status, killed());
    close_all(&other, &team()).await;
}

#[tokio::test]
async fn the_exit_status_of_a_program_that_ends_before_it_is_seen_is_waited_for() {
    let directory = Directory::new();
    let (cue, pids) = (directory.fifo("cue"), directory.path("pids"));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = open ] || exit 0\n\
         \"$2\" \"$3\" >/dev/null 2>&1 </dev/null &\ncat <'{}' >'{}'\necho 1\n",
        cue.display(),
        pids.display()
    );
    let backend = with_script(&directory, &script);
    let script = "exec 3>\"$0\"; echo $PPID >&3; kill -STOP $PPID; kill -9 $$";
    let command = sh(script, &[cue.to_str().unwrap()]);
    let pane = backend.launch(&spec("ada"), &command).await.unwrap();
    let unknown = PaneStatus::Dead {
        code: None,
        signal: None,
    };
    assert_eq!(backend.status(&pane).await.unwrap(), unknown);
    let mut exited = backend.exited(&pane);
    assert_eq!(exited.as_mut().now_or_never().map(Result::ok), None);

    let recorder = std::fs::read_to_string(&pids).unwrap();
    let recorder = recorder.trim().parse().unwrap();
    Process::running(recorder)
        .unwrap()
        .signal(Signal::CONT)
        .unwrap();
    let status = within("its end is recorded", exited).await.unwrap();
    assert_eq!(status, killed());
    close_all(&backend, &team()).await;
}

#[tokio::test]
async fn a_member_ends_when_the_user_closes_its_window() {
    let server = UserServer::start(120, 40);
    let tmux = format!(
        "{} -S '{}'",
        tmux_program().display(),
        server.socket.display()
    );
    let script = format!(
        "#!/bin/sh\ncase $1 in\nopen) {tmux} split-window -d -P -F '#{{pane_id}}' \"$2 '$3'\" ;;\n\
         close) {tmux} kill-pane -t \"$2\" ;;\nesac\n"
    );
    let backend = with_script(&server.directory, &script);
    let spec = spec("ada");
    let command = sh("exec sleep 1000000", &[]);
    let pane = backend.launch(&spec, &command).await.unwrap();
    let closed = server.run(&["kill-pane", "-t", "%1"]);
    let status = within("the end is seen", backend.exited(&pane))
        .await
        .unwrap();
    let hung_up = PaneStatus::Dead {
        code: None,
        signal: Some("1".to_owned()),
    };
    assert_eq!(status, hung_up, "{closed:?}");
    backend.close(&pane, &spec.spawn_id).await.unwrap();
}
