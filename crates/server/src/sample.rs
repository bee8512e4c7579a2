//! Lets the client's model say something.

use conduit_protocol::{
    IncludeContext, InputAnswer, ModelPreferences, Role, SamplingContent, SamplingMessage,
    SamplingRequest, Tool, ToolChoice,
};
use serde_json::{Map, Value};

use crate::Questions;
use crate::questions::{Asking, sealed};

/// Lets the client's model say something; made by [`sample`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `Context::ask`"]
pub struct Sample {
    key: String,
    request: SamplingRequest,
}

/// What the client's model has said.
///
/// Source: M-SAMP-03.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// In whose part; the assistant's, as a rule.
    pub role: Role,
    /// What.
    pub content: Vec<SamplingContent>,
    /// Which model.
    pub model: String,
    /// Why it stopped: `endTurn`, `maxTokens`, `toolUse`, or another word.
    pub stop_reason: Option<String>,
}

/// Lets the client's model say something, in at most 1024 tokens unless it says so.
///
/// ```
/// use conduit_server::{Context, NoArguments, ToolError, sample, tool};
///
/// async fn haiku(_: NoArguments, context: Context) -> Result<String, ToolError> {
///     let question = sample("haiku").system("You are a poet.").user("A haiku on rain, please.");
///     Ok(context.ask(question)?.text())
/// }
///
/// let haiku = tool("haiku", "Writes a haiku", haiku);
/// ```
///
/// Deprecated in the modern era, where a client need not answer it.
pub fn sample(key: impl Into<String>) -> Sample {
    Sample {
        key: key.into(),
        request: SamplingRequest::new(Vec::new(), 1024),
    }
}

/// The conversation.
impl Sample {
    /// Lets the person say something.
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(SamplingMessage::user(SamplingContent::text(text)))
    }

    /// Lets the model say something.
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(SamplingMessage::assistant(SamplingContent::text(text)))
    }

    /// Adds any message.
    pub fn message(mut self, message: SamplingMessage) -> Self {
        self.request.messages.push(message);
        self
    }

    /// Sets what the model is told before the conversation; the client may change it.
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.request.system_prompt = Some(prompt.into());
        self
    }

    /// Says whether the model is shown what servers have said. Deprecated but for
    /// [`IncludeContext::None`].
    pub const fn include(mut self, context: IncludeContext) -> Self {
        self.request.include_context = Some(context);
        self
    }
}

/// The model, and how it speaks.
impl Sample {
    /// Sets the most tokens that the model may say.
    pub const fn max_tokens(mut self, tokens: u64) -> Self {
        self.request.max_tokens = tokens;
        self
    }

    /// Sets how much chance is in its words.
    pub const fn temperature(mut self, temperature: f64) -> Self {
        self.request.temperature = Some(temperature);
        self
    }

    /// Lets the model stop before it says this, or what was given before.
    pub fn stop(mut self, sequence: impl Into<String>) -> Self {
        self.request.stop_sequences.push(sequence.into());
        self
    }

    /// Says which model is wanted; the client decides.
    pub fn preferences(mut self, preferences: ModelPreferences) -> Self {
        self.request.model_preferences = Some(preferences);
        self
    }

    /// Sets what its provider is told, in a shape of its own.
    pub fn metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.request.metadata = Some(metadata);
        self
    }
}

/// What the model may call.
impl Sample {
    /// Offers tools to the model. Those that it calls are in [`Sampled::content`]: call
    /// them, and ask again, under another key, with all that was said so far (M-SAMP-04).
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.request.tools.extend(tools);
        self
    }

    /// Says whether the model may, must or must not call them.
    pub const fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.request.tool_choice = Some(choice);
        self
    }
}

impl Sampled {
    /// Returns what was said in words, without what lies between its blocks.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for block in &self.content {
            if let SamplingContent::Text(block) = block {
                text.push_str(&block.text);
            }
        }
        text
    }
}

impl Questions for Sample {
    type Answers = Sampled;

