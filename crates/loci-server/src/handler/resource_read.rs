//! Reads of resources.

use loci_core::Error;
use loci_dialects::{Context, apps};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ConstString, ReadResourceRequestMethod, ReadResourceRequestParams,
    ReadResourceResult, ResourceContents,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;
use tracing::Instrument;

use super::{DialectHandler, stamp};
use crate::catalog::{self, is_modern};
use crate::error_reply::protocol_error;
use crate::host::{CallKind, ReplyShare};
use crate::request_context::{found, unless_cancelled};
use crate::trace_context::record_outcome;

/// The error for a URI without a resource.
const MISSING: &str =
    "there is no such resource; resources/list and resources/templates/list name them";

fn missing(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(MISSING, Some(json!({"uri": uri})))
}

impl DialectHandler {
    /// Returns the text of the resource that the request names.
    pub(super) async fn read(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let pages = self.app_pages(&context);
        if let Some((pages, view)) = pages.zip(apps::view_at(&request.uri)) {
            return self.page_of(view, pages, &context);
        }
        let resources = match self.resources::<ReadResourceRequestMethod>() {
            Err(_) if pages.is_some() => return Err(missing(&request.uri)),
            resources => resources?,
        };
        let caller = self.reader(&context.extensions)?;
        let uri = request.uri.clone();
        let share = found::<ReplyShare>(&context.extensions).unwrap_or_default();
        let subject = self.subject(&context.extensions);
        let read = self.shared.host.call_for_reply(
            &subject,
            &share,
            CallKind::Reads,
            |text: &Option<String>| text.as_ref().map_or(0, String::len),
            move |engine| {
                let context = Context {
                    engine,
                    caller: &caller,
                };
                resources.read(context, &uri)
            },
        );
        let span = self.span(ReadResourceRequestMethod::VALUE, None, &context);
        let outcome = unless_cancelled(&context, read)
            .instrument(span.clone())
            .await;
        record_outcome(
            &span,
            &match &outcome {
                Ok(Some(_)) => Ok(()),
                Ok(None) => Err(Error::not_found(MISSING)),
                Err(error) => Err(error.clone()),
            },
        );
        let text = outcome
            .map_err(|error| protocol_error(&error))?
            .ok_or_else(|| missing(&request.uri))?;
        let mut contents = ResourceContents::text(text, &request.uri);
        if let Some(entry) = catalog::resource_at(resources, &request.uri) {
            contents = contents.with_mime_type(entry.mime_type);
        }
        let mut result = ReadResourceResult::new(vec![contents]);
        if is_modern(context.protocol_version().as_ref()) {
            result = result.with_ttl_ms(0).with_cache_scope(CacheScope::Private);
            result.meta = Some(stamp(self.shared.dialect));
        }
        Ok(result)
    }
}
