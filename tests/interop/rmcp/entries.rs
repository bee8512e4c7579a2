//! What a server lists, and what is behind it.

use rmcp::model::{
    ErrorCode, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams,
    ResourceContents,
};
use serde_json::{Value, json};

use crate::client::{Client, Mode, refusal};

const ARGUMENTS: &str = "test_prompt_with_arguments";
const TEMPLATE: &str = "test://template/{id}/data";

pub(crate) async fn tools(client: &Client) {
    let tools = client.service.list_all_tools().await.expect("a list");

    assert_eq!(tools[0].name, "test_simple_text");
    assert!(tools.iter().all(|tool| tool.description.is_some()));
}

pub(crate) async fn resources(client: &Client) {
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = client
            .service
            .list_resources(Some(params))
            .await
            .expect("a page");
        pages.push(page.resources.len());
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages, [10, 10, 9]);
    let params = PaginatedRequestParams::default().with_cursor(Some("no-such-cursor".to_owned()));
    let refused = client.service.list_resources(Some(params)).await;
    assert_eq!(refusal(refused).code, ErrorCode::INVALID_PARAMS);

    let fixed = read(client, "test://static-text").await;
    assert_eq!(fixed, "This is the content of the static text resource.");
    let templates = client.service.list_all_resource_templates().await;
    assert_eq!(templates.expect("a list")[0].uri_template, TEMPLATE);
    let data: Value =
        serde_json::from_str(&read(client, "test://template/7/data").await).expect("JSON");
    assert_eq!(
        data,
        json!({ "id": "7", "templateTest": true, "data": "Data for ID: 7" })
    );

    let uri = "test://nonexistent-resource-for-conformance-testing";
    let missing = client
        .service
        .read_resource(ReadResourceRequestParams::new(uri))
        .await;
    let refused = refusal(missing);
    assert_eq!(
        refused.code,
        match client.mode {
            Mode::Modern | Mode::Auto => ErrorCode::INVALID_PARAMS,
            Mode::Legacy => ErrorCode::RESOURCE_NOT_FOUND,
        }
    );
    assert_eq!(refused.data, Some(json!({ "uri": uri })));
}

pub(crate) async fn prompts(client: &Client) {
    let prompts = client.service.list_all_prompts().await.expect("a list");
    assert!(prompts.iter().any(|prompt| prompt.name == ARGUMENTS));

    let arguments = json!({ "arg1": "one", "arg2": "two" });
    let params = GetPromptRequestParams::new(ARGUMENTS)
        .with_arguments(arguments.as_object().expect("an object").clone());
    let filled = client.service.get_prompt(params).await.expect("a prompt");
    assert_eq!(
        filled.messages[0].content.as_text().expect("a text").text,
        "Prompt with arguments: arg1='one', arg2='two'"
    );

    let half = client
        .service
        .get_prompt(GetPromptRequestParams::new(ARGUMENTS))
        .await;
    assert_eq!(refusal(half).code, ErrorCode::INVALID_PARAMS);
}

pub(crate) async fn completion(client: &Client) {
    let service = &client.service;

    let values = service
        .complete_prompt_simple(ARGUMENTS, "arg1", "par")
        .await;
    assert_eq!(values.expect("values"), ["paris", "park", "party"]);
    let values = service.complete_resource_simple(TEMPLATE, "id", "12").await;
    assert_eq!(values.expect("values"), ["12", "123"]);
}

async fn read(client: &Client, uri: &str) -> String {
    let params = ReadResourceRequestParams::new(uri);
    let mut result = client
        .service
        .read_resource(params)
        .await
        .expect("contents");
    match result.contents.pop() {
        Some(ResourceContents::TextResourceContents { text, .. }) => text,
        other => panic!("no text but {other:?}"),
    }
}
