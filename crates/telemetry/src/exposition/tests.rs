use std::time::Duration;

use super::*;
use crate::{Outcome, Telemetry, ToolSample};

fn count(text: &str, line: &str) -> usize {
    text.lines().filter(|candidate| *candidate == line).count()
}

#[test]
fn counters_of_several_processes_stay_apart_under_one_heading() {
    let [first, second] = ["gateway-0", "gateway-1"].map(Telemetry::new);
    first.connection_opened();
    second.connection_opened();
    second.connection_opened();

    let text = exposition(&[first.encode(), second.encode()]).expect("good snapshots");

    assert_eq!(
        count(&text, "# TYPE conduit_http_connections_total counter"),
        1
    );
    assert_eq!(
        count(
            &text,
            "conduit_http_connections_total{process=\"gateway-0\"} 1"
        ),
        1
    );
    assert_eq!(
        count(
            &text,
            "conduit_http_connections_total{process=\"gateway-1\"} 2"
        ),
        1
    );
}

#[test]
fn of_two_lives_of_one_process_the_later_counts() {
    let [old, new] = ["gateway-0", "gateway-0"].map(Telemetry::new);
    old.connection_opened();

    let text = exposition(&[old.encode(), new.encode()]).expect("good snapshots");

    assert_eq!(
        count(
            &text,
            "conduit_http_connections_total{process=\"gateway-0\"} 0"
        ),
        1
    );
    assert_eq!(
        count(
            &text,
            "conduit_http_connections_total{process=\"gateway-0\"} 1"
        ),
        0
    );
}

#[test]
fn a_histogram_has_growing_buckets_that_end_with_its_count() {
    let telemetry = Telemetry::new("store");
    telemetry.store_commit(Duration::from_micros(200));
    telemetry.store_commit(Duration::from_secs(100));

    let text = exposition(&[telemetry.encode()]).expect("a good snapshot");

    let name = "conduit_store_commit_seconds";
    for line in [
        format!("# TYPE {name} histogram"),
        format!("{name}_bucket{{process=\"store\",le=\"0.0001\"}} 0"),
        format!("{name}_bucket{{process=\"store\",le=\"0.00025\"}} 1"),
        format!("{name}_bucket{{process=\"store\",le=\"60\"}} 1"),
        format!("{name}_bucket{{process=\"store\",le=\"+Inf\"}} 2"),
        format!("{name}_sum{{process=\"store\"}} 100.0002"),
        format!("{name}_count{{process=\"store\"}} 2"),
    ] {
        assert_eq!(count(&text, &line), 1, "{line}\n{text}");
    }
}

#[test]
fn a_name_with_quotes_cannot_break_out_of_its_label() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("a\"b\\c\nd", &["echo"]);
    server.tool(ToolSample {
        tool: Some("echo"),
        outcome: Outcome::Ok,
        took: Duration::ZERO,
    });

    let text = exposition(&[telemetry.encode()]).expect("a good snapshot");

    assert!(text.contains(r#"server="a\"b\\c\nd""#), "{text}");
}

#[test]
fn bad_bytes_of_one_process_are_an_error() {
    assert!(exposition(&[b"{}".to_vec()]).is_err());
}

#[test]
fn nothing_to_merge_is_an_empty_text() {
    assert_eq!(exposition(&[]).expect("nothing"), "");
}
