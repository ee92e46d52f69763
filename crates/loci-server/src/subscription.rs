//! Notifies clients of changed resources, whichever process changed them.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use loci_admission::Subject;
use loci_core::limits::{SUBSCRIPTION_RESOURCES_MAX, SUBSCRIPTIONS_MAX};
use loci_core::{Caller, Error, ErrorCode, Result, Space};
use loci_dialects::{Context, Resources};
use loci_engine::Engine;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, ResourceUpdatedNotificationParam,
    SubscriptionFilter,
};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::auth::Credential;
use crate::catalog::resource_at;
use crate::error_reply::protocol_error;
use crate::host::Host;
use crate::request_context::found;

/// The interval at which the credential of a listener is checked again, and a failed read retried.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The version of the caller's space when a request arrived; `None` if it could not be read. The
/// SDK acknowledges a subscription before its handler can read anything, so a change may happen in
/// between.
#[derive(Clone, Copy)]
pub(crate) struct RequestVersion(Option<u64>);

impl RequestVersion {
    pub(crate) async fn now(host: &Host, subject: &Subject, space: Space) -> Self {
        let read = move |engine: &Engine| engine.version(&space);
        RequestVersion(host.watch(subject, read).await.ok())
    }

    /// True if the store may have changed before a read that saw it at `version`.
    fn may_have_changed_by(self, version: Option<u64>) -> bool {
        version.is_none() || version != self.0
    }
}

/// True if the message is a `subscriptions/listen` request.
pub(crate) fn is_listen(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else {
        return false;
    };
    matches!(
        request.request,
        ClientRequest::SubscriptionsListenRequest(_)
    )
}

/// Returns the part of a filter that is served: changes of resources whose URIs are valid.
pub(crate) fn accepted(
    resources: &Resources,
    requested: &SubscriptionFilter,
) -> SubscriptionFilter {
    let uris = requested.resource_subscriptions.iter().flatten();
    let known = uris
        .filter(|uri| resource_at(resources, uri).is_some())
        .take(SUBSCRIPTION_RESOURCES_MAX);
    SubscriptionFilter::builder()
        .resource_subscriptions(known)
        .build()
}

