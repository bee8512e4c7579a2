//! What a person wants to know when the tree is up.

use std::net::SocketAddr;

use conduit_supervisor::Status;

use crate::Implementation;

/// What the banner tells besides the tree.
pub(crate) struct Banner<'a> {
    /// The servers, and the path of each.
    pub(crate) servers: Vec<(&'a Implementation, &'a str)>,
    pub(crate) endpoint: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// Whether any `Host` is let in (R13).
    pub(crate) any_host: bool,
}

impl Banner<'_> {
    /// Writes the banner; `status` lists the processes.
    pub(crate) fn text(&self, status: &Status) -> String {
        let Self {
            servers,
            endpoint,
            admin,
            any_host,
        } = self;
        let named: Vec<_> = servers
            .iter()
            .map(|(server, _)| format!("{} {}", server.name, server.version))
            .collect();
        let mut text = format!(
            "conduit {}: serving {}\n\n",
            env!("CARGO_PKG_VERSION"),
            named.join(", ")
        );
        for (_, path) in servers {
            text += &format!("  endpoint   http://{endpoint}{path}\n");
        }
        text += &format!("  admin      http://{admin}  (/metrics /healthz /readyz /status)\n\n");
        for slot in &status.slots {
            let pid = slot
                .pid
                .map_or_else(String::new, |pid| format!("  pid {pid}"));
            text += &format!("  {:<9}{pid}  {}\n", slot.slot, slot.phase);
        }
        if *any_host {
            text += "\nAny Host header is let in: http.allowed_hosts is empty.\n";
        }
        let path = servers.first().map_or("", |(_, path)| path);
        text += &format!(
            "\ntry it:\n  curl -s http://{endpoint}{path} -H 'Content-Type: application/json' \
             -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}'\n\n\
             Ctrl-C stops it.\n"
        );
        text
    }
}
