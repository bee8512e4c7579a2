//! What became of a mail, or of the news of a change.

use conduit_link::{Answer, CallError, Replay};
use conduit_telemetry::MailOutcome;

/// The receipts of one mail or change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    received: u16,
    taken: u16,
    missing: u16,
}

/// Judges what one gateway answered. One that does not say whether it took the
/// mail is missing: it may hold what the mail is about.
pub(super) const fn outcome(answer: &Result<Answer, CallError>) -> MailOutcome {
    match answer {
        Ok(Answer::Receipt { taken: false } | Answer::Replay(Replay::Unknown)) => {
            MailOutcome::Untaken
        }
        Ok(Answer::Receipt { taken: true } | Answer::Replay(_)) => MailOutcome::Taken,
        Ok(_) | Err(_) => MailOutcome::Missing,
    }
}

impl Tally {
    pub(super) const fn count(&mut self, outcome: MailOutcome) {
        let Self {
            received,
            taken,
            missing,
        } = self;
        match outcome {
            MailOutcome::Taken => {
                *received = received.saturating_add(1);
                *taken = taken.saturating_add(1);
            }
            MailOutcome::Untaken => *received = received.saturating_add(1),
            MailOutcome::Missing | MailOutcome::Refused => *missing = missing.saturating_add(1),
        }
    }

    pub(super) const fn receipts(self) -> Answer {
        let Self {
            received,
            taken,
            missing,
        } = self;
        Answer::Receipts {
            received,
            taken,
            missing,
        }
    }
}

#[cfg(test)]
mod tests {
    use conduit_link::Refusal;

    use super::*;

    #[track_caller]
    fn check(answers: &[Result<Answer, CallError>], expected: [u16; 3]) {
        let mut tally = Tally::default();
        for answer in answers {
            tally.count(outcome(answer));
        }
        let [received, taken, missing] = expected;
        assert_eq!(
            tally.receipts(),
            Answer::Receipts {
                received,
                taken,
                missing
            }
        );
    }

    #[test]
    fn a_mail_for_nobody_has_no_receipts() {
        check(&[], [0, 0, 0]);
    }

    #[test]
    fn whoever_took_it_has_also_received_it() {
        check(
            &[
                Ok(Answer::Receipt { taken: true }),
                Ok(Answer::Receipt { taken: false }),
            ],
            [2, 1, 0],
        );
    }

    #[test]
    fn whoever_holds_the_stream_that_is_asked_for_took_the_mail() {
        check(
            &[
                Ok(Answer::Replay(Replay::Wait)),
                Ok(Answer::Replay(Replay::Unknown)),
            ],
            [2, 1, 0],
        );
    }

    #[test]
    fn whoever_does_not_say_is_missing() {
        check(
            &[
                Err(CallError::Late),
                Err(CallError::Broken),
                Err(CallError::Down),
                Ok(Answer::Refused(Refusal::NotNow)),
            ],
            [0, 0, 4],
        );
    }
}
