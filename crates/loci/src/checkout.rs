//! The checkout in which a client started `loci mcp`, and the wing that it names for itself.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Error, ErrorCode};
use loci_dialects::questions::Question;
use loci_engine::Engine;
use loci_ingest::trust::{Trust, plan_in};
use loci_ingest::wings::wing_of;
use loci_mine::project::plan_file;
use loci_server::Checkout;

/// The folder of a process, whose checkout may name a wing to which the person has not agreed.
pub struct OwnCheckout {
    engine: Arc<Engine>,
    data: PathBuf,
    folder: PathBuf,
    /// The plan that was asked about.
    asked: Mutex<Option<AskedPlan>>,
}

/// A plan as the person was asked about it.
#[derive(Clone)]
struct AskedPlan {
    folder: PathBuf,
    text: String,
}

impl OwnCheckout {
    /// Returns the checkout of the folder that the process works in; `None` if it has none any more.
    pub fn here(engine: &Arc<Engine>, data: &Path) -> Option<Arc<dyn Checkout>> {
        let folder = std::env::current_dir().ok()?;
        Some(Arc::new(OwnCheckout {
            engine: Arc::clone(engine),
            data: data.to_owned(),
            folder,
            asked: Mutex::default(),
        }))
    }

    fn trust(&self) -> Trust {
        Trust::read_or_none(&self.data, |note| tracing::debug!(note, "a plan"))
    }
}

impl Checkout for OwnCheckout {
    fn question(&self) -> Option<Question> {
        let choice = self.trust().choice(&self.folder);
        let (folder, named) = choice.named_for_itself()?;
        let system = self.engine.system(&loci_ingest::caller());
        // What cannot be found out is not asked about.
        let counts = wing_of(&system, &choice.source).ok()?;
        if counts == named {
            return None;
        }
        let (text, _) = plan_in(folder).ok().flatten()?;
        let key = Question::checkout_key(&folder.display().to_string(), &text);
        let question = Question::of_checkout(plan_file(folder), named, key);
        let asked = AskedPlan {
            folder: folder.to_owned(),
            text,
        };
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
        Some(question)
    }

    fn agree(&self) -> Result<(), Error> {
        let asked = self
            .asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let changed = || {
            let message = "the file of the checkout was changed after the person was asked; `loci palace trust` in \
                           its folder agrees to it as it is";
            Error::new(ErrorCode::Conflict, message)
        };
        let AskedPlan { folder, text } = asked.ok_or_else(changed)?;
        let now = plan_in(&folder).ok().flatten();
        if now.is_none_or(|(now, _)| now != text) {
            return Err(changed());
        }
        let name = loci_ingest::named(&folder)?;
        self.trust().add(&name, &text)
    }
}
