//! A cable that is cut stalls both sides, and delivers late or never.

use std::{
    error::Error,
    io::{self, ErrorKind, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use pullwright_testkit::{Cable, process::wait_until};

/// How long nothing arrives before it counts as silence.
const SILENCE: Duration = Duration::from_millis(300);
/// The time limit for what is going to arrive.
const SOON: Duration = Duration::from_secs(20);

/// A server that takes one connection, and both its ends.
fn connect(cable: &Cable, server: &TcpListener) -> io::Result<(TcpStream, TcpStream)> {
    let client = TcpStream::connect(("127.0.0.1", cable.port()))?;
    let (accepted, _) = server.accept()?;
    Ok((client, accepted))
}

fn receive(stream: &mut TcpStream) -> io::Result<String> {
    stream.set_read_timeout(Some(SOON))?;
    read(stream)
}

fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut buffer = [0; 64];
    let length = stream.read(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

fn is_silent(stream: &mut TcpStream) -> io::Result<bool> {
    stream.set_read_timeout(Some(SILENCE))?;
    Ok(read(stream).is_err_and(|error| error.kind() == ErrorKind::WouldBlock))
}

/// Whether the other side has closed or reset the connection, without a byte.
fn has_ended(stream: &mut TcpStream) -> bool {
    receive(stream).map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |text| text.is_empty())
}

#[test]
fn a_cut_cable_is_silent_and_delivers_late() -> Result<(), Box<dyn Error>> {
    let server = TcpListener::bind(("127.0.0.1", 0))?;
    let cable = Cable::to(server.local_addr()?.port())?;
    let (mut client, mut accepted) = connect(&cable, &server)?;
    client.write_all(b"there")?;
    assert_eq!(receive(&mut accepted)?, "there");
    accepted.write_all(b"back")?;
    assert_eq!(receive(&mut client)?, "back");

    cable.cut();
    client.write_all(b"late")?;
    accepted.write_all(b"late as well")?;
    assert!(is_silent(&mut accepted)? && is_silent(&mut client)?);
    // A new connection is made, but the server does not hear of it.
    let mut new = TcpStream::connect(("127.0.0.1", cable.port()))?;
    new.write_all(b"new")?;
    server.set_nonblocking(true)?;
    assert_eq!(server.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    server.set_nonblocking(false)?;

    cable.mend();
    assert_eq!(receive(&mut accepted)?, "late");
    assert_eq!(receive(&mut client)?, "late as well");
    let (mut accepted_new, _) = server.accept()?;
    assert_eq!(receive(&mut accepted_new)?, "new");

    // The end of a connection passes, too, and frees its place.
    drop((client, new));
    assert_eq!(receive(&mut accepted)?, "");
    drop((accepted, accepted_new));
    wait_until("the connections have ended", Duration::from_secs(10), || {
        if cable.connections() == 0 { Ok(()) } else { Err(cable.connections().to_string()) }
    })?;
    Ok(())
}

#[test]
fn broken_connections_lose_what_was_under_way() -> Result<(), Box<dyn Error>> {
    let server = TcpListener::bind(("127.0.0.1", 0))?;
    let cable = Cable::to(server.local_addr()?.port())?;
    let (mut client, mut accepted) = connect(&cable, &server)?;
    cable.cut();
    client.write_all(b"lost")?;
    assert!(is_silent(&mut accepted)?);
    cable.break_connections();
    cable.mend();
    assert!(has_ended(&mut accepted) && has_ended(&mut client));
    let (mut client, mut accepted) = connect(&cable, &server)?;
    client.write_all(b"works")?;
    assert_eq!(receive(&mut accepted)?, "works");
    Ok(())
}
