//! Changes that other processes make are reported to subscribers.

use loci_core::limits::SUBSCRIPTIONS_MAX;
use loci_server::Authentication;
use serde_json::{Value, json};

use crate::support::{
    DIALECT, LEGACY, Pipe, Server, Stream, World, modern, set_resource, set_resource_before_reading,
};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

fn wanted(name: &str) -> Value {
    let uris = json!([
        format!("test://note/{name}"),
        "test://about",
        "other://thing"
    ]);
    json!({"notifications": {"resourceSubscriptions": uris, "toolsListChanged": true}})
}

fn check_acknowledged(message: &Value, name: &str) {
    assert_eq!(
        message["method"],
        "notifications/subscriptions/acknowledged"
    );
    let accepted =
        json!({"resourceSubscriptions": [format!("test://note/{name}"), "test://about"]});
    assert_eq!(message["params"]["notifications"], accepted);
    assert_eq!(message["params"]["_meta"][SUBSCRIPTION_ID], json!(1));
}

fn check_updated(message: &Value, name: &str) {
    assert_eq!(message["method"], "notifications/resources/updated");
    assert_eq!(message["params"]["uri"], format!("test://note/{name}"));
}

#[tokio::test]
async fn a_listener_over_http_is_told() {
    let world = World::new();
    set_resource(&world, "http", "before");
    let server = Server::start(&world, Authentication::Anonymous).await;
    let mut stream = server.listen(&[], wanted("http")).await;
    check_acknowledged(&stream.next().await.unwrap(), "http");
    set_resource(&world, "http", "after");
    let message = updated_among(&mut stream, "http").await;
    check_updated(&message, "http");
    assert_eq!(message["params"]["_meta"][SUBSCRIPTION_ID], json!(1));
    server.stop().await;
    while let Some(message) = stream.next().await {
        if message.get("result").is_some() {
            assert_eq!(message["id"], 1);
            return;
        }
        assert_eq!(message["method"], "notifications/resources/updated");
    }
    panic!("the stream ended without its result");
}

/// Returns the first message about a note and skips those about other resources: a change between
/// the acknowledgement and the first read is reported for every resource.
async fn updated_among(stream: &mut Stream, name: &str) -> Value {
    loop {
        let message = stream.next().await.unwrap();
        assert_eq!(message["method"], "notifications/resources/updated");
        if message["params"]["uri"] == format!("test://note/{name}") {
            return message;
        }
    }
}

#[tokio::test]
async fn a_change_before_the_first_look_is_told() {
    let world = World::new();
    set_resource(&world, "early", "before");
    set_resource_before_reading(&world, "early", "after");
    let server = Server::start(&world, Authentication::Anonymous).await;
    let mut stream = server.listen(&[], wanted("early")).await;
    check_acknowledged(&stream.next().await.unwrap(), "early");
    updated_among(&mut stream, "early").await;

    set_resource(&world, "early-too", "before");
    set_resource_before_reading(&world, "early-too", "after");
    let mut pipe = Pipe::connect(&world, &DIALECT);
    check_acknowledged(
        &pipe
            .ask(&modern(1, "subscriptions/listen", wanted("early-too")))
            .await,
        "early-too",
    );
    check_updated(&pipe.next().await, "early-too");
}

#[tokio::test]
async fn a_listener_over_a_pipe_is_told() {
    let world = World::new();
    set_resource(&world, "pipe", "before");
    let mut pipe = Pipe::connect(&world, &DIALECT);
    check_acknowledged(
        &pipe
            .ask(&modern(1, "subscriptions/listen", wanted("pipe")))
            .await,
        "pipe",
    );
    set_resource(&world, "pipe", "after");
    check_updated(&pipe.next().await, "pipe");
    let rest = pipe.close().await;
    assert_eq!(rest.last().unwrap()["id"], 1, "{rest:?}");
}

#[tokio::test]
async fn a_subscriber_of_the_older_kind_is_told_until_it_unsubscribes() {
    for version in LEGACY {
        let world = World::new();
        let uri = json!({"uri": format!("test://note/{version}")});
        let mut pipe = Pipe::open(&world, &DIALECT, version).await;
        let subscribed = pipe.request(1, "resources/subscribe", uri.clone()).await;
        assert_eq!(subscribed["result"], json!({}));
        // The first read was before the reply, so one write is enough.
        set_resource(&world, version, "after");
        check_updated(&pipe.next().await, version);
        let unsubscribed = pipe.request(2, "resources/unsubscribe", uri).await;
        assert_eq!(unsubscribed["result"], json!({}));
        let unknown = pipe
            .request(3, "resources/subscribe", json!({"uri": "other://thing"}))
            .await;
        assert_eq!(unknown["error"]["code"], -32002);
        // The notification of the other subscription shows that this one got no notification.
        let other = format!("{version}-other");
        let subscribed = pipe
            .request(
                4,
                "resources/subscribe",
                json!({"uri": format!("test://note/{other}")}),
            )
            .await;
        assert_eq!(subscribed["result"], json!({}));
        set_resource(&world, version, "later");
        set_resource(&world, &other, "after");
        check_updated(&pipe.next().await, &other);
        set_resource(&world, version, "last");
        set_resource(&world, &other, "last");
        check_updated(&pipe.next().await, &other);
        assert!(pipe.close().await.is_empty());
    }
}

/// Each request takes a megabyte of the budget for requests while it is read: if subscriptions kept
/// their shares, they would use it up.
#[tokio::test]
async fn a_subscription_keeps_no_share_of_the_budget_for_requests() {
    let world = World::new();
    let mut pipe = Pipe::connect(&world, &DIALECT);
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://about"], "more": vec![0; 30_000]}});
    for id in 0..SUBSCRIPTIONS_MAX as u64 {
        assert!(
            pipe.ask(&modern(id, "subscriptions/listen", wanted.clone()))
                .await["params"]
                .is_object()
        );
    }
    let mut heavy = modern(1_000, "tools/list", json!({}));
    heavy["params"]["_meta"]["more"] = json!(vec![0; 30_000]);
    for id in 1_000..1_008 {
        heavy["id"] = json!(id);
        assert_eq!(pipe.ask(&heavy).await["id"], id);
    }
}
