//! What a gateway may ask about sessions.

use conduit_link::{Answer, Refusal, SessionRecord};
use uuid::Uuid;

use super::Keeper;
use crate::backend::{Opening, Subscribing};
use crate::gateways::{Audience, Gateway, Reason};
use crate::retention::SLICE;
use crate::writer::Refused;

impl Keeper {
    pub(super) async fn open(&self, record: SessionRecord) -> Result<Answer, Refused> {
        let (kept, now) = (self.options.kept, self.clock.now());
        let opening = self
            .writer
            .run(move |tables| tables.open(&record, kept, now))
            .await?;
        Ok(match opening {
            Opening::Opened { left } => {
                self.forget(&left, Reason::Ended, Audience::All).await;
                Answer::Done
            }
            Opening::Full => Answer::Refused(Refusal::Full),
        })
    }

    pub(super) async fn set_level(
        &self,
        id: Uuid,
        level: String,
        asker: &Gateway,
    ) -> Result<Answer, Refused> {
        let now = self.clock.now();
        let found = self
            .writer
            .run(move |tables| tables.set_level(id, &level, now))
            .await?;
        if !found {
            return Ok(Answer::Session(None));
        }
        self.forget(&[id], Reason::Changed, Audience::AllBut(asker))
            .await;
        // Read now rather than then: it may have ended since, and the asker must
        // not learn of it after it was told to forget it.
        Ok(self.look_session(id))
    }

    pub(super) async fn subscribe(
        &self,
        id: Uuid,
        uri: String,
        on: bool,
    ) -> Result<Answer, Refused> {
        let now = self.clock.now();
        let became = self
            .writer
            .run(move |tables| tables.subscribe(id, &uri, on, now))
            .await?;
        match became {
            Subscribing::Changed => {
                // The asker too: its answer may be lost, and its view would stay as it was.
                self.forget(&[id], Reason::Changed, Audience::All).await;
            }
            Subscribing::Unchanged => {}
            Subscribing::Full => return Ok(Answer::Refused(Refusal::Full)),
            Subscribing::Unknown => return Ok(Answer::Session(None)),
        }
        // Read now rather than then, as for a level.
        Ok(self.look_session(id))
    }

    pub(super) async fn touch(&self, ids: &[Uuid]) -> Result<Answer, Refused> {
        let now = self.clock.now();
        let slice = usize::try_from(SLICE).unwrap_or(usize::MAX);
        for ids in ids.chunks(slice) {
            let ids = ids.to_vec();
            self.writer
                .run(move |tables| tables.touch(&ids, now))
                .await?;
        }
        Ok(Answer::Done)
    }

    pub(super) async fn end(&self, id: Uuid) -> Result<Answer, Refused> {
        let ended = self.writer.run(move |tables| tables.end(id)).await?;
        if ended.is_some() {
            self.forget(&[id], Reason::Ended, Audience::All).await;
        }
        Ok(Answer::Session(ended))
    }

    pub(super) async fn sweep(&self) -> Result<(), Refused> {
        let (kept, now) = (self.options.kept, self.clock.now());
        loop {
            let swept = self
                .writer
                .run(move |tables| tables.sweep(kept, now))
                .await?;
            self.forget(&swept, Reason::Ended, Audience::All).await;
            if u64::try_from(swept.len()).is_ok_and(|swept| swept < SLICE) {
                return Ok(());
            }
        }
    }

    async fn forget(&self, ids: &[Uuid], reason: Reason, audience: Audience<'_>) {
        self.gateways.forget(ids, reason, audience).await;
    }
}
