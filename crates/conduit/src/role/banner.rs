//! What a person wants to know when the tree is up.

use std::net::SocketAddr;

use conduit_supervisor::Status;

use super::settings::PATH;

/// What the banner tells besides the tree.
pub(crate) struct Banner<'a> {
    pub(crate) server: &'a str,
    pub(crate) version: &'a str,
    pub(crate) endpoint: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// Whether any `Host` is let in (R13).
    pub(crate) any_host: bool,
}

impl Banner<'_> {
    /// Writes the banner; `status` lists the processes.
    pub(crate) fn text(&self, status: &Status) -> String {
        let Self {
            server,
            version,
            endpoint,
            admin,
            any_host,
        } = self;
        let mut text = format!(
            "conduit {}: serving {server} {version}\n\n  \
             endpoint   http://{endpoint}{PATH}\n  \
             admin      http://{admin}  (/metrics /healthz /readyz /status)\n\n",
            env!("CARGO_PKG_VERSION")
        );
        for slot in &status.slots {
            let pid = slot
                .pid
                .map_or_else(String::new, |pid| format!("  pid {pid}"));
            text += &format!("  {:<9}{pid}  {}\n", slot.slot, slot.phase);
        }
        if *any_host {
            text += "\nAny Host header is let in: http.allowed_hosts is empty.\n";
        }
        text += &format!(
            "\ntry it:\n  curl -s http://{endpoint}{PATH} -H 'Content-Type: application/json' \
             -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}'\n\n\
             Ctrl-C stops it.\n"
        );
        text
    }
}
