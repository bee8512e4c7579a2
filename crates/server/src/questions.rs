//! What a callback can ask at once, and how it is put to the client.

use std::fmt;

use conduit_protocol::{InputAnswer, InputRequest};

use crate::Input;

/// Something that a callback can [`ask`](crate::Context::ask): a question, a tuple of
/// two to four, a `Vec` of one kind, or an `Option`, of which nothing is asked if it is
/// `None`. Whatever of it has no answer yet is asked at once.
///
/// The questions are [`form`](crate::form()), [`raw_form`](crate::raw_form),
/// [`visit`](crate::visit), [`sample`](crate::sample()) and [`roots`](crate::roots()).
/// The list is closed.
pub trait Questions: sealed::Sealed + Sized {
    /// What comes back: for a tuple a tuple, for a `Vec` a `Vec`, for an `Option` an
    /// `Option`.
    type Answers;

    /// Looks for the answers, and puts down what has none.
    #[doc(hidden)]
    fn put(self, asking: &mut Asking<'_>) -> Option<Self::Answers>;
}

impl<A: Questions, B: Questions> Questions for (A, B) {
    type Answers = (A::Answers, B::Answers);

    fn put(self, asking: &mut Asking<'_>) -> Option<Self::Answers> {
        let all = (self.0.put(asking), self.1.put(asking));
        Some((all.0?, all.1?))
    }
}

impl<A: Questions, B: Questions, C: Questions> Questions for (A, B, C) {
    type Answers = (A::Answers, B::Answers, C::Answers);

    fn put(self, asking: &mut Asking<'_>) -> Option<Self::Answers> {
        let all = (self.0.put(asking), self.1.put(asking), self.2.put(asking));
        Some((all.0?, all.1?, all.2?))
    }
}

impl<A: Questions, B: Questions, C: Questions, D: Questions> Questions for (A, B, C, D) {
    type Answers = (A::Answers, B::Answers, C::Answers, D::Answers);

    fn put(self, asking: &mut Asking<'_>) -> Option<Self::Answers> {
        let all = (
            self.0.put(asking),
            self.1.put(asking),
            self.2.put(asking),
            self.3.put(asking),
        );
        Some((all.0?, all.1?, all.2?, all.3?))
    }
}

impl<Q: Questions> Questions for Vec<Q> {
    type Answers = Vec<Q::Answers>;

    fn put(self, asking: &mut Asking<'_>) -> Option<Self::Answers> {
        let all: Vec<_> = self.into_iter().map(|one| one.put(asking)).collect();
        all.into_iter().collect()
    }
}

impl<Q: Questions> Questions for Option<Q> {
    type Answers = Option<Q::Answers>;

    fn put(self, asking: &mut Asking<'_>) -> Option<Self::Answers> {
        match self {
            Some(question) => question.put(asking).map(Some),
            None => Some(None),
        }
    }
}

// === Behind the handle ===

/// Questions on their way to the client.
#[derive(Debug)]
pub struct Asking<'a> {
    input: &'a Input,
    unanswered: Vec<(String, InputRequest)>,
    has_mistake: bool,
}

pub(crate) mod sealed {
    pub trait Sealed {}

    impl<A: Sealed, B: Sealed> Sealed for (A, B) {}
    impl<A: Sealed, B: Sealed, C: Sealed> Sealed for (A, B, C) {}
    impl<A: Sealed, B: Sealed, C: Sealed, D: Sealed> Sealed for (A, B, C, D) {}
    impl<Q: Sealed> Sealed for Vec<Q> {}
    impl<Q: Sealed> Sealed for Option<Q> {}
}

impl<'a> Asking<'a> {
    pub(crate) const fn new(input: &'a Input) -> Self {
        Self {
            input,
            unanswered: Vec::new(),
            has_mistake: false,
        }
    }

    /// Looks for the answer to one question. One that cannot be read, or that `read`
    /// does not take, is none (M-MRTR-10).
    pub(crate) fn put<A>(
        &mut self,
        key: String,
        question: InputRequest,
        read: impl FnOnce(InputAnswer) -> Option<A>,
    ) -> Option<A> {
        if let Err(error) = self.input.ask(&key, &question) {
            self.mistake(&key, &error);
            return None;
        }
        let answer = self.input.answer(&key);
        let read = answer
            .and_then(|answer| InputAnswer::read(&question, answer).ok())
            .and_then(read);
        if read.is_some() {
            self.input.accept(&key);
        } else {
            if answer.is_some() {
                tracing::debug!(%key, "an answer is not valid, and asked for again");
            }
            // The same question may have been put twice in one breath.
            if !self.unanswered.iter().any(|(known, _)| *known == key) {
                self.unanswered.push((key, question));
            }
        }
        read
    }

    /// Notes a bug of the callback. Nothing is asked then.
    pub(crate) fn mistake(&mut self, key: &str, error: &dyn fmt::Display) {
        tracing::error!(%key, %error, "a question cannot be asked");
        self.has_mistake = true;
    }

    /// Returns what has no answer; `None` when there was a mistake.
    pub(crate) fn finish(self) -> Option<Vec<(String, InputRequest)>> {
        (!self.has_mistake).then_some(self.unanswered)
    }
}
