//! Error codes with a page each, who is to blame, and the exit status.
