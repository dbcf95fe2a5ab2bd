//! The few words of `WebDriver` that these tests speak to chromium's driver. A library for it would switch on
//! `preserve_order` of `serde_json` in whatever is built beside it: tests would run another piton than people.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, Method};
use serde_json::{Value, json};

/// The name under which an element is told.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub(crate) const DOWN: &str = "\u{e015}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";
pub(crate) const TAB: &str = "\u{e004}";

/// A session of a browser.
pub(crate) struct Driver {
    client: Client,
    /// `http://127.0.0.1:PORT/session/ID`
    session: String,
}

impl Driver {
    pub(crate) async fn begin(address: &str, wishes: Value) -> Self {
        // It speaks no TLS here, but is made with it.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder().no_proxy().build().unwrap();
        let mut driver = Self { client, session: format!("{address}/session") };
        let wishes = json!({ "capabilities": { "alwaysMatch": wishes } });
        let begun = driver.post("", wishes).await.unwrap();
        driver.session = format!("{address}/session/{}", begun["sessionId"].as_str().unwrap());
        driver
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        let mut request = self.client.request(method, format!("{}{path}", self.session));
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let is_ok = answer.status().is_success();
        let text = answer.text().await.map_err(|error| error.to_string())?;
        let value = serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())?;
        if is_ok { Ok(value["value"].clone()) } else { Err(value["value"]["message"].to_string()) }
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value, String> {
        self.ask(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn go(&self, address: &str) {
        self.post("/url", json!({ "url": address })).await.unwrap();
    }

    pub(crate) async fn reload(&self) {
        // A form that was sent may still be on its way to another page.
        while let Err(why) = self.post("/refresh", json!({})).await {
            assert!(why.contains("aborted by navigation"), "{why}");
        }
    }

    /// Runs a script in the page; what it returned.
    pub(crate) async fn run(&self, script: &str) -> Value {
        let body = json!({ "script": script, "args": [] });
        self.post("/execute/sync", body).await.unwrap()
    }

    /// Asks chromium itself.
    pub(crate) async fn cdp(&self, method: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": method, "params": parameters });
        self.post("/goog/cdp/execute", body).await.unwrap()
    }

    async fn element(&self, selector: &str, act: &str, body: Value) {
        let wanted = json!({ "using": "css selector", "value": selector });
        loop {
            let found = self.post("/element", wanted.clone()).await.unwrap();
            let path = format!("/element/{}/{act}", found[ELEMENT].as_str().unwrap());
            match self.post(&path, body.clone()).await {
                // A patch has put another one in its place meanwhile.
                Err(error) if error.contains("stale element reference") => {}
                done => {
                    done.unwrap();
                    return;
                }
            }
        }
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.element(selector, "click", json!({})).await;
    }

    /// Types into a field, or names a file to one for files.
    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        self.element(selector, "value", json!({ "text": text })).await;
    }

    /// Keys to whatever has the focus.
    pub(crate) async fn keys(&self, keys: &str) {
        let press = |key: char| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        };
        let actions: Vec<Value> = keys.chars().flat_map(press).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.post("/actions", json!({ "actions": [keyboard] })).await.unwrap();
    }

    /// The handle of the tab that is used.
    pub(crate) async fn tab(&self) -> String {
        let handle = self.ask(Method::GET, "/window", None).await.unwrap();
        handle.as_str().unwrap().to_owned()
    }

    pub(crate) async fn new_tab(&self) -> String {
        let begun = self.post("/window/new", json!({ "type": "tab" })).await.unwrap();
        begun["handle"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn to_tab(&self, handle: &str) {
        self.post("/window", json!({ "handle": handle })).await.unwrap();
    }

    /// The page as a PNG.
    pub(crate) async fn picture(&self) -> Vec<u8> {
        let text = self.ask(Method::GET, "/screenshot", None).await.unwrap();
        STANDARD.decode(text.as_str().unwrap()).unwrap()
    }

    pub(crate) async fn end(&self) {
        self.ask(Method::DELETE, "", None).await.unwrap();
    }
}
