//! The actors that answer requests in one process.
