//! A listening socket that nobody else shares.

use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;

/// Binds an address for us alone, and listens.
///
/// Port 0 picks a free one. The socket does not block, and children inherit it
/// only where it is handed to them. A second bind fails, whoever asks:
/// `SO_REUSEADDR` only skips the wait for connections that are over, and
/// `SO_REUSEPORT` is not set.
///
/// # Errors
///
/// [`Error::AddressUnavailable`] when the address is taken or not ours.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    let listen = || {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    listen().map_err(|source| Error::AddressUnavailable { address, source })
}

// === Behind the socket ===

/// Connections that may wait to be accepted; the kernel may hold it to fewer.
const BACKLOG: i32 = 4096;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream};

    use conduit_errors::Coded;

    use super::*;

    fn loopback(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn port_zero_becomes_a_port_that_can_be_reached() {
        let listener = bind(loopback(0)).unwrap();

        let address = listener.local_addr().unwrap();

        assert_ne!(address.port(), 0);
        TcpStream::connect(address).unwrap();
    }

    #[test]
    fn a_taken_address_is_refused_and_named() {
        let first = bind(loopback(0)).unwrap();
        let address = first.local_addr().unwrap();

        let error = bind(address).unwrap_err();

        assert_eq!(error.code().exit_status(), 69);
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        let error = bind(SocketAddr::from(([192, 0, 2, 1], 0))).unwrap_err();

        assert_eq!(error.code().exit_status(), 69);
    }

    #[test]
    fn the_socket_is_not_inherited_by_itself() {
        let listener = bind(loopback(0)).unwrap();

        let flags = rustix::io::fcntl_getfd(&listener).unwrap();

        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }
}
