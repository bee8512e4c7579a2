//! The servers of one binary, and where each is served (R37).

use std::fmt;
use std::sync::Arc;

use crate::failure::Failure;
use crate::{IntoServer, InvalidServer, Server};

/// Several servers for one binary, see [`run_several`](crate::run_several).
///
/// Each is served at `/NAME/mcp` and has sessions, subscriptions and metrics of its own.
/// Its name is a part of that path: 1 to 64 of `[A-Za-z0-9._-]`, and no other has it.
#[must_use = "nothing is served before `run_several`"]
#[derive(Default)]
pub struct Servers {
    builds: Vec<Build>,
}

/// A set of servers cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidServers {
    /// There is none.
    #[error("there is no server")]
    None,
    /// A name cannot be a part of a path.
    #[error("the server name `{name}` is not 1 to 64 of A-Z, a-z, 0-9, `.`, `_`, `-`")]
    Name {
        /// The name.
        name: String,
    },
    /// Two have one name.
    #[error("two servers are called `{name}`")]
    SameName {
        /// Their name.
        name: String,
    },
}

impl Servers {
    /// Begins with none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a server.
    pub fn with(mut self, server: impl IntoServer + 'static) -> Self {
        self.builds.push(Box::new(|| {
            let server = server.into_server()?;
            Ok(Arc::new(server) as Arc<dyn Server>)
        }));
        self
    }

    pub(crate) fn build(self) -> Result<Vec<Arc<dyn Server>>, Failure> {
        let servers: Vec<_> = self
            .builds
            .into_iter()
            .map(|build| build().map_err(Failure::server))
            .collect::<Result<_, _>>()?;
        check(&servers).map_err(Failure::server)?;
        Ok(servers)
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Servers({})", self.builds.len())
    }
}

/// Returns where each server is served: alone at `/mcp`, else at `/NAME/mcp`.
pub(crate) fn paths(servers: &[Arc<dyn Server>]) -> Vec<String> {
    if servers.len() == 1 {
        return vec!["/mcp".to_owned()];
    }
    let names = servers.iter().map(|server| &server.implementation().name);
    names.map(|name| format!("/{name}/mcp")).collect()
}

/// Finds the one server that a pipe is for.
pub(crate) fn choose(
    servers: Vec<Arc<dyn Server>>,
    name: Option<&str>,
) -> Result<Arc<dyn Server>, Failure> {
    let names: Vec<_> = servers
        .iter()
        .map(|server| server.implementation().name.clone())
        .collect();
    let only = servers.len() == 1;
    let mut chosen = servers.into_iter().filter(|server| match name {
        Some(name) => server.implementation().name == name,
        None => only,
    });
    chosen.next().ok_or_else(|| {
        let known = names.join(", ");
        Failure::unknown_server(format!("--server has to be one of: {known}").into())
    })
}

// === Behind the set ===

type Build = Box<dyn FnOnce() -> Result<Arc<dyn Server>, InvalidServer>>;

fn check(servers: &[Arc<dyn Server>]) -> Result<(), InvalidServers> {
    let names: Vec<_> = servers
        .iter()
        .map(|server| server.implementation().name.as_str())
        .collect();
    match *names {
        [] => return Err(InvalidServers::None),
        // Its name is in no path.
        [_] => return Ok(()),
        _ => {}
    }
    for (place, &name) in names.iter().enumerate() {
        if !is_part_of_a_path(name) {
            let name = name.to_owned();
            return Err(InvalidServers::Name { name });
        }
        if names.iter().take(place).any(|other| *other == name) {
            let name = name.to_owned();
            return Err(InvalidServers::SameName { name });
        }
    }
    Ok(())
}

fn is_part_of_a_path(name: &str) -> bool {
    let fits = (1..=64).contains(&name.len()) && !matches!(name, "." | "..");
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    fits && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use conduit_server::Toolbox;

    use super::*;

    fn servers(names: &[&str]) -> Vec<Arc<dyn Server>> {
        let server = |name: &&str| {
            let built = Toolbox::builder(*name, "1").build().expect("a server");
            Arc::new(built) as Arc<dyn Server>
        };
        names.iter().map(server).collect()
    }

    #[test]
    fn one_server_is_at_the_usual_place_whatever_its_name() {
        let one = servers(&["my server"]);

        assert_eq!(check(&one), Ok(()));
        assert_eq!(paths(&one), ["/mcp"]);
    }

    #[test]
    fn several_servers_are_each_under_their_name() {
        let two = servers(&["a", "b-2"]);

        assert_eq!(check(&two), Ok(()));
        assert_eq!(paths(&two), ["/a/mcp", "/b-2/mcp"]);
    }

    #[test]
    fn names_that_cannot_be_told_apart_or_are_no_path_are_refused() {
        let same = InvalidServers::SameName { name: "a".into() };
        assert_eq!(check(&servers(&["a", "b", "a"])), Err(same));
        for name in ["a b", "", "..", "a/b"] {
            let wrong = InvalidServers::Name { name: name.into() };
            assert_eq!(check(&servers(&["a", name])), Err(wrong));
        }
        assert_eq!(check(&[]), Err(InvalidServers::None));
    }

    #[test]
    fn a_pipe_is_for_one_server() {
        let name = |chosen: Result<Arc<dyn Server>, Failure>| {
            chosen
                .map(|server| server.implementation().name.clone())
                .ok()
        };

        assert_eq!(name(choose(servers(&["a"]), None)), Some("a".to_owned()));
        assert_eq!(name(choose(servers(&["a", "b"]), None)), None);
        let chosen = choose(servers(&["a", "b"]), Some("b"));
        assert_eq!(name(chosen), Some("b".to_owned()));
    }
}
