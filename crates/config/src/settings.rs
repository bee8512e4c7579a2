//! All settings: name, type, default, bounds and documentation.
//!
//! This list is the source of the types below, of `config/conduit.toml` and of the
//! environment variables. The documentation of a key is what an operator reads: its
//! effect, its unit, and since which version it exists.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU16, NonZeroUsize};
use std::path::PathBuf;

use crate::Millis;
use crate::key::tables;
use crate::word::{AddressScope, HostName, LogFormat, LogLevel, Network, WebOrigin};

tables! {
    /// Where MCP clients connect, and what they may send.
    http: Http {
        /// The IP address and port that serve MCP. Port 0 takes any free port, and the
        /// start prints which one. Since 0.1.
        listen: SocketAddr = loopback(8080);
        /// The hosts that a request may name in its `Host` header, such as
        /// `"mcp.example.com"` (any port) or `"mcp.example.com:8443"`; others are answered
        /// 403. Bound to loopback, the loopback names are always allowed. Bound
        /// elsewhere, an empty list means that `Host` is not checked. Since 0.1.
        allowed_hosts: Vec<HostName> = Vec::new();
        /// The web pages that may call from a browser, as their `Origin`, such as
        /// `"https://app.example.com"`; others are answered 403. Bound to loopback, the
        /// loopback origins are always allowed. Since 0.1.
        allowed_origins: Vec<WebOrigin> = Vec::new();
        /// The proxies whose `X-Forwarded-For` is believed, as IP addresses or
        /// networks, such as `"10.0.0.0/8"`. Since 0.1.
        trusted_proxies: Vec<Network> = Vec::new();
        /// The most connections at once, for each gateway; more are answered 503 and
        /// closed. Since 0.1.
        max_connections: NonZeroUsize = count(10_000), 1..=1_000_000;
        /// The largest body of a request, in bytes; a larger one is answered 413.
        /// Since 0.1.
        max_body_bytes: NonZeroUsize = count(4 * 1024 * 1024), 1_024..=268_435_456;
        /// The most memory that large bodies (over 64 KiB) take at once, for each gateway,
        /// in bytes; more are answered 503. Large answers count until the client has taken
        /// them. Not less than `max_body_bytes`. Since 0.1.
        body_budget_bytes: NonZeroUsize = count(256 * 1024 * 1024), 1_024..=68_719_476_736;
        /// How long a client may take to send the head of a request, and how long a
        /// connection may stay open without one, in milliseconds. Since 0.1.
        header_timeout_ms: Millis = Millis::new(30_000), 1..=3_600_000;
        /// How long a client may take to send the body of a request, in milliseconds.
        /// Since 0.1.
        body_timeout_ms: Millis = Millis::new(30_000), 1..=3_600_000;
        /// How long a client may take nothing of what is sent to it before its connection
        /// is closed, in milliseconds. Since 0.1.
        write_timeout_ms: Millis = Millis::new(30_000), 1..=3_600_000;
        /// How often a silent event stream carries a comment, so that proxies do not
        /// cut it, in milliseconds. Since 0.1.
        sse_keep_alive_ms: Millis = Millis::new(15_000), 100..=3_600_000;
    }

    /// The port for operators: `/metrics`, `/healthz`, `/readyz`, `/status`.
    admin: Admin {
        /// The IP address and port that serve operators. It has no access control: keep
        /// it off public networks. Port 0 takes any free port. Since 0.1.
        listen: SocketAddr = loopback(9464);
    }

    /// What outlives a process: sessions, tasks, keys, and the sockets between the
    /// processes.
    state: State {
        /// The directory, for one instance alone; it is made with mode 0700. Empty means
        /// `$XDG_STATE_HOME/conduit`, or else `$HOME/.local/state/conduit`. A relative
        /// path starts at the working directory. Since 0.1.
        dir: PathBuf = PathBuf::new();
    }

    /// The processes that answer MCP requests.
    gateway: Gateway {
        /// How many there are; 0 means one for each processor core. Since 0.1.
        count: u16 = 0, 0..=256;
    }

    /// The processes that carry news between gateways.
    hub: Hub {
        /// How many there are. Since 0.1.
        count: NonZeroU16 = number(1), 1..=64;
    }

    /// How the supervisor watches, restarts and stops the other processes.
    supervisor: Supervisor {
        /// How often two processes assure each other that they live, in milliseconds.
        /// Since 0.1.
        heartbeat_ms: Millis = Millis::new(1_000), 10..=60_000;
        /// A process that was silent for so long is dead: it is killed and replaced, in
        /// milliseconds. More than `heartbeat_ms`. Since 0.1.
        dead_after_ms: Millis = Millis::new(3_000), 20..=600_000;
        /// How long a process may take from its start until it is ready, in
        /// milliseconds. Since 0.1.
        ready_timeout_ms: Millis = Millis::new(10_000), 100..=600_000;
        /// How often a process may fail within `window_ms` and be started again. One
        /// failure more and it is parked: the others go on without it. Since 0.1.
        restarts: usize = 10, 0..=1_000;
        /// The time in which failures are counted, in milliseconds. Since 0.1.
        window_ms: Millis = Millis::new(60_000), 100..=86_400_000;
        /// The delay before the first restart, in milliseconds; each further one within
        /// `window_ms` doubles it. Since 0.1.
        backoff_first_ms: Millis = Millis::new(50), 1..=600_000;
        /// The longest delay before a restart, in milliseconds. Not less than
        /// `backoff_first_ms`. Since 0.1.
        backoff_most_ms: Millis = Millis::new(5_000), 1..=3_600_000;
        /// How long a parked process is left alone before it is tried again, in
        /// milliseconds. Since 0.1.
        parked_retry_ms: Millis = Millis::new(60_000), 100..=86_400_000;
        /// How long the calls in flight may take to finish when a process is stopped, in
        /// milliseconds; then they are stopped too. Since 0.1.
        drain_grace_ms: Millis = Millis::new(10_000), 0..=3_600_000;
        /// A process whose event loop has not moved for so long is replaced, although
        /// its heartbeat goes on, in milliseconds. More than `heartbeat_ms`. Since 0.1.
        stall_limit_ms: Millis = Millis::new(30_000), 100..=3_600_000;
    }

    /// How much is let in, and how long it may take.
    limits: Limits {
        /// The most calls in flight at once, for each gateway; more are refused with 503.
        /// Since 0.1.
        in_flight: NonZeroUsize = count(4_096), 1..=1_000_000;
        /// How long a call may take from its arrival to its answer, in milliseconds,
        /// unless its tool has a limit of its own. Since 0.1.
        request_timeout_ms: Millis = Millis::new(60_000), 1..=86_400_000;
        /// How long a request may wait for the dispatcher before it is refused with 503,
        /// in milliseconds. Not more than `request_timeout_ms`. Since 0.1.
        dispatch_patience_ms: Millis = Millis::new(2_000), 1..=600_000;
        /// How long an actor may take to answer another one, in milliseconds. Since 0.1.
        actor_patience_ms: Millis = Millis::new(1_000), 1..=600_000;
    }

    /// The threads of each gateway that run the tools.
    workers: Workers {
        /// How many threads run asynchronous tools, which must not block; each gateway has
        /// its own. Since 0.1.
        threads: NonZeroUsize = count(1), 1..=1_024;
        /// The most blocking tools that run at once, each on a thread. Since 0.1.
        blocking: NonZeroUsize = count(64), 1..=4_096;
    }

    /// The sessions of clients that speak a version of MCP before 2026-07-28.
    sessions: Sessions {
        /// How long a session may be unused before it ends, in milliseconds. Since 0.1.
        idle_ms: Millis = Millis::new(1_800_000), 1_000..=2_592_000_000;
        /// The most sessions at once. One more takes the place of the one that was not
        /// used for the longest time; if that is less than a minute, `initialize` is
        /// refused with 503. Since 0.1.
        max: NonZeroUsize = count(100_000), 1..=10_000_000;
        /// How many sessions each gateway remembers without asking the store. Since 0.1.
        cached: NonZeroUsize = count(10_000), 1..=10_000_000;
    }

    /// The streams on which clients hear of changes: those that a client listens to, and
    /// those of sessions.
    subscriptions: Subscriptions {
        /// The most streams open at once, for each gateway; one more is refused with 503.
        /// Over HTTP each has a connection of its own: `http.max_connections` holds too.
        /// Since 0.1.
        max_streams: NonZeroUsize = count(100_000), 1..=1_000_000;
        /// The most streams of one session that are open at once, for each gateway; one more
        /// is refused with 429. A client without a session is not counted. Since 0.1.
        max_streams_per_owner: NonZeroUsize = count(64), 1..=1_000_000;
        /// The most resources, and the most tasks, that one listen request may name; one
        /// with more is refused. Since 0.1.
        max_topics_per_stream: NonZeroUsize = count(1_000), 1..=1_000;
        /// How long a stream may be open, in milliseconds; 0 means as long as its client
        /// likes. Then it is ended in good order, and its client opens another one. Up to
        /// a fifth less by chance, so that they do not all come back at once; it is looked
        /// for once a second. Since 0.1.
        max_age_ms: Millis = Millis::new(0), 0..=2_592_000_000;
    }

    /// What else is different for clients that speak a version before 2026-07-28.
    legacy: Legacy {
        /// Whether a request without a session is answered 400. Otherwise it is served
        /// without one. Since 0.1.
        require_session: bool = false;
        /// Whether a tool that asks for input is served in a session whose client can give
        /// it: the client is sent a request on the stream of the call. Otherwise such a
        /// call fails. Since 0.1.
        bridge_input: bool = true;
    }

    /// What a callback asks its user.
    input: Input {
        /// How long a client may take to answer before the state of its request expires,
        /// in milliseconds. Since 0.1.
        state_lifetime_ms: Millis = Millis::new(600_000), 1_000..=86_400_000;
        /// The most rounds of questions and answers of one request; a request that needs
        /// one more fails. Since 0.1.
        max_rounds: NonZeroUsize = count(16), 1..=1_000;
        /// How long a client that speaks a version before 2026-07-28 may take to answer one
        /// question of a call, in milliseconds. Since 0.1.
        bridge_timeout_ms: Millis = Millis::new(300_000), 1_000..=86_400_000;
    }

    /// Work that outlives its request.
    tasks: Tasks {
        /// Whether the extension for tasks is offered. If not, a client that uses it is
        /// answered as by a server that does not have it. Since 0.1.
        enabled: bool = true;
        /// How long a task can be read after it was made, in milliseconds, unless its tool
        /// says otherwise. Then it is stopped and forgotten. Not more than `max_ttl_ms`.
        /// Since 0.1.
        ttl_ms: Millis = Millis::new(3_600_000), 1_000..=2_592_000_000;
        /// The longest time that a task can be read, in milliseconds; longer wishes are
        /// cut. Since 0.1.
        max_ttl_ms: Millis = Millis::new(86_400_000), 1_000..=2_592_000_000;
        /// How often clients should ask for the state of a task, in milliseconds; they are
        /// told so, and not held to it. Since 0.1.
        poll_ms: Millis = Millis::new(1_000), 10..=3_600_000;
        /// The most tasks in the store at once, ended ones included; one more is refused.
        /// Since 0.1.
        max: NonZeroUsize = count(100_000), 1..=10_000_000;
        /// The most tasks of one principal, or of one session without a principal, in the
        /// store at once; one more is refused. A client with neither owns nothing: `max`
        /// alone holds for it. Since 0.1.
        max_per_owner: NonZeroUsize = count(1_000), 1..=1_000_000;
        /// The most tasks that run at once, for each server of each gateway; others wait.
        /// Since 0.1.
        running: NonZeroUsize = count(256), 1..=1_000_000;
        /// How many of them may belong to one principal or session; others wait. Since 0.1.
        running_per_owner: NonZeroUsize = count(16), 1..=1_000_000;
        /// The largest result of a task, in bytes; a task with a larger one fails. Since 0.1.
        max_result_bytes: NonZeroUsize = count(1_048_576), 1_024..=8_388_608;
        /// How often a task that can be started again is started in all, when the gateway
        /// that ran it is gone; then it fails. Since 0.1.
        max_attempts: NonZeroU16 = number(3), 1..=1_000;
        /// A gateway that could not tell the store for so long which tasks it runs stops
        /// them, in milliseconds. They are run again, or fail, once it is known that
        /// nobody runs them: when it is gone, or says so. More than
        /// `supervisor.dead_after_ms`. Since 0.1.
        lease_ms: Millis = Millis::new(30_000), 5_000..=3_600_000;
    }

    /// Who may cancel what.
    cancellation: Cancellation {
        /// What a client that has neither session nor identity may cancel: with
        /// `"strict"` only a call from its own address, and only when a single call there
        /// bears the id; with `"seeds"` every call from its own address that bears the
        /// id; with `"off"` nothing. Since 0.1.
        address_scope: AddressScope = AddressScope::Strict;
        /// The most cancelled calls of one session, client or address that have not ended
        /// yet; one more cancel is refused. Since 0.1.
        per_scope: NonZeroUsize = count(256), 1..=1_000_000;
        /// How long a gateway asks the others for a call that it does not have, in
        /// milliseconds. Since 0.1.
        remote_deadline_ms: Millis = Millis::new(1_000), 1..=60_000;
    }

    /// The process that keeps sessions and tasks on disk.
    store: Store {
        /// The most changes that one transaction saves. Since 0.1.
        batch: NonZeroUsize = count(512), 1..=65_536;
        /// The most changes that wait to be saved; more wait for a place among them, at
        /// most `patience_ms`, and are then refused with 503. Since 0.1.
        queue: NonZeroUsize = count(4_096), 1..=1_000_000;
        /// How long a gateway waits for the store, in milliseconds, while it is replaced
        /// for instance. Since 0.1.
        patience_ms: Millis = Millis::new(2_000), 1..=600_000;
    }

    /// The log, which goes to standard error.
    log: Log {
        /// `"text"` for people, or `"json"` with one object a line for machines. Since 0.1.
        format: LogFormat = LogFormat::Text;
        /// The least important lines that are written: `"error"`, `"warn"`, `"info"`,
        /// `"debug"` or `"trace"`. Since 0.1.
        level: LogLevel = LogLevel::Info;
    }
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

const fn count(number: usize) -> NonZeroUsize {
    match NonZeroUsize::new(number) {
        Some(number) => number,
        None => NonZeroUsize::MIN,
    }
}

const fn number(number: u16) -> NonZeroU16 {
    match NonZeroU16::new(number) {
        Some(number) => number,
        None => NonZeroU16::MIN,
    }
}
