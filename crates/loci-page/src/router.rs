//! The routes of the page.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;

use crate::form::API;
use crate::page::Page;
use crate::{assets, events, guard, sign_in, views};

impl Page {
    /// Returns the routes of the page. A server puts them behind the layer that tells an [`Authenticator`](crate::Authenticator)
    /// where a request came from.
    pub fn router(self: &Arc<Self>) -> Router {
        Router::new()
            .merge(views::routes())
            .nest(API, views::routes().merge(views::description()))
            .merge(sign_in::routes())
            .merge(events::routes())
            .merge(assets::routes())
            .layer(from_fn_with_state(Arc::clone(self), guard::guard))
            .with_state(Arc::clone(self))
    }
}
