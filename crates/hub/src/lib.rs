//! One shard of the subscription hub.
