//! The admin port's pages, told by the supervisor's board.

use std::future::Future;
use std::pin::Pin;

use conduit_http::Pages;
use conduit_supervisor::Board;
use conduit_telemetry::exposition;

/// Shows what a board knows.
pub(crate) struct BoardPages(pub(crate) Board);

impl Pages for BoardPages {
    fn ready(&self) -> Result<(), String> {
        self.0.ready().map_err(|reasons| {
            let lines: Vec<String> = reasons.iter().map(|reason| format!("{reason}\n")).collect();
            lines.concat()
        })
    }

    fn status(&self) -> String {
        serde_json::to_string_pretty(&self.0.status()).unwrap_or_else(|_| "{}".to_owned())
    }

    fn metrics(&self) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send>> {
        let board = self.0.clone();
        Box::pin(async move {
            exposition(&board.scrape().await)
                .map_err(|_damaged| "the metrics could not be merged\n".to_owned())
        })
    }
}
