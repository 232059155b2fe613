//! Registry of mounted services: routes, names and descriptors, kept together so that they cannot diverge.

use std::collections::BTreeSet;
use std::convert::Infallible;

use http::{Request, Response};
use prost::Message as _;
use prost_types::{FileDescriptorSet, ServiceDescriptorProto};
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::{Routes, RoutesBuilder};
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tonic_reflection::pb::{v1, v1alpha};
use tower::Service;

use super::Error;
use crate::authorisation::AuthorisationTable;

/// A generated service that tonic's router accepts.
pub trait Mountable:
    Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>
    + NamedService
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Mountable for S where
    S: Service<
            Request<Body>,
            Response = Response<Body>,
            Error = Infallible,
            Future: Send + 'static,
        > + NamedService
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Services to be mounted.
#[derive(Debug, Default)]
pub(super) struct Registry {
    routes: RoutesBuilder,
    names: Vec<String>,
    duplicate: Option<String>,
    descriptors: Vec<&'static [u8]>,
}

impl Registry {
    pub(super) fn mount<S: Mountable>(&mut self, service: S, descriptors: &'static [u8]) {
        // The router panics on a duplicate path, so the duplicate is recorded and returned as an error later.
        if self.names.iter().any(|name| name == S::NAME) {
            self.duplicate = Some(S::NAME.to_owned());
            return;
        }
        self.routes.add_service(service);
        self.names.push(S::NAME.to_owned());
        if !self.descriptors.contains(&descriptors) {
            self.descriptors.push(descriptors);
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the routes of all mounted services, plus health and reflection.
    ///
    /// # Errors
    /// If a service is mounted twice, or its descriptors or the roles of its methods are missing.
    pub(super) fn into_routes(
        self,
        health: &HealthReporter,
        authorisation: &AuthorisationTable,
    ) -> Result<Routes, Error> {
        if let Some(service) = self.duplicate {
            return Err(Error::Mount {
                service,
                problem: "it is already mounted".to_owned(),
            });
        }
        self.check_descriptors(authorisation)?;
        let mut routes = self.routes.clone();
        routes.add_service(HealthServer::new(HealthService::from_health_reporter(
            health.clone(),
        )));
        let unusable = |error: tonic_reflection::server::Error| Error::Mount {
            service: "reflection".to_owned(),
            problem: error.to_string(),
        };
        routes.add_service(self.reflection().build_v1().map_err(unusable)?);
        routes.add_service(self.reflection().build_v1alpha().map_err(unusable)?);
        Ok(routes.routes())
    }

    fn reflection(&self) -> tonic_reflection::server::Builder<'static> {
        let infrastructure = [
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ];
        let described = [
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            v1::FILE_DESCRIPTOR_SET,
            v1alpha::FILE_DESCRIPTOR_SET,
        ];
        let mut builder =
            tonic_reflection::server::Builder::configure().include_reflection_service(false);
        for set in self.descriptors.iter().copied().chain(described) {
            builder = builder.register_encoded_file_descriptor_set(set);
        }
        let names: BTreeSet<&str> = self
            .names
            .iter()
            .map(String::as_str)
            .chain(infrastructure)
            .collect();
        names.into_iter().fold(
            builder,
            tonic_reflection::server::Builder::with_service_name,
        )
    }

    /// Checks that the descriptors have every mounted service, because otherwise reflection would list a service it cannot
    /// describe; and that the table has every method, because otherwise its calls would be refused.
    fn check_descriptors(&self, authorisation: &AuthorisationTable) -> Result<(), Error> {
        let mut described = BTreeSet::new();
        for set in &self.descriptors {
            let set = FileDescriptorSet::decode(*set).map_err(|error| Error::Mount {
                service: self.names.join(", "),
                problem: error.to_string(),
            })?;
            for file in set.file {
                let package = file.package().to_owned();
                for service in &file.service {
                    let name = format!("{package}.{}", service.name());
                    if self.names.contains(&name) {
                        check_methods(&name, service, authorisation)?;
                    }
                    described.insert(name);
                }
            }
        }
        match self.names.iter().find(|name| !described.contains(*name)) {
            Some(service) => {
                let problem = "its descriptors do not describe it".to_owned();
                Err(Error::Mount {
                    service: service.clone(),
                    problem,
                })
            }
            None => Ok(()),
        }
    }
}

fn check_methods(
    name: &str,
    service: &ServiceDescriptorProto,
    authorisation: &AuthorisationTable,
) -> Result<(), Error> {
    let mut methods = service.method.iter();
    let unlisted =
        methods.find(|method| !authorisation.lists(&format!("/{name}/{}", method.name())));
    match unlisted {
        Some(method) => Err(Error::Mount {
            service: name.to_owned(),
            problem: format!(
                "its method {} has no line in the authorisation table",
                method.name()
            ),
        }),
        None => Ok(()),
    }
}
