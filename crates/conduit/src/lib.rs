//! The library face for authors and the stock binary.