/// Serves `subscriptions/listen` until the client ends it or its token becomes invalid.
pub(crate) async fn listen(
    host: &Arc<Host>,
    resources: &'static Resources,
    caller: Caller,
    subject: Subject,
    context: &SubscriptionContext,
) -> Result<(), ErrorData> {
    let slot = host.subscriptions().take(subject.clone());
    let slot = slot.ok_or_else(too_many)?;
    let extensions = &context.request_context().extensions;
    let (since, credential) = (
        found::<RequestVersion>(extensions).unwrap_or(RequestVersion(None)),
        found::<Credential>(extensions),
    );
    let uris = context
        .accepted()
        .resource_subscriptions
        .clone()
        .unwrap_or_default();
    let telling = async {
        let mut watch = Watch::start(host, resources, (caller, subject), uris).await;
        let mut changed = watch.changed_since(since);
        loop {
            if !changed.is_empty() && !is_valid(credential.as_ref()).await {
                return Err(no_longer_valid());
            }
            for uri in changed {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
            changed = tokio::select! {
                changed = watch.changed() => changed,
                () = invalid(credential.as_ref()) => return Err(no_longer_valid()),
            };
        }
    };
    tokio::select! {
        () = context.cancelled() => Ok(()),
        () = slot.evicted() => Err(evicted()),
        ended = telling => ended,
    }
}

/// Returns true if the credential is valid; retries until this can be determined.
async fn is_valid(credential: Option<&Credential>) -> bool {
    let Some(credential) = credential else {
        return true;
    };
    loop {
        match credential.is_valid().await {
            Ok(valid) => return valid,
            Err(error) => {
                tracing::warn!(%error, "the token of a subscription could not be looked up");
            }
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Waits until the credential is not valid any more.
async fn invalid(credential: Option<&Credential>) {
    if credential.is_none() {
        return std::future::pending().await;
    }
    while is_valid(credential).await {
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

fn no_longer_valid() -> ErrorData {
    let message = "the token has expired or was revoked, so this subscription ends";
    protocol_error(&Error::new(ErrorCode::Unauthorized, message))
}

/// Serves `resources/subscribe` until `ended` is cancelled or the client disconnects. Reads the
/// resource before the client learns that it is subscribed.
pub(crate) async fn subscribe(
    host: &Arc<Host>,
    resources: &'static Resources,
    caller: Caller,
    uri: &str,
    peer: Peer<RoleServer>,
    ended: CancellationToken,
) -> Result<(), ErrorData> {
    if resource_at(resources, uri).is_none() {
        let message = "there is no such resource to subscribe to";
        return Err(ErrorData::resource_not_found(
            message,
            Some(json!({"uri": uri})),
        ));
    }
    let subject = Subject::of(&caller, Subject::network(None));
    let slot = host.subscriptions().take(subject.clone());
    let slot = slot.ok_or_else(too_many)?;
    let mut watch = Watch::start(host, resources, (caller, subject), vec![uri.to_owned()]).await;
    tokio::spawn(async move {
        let telling = async {
            while let Some(changed) = until(&ended, watch.changed()).await {
                for uri in changed {
                    if peer
                        .notify_resource_updated(ResourceUpdatedNotificationParam::new(uri))
                        .await
                        .is_err()
                    {
                        return;
                    }
                }
            }
        };
        tokio::select! {
            () = slot.evicted() => {}
            () = telling => {}
        }
    });
    Ok(())
}

async fn until<T>(ended: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        () = ended.cancelled() => None,
        done = work => Some(done),
    }
}

fn too_many() -> ErrorData {
    let message =
        format!("at most {SUBSCRIPTIONS_MAX} subscriptions are served at a time; end one first");
    protocol_error(&Error::unavailable(message))
}

fn evicted() -> ErrorData {
    let message = format!(
        "this subscription made room for one of another user: at most {SUBSCRIPTIONS_MAX} are served at a time, and this \
         user has most of them; end some before subscribing again"
    );
    protocol_error(&Error::unavailable(message))
}

/// Some resources as one caller last saw them.
struct Watch {
    host: Arc<Host>,
    resources: &'static Resources,
    caller: Caller,
    subject: Subject,
    seen: Vec<(String, Option<u64>)>,
    /// The version of the caller's space from the last read or later; `None` if that read failed.
    version: Option<u64>,
    versions: tokio::sync::watch::Receiver<u64>,
}

impl Watch {
    async fn start(
        host: &Arc<Host>,
        resources: &'static Resources,
        (caller, subject): (Caller, Subject),
        uris: Vec<String>,
    ) -> Self {
        let versions = host.versions(&caller.space);
        let seen = uris.into_iter().map(|uri| (uri, None)).collect();
        let mut watch = Watch {
            host: Arc::clone(host),
            resources,
            caller,
            subject,
            seen,
            version: None,
            versions,
        };
        watch.reread().await;
        watch
    }

    /// Returns all resources if the store may have changed between `since` and the first read,
    /// which in that case cannot show what changed.
    fn changed_since(&self, since: RequestVersion) -> Vec<String> {
        let told = if since.may_have_changed_by(self.version) {
            self.seen.as_slice()
        } else {
            &[]
        };
        told.iter().map(|(uri, _)| uri.clone()).collect()
    }

    /// Waits until the content of at least one resource changes; returns their URIs.
    async fn changed(&mut self) -> Vec<String> {
        loop {
            tokio::select! {
                // The host lives as long as this does, and so does its end of the channel.
                _ = self.versions.changed() => {}
                () = tokio::time::sleep(CHECK_INTERVAL), if self.version.is_none() => {}
            }
            let changed = self.reread().await;
            if !changed.is_empty() {
                return changed;
            }
        }
    }

    async fn reread(&mut self) -> Vec<String> {
        let (resources, caller) = (self.resources, self.caller.clone());
        let uris: Vec<String> = self.seen.iter().map(|(uri, _)| uri.clone()).collect();
        let read = self.host.watch(&self.subject, move |engine| {
            let context = Context {
                engine,
                caller: &caller,
            };
            let digests = uris
                .iter()
                .map(|uri| Ok(resources.read(context, uri)?.map(|text| digest(&text))));
            Ok((
                digests.collect::<Result<Vec<_>>>()?,
                engine.version(&caller.space)?,
            ))
        });
        let now = match read.await {
            Ok((now, version)) => {
                self.version = Some(version);
                now
            }
            Err(error) => {
                // The read is retried soon; nothing was reported, so no change is lost.
                tracing::warn!(error = %error, "a subscribed resource could not be read");
                self.version = None;
                return Vec::new();
            }
        };
        let mut changed = Vec::new();
        for ((uri, seen), now) in self.seen.iter_mut().zip(now) {
            if std::mem::replace(seen, now) != now {
                changed.push(uri.clone());
            }
        }
        changed
    }
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_stayed_or_is_not_known_tells_whether_there_was_a_change() {
        let rows = [
            (Some(1), Some(1), false),
            (Some(1), Some(2), true),
            (None, Some(1), true),
            (Some(1), None, true),
        ];
        for (since, version, expected) in rows {
            assert_eq!(
                RequestVersion(since).may_have_changed_by(version),
                expected,
                "{since:?} {version:?}"
            );
        }
    }
}
