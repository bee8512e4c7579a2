//! What this process may be: the supervisor, or one of its children.

mod banner;
mod child;
pub(crate) mod gateway;
pub(crate) mod hub;
mod inherited;
pub(crate) mod keys;
pub(crate) mod own_store;
mod pages;
mod parent;
pub(crate) mod settings;
pub(crate) mod stdio;
pub(crate) mod store;
pub(crate) mod up;

use std::future::Future;

use crate::failure::Failure;

/// Runs one role on a runtime of one thread: processes are the unit of capacity.
///
/// What the role leaves behind is not waited for: a thread that reads a pipe which
/// nobody closes would hold up the end for ever.
pub(crate) fn block_on<T>(role: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::of("cannot start the event loop"))?;
    let result = runtime.block_on(role);
    runtime.shutdown_background();
    result
}
