//! The user who owns the other end of a connection within this machine.
//!
//! Every user may listen on a port of the loopback address, so a port proves nothing. Linux lists the owner of every socket in
//! `/proc/net`. A connection is checked after it has been made, so that no other process can take the port in between. Other
//! systems have no such list: there this module checks nothing.
//! Invariant: on Linux, an owner that cannot be determined counts as another user.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};

use crate::blocking;

/// Tables of the sockets of this network namespace. Those of this process, because a sandbox may hide `/proc/net`.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/// State of a socket that listens, as the tables have it.
const LISTENING: &str = "0A";
/// Attempts to find the other end of a connection. The kernel may list it a moment after the connection is made.
const ATTEMPTS: u32 = 5;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(10);
const ROOT: u32 = 0;

/// The reason why a server is not taken for one of this user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server is of another user.
    #[error(
        "a process of another user (uid {uid}) listens on {server}, so the token of this user is not sent to it; stop that \
         process, or set client.token_file if it is a server of Motorium that you may call"
    )]
    OtherUser {
        /// Address of the server.
        server: SocketAddr,
        /// User of the server's process.
        uid: u32,
    },
    /// The user of the server is not known.
    #[error(
        "the user of the process that listens on {server} is not known ({problem}), so the token of this user is not sent to it; \
         set client.token_file to the token of that server"
    )]
    Unknown {
        /// Address of the server.
        server: SocketAddr,
        /// Problem with the list of sockets.
        problem: String,
    },
}

/// An error of a connection to a server of this user.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no connection.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The connection leads to a server that must not receive the token.
    #[error(transparent)]
    Owner(#[from] Error),
}

/// Connects to a server of this user or of root, who can read the token in any case.
///
/// # Errors
/// As [`connect_to_any`], or if the name of the host is not known.
pub async fn connect(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    connect_to_any(lookup_host((host, port)).await?).await
}

/// Connects to the first of these addresses, those of one host, at which a server of this user or of root listens.
///
/// # Errors
/// If no address takes the connection, or only servers of other users do.
pub async fn connect_to_any(
    addresses: impl IntoIterator<Item = SocketAddr>,
) -> Result<TcpStream, ConnectError> {
    let mut refused = None;
    for address in addresses {
        let error = match connect_to(address).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        // A server of another user says more than one that is not there.
        if refused.is_none() || matches!(error, ConnectError::Owner(_)) {
            refused = Some(error);
        }
    }
    Err(refused.unwrap_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound).into()))
}

async fn connect_to(address: SocketAddr) -> Result<TcpStream, ConnectError> {
    let connection = TcpStream::connect(address).await?;
    check(&connection).await?;
    Ok(connection)
}

/// Checks that the server at the other end of a connection is of this user or of root.
async fn check(connection: &TcpStream) -> Result<(), ConnectError> {
    let (client, server) = (connection.local_addr()?, connection.peer_addr()?);
    Ok(check_ends(client, server).await?)
}

/// Checks that the server of the open connection between these addresses is of this user or of root.
///
/// # Errors
/// If it is of another user, or its user is not known.
pub async fn check_ends(client: SocketAddr, server: SocketAddr) -> Result<(), Error> {
    let Some(own) = own_user() else {
        return Ok(());
    };
    let mut problem = String::new();
    for _ in 0..ATTEMPTS {
        match blocking::run(move || owner(client, server)).await {
            Ok(Some(uid)) if uid == own || uid == ROOT => return Ok(()),
            Ok(Some(uid)) => return Err(Error::OtherUser { server, uid }),
            Ok(None) => "its socket is not listed".clone_into(&mut problem),
            Err(error) => problem = error,
        }
        tokio::time::sleep(ATTEMPT_INTERVAL).await;
    }
    Err(Error::Unknown { server, problem })
}

/// Returns this user; `None` on a system that does not list the owners of sockets.
#[cfg(target_os = "linux")]
fn own_user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(not(target_os = "linux"))]
fn own_user() -> Option<u32> {
    None
}

/// Returns the user of the server's end of a connection. `None` if it is not listed.
fn owner(client: SocketAddr, server: SocketAddr) -> Result<Option<u32>, String> {
    let mut sockets = Vec::new();
    for table in TABLES {
        match std::fs::read_to_string(table) {
            Ok(text) => sockets.extend(text.lines().filter_map(parsed)),
            // Without IPv6 there is no such table.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{table}: {error}")),
        }
    }
    Ok(owner_in(&sockets, client, server))
}

/// A socket of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    local: SocketAddr,
    remote: SocketAddr,
    listens: bool,
    uid: u32,
    /// False for a connection that its server has not accepted yet. It is listed as one of root.
    has_owner: bool,
}

