//! A browser of a test's own, and what a person does in it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::driver::Driver;
use crate::place::Serving;

/// Longest wait for something that must happen.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
/// How often the driver is started before it is given up.
const STARTS_MAX: u32 = 5;
/// How often to look.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// For how long a control that has just appeared takes no click, and a little more.
const YOUNG_MS: u32 = 650;

/// Runs in every page before its own code: takes down what must never happen.
const WITNESS: &str = "
    window.seen = { reports: [], errors: [], dialogs: [] };
    document.addEventListener('securitypolicyviolation', (it) => seen.reports.push(it.violatedDirective + ' ' + it.blockedURI));
    addEventListener('error', (it) => seen.errors.push(it.message ?? 'a resource'));
    addEventListener('unhandledrejection', (it) => seen.errors.push(String(it.reason)));
    for (const name of ['alert', 'confirm', 'prompt']) window[name] = (words) => { seen.dialogs.push(words); };";

/// Ids that stand more than once in the page.
const DOUBLES: &str = "[...document.querySelectorAll('[id]')].map((it) => it.id).filter((id, at, all) => all.indexOf(id) !== at)";

pub(crate) struct Tab {
    driver: Driver,
    process: Child,
    _profile: TempDir,
}

/// Starts the driver; its process and its port. The driver wants one port for both IPv4 and IPv6, and ends if
/// another program has the port that it chose for one of them: then it chooses again.
fn start(driver: &str) -> (Child, String) {
    for _ in 0..STARTS_MAX {
        let mut command = Command::new(driver);
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A group of its own: it ends with all that it started.
        let mut process = command.process_group(0).spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = said.find_map(|line| {
            let line = line.unwrap();
            Some(line.split("successfully on port ").nth(1)?.trim_end_matches('.').to_owned())
        });
        if let Some(port) = port {
            return (process, port);
        }
        process.wait().unwrap();
    }
    panic!("chromedriver finds no port");
}

impl Tab {
    /// A browser that is signed in, or nothing where there is no chromium.
    pub(crate) async fn signed_in(server: &Serving) -> Option<Self> {
        Self::at(&server.sign_in).await
    }

    /// The same by another address that signs in.
    pub(crate) async fn at(sign_in: &str) -> Option<Self> {
        let tab = Self::open().await?;
        tab.go(sign_in).await;
        tab.until("document.documentElement.dataset.link === 'on'").await;
        Some(tab)
    }

