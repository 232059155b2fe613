//! Every status that a caller receives has a code and a reason, regardless of its origin.

use motorium_kit::client::{self, Channel};
use motorium_kit::limits::Limits;
use motorium_proto::error::{ErrorReport, reason};
use tonic::Code;

use crate::probe::{self, call, channel, code_and_reason, foreign, plain, read, with_timeout};

fn nothing() -> tonic::Request<Vec<u8>> {
    tonic::Request::new(Vec::new())
}

#[tokio::test]
async fn oversize_request_from_a_foreign_client_is_refused() {
    let (server, _) = plain().await;
    let status = call(foreign(&server).await, "Echo", &vec![0; 5 << 20])
        .await
        .unwrap_err();
    let report = ErrorReport::from_status(&status);
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::ResourceExhausted, reason::MESSAGE_TOO_LARGE)
    );
    assert_eq!(report.metadata["limit"], (4 << 20).to_string());
}

#[tokio::test]
async fn client_does_not_send_oversize_requests() {
    let (server, probe) = plain().await;
    let answer = call(channel(&server), "Echo", &vec![0; 17 << 20]).await;
    assert_eq!(
        code_and_reason(answer),
        (
            Code::ResourceExhausted,
            reason::MESSAGE_TOO_LARGE.to_owned()
        )
    );
    assert_eq!(probe.seen().borrow().entered, 0);
    // The connection is still usable.
    assert_eq!(
        call(channel(&server), "Echo", b"still there")
            .await
            .unwrap(),
        b"still there"
    );
}

#[tokio::test]
async fn client_rejects_oversize_responses() {
    let (server, _) = plain().await;
    let limits = Limits {
        message_bytes: 1000,
        ..Limits::default()
    };
    let config = client::Config {
        limits,
        ..client::Config::new(probe::uri(&server))
    };
    let small = Channel::connect_lazy(&config).unwrap();
    let answer = call(small.clone(), "Blow", b"2000").await;
    assert_eq!(
        code_and_reason(answer),
        (
            Code::ResourceExhausted,
            reason::MESSAGE_TOO_LARGE.to_owned()
        )
    );
    assert_eq!(call(small, "Blow", b"900").await.unwrap().len(), 900);
}

#[tokio::test]
async fn methods_and_services_that_are_not_there() {
    let (server, _) = plain().await;
    let mut grpc = tonic::client::Grpc::new(foreign(&server).await);
    for path in ["/kit.test.v1.ProbeService/Nothing", "/no.such.Service/Call"] {
        grpc.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<Vec<u8>, Vec<u8>>::default();
        let answer = grpc.unary(nothing(), path.parse().unwrap(), codec).await;
        assert_eq!(
            code_and_reason(answer),
            (Code::Unimplemented, reason::NOT_SERVED.to_owned()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn reason_is_added_only_to_statuses_without_one() {
    let (server, _) = plain().await;
    let foreign = foreign(&server).await;
    let bare = call(foreign.clone(), "Bare", b"").await;
    assert_eq!(
        code_and_reason(bare),
        (Code::Internal, reason::INTERNAL.to_owned())
    );
    let detailed = call(foreign, "Detailed", b"").await;
    assert_eq!(
        code_and_reason(detailed),
        (Code::NotFound, "THERE_IS_NONE".to_owned())
    );
}

#[tokio::test]
async fn handler_panic_fails_one_call_and_not_the_server() {
    let (server, probe) = plain().await;
    let foreign = foreign(&server).await;
    assert_eq!(
        code_and_reason(call(foreign.clone(), "Panic", b"").await),
        (Code::Internal, reason::INTERNAL.to_owned())
    );
    let (items, end) = read(foreign.clone(), "PanicLater", nothing()).await;
    assert_eq!(items, [[0]]);
    assert_eq!(
        code_and_reason(end),
        (Code::Internal, reason::INTERNAL.to_owned())
    );
    with_timeout(probe.seen().wait_for(|seen| seen.dropped == 2))
        .await
        .unwrap();
    assert_eq!(
        call(foreign, "Echo", b"still there").await.unwrap(),
        b"still there"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let (server, _) = plain().await;
    let uri = probe::uri(&server);
    server.stop().await.unwrap();
    let channel = Channel::connect_lazy(&client::Config::new(&uri)).unwrap();
    let report = ErrorReport::from_status(&call(channel, "Echo", b"").await.unwrap_err());
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::Unavailable, reason::TRANSPORT)
    );
    assert_eq!(report.metadata["endpoint"], uri);
    assert!(
        report.message.contains("refused") && report.message.contains("running"),
        "{}",
        report.message
    );
}

#[tokio::test]
async fn connection_lost_mid_stream_is_a_transport_error() {
    let (server, _) = plain().await;
    let middle = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", middle.local_addr().unwrap());
    let behind = server.local_address();
    let proxy = tokio::spawn(async move {
        let (mut near, _) = middle.accept().await.unwrap();
        let mut far = tokio::net::TcpStream::connect(behind).await.unwrap();
        tokio::io::copy_bidirectional(&mut near, &mut far).await
    });
    let channel = Channel::connect_lazy(&client::Config::new(&uri)).unwrap();
    let mut stream = probe::open(channel, "Endless", nothing()).await.unwrap();
    assert_eq!(stream.message().await.unwrap(), Some(vec![0]));
    proxy.abort();
    let report = ErrorReport::from_status(&with_timeout(stream.message()).await.unwrap_err());
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::Unavailable, reason::TRANSPORT)
    );
    assert_eq!(report.metadata["endpoint"], uri);
}

#[tokio::test]
async fn a_channel_survives_its_server_being_restarted() {
    let (server, _) = plain().await;
    let (address, channel) = (server.local_address(), channel(&server));
    call(channel.clone(), "Echo", b"1").await.unwrap();
    server.stop().await.unwrap();
    call(channel.clone(), "Echo", b"2").await.unwrap_err();

    let shutdown = motorium_kit::shutdown::Shutdown::new();
    let listen = motorium_kit::config::ListenAddress(address);
    let config = motorium_kit::server::Config {
        listen,
        ..probe::config()
    };
    let again = probe::serve(config, probe::Probe::new(&shutdown), &shutdown).await;
    assert_eq!(call(channel, "Echo", b"3").await.unwrap(), b"3");
    again.stop().await.unwrap();
}

#[tokio::test]
async fn invalid_service_addresses_are_refused() {
    for (uri, problem) in [
        ("", "address of a service"),
        ("localhost:80", "http://"),
        ("ftp://x", "http://"),
        ("http://", "address"),
    ] {
        let error = Channel::connect_lazy(&client::Config::new(uri)).unwrap_err();
        assert!(error.to_string().contains(problem), "{uri}: {error}");
    }
}
