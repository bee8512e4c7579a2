//! Instruments with their labels bound, so that hot paths look nothing up.

use prometheus::IntCounter;

use crate::gauge::Gauge;
use crate::instruments::Instruments;
use crate::label::{
    ChangeOutcome, LostKind, MailOutcome, Pool, RefusedReason, StreamChange, StreamKind,
};

pub(super) struct Hot {
    pub(super) in_flight: Gauge,
    pub(super) connections: Gauge,
    pub(super) call_streams: Gauge,
    pub(super) listen_streams: Gauge,
    pub(super) session_streams: Gauge,
    pub(super) sessions_cached: Gauge,
    pub(super) tasks_running: Gauge,
    pub(super) topics: Gauge,
    pub(super) hub_topics: Gauge,
    pub(super) hub_registrations: Gauge,
    pub(super) hub_changes: Vec<IntCounter>,
    pub(super) changes: Vec<IntCounter>,
    pub(super) stream_changes: Vec<IntCounter>,
    pub(super) async_busy: Gauge,
    pub(super) blocking_busy: Gauge,
    pub(super) async_abandoned: Gauge,
    pub(super) blocking_abandoned: Gauge,
    pub(super) refused: Vec<IntCounter>,
    pub(super) lost_events: IntCounter,
    pub(super) lost_lines: IntCounter,
}

impl Hot {
    pub(super) fn new(instruments: &Instruments) -> Self {
        let streams =
            |kind: StreamKind| Gauge::new(instruments.streams.with_label_values(&[kind.as_str()]));
        let busy =
            |pool: Pool| Gauge::new(instruments.workers_busy.with_label_values(&[pool.as_str()]));
        let abandoned = |pool: Pool| {
            Gauge::new(
                instruments
                    .workers_abandoned
                    .with_label_values(&[pool.as_str()]),
            )
        };
        let lost = |kind: LostKind| instruments.lost.with_label_values(&[kind.as_str()]);
        Self {
            in_flight: Gauge::new(instruments.in_flight.clone()),
            connections: Gauge::new(instruments.connections.clone()),
            call_streams: streams(StreamKind::Call),
            listen_streams: streams(StreamKind::Listen),
            session_streams: streams(StreamKind::Session),
            sessions_cached: Gauge::new(instruments.sessions_cached.clone()),
            tasks_running: Gauge::new(instruments.tasks_running.clone()),
            topics: Gauge::new(instruments.topics.clone()),
            hub_topics: Gauge::new(instruments.hub_topics.clone()),
            hub_registrations: Gauge::new(instruments.hub_registrations.clone()),
            hub_changes: MailOutcome::ALL
                .iter()
                .map(|outcome| {
                    instruments
                        .hub_changes
                        .with_label_values(&[outcome.as_str()])
                })
                .collect(),
            changes: ChangeOutcome::ALL
                .iter()
                .map(|outcome| {
                    let changes = &instruments.changes_published;
                    changes.with_label_values(&[outcome.as_str()])
                })
                .collect(),
            stream_changes: StreamChange::ALL
                .iter()
                .map(|outcome| {
                    let changes = &instruments.stream_changes;
                    changes.with_label_values(&[outcome.as_str()])
                })
                .collect(),
            async_busy: busy(Pool::Async),
            blocking_busy: busy(Pool::Blocking),
            async_abandoned: abandoned(Pool::Async),
            blocking_abandoned: abandoned(Pool::Blocking),
            refused: RefusedReason::ALL
                .iter()
                .map(|reason| instruments.refused.with_label_values(&[reason.as_str()]))
                .collect(),
            lost_events: lost(LostKind::Event),
            lost_lines: lost(LostKind::Line),
        }
    }
}