    /// The same with JavaScript turned off: the page's own, not that of the test.
    pub(crate) async fn plain(server: &Serving) -> Option<Self> {
        let tab = Self::open().await?;
        tab.cdp("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        tab.go(&server.sign_in).await;
        tab.sees("form.hello").await;
        Some(tab)
    }

    /// Reads the page again until an element is there.
    pub(crate) async fn reads(&self, selector: &str) {
        let end = Instant::now() + DEADLINE;
        while self.count(selector).await == 0 {
            assert!(Instant::now() < end, "never there: {selector}");
            self.driver.reload().await;
        }
    }

    async fn open() -> Option<Self> {
        let (Some(chromium), Some(driver)) = (found("chromium"), found("chromedriver")) else {
            eprintln!(
                "skipped: no chromium with its driver (Debian: apt-get install chromium chromium-driver)"
            );
            return None;
        };
        let profile = TempDir::new().unwrap();
        let (process, port) = start(&driver);
        let flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-extensions",
            "--no-first-run",
            "--force-prefers-reduced-motion",
            "--window-size=1280,800",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let wishes = json!({ "goog:chromeOptions": { "binary": chromium, "args": flags } });
        let driver = Driver::begin(&format!("http://127.0.0.1:{port}"), wishes).await;
        let tab = Self { driver, process, _profile: profile };
        tab.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WITNESS })).await;
        Some(tab)
    }

    /// Asks chromium itself.
    pub(crate) async fn cdp(&self, method: &str, parameters: Value) -> Value {
        self.driver.cdp(method, parameters).await
    }

    pub(crate) async fn go(&self, address: &str) {
        self.driver.go(address).await;
    }

    pub(crate) async fn reload(&self) {
        self.driver.reload().await;
        self.until("document.documentElement.dataset.link === 'on'").await;
    }

    /// The value of an expression in the page.
    pub(crate) async fn js(&self, expression: &str) -> Value {
        self.driver.run(&format!("return ({expression});")).await
    }

    pub(crate) async fn run(&self, script: &str) {
        self.driver.run(script).await;
    }

    pub(crate) async fn text(&self, expression: &str) -> String {
        self.js(expression).await.as_str().unwrap_or_default().to_owned()
    }

    pub(crate) async fn count(&self, selector: &str) -> u64 {
        self.js(&format!("document.querySelectorAll({selector:?}).length")).await.as_u64().unwrap()
    }

    /// Waits until an expression is true in the page.
    pub(crate) async fn until(&self, expression: &str) {
        let (end, mut look) = (Instant::now() + DEADLINE, tokio::time::interval(LOOK_EVERY));
        loop {
            look.tick().await;
            if self.js(&format!("Boolean({expression})")).await == true {
                return;
            }
            if end < Instant::now() {
                let page = self.text("document.body.innerText").await;
                panic!("never true: {expression}\n{page}");
            }
        }
    }

    /// Waits until an element is there and can be seen.
    pub(crate) async fn sees(&self, selector: &str) {
        self.until(&format!("document.querySelector({selector:?})?.checkVisibility()")).await;
    }

    /// Waits until a status is told in the head of the conversation.
    pub(crate) async fn stands(&self, is: &str) {
        self.until(&format!("document.querySelector('#bar-state')?.dataset.is === {is:?}")).await;
    }

    /// Where the focus is: the id of its element, else its words.
    pub(crate) async fn focus(&self) -> String {
        self.text("document.activeElement.id || document.activeElement.textContent.trim()").await
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.sees(selector).await;
        self.driver.click(selector).await;
    }

    /// Waits until an element has been there for longer than it ignores clicks and keys: a moving page must
    /// not answer for a person.
    pub(crate) async fn settles(&self, selector: &str) {
        self.sees(selector).await;
        self.until(&format!(
            "((it) => it && performance.now() - (it.since ??= performance.now()) > {YOUNG_MS})(document.querySelector({selector:?}))"
        ))
        .await;
    }

    /// Presses a button that may have just appeared.
    pub(crate) async fn press(&self, selector: &str) {
        self.settles(selector).await;
        self.click(selector).await;
    }

    /// Chooses in a list, as a person does.
    pub(crate) async fn choose(&self, selector: &str, value: &str) {
        self.sees(selector).await;
        self.driver.click(&format!("{selector} option[value=\"{value}\"]")).await;
    }

    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        self.sees(selector).await;
        self.driver.type_into(selector, text).await;
    }

    /// Chooses a file.
    pub(crate) async fn attach(&self, selector: &str, file: &Path) {
        self.driver.type_into(selector, file.to_str().unwrap()).await;
    }

    /// Keys to whatever has the focus.
    pub(crate) async fn keys(&self, keys: &str) {
        self.driver.keys(keys).await;
    }

    /// Begins a conversation with a message.
    pub(crate) async fn begin(&self, server: &Serving, text: &str) {
        self.begin_at(&server.url, text).await;
    }

    /// The same where the server is reached at another address.
    pub(crate) async fn begin_at(&self, url: &str, text: &str) {
        self.go(&format!("{url}/new")).await;
        self.type_into("#draft", text).await;
        self.click("form.hello button.main").await;
        self.until("document.querySelector('#main')?.dataset.conversation").await;
    }

    /// What is in the timeline: the id of each element, and the words of all.
    pub(crate) async fn timeline(&self) -> Value {
        self.js("[[...document.querySelectorAll('#log [id]')].map((it) => it.id), document.querySelector('#log').textContent]").await
    }

    /// Nothing happened that must never happen.
    pub(crate) async fn check(&self) {
        let seen = self.js("seen").await;
        assert_eq!(seen, json!({ "reports": [], "errors": [], "dialogs": [] }));
        assert_eq!(self.js(DOUBLES).await, json!([]), "ids that stand twice");
        let missing = self.js("Number(document.documentElement.dataset.missing ?? 0)").await;
        assert_eq!(missing, 0, "patches for elements that were not there");
    }

    pub(crate) async fn picture(&self) -> Vec<u8> {
        self.driver.picture().await
    }

    /// Another tab of the same browser; from here on it is the one that is used.
    pub(crate) async fn another(&self) -> String {
        let handle = self.driver.new_tab().await;
        self.to(&handle).await;
        self.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WITNESS })).await;
        handle
    }

    pub(crate) async fn this(&self) -> String {
        self.driver.tab().await
    }

    pub(crate) async fn to(&self, handle: &str) {
        self.driver.to_tab(handle).await;
    }

    pub(crate) async fn close(self) {
        self.driver.end().await;
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.process);
        rustix::process::kill_process_group(group, Signal::KILL).unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
    }
}

/// Where a program is.
fn found(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let file =
        std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())?;
    Some(file.to_str()?.to_owned())
}
