//! A name server on loopback. A name can have several answers, given one after the other: so do names that mean harm.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;
use tokio::task::JoinSet;

/// The answers of a name, one after the other; the last one stays. Each is a list of addresses.
type Zone = BTreeMap<String, Vec<Vec<IpAddr>>>;

pub(crate) struct Names {
    pub(crate) address: SocketAddr,
    /// The names that were asked for, in order; each lookup asks twice, for IPv4 and for IPv6.
    asked: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Names {
    /// `zone`: a name, and its answers one after the other, each with its addresses set apart by blanks.
    pub(crate) async fn serve(zone: &[(&str, &[&str])]) -> Self {
        let parsed = |answer: &&str| answer.split_whitespace().map(|address| address.parse().unwrap()).collect();
        let zone: Zone =
            zone.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(parsed).collect())).collect();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (socket.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let mut serving = JoinSet::new();
        let heard = Arc::clone(&asked);
        serving.spawn(async move {
            let mut buffer = [0; 1500];
            while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
                let (name, kind) = read_question(&buffer[..len]);
                let round = {
                    let mut heard = heard.lock().unwrap();
                    heard.push(format!("{name} {kind}"));
                    heard.iter().filter(|one| **one == format!("{name} {kind}")).count() - 1
                };
                let answers = zone.get(&name);
                let addresses = answers.map(|answers| answers[round.min(answers.len() - 1)].as_slice());
                let _ = socket.send_to(&reply(&buffer[..len], addresses, kind), from).await;
            }
        });
        Self { address, asked, _serving: serving }
    }

    /// How often a name was looked up.
    pub(crate) fn lookups(&self, name: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|one| **one == format!("{name} 1")).count()
    }

    pub(crate) fn total(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn read_question(message: &[u8]) -> (String, u16) {
    let (mut at, mut labels) = (12, Vec::new());
    while message[at] != 0 {
        let len = usize::from(message[at]);
        labels.push(String::from_utf8_lossy(&message[at + 1..at + 1 + len]).into_owned());
        at += 1 + len;
    }
    (labels.join("."), u16::from_be_bytes([message[at + 1], message[at + 2]]))
}

/// The answer: through another name first, as hosts of harm like to do, and to be forgotten at once.
fn reply(question: &[u8], addresses: Option<&[IpAddr]>, kind: u16) -> Vec<u8> {
    let mut message = question.to_vec();
    message[2] |= 0x80;
    let Some(addresses) = addresses else {
        message[3] |= 3;
        return message;
    };
    let wanted: Vec<Vec<u8>> = addresses
        .iter()
        .filter_map(|address| match address {
            IpAddr::V4(four) if kind == 1 => Some(four.octets().to_vec()),
            IpAddr::V6(six) if kind == 28 => Some(six.octets().to_vec()),
            _ => None,
        })
        .collect();
    message[7] = 1 + wanted.len() as u8;
    let record = |kind: u16, data: &[u8]| {
        let mut bytes = vec![0xc0, 12];
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1, 0, 0, 0, 0, 0, data.len() as u8]);
        bytes.extend(data);
        bytes
    };
    message.extend(record(5, b"\x05alias\xc0\x0c"));
    for data in wanted {
        message.extend(record(kind, &data));
    }
    message
}