    fn put(self, asking: &mut Asking<'_>) -> Option<Sampled> {
        asking.put(self.key, self.request.into(), |answer| {
            let InputAnswer::Sampled(sampled) = answer else {
                return None;
            };
            Some(Sampled {
                role: sampled.role,
                content: sampled.content,
                model: sampled.model,
                stop_reason: sampled.stop_reason,
            })
        })
    }
}

// === Behind the handle ===

impl sealed::Sealed for Sample {}

#[cfg(test)]
mod tests {
    use conduit_protocol::{ModelHint, Outcome, ToolChoiceMode, ToolName};
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;
    use crate::trial::{Rounds, asked, keys, text_of};
    use crate::{Arguments, Context, NoArguments, ToolEntry, ToolError, tool};

    fn asking(question: Sample) -> ToolEntry {
        let ask = move |_: NoArguments, context: Context| {
            let question = question.clone();
            async move {
                let said = context.ask(question)?;
                let stop = said.stop_reason.as_deref().unwrap_or("nothing");
                Ok::<_, ToolError>(format!("{}, by {}, {stop}", said.text(), said.model))
            }
        };
        tool("ask", "Asks", ask).build().expect("a tool")
    }

    async fn said(answer: Value) -> Outcome {
        let tool = asking(sample("a").user("Hello"));
        Rounds::default()
            .run(json!({"a": answer}), |context| {
                tool.call(Arguments::none(), context)
            })
            .await
    }

    #[tokio::test]
    async fn a_model_is_asked_with_all_that_was_said_of_how() {
        let schema = RawValue::from_string(r#"{"type":"object"}"#.to_owned()).expect("JSON");
        let look = Tool::new(ToolName::new("look").expect("a name"), schema).expect("a tool");
        let tool = asking(
            sample("a")
                .system("Be brief.")
                .user("How is it?")
                .assistant("Fine.")
                .user("Really?")
                .max_tokens(9)
                .temperature(0.5)
                .stop("!")
                .preferences(ModelPreferences {
                    hints: vec![ModelHint {
                        name: Some("small".to_owned()),
                    }],
                    ..ModelPreferences::default()
                })
                .include(IncludeContext::None)
                .metadata(Map::from_iter([("a".to_owned(), json!(1))]))
                .tools([look])
                .tool_choice(ToolChoice {
                    mode: Some(ToolChoiceMode::Auto),
                }),
        );

        let outcome = Rounds::default()
            .run(json!({}), |context| tool.call(Arguments::none(), context))
            .await;

        let text = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        let [(key, request)] = &asked(&outcome)[..] else {
            panic!("one question");
        };
        assert_eq!(*key, "a");
        assert_eq!(
            *request,
            json!({"method": "sampling/createMessage", "params": {
                "messages": [text("user", "How is it?"), text("assistant", "Fine."), text("user", "Really?")],
                "maxTokens": 9,
                "systemPrompt": "Be brief.",
                "temperature": 0.5,
                "stopSequences": ["!"],
                "modelPreferences": {"hints": [{"name": "small"}]},
                "includeContext": "none",
                "metadata": {"a": 1},
                "tools": [{"name": "look", "inputSchema": {"type": "object"}}],
                "toolChoice": {"mode": "auto"},
            }})
        );
    }

    #[tokio::test]
    async fn what_was_said_in_words_is_one_text() {
        let outcome = said(json!({
            "role": "assistant",
            "model": "m",
            "stopReason": "endTurn",
            "content": [
                {"type": "text", "text": "Hel"},
                {"type": "image", "data": "eA==", "mimeType": "image/png"},
                {"type": "text", "text": "lo"},
            ],
        }))
        .await;

        assert_eq!(text_of(&outcome), "Hello, by m, endTurn");
    }

    #[tokio::test]
    async fn what_is_no_answer_of_a_model_is_asked_for_again() {
        for answer in [
            json!({}),
            json!("hi"),
            json!({"role": "assistant", "model": "m"}),
            json!({"roots": []}),
        ] {
            let outcome = said(answer).await;

            assert_eq!(keys(&outcome), ["a"]);
        }
    }
}
