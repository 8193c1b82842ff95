//! The service of `submission.proto`, generated; its messages are in `governed::wire`.

pub mod generated {
    #![allow(unused_variables, dead_code, missing_docs, clippy::wildcard_imports, clippy::let_unit_value)]
    use tonic::codegen::*;
    /// Generated trait containing gRPC methods that should be implemented for use with SubmissionServer.
    #[async_trait]
    pub trait Submission: std::marker::Send + std::marker::Sync + 'static {
        async fn describe(
            &self,
            request: tonic::Request<governed::wire::Statement>,
        ) -> std::result::Result<tonic::Response<governed::wire::Description>, tonic::Status>;
        /// Server streaming response type for the Submit method.
        type SubmitStream: tonic::codegen::tokio_stream::Stream<Item = std::result::Result<governed::wire::Event, tonic::Status>>
            + std::marker::Send
            + 'static;
        async fn submit(
            &self,
            request: tonic::Request<governed::wire::Statement>,
        ) -> std::result::Result<tonic::Response<Self::SubmitStream>, tonic::Status>;
        async fn outline(
            &self,
            request: tonic::Request<governed::wire::Statement>,
        ) -> std::result::Result<tonic::Response<governed::wire::Progress>, tonic::Status>;
        async fn watch(
            &self,
            request: tonic::Request<governed::wire::Watching>,
        ) -> std::result::Result<tonic::Response<governed::wire::Progress>, tonic::Status>;
        async fn cluster(
            &self,
            request: tonic::Request<governed::wire::Done>,
        ) -> std::result::Result<tonic::Response<governed::wire::Members>, tonic::Status>;
    }
    #[derive(Debug)]
    pub struct SubmissionServer<T> {
        inner: Arc<T>,
        accept_compression_encodings: EnabledCompressionEncodings,
        send_compression_encodings: EnabledCompressionEncodings,
        max_decoding_message_size: Option<usize>,
        max_encoding_message_size: Option<usize>,
    }
    impl<T> SubmissionServer<T> {
        pub fn new(inner: T) -> Self {
            Self::from_arc(Arc::new(inner))
        }
        pub fn from_arc(inner: Arc<T>) -> Self {
            Self {
                inner,
                accept_compression_encodings: Default::default(),
                send_compression_encodings: Default::default(),
                max_decoding_message_size: None,
                max_encoding_message_size: None,
            }
        }
        pub fn with_interceptor<F>(inner: T, interceptor: F) -> InterceptedService<Self, F>
        where
            F: tonic::service::Interceptor,
        {
            InterceptedService::new(Self::new(inner), interceptor)
        }
        /// Enable decompressing requests with the given encoding.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.accept_compression_encodings.enable(encoding);
            self
        }
        /// Compress responses with the given encoding, if the client supports it.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.send_compression_encodings.enable(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.max_decoding_message_size = Some(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.max_encoding_message_size = Some(limit);
            self
        }
    }
    impl<T, B> tonic::codegen::Service<http::Request<B>> for SubmissionServer<T>
    where
        T: Submission,
        B: Body + std::marker::Send + 'static,
        B::Error: Into<StdError> + std::marker::Send + 'static,
    {
        type Response = http::Response<tonic::body::Body>;
        type Error = std::convert::Infallible;
        type Future = BoxFuture<Self::Response, Self::Error>;
        fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<std::result::Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, req: http::Request<B>) -> Self::Future {
            match req.uri().path() {
                "/gatehouse.ballista.v1.Submission/Describe" => {
                    #[allow(non_camel_case_types)]
                    struct DescribeSvc<T: Submission>(pub Arc<T>);
                    impl<T: Submission> tonic::server::UnaryService<governed::wire::Statement> for DescribeSvc<T> {
                        type Response = governed::wire::Description;
                        type Future = BoxFuture<tonic::Response<Self::Response>, tonic::Status>;
                        fn call(&mut self, request: tonic::Request<governed::wire::Statement>) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move { <T as Submission>::describe(&inner, request).await };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = DescribeSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(accept_compression_encodings, send_compression_encodings)
                            .apply_max_message_size_config(max_decoding_message_size, max_encoding_message_size);
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/gatehouse.ballista.v1.Submission/Submit" => {
                    #[allow(non_camel_case_types)]
                    struct SubmitSvc<T: Submission>(pub Arc<T>);
                    impl<T: Submission> tonic::server::ServerStreamingService<governed::wire::Statement> for SubmitSvc<T> {
                        type Response = governed::wire::Event;
                        type ResponseStream = T::SubmitStream;
                        type Future = BoxFuture<tonic::Response<Self::ResponseStream>, tonic::Status>;
                        fn call(&mut self, request: tonic::Request<governed::wire::Statement>) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move { <T as Submission>::submit(&inner, request).await };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = SubmitSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(accept_compression_encodings, send_compression_encodings)
                            .apply_max_message_size_config(max_decoding_message_size, max_encoding_message_size);
                        let res = grpc.server_streaming(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/gatehouse.ballista.v1.Submission/Outline" => {
                    #[allow(non_camel_case_types)]
                    struct OutlineSvc<T: Submission>(pub Arc<T>);
                    impl<T: Submission> tonic::server::UnaryService<governed::wire::Statement> for OutlineSvc<T> {
                        type Response = governed::wire::Progress;
                        type Future = BoxFuture<tonic::Response<Self::Response>, tonic::Status>;
                        fn call(&mut self, request: tonic::Request<governed::wire::Statement>) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move { <T as Submission>::outline(&inner, request).await };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = OutlineSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(accept_compression_encodings, send_compression_encodings)
                            .apply_max_message_size_config(max_decoding_message_size, max_encoding_message_size);
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/gatehouse.ballista.v1.Submission/Watch" => {
                    #[allow(non_camel_case_types)]
                    struct WatchSvc<T: Submission>(pub Arc<T>);
                    impl<T: Submission> tonic::server::UnaryService<governed::wire::Watching> for WatchSvc<T> {
                        type Response = governed::wire::Progress;
                        type Future = BoxFuture<tonic::Response<Self::Response>, tonic::Status>;
                        fn call(&mut self, request: tonic::Request<governed::wire::Watching>) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move { <T as Submission>::watch(&inner, request).await };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = WatchSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(accept_compression_encodings, send_compression_encodings)
                            .apply_max_message_size_config(max_decoding_message_size, max_encoding_message_size);
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                "/gatehouse.ballista.v1.Submission/Cluster" => {
                    #[allow(non_camel_case_types)]
                    struct ClusterSvc<T: Submission>(pub Arc<T>);
                    impl<T: Submission> tonic::server::UnaryService<governed::wire::Done> for ClusterSvc<T> {
                        type Response = governed::wire::Members;
                        type Future = BoxFuture<tonic::Response<Self::Response>, tonic::Status>;
                        fn call(&mut self, request: tonic::Request<governed::wire::Done>) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move { <T as Submission>::cluster(&inner, request).await };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = ClusterSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(accept_compression_encodings, send_compression_encodings)
                            .apply_max_message_size_config(max_decoding_message_size, max_encoding_message_size);
                        let res = grpc.unary(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                _ => Box::pin(async move {
                    let mut response = http::Response::new(tonic::body::Body::default());
                    let headers = response.headers_mut();
                    headers.insert(tonic::Status::GRPC_STATUS, (tonic::Code::Unimplemented as i32).into());
                    headers.insert(http::header::CONTENT_TYPE, tonic::metadata::GRPC_CONTENT_TYPE);
                    Ok(response)
                }),
            }
        }
    }
    impl<T> Clone for SubmissionServer<T> {
        fn clone(&self) -> Self {
            let inner = self.inner.clone();
            Self {
                inner,
                accept_compression_encodings: self.accept_compression_encodings,
                send_compression_encodings: self.send_compression_encodings,
                max_decoding_message_size: self.max_decoding_message_size,
                max_encoding_message_size: self.max_encoding_message_size,
            }
        }
    }
    /// Generated gRPC service name
    pub const SERVICE_NAME: &str = "gatehouse.ballista.v1.Submission";
    impl<T> tonic::server::NamedService for SubmissionServer<T> {
        const NAME: &'static str = SERVICE_NAME;
    }
}
