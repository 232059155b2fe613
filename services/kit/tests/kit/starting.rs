//! A server either starts or returns an error with a remedy.

use motorium_kit::client;
use motorium_kit::config::{ListenAddress, Secret};
use motorium_kit::server::{Builder, Config, Error, Tls};
use motorium_kit::shutdown::Shutdown;

use crate::probe::{self, Probe, call, channel, descriptors};

fn builder(config: Config) -> Builder {
    Builder::new(config).service(Probe::new(&Shutdown::new()), descriptors())
}

fn listening(on: &str) -> Config {
    Config {
        listen: on.parse().unwrap(),
        ..probe::config()
    }
}

async fn refusal(builder: Builder) -> Error {
    builder
        .start(&Shutdown::new())
        .await
        .expect_err("the server should not start")
}

#[tokio::test]
async fn port_zero_picks_and_reports_a_free_port() {
    let (server, _) = probe::plain().await;
    assert_ne!(server.local_address().port(), 0);
    assert_eq!(call(channel(&server), "Echo", b"x").await.unwrap(), b"x");
}

#[tokio::test]
async fn a_given_listener_is_used() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = builder(probe::config())
        .start_on(listener, &Shutdown::new())
        .await
        .unwrap();
    assert_eq!(server.local_address(), address);
}

#[tokio::test]
async fn a_server_of_this_process_needs_no_socket() {
    let (server, connector) = builder(probe::config())
        .start_in_memory(&Shutdown::new())
        .await
        .unwrap();
    let config = client::Config::new("http://in-process");
    let channel = client::Channel::in_memory(connector, &config).unwrap();
    assert_eq!(call(channel.clone(), "Echo", b"x").await.unwrap(), b"x");
    assert_eq!(
        server.local_address().port(),
        0,
        "a port was opened where none is needed"
    );

    server.stop().await.unwrap();
    let error = call(channel, "Echo", b"x").await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::Unavailable, "{error}");
}

#[tokio::test]
async fn a_taken_port() {
    let (server, _) = probe::plain().await;
    let taken = Config {
        listen: ListenAddress(server.local_address()),
        ..probe::config()
    };
    let error = refusal(builder(taken)).await.to_string();
    assert!(
        error.contains(&server.local_address().to_string()) && error.contains("taken"),
        "{error}"
    );
}

#[tokio::test]
async fn an_address_of_another_machine() {
    // TEST-NET-1 is reserved for documentation, so no machine has this address.
    let config = Config {
        token: Some(Secret::new("t")),
        ..listening("192.0.2.1:7411")
    };
    let error = refusal(builder(config)).await.to_string();
    assert!(
        error.contains("192.0.2.1:7411") && error.contains("address of this machine"),
        "{error}"
    );
}

#[tokio::test]
async fn unprotected_public_address_is_refused() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let error = refusal(builder(listening(address))).await.to_string();
        assert!(
            error.contains("without client authentication") && error.contains("server.token_file"),
            "{error}"
        );
    }
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = builder(probe::config())
        .start_on(listener, &Shutdown::new())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Exposed { .. }));

    let guarded = Config {
        token: Some(Secret::new("t")),
        ..listening("0.0.0.0:0")
    };
    builder(guarded).start(&Shutdown::new()).await.unwrap();
}

#[tokio::test]
async fn a_server_certificate_alone_does_not_protect_a_public_address() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = certified.cert.pem();
    let tls = |client_ca| Config {
        tls: Some(Tls {
            certificate: pem.clone(),
            key: Secret::new(certified.signing_key.serialize_pem()),
            client_ca,
            files: None,
        }),
        ..listening("0.0.0.0:0")
    };
    let error = refusal(builder(tls(None))).await;
    assert!(matches!(error, Error::Exposed { .. }), "{error}");
    // Neither does one that asks every client for a certificate, if nothing says what its owner may do.
    for listen in ["0.0.0.0:0", "127.0.0.1:0"] {
        let mutual = Config {
            listen: listen.parse().unwrap(),
            ..tls(Some(pem.clone()))
        };
        let error = refusal(builder(mutual.clone())).await;
        assert!(matches!(error, Error::UnnamedCertificates), "{error}");
        let named = Config {
            token: Some(Secret::new("t")),
            ..mutual
        };
        builder(named).start(&Shutdown::new()).await.unwrap();
    }
}

#[tokio::test]
async fn a_service_mounted_twice_or_without_its_descriptors() {
    let twice = builder(probe::config()).service(Probe::new(&Shutdown::new()), descriptors());
    assert!(refusal(twice).await.to_string().contains("already mounted"));
    let other = Builder::new(probe::config()).service(
        Probe::new(&Shutdown::new()),
        tonic_health::pb::FILE_DESCRIPTOR_SET,
    );
    let error = refusal(other).await.to_string();
    assert!(
        error.contains(probe::NAME) && error.contains("do not describe it"),
        "{error}"
    );
}
