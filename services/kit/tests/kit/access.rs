//! Authentication: tokens, TLS, client certificates.

use std::time::Duration;

use motorium_kit::callers::CallersFile;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::Secret;
use motorium_kit::connection_origin::ConnectionOrigin;
#[cfg(target_os = "linux")]
use motorium_kit::http_client;
use motorium_kit::loopback_token::LoopbackToken;
use motorium_kit::server::{Config, RunningServer, Tls};
use motorium_kit::shutdown::Shutdown;
use motorium_kit::socket_owner;
use motorium_proto::error::reason;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    SanType,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::probe::{self, Probe, call, channel, code_and_reason, foreign, send, with_timeout};

#[tokio::test]
async fn tokens() {
    let server = probe::serve_alone(Config {
        token: Some(Secret::new("right")),
        ..probe::config()
    })
    .await;
    let refused = (Code::Unauthenticated, reason::UNAUTHENTICATED.to_owned());
    assert_eq!(
        call(probe::with_token(&server, "right"), "Echo", b"x")
            .await
            .unwrap(),
        b"x"
    );
    assert_eq!(
        code_and_reason(call(probe::with_token(&server, "wrong"), "Echo", b"x").await),
        refused
    );
    assert_eq!(
        code_and_reason(call(channel(&server), "Echo", b"x").await),
        refused
    );
    for (header, allowed) in [
        ("bearer right", true),
        ("right", false),
        ("Basic right", false),
        ("Bearer", false),
        ("Bearer right2", false),
    ] {
        let mut request = tonic::Request::new(b"x".to_vec());
        request
            .metadata_mut()
            .insert("authorization", header.parse().unwrap());
        assert_eq!(
            send(foreign(&server).await, "Echo", request).await.is_ok(),
            allowed,
            "{header}"
        );
    }
    // Health probes of the platform have no token.
    HealthClient::new(channel(&server))
        .check(HealthCheckRequest::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_token_is_replaced_without_a_restart_and_without_a_refused_call() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "first\n").unwrap();
    let token = || Some(Secret::of_file(&file).unwrap());
    let server = probe::serve_alone(Config {
        token: token(),
        ..probe::config()
    })
    .await;
    let follower = Channel::connect_lazy(&client::Config {
        token: token(),
        ..client::Config::new(probe::uri(&server))
    });
    let follower = follower.unwrap();
    call(follower.clone(), "Echo", b"x").await.unwrap();
    std::fs::write(&file, "").unwrap();
    call(follower.clone(), "Echo", b"x").await.unwrap();
    std::fs::write(&file, "second\n").unwrap();
    let is_known = async {
        let second = probe::with_token(&server, "second");
        while call(second.clone(), "Echo", b"x").await.is_err() {
            call(follower.clone(), "Echo", b"x").await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let known = tokio::time::timeout(Duration::from_secs(20), is_known).await;
    known.expect("the new token is accepted");
    call(follower, "Echo", b"x").await.unwrap();
    for unknown in ["secon", "second2", "third"] {
        let refused = call(probe::with_token(&server, unknown), "Echo", b"x").await;
        assert!(refused.is_err(), "{unknown:?}");
    }
}

fn token_in(folder: &tempfile::TempDir) -> LoopbackToken {
    let path = folder.path().to_str().unwrap();
    LoopbackToken::of_user(|name| (name == "XDG_RUNTIME_DIR").then_some(path))
}

fn protected(folder: &tempfile::TempDir) -> Config {
    Config {
        loopback_token: Some(token_in(folder)),
        ..probe::config()
    }
}

#[tokio::test]
async fn other_users_of_the_machine_are_refused() {
    let (ours, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = probe::serve_alone(protected(&ours)).await;
    let calling = |folder| {
        let config = client::Config {
            loopback_token: Some(token_in(folder)),
            ..client::Config::new(probe::uri(&server))
        };
        Channel::connect_lazy(&config).unwrap()
    };
    assert_eq!(
        call(calling(&ours), "Echo", b"x").await.unwrap(),
        b"x",
        "the user's own programs need no setting"
    );
    // Another user has no token, or one of a server of that user.
    let other = calling(&others);
    for stage in ["without a token", "with another token"] {
        let refused = call(other.clone(), "Echo", b"x").await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated, "{stage}: {refused}");
        assert!(refused.message().contains("`motorium token`"), "{refused}");
        token_in(&others).find_or_create().unwrap();
    }
    let bare = call(foreign(&server).await, "Echo", b"x").await;
    assert_eq!(bare.unwrap_err().code(), Code::Unauthenticated);
    HealthClient::new(channel(&server))
        .check(HealthCheckRequest::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_channel_finds_the_token_that_a_later_server_has_created() {
    let folder = tempfile::tempdir().unwrap();
    let server = probe::serve_alone(protected(&folder)).await;
    let config = client::Config {
        loopback_token: Some(token_in(&folder)),
        ..client::Config::new(probe::uri(&server))
    };
    let channel = Channel::connect_lazy(&config).unwrap();
    call(channel.clone(), "Echo", b"x").await.unwrap();
    let address = server.local_address();
    server.stop().await.unwrap();
    // The end of a session removes its runtime folder.
    std::fs::remove_dir_all(folder.path().join("motorium")).unwrap();
    let again = Config {
        listen: motorium_kit::config::ListenAddress(address),
        ..protected(&folder)
    };
    let _server = probe::serve_alone(again).await;
    let refused = call(channel.clone(), "Echo", b"x").await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    call(channel, "Echo", b"x").await.unwrap();
}

/// Starts a process of another user that keeps what it receives on a port of the loopback address. Only root can.
#[cfg(target_os = "linux")]
struct Impostor {
    process: tokio::process::Child,
    port: u16,
    received: tempfile::TempDir,
}

#[cfg(target_os = "linux")]
impl Impostor {
    /// An HTTP/2 server of a few lines: it sends its settings and acknowledges those of its client, so that calls are sent to it.
    const PROGRAM: &str = "import os, socket, sys\n\
        host, port, file = sys.argv[1:]\n\
        received = open(file, 'wb', 0)\n\
        os.setuid(65534)\n\
        server = socket.create_server((host, int(port)), family=socket.AF_INET6 if ':' in host else socket.AF_INET)\n\
        print(server.getsockname()[1], flush=True)\n\
        while True:\n\
        \x20client = server.accept()[0]\n\
        \x20client.sendall(bytes([0,0,0,4,0,0,0,0,0, 0,0,0,4,1,0,0,0,0]))\n\
        \x20client.settimeout(1)\n\
        \x20try:\n\
        \x20\x20while data := client.recv(4096): received.write(data)\n\
        \x20except OSError: pass\n";

    async fn listen_on(host: &str) -> Option<Self> {
        Self::listen_at(host, 0).await
    }

    /// Starts it on this port, or on any one (0).
    async fn listen_at(host: &str, port: u16) -> Option<Self> {
        use tokio::io::{AsyncBufReadExt as _, BufReader};

        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let received = tempfile::tempdir().unwrap();
        let file = received.path().join("received");
        std::fs::write(&file, "").unwrap();
        let mut process = tokio::process::Command::new("python3")
            .args(["-c", Self::PROGRAM, host, &port.to_string()])
            .arg(&file)
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).await.unwrap();
        let port = line.trim().parse().unwrap();
        Some(Self {
            process,
            port,
            received,
        })
    }

    fn received(&self) -> Vec<u8> {
        std::fs::read(self.received.path().join("received")).unwrap()
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_token_does_not_reach_another_user_who_holds_the_port() {
    let folder = tempfile::tempdir().unwrap();
    let config = |uri: String| client::Config {
        loopback_token: Some(token_in(&folder)),
        ..client::Config::new(uri)
    };
    let Some(mut impostor) = Impostor::listen_on("127.0.0.1").await else {
        return;
    };
    let uri = format!("http://127.0.0.1:{}", impostor.port);
    // Without a token there is nothing to lose, and the connection stays open.
    let early = Channel::connect_lazy(&config(uri.clone())).unwrap();
    let open = tokio::time::timeout(
        Duration::from_millis(300),
        call(early.clone(), "Echo", b"x"),
    );
    assert!(open.await.is_err(), "it never answers");
    token_in(&folder).find_or_create().unwrap();
    let late = tokio::time::timeout(Duration::from_millis(300), call(early, "Echo", b"x"));
    assert!(late.await.is_err(), "it never answers");

    let gateway = client::Config {
        own_server: true,
        token: token_in(&folder).find().unwrap(),
        ..client::Config::new(uri.clone())
    };
    for config in [config(uri), gateway] {
        let channel = Channel::connect_lazy(&config).unwrap();
        let refused = with_timeout(call(channel, "Echo", b"x")).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
        for part in ["another user", "uid 65534", "client.token_file"] {
            assert!(refused.message().contains(part), "{refused}");
        }
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let received = impostor.received();
    assert!(
        received.starts_with(b"PRI * HTTP/2.0"),
        "calls were sent to it"
    );
    assert!(!has_authorization(&received));
    impostor.process.kill().await.unwrap();

    // An own server receives what the impostor did not.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap());
    let channel = Channel::connect_lazy(&config(uri)).unwrap();
    let calling = tokio::spawn(async move { call(channel, "Echo", b"x").await });
    let (mut connection, _) = listener.accept().await.unwrap();
    connection.write_all(&SETTINGS).await.unwrap();
    let mut received = Vec::new();
    while !has_authorization(&received) {
        with_timeout(connection.read_buf(&mut received))
            .await
            .unwrap();
    }
    calling.abort();
}

/// The settings of an HTTP/2 server, and its acknowledgement of those of the client.
const SETTINGS: [u8; 18] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];

/// Returns whether HTTP/2 headers have a secret `authorization`: a literal that is never indexed (0001) with the name 23.
fn has_authorization(received: &[u8]) -> bool {
    received.windows(2).any(|bytes| bytes == [0x1f, 23 - 15])
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn of_two_servers_of_localhost_that_of_the_user_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let Some(impostor) = Impostor::listen_on("::1").await else {
        return;
    };
    let own = Config {
        listen: format!("127.0.0.1:{}", impostor.port).parse().unwrap(),
        ..protected(&folder)
    };
    let _server = probe::serve_alone(own).await;
    // As `localhost` may lead to them.
    let addresses = ["[::1]", "127.0.0.1"].map(|host| format!("{host}:{}", impostor.port));
    let addresses = addresses.map(|address| address.parse().unwrap());
    let connected = socket_owner::connect_to_any(addresses).await.unwrap();
    assert_eq!(connected.peer_addr().unwrap(), addresses[1]);
    let refused = socket_owner::connect_to_any([addresses[0]]).await;
    assert!(refused.unwrap_err().to_string().contains("another user"));
    assert!(impostor.received().is_empty());
}

/// Answers one HTTP request, closes the connection and the port, and returns what was received.
#[cfg(target_os = "linux")]
async fn answer_once(listener: tokio::net::TcpListener) -> String {
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut received = Vec::new();
    while !received.ends_with(b"\r\n\r\n") {
        connection.read_buf(&mut received).await.unwrap();
    }
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    connection.write_all(answer).await.unwrap();
    String::from_utf8(received).unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_http_client_of_the_user_sends_nothing_to_another_user_who_takes_the_port_in_between() {
    let client = http_client::to_own_servers(http_client::plaintext().unwrap());
    let client = client.build().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let url = format!("http://{address}/");
    let send = async || {
        client
            .get(&url)
            .bearer_auth("canary-of-the-user")
            .send()
            .await
    };
    let answering = tokio::spawn(answer_once(listener));
    with_timeout(send()).await.unwrap();
    let received = answering.await.unwrap();
    assert!(received.contains("Bearer canary-of-the-user"), "{received}");

    let Some(impostor) = Impostor::listen_at("127.0.0.1", address.port()).await else {
        return;
    };
    let refused = with_timeout(send()).await.unwrap_err();
    let message = http_client::described(&refused);
    assert!(message.contains("another user (uid 65534)"), "{message}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(String::from_utf8_lossy(&impostor.received()), "");
}

#[test]
fn the_token_of_the_user_goes_to_no_other_machine_and_to_no_address_of_a_caller() {
    let folder = tempfile::tempdir().unwrap();
    token_in(&folder).find_or_create().unwrap();
    let config = |uri: &str| client::Config {
        loopback_token: Some(token_in(&folder)),
        ..client::Config::new(uri)
    };
    let sends = |config: &client::Config| config.effective_token().unwrap().is_some();
    for own in [
        "http://127.0.0.1:1",
        "https://localhost:1",
        "http://[::1]:1",
    ] {
        assert!(sends(&config(own)), "{own}");
        let named_by_a_caller = config("http://127.0.0.1:7702").for_address_of_others(own);
        assert!(!sends(&named_by_a_caller), "{own}");
    }
    for other in [
        "http://planner:1",
        "https://10.0.0.1:1",
        "http://0.0.0.0:1",
        "http://127.0.0.1@10.0.0.1:1",
        "https://localhost.example.com:1",
        "http://127.0.0.1.example.com:1",
    ] {
        assert!(!sends(&config(other)), "{other}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_token_that_others_can_read_starts_no_server() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    token_in(&folder).find_or_create().unwrap();
    let file = folder.path().join("motorium/token");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = motorium_kit::server::Builder::new(protected(&folder))
        .start(&Shutdown::new())
        .await
        .unwrap_err()
        .to_string();
    for part in [file.to_str().unwrap(), "other users can read", "remove"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn origins_are_distinguished_by_connection() {
    let this_process = format!("{:?}", ConnectionOrigin::default());
    let authority = Authority::new();
    for config in [probe::config(), authority.server(None)] {
        let is_encrypted = config.tls.is_some();
        let server = probe::serve_alone(config).await;
        let connect = || match is_encrypted {
            true => Channel::connect_lazy(&authority.client(&server)).unwrap(),
            false => channel(&server),
        };
        let (one, other) = (connect(), connect());
        let mut origins = Vec::new();
        for channel in [one.clone(), one, other] {
            let origin = with_timeout(call(channel, "Origin", b"")).await.unwrap();
            origins.push(String::from_utf8(origin).unwrap());
        }
        assert_eq!(origins[0], origins[1]);
        assert_ne!(origins[1], origins[2]);
        assert!(!origins.contains(&this_process), "{origins:?}");
    }
}

/// An authority that signs one certificate for the server and one for a client.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Returns a certificate with one name, a URI or a DNS name.
    pub(crate) fn client_certificate(&self, name: &str) -> (String, Secret) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let text = name.try_into().unwrap();
        params.subject_alt_names = vec![match name.contains("://") {
            true => SanType::URI(text),
            false => SanType::DnsName(text),
        }];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), Secret::new(key.serialize_pem()))
    }

    fn server_certificate(&self) -> (String, Secret) {
        let mut params =
            CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), Secret::new(key.serialize_pem()))
    }

    pub(crate) fn server(&self, client_ca: Option<String>) -> Config {
        let (certificate, key) = self.server_certificate();
        Config {
            tls: Some(Tls {
                certificate,
                key,
                client_ca,
                files: None,
            }),
            ..probe::config()
        }
    }

    pub(crate) fn client(&self, server: &RunningServer) -> client::Config {
        let uri = format!("https://{}", server.local_address());
        client::Config {
            ca: Some(self.0.pem()),
            ..client::Config::new(uri)
        }
    }
}

async fn echo(config: &client::Config) -> Result<Vec<u8>, tonic::Status> {
    with_timeout(call(Channel::connect_lazy(config).unwrap(), "Echo", b"x")).await
}

#[tokio::test]
async fn tls() {
    let (ours, others) = (Authority::new(), Authority::new());
    let server = probe::serve_alone(ours.server(None)).await;
    assert_eq!(echo(&ours.client(&server)).await.unwrap(), b"x");
    assert_eq!(
        code_and_reason(echo(&others.client(&server)).await).0,
        Code::Unavailable
    );
    assert_eq!(
        code_and_reason(echo(&client::Config::new(probe::uri(&server))).await).0,
        Code::Unavailable
    );
}

#[tokio::test]
async fn mutual_tls() {
    let (ours, others) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let callers = folder.path().join("callers.toml");
    let caller =
        "[[caller]]\nname = 'client'\nroles = ['author']\ncertificate = 'client.example.com'";
    std::fs::write(&callers, caller).unwrap();
    let server = probe::serve_alone(Config {
        callers: Some(CallersFile::load(&callers).unwrap()),
        ..ours.server(Some(ours.0.pem()))
    })
    .await;
    let with = |identity| client::Config {
        identity,
        ..ours.client(&server)
    };
    let client = |authority: &Authority| Some(authority.client_certificate("client.example.com"));
    assert_eq!(echo(&with(client(&ours))).await.unwrap(), b"x");
    assert_eq!(
        code_and_reason(echo(&with(client(&others))).await).0,
        Code::Unavailable
    );
    assert_eq!(
        code_and_reason(echo(&with(None)).await).0,
        Code::Unavailable
    );
    let unlisted = Some(ours.client_certificate("printer.example.com"));
    assert_eq!(
        code_and_reason(echo(&with(unlisted)).await).0,
        Code::Unauthenticated
    );
}

#[tokio::test]
async fn invalid_certificates_are_refused() {
    let tls = Tls {
        certificate: "nothing".to_owned(),
        key: Secret::new("nothing"),
        client_ca: None,
        files: None,
    };
    let shutdown = Shutdown::new();
    let error = motorium_kit::server::Builder::new(Config {
        tls: Some(tls),
        ..probe::config()
    })
    .service(Probe::new(&shutdown), probe::descriptors())
    .start(&shutdown)
    .await
    .unwrap_err()
    .to_string();
    assert!(error.contains("TLS certificate and key"), "{error}");
}
