//! The answer to whether this process is ready: one look at the store at a time,
//! because anyone may ask, and a look takes a thread and a write.

use std::sync::Arc;
use std::time::Instant;

use loci_core::{Error, Result};
use loci_engine::Engine;
use tokio::sync::Mutex;

use super::Host;

/// The last look at the store.
#[derive(Default)]
pub(crate) struct ReadinessProbe(Arc<Mutex<Option<StoreCheck>>>);

struct StoreCheck {
    begun: Instant,
    outcome: Result<()>,
}

impl Host {
    /// Checks that the store can be read and written. Requests that wait for a look share the next
    /// one, so that their answer is never older than they are.
    ///
    /// # Errors
    /// As for [`Engine::check_ready`].
    pub(crate) async fn check_ready(self: &Arc<Self>) -> Result<()> {
        let asked = Instant::now();
        let mut last = Arc::clone(&self.readiness.0).lock_owned().await;
        if let Some(look) = last.as_ref().filter(|look| look.begun > asked) {
            return look.outcome.clone();
        }
        let host = Arc::clone(self);
        // A task of its own, because the next look may not begin before this one has ended, even if
        // its client has gone.
        let looking = tokio::spawn(async move {
            let begun = Instant::now();
            let outcome = host.work(Engine::check_ready).await;
            *last = Some(StoreCheck {
                begun,
                outcome: outcome.clone(),
            });
            outcome
        });
        let outcome = looking.await;
        outcome.unwrap_or_else(|_| Err(Error::internal("the store could not be looked at")))
    }
}

#[cfg(test)]
mod tests {
    use loci_engine::SearchMode;
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

    use super::*;

    #[tokio::test]
    async fn a_look_answers_those_who_asked_before_it_and_no_others() {
        let host = Host::new(Arc::new(Engine::new(
            Arc::new(NaiveStore::new()),
            Arc::new(HashingEmbedder::new(8)),
            Arc::new(FixedClock::default()),
            SearchMode::Words,
        )));
        let begun = async || {
            let last = host.readiness.0.lock().await;
            last.as_ref().map(|look| look.begun)
        };
        let look = Arc::clone(&host.readiness.0).lock_owned().await;
        let asking: Vec<_> = (0..50)
            .map(|_| {
                let host = Arc::clone(&host);
                tokio::spawn(async move { host.check_ready().await })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(look);
        let mut asking = asking.into_iter();
        assert_eq!(asking.next().unwrap().await.unwrap(), Ok(()));
        let first = begun().await;
        for asked in asking {
            assert_eq!(asked.await.unwrap(), Ok(()));
        }
        assert_eq!(begun().await, first);
        assert_eq!(host.check_ready().await, Ok(()));
        assert_ne!(begun().await, first);
    }
}
