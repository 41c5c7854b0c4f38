//! Networks between machines and the hub: a network namespace for each machine with a virtual cable, or
//! proxies on the loopback interface where namespaces are not allowed.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use swarm_hubkit::Link;

use crate::faults::dice::Seed;
use crate::wait::{DEADLINE, wait_until};

/// Set in a process that has a network of its own.
const OWN: &str = "STRESS_NETWORK";

/// Runs the part again in a network of its own. Returns what it prints; `None` where that is not
/// allowed, and in such a process.
///
/// # Panics
/// If it fails.
pub fn in_own_network(seed: Seed) -> Option<String> {
    let unshared = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "--"]);
        command
    };
    let mut cable = unshared();
    cable.args(["ip", "link", "add", "one", "type", "veth", "peer", "two"]);
    if has_own()
        || !cable
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|it| it.success())
    {
        return None;
    }
    let program = std::env::current_exe().expect("this program");
    // The server is also asked over the loopback interface, which is down in a new network.
    let again = unshared()
        .args(["sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""])
        .arg(program)
        .args(["hub", "--seed", &seed.to_string()])
        .env(OWN, "1")
        .stderr(Stdio::inherit())
        .output()
        .expect("this program");
    let printed = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(again.status.success(), "{}: {printed}", again.status);
    let told = printed.lines().next().unwrap_or_default();
    let told = told.split_once("HubRun").map_or(told, |(_, told)| told);
    Some(format!("in network namespaces, HubRun{told}"))
}

fn has_own() -> bool {
    std::env::var_os(OWN).is_some()
}

/// The network of a hub.
pub(super) struct Network {
    port: u16,
}

impl Network {
    /// Returns arguments for a server that every machine can reach.
    pub(super) fn server() -> &'static [&'static str] {
        if has_own() {
            &["--addr", "0.0.0.0"]
        } else {
            &[]
        }
    }

    /// `port` is that of the server.
    pub(super) fn new(port: u16) -> Self {
        Self { port }
    }

    /// Connects a machine.
    pub(super) fn connect(&self, number: usize) -> Cable {
        if has_own() {
            Cable::Namespace(Namespace::create(number, self.port))
        } else {
            Cable::Proxy(Link::to(self.port))
        }
    }
}

/// What connects a machine with the hub.
pub(super) enum Cable {
    Proxy(Link),
    Namespace(Namespace),
}

impl Cable {
    /// Returns the URL of the hub for processes of the machine.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Proxy(link) => link.url(),
            Self::Namespace(namespace) => {
                format!("nats://{}:{}", namespace.address(1), namespace.port)
            }
        }
    }

    /// Returns a command that runs a program on the machine.
    pub(super) fn command(&self, program: &PathBuf) -> Command {
        match self {
            Self::Proxy(_) => Command::new(program),
            Self::Namespace(namespace) => {
                let mut command = namespace.enter();
                command.arg(program);
                command
            }
        }
    }

    /// Returns what precedes the command line of a program that runs on the machine.
    pub(super) fn prefix(&self) -> Vec<String> {
        match self {
            Self::Proxy(_) => Vec::new(),
            Self::Namespace(namespace) => vec!["nsenter".to_owned(), namespace.option()],
        }
    }

    /// Delays each packet. Only proxies can: few kernels have `netem`.
    pub(super) fn delay(&self, delay: Duration) {
        if let Self::Proxy(link) = self {
            link.delay(delay);
        }
    }

    pub(super) fn cut(&self) {
        match self {
            Self::Proxy(link) => link.cut(),
            Self::Namespace(namespace) => namespace.set("down"),
        }
    }

    pub(super) fn heal(&self) {
        match self {
            Self::Proxy(link) => link.heal(),
            Self::Namespace(namespace) => namespace.set("up"),
        }
    }
}

/// A network namespace, which exists as long as a process in it. While its cable is cut, packets are
/// lost and connections stay open.
pub(super) struct Namespace {
    number: usize,
    port: u16,
    holder: Child,
}

impl Namespace {
    fn create(number: usize, port: u16) -> Self {
        // It ends with this process, which has the other end of its input.
        let holder = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("unshare");
        let namespace = Self {
            number,
            port,
            holder,
        };
        let of = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
        let pid = namespace.holder.id().to_string();
        let is_apart = || (of(&pid) != of("self")).then_some(());
        wait_until("a namespace", DEADLINE, is_apart).expect("a namespace");
        let device = namespace.device();
        ip(&["link", "set", "lo", "up"]);
        ip(&[
            "link", "add", &device, "type", "veth", "peer", "name", "hub", "netns", &pid,
        ]);
        ip(&[
            "address",
            "add",
            &format!("{}/30", namespace.address(1)),
            "dev",
            &device,
        ]);
        namespace.set("up");
        let own = format!("{}/30", namespace.address(2));
        for words in [
            &["address", "add", &own, "dev", "hub"][..],
            &["link", "set", "hub", "up"],
            &["link", "set", "lo", "up"],
        ] {
            run(namespace.enter().arg("ip").args(words));
        }
        namespace
    }

    fn device(&self) -> String {
        format!("machine{}", self.number)
    }

    /// Returns the address of an end of the cable.
    fn address(&self, end: u8) -> String {
        format!("10.77.{}.{end}", self.number)
    }

    fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(self.option());
        command
    }

    fn option(&self) -> String {
        format!("--net=/proc/{}/ns/net", self.holder.id())
    }

    fn set(&self, state: &str) {
        ip(&["link", "set", &self.device(), state]);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // It may have been killed.
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

fn ip(words: &[&str]) {
    run(Command::new("ip").args(words));
}

fn run(command: &mut Command) {
    let done = command.status();
    assert!(done.is_ok_and(|status| status.success()), "{command:?}");
}
