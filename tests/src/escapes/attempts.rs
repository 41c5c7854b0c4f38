//! The attempts. Each is a bash script that succeeds (exit code 0) only if it got through.

/// Rows of the guide's table, to which attempts belong.
pub(super) const WRITE: &str = "write, rename or delete files outside";
pub(super) const MODES: &str = "change modes, times or attributes of files outside";
pub(super) const READ: &str = "read hidden files";
pub(super) const NAMES: &str = "list names of hidden files";
pub(super) const GIT: &str = "write git's `config` and `hooks` in a worktree";
pub(super) const REDIRECT: &str =
    "point a worktree's git to another configuration (`.git`, `commondir`)";
pub(super) const MAIN_GIT: &str = "write git's `config` and `hooks` in the main checkout";
pub(super) const PROJECT: &str =
    "create or change the project's `.claude`, `.mcp.json` and `.gemini`";
pub(super) const PROJECT_FILE: &str = "create the project's `opencode.json`";
pub(super) const SEE: &str = "see other processes";
pub(super) const INSPECT: &str = "read memory or environment of other processes, attach a debugger";
pub(super) const SIGNAL: &str = "signal other processes";
pub(super) const LIMITS: &str = "change limits of other processes";
pub(super) const UNIX: &str = "use Unix sockets";
pub(super) const TERMINAL: &str = "write to your terminals";
pub(super) const SYSTEM: &str = "mount, open disks, change kernel settings, use the kernel's keys";
pub(super) const NETWORK: &str =
    "reach hosts that are not permitted, unless `sandbox.network` is `open`";
pub(super) const OUTLIVE: &str = "outlive the agent";

/// One attempt: its row and its script. Variables: `OUT`, a directory outside with `file` (which
/// contains `SECRET`); `HOME`, with hidden `.ssh/id` and `.netrc`; `ROOT`, the config directory;
/// `VICTIM`, the pid of a process whose environment contains `SECRET`; `SOCKET`, `ABSTRACT`: Unix
/// sockets that are listened on; `PORT`: such a TCP port of the loopback address; `TTY`: a terminal; `MARK`: a unique number of seconds to sleep.
pub(super) type Attempt = (&'static str, &'static str);

