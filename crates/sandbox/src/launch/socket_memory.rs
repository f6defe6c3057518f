//! Measures the data that waits in sockets to be received: memory that belongs to no process.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use super::processes::{field, numbers_in};
use super::unnamed::{ByteEstimate, sum};

/// Bytes in the sockets that these processes have open.
pub(super) fn in_sockets(pids: &[i32]) -> ByteEstimate {
    let (mut ours, mut is_unknown) = (BTreeSet::new(), false);
    for &pid in pids {
        for task in numbers_in(format!("/proc/{pid}/task")) {
            is_unknown |= add_open(&format!("/proc/{pid}/task/{task}"), &mut ours);
        }
    }
    if ours.is_empty() {
        return ByteEstimate::default();
    }
    // If the kernel does not answer, nothing is known about its sockets and nothing is counted.
    let asked = QUESTIONS.iter().filter_map(|question| question.ask().ok());
    let bytes = sum(asked.flatten().filter(|(inode, _)| ours.contains(inode)).map(|(_, bytes)| bytes));
    ByteEstimate { bytes, perhaps: if is_unknown { u64::MAX } else { 0 } }
}

/// Adds the sockets of a thread. Returns whether descriptors are in transit in them, which are in no list.
fn add_open(folder: &str, found: &mut BTreeSet<u64>) -> bool {
    let mut is_unknown = false;
    for number in numbers_in(format!("{folder}/fd")) {
        let Ok(about) = fs::metadata(format!("{folder}/fd/{number}")) else { continue };
        // All descriptors of one socket have the same inode.
        if about.mode() & libc::S_IFMT == libc::S_IFSOCK && found.insert(about.ino()) {
            let text = fs::read_to_string(format!("{folder}/fdinfo/{number}")).unwrap_or_default();
            is_unknown |= field(&text, "scm_fds:") > 0;
        }
    }
    is_unknown
}

/// A query for the kernel's list of sockets, and the layout of its answers.
struct SocketQuery {
    family: u8,
    protocol: u8,
    /// The offset of the socket's inode in an answer, and the offset of the attributes.
    number: usize,
    attributes: usize,
    /// The attribute with the memory.
    memory: u16,
}

const QUESTIONS: [SocketQuery; 5] = [
    SocketQuery { family: libc::AF_UNIX as u8, protocol: 0, number: 4, attributes: 16, memory: 5 },
    inet(libc::AF_INET, libc::IPPROTO_TCP),
    inet(libc::AF_INET6, libc::IPPROTO_TCP),
    inet(libc::AF_INET, libc::IPPROTO_UDP),
    inet(libc::AF_INET6, libc::IPPROTO_UDP),
];

const fn inet(family: i32, protocol: i32) -> SocketQuery {
    SocketQuery { family: family as u8, protocol: protocol as u8, number: 68, attributes: 72, memory: 7 }
}

/// Attributes of a local socket: its peer, and its queue.
const PEER: u16 = 2;
const QUEUE: u16 = 4;
/// Lengths of the header of each message and each attribute.
const MESSAGE: usize = 16;
const ATTRIBUTE: usize = 4;

impl SocketQuery {
    fn is_local(&self) -> bool {
        self.family == libc::AF_UNIX as u8
    }

    /// The sockets in this network namespace, each with its bytes.
    fn ask(&self) -> io::Result<Vec<(u64, u64)>> {
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        rustix::net::send(&socket, &self.request(), SendFlags::empty())?;
        let (mut buffer, mut found) = (vec![0; 64 << 10], Vec::new());
        loop {
            let (length, _) = rustix::net::recv(&socket, buffer.as_mut_slice(), RecvFlags::empty())?;
            let mut rest = buffer.get(..length).unwrap_or_default();
            while let (Some(size), Some(kind)) = (u32_at(rest, 0), u16_at(rest, 4)) {
                match i32::from(kind) {
                    libc::NLMSG_DONE => return Ok(found),
                    libc::NLMSG_ERROR => return Err(io::ErrorKind::Unsupported.into()),
                    _ => {}
                }
                let size = size as usize;
                found.extend(rest.get(MESSAGE..size).and_then(|answer| self.read(answer)));
                rest = rest.get(size.max(MESSAGE).next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }

    fn request(&self) -> Vec<u8> {
        const BY_FAMILY: u16 = 20;
        const DUMP: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        // All states; for a local socket its peer, queue and memory; for others the memory.
        let (length, extension, local) = if self.is_local() { (24, 0, 0x34_u32) } else { (56, 1 << 6, 0) };
        let mut text = Vec::new();
        text.extend((MESSAGE as u32 + length).to_ne_bytes());
        text.extend(BY_FAMILY.to_ne_bytes());
        text.extend(DUMP.to_ne_bytes());
        text.extend([0; 8]);
        text.extend([self.family, self.protocol, extension, 0]);
        text.extend(u32::MAX.to_ne_bytes());
        text.extend([0; 4]);
        text.extend(local.to_ne_bytes());
        text.resize(MESSAGE + length as usize, 0);
        text
    }

    /// The inode of a socket, and its bytes.
    fn read(&self, answer: &[u8]) -> Option<(u64, u64)> {
        let number = u32_at(answer, self.number)?;
        let (mut memory, mut queue, mut peer) = (0, 0, 0);
        let mut rest = answer.get(self.attributes..)?;
        while let (Some(size), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
            let value = rest.get(ATTRIBUTE..size.into())?;
            let word = |place: usize| u64::from(u32_at(value, place * 4).unwrap_or(0));
            if kind == self.memory {
                // Received, sent or about to be sent, and reserved.
                memory = sum([word(0), word(2).max(word(5)), word(4), word(6)]);
            } else if self.is_local() && kind == QUEUE {
                queue = word(0);
            } else if self.is_local() && kind == PEER {
                peer = word(0);
            }
            rest = rest.get(usize::from(size).next_multiple_of(4)..).unwrap_or_default();
        }
        // Data that a local socket has sent is counted for the sender, as long as that exists.
        Some((number.into(), sum([memory, if peer == 0 { queue } else { 0 }])))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_waits_in_a_socket_is_seen_also_when_its_sender_is_gone() {
        let me = [std::process::id().cast_signed()];
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        sender.set_nonblocking(true).unwrap();
        while sender.write(&[1; 4096]).is_ok() {}
        let full = in_sockets(&me);
        assert!(full.bytes > 50_000, "{full:?}");
        drop(sender);
        assert!(in_sockets(&me).bytes > 50_000);
        drop(receiver);

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _receiver = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();
        while sender.write(&[1; 4096]).is_ok() {}
        assert!(in_sockets(&me).bytes > 50_000);
    }
}
