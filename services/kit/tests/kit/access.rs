//! Authentication: tokens, TLS, client certificates.

use motorium_kit::caller::Caller;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::Secret;
use motorium_kit::loopback_token::LoopbackToken;
use motorium_kit::server::{Config, RunningServer, Tls};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::reason;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    SanType,
};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::probe::{self, Probe, call, channel, code_and_reason, foreign, send, with_timeout};

async fn serve(config: Config) -> RunningServer {
    let shutdown = Shutdown::new();
    probe::serve(config, Probe::new(&shutdown), &shutdown).await
}

fn with_token(server: &RunningServer, token: &str) -> Channel {
    let config = client::Config {
        token: Some(Secret::new(token)),
        ..client::Config::new(probe::uri(server))
    };
    Channel::connect_lazy(&config).unwrap()
}

#[tokio::test]
async fn tokens() {
    let server = serve(Config {
        token: Some(Secret::new("right")),
        ..probe::config()
    })
    .await;
    let refused = (Code::Unauthenticated, reason::UNAUTHENTICATED.to_owned());
    assert_eq!(
        call(with_token(&server, "right"), "Echo", b"x")
            .await
            .unwrap(),
        b"x"
    );
    assert_eq!(
        code_and_reason(call(with_token(&server, "wrong"), "Echo", b"x").await),
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
    let server = serve(protected(&ours)).await;
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
    let server = serve(protected(&folder)).await;
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
    let _server = serve(again).await;
    let refused = call(channel.clone(), "Echo", b"x").await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    call(channel, "Echo", b"x").await.unwrap();
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
async fn callers_are_distinguished_by_connection() {
    let nobody = format!("{:?}", Caller::default());
    let authority = Authority::new();
    for config in [probe::config(), authority.server(None)] {
        let is_encrypted = config.tls.is_some();
        let server = serve(config).await;
        let connect = || match is_encrypted {
            true => Channel::connect_lazy(&authority.client(&server)).unwrap(),
            false => channel(&server),
        };
        let (one, other) = (connect(), connect());
        let mut callers = Vec::new();
        for channel in [one.clone(), one, other] {
            let caller = with_timeout(call(channel, "Caller", b"")).await.unwrap();
            callers.push(String::from_utf8(caller).unwrap());
        }
        assert_eq!(callers[0], callers[1]);
        assert_ne!(callers[1], callers[2]);
        assert!(!callers.contains(&nobody), "{callers:?}");
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

    fn certificate(&self, usage: ExtendedKeyUsagePurpose) -> (String, Secret) {
        let mut params =
            CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), Secret::new(key.serialize_pem()))
    }

    pub(crate) fn server(&self, client_ca: Option<String>) -> Config {
        let (certificate, key) = self.certificate(ExtendedKeyUsagePurpose::ServerAuth);
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
    let server = serve(ours.server(None)).await;
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
    let server = serve(ours.server(Some(ours.0.pem()))).await;
    let with = |identity| client::Config {
        identity,
        ..ours.client(&server)
    };
    let client =
        |authority: &Authority| Some(authority.certificate(ExtendedKeyUsagePurpose::ClientAuth));
    assert_eq!(echo(&with(client(&ours))).await.unwrap(), b"x");
    assert_eq!(
        code_and_reason(echo(&with(client(&others))).await).0,
        Code::Unavailable
    );
    assert_eq!(
        code_and_reason(echo(&with(None)).await).0,
        Code::Unavailable
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
