//! Callers with names: a header of each call says on whose behalf it is made.
//!
//! It stands in for the authentication of the server, which has tests of its own. A call without the header is made by the
//! principal that the server found.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use motorium_kit::principal::{Identity, Principal, Role};
use motorium_orchestrator::edge::Edge;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use motorium_proto::v1::orchestrator::orchestrator_service_server::OrchestratorServiceServer;
use tonic::body::Body;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::server::NamedService;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request as Call, Status};
use tower::Service;

use super::cluster::Cluster;

/// Header with the name, the tenant and the roles of a caller.
const HEADER: &str = "x-test-principal";
/// Value of the header for calls that are carried out in a task that their handler has spawned.
pub(crate) const SPAWNED: &str = "spawned";

/// The service of an orchestrator, on behalf of the callers that the header names.
#[derive(Debug, Clone)]
pub(crate) struct NamedCallers(pub(crate) OrchestratorServiceServer<Edge>);

impl NamedService for NamedCallers {
    const NAME: &'static str = OrchestratorServiceServer::<Edge>::NAME;
}

impl Service<Request<Body>> for NamedCallers {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Body>>::poll_ready(&mut self.0, cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let header = request.headers().get(HEADER).cloned();
        let call = self.0.call(request);
        let Some(header) = header else {
            return Box::pin(call);
        };
        if header == SPAWNED {
            let spawned = tokio::spawn(call);
            return Box::pin(async { spawned.await.expect("the handler does not panic") });
        }
        let principal = parse(header.to_str().expect("the header is a text"));
        Box::pin(principal.scope(call))
    }
}

fn parse(header: &str) -> Principal {
    let [name, tenant, roles] = header.split('/').collect::<Vec<_>>().try_into().unwrap();
    let role = |name: &str| {
        let known = Role::ALL.into_iter().find(|role| role.name() == name);
        known.expect("a known role")
    };
    Principal::new(Identity {
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        roles: roles.split('+').map(role).collect(),
    })
}

/// A user's connection with a name.
pub(crate) type NamedClient = OrchestratorServiceClient<InterceptedService<Channel, AddHeader>>;

/// Adds the header to each call.
#[derive(Debug, Clone)]
pub(crate) struct AddHeader(MetadataValue<Ascii>);

impl tonic::service::Interceptor for AddHeader {
    fn call(&mut self, mut call: Call<()>) -> Result<Call<()>, Status> {
        call.metadata_mut().insert(HEADER, self.0.clone());
        Ok(call)
    }
}

impl Cluster {
    /// Returns a connection of the caller `name/tenant/roles`, with several roles joined by `+`.
    pub(crate) fn client_as(&self, caller: &str) -> NamedClient {
        let url = format!("http://{}", self.address());
        let channel = Endpoint::from_shared(url).unwrap().connect_lazy();
        let header = AddHeader(caller.parse().unwrap());
        OrchestratorServiceClient::with_interceptor(channel, header)
    }
}
