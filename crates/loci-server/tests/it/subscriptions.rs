//! Changes that other processes make reach those who subscribed.

use loci_server::Authentication;
use serde_json::{Value, json};

use crate::support::{DIALECT, LEGACY, Pipe, Server, World, modern, set_resource};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

fn wanted(name: &str) -> Value {
    let uris = json!([format!("test://note/{name}"), "test://about", "other://thing"]);
    json!({"notifications": {"resourceSubscriptions": uris, "toolsListChanged": true}})
}

fn check_acknowledged(message: &Value, name: &str) {
    assert_eq!(message["method"], "notifications/subscriptions/acknowledged");
    let accepted = json!({"resourceSubscriptions": [format!("test://note/{name}"), "test://about"]});
    assert_eq!(message["params"]["notifications"], accepted);
    assert_eq!(message["params"]["_meta"][SUBSCRIPTION_ID], json!(1));
}

fn check_updated(message: &Value, name: &str) {
    assert_eq!(message["method"], "notifications/resources/updated");
    assert_eq!(message["params"]["uri"], format!("test://note/{name}"));
}

/// Writes until the subscriber is told: the first write may fall before its first look.
async fn until_told<T>(world: &World, name: &str, told: impl Future<Output = T>) -> T {
    let mut told = std::pin::pin!(told);
    let mut interval = tokio::time::interval(std::time::Duration::from_millis(50));
    for count in 0_u64.. {
        tokio::select! {
            message = &mut told => return message,
            _ = interval.tick() => set_resource(world, name, &format!("text {count}")),
        }
    }
    unreachable!("the loop has no end")
}

#[tokio::test]
async fn a_listener_over_http_is_told() {
    let world = World::new();
    set_resource(&world, "http", "before");
    let server = Server::start(&world, Authentication::Anonymous).await;
    let mut stream = server.listen(wanted("http")).await;
    check_acknowledged(&stream.next().await.unwrap(), "http");
    let message = until_told(&world, "http", stream.next()).await.unwrap();
    check_updated(&message, "http");
    assert_eq!(message["params"]["_meta"][SUBSCRIPTION_ID], json!(1));
    server.stop().await;
    while let Some(message) = stream.next().await {
        if message.get("result").is_some() {
            assert_eq!(message["id"], 1);
            return;
        }
        check_updated(&message, "http");
    }
    panic!("the stream ended without its result");
}

#[tokio::test]
async fn a_listener_over_a_pipe_is_told() {
    let world = World::new();
    set_resource(&world, "pipe", "before");
    let mut pipe = Pipe::connect(&world, &DIALECT);
    check_acknowledged(&pipe.ask(&modern(1, "subscriptions/listen", wanted("pipe"))).await, "pipe");
    check_updated(&until_told(&world, "pipe", pipe.next()).await, "pipe");
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
        // The first look was before the reply, so one write is enough.
        set_resource(&world, version, "after");
        check_updated(&pipe.next().await, version);
        let unsubscribed = pipe.request(2, "resources/unsubscribe", uri).await;
        assert_eq!(unsubscribed["result"], json!({}));
        let unknown = pipe.request(3, "resources/subscribe", json!({"uri": "other://thing"})).await;
        assert_eq!(unknown["error"]["code"], -32002);
        set_resource(&world, version, "later");
        assert!(pipe.close().await.is_empty());
    }
}
