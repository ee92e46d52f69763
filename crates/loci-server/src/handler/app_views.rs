//! The views of the conversation for a client that shows them.

use http::request::Parts;
use loci_dialects::apps::AppView;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, ReadResourceResult, ResourcesCapability, ServerCapabilities};
use rmcp::service::{RequestContext, RoleServer};

use super::{DialectHandler, LIST_TTL_MS, stamp};
use crate::app_views::{self, AppPages};
use crate::catalog::is_modern;
use crate::client_session::ClientSession;

impl DialectHandler {
    /// Returns the pages of views if this installation has them and the client shows them.
    pub(super) fn app_pages(&self, context: &RequestContext<RoleServer>) -> Option<AppPages> {
        let pages = self.shared.host.app_pages()?;
        let capabilities = context.client_capabilities();
        let declares = capabilities.is_some_and(|declared| app_views::are_shown_by(&declared));
        // Over HTTP, a legacy client declares them once, and its session says so from then on.
        let is_legacy = !is_modern(context.protocol_version().as_ref());
        let of_session = || {
            let parts = context.extensions.get::<Parts>();
            let session = parts.and_then(ClientSession::of);
            is_legacy && session.is_some_and(|session| session.shows_views)
        };
        (declares || of_session()).then_some(pages)
    }

    /// Returns the page of a view, as the resource that it is.
    pub(super) fn page_of(
        &self,
        view: &AppView,
        pages: AppPages,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        self.reader(&context.extensions)?;
        let contents = app_views::contents(view, pages, &self.shared.served);
        let mut result = ReadResourceResult::new(vec![contents]);
        if is_modern(context.protocol_version().as_ref()) {
            result = result
                .with_ttl_ms(LIST_TTL_MS)
                .with_cache_scope(CacheScope::Private);
            result.meta = Some(stamp(self.shared.dialect));
        }
        Ok(result)
    }
}

/// Adds what a client that shows views has to find: pages are resources.
pub(super) fn add_to(capabilities: &mut ServerCapabilities) {
    capabilities
        .resources
        .get_or_insert_with(ResourcesCapability::default);
}
