//! A client of the proxy for programs that speak neither HTTP nor SOCKS: `ssh` runs it as its `ProxyCommand`.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::process::ExitCode;
use std::thread;

use super::ports::HTTP_PORT;

/// The word that makes our binary such a client.
pub(crate) const WORD: &str = "connect";
/// Longest answer of the proxy, in bytes.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Connects standard input and output to a host and a port.
pub(crate) fn run(arguments: &[OsString]) -> io::Result<()> {
    let [host, port] = arguments else { return Err(io::Error::other("connect HOST PORT")) };
    let (host, port) = (host.to_string_lossy(), port.to_string_lossy());
    let host = if host.contains(':') { format!("[{host}]") } else { host.into_owned() };
    let mut proxy = TcpStream::connect((Ipv4Addr::LOCALHOST, HTTP_PORT))?;
    write!(proxy, "CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")?;
    let answer = answer(&proxy)?;
    if !answer.starts_with("HTTP/1.1 200 ") {
        let told = answer.lines().find_map(|line| line.split_once(": ")).map(|(_, told)| told);
        return Err(io::Error::other(format!("the sandbox: {}", told.unwrap_or("no connection"))));
    }
    let mut back = proxy.try_clone()?;
    // Ends with this process: what is typed is waited for without end.
    thread::Builder::new().spawn(move || {
        io::copy(&mut io::stdin().lock(), &mut proxy).ok();
        proxy.shutdown(Shutdown::Write).ok();
    })?;
    let mut out = io::stdout().lock();
    let mut bytes = [0; 16 * 1024];
    loop {
        match back.read(&mut bytes)? {
            0 => return Ok(()),
            count => {
                out.write_all(bytes.get(..count).unwrap_or_default())?;
                out.flush()?;
            }
        }
    }
}

/// Says on standard error why there is no connection.
pub(crate) fn complain(error: &io::Error) -> ExitCode {
    writeln!(io::stderr(), "{error}").ok();
    ExitCode::FAILURE
}

/// The head of an answer, and no byte behind it.
fn answer(mut proxy: &TcpStream) -> io::Result<String> {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") && answer.len() < ANSWER_BYTES_MAX {
        let mut byte = [0];
        proxy.read_exact(&mut byte)?;
        answer.extend(byte);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
