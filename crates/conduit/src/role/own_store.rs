//! The store of a process that serves alone: a database in a folder of its own, for as
//! long as the process lives.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use conduit_config::Settings;
use conduit_link::{Answer, FromStore, ToStore};
use conduit_runtime::{Gateway, LocalStore};
use conduit_store::Local;
use conduit_telemetry::Telemetry;
use parking_lot::Mutex;
use tempfile::TempDir;
use uuid::Uuid;

use super::settings;
use crate::failure::Failure;

/// A store, and its folder, which goes when this is dropped.
pub(crate) struct OwnStore {
    door: Arc<Door>,
    /// Who hears what the store says, once there is somebody.
    listener: Arc<Mutex<Option<Gateway>>>,
    _folder: TempDir,
}

impl OwnStore {
    pub(crate) async fn start(settings: &Settings, telemetry: &Telemetry) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("conduit-")
            .tempdir()
            .map_err(Failure::of("cannot make a folder for the tasks"))?;
        let options = settings::store(settings, folder.path().join("conduit.db"));
        let listener = Arc::new(Mutex::new(None::<Gateway>));
        let heard = Arc::clone(&listener);
        let tell = move |message: FromStore| {
            let gateway = heard.lock().clone();
            if let Some(gateway) = gateway {
                gateway.hear_store(message);
            }
        };
        let store = Local::start(options, Uuid::new_v4(), telemetry.clone(), tell)
            .await
            .map_err(Failure::coded("cannot start the store"))?;
        Ok(Self {
            door: Arc::new(Door(Arc::new(store))),
            listener,
            _folder: folder,
        })
    }

    /// Returns the way in for a gateway.
    pub(crate) fn door(&self) -> Arc<dyn LocalStore> {
        Arc::clone(&self.door) as Arc<dyn LocalStore>
    }

    /// Lets a gateway hear what the store says.
    pub(crate) fn tell(&self, gateway: &Gateway) {
        *self.listener.lock() = Some(gateway.clone());
    }
}

impl fmt::Debug for OwnStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnStore").finish_non_exhaustive()
    }
}

impl Drop for OwnStore {
    fn drop(&mut self) {
        // Each holds the other.
        *self.listener.lock() = None;
    }
}

// === Behind the store ===

struct Door(Arc<Local>);

impl LocalStore for Door {
    fn ask(&self, question: ToStore) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
        let store = Arc::clone(&self.0);
        Box::pin(async move { store.ask(question).await })
    }
}