/// Attempts in an agent's working directory, the main checkout of a repository.
pub(super) const ATTEMPTS: &[Attempt] = &[
    (WRITE, "echo x > $OUT/file"),
    (WRITE, "echo x >> $OUT/new"),
    (WRITE, "rm -f $OUT/file && ! test -e $OUT/file"),
    (WRITE, "mv $OUT/file moved"),
    (WRITE, "mkdir $OUT/directory"),
    (WRITE, "truncate -s 0 $OUT/file"),
    (WRITE, "ln -sf $OUT/file way && echo x > way"),
    (WRITE, "ln $OUT/file hard && echo x > hard"),
    (WRITE, "ln -sfn $OUT way2 && touch way2/new"),
    (WRITE, "cd $OUT && git init -q new"),
    (
        WRITE,
        "perl -e 'truncate($ENV{OUT}.\"/file\", 0) or exit 1'",
    ),
    (WRITE, "setsid -w sh -c 'echo x > $OUT/file'"),
    (WRITE, "env -i sh -c \"echo x > $OUT/file\""),
    (WRITE, "echo x > /proc/self/root$OUT/file"),
    (WRITE, "echo x > /proc/$VICTIM/root$OUT/file"),
    (WRITE, "echo x > /proc/$PPID/cwd/../outside/file"),
    (WRITE, "nsenter -t $VICTIM -m sh -c 'echo x > $OUT/file'"),
    (WRITE, "nsenter -t 1 -a sh -c 'echo x > $OUT/file'"),
    (
        WRITE,
        "unshare -Urm sh -c 'mount -o remount,bind,rw $OUT; mount -o remount,bind,rw /; echo x > $OUT/file'",
    ),
    (
        WRITE,
        "unshare -Urm sh -c 'mount --bind $OUT . && cd . && echo x > $PWD/file'",
    ),
    (WRITE, "echo x > $HOME/.bashrc"),
    (WRITE, "mkdir -p $HOME/.config/autostart"),
    (WRITE, "git config --global core.fsmonitor 'touch x'"),
    (WRITE, "echo '[]' > $ROOT/teams/t/inboxes/alice.json"),
    (WRITE, "echo '{}' > $ROOT/teams/t/config.json"),
    (WRITE, "echo '{}' > $ROOT/teams/t/swarm/requests/p1.json"),
    (WRITE, "echo x > $ROOT/teams/t/swarm/members/alice/life"),
    (WRITE, "echo '{}' > $ROOT/settings.json"),
    (WRITE, "echo x > $ROOT/agents/evil.md"),
    (WRITE, "echo x > $ROOT/swarm/bin/git"),
    (
        WRITE,
        "printf '%s\\n' '#include <fcntl.h>' '#include <stdlib.h>' '#include <unistd.h>' \
         '__attribute__((constructor)) static void go() { if (open(getenv(\"TO\"), O_WRONLY | O_TRUNC) < 0) _exit(1); }' \
         > pre.c && cc -shared -fPIC -o pre.so pre.c && TO=$OUT/file LD_PRELOAD=$PWD/pre.so env true",
    ),
    (MODES, "chmod 777 $OUT/file"),
    (MODES, "touch -d 2001-01-01 $OUT/file"),
    (MODES, "chown 1:1 $OUT/file"),
    (
        MODES,
        "python3 -c 'import os; os.setxattr(os.environ[\"OUT\"] + \"/file\", \"user.x\", b\"x\")'",
    ),
    (READ, "grep -q SECRET $HOME/.ssh/id"),
    (READ, "grep -q SECRET $HOME/.netrc"),
    (READ, "cp $HOME/.ssh/id copy && grep -q SECRET copy"),
    (READ, "ln -sfn $HOME/.ssh link && grep -q SECRET link/id"),
    (READ, "ln $HOME/.ssh/id hard2 && grep -q SECRET hard2"),
    (READ, "tar -cf - $HOME/.ssh 2>&- | grep -q SECRET"),
    (READ, "grep -rq SECRET $HOME/.ssh"),
    (READ, "grep -q SECRET /proc/self/root$HOME/.ssh/id"),
    (READ, "grep -q SECRET /proc/$VICTIM/root$HOME/.ssh/id"),
    (
        READ,
        "unshare -Urm sh -c 'umount -l $HOME/.ssh; grep -q SECRET $HOME/.ssh/id'",
    ),
    (READ, "mv $HOME/.ssh ssh && grep -q SECRET ssh/id"),
    (READ, "grep -q SECRET $ROOT/settings.json"),
    (READ, "grep -rq SECRET $ROOT/teams"),
    (READ, "cd $ROOT && grep -q SECRET ./swarm/../settings.json"),
    (NAMES, "ls -A $HOME/.ssh | grep -q id"),
    (NAMES, "find $ROOT/teams -name alice.json | grep -q alice"),
    (MAIN_GIT, "echo '[core]' >> .git/config"),
    (MAIN_GIT, "git config core.fsmonitor 'touch x'"),
    (MAIN_GIT, "printf '#!/bin/sh\\n' > .git/hooks/pre-commit"),
    (MAIN_GIT, "mv .git/hooks .git/old && mkdir .git/hooks"),
    (
        MAIN_GIT,
        "git config filter.x.clean 'touch x; cat' && echo '* filter=x' > .gitattributes",
    ),
    (
        MAIN_GIT,
        "git config --worktree filter.x.smudge 'touch x; cat' && echo '* filter=x' > .gitattributes",
    ),
    (
        MAIN_GIT,
        "echo '* filter=x' > .gitattributes && git config include.path ../evil",
    ),
    (
        MAIN_GIT,
        "mv .git old && cp -r old .git && echo '[core]' >> .git/config",
    ),
    (MAIN_GIT, "echo ../evil > .git/commondir"),
    (
        MAIN_GIT,
        "rm -f .git/commondir && echo ../evil > .git/commondir",
    ),
    (PROJECT, "echo '{}' > .mcp.json"),
    (
        PROJECT,
        "mkdir -p .claude && echo '{}' > .claude/settings.json",
    ),
    (
        PROJECT,
        "mkdir -p .gemini && echo '{}' > .gemini/settings.json",
    ),
    (PROJECT, "rmdir .mcp.json && echo '{}' > .mcp.json"),
    (PROJECT, "rm -rf .mcp.json && echo '{}' > .mcp.json"),
    (PROJECT, "mv .claude old && mkdir .claude"),
    (PROJECT, "echo '{}' > new && mv -fT new .mcp.json"),
    (PROJECT, "ln -sfnT /tmp .claude"),
    (PROJECT_FILE, "echo '{}' > opencode.json"),
    (SEE, "test -d /proc/$VICTIM"),
    (SEE, "ps -p $VICTIM"),
    (
        INSPECT,
        "tr '\\0' '\\n' < /proc/$VICTIM/environ | grep -q SECRET",
    ),
    (INSPECT, "test -n \"$(head -c 1 /proc/$VICTIM/maps)\""),
    (INSPECT, "dd if=/proc/$VICTIM/mem of=/dev/null bs=1 count=0"),
    (INSPECT, "test -n \"$(readlink /proc/$VICTIM/cwd)\""),
    (INSPECT, "gdb -batch -p $VICTIM 2>&1 | grep -q 'libc'"),
    (
        INSPECT,
        "timeout 2 strace -p $VICTIM 2>&1 | grep -q attached",
    ),
    (SIGNAL, "kill -CONT $VICTIM"),
    (SIGNAL, "bash -c 'kill -WINCH $VICTIM'"),
    (
        SIGNAL,
        "python3 -c 'import os, signal; signal.pidfd_send_signal(os.pidfd_open(int(os.environ[\"VICTIM\"])), 28)'",
    ),
    (LIMITS, "prlimit --pid $VICTIM --core=0"),
    (
        LIMITS,
        // In namespaces, the number of what starts the commands is 0.
        "test $PPID != 0 && prlimit --pid $PPID --core=0",
    ),
    (
        UNIX,
        "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ[\"SOCKET\"])'",
    ),
    (
        UNIX,
        "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(\"\\0\" + os.environ[\"ABSTRACT\"])'",
    ),
    (
        UNIX,
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new($ENV{SOCKET}) or exit 1'",
    ),
    (
        UNIX,
        "python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)'",
    ),
    // A socket by the x32 ABI.
    (
        UNIX,
        "python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(0x40000000 + 41, 1, 1, 0) < 0)'",
    ),
    (UNIX, "tmux -S $PWD/s new-session -d"),
    (
        UNIX,
        "python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(120)) < 0)'",
    ),
    (TERMINAL, "echo x > $TTY"),
    (TERMINAL, "echo x > /dev/tty"),
    (SYSTEM, "mount -t tmpfs none $PWD"),
    (SYSTEM, "mount --bind / $PWD"),
    (SYSTEM, "umount -l /proc"),
    (
        SYSTEM,
        "test -n \"$(find /dev -type b 2>&-)\" && head -c 1 \"$(find /dev -type b | head -n 1)\"",
    ),
    (SYSTEM, "mknod disk b 254 0 && head -c 1 disk"),
    (
        SYSTEM,
        "cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname",
    ),
    (
        SYSTEM,
        "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern",
    ),
    (
        SYSTEM,
        "python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(250, 0, -3, 1, 0, 0) < 0)'",
    ),
    (
        SYSTEM,
        "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
    ),
    (
        SYSTEM,
        "python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'",
    ),
    (NETWORK, "exec 3<> /dev/tcp/127.0.0.1/$PORT"),
    // TCP Fast Open and MPTCP, which Landlock does not know.
    (
        NETWORK,
        "python3 -c 'import os, socket; s = socket.socket(); s.sendto(b\"x\", 0x20000000, (\"127.0.0.1\", int(os.environ[\"PORT\"]))); s.getpeername()'",
    ),
    (
        NETWORK,
        "python3 -c 'import os, socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect((\"127.0.0.1\", int(os.environ[\"PORT\"])))'",
    ),
    (
        NETWORK,
        "curl -sf --max-time 2 --noproxy '' -x $HTTP_PROXY http://127.0.0.1:$PORT; test $? = 52 -o $? = 28",
    ),
    (
        NETWORK,
        "exec 3<> /dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'CONNECT crates.io:22 HTTP/1.1\\r\\n\\r\\n' >&3 \
         && read -r line <&3 && test -n \"$line\" && ! grep -q ' 403 ' <<< \"$line\"",
    ),
    // The name of a public address, and of this machine when it is resolved again.
    (
        NETWORK,
        "for number in 1 2; do exec 3<> /dev/tcp/127.0.0.1/${HTTP_PROXY##*:} || exit \
         && printf 'CONNECT a.rebinding.example:%s HTTP/1.1\\r\\n\\r\\n' $PORT >&3 \
         && read -t 5 -r line <&3 && grep -q ' 200 ' <<< \"$line\" && exit; done; false",
    ),
    (NETWORK, "exec 3<> /dev/tcp/::ffff:127.0.0.1/$PORT"),
    (
        NETWORK,
        "curl -s --max-time 2 http://0x7f000001:$PORT; test $? = 52 -o $? = 28",
    ),
    (
        NETWORK,
        "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((\"192.0.2.1\", 53))'",
    ),
    (
        NETWORK,
        "python3 -c 'import socket; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.connect((\"2001:db8::1\", 53))'",
    ),
    (
        NETWORK,
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).connect((\"192.0.2.1\", 0))'",
    ),
    (OUTLIVE, "sleep $MARK & disown"),
    (OUTLIVE, "setsid sleep $MARK > /dev/null 2>&1 < /dev/null &"),
    (OUTLIVE, "nohup sleep $MARK > /dev/null 2>&1 &"),
    (
        OUTLIVE,
        "(setsid sh -c 'sleep $MARK & ' &) > /dev/null 2>&1",
    ),
    (OUTLIVE, "env -i setsid sleep $MARK > /dev/null 2>&1 &"),
    (
        OUTLIVE,
        "(cd / && env -i setsid unshare -Urpf sleep $MARK > /dev/null 2>&1 &)",
    ),
];

/// Attempts in a linked worktree; `COMMON` is its repository's git directory.
pub(super) const IN_WORKTREE: &[Attempt] = &[
    (GIT, "echo '[core]' >> $COMMON/config"),
    (GIT, "git config core.fsmonitor 'touch x'"),
    (GIT, "printf '#!/bin/sh\\n' > $COMMON/hooks/pre-commit"),
    (GIT, "mv $COMMON/hooks $COMMON/old"),
    (GIT, "echo 'ref: refs/heads/x' > $COMMON/HEAD"),
    (
        REDIRECT,
        "echo /tmp > \"$(git rev-parse --absolute-git-dir)/commondir\"",
    ),
    (REDIRECT, "rm -f .git && git init -q"),
    (
        PROJECT,
        "mkdir -p .claude/agents && echo x > .claude/agents/a.md",
    ),
    (WRITE, "echo x > $COMMON/../a.txt"),
    (WRITE, "rm $COMMON/../a.txt"),
    (
        WRITE,
        "git -C $COMMON/.. reset -q --hard && echo x > $COMMON/../a.txt",
    ),
];