fn owner_in(sockets: &[Socket], client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let (client, server) = (canonical(client), canonical(server));
    let end = sockets
        .iter()
        .find(|one| !one.listens && one.local == server && one.remote == client)?;
    if end.has_owner {
        return Some(end.uid);
    }
    // It waits at a socket that listens: at that of its address, or else at that of all addresses.
    let listening = |ip: IpAddr| {
        let mut listening = sockets.iter().filter(|one| one.listens);
        listening.find(|one| one.local == SocketAddr::new(ip, server.port()))
    };
    let of_family = match server {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let waits = listening(server.ip()).or_else(|| listening(of_family));
    // Sockets for all addresses of IPv6 take connections of IPv4, too.
    let waits = waits.or_else(|| listening(IpAddr::V6(Ipv6Addr::UNSPECIFIED)));
    waits.map(|one| one.uid)
}

/// Parses a line of a table: its columns are number, local address, remote address, state, queues, timer, retransmissions, user,
/// timeout and inode.
fn parsed(line: &str) -> Option<Socket> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [_, local, remote, state, _, _, _, uid, _, inode, ..] = columns.as_slice() else {
        return None;
    };
    Some(Socket {
        local: parsed_address(local)?,
        remote: parsed_address(remote)?,
        listens: *state == LISTENING,
        uid: uid.parse().ok()?,
        has_owner: *inode != "0",
    })
}

/// Parses an address and a port in hexadecimal. The address consists of words in the byte order of the machine.
fn parsed_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let mut bytes = Vec::new();
    for start in (0..address.len()).step_by(8) {
        let word = u32::from_str_radix(address.get(start..start + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(canonical(SocketAddr::new(ip, port)))
}

/// Returns an address without the form that IPv4 has within IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(all(test, target_os = "linux", target_endian = "little"))]
mod tests {
    use super::*;

    const CLIENT: &str = "127.0.0.1:50000";
    const SERVER: &str = "127.0.0.1:7700";

    fn line(local: &str, remote: &str, state: &str, uid: u32, inode: u32) -> Socket {
        let line = format!(
            "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {uid:5}        0 {inode} 1 0000000000000000"
        );
        parsed(&line).unwrap()
    }

    fn found(sockets: &[Socket], server: &str) -> Option<u32> {
        owner_in(sockets, CLIENT.parse().unwrap(), server.parse().unwrap())
    }

    #[test]
    fn the_owner_of_the_other_end_is_found() {
        // 0x1E14 is 7700, 0xC350 is 50000.
        let ours = line("0100007F:C350", "0100007F:1E14", "01", 1000, 5);
        let theirs = line("0100007F:1E14", "0100007F:C350", "01", 1001, 6);
        assert_eq!(found(&[ours, theirs], SERVER), Some(1001));
        assert_eq!(found(&[ours], SERVER), None, "not our own end");
        let mapped = line(
            "0000000000000000FFFF00000100007F:1E14",
            "0000000000000000FFFF00000100007F:C350",
            "01",
            1002,
            6,
        );
        assert_eq!(found(&[mapped], SERVER), Some(1002));
        assert_eq!(found(&[mapped], "[::ffff:127.0.0.1]:7700"), Some(1002));
    }

    #[test]
    fn a_connection_that_is_not_accepted_yet_is_of_the_user_who_listens() {
        let waits = line("0100007F:1E14", "0100007F:C350", "01", 0, 0);
        let one = line("0100007F:1E14", "00000000:0000", "0A", 1001, 7);
        let all = line("00000000:1E14", "00000000:0000", "0A", 1002, 8);
        let all_v6 = line(
            "00000000000000000000000000000000:1E14",
            "00000000000000000000000000000000:0000",
            "0A",
            1003,
            9,
        );
        let other_port = line("0100007F:1E15", "00000000:0000", "0A", 1004, 10);
        assert_eq!(found(&[waits, all_v6, all, one], SERVER), Some(1001));
        assert_eq!(found(&[waits, all_v6, all], SERVER), Some(1002));
        assert_eq!(found(&[waits, all_v6], SERVER), Some(1003));
        assert_eq!(found(&[waits, other_port], SERVER), None);
    }

    #[test]
    fn other_lines_are_no_sockets() {
        for text in [
            "",
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
            "0: zz:1E14 0100007F:C350 01 0:0 00:0 0 1000 0 5",
            "0: 0100007F 0100007F:C350 01 0:0 00:0 0 1000 0 5",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[tokio::test]
    async fn a_server_of_this_process_is_one_of_this_user() {
        for host in ["127.0.0.1", "localhost"] {
            let listener = std::net::TcpListener::bind((host, 0)).unwrap();
            // Nothing accepts the connection.
            let port = listener.local_addr().unwrap().port();
            connect(host, port).await.unwrap();
        }
    }
}
