//! What the server asks the client for.

use rmcp::model::{
    CallToolResult, ElicitationAction, ErrorCode, GetPromptRequestParams,
    ReadResourceRequestParams, ResourceContents,
};
use serde_json::{Value, json};

use crate::answers::{Can, accept, refuse};
use crate::client::{Client, Mode, Place, params, refusal, text};

pub(crate) async fn forms(client: &Client) {
    let ada = json!({ "username": "ada", "email": "ada@example.com" });
    let message = json!({ "message": "Who are you?" });
    let answers = client.answers();

    answers.prepare([accept(ada.clone())]).await;
    let filled = client.call("test_elicitation", message.clone()).await;
    let response = json!({ "action": "accept", "content": ada });
    assert_eq!(told(&filled), response);
    let asked = answers.asked().await;
    assert_eq!(asked[0]["message"], "Who are you?");
    let properties = &asked[0]["requestedSchema"]["properties"];
    assert_eq!(properties["username"]["type"], "string", "{asked:?}");

    for (action, word) in [
        (ElicitationAction::Decline, "decline"),
        (ElicitationAction::Cancel, "cancel"),
    ] {
        answers.prepare([refuse(action)]).await;
        let refused = client.call("test_elicitation", message.clone()).await;
        assert_eq!(told(&refused)["action"], word);
    }

    let half = accept(json!({ "username": "ada" }));
    answers.prepare([half, accept(ada)]).await;
    let filled = client.call("test_elicitation", message).await;
    assert_eq!(told(&filled), response);
    assert_eq!(answers.asked().await.len(), 2);
}

/// This client reads the schema of a form into types.
pub(crate) async fn fields(client: &Client) {
    let answers = client.answers();

    answers.prepare([accept(json!({ "age": 36 }))]).await;
    client
        .call("test_elicitation_sep1034_defaults", json!({}))
        .await;
    let defaults = &answers.asked().await[0]["requestedSchema"]["properties"];
    assert_eq!(defaults["name"]["default"], "John Doe");
    assert_eq!(defaults["age"]["default"], 30);
    assert_eq!(defaults["score"]["default"], 95.5);
    assert_eq!(defaults["status"]["default"], "active");
    assert_eq!(defaults["verified"]["default"], true);

    let several = json!({ "titledMulti": ["value1", "value3"] });
    answers.prepare([accept(several)]).await;
    let chosen = client
        .call("test_elicitation_sep1330_enums", json!({}))
        .await;
    assert!(text(&chosen).contains("value3"), "{chosen:?}");
    let choices = &answers.asked().await[0]["requestedSchema"]["properties"];
    assert_eq!(choices["titledSingle"]["oneOf"][2]["const"], "value3");
    assert_eq!(
        choices["titledMulti"]["items"]["anyOf"][2]["const"],
        "value3"
    );
}

pub(crate) async fn pages(client: &Client) {
    let answers = client.answers();
    for (action, word) in [
        (ElicitationAction::Accept, "accept"),
        (ElicitationAction::Decline, "decline"),
        (ElicitationAction::Cancel, "cancel"),
    ] {
        answers.prepare([refuse(action)]).await;

        let visit = client.call("tour_visit", json!({})).await;

        assert_eq!(text(&visit), format!("Visit: {word}"));
        let asked = answers.asked().await;
        assert_eq!(asked[0]["url"], "https://example.com/tour");
        let is_named = asked[0]["elicitationId"].as_str() != Some("");
        assert_eq!(is_named, client.mode == Mode::Legacy, "{asked:?}");
    }
}

pub(crate) async fn models_and_roots(client: &Client) {
    let answers = client.answers();

    answers.prepare([]).await;
    let said = client
        .call("test_sampling", json!({ "prompt": "Say something." }))
        .await;
    assert_eq!(text(&said), "LLM response: Something.");
    let asked = answers.asked().await;
    assert_eq!(asked[0]["maxTokens"], 100);
    assert_eq!(
        asked[0]["messages"][0]["content"],
        json!({ "type": "text", "text": "Say something." })
    );

    let roots = client
        .call("test_input_required_result_list_roots", json!({}))
        .await;
    assert_eq!(text(&roots), "Roots: file:///a, file:///b");
}

pub(crate) async fn several(client: &Client) {
    let answers = client.answers();

    answers.prepare([accept(json!({ "name": "Ada" }))]).await;
    let all = client
        .call("test_input_required_result_multiple_inputs", json!({}))
        .await;
    assert_eq!(text(&all), "Ada, in 2 roots: Something.");
    assert_eq!(answers.asked().await.len(), 3);

    let both = [json!({ "name": "Ada" }), json!({ "color": "green" })];
    answers.prepare(both.map(accept)).await;
    let one_by_one = client
        .call("test_input_required_result_multi_round", json!({}))
        .await;
    assert_eq!(text(&one_by_one), "Ada likes green.");

    answers.prepare([accept(json!({ "ok": true }))]).await;
    let confirmed = client
        .call("test_input_required_result_request_state", json!({}))
        .await;
    assert_eq!(text(&confirmed), "state-ok, confirmed: true");
}

/// It is not only tools that ask.
pub(crate) async fn elsewhere(client: &Client) {
    let answers = client.answers();

    let context = accept(json!({ "context": "a rainy day" }));
    answers.prepare([context]).await;
    let params = GetPromptRequestParams::new("test_input_required_result_prompt");
    let prompt = client.service.get_prompt(params).await.expect("a prompt");
    let content = prompt.messages[0].content.as_text().expect("a text");
    assert_eq!(content.text, "Use this context: a rainy day");

    answers.prepare([accept(json!({ "name": "Ada" }))]).await;
    let params = ReadResourceRequestParams::new("tour://welcome");
    let resource = client.service.read_resource(params).await;
    let contents = resource.expect("a resource").contents;
    let Some(ResourceContents::TextResourceContents { text, .. }) = contents.first() else {
        panic!("no text but {contents:?}");
    };
    assert_eq!(text, "Welcome, Ada!");
}

/// A client that cannot be asked for anything.
pub(crate) async fn of_nobody(place: &Place<'_>, mode: Mode) {
    let client = Client::connect_as(place, mode, Can::Nothing).await;

    let call = params("test_missing_capability", &json!({}));
    let refused = refusal(client.service.call_tool(call).await);
    match mode {
        Mode::Modern | Mode::Auto => {
            assert_eq!(refused.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY);
            let required = json!({ "requiredCapabilities": { "sampling": {} } });
            assert_eq!(refused.data, Some(required));
        }
        Mode::Legacy => assert_eq!(refused.code, ErrorCode::INTERNAL_ERROR),
    }
    let nothing = client
        .call("test_input_required_result_capabilities", json!({}))
        .await;
    assert_eq!(text(&nothing), "There is nothing to ask for.");
    client.end().await;
}

/// What the tool tells of the answer.
fn told(result: &CallToolResult) -> Value {
    let json = text(result).strip_prefix("User response: ");
    serde_json::from_str(json.expect("a response")).expect("JSON")
}
