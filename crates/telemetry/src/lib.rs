//! Events, the table of metrics, the sink, logging, exposition.
