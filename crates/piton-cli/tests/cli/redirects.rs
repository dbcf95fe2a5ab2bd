//! A provider that points elsewhere: the key stays with the host that the user named.

use std::fs;

use crate::loopback::{CANARY, Loopback, PROVIDERS, redirect, stream};
use crate::world::World;

// The other server would answer well, so a request that got there would be seen.
#[test]
fn a_redirect_takes_no_key_to_another_host() {
    for (provider, status) in PROVIDERS.iter().zip([
        "307 Temporary Redirect",
        "308 Permanent Redirect",
        "307 Temporary Redirect",
        "302 Found",
        "308 Permanent Redirect",
    ]) {
        let world = World::new();
        let other = Loopback::start(vec![stream(provider.yes)]);
        let to = format!("http://{}/else?secret=t0ken", other.address);
        let server = Loopback::start(vec![redirect(status, &to), redirect(status, &to)]);
        let ran = provider.run(&world, &server, &["query", "--model", provider.model, "hi"]);
        let name = provider.model;
        assert_eq!(ran.code, 1, "{name}: {}", ran.stderr);
        assert_eq!((server.requests(), other.connections()), (1, 0), "{name}: {}", ran.stderr);
        let said = format!("{} redirects to {}", server.address, other.address);
        assert!(ran.stderr.contains(&said), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("base_url"), "{name}: {}", ran.stderr);
        assert!(!ran.stderr.contains(CANARY) && !ran.stderr.contains("t0ken"), "{}", ran.stderr);
    }
}

#[test]
fn a_redirect_takes_no_header_of_the_settings_along() {
    let world = World::new();
    let other = Loopback::start(vec![stream(PROVIDERS[2].yes)]);
    let to = format!("http://{}/v1/chat/completions", other.address);
    let server = Loopback::start(vec![redirect("307 Temporary Redirect", &to)]);
    fs::create_dir_all(world.path("home")).unwrap();
    let settings = format!(
        "[providers.mine]\ndialect = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n\
         headers = {{ x-team-key = \"{CANARY}\" }}\n",
        server.address
    );
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    let mut command = world.command(&["query", "--model", "mine/m", "hi"]);
    let ran = world.ran(command.env("NO_PROXY", "127.0.0.1").output().unwrap());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(server.request(0).0.contains(CANARY));
    assert_eq!(other.connections(), 0, "{}", ran.stderr);
}
