//! Telling clients that a resource changed, whoever changed it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::limits::{SUBSCRIPTION_RESOURCES_MAX, SUBSCRIPTIONS_MAX};
use loci_core::{Caller, Error};
use loci_dialects::{Context, Resources};
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::catalog::resource_at;
use crate::handler::protocol_error;
use crate::host::Host;

/// The part of a filter that is served: changes of resources that exist by their form.
pub(crate) fn accepted(resources: &Resources, requested: &SubscriptionFilter) -> SubscriptionFilter {
    let uris = requested.resource_subscriptions.iter().flatten();
    let known = uris.filter(|uri| resource_at(resources, uri).is_some()).take(SUBSCRIPTION_RESOURCES_MAX);
    SubscriptionFilter::builder().resource_subscriptions(known).build()
}

/// Serves `subscriptions/listen` until the client ends it.
///
/// A change that falls between the acknowledgement, which the SDK sends before this is called,
/// and the first reading here is not reported; a client reads the resource after the
/// acknowledgement anyway.
pub(crate) async fn listen(
    host: &Arc<Host>,
    resources: &'static Resources,
    caller: Caller,
    context: &SubscriptionContext,
) -> Result<(), ErrorData> {
    let _permit = host.subscription_permit().ok_or_else(too_many)?;
    let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
    let mut watch = Watch::start(host, resources, caller, uris).await;
    loop {
        let changed = tokio::select! {
            () = context.cancelled() => return Ok(()),
            changed = watch.changed() => changed,
        };
        for uri in changed {
            if context.sink().notify_resource_updated(uri).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Serves `resources/subscribe` until `ended` is cancelled or the client is gone.
/// What the resource holds is read before the client is told that it is subscribed.
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
        return Err(ErrorData::resource_not_found(message, Some(json!({"uri": uri}))));
    }
    let permit = host.subscription_permit().ok_or_else(too_many)?;
    let mut watch = Watch::start(host, resources, caller, vec![uri.to_owned()]).await;
    tokio::spawn(async move {
        let _permit = permit;
        while let Some(changed) = until(&ended, watch.changed()).await {
            for uri in changed {
                if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                    return;
                }
            }
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
    let message = format!("at most {SUBSCRIPTIONS_MAX} subscriptions are served at a time; end one first");
    protocol_error(&Error::unavailable(message))
}

/// Locks; a panic elsewhere leaves these maps whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Some resources as one caller last saw them.
struct Watch {
    host: Arc<Host>,
    resources: &'static Resources,
    caller: Caller,
    seen: Vec<(String, Option<u64>)>,
    versions: tokio::sync::watch::Receiver<u64>,
}

impl Watch {
    async fn start(host: &Arc<Host>, resources: &'static Resources, caller: Caller, uris: Vec<String>) -> Self {
        let versions = host.versions();
        let seen = uris.into_iter().map(|uri| (uri, None)).collect();
        let mut watch = Watch { host: Arc::clone(host), resources, caller, seen, versions };
        watch.reread().await;
        watch
    }

    /// Waits until at least one resource reads differently; says which.
    async fn changed(&mut self) -> Vec<String> {
        loop {
            if self.versions.changed().await.is_err() {
                // The host lives as long as this does.
                return std::future::pending().await;
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
        let read = self.host.watch(move |engine| {
            let context = Context { engine, caller: &caller };
            uris.iter().map(|uri| Ok((resources.read)(context, uri)?.map(|text| digest(&text)))).collect()
        });
        let now: Vec<Option<u64>> = match read.await {
            Ok(now) => now,
            Err(error) => {
                // The next change tries again; nothing was reported, so nothing is lost.
                tracing::warn!(error = %error, "a subscribed resource could not be read");
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
