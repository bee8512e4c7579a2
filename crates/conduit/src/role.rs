//! What this process may be: the supervisor, or one of its children.

mod banner;
mod child;
pub(crate) mod gateway;
pub(crate) mod hub;
mod inherited;
mod pages;
mod settings;
pub(crate) mod store;
pub(crate) mod up;

use std::future::Future;

use crate::failure::Failure;

/// Runs one role on a runtime of one thread: processes are the unit of capacity.
fn block_on<T>(role: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::of("cannot start the event loop"))?
        .block_on(role)
}
