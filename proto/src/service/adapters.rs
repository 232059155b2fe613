//! Expansions of a service's definition: its trait, its tonic server and its tonic client.
//!
//! A definition is a macro, such as [`perception_service!`](crate::perception_service), that passes the methods of a
//! service to the macro it is given. Each method is one line:
//!
//! ```text
//! KIND RECORDED fn METHOD(ARGUMENT: REQUEST) -> RESPONSE = rpc NAME(MESSAGE) returns MESSAGE as STREAM;
//! ```
//!
//! - `KIND` is `unary`, `stream` (the response is a stream of values), `upload` (the request is one value in several
//!   messages, see [`Chunked`](crate::service::Chunked)) or `download` (the response is such a value).
//! - `RECORDED` is `recorded` if the method belongs to the recording of a run: the run loop calls it, and waits for the
//!   response. Otherwise `unrecorded`.
//! - `as STREAM` names the stream type of the generated tonic trait, if the response is streamed.
//!
//! Domain types and messages convert into each other in [`crate::convert`]. The types are resolved where the definition
//! is expanded, so that `use motorium_proto::service::definition::*` belongs beside an expansion in another crate.

/// Expands to the trait of a service. Its methods return `NOT_SERVED` unless they are implemented.
macro_rules! service_trait {
    (
        $(#[$about:meta])*
        service $Service:ident in $module:ident {
            proto $proto:literal;
            transport $transport:tt;
            $(
                $(#[$doc:meta])*
                $kind:ident $recorded:ident fn $method:ident($($arg:ident: $Request:ty)?) -> $Response:ty
                    = rpc $rpc:ident($In:ident) returns $Out:ident $(as $Stream:ident)?;
            )+
        }
    ) => {
        $(#[$about])*
        ///
        /// A method that an implementation lacks returns `NOT_SERVED`.
        #[async_trait::async_trait]
        pub trait $Service: Send + Sync + 'static {
            $(
                $(#[$doc])*
                async fn $method(&self $(, $arg: $Request)?) -> $crate::service::Result<$Response> {
                    $(let _ = $arg;)?
                    Err($crate::service::not_served(stringify!($rpc)))
                }
            )+
        }
    };
}

/// Expands to the server of a service, which serves an implementation of its trait over gRPC.
macro_rules! service_server {
    (
        $(#[$about:meta])*
        service $Service:ident in $module:ident {
            proto $proto:literal;
            transport {
                server $Server:ident($Tonic:ident, $TonicServer:ident, $server_limit:ident);
                client $Client:ident($TonicClient:ident, $client_limit:ident);
            };
            $(
                $(#[$doc:meta])*
                $kind:ident $recorded:ident fn $method:ident($($arg:ident: $Request:ty)?) -> $Response:ty
                    = rpc $rpc:ident($In:ident) returns $Out:ident $(as $Stream:ident)?;
            )+
        }
    ) => {
        #[doc = concat!("Serves [`", stringify!($Service), "`] over gRPC.")]
        #[derive(Clone)]
        pub struct $Server {
            inner: std::sync::Arc<dyn $Service>,
        }

        impl std::fmt::Debug for $Server {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($Server)).finish_non_exhaustive()
            }
        }

        impl $Server {
            /// Returns the tonic service, with the message limits of the contract.
            pub fn tonic(inner: std::sync::Arc<dyn $Service>) -> $TonicServer<Self> {
                $TonicServer::new(Self { inner }).max_decoding_message_size($server_limit)
            }
        }

        #[async_trait::async_trait]
        impl $Tonic for $Server {
            $(
                $(type $Stream = $crate::service::WireStream<$crate::v1::$module::$Out>;)?

                async fn $method(
                    &self,
                    message: tonic::Request<wire_request!($kind $crate::v1::$module::$In)>,
                ) -> std::result::Result<
                    tonic::Response<wire_response!($kind $crate::v1::$module::$Out)>,
                    tonic::Status,
                > {
                    let inner = &self.inner;
                    let response = serve!($kind inner.$method(message $(, $Request)?)).await?;
                    Ok(tonic::Response::new(wire_value!($kind response)))
                }
            )+
        }
    };
}

/// Expands to the type of a method's request in the generated tonic trait.
macro_rules! wire_request {
    (upload $message:ty) => { tonic::Streaming<$message> };
    ($kind:ident $message:ty) => { $message };
}

/// Expands to the type of a method's response in the generated tonic trait.
macro_rules! wire_response {
    (stream $message:ty) => { $crate::service::WireStream<$message> };
    (download $message:ty) => { $crate::service::WireStream<$message> };
    ($kind:ident $message:ty) => { $message };
}

/// Calls a method of a trait with the request in a message.
macro_rules! serve {
    ($kind:ident $inner:ident.$method:ident($message:ident)) => {{
        drop($message);
        $inner.$method()
    }};
    (upload $inner:ident.$method:ident($message:ident, $Request:ty)) => {
        $inner.$method(
            $crate::service::chunked::join::<$Request>(
                $message.into_inner(),
                $crate::limits::MAX_FILE_BYTES,
            )
            .await?,
        )
    };
    ($kind:ident $inner:ident.$method:ident($message:ident, $Request:ty)) => {
        $inner.$method(<$Request>::try_from($message.into_inner())?)
    };
}

/// Converts a response to its message or messages.
macro_rules! wire_value {
    (stream $response:ident) => {
        $crate::service::to_wire($response)
    };
    (download $response:ident) => {
        $crate::service::chunked::stream($response)
    };
    ($kind:ident $response:ident) => {
        $response.into()
    };
}

/// Expands to the client of a service, which implements its trait over a channel.
macro_rules! service_client {
    (
        $(#[$about:meta])*
        service $Service:ident in $module:ident {
            proto $proto:literal;
            transport {
                server $Server:ident($Tonic:ident, $TonicServer:ident, $server_limit:ident);
                client $Client:ident($TonicClient:ident, $client_limit:ident);
            };
            $(
                $(#[$doc:meta])*
                $kind:ident $recorded:ident fn $method:ident($($arg:ident: $Request:ty)?) -> $Response:ty
                    = rpc $rpc:ident($In:ident) returns $Out:ident $(as $Stream:ident)?;
            )+
        }
    ) => {
        #[doc = concat!("[`", stringify!($Service), "`] across the network.")]
        #[derive(Debug, Clone)]
        pub struct $Client<C> {
            inner: $TonicClient<C>,
        }

        impl<C> $Client<C>
        where
            C: tonic::client::GrpcService<tonic::body::Body>,
            C::ResponseBody: tonic::codegen::Body<Data = tonic::codegen::Bytes> + Send + 'static,
            <C::ResponseBody as tonic::codegen::Body>::Error: Into<tonic::codegen::StdError> + Send,
        {
            /// Creates a client over a channel.
            pub fn new(channel: C) -> Self {
                Self {
                    inner: $TonicClient::new(channel).max_decoding_message_size($client_limit),
                }
            }
        }

        #[async_trait::async_trait]
        impl<C> $Service for $Client<C>
        where
            C: tonic::client::GrpcService<tonic::body::Body> + Clone + Send + Sync + 'static,
            C::ResponseBody: tonic::codegen::Body<Data = tonic::codegen::Bytes> + Send + 'static,
            <C::ResponseBody as tonic::codegen::Body>::Error: Into<tonic::codegen::StdError> + Send,
            C::Future: Send,
        {
            $(
                async fn $method(&self $(, $arg: $Request)?) -> $crate::service::Result<$Response> {
                    let mut client = self.inner.clone();
                    request!($kind client.$method($crate::v1::$module::$In $(, $arg)?))
                }
            )+
        }
    };
}

/// Calls a method of a generated client, and converts its response.
macro_rules! request {
    (unary $client:ident.$method:ident($message:ty)) => {
        $crate::service::response($client.$method(<$message>::default()).await)
    };
    (unary $client:ident.$method:ident($message:ty, $request:ident)) => {
        $crate::service::response($client.$method(<$message>::from($request)).await)
    };
    (stream $client:ident.$method:ident($message:ty, $request:ident)) => {
        $crate::service::from_wire($client.$method(<$message>::from($request)).await)
    };
    (upload $client:ident.$method:ident($message:ty, $request:ident)) => {{
        let messages: Vec<$message> = $crate::service::chunked::messages($request);
        $crate::service::response($client.$method(tokio_stream::iter(messages)).await)
    }};
    (download $client:ident.$method:ident($message:ty, $request:ident)) => {{
        let response = $client.$method(<$message>::from($request)).await;
        let messages = $crate::service::received(response)?;
        // Unlimited: the server has bounded the file by its own configuration.
        Ok($crate::service::chunked::join(messages, usize::MAX).await?)
    }};
}
