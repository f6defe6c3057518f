//! Handlers of routes behind one type, so that the compiler sees axum's layers once and not for each of them.
//!
//! axum wraps each handler in a dozen types, and for each of those the compiler proves again that the handler's future may be sent
//! between threads. For a hundred handlers that took a third of the time this crate needs.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;

type ResponseFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler whose own type is forgotten.
#[derive(Clone)]
pub(crate) struct RouteHandler<S>(Arc<dyn Fn(Request, S) -> ResponseFuture + Send + Sync>);

/// A function as the handler of a route.
pub(crate) fn handler<H, T, S>(function: H) -> RouteHandler<S>
where
    H: Handler<T, S, Future = ResponseFuture> + Sync,
    S: 'static,
{
    RouteHandler(Arc::new(move |request, state| function.clone().call(request, state)))
}

impl<S: Clone + Send + 'static> Handler<(), S> for RouteHandler<S> {
    type Future = ResponseFuture;

    fn call(self, request: Request, state: S) -> ResponseFuture {
        (self.0)(request, state)
    }
}
